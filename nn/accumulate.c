/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accumulate.c: what gradients go through before the optimizer: scales of the loss, sums over runs,
 * and whether this run ends in an update. That is a bool in the graph, by which each variable
 * becomes its new value or stays.
 */
#include <math.h>
#include <tfrun/dtype.h>

#include "train_graph.h"

enum { GOOD_UPDATES = 2000 }; /* before a greater scale is tried */
static const double first_scale = 32768;

/* Does the graph compute in float16? */
static bool has_f16(tfr__kit *kit)
{
    tfr_graph_types *types = NULL;
    bool found = false;
    kit->status = tfr_graph_infer(kit->graph, &types, kit->err);
    for (uint32_t v = 0; !kit->status && !found && v < tfr_graph_n_values(kit->graph); v++) {
        tfr_value_type type = {.size = sizeof type};
        kit->status = tfr_graph_types_get(types, NULL, (tfr_value)v, &type, kit->err);
        found = type.dtype == TFR_DTYPE_F16;
    }
    tfr_graph_types_release(types);
    return found;
}

tfr_value tfr__loss_scale(tfr__kit *kit, const tfr__optimizer *o)
{
    double scale = o->loss_scale;
    if (scale < 0 && !kit->status)
        scale = has_f16(kit) ? first_scale : 0;
    if (kit->status || scale == 0)
        return TFR_VALUE_NONE;
    return tfr__kit_variable(kit, TFR__LOSS_SCALE, TFR_DTYPE_F32, &(tfr_shape){.rank = 0}, scale);
}

static tfr_value whole(tfr__kit *kit, int64_t value)
{
    return tfr__kit_scalar(kit, TFR_DTYPE_I64, (double)value);
}

static tfr_value real(tfr__kit *kit, double value)
{
    return tfr__kit_scalar(kit, TFR_DTYPE_F32, value);
}

/* The mean over so many runs, and when it is complete. */
static tfr_value add_up(tfr__kit *kit, int64_t runs, const tfr_value *variables,
                        tfr_value *gradients, uint32_t n)
{
    tfr_value pending =
        tfr__kit_variable(kit, TFR__PENDING, TFR_DTYPE_I64, &(tfr_shape){.rank = 0}, 0);
    tfr_value now = tfr__kit_op2(kit, "Add", pending, whole(kit, 1));
    tfr_value due = tfr__kit_op2(kit, "Equal", now, whole(kit, runs));
    tfr__kit_update(kit, pending, tfr__kit_op3(kit, "Where", due, whole(kit, 0), now));
    for (uint32_t i = 0; i < n && !kit->status; i++) {
        tfr_value sum = tfr__optimizer_slot(kit, "accumulate.sum", variables[i]);
        tfr_value all = tfr__kit_op2(kit, "Add", sum, gradients[i]);
        tfr__kit_update(kit, sum, tfr__kit_op3(kit, "Where", due, real(kit, 0), all));
        gradients[i] = tfr__kit_op2(kit, "Div", all, real(kit, (double)runs));
    }
    return due;
}

/* Are all elements finite? Sums of magnitudes are then, too, but for sums beyond float32. */
static tfr_value are_finite(tfr__kit *kit, const tfr_value *gradients, uint32_t n)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value sum = TFR_VALUE_NONE;
    for (uint32_t i = 0; i < n; i++) {
        tfr_value one = tfr__kit_node(kit, "ReduceL1", &gradients[i], 1, attrs, 1);
        sum = i ? tfr__kit_op2(kit, "Add", sum, one) : one;
    }
    return tfr__kit_op2(kit, "Less", sum, real(kit, INFINITY));
}

/* Half the scale where gradients were not finite, and twice it after enough updates in a row. */
static void move_scale(tfr__kit *kit, tfr_value scale, tfr_value updates, tfr_value fails)
{
    tfr_value good =
        tfr__kit_variable(kit, TFR__GOOD_STEPS, TFR_DTYPE_I64, &(tfr_shape){.rank = 0}, 0);
    tfr_value now = tfr__kit_op2(kit, "Add", good, tfr__kit_cast(kit, updates, TFR_DTYPE_I64));
    tfr_value grows = tfr__kit_op2(kit, "Equal", now, whole(kit, GOOD_UPDATES));
    tfr_value half =
        tfr__kit_op2(kit, "Max", tfr__kit_op2(kit, "Mul", scale, real(kit, .5)), real(kit, 1));
    tfr_value twice = tfr__kit_op2(kit, "Mul", scale, real(kit, 2));
    twice = tfr__kit_op3(kit, "Where", grows, twice, scale);
    tfr__kit_update(kit, scale, tfr__kit_op3(kit, "Where", fails, half, twice));
    grows = tfr__kit_op2(kit, "Or", grows, fails);
    tfr__kit_update(kit, good, tfr__kit_op3(kit, "Where", grows, whole(kit, 0), now));
}

tfr_value tfr__accumulate(tfr__kit *kit, const tfr__optimizer *o, tfr_value scale,
                          const tfr_value *variables, tfr_value *gradients, uint32_t n)
{
    tfr_value when = TFR_VALUE_NONE, finite, fails, inverse;
    kit->scope = "gradients";
    if (scale != TFR_VALUE_NONE) {
        inverse = tfr__kit_op1(kit, "Reciprocal", scale);
        for (uint32_t i = 0; i < n; i++)
            gradients[i] = tfr__kit_op2(kit, "Mul", gradients[i], inverse);
    }
    if (o->accumulate > 1)
        when = add_up(kit, o->accumulate, variables, gradients, n);
    if (scale == TFR_VALUE_NONE)
        return when;
    finite = are_finite(kit, gradients, n);
    fails = tfr__kit_op1(kit, "Not", finite);
    if (when != TFR_VALUE_NONE) {
        fails = tfr__kit_op2(kit, "And", when, fails);
        finite = tfr__kit_op2(kit, "And", when, finite);
    }
    if (!o->is_fixed)
        move_scale(kit, scale, finite, fails);
    return finite;
}

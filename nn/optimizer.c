/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.c: the updates of a step as ordinary nodes, so that every backend that has elementwise
 * ops trains, and a compiler sees through them. What depends on the step alone is computed once, in
 * float64, as 1 - beta^t would lose most of its digits in float32.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "schedule.h"
#include "train_graph.h"

static double given(double value, double absent)
{
    return value >= 0 ? value : absent;
}

tfr_status tfr__optimizer_init(tfr__optimizer *o, const tfr_train_options *options, tfr_err *err)
{
    static const char *const names[] = {"adam", "adamw", "sgd"};
    const char *name = options->optimizer ? options->optimizer : "adam";
    const bool torch = options->defaults == TFR_NET_TORCH;
    int kind = 0;
    while (kind < 3 && strcmp(name, names[kind]) != 0)
        kind++;
    if (kind == 3)
        return tfr_fail(err, TFR_EINVAL, "there is no optimizer \"%s\"; adam, adamw, sgd", name);
    *o = (tfr__optimizer){
        .kind = kind,
        .torch = torch,
        .is_scheduled = options->schedule != NULL,
        .accumulate = options->accumulate ? options->accumulate : 1,
        .loss_scale = options->loss_scale,
        .is_fixed = options->fixed_loss_scale != 0,
        .rate = given(options->learning_rate, kind == TFR__SGD && !torch ? 1e-2 : 1e-3),
        .momentum = given(options->momentum, 0),
        .beta_1 = given(options->beta_1, .9),
        .beta_2 = given(options->beta_2, .999),
        .epsilon = given(options->epsilon, torch ? 1e-8 : 1e-7),
        .decay = given(options->weight_decay, kind != TFR__ADAMW ? 0
                                              : torch            ? 1e-2
                                                                 : 4e-3),
        .clip_value = given(options->clip_value, 0),
        .clip_norm = given(options->clip_norm, 0),
        .clip_norm_each = given(options->clip_norm_each, 0)};
    if (!(o->beta_1 < 1 && o->beta_2 < 1 && o->momentum < 1))
        return tfr_fail(err, TFR_EINVAL, "beta_1, beta_2 and momentum of %s are below 1", name);
    if (!(o->loss_scale < 1e30))
        return tfr_fail(err, TFR_EINVAL, "a loss scale of %g, want less than 1e30", o->loss_scale);
    return TFR_OK;
}

/* What all updates of a step share: numbers of rank 0, of the weights' type. */
typedef struct shared {
    tfr__kit *kit;
    const tfr__optimizer *o;
    tfr_dtype dtype;
    tfr_value when; /* a bool: whether this run updates; TFR_VALUE_NONE = it does */
    tfr_value rate, scaled_rate, epsilon; /* the last two of Adam */
} shared;

static tfr_value number(const shared *s, double value)
{
    return tfr__kit_scalar(s->kit, s->dtype, value);
}

static tfr_value wide(tfr__kit *kit, double value)
{
    return tfr__kit_scalar(kit, TFR_DTYPE_F64, value);
}

/* 1 - beta^t */
static tfr_value rest(tfr__kit *kit, double beta, tfr_value t)
{
    return tfr__kit_op2(kit, "Sub", wide(kit, 1), tfr__kit_op2(kit, "Pow", wide(kit, beta), t));
}

tfr_value tfr__optimizer_slot(tfr__kit *kit, const char *what, tfr_value weight)
{
    const char *of = tfr_graph_value_name(kit->graph, weight);
    tfr_value_view view = {.size = sizeof view};
    char name[300];
    if (kit->status)
        return TFR_VALUE_NONE;
    snprintf(name, sizeof name, "%s/%s", what, of);
    kit->status = tfr_graph_value(kit->graph, weight, &view, kit->err);
    if (kit->status)
        return TFR_VALUE_NONE;
    return tfr__kit_variable(kit, name, TFR_DTYPE_F32, tfr_tensor_shape(view.tensor), 0);
}

/* The variable becomes `now`, where this run is one that updates. */
static void update(const shared *s, tfr_value variable, tfr_value now)
{
    if (s->when != TFR_VALUE_NONE)
        now = tfr__kit_op3(s->kit, "Where", s->when, now, variable);
    tfr__kit_update(s->kit, variable, now);
}

/* What the trainer remembers of a schedule, in variables that no node reads. */
static void keep_schedule(shared *s)
{
    const tfr_shape shape = {1, {4}};
    tfr__plateau *p;
    tfr_value out;
    tfr_tensor *tensor = NULL;
    tfr__kit_variable(s->kit, TFR__BASE_RATE, TFR_DTYPE_F64, &(tfr_shape){.rank = 0}, s->o->rate);
    if (!s->kit->status)
        s->kit->status = tfr_tensor_create(TFR_DTYPE_F64, &shape, &tensor, s->kit->err);
    if (s->kit->status)
        return;
    p = tfr_tensor_data(tensor);
    *p = (tfr__plateau)TFR__PLATEAU_INIT;
    s->kit->status = tfr_graph_add_variable(s->kit->graph, TFR__PLATEAU, tensor, &out, s->kit->err);
    tfr_tensor_release(tensor);
}

static void count_step(shared *s)
{
    tfr__kit *kit = s->kit;
    const tfr_shape scalar = {.rank = 0};
    tfr_value before = tfr__kit_variable(kit, TFR__STEPS, TFR_DTYPE_I64, &scalar, 0);
    tfr_value rate = tfr__kit_variable(kit, TFR__RATE, TFR_DTYPE_F64, &scalar, s->o->rate);
    tfr_value now = tfr__kit_op2(kit, "Add", before, tfr__kit_scalar(kit, TFR_DTYPE_I64, 1));
    tfr_value t, root;
    update(s, before, now);
    if (s->o->is_scheduled)
        keep_schedule(s);
    s->rate = tfr__kit_cast(kit, rate, s->dtype);
    if (s->o->kind == TFR__SGD)
        return;
    t = tfr__kit_cast(kit, now, TFR_DTYPE_F64);
    root = tfr__kit_op1(kit, "Sqrt", rest(kit, s->o->beta_2, t));
    rate = tfr__kit_op2(kit, "Mul", rate, root);
    rate = tfr__kit_op2(kit, "Div", rate, rest(kit, s->o->beta_1, t));
    s->scaled_rate = tfr__kit_cast(kit, rate, s->dtype);
    s->epsilon = number(s, s->o->epsilon);
    if (s->o->torch)
        s->epsilon =
            tfr__kit_cast(kit, tfr__kit_op2(kit, "Mul", wide(kit, s->o->epsilon), root), s->dtype);
}

/* state + (value - state) (1 - beta), which becomes the state. */
static tfr_value average(const shared *s, tfr_value state, tfr_value value, double beta)
{
    tfr_value step =
        tfr__kit_op2(s->kit, "Mul", tfr__kit_op2(s->kit, "Sub", value, state), number(s, 1 - beta));
    tfr_value now = tfr__kit_op2(s->kit, "Add", state, step);
    update(s, state, now);
    return now;
}

/* PyTorch's Adam and SGD add the weight to its gradient instead. */
static bool decays_gradient(const tfr__optimizer *o)
{
    return o->decay > 0 && o->torch && o->kind != TFR__ADAMW;
}

static tfr_value decayed(const shared *s, tfr_value p)
{
    tfr_value part;
    if (s->o->decay == 0 || decays_gradient(s->o))
        return p;
    part = tfr__kit_op2(s->kit, "Mul", s->rate, number(s, s->o->decay));
    return tfr__kit_op2(s->kit, "Sub", p, tfr__kit_op2(s->kit, "Mul", p, part));
}

static void adam(const shared *s, tfr_value p, tfr_value g)
{
    tfr__kit *kit = s->kit;
    tfr_value m = average(s, tfr__optimizer_slot(kit, "adam.m", p), g, s->o->beta_1);
    tfr_value v = average(s, tfr__optimizer_slot(kit, "adam.v", p), tfr__kit_op2(kit, "Mul", g, g),
                          s->o->beta_2);
    tfr_value below = tfr__kit_op2(kit, "Add", tfr__kit_op1(kit, "Sqrt", v), s->epsilon);
    tfr_value step = tfr__kit_op2(kit, "Div", tfr__kit_op2(kit, "Mul", s->scaled_rate, m), below);
    update(s, p, tfr__kit_op2(kit, "Sub", decayed(s, p), step));
}

static void sgd(const shared *s, tfr_value p, tfr_value g)
{
    tfr__kit *kit = s->kit;
    tfr_value m, kept, step = tfr__kit_op2(kit, "Mul", s->rate, g);
    if (s->o->momentum > 0) {
        m = tfr__optimizer_slot(kit, "sgd.momentum", p);
        kept = tfr__kit_op2(kit, "Mul", m, number(s, s->o->momentum));
        if (s->o->torch) {
            kept = tfr__kit_op2(kit, "Add", kept, g);
            step = tfr__kit_op2(kit, "Mul", s->rate, kept);
        } else {
            kept = tfr__kit_op2(kit, "Sub", kept, step);
            step = tfr__kit_op1(kit, "Neg", kept);
        }
        update(s, m, kept);
    }
    update(s, p, tfr__kit_op2(kit, "Sub", decayed(s, p), step));
}

/* By what gradients are multiplied whose squares sum up to this, so that their norm is in bounds.
 */
static tfr_value norm_factor(const shared *s, tfr_value squares, double bound)
{
    tfr__kit *kit = s->kit;
    tfr_value limit = number(s, bound), norm = tfr__kit_op1(kit, "Sqrt", squares);
    if (!s->o->torch)
        return tfr__kit_op2(kit, "Div", limit, tfr__kit_op2(kit, "Max", norm, limit));
    norm = tfr__kit_op2(kit, "Add", norm, number(s, 1e-6));
    return tfr__kit_op2(kit, "Min", tfr__kit_op2(kit, "Div", limit, norm), number(s, 1));
}

static tfr_value sum_squares(const shared *s, tfr_value g)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", 0)};
    return tfr__kit_node(s->kit, "ReduceSumSquare", &g, 1, attrs, 1);
}

/* Replaces the gradients by those that are clipped: each by its norm, all by theirs, elements. */
static void clip(const shared *s, tfr_value *gradients, uint32_t n)
{
    tfr__kit *kit = s->kit;
    const tfr__optimizer *o = s->o;
    tfr_value all = TFR_VALUE_NONE;
    for (uint32_t i = 0; o->clip_norm_each > 0 && i < n; i++)
        gradients[i] =
            tfr__kit_op2(kit, "Mul", gradients[i],
                         norm_factor(s, sum_squares(s, gradients[i]), o->clip_norm_each));
    for (uint32_t i = 0; o->clip_norm > 0 && i < n; i++) {
        tfr_value one = sum_squares(s, gradients[i]);
        all = i ? tfr__kit_op2(kit, "Add", all, one) : one;
    }
    if (o->clip_norm > 0)
        all = norm_factor(s, all, o->clip_norm);
    for (uint32_t i = 0; o->clip_norm > 0 && i < n; i++)
        gradients[i] = tfr__kit_op2(kit, "Mul", gradients[i], all);
    for (uint32_t i = 0; o->clip_value > 0 && i < n; i++)
        gradients[i] = tfr__kit_op3(kit, "Clip", gradients[i], number(s, -o->clip_value),
                                    number(s, o->clip_value));
}

void tfr__optimizer_add(tfr__kit *kit, const tfr__optimizer *o, tfr_value when,
                        const tfr_value *variables, tfr_value *gradients, uint32_t n)
{
    shared s = {.kit = kit, .o = o, .dtype = TFR_DTYPE_F32, .when = when};
    kit->scope = "optimizer";
    count_step(&s);
    clip(&s, gradients, n);
    for (uint32_t i = 0; i < n && !kit->status; i++) {
        tfr_value g = gradients[i];
        if (decays_gradient(o))
            g = tfr__kit_op2(kit, "Add", g,
                             tfr__kit_op2(kit, "Mul", variables[i], number(&s, o->decay)));
        if (o->kind == TFR__SGD)
            sgd(&s, variables[i], g);
        else
            adam(&s, variables[i], g);
    }
}

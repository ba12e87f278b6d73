/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_forms_sums.c: which calls items do of those that sum: products, sums and means over axes,
 * softmax, normalizations, losses, and the gradients of these.
 */
#include "program_forms.h"

bool native_gemm_form(const tfr_call *call)
{
    const tfr_operand *b = tfr_call_input(call, 1), *c = tfr_call_input(call, 2);
    const tfr_operand *y = tfr_call_output(call, 0);

    if (b->rank != 2 || !native_fits(b) || !native_fits(y) || !native_fits(tfr_call_input(call, 0)))
        return false;
    if (tfr_call_int(call, "transA", 0))
        return !tfr_call_int(call, "transB", 0) && tfr_call_float(call, "alpha", 1.0f) == 1.0f &&
               (!c || tfr_call_float(call, "beta", 1.0f) == 0.0f);
    return !c || (c->rank > 0 && c->dims[c->rank - 1] == y->dims[1] &&
                  tfr_operand_elements(c) == y->dims[1]);
}

bool native_matmul_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    int i;

    if (!native_fits(a) || !native_fits(b) || !native_fits(tfr_call_output(call, 0)) || a->rank < 2)
        return false;
    if (b->rank == 2)
        return true;
    if (a->rank != b->rank || a->rank > NATIVE_STRIDED_RANK || tfr_operand_elements(a) == 0 ||
        tfr_operand_elements(b) == 0)
        return false;
    for (i = 0; i < a->rank - 2; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

bool native_last_axis_form(const tfr_call *call)
{
    int rank = tfr_call_input(call, 0)->rank;
    int64_t axis = tfr_call_int(call, "axis", -1);

    return rank > 0 && (axis == -1 || axis == rank - 1);
}

static bool is_row(const tfr_operand *o, const tfr_operand *x)
{
    return o->rank == 1 && o->dims[0] == x->dims[x->rank - 1];
}

bool native_layer_norm_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_operand *scale = tfr_call_input(call, 1), *shift = tfr_call_input(call, 2);

    return native_last_axis_form(call) && is_row(scale, x) && (!shift || is_row(shift, x));
}

bool native_mean_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return (x->rank == 4 || x->rank == 5) && native_fits(x);
}

/* Kept dims of rank r that lie beside each other, or none. */
static bool axes_form(const tfr_operand *x, const tfr_attr *axes)
{
    bool reduced[TFR_MAX_RANK] = {false};
    int d, turns = 0;
    uint64_t i;

    for (i = 0; axes && i < axes->n; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= x->rank)
            return false;
        reduced[axes->ints[i]] = true;
    }
    for (d = 0; d + 1 < x->rank; d++)
        turns += reduced[d] != reduced[d + 1];
    return turns < 2 || (turns == 2 && reduced[0]);
}

bool native_sum_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return native_is_float(x) && x->rank > 0 && native_fits(x) &&
           axes_form(x, tfr_call_attr(call, "axes"));
}

/* Dims beside each other, but not all outside of samples. */
bool native_reduce_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    int64_t previous = -1;
    uint64_t i;

    if (!native_is_float(x) || !axes || axes->n == 0 || tfr_operand_elements(x) == 0 ||
        !native_fits(x))
        return false;
    for (i = 0; i < axes->n; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= x->rank ||
            (i > 0 && axes->ints[i] != previous + 1))
            return false;
        previous = axes->ints[i];
    }
    return true;
}

/* ---- gradients, and what trains ---- */

bool native_layer_norm_grad_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 1), *sums = tfr_call_output(call, 1);
    const int64_t axis = tfr_call_int(call, "axis", -1);

    return native_is_float(tfr_call_input(call, 0)) && native_is_float(x) &&
           native_is_float(tfr_call_input(call, 2)) && native_is_float(tfr_call_output(call, 0)) &&
           (!sums || native_is_float(sums)) && x->rank > 1 && (axis == -1 || axis == x->rank - 1) &&
           tfr_operand_elements(x) > 0 && is_row(tfr_call_input(call, 2), x);
}

/* Of the mean over labels of rank 1, each of which counts. */
bool native_loss_grad_form(const tfr_call *call)
{
    const tfr_operand *dy = tfr_call_input(call, 0), *x = tfr_call_input(call, 1);

    return native_is_float(dy) && native_is_float(x) && x->rank == 2 &&
           tfr_operand_elements(dy) == 1 && tfr_call_input(call, 2)->dtype == TFR_DTYPE_I64 &&
           !tfr_call_input(call, 3) && !tfr_call_attr(call, "ignore_index") &&
           tfr_call_string(call, "reduction", "mean")[0] == 'm';
}

/* The same loss: its mean, and the logarithms of softmax. */
bool native_loss_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *log_prob = tfr_call_output(call, 1);

    return native_is_float(x) && x->rank == 2 && native_is_float(tfr_call_output(call, 0)) &&
           (!log_prob || native_is_float(log_prob)) &&
           tfr_call_input(call, 1)->dtype == TFR_DTYPE_I64 && !tfr_call_input(call, 2) &&
           !tfr_call_attr(call, "ignore_index") &&
           tfr_call_string(call, "reduction", "mean")[0] == 'm';
}

/* All of float32. */
static bool norm_form(const tfr_call *call, int rank)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (!native_is_float(tfr_call_input(call, i)))
            return false;
    }
    for (i = 0; i < call->n_outputs; i++) {
        if (tfr_call_output(call, i) && !native_is_float(tfr_call_output(call, i)))
            return false;
    }
    return call->n_inputs == 5 && x->rank == rank && native_fits(x) &&
           tfr_operand_elements(x) > 0 && tfr_call_output(call, 0);
}

bool native_batch_norm_form(const tfr_call *call)
{
    return norm_form(call, 4);
}

bool native_normalize_form(const tfr_call *call)
{
    return (norm_form(call, 3) || norm_form(call, 4) || norm_form(call, 5)) &&
           !tfr_call_int(call, "training_mode", 0) && !tfr_call_output(call, 1) &&
           !tfr_call_output(call, 2);
}

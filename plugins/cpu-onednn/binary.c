/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.c: ops of two inputs with broadcasting (Add, Sub, Mul, Div, PRelu, Pow with a constant
 * exponent) and of many (Sum, Mean).
 *
 * oneDNN's fast code wants input 0 as large as the output and input 1 broadcast in one of few
 * patterns. So neighbouring dimensions that are broadcast alike are merged, and what is left must
 * be at most three dimensions. The operands change places where the op allows: a + b = b + a,
 * a - b = -b + a. What remains would run in the library's reference loop at 20 ns an element and is
 * declined. Not claimed: Max and Min, which lose a NaN of input 0, and comparisons, which take a
 * NaN for greater than everything and have fast code for some shapes only.
 */
#include "families.h"

#include <math.h>
#include <string.h>

/* The output's dims merged, and which of them each input has. */
typedef struct merged {
    int rank;
    int64_t dims[TFR_MAX_RANK];
    bool has[2][TFR_MAX_RANK];
    bool full[2];
} merged;

static int64_t padded_dim(const tfr_operand *o, int rank, int i)
{
    int at = i - (rank - o->rank);
    return at < 0 ? 1 : o->dims[at];
}

static void merge(const tfr_operand *a, const tfr_operand *b, const tfr_operand *y, merged *m)
{
    int i;

    m->rank = 0;
    m->full[0] = m->full[1] = true;
    for (i = 0; i < y->rank; i++) {
        bool has_a = padded_dim(a, y->rank, i) == y->dims[i];
        bool has_b = padded_dim(b, y->rank, i) == y->dims[i];
        int last = m->rank - 1;
        if (y->dims[i] == 1)
            continue;
        m->full[0] = m->full[0] && has_a;
        m->full[1] = m->full[1] && has_b;
        if (last >= 0 && m->has[0][last] == has_a && m->has[1][last] == has_b) {
            m->dims[last] *= y->dims[i];
            continue;
        }
        m->dims[m->rank] = y->dims[i];
        m->has[0][m->rank] = has_a;
        m->has[1][m->rank++] = has_b;
    }
    if (m->rank == 0) {
        m->rank = 1;
        m->dims[0] = 1;
        m->has[0][0] = m->has[1][0] = true;
    }
}

static onednn_cmd merged_md(onednn_build *b, const merged *m, int which, dnnl_data_type_t type)
{
    int64_t dims[TFR_MAX_RANK] = {1};
    int i;

    for (i = 0; i < m->rank; i++)
        dims[i] = which > 1 || m->has[which][i] ? m->dims[i] : 1;
    return onednn_plain(b, type, m->rank, dims);
}

static const struct op {
    const char *name;
    dnnl_alg_kind_t alg;
} ops[] = {
    {"Add", dnnl_binary_add},
    {"Div", dnnl_binary_div},
    {"Mul", dnnl_binary_mul},
    {"Sub", dnnl_binary_sub},
};

static const struct op *find_binary(const tfr_call *call)
{
    size_t i;
    for (i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, call->name) == 0)
            return &ops[i];
    }
    return NULL;
}

static bool is_known_scalar(const tfr_operand *o)
{
    return o->data && tfr_operand_elements(o) == 1;
}

void onednn_binary_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const struct op *op = find_binary(call);
    merged m;

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    merge(a, b, tfr_call_output(call, 0), &m);
    if (!m.full[0] && !m.full[1])
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "both inputs are broadcast, and the library has only a slow loop for that");
    else if (m.rank > 3)
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "broadcasting alternates over %d groups of dims, 3 are done here", m.rank);
    else if (!m.full[0] && op->alg == dnnl_binary_div && !is_known_scalar(a))
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "the dividend is broadcast, and the library has only a slow loop for that");
    else
        onednn_in_place(answer, m.full[0] ? 0 : 1);
}

void onednn_binary_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *left = tfr_call_input(call, 0), *right = tfr_call_input(call, 1);
    const struct op *op = find_binary(call);
    dnnl_data_type_t type = onednn_type(left->dtype);
    onednn_cmd whole;
    merged m;
    int x, y, z;

    merge(left, right, tfr_call_output(call, 0), &m);
    if (!m.full[0] && op->alg == dnnl_binary_sub)
        type = dnnl_f32; /* two steps, one rounding */
    if (!m.full[0] && op->alg == dnnl_binary_div) {
        onednn_cmd flat = onednn_flat(b, right);
        onednn_add_eltwise(b, dnnl_eltwise_pow, onednn_known(left, 0), -1.0f,
                           onednn_input(b, 1, flat), onednn_output(b, 0, flat));
        return;
    }
    whole = merged_md(b, &m, 2, type);
    x = onednn_input(b, 0, merged_md(b, &m, 0, type));
    y = onednn_input(b, 1, merged_md(b, &m, 1, type));
    z = onednn_output(b, 0, whole);
    if (m.full[0]) {
        onednn_add_binary(b, op->alg, x, y, z);
    } else if (op->alg == dnnl_binary_sub) {
        onednn_add_eltwise(b, dnnl_eltwise_linear, -1.0f, -0.0f, y, z);
        onednn_add_binary(b, dnnl_binary_add, z, x, z);
    } else {
        onednn_add_binary(b, op->alg, y, x, z);
    }
}

/* ---- Sum and Mean of many ---- */

enum { MAX_TERMS = 16 };

/* The first input that has the output's shape, or -1. */
static int full_term(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (tfr_operand_elements(tfr_call_input(call, i)) == tfr_operand_elements(y))
            return (int)i;
    }
    return -1;
}

void onednn_variadic_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    int full = full_term(call);
    uint32_t i;
    merged m;

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    if (call->n_inputs < 2 || call->n_inputs > MAX_TERMS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u inputs, 2 to %d are done here",
                    call->n_inputs, MAX_TERMS);
        return;
    }
    if (full < 0) {
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "all inputs are broadcast, and the library has only a slow loop for that");
        return;
    }
    for (i = 0; i < call->n_inputs; i++) {
        merge(y, tfr_call_input(call, i), y, &m);
        if (m.rank > 3) {
            tfr_decline(answer, TFR_REASON_LAYOUT,
                        "input %u is broadcast over %d alternating groups of dims, 3 are done here",
                        i, m.rank);
            return;
        }
    }
}

void onednn_variadic_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    int full = full_term(call), i;
    bool first = true;

    for (i = 0; i < (int)call->n_inputs; i++) {
        merged m;
        onednn_cmd whole;
        int sum;
        if (i == full)
            continue;
        merge(y, tfr_call_input(call, (uint32_t)i), y, &m);
        whole = merged_md(b, &m, 2, dnnl_f32);
        sum = onednn_output(b, 0, whole);
        onednn_add_binary(b, dnnl_binary_add, first ? onednn_input(b, (uint32_t)full, whole) : sum,
                          onednn_input(b, (uint32_t)i, merged_md(b, &m, 1, dnnl_f32)), sum);
        first = false;
    }
    if (strcmp(call->name, "Mean") == 0) {
        int flat = onednn_output(b, 0, onednn_wide_flat(b, y));
        onednn_add_eltwise(b, dnnl_eltwise_linear, 1.0f / (float)call->n_inputs, 0.0f, flat, flat);
    }
}

/* ---- PRelu ---- */

/* A single slope that is known, as leaky relu takes it; 0 = there is none, or none that is finite.
 */
static float one_slope(const tfr_call *call)
{
    const tfr_operand *slope = tfr_call_input(call, 1);
    float value = is_known_scalar(slope) ? onednn_known(slope, 0) : 0.0f;
    return isfinite(value) ? value : 0.0f;
}

void onednn_prelu_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    merged m;

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    merge(x, tfr_call_input(call, 1), x, &m);
    if (!m.full[1] && m.rank == 1 && one_slope(call) == 0.0f)
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "the slope is one number, only a finite constant that is not 0 is done here");
    else if (m.rank > 3)
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "the slope is broadcast over %d alternating groups of dims, 3 are done here",
                    m.rank);
}

void onednn_prelu_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    onednn_make make;
    onednn_use uses[3];
    onednn_cmd whole, slope;
    merged m;

    merge(x, tfr_call_input(call, 1), x, &m);
    if (!m.full[1] && m.rank == 1) {
        whole = onednn_wide_flat(b, x);
        onednn_add_eltwise(b, dnnl_eltwise_relu, one_slope(call), 0.0f, onednn_input(b, 0, whole),
                           onednn_output(b, 0, whole));
        return;
    }
    whole = merged_md(b, &m, 2, dnnl_f32);
    slope = merged_md(b, &m, 1, dnnl_f32);
    uses[0] = (onednn_use){DNNL_ARG_SRC, onednn_input(b, 0, whole)};
    uses[1] = (onednn_use){DNNL_ARG_WEIGHTS, onednn_input(b, 1, slope)};
    uses[2] = (onednn_use){DNNL_ARG_DST, onednn_output(b, 0, whole)};
    make = onednn_maker(b);
    if (b->status == TFR_OK)
        onednn_add(b, onednn_prelu(&make, whole, slope), &make, "prelu", uses, 3);
}

/* ---- Pow ---- */

void onednn_pow_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *p = tfr_call_input(call, 1);
    float exponent;

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    if (!is_known_scalar(p)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "the exponent is not one constant number");
        return;
    }
    exponent = onednn_known(p, 0);
    if (!tfr_operand_same_dims(x, tfr_call_output(call, 0)))
        tfr_decline(answer, TFR_REASON_RANK, "the exponent has a higher rank than the base");
    else if (exponent != 2.0f && exponent != 1.0f && exponent != -1.0f)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "exponent %g is not done here, only -1, 1 and 2 are exact and fast",
                    (double)exponent);
    else
        onednn_in_place(answer, 0);
}

void onednn_pow_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_cmd flat = onednn_wide_flat(b, tfr_call_input(call, 0));

    onednn_add_eltwise(b, dnnl_eltwise_pow, 1.0f, onednn_known(tfr_call_input(call, 1), 0),
                       onednn_input(b, 0, flat), onednn_output(b, 0, flat));
}

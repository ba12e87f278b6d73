/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unary.c: ops of one input, element by element: the activations, Exp, Sqrt, Clip and their like.
 *
 * A tensor is one dimension here, whatever its shape. Where oneDNN's JIT code loses a NaN, the op
 * is put together from steps that keep it:
 * - relu and clip answer a NaN with a bound, because maxps and minps give their second operand
 * then. elu with alpha 0 keeps it, so that is our Relu: alpha is -0, since alpha * (exp(x) - 1) is
 * to be +0 where x is negative. A Clip fills the output with the bound and takes the binary maximum
 * or minimum with the input as second operand.
 * - exp answers a NaN with infinity. exp(x) > x always, so max(exp(x), x) mends it.
 * Not here: Softplus, whose log(1 + exp(x)) is off by 1 % at -10; Log, which is -1.4e-6 at 1 in
 * oneDNN 2 and wrong for subnormals in all; Pow (binary.c).
 */
#include "families.h"

#include <math.h>
#include <string.h>

/* ---- one primitive ---- */

/* name, algorithm, and where alpha and beta come from: an attribute, or a number. */
static const struct simple {
    const char *name;
    dnnl_alg_kind_t alg;
    const char *alpha_attr;
    float alpha, beta;
} simple_ops[] = {
    {"Abs", dnnl_eltwise_abs, NULL, 0.0f, 0.0f},
    {"Elu", dnnl_eltwise_elu, "alpha", 1.0f, 0.0f},
    {"HardSwish", dnnl_eltwise_hardswish, NULL, 1.0f / 6.0f, 0.5f},
    {"LeakyRelu", dnnl_eltwise_relu, "alpha", 0.01f, 0.0f},
    {"Mish", dnnl_eltwise_mish, NULL, 0.0f, 0.0f},
    {"Neg", dnnl_eltwise_linear, NULL, -1.0f, -0.0f},
    {"Reciprocal", dnnl_eltwise_pow, NULL, 1.0f, -1.0f},
    {"Relu", dnnl_eltwise_elu, NULL, -0.0f, 0.0f},
    {"Round", dnnl_eltwise_round, NULL, 0.0f, 0.0f},
    {"Sigmoid", dnnl_eltwise_logistic, NULL, 0.0f, 0.0f},
    {"Sqrt", dnnl_eltwise_sqrt, NULL, 0.0f, 0.0f},
    {"Swish", dnnl_eltwise_swish, "alpha", 1.0f, 0.0f},
    {"Tanh", dnnl_eltwise_tanh, NULL, 0.0f, 0.0f},
};

static const struct simple *find_simple(const tfr_call *call)
{
    size_t i;
    for (i = 0; i < sizeof simple_ops / sizeof simple_ops[0]; i++) {
        if (strcmp(simple_ops[i].name, call->name) == 0)
            return &simple_ops[i];
    }
    return NULL;
}

static float alpha_of(const struct simple *s, const tfr_call *call)
{
    return s->alpha_attr ? tfr_call_float(call, s->alpha_attr, s->alpha) : s->alpha;
}

void onednn_unary_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer)
{
    const struct simple *s = find_simple(call);

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    if (s->alg == dnnl_eltwise_relu && alpha_of(s, call) == 0.0f) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "alpha is 0, and a NaN would become 0");
        return;
    }
    if (!isfinite(alpha_of(s, call))) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "alpha is not finite, and what it does not apply to would become NaN");
        return;
    }
    onednn_in_place(answer, 0);
}

void onednn_unary_prepare(onednn_build *b, const tfr_call *call)
{
    const struct simple *s = find_simple(call);
    onednn_cmd flat =
        (s->alg == dnnl_eltwise_round ? onednn_wide_flat : onednn_flat)(b, tfr_call_input(call, 0));

    onednn_add_eltwise(b, s->alg, alpha_of(s, call), s->beta, onednn_input(b, 0, flat),
                       onednn_output(b, 0, flat));
}

/* ---- Exp ---- */

void onednn_exp_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    onednn_want_float(device, call, answer, 0, true);
}

void onednn_exp_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_cmd flat = onednn_flat(b, tfr_call_input(call, 0));
    int x = onednn_input(b, 0, flat), y = onednn_output(b, 0, flat);

    onednn_add_eltwise(b, dnnl_eltwise_exp, 0.0f, 0.0f, x, y);
    onednn_add_binary(b, dnnl_binary_max, y, x, y);
}

/* ---- Gelu ---- */

static bool gelu_is_tanh(const tfr_call *call)
{
    return strcmp(tfr_call_string(call, "approximate", "none"), "tanh") == 0;
}

static bool gelu_overflows(const tfr_call *call)
{
    return DNNL_VERSION_MAJOR >= 3 && !gelu_is_tanh(call);
}

/*
 * erf of oneDNN 3 is off by 6e-7, too much for float32 near 0, and it overflows, so that
 * gelu(infinity) is NaN and gelu(3e38) infinite.
 */
void onednn_gelu_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    if (!onednn_want_float(device, call, answer, 0, !gelu_overflows(call)))
        return;
    if (!gelu_overflows(call))
        onednn_in_place(answer, 0);
    else if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "erf of oneDNN %d is off by 6e-7, too much for float32 near 0",
                    DNNL_VERSION_MAJOR);
}

void onednn_gelu_prepare(onednn_build *b, const tfr_call *call)
{
    const float high = 16.0f; /* from here on gelu(x) = x in float32 */
    onednn_cmd flat;
    int x, y, above;

    flat = onednn_flat(b, tfr_call_input(call, 0));
    x = onednn_input(b, 0, flat);
    y = onednn_output(b, 0, flat);
    if (!gelu_overflows(call)) {
        onednn_add_eltwise(b, gelu_is_tanh(call) ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf,
                           0.0f, 0.0f, x, y);
        return;
    }
    /* gelu(min(x, high)) + max(x - high, 0) */
    above = onednn_temporary(b, flat);
    onednn_add_eltwise(b, dnnl_eltwise_linear, 1.0f, -high, x, above);
    onednn_add_eltwise(b, dnnl_eltwise_elu, -0.0f, 0.0f, above, above);
    onednn_add_eltwise(b, dnnl_eltwise_clip, -INFINITY, high, x, y);
    onednn_add_eltwise(b, dnnl_eltwise_gelu_erf, 0.0f, 0.0f, y, y);
    onednn_add_binary(b, dnnl_binary_add, y, above, y);
}

/* ---- Clip and what is made of it ---- */

/* to = max(low, from) with every NaN of from kept; from and to differ unless low is 0. */
static void add_at_least(onednn_build *b, float low, int from, int to)
{
    if (low == 0.0f) {
        onednn_add_eltwise(b, dnnl_eltwise_elu, -0.0f, 0.0f, from, to);
        return;
    }
    onednn_add_eltwise(b, dnnl_eltwise_clip, low, low, from, to);
    onednn_add_binary(b, dnnl_binary_max, to, from, to);
}

/* to = min(high, from) with every NaN of from kept; from and to differ. */
static void add_at_most(onednn_build *b, float high, int from, int to)
{
    onednn_add_eltwise(b, dnnl_eltwise_clip, high, high, from, to);
    onednn_add_binary(b, dnnl_binary_min, to, from, to);
}

static void add_clip(onednn_build *b, float low, float high, int from, int to, onednn_cmd flat)
{
    if (high == INFINITY) {
        add_at_least(b, low, from, to);
    } else if (low == -INFINITY) {
        add_at_most(b, high, from, to);
    } else {
        int t = onednn_temporary(b, flat);
        add_at_least(b, low, from, t);
        add_at_most(b, high, t, to);
    }
}

void onednn_clip_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    uint32_t i;

    if (!onednn_want_float(device, call, answer, 0, true))
        return;
    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_BF16) {
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "the library turns bfloat16 numbers below 2^-126 into 0 on the way");
        return;
    }
    for (i = 1; i <= 2; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && !o->data) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "the bound of input %u is not a constant", i);
            return;
        }
        if (o && isnan(onednn_known(o, 0))) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "the bound of input %u is NaN", i);
            return;
        }
    }
    if (!tfr_call_input(call, 1) && !tfr_call_input(call, 2))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "there is no bound, and a copy is the core's");
}

void onednn_clip_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *min = tfr_call_input(call, 1), *max = tfr_call_input(call, 2);
    onednn_cmd flat = onednn_wide_flat(b, tfr_call_input(call, 0));

    add_clip(b, min ? onednn_known(min, 0) : -INFINITY, max ? onednn_known(max, 0) : INFINITY,
             onednn_input(b, 0, flat), onednn_output(b, 0, flat), flat);
}

void onednn_hard_sigmoid_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer)
{
    onednn_want_float(device, call, answer, 0, true);
}

void onednn_hard_sigmoid_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_cmd flat = onednn_wide_flat(b, tfr_call_input(call, 0));
    int t = onednn_temporary(b, flat);

    onednn_add_eltwise(b, dnnl_eltwise_linear, tfr_call_float(call, "alpha", 0.2f),
                       tfr_call_float(call, "beta", 0.5f), onednn_input(b, 0, flat), t);
    add_at_least(b, 0.0f, t, t);
    add_at_most(b, 1.0f, t, onednn_output(b, 0, flat));
}

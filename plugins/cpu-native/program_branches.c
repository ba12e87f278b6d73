/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_branches.c: convolutions of one image that are summed become one convolution by the sum
 * of their weights: w = w1 + w2, where a smaller window lies in the larger one, b = b1 + b2, summed
 * in double and rounded once. A batch normalization of the image is a window of one tap, and behind
 * a depthwise convolution the image itself is one, too. Networks are trained with such branches and
 * often kept so.
 */
#include "program_quantized.h"

#include <math.h>
#include <string.h>

typedef struct pass {
    native_ir *ir;
    native_unpacked *kept;
    uint64_t *constant_bytes;
} pass;

static bool is_known(const native_ir *ir, int value)
{
    return ir->values[value].known && ir->values[value].dtype == TFR_DTYPE_F32;
}

static int bias_of(const native_item *conv)
{
    return conv->n_inputs > 2 ? conv->inputs[2] : -1;
}

static bool same_dims(const native_value *a, const native_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool is_conv(const native_ir *ir, const native_item *item)
{
    return (item->kind == NATIVE_ITEM_CONV || item->kind == NATIVE_ITEM_DEPTHWISE) &&
           item->act.kind == NATIVE_ACT_NONE && item->residual < 0 && item->integer < 0 &&
           !item->pooled && item->codes < 0 && !item->whole[0] && !item->depth.kernel &&
           ir->values[item->output].rank == 4 && is_known(ir, item->inputs[1]) &&
           ir->values[item->inputs[1]].rank == 4 &&
           ir->values[item->inputs[1]].dims[2] == item->kernel[0] &&
           ir->values[item->inputs[1]].dims[3] == item->kernel[1] &&
           (bias_of(item) < 0 || is_known(ir, bias_of(item)));
}

/* Which tap of the window of `to` reads what tap t of another one reads along an axis, or -1. */
static int64_t tap_of(const native_item *to, int axis, int64_t t, int64_t dilation, int64_t pad)
{
    const int64_t at = t * dilation - pad + to->pad[axis];

    return at >= 0 && at % to->dilation[axis] == 0 && at / to->dilation[axis] < to->kernel[axis]
               ? at / to->dilation[axis]
               : -1;
}

static bool holds(const native_item *to, const native_item *from)
{
    int axis;
    int64_t t;

    for (axis = 0; axis < 2; axis++) {
        for (t = 0; t < from->kernel[axis]; t++) {
            if (tap_of(to, axis, t, from->dilation[axis], from->pad[axis]) < 0)
                return false;
        }
    }
    return true;
}

/* ---- new weights ---- */

static float *keep(pass *p, const native_constant_key *key, int64_t n, bool *made)
{
    float *to = native_keep_unpacked(p->ir, p->kept, key, n, p->constant_bytes, made);

    p->ir->failed = p->ir->failed || !to;
    return to;
}

static int known_value(native_ir *ir, const native_value *like, const float *known)
{
    const native_value copy = *like;
    const int v = native_new_value(ir, &copy);

    if (!ir->failed)
        ir->values[v].known = known;
    return v;
}

/* b1 + b2 of the convolution; either may be NULL. */
static void add_bias(pass *p, native_item *conv, const void *more)
{
    const int64_t channels = p->ir->values[conv->output].dims[1];
    const native_value v = {.rank = 1, .dims = {channels}, .dtype = TFR_DTYPE_F32};
    const void *old = bias_of(conv) < 0 ? NULL : p->ir->values[bias_of(conv)].known;
    const native_constant_key key = {{old, more}, {-7, channels}};
    bool made = false;
    float *sum;
    int64_t i;

    if (!more)
        return;
    sum = keep(p, &key, channels, &made);
    if (!sum)
        return;
    for (i = 0; made && i < channels; i++)
        sum[i] = (float)((old ? (double)native_float_at(old, i) : 0.0) +
                         (double)native_float_at(more, i));
    conv->inputs[2] = known_value(p->ir, &v, sum);
    if (conv->n_inputs < 3)
        conv->n_inputs = 3;
}

/* Key of the sum of the weights of `to` and others. */
static native_constant_key key_of(const native_item *to, const void *weights, const void *more,
                                  int kind)
{
    return (native_constant_key){{weights, more},
                                 {kind, to->kernel[0], to->kernel[1], to->pad[0], to->pad[1],
                                  to->dilation[0], to->dilation[1]}};
}

/* The weights of `from`, whose window lies in that of `to`. */
static void add_weights(pass *p, native_item *to, const native_item *from)
{
    native_ir *ir = p->ir;
    const native_value w = ir->values[to->inputs[1]];
    const void *old = w.known, *more = ir->values[from->inputs[1]].known;
    const int64_t n = native_elements(&w), taps = w.dims[2] * w.dims[3];
    native_constant_key key = key_of(to, old, more, -8);
    int64_t plane, y, x, at = 0;
    bool made = false;
    float *sum;

    key.numbers[7] = from->kernel[0] << 32 | from->kernel[1];
    key.numbers[8] = from->pad[0] << 32 | from->pad[1];
    key.numbers[9] = from->dilation[0] << 32 | from->dilation[1];
    sum = keep(p, &key, n, &made);
    if (!sum)
        return;
    if (made)
        memcpy(sum, old, (size_t)n * sizeof *sum);
    for (plane = 0; made && plane < n / taps; plane++) {
        for (y = 0; y < from->kernel[0]; y++) {
            const int64_t row = tap_of(to, 0, y, from->dilation[0], from->pad[0]);
            for (x = 0; x < from->kernel[1]; x++) {
                const int64_t column = tap_of(to, 1, x, from->dilation[1], from->pad[1]);
                float *tap = &sum[plane * taps + row * w.dims[3] + column];
                *tap = (float)((double)*tap + (double)native_float_at(more, at++));
            }
        }
    }
    to->inputs[1] = known_value(ir, &w, sum);
}

/* The image itself, times a factor of each channel, or 1. */
static void add_image(pass *p, native_item *to, const float *factors)
{
    native_ir *ir = p->ir;
    const native_value w = ir->values[to->inputs[1]];
    const int64_t n = native_elements(&w), taps = w.dims[2] * w.dims[3], inputs = w.dims[1];
    const int64_t outputs = w.dims[0] / (ir->values[to->inputs[0]].dims[1] / inputs);
    const int64_t tap = tap_of(to, 0, 0, 1, 0) * w.dims[3] + tap_of(to, 1, 0, 1, 0);
    const native_constant_key key = key_of(to, w.known, factors, -9);
    bool made = false;
    float *sum = keep(p, &key, n, &made);
    int64_t c;

    if (!sum)
        return;
    if (made)
        memcpy(sum, w.known, (size_t)n * sizeof *sum);
    for (c = 0; made && c < w.dims[0]; c++) { /* groups have as many inputs as outputs */
        float *at = &sum[(c * inputs + c % outputs) * taps + tap];
        *at = (float)((double)*at + (factors ? (double)factors[c] : 1.0));
    }
    to->inputs[1] = known_value(ir, &w, sum);
}

/* ---- what can be summed ---- */

static bool steps_are_alike(const native_item *a, const native_item *b)
{
    return a->kind == b->kind && a->groups == b->groups && a->stride[0] == b->stride[0] &&
           a->stride[1] == b->stride[1];
}

static bool merge_convs(pass *p, native_item *a, native_item *b)
{
    native_item *to = a, *from = b;

    if (!is_conv(p->ir, a) || !is_conv(p->ir, b) || a->inputs[0] != b->inputs[0] ||
        !steps_are_alike(a, b))
        return false;
    if (!holds(to, from)) {
        to = b;
        from = a;
    }
    if (!holds(to, from))
        return false;
    add_weights(p, to, from);
    if (!p->ir->failed)
        add_bias(p, to, bias_of(from) < 0 ? NULL : p->ir->values[bias_of(from)].known);
    if (to == b)
        *a = *b;
    return !p->ir->failed;
}

/* Whether a window has a tap that reads the image where the output lies. */
static bool takes_image(const native_ir *ir, const native_item *conv, int image)
{
    return is_conv(ir, conv) && conv->inputs[0] == image && conv->stride[0] == 1 &&
           conv->stride[1] == 1 && tap_of(conv, 0, 0, 1, 0) >= 0 && tap_of(conv, 1, 0, 1, 0) >= 0 &&
           same_dims(&ir->values[image], &ir->values[conv->output]);
}

static bool merge_norm(pass *p, native_item *conv, const native_item *norm)
{
    const float *factors, *terms;

    if (norm->kind != NATIVE_ITEM_BATCH_NORM || !takes_image(p->ir, conv, norm->inputs[0]) ||
        !native_norm_constants(p->ir, norm, p->kept, &factors, &terms, p->constant_bytes))
        return false;
    add_image(p, conv, factors);
    if (!p->ir->failed)
        add_bias(p, conv, terms);
    return !p->ir->failed;
}

static void end_sum(native_ir *ir, native_item *sum, native_item *all, native_item *gone)
{
    all->output = sum->output;
    sum->kind = NATIVE_ITEM_NONE;
    if (gone)
        gone->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

static bool is_sum(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];

    return item->kind == NATIVE_ITEM_BINARY && item->binary == NATIVE_ADD &&
           item->act.kind == NATIVE_ACT_NONE && item->residual < 0 && item->integer < 0 &&
           item->inputs[0] != item->inputs[1] && y->dtype == TFR_DTYPE_F32 &&
           same_dims(&ir->values[item->inputs[0]], y) && same_dims(&ir->values[item->inputs[1]], y);
}

static bool merge(pass *p, native_item *sum)
{
    native_ir *ir = p->ir;
    native_item *a, *b;

    if (!is_sum(ir, sum))
        return false;
    a = native_only_maker(ir, sum->inputs[0]);
    b = native_only_maker(ir, sum->inputs[1]);
    if (a && b && (merge_convs(p, a, b) || merge_norm(p, a, b))) {
        end_sum(ir, sum, a, b);
        return true;
    }
    if (a && b && merge_norm(p, b, a)) {
        end_sum(ir, sum, b, a);
        return true;
    }
    if (!a || a->kind != NATIVE_ITEM_DEPTHWISE || a->inputs[0] != sum->inputs[1])
        a = b && b->kind == NATIVE_ITEM_DEPTHWISE && b->inputs[0] == sum->inputs[0] ? b : NULL;
    if (!a || ir->failed || !takes_image(ir, a, a->inputs[0]))
        return false;
    add_image(p, a, NULL);
    end_sum(ir, sum, a, NULL);
    return !ir->failed;
}

bool native_merge_branches(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    pass p = {ir, kept, constant_bytes};
    bool any = false;
    int i;

    if (!native_has_convs(native_kinds(ir)) || native_wants_stages(ir))
        return false;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        if (merge(&p, &ir->items[i])) {
            native_count_readers(ir);
            any = true;
        }
    }
    return any;
}

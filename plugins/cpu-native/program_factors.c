/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_factors.c: a factor or a term of each channel behind a convolution is in its weights and
 * its bias: w' = w s, b' = b s; or b' = b + t. Each is computed in double and rounded once. The
 * core does that for BatchNormalization; converters leave Mul and Add of it where they found no
 * convolution to put them into.
 */
#include "program_quantized.h"

#include <math.h>
#include <string.h>

/* No factor takes the range of float away, which would make infinities, and with zeros NaN. */
static const double largest = 1e30;

/* ---- what can be taken ---- */

static bool is_known(const native_ir *ir, int value)
{
    return ir->values[value].known && ir->values[value].dtype == TFR_DTYPE_F32;
}

/* For each channel of an image. */
static const float *by_channel(const native_ir *ir, int value, int64_t channels)
{
    const native_value *v = &ir->values[value];
    const float *numbers = v->known;
    int64_t i;

    if (!is_known(ir, value) || native_elements(v) != channels || channels < 1 ||
        (channels > 1 && (v->rank < 3 || v->dims[v->rank - 3] != channels)))
        return NULL;
    for (i = 0; i < channels; i++) {
        if (!(fabs((double)numbers[i]) < largest))
            return NULL;
    }
    return numbers;
}

static bool takes_factors(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];

    return (item->kind == NATIVE_ITEM_CONV || item->kind == NATIVE_ITEM_DEPTHWISE) &&
           item->act.kind == NATIVE_ACT_NONE && item->residual < 0 && item->integer < 0 &&
           !item->pooled && y->rank == 4 && y->readers == 1 && !y->output &&
           is_known(ir, item->inputs[1]) &&
           (item->n_inputs < 3 || item->inputs[2] < 0 || is_known(ir, item->inputs[2]));
}

/* ---- new constants ---- */

/* Of the weights and the bias: n numbers, `inner` beside each other for a channel. */
static const float *make(native_ir *ir, native_unpacked *kept, const float *from, const float *by,
                         bool factors, int64_t n, int64_t inner, uint64_t *constant_bytes)
{
    const native_constant_key key = {{from, by, NULL}, {factors ? -3 : -4, 0, n, inner}};
    bool made = false;
    float *to = native_keep_unpacked(ir, kept, &key, (uint64_t)n * sizeof *to, &made);
    int64_t i;

    for (i = 0; to && made && i < n; i++) {
        const double x = from ? (double)from[i] : 0.0, y = (double)by[i / inner];
        to[i] = (float)(factors ? x * y : x + y);
    }
    if (to && made)
        *constant_bytes += (uint64_t)n * sizeof *to;
    return to;
}

static int with(native_ir *ir, int like, const float *known)
{
    const native_value copy = ir->values[like];
    const int v = native_new_value(ir, &copy);

    if (!ir->failed)
        ir->values[v].known = known;
    return v;
}

static bool take(native_ir *ir, native_item *conv, native_item *next, native_unpacked *kept,
                 uint64_t *constant_bytes)
{
    const int64_t channels = ir->values[conv->output].dims[1];
    const int other = next->inputs[next->inputs[0] == conv->output];
    const int weights = conv->inputs[1], bias = conv->n_inputs > 2 ? conv->inputs[2] : -1;
    const bool factors = next->binary == NATIVE_MUL;
    const float *by = by_channel(ir, other, channels), *made = NULL;
    const int64_t n = native_elements(&ir->values[weights]);

    if (!by)
        return false;
    if (factors) {
        made = make(ir, kept, ir->values[weights].known, by, true, n, n / channels, constant_bytes);
        if (!made)
            return false;
        conv->inputs[1] = with(ir, weights, made);
    }
    if (bias >= 0 || !factors) {
        native_value v = {.rank = 1, .dims = {channels}, .dtype = TFR_DTYPE_F32};
        made = make(ir, kept, bias >= 0 ? ir->values[bias].known : NULL, by, factors, channels, 1,
                    constant_bytes);
        conv->inputs[2] = made ? native_new_value(ir, &v) : 0;
        if (made && !ir->failed)
            ir->values[conv->inputs[2]].known = made;
        if (conv->n_inputs < 3)
            conv->n_inputs = 3;
    }
    ir->failed = ir->failed || !made;
    conv->output = next->output;
    next->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
    return !ir->failed;
}

void native_fold_factors(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    int i;

    if (native_wants_stages(ir))
        return;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        while (!ir->failed && takes_factors(ir, &ir->items[i])) {
            native_item *next = native_only_reader(ir, ir->items[i].output);
            if (!next || next->kind != NATIVE_ITEM_BINARY || next->act.kind != NATIVE_ACT_NONE ||
                (next->binary != NATIVE_MUL && next->binary != NATIVE_ADD) ||
                !take(ir, &ir->items[i], next, kept, constant_bytes))
                break;
        }
    }
}

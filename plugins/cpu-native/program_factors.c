/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_factors.c: a factor or a term of each channel behind a convolution is in its weights and
 * its bias: w' = w s, b' = b s; or b' = b + t. Each is computed in double and rounded once. The
 * core does that for BatchNormalization behind one convolution; converters leave Mul and Add of it
 * where they found no convolution to put them into. Behind channels of several convolutions that
 * are put together each takes its own.
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

static bool are_small(const void *numbers, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        if (!(fabs((double)native_float_at(numbers, i)) < largest))
            return false;
    }
    return true;
}

/* For each channel of an image. */
static const void *by_channel(const native_ir *ir, int value, int64_t channels)
{
    const native_value *v = &ir->values[value];

    if (!is_known(ir, value) || native_elements(v) != channels || channels < 1 ||
        (channels > 1 && (v->rank < 3 || v->dims[v->rank - 3] != channels)))
        return NULL;
    return are_small(v->known, channels) ? v->known : NULL;
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

/* Convolutions whose outputs are the channels of a value, each from a channel on. */
typedef struct makers {
    native_item *convs[NATIVE_ITEM_INPUTS], *last; /* which makes the value */
    int64_t first[NATIVE_ITEM_INPUTS], channels;
    int n;
} makers;

static bool find_makers(const native_ir *ir, native_item *item, makers *to)
{
    const native_value *y = &ir->values[item->output];
    int k;

    memset(to, 0, sizeof *to);
    to->last = item;
    to->n = 1;
    to->convs[0] = item;
    if (takes_factors(ir, item)) {
        to->channels = y->dims[1];
        return true;
    }
    if (item->kind != NATIVE_ITEM_CONCAT || item->integer >= 0 || y->rank != 4 ||
        (item->axis != 1 && item->axis != -3))
        return false;
    to->n = item->n_inputs;
    for (k = 0; k < to->n; k++) {
        to->convs[k] = native_only_maker(ir, item->inputs[k]);
        if (!to->convs[k] || !takes_factors(ir, to->convs[k]))
            return false;
        to->first[k] = to->channels;
        to->channels += ir->values[item->inputs[k]].dims[1];
    }
    return true;
}

/* ---- new constants ---- */

/* Of the weights and the bias: n numbers, `inner` beside each other for a channel. */
static const float *make(native_ir *ir, native_unpacked *kept, const void *from, const void *by,
                         bool factors, int64_t n, int64_t inner, uint64_t *constant_bytes)
{
    const native_constant_key key = {{from, by, NULL}, {factors ? -3 : -4, 0, n, inner}};
    bool made = false;
    float *to = native_keep_unpacked(ir, kept, &key, n, constant_bytes, &made);
    int64_t i;

    for (i = 0; to && made && i < n; i++) {
        const double x = from ? (double)native_float_at(from, i) : 0.0,
                     y = (double)native_float_at(by, i / inner);
        to[i] = (float)(factors ? x * y : x + y);
    }
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

/* The factors or terms `by` of its channels. */
static bool take(native_ir *ir, native_item *conv, const void *by, bool factors,
                 native_unpacked *kept, uint64_t *constant_bytes)
{
    const int64_t channels = ir->values[conv->output].dims[1];
    const int weights = conv->inputs[1], bias = conv->n_inputs > 2 ? conv->inputs[2] : -1;
    const int64_t n = native_elements(&ir->values[weights]);
    const float *made = NULL;

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
    return made != NULL;
}

static void take_all(native_ir *ir, const makers *m, const void *by, bool factors,
                     native_unpacked *kept, uint64_t *constant_bytes)
{
    int k;

    for (k = 0; k < m->n && !ir->failed; k++)
        ir->failed = !take(ir, m->convs[k], (const char *)by + (size_t)m->first[k] * sizeof(float),
                           factors, kept, constant_bytes) ||
                     ir->failed;
}

/* One number as that of each channel, or NULL. */
static const float *by_number(native_ir *ir, int value, int64_t channels, native_unpacked *kept,
                              uint64_t *constant_bytes)
{
    const native_value *v = &ir->values[value];
    const native_constant_key key = {{v->known}, {-6, channels}};
    bool made = false;
    float *to;
    int64_t i;

    if (!is_known(ir, value) || native_elements(v) != 1 || v->rank > 4 || !are_small(v->known, 1))
        return NULL;
    to = native_keep_unpacked(ir, kept, &key, channels, constant_bytes, &made);
    for (i = 0; to && made && i < channels; i++)
        memcpy(&to[i], v->known, sizeof *to);
    return to;
}

static bool take_binary(native_ir *ir, const makers *m, const native_item *next,
                        native_unpacked *kept, uint64_t *constant_bytes)
{
    const int other = next->inputs[next->inputs[0] == m->last->output];
    const void *by;

    if (next->binary != NATIVE_MUL && next->binary != NATIVE_ADD)
        return false;
    by = by_channel(ir, other, m->channels);
    if (!by)
        by = by_number(ir, other, m->channels, kept, constant_bytes);
    if (!by)
        return false;
    take_all(ir, m, by, next->binary == NATIVE_MUL, kept, constant_bytes);
    return true;
}

/* ---- batch normalization ---- */

bool native_norm_constants(native_ir *ir, const native_item *norm, native_unpacked *kept,
                           const float **factors, const float **terms, uint64_t *constant_bytes)
{
    const int64_t channels = ir->values[norm->output].dims[1];
    const void *of[5] = {NULL};
    native_constant_key key = {{NULL}, {-5, channels}};
    bool made[2] = {false, false};
    float *to[2];
    int64_t i;
    int k;

    if (norm->kind != NATIVE_ITEM_BATCH_NORM || !norm->of_variance || norm->residual >= 0 ||
        norm->act.kind != NATIVE_ACT_NONE)
        return false;
    for (k = 1; k < 5; k++) {
        if (!is_known(ir, norm->inputs[k]) ||
            native_elements(&ir->values[norm->inputs[k]]) != channels)
            return false;
        key.data[k - 1] = of[k] = ir->values[norm->inputs[k]].known;
    }
    memcpy(&key.numbers[2], &norm->epsilon, sizeof norm->epsilon);
    for (k = 0; k < 2; k++) {
        key.numbers[3] = k;
        to[k] = native_keep_unpacked(ir, kept, &key, channels, constant_bytes, &made[k]);
        if (!to[k])
            return false;
    }
    for (i = 0; i < channels; i++) {
        const double a = (double)native_float_at(of[3], i) /
                         sqrt((double)native_float_at(of[2], i) + (double)norm->epsilon);
        if (made[0])
            to[0][i] = (float)a;
        if (made[1])
            to[1][i] =
                (float)((double)native_float_at(of[4], i) - (double)native_float_at(of[1], i) * a);
    }
    *factors = to[0];
    *terms = to[1];
    return are_small(to[0], channels) && are_small(to[1], channels);
}

static bool take_norm(native_ir *ir, const makers *m, const native_item *next,
                      native_unpacked *kept, uint64_t *constant_bytes)
{
    const float *factors, *terms;

    if (!native_norm_constants(ir, next, kept, &factors, &terms, constant_bytes))
        return false;
    take_all(ir, m, factors, true, kept, constant_bytes);
    take_all(ir, m, terms, false, kept, constant_bytes);
    return true;
}

static bool take_next(native_ir *ir, const makers *m, native_unpacked *kept,
                      uint64_t *constant_bytes)
{
    native_item *next = native_only_reader(ir, m->last->output);

    if (!next || next->act.kind != NATIVE_ACT_NONE || next->residual >= 0 ||
        !(next->kind == NATIVE_ITEM_BINARY
              ? take_binary(ir, m, next, kept, constant_bytes)
              : next->kind == NATIVE_ITEM_BATCH_NORM && next->inputs[0] == m->last->output &&
                    take_norm(ir, m, next, kept, constant_bytes)))
        return false;
    m->last->output = next->output;
    next->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
    return true;
}

void native_fold_factors(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    makers m;
    int i;

    if (!native_has_convs(native_kinds(ir)) || native_wants_stages(ir))
        return;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        while (!ir->failed && find_makers(ir, &ir->items[i], &m) &&
               take_next(ir, &m, kept, constant_bytes))
            continue;
    }
}

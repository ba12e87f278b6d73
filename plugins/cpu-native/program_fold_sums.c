/* SPDX-License-Identifier: Apache-2.0 */
/* program_fold_sums.c: the results so far of reductions: how they begin, merge and end. */
#include "program_fold_sums.h"

#include <math.h>
#include <string.h>

enum {
    GROUP = 16,     /* of numbers, for compilers that make vectors of loops of known length */
    NEAR_TERMS = 32 /* of a result that are added by fours, at least */
};

const int8_t native_fold_bytes[NATIVE_FOLD_TYPES] = {4, 8, 4, 8, 1, 1};

#define FILL(field, number)                                                                        \
    for (i = 0; i < n; i++)                                                                        \
        s->field[i] = (number);                                                                    \
    break

void native_totals_begin(native_fold_kind kind, native_fold_type type, native_totals *s, int64_t n)
{
    const bool greatest = kind == NATIVE_FOLD_GREATEST, extreme = native_fold_keeps(kind);
    int64_t i;

    if (!extreme && kind != NATIVE_FOLD_PRODUCT) {
        memset(s, 0, (size_t)(n * native_fold_bytes[type]));
        return;
    }
    switch (type) {
    case NATIVE_FOLD_F32:
        FILL(f32, greatest ? -INFINITY : INFINITY);
    case NATIVE_FOLD_F64:
        FILL(f64, extreme ? (greatest ? -(double)INFINITY : (double)INFINITY)
                          : kind == NATIVE_FOLD_PRODUCT);
    case NATIVE_FOLD_I32:
        FILL(i32, greatest ? INT32_MIN : INT32_MAX);
    case NATIVE_FOLD_I64:
        FILL(i64,
             extreme ? (uint64_t)(greatest ? INT64_MIN : INT64_MAX) : kind == NATIVE_FOLD_PRODUCT);
    case NATIVE_FOLD_U8:
        FILL(u8, greatest ? 0 : UINT8_MAX);
    case NATIVE_FOLD_I8:
        FILL(i8, greatest ? INT8_MIN : INT8_MAX);
    default:
        break;
    }
}

native_fold_fn native_totals_merge(const native_reduction_step *r, native_fold_kind kind)
{
    const bool keeps = native_fold_keeps(kind) || kind == NATIVE_FOLD_PRODUCT;

    return r->isa->folds->rows[keeps ? kind : NATIVE_FOLD_SUM][native_fold_sums(kind, r->type)];
}

void native_totals_fold_together(const native_reduction_step *r, native_fold_kind kind,
                                 native_totals *s, int64_t groups, int64_t n)
{
    const int64_t bytes = native_fold_bytes[native_fold_sums(kind, r->type)];
    const native_fold_fn merge = native_totals_merge(r, kind);

    while (groups > 1) {
        const int64_t half = (groups + 1) / 2;
        merge(&(native_fold){
            .x = (const char *)s + half * n * bytes, .rows = 1, .n = (groups - half) * n, .to = s});
        groups = half;
    }
}

void native_totals_fold_inside(const native_reduction_step *r, native_fold_kind kind,
                               native_totals *s, int64_t n)
{
    const int64_t bytes = native_fold_bytes[native_fold_sums(kind, r->type)];
    const native_fold_fn merge = native_totals_merge(r, kind);
    int64_t k;
    int i;

    for (i = 0; i < r->n_inside; i++) {
        const int64_t step = r->inside[i].step, dim = r->inside[i].dim;
        n /= dim;
        for (k = 0; k < n / step; k++) {
            char *from = (char *)s + k * dim * step * bytes;
            merge(&(native_fold){
                .x = from + step * bytes, .rows = dim - 1, .step = step, .n = step, .to = from});
            memmove((char *)s + k * step * bytes, from, (size_t)(step * bytes));
        }
    }
}

/* Fours round three numbers of float32 each, which in a sum of many is less than what its own
 * result is rounded by, and in one of a few is more: a deviation from a mean would show it. */
native_fold_kind native_totals_adding(const native_reduction_step *r)
{
    return r->kind.fold == NATIVE_FOLD_SUM && r->type == NATIVE_FOLD_F32 && r->terms >= NEAR_TERMS
               ? NATIVE_FOLD_NEAR
               : r->kind.fold;
}

double native_totals_number(const void *p, native_fold_type type, int64_t i)
{
    switch (type) {
    case NATIVE_FOLD_F32:
        return (double)((const float *)p)[i];
    case NATIVE_FOLD_F64:
        return ((const double *)p)[i];
    default:
        return (double)((const int64_t *)p)[i];
    }
}

/* Its top bit carries where the exponent of one is that of infinity or NaN. */
static uint64_t carried(const double *s, int n)
{
    const uint64_t exponent = 0x7ff0000000000000u;
    uint64_t all = 0, bits;
    int k;

    for (k = 0; k < n; k++) {
        memcpy(&bits, &s[k], sizeof bits);
        all |= (bits & exponent) + (exponent & -exponent);
    }
    return all;
}

bool native_totals_finite(const double *s, int64_t n)
{
    uint64_t all = 0;
    int64_t i;

    for (i = 0; i + GROUP <= n; i += GROUP)
        all |= carried(s + i, GROUP);
    return (all | carried(s + i, (int)(n - i))) >> 63 == 0;
}

/* Of float32: once rounded. */
static void end_sums_of_floats(const double *restrict s, double scale, float *restrict to,
                               int64_t n)
{
    int64_t i;

    for (i = 0; i + GROUP <= n; i += GROUP) {
        for (int k = 0; k < GROUP; k++)
            to[i + k] = (float)(s[i + k] * scale);
    }
    for (; i < n; i++)
        to[i] = (float)(s[i] * scale);
}

static int64_t integer_of(double x, int64_t most)
{
    return x >= (double)most ? most : (int64_t)x;
}

static void end_floats(const native_reduction_step *r, const native_totals *s, const double *top,
                       void *to, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        double v = s->f64[i];
        if (r->kind.mean)
            v /= (double)r->terms;
        if (r->kind.root)
            v = sqrt(v);
        if (r->kind.logarithm)
            v = log(v);
        if (top)
            v = isfinite(top[i]) ? top[i] + v : top[i];
        if (r->type == NATIVE_FOLD_F32)
            ((float *)to)[i] = (float)v;
        else
            ((double *)to)[i] = v;
    }
}

static void end_integers(const native_reduction_step *r, const native_totals *s, void *to,
                         int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        int64_t v = (int64_t)s->i64[i];
        if (r->kind.mean)
            v /= r->terms;
        if (r->kind.root)
            v = integer_of(sqrt((double)v), r->type == NATIVE_FOLD_I32 ? INT32_MAX : INT64_MAX);
        if (r->type == NATIVE_FOLD_I32)
            ((int32_t *)to)[i] = (int32_t)(uint32_t)(uint64_t)v;
        else
            ((int64_t *)to)[i] = v;
    }
}

void native_totals_end(const native_reduction_step *r, const native_totals *s, const double *top,
                       void *to, int64_t n)
{
    if (native_fold_keeps(r->kind.fold))
        memcpy(to, s, (size_t)(n * native_fold_bytes[r->type]));
    else if (r->type == NATIVE_FOLD_F32 && !r->kind.root && !r->kind.logarithm)
        end_sums_of_floats(s->f64, r->kind.mean ? 1.0 / (double)r->terms : 1.0, to, n);
    else if (r->sum_type == NATIVE_FOLD_F64)
        end_floats(r, s, top, to, n);
    else
        end_integers(r, s, to, n);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.c: Resize of one axis, or of two beside each other, what plugins/naive/resize.c says of
 * it; all but tf_crop_and_resize, whose region is known at launch only. nearest moves elements of
 * any type of whole bytes, sums are of float32.
 *
 * What an output takes of an axis depends on its place there alone, so resize_axis.c finds it once,
 * when the kernel is made. A row of outputs is a weighted sum of rows, which goes over dense
 * memory, and then of elements of that sum; rows of nearest that come from one row are copied.
 */
#include "resize.h"

#include <string.h>

#include "resize_axis.h"
#include "vec_portable.h"

enum { GRAIN = 8192 };

typedef native_resize state;

typedef struct work {
    const state *s;
    const char *x;
    char *y;
} work;

/* ---- nearest ---- */

#define GATHER(type)                                                                               \
    do {                                                                                           \
        const type *p = (const type *)(const void *)from;                                          \
        type *q = (type *)(void *)to;                                                              \
        for (j = 0; j < c->m; j++)                                                                 \
            q[j] = p[c->at[j]];                                                                    \
    } while (0)

typedef struct block32 {
    float of[8];
} block32;

typedef struct block64 {
    float of[16];
} block64;

static void gather_row(const state *s, const char *from, char *to)
{
    const native_axis_map *c = &s->columns;
    int64_t j;

    if (c->copied)
        memcpy(to, from, (size_t)(c->m * s->bytes));
    else if (s->bytes == 1)
        GATHER(uint8_t);
    else if (s->bytes == 2)
        GATHER(uint16_t);
    else if (s->bytes == 4)
        GATHER(uint32_t);
    else if (s->bytes == 8)
        GATHER(uint64_t);
    else if (s->bytes == 32) /* a vector of an image in blocks */
        GATHER(block32);
    else if (s->bytes == 64)
        GATHER(block64);
    else
        for (j = 0; j < c->m; j++)
            memcpy(to + j * s->bytes, from + c->at[j] * s->bytes, (size_t)s->bytes);
}

static void run_nearest(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t row = s->columns.n * s->bytes, out = s->columns.m * s->bytes;
    const char *last = NULL;

    for (; begin < end; begin++) {
        const int64_t plane = begin / s->rows.m, i = begin % s->rows.m;
        const char *from = w->x + (plane * s->rows.n + s->rows.at[i]) * row;
        char *to = w->y + begin * out;
        if (from == last)
            memcpy(to, to - out, (size_t)out);
        else
            gather_row(s, from, to);
        last = from;
    }
}

/* ---- weighted sums ---- */

/* to = the sum of n floats of each row by its weight. */
static void add_rows(const native_axis_map *rows, int64_t i, const float *plane, int64_t n,
                     float *to)
{
    const int32_t *at = rows->at + i * rows->taps;
    const float *weight = rows->weight + i * rows->taps;
    int64_t j;
    int t;

    for (t = 0; t < rows->taps; t++) {
        const float *from = plane + at[t] * n;
        const float by = weight[t];
        if (t == 0)
            for (j = 0; j < n; j++)
                to[j] = from[j] * by;
        else
            for (j = 0; j < n; j++)
                to[j] += from[j] * by;
    }
}

/* Of vectors. */
static inline __attribute__((always_inline)) void
add_vectors(const native_axis_map *c, const float *row, float *to, int64_t lanes)
{
    const int32_t *at = c->at;
    const float *weight = c->weight;
    int64_t j, k;
    int t;

    for (j = 0; j < c->m; j++, at += c->taps, weight += c->taps, to += lanes) {
        for (k = 0; k < lanes; k++)
            to[k] = row[at[0] * lanes + k] * weight[0];
        for (t = 1; t < c->taps; t++) {
            for (k = 0; k < lanes; k++)
                to[k] += row[at[t] * lanes + k] * weight[t];
        }
    }
}

static void add_columns(const state *s, const float *row, float *to)
{
    const native_axis_map *c = &s->columns;
    const int32_t *at = c->at;
    const float *weight = c->weight;
    int64_t j, k;
    int t;

    if (s->inner == 8 || s->inner == 16) {
        if (s->inner == 8)
            add_vectors(c, row, to, 8);
        else
            add_vectors(c, row, to, 16);
        return;
    }
    for (j = 0; j < c->m; j++, at += c->taps, weight += c->taps, to += s->inner) {
        if (s->inner == 1 && c->taps == 2) {
            to[0] = row[at[0]] * weight[0] + row[at[1]] * weight[1];
            continue;
        }
        for (k = 0; k < s->inner; k++) {
            float sum = 0.0f;
            for (t = 0; t < c->taps; t++)
                sum += row[at[t] * s->inner + k] * weight[t];
            to[k] = sum;
        }
    }
}

static void run_sums(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t row = s->columns.n * s->inner, out = s->columns.m * s->inner;
    float sum[NATIVE_RESIZE_ROW];

    for (; begin < end; begin++) {
        const int64_t plane = begin / s->rows.m, i = begin % s->rows.m;
        const float *x = (const float *)(const void *)w->x + plane * s->rows.n * row;
        float *to = (float *)(void *)w->y + begin * out;
        if (s->columns.copied) {
            add_rows(&s->rows, i, x, row, to);
        } else if (s->rows.copied) {
            add_columns(s, x + i * row, to);
        } else {
            add_rows(&s->rows, i, x, row, sum);
            add_columns(s, sum, to);
        }
    }
}

void native_resize_rows(const native_resize *how, const void *x, void *y, int64_t begin,
                        int64_t end)
{
    work w = {how, x, y};

    if (how->nearest)
        run_nearest(&w, begin, end);
    else
        run_sums(&w, begin, end);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {s, launch->args[0].address ? launch->args[0].address : s->known, NULL};
    const int64_t out = s->columns.m * s->inner;

    (void)err;
    w.y = launch->args[launch->n_args - 1].address;
    device->host->parallel_for(s->nearest ? run_nearest : run_sums, &w, s->planes * s->rows.m,
                               (uint64_t)(GRAIN / (out < GRAIN ? out : GRAIN)));
    return TFR_OK;
}

/* ---- the kernel ---- */

/* Finds the axes that change: one, or two beside each other, `first` and the next. */
static bool changing_axes(const tfr_call *call, const native_resize_rule *rule, int *first,
                          int *count)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int d;

    *first = x->rank - 1;
    *count = 0;
    for (d = 0; d < x->rank; d++) {
        if (native_resize_copies(rule, d))
            continue;
        if (*count == 0)
            *first = d;
        else if (d != *first + 1)
            return false;
        *count = d - *first + 1;
    }
    return *count < 3;
}

void native_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    native_resize_rule rule;
    const char *why = native_read_resize(call, &rule);
    int64_t row = 1;
    int first, count, d;

    (void)device;
    if (why) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "%s", why);
        return;
    }
    if (x->rank < 1 || !changing_axes(call, &rule, &first, &count)) {
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "one axis that changes, or two beside each other, are done here");
        return;
    }
    for (d = count == 2 ? first + 1 : first; d < x->rank; d++)
        row *= x->dims[d];
    if (rule.mode != NATIVE_RESIZE_NEAREST && x->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "sums are of float32 here");
    else if (rule.mode != NATIVE_RESIZE_NEAREST && count == 2 && row > NATIVE_RESIZE_ROW)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a row has %lld elements, the limit is %d",
                    (long long)row, NATIVE_RESIZE_ROW);
}

void native_resize_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "resize");
    native_resize_rule rule;
    int first, count, d, last;

    if (!s || native_read_resize(call, &rule) || !changing_axes(call, &rule, &first, &count))
        return;
    last = first + count; /* the first axis that moves as a whole */
    if (count < 2)        /* rows, or columns where nothing is behind them */
        last = first + 1;
    s->planes = s->inner = 1;
    for (d = 0; d < first; d++)
        s->planes *= x->dims[d];
    for (d = last; d < x->rank; d++)
        s->inner *= x->dims[d];
    s->nearest = rule.mode == NATIVE_RESIZE_NEAREST;
    s->known = x->data;
    if (count == 2) {
        native_map_axis(b, &rule, first, &s->rows);
        native_map_axis(b, &rule, first + 1, &s->columns);
    } else if (s->inner == 1) {
        native_map_whole(b, 1, &s->rows);
        native_map_axis(b, &rule, first, &s->columns);
    } else {
        native_map_axis(b, &rule, first, &s->rows);
        native_map_whole(b, s->inner, &s->columns);
        s->inner = 1;
    }
    s->bytes = s->inner * (int64_t)(tfr_dtype_bits(x->dtype) / 8);
}

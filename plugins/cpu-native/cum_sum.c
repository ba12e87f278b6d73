/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cum_sum.c: CumSum and CumProd, floats in double as naive has them, integers wrapping. Lanes that
 * lie beside each other run together, so that their additions do not wait for one another and
 * memory is read in order; threads share groups of such lanes.
 */
#include "lanes.h"
#include "move.h"

#include <string.h>

enum { PART = 16 * 1024 /* elements of a thread, at least */, AT_ONCE = 4 };

#define UNROLL _Pragma("GCC unroll 4")

typedef struct state {
    native_lanes lanes;
    int32_t dtype;
    bool product, exclusive, reverse;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const void *from;
    void *to;
} work;

/*
 * `lanes` beside each other from element `at` on; `wide` is what is summed up in. Eight lanes have
 * a loop of their own, which compilers turn into vectors.
 */
#define SOME(count, out)                                                                           \
    for (j = 0; j < (count); j++) {                                                                \
        const wide next = NEXT(sum[i + j], (wide)x[i + j]);                                        \
        y[i + j] = (out);                                                                          \
        sum[i + j] = next;                                                                         \
    }
#define ROW(out)                                                                                   \
    for (i = 0; i + 8 <= lanes; i += 8)                                                            \
        SOME(8, out)                                                                               \
    SOME(lanes - i, out)
#define LANES_OF(name, type, wide_type, start)                                                     \
    static void name(const state *s, const type *restrict from, type *restrict to, int64_t at,     \
                     int64_t lanes)                                                                \
    {                                                                                              \
        typedef wide_type wide;                                                                    \
        const native_lanes *l = &s->lanes;                                                         \
        const int64_t step = s->reverse ? -l->inner : l->inner;                                    \
        wide sum[NATIVE_LANE_GROUP];                                                               \
        int64_t i, j, k;                                                                           \
        at += s->reverse ? (l->n - 1) * l->inner : 0;                                              \
        for (i = 0; i < lanes; i++)                                                                \
            sum[i] = (start);                                                                      \
        for (k = 0; k < l->n; k++, at += step) {                                                   \
            const type *restrict x = from + at;                                                    \
            type *restrict y = to + at;                                                            \
            if (s->exclusive) {                                                                    \
                ROW((type)sum[i + j])                                                              \
            } else {                                                                               \
                ROW((type)next)                                                                    \
            }                                                                                      \
        }                                                                                          \
    }

/* Rows that lie one behind the other, AT_ONCE of them, so that their additions do not wait either.
 */
#define ROWS(count, out)                                                                           \
    for (k = 0, place = s->reverse ? n - 1 : 0; k < n; k++, place += step) {                       \
        UNROLL for (j = 0; j < (count); j++)                                                       \
        {                                                                                          \
            const wide next = NEXT(sum[j], (wide)x[j * n + place]);                                \
            y[j * n + place] = (out);                                                              \
            sum[j] = next;                                                                         \
        }                                                                                          \
    }
#define ROWS_OF(name, type, wide_type, start)                                                      \
    static void rows_##name(const state *s, const type *restrict x, type *restrict y,              \
                            int64_t rows)                                                          \
    {                                                                                              \
        typedef wide_type wide;                                                                    \
        const int64_t n = s->lanes.n, step = s->reverse ? -1 : 1;                                  \
        int64_t k, place, done;                                                                    \
        int j;                                                                                     \
        for (; rows > 0; rows -= done, x += done * n, y += done * n) {                             \
            wide sum[AT_ONCE];                                                                     \
            for (j = 0; j < AT_ONCE; j++)                                                          \
                sum[j] = (start);                                                                  \
            done = rows < AT_ONCE ? 1 : AT_ONCE;                                                   \
            if (done > 1 && s->exclusive) {                                                        \
                ROWS(AT_ONCE, (type)sum[j])                                                        \
            } else if (done > 1) {                                                                 \
                ROWS(AT_ONCE, (type)next)                                                          \
            } else if (s->exclusive) {                                                             \
                ROWS(1, (type)sum[j])                                                              \
            } else {                                                                               \
                ROWS(1, (type)next)                                                                \
            }                                                                                      \
        }                                                                                          \
    }
#define SCANS(name, type, wide_type, start)                                                        \
    LANES_OF(name, type, wide_type, start)                                                         \
    ROWS_OF(name, type, wide_type, start)

#define NEXT(a, b) ((a) + (b))
SCANS(sum_f32, float, double, 0)
SCANS(sum_f64, double, double, 0)
SCANS(sum_i32, int32_t, uint64_t, 0)
SCANS(sum_i64, int64_t, uint64_t, 0)
#undef NEXT
#define NEXT(a, b) ((a) * (b))
SCANS(product_f32, float, double, 1)
SCANS(product_f64, double, double, 1)
SCANS(product_i32, int32_t, uint64_t, 1)
SCANS(product_i64, int64_t, uint64_t, 1)

/* Lanes, or if they are rows all of them at once. */
#define RUN(name, type)                                                                            \
    if (s->lanes.inner == 1) {                                                                     \
        (s->product ? rows_product_##name : rows_sum_##name)(s, (const type *)w->from + at,        \
                                                             (type *)w->to + at, end - begin);     \
        begin = end;                                                                               \
    } else {                                                                                       \
        (s->product ? product_##name : sum_##name)(s, w->from, w->to, at, lanes);                  \
    }

static void run_groups(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        int64_t at;
        const int64_t lanes = native_lane_group(&s->lanes, begin, &at);
        if (s->dtype == TFR_DTYPE_F32) {
            RUN(f32, float)
        } else if (s->dtype == TFR_DTYPE_F64) {
            RUN(f64, double)
        } else if (s->dtype == TFR_DTYPE_I32) {
            RUN(i32, int32_t)
        } else {
            RUN(i64, int64_t)
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s};

    (void)err;
    w.from = launch->args[0].address ? launch->args[0].address : s->known;
    w.to = launch->args[launch->n_args - 1].address;
    native_lanes_run(device, &s->lanes, PART, run_groups, &w);
    return TFR_OK;
}

void native_cum_sum_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", 0);

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->rank < 1 || axis < 0 || axis >= x->rank)
        tfr_decline(answer, TFR_REASON_RANK, "axis %lld of rank %d is left to naive",
                    (long long)axis, x->rank);
}

void native_cum_sum_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "cum_sum");

    if (!s)
        return;
    s->lanes = native_lanes_along(x, axis);
    s->dtype = x->dtype;
    s->product = strcmp(call->name, "CumProd") == 0;
    s->exclusive = tfr_call_int(call, "exclusive", 0) != 0;
    s->reverse = tfr_call_int(call, "reverse", 0) != 0;
    s->known = x->data;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cum_sum.c: CumSum and CumProd, floats in double as naive has them, integers wrapping. Lanes that
 * lie beside each other run together, so that their additions do not wait for one another and
 * memory is read in order; threads share groups of such lanes.
 */
#include "move.h"

#include <string.h>

enum { GROUP = 64 /* lanes */, PART = 16 * 1024 /* elements of a thread, at least */ };

typedef struct state {
    int64_t outer, n, inner;
    int32_t dtype;
    bool product, exclusive, reverse;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const void *from;
    void *to;
    int64_t groups; /* of lanes for each outer index */
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
        const int64_t step = s->reverse ? -s->inner : s->inner;                                    \
        wide sum[GROUP];                                                                           \
        int64_t i, j, k;                                                                           \
        at += s->reverse ? (s->n - 1) * s->inner : 0;                                              \
        for (i = 0; i < lanes; i++)                                                                \
            sum[i] = (start);                                                                      \
        for (k = 0; k < s->n; k++, at += step) {                                                   \
            const type *restrict x = from + at;                                                    \
            type *restrict y = to + at;                                                            \
            if (s->exclusive) {                                                                    \
                ROW((type)sum[i + j])                                                              \
            } else {                                                                               \
                ROW((type)next)                                                                    \
            }                                                                                      \
        }                                                                                          \
    }

#define NEXT(a, b) ((a) + (b))
LANES_OF(sum_f32, float, double, 0)
LANES_OF(sum_f64, double, double, 0)
LANES_OF(sum_i32, int32_t, uint64_t, 0)
LANES_OF(sum_i64, int64_t, uint64_t, 0)
#undef NEXT
#define NEXT(a, b) ((a) * (b))
LANES_OF(product_f32, float, double, 1)
LANES_OF(product_f64, double, double, 1)
LANES_OF(product_i32, int32_t, uint64_t, 1)
LANES_OF(product_i64, int64_t, uint64_t, 1)

#define RUN(type) (s->product ? product_##type : sum_##type)(s, w->from, w->to, at, lanes)

static void run_groups(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        const int64_t first = begin % w->groups * GROUP;
        const int64_t at = begin / w->groups * s->n * s->inner + first;
        const int64_t lanes = s->inner - first < GROUP ? s->inner - first : GROUP;
        if (s->dtype == TFR_DTYPE_F32)
            RUN(f32);
        else if (s->dtype == TFR_DTYPE_F64)
            RUN(f64);
        else if (s->dtype == TFR_DTYPE_I32)
            RUN(i32);
        else
            RUN(i64);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .groups = (s->inner + GROUP - 1) / GROUP};
    const int64_t lanes = s->inner < GROUP ? s->inner : GROUP;

    (void)err;
    w.from = launch->args[0].address ? launch->args[0].address : s->known;
    w.to = launch->args[launch->n_args - 1].address;
    if (s->outer * s->n * s->inner <= PART)
        run_groups(&w, 0, s->outer * w.groups);
    else
        device->host->parallel_for(run_groups, &w, s->outer * w.groups, PART / (s->n * lanes) + 1);
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
    int d;

    if (!s)
        return;
    s->outer = s->inner = 1;
    s->n = x->dims[axis];
    for (d = 0; d < x->rank; d++)
        *(d < axis ? &s->outer : &s->inner) *= d == axis ? 1 : x->dims[d];
    s->dtype = x->dtype;
    s->product = strcmp(call->name, "CumProd") == 0;
    s->exclusive = tfr_call_int(call, "exclusive", 0) != 0;
    s->reverse = tfr_call_int(call, "reverse", 0) != 0;
    s->known = x->data;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_lp.c: LpPool: a row of outputs at a time, to which each tap adds a row of powers, in double
 * as naive has them. Threads share the rows.
 */
#include <math.h>
#include <string.h>

#include "window.h"

enum { CHUNK = 256 /* outputs of a row at once */, PART = 4 * 1024 /* taps of a thread */ };

typedef struct state {
    native_window window;
    bool wide;
    int64_t p, rows, row_taps, dims[TFR_MAX_RANK], outs[TFR_MAX_RANK];
    const void *known;
} state;

typedef struct work {
    const state *s;
    const char *from;
    char *to;
} work;

/* |x| to the power of p > 2, which is mostly 3. */
static double power(double x, int64_t p)
{
    double y = x * x;

    if (p > 8)
        return pow(fabs(x), (double)p);
    for (; p > 2; p--)
        y *= x;
    return fabs(y);
}

#define ADD(type)                                                                                  \
    static void add_##type(int64_t p, const type *x, int64_t stride, int64_t n, double *sums)      \
    {                                                                                              \
        int64_t i;                                                                                 \
        if (p == 1)                                                                                \
            for (i = 0; i < n; i++)                                                                \
                sums[i] += fabs((double)x[i * stride]);                                            \
        else if (p == 2)                                                                           \
            for (i = 0; i < n; i++)                                                                \
                sums[i] += (double)x[i * stride] * (double)x[i * stride];                          \
        else                                                                                       \
            for (i = 0; i < n; i++)                                                                \
                sums[i] += power((double)x[i * stride], p);                                        \
    }
ADD(float)
ADD(double)

static void add_powers(const state *s, const char *from, int64_t at, int64_t n, double *sums)
{
    const int64_t stride = s->window.stride[s->window.rank - 1];

    if (s->wide)
        add_double(s->p, (const double *)(const void *)from + at, stride, n, sums);
    else
        add_float(s->p, (const float *)(const void *)from + at, stride, n, sums);
}

/* One line of taps along the last axis, for outputs [begin, end) of a row of it. */
static void add_line(const state *s, const char *from, int64_t at, int64_t begin, int64_t end,
                     double *sums)
{
    const native_window *w = &s->window;
    const int32_t last = w->rank - 1;
    int64_t k, first, stop;

    for (k = 0; k < w->kernel[last]; k++) {
        native_window_span(w, last, k, 0, s->dims[last], end, &first, &stop);
        first = first > begin ? first : begin;
        if (first < stop)
            add_powers(s, from, at + first * w->stride[last] + k * w->dilation[last] - w->pad[last],
                       stop - first, sums + first - begin);
    }
}

/* All taps of outputs [begin, end) of the row whose other coordinates are `out`. */
static void add_taps(const state *s, const char *from, int64_t plane, const int64_t *out,
                     int64_t begin, int64_t end, double *sums)
{
    const native_window *w = &s->window;
    const int32_t last = w->rank - 1;
    int64_t tap[TFR_MAX_RANK] = {0};
    int32_t d;

    do {
        int64_t at = plane;
        bool inside = true;
        for (d = 0; d < last; d++) {
            const int64_t i = out[d] * w->stride[d] + tap[d] * w->dilation[d] - w->pad[d];
            inside = inside && i >= 0 && i < s->dims[d];
            at = at * s->dims[d] + i;
        }
        if (inside)
            add_line(s, from, at * s->dims[last], begin, end, sums);
        for (d = last - 1; d >= 0 && ++tap[d] == w->kernel[d]; d--)
            tap[d] = 0;
    } while (d >= 0);
}

static double root(int64_t p, double sum)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : p == 3 ? cbrt(sum) : pow(sum, 1 / (double)p);
}

static void run_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int32_t last = s->window.rank - 1;
    const int64_t n = s->outs[last];
    double sums[CHUNK];

    for (; begin < end; begin++) {
        int64_t out[TFR_MAX_RANK], rest = begin, first, i;
        int32_t d;
        for (d = last - 1; d >= 0; rest /= s->outs[d--])
            out[d] = rest % s->outs[d];
        for (first = 0; first < n; first += CHUNK) {
            const int64_t some = n - first < CHUNK ? n - first : CHUNK, at = begin * n + first;
            memset(sums, 0, (size_t)some * sizeof *sums);
            add_taps(s, w->from, rest, out, first, first + some, sums);
            for (i = 0; i < some; i++)
                if (s->wide)
                    ((double *)(void *)w->to)[at + i] = root(s->p, sums[i]);
                else
                    ((float *)(void *)w->to)[at + i] = (float)root(s->p, sums[i]);
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
    if (s->rows * s->row_taps <= PART)
        run_rows(&w, 0, s->rows);
    else
        device->host->parallel_for(run_rows, &w, s->rows, PART / s->row_taps + 1);
    return TFR_OK;
}

void native_pool_lp_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    native_window w;

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->rank < 3)
        tfr_decline(answer, TFR_REASON_RANK, "planes without an axis are left to naive");
    else if (!native_window_read(&w, call, x->rank - 2, NULL) || tfr_call_int(call, "p", 2) < 1)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a window of this kind is left to naive");
}

void native_pool_lp_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "pool_lp");
    int32_t d;

    if (!s)
        return;
    native_window_read(&s->window, call, x->rank - 2, NULL);
    s->wide = x->dtype == TFR_DTYPE_F64;
    s->p = tfr_call_int(call, "p", 2);
    s->row_taps = y->dims[y->rank - 1];
    for (d = 0; d < s->window.rank; d++) {
        s->dims[d] = x->dims[d + 2];
        s->outs[d] = y->dims[d + 2];
        s->row_taps *= s->window.kernel[d];
        s->row_taps = s->row_taps > PART ? PART : s->row_taps; /* enough for one */
    }
    s->rows = tfr_operand_elements(y) / s->outs[s->window.rank - 1];
    s->known = x->data;
}

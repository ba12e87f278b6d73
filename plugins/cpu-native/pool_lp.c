/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_lp.c: LpPool: the powers of rows of inputs are added up over all axes but the last one, then
 * these sums over the last one, in double as naive has them. Threads share the rows of outputs.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "isa.h"
#include "window.h"

enum { SPAN = 512 /* inputs of a row at once */, PART = 4 * 1024 /* taps of a thread */ };

typedef struct state {
    const native_isa *isa;
    native_window window;
    bool wide;
    int64_t p, rows, row_taps, dims[TFR_MAX_RANK], outs[TFR_MAX_RANK];
    int64_t each, taps; /* outputs and taps of the last axis that go together */
    const void *known;
} state;

typedef struct work {
    const state *s;
    const char *from;
    char *to;
} work;

/* Some outputs of a row, whose other coordinates are `out`, and taps of the last axis of them. */
typedef struct piece {
    const char *from;
    int64_t plane;
    const int64_t *out;
    int64_t first, n, tap, taps;
    int64_t begin, end, base; /* inputs that there are; sums[0] is of input base */
    double *sums;
} piece;

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
    static void add_##type(int64_t p, const type *x, int64_t n, double *sums)                      \
    {                                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < n && p == 3; i++) {                                                        \
            const double v = fabs((double)x[i]);                                                   \
            sums[i] += v * v * v;                                                                  \
        }                                                                                          \
        for (i = 0; i < n && p != 3; i++)                                                          \
            sums[i] += power((double)x[i], p);                                                     \
    }
ADD(float)
ADD(double)

/* n rows. */
static void add_powers(const state *s, const char *from, int64_t at, int64_t n, piece *e)
{
    const int64_t last = s->window.rank - 1, inputs = e->end - e->begin;
    double *sums = e->sums + e->begin - e->base;
    native_fold f = {.rows = n, .n = inputs, .to = sums};
    int64_t r;

    f.step = last > 0 ? s->window.dilation[last - 1] * s->dims[last] : 0;
    f.x = from + (size_t)at * (s->wide ? sizeof(double) : sizeof(float));
    if (s->p <= 2) {
        const native_fold_kind kind = s->p == 1 ? NATIVE_FOLD_ABS : NATIVE_FOLD_SQUARE;
        s->isa->folds->rows[kind][s->wide ? NATIVE_FOLD_F64 : NATIVE_FOLD_F32](&f);
        return;
    }
    for (r = 0; r < n; r++)
        if (s->wide)
            add_double(s->p, (const double *)f.x + r * f.step, inputs, sums);
        else
            add_float(s->p, (const float *)f.x + r * f.step, inputs, sums);
}

/* The taps of axis d that there are of an output, and where the first one lies. */
static int64_t taps_of(const state *s, int32_t d, int64_t out, int64_t *at)
{
    const native_window *w = &s->window;
    const int64_t begin = out * w->stride[d] - w->pad[d], dilation = w->dilation[d];
    const int64_t first = begin >= 0 ? 0 : (dilation - 1 - begin) / dilation;

    *at = begin + first * dilation;
    return native_window_taps(w, d, out, 0, s->dims[d]);
}

/* The sums of a piece over all axes but the last one: that before it goes row by row. */
static void add_rows(const state *s, piece *e)
{
    const int32_t last = s->window.rank - 1;
    int64_t at[TFR_MAX_RANK], n[TFR_MAX_RANK], tap[TFR_MAX_RANK] = {0};
    int32_t d;

    for (d = 0; d < last; d++) {
        n[d] = taps_of(s, d, e->out[d], &at[d]);
        if (n[d] <= 0)
            return;
    }
    do {
        int64_t row = e->plane;
        for (d = 0; d < last; d++)
            row = row * s->dims[d] + at[d] + tap[d] * s->window.dilation[d];
        add_powers(s, e->from, row * s->dims[last] + e->begin, last > 0 ? n[last - 1] : 1, e);
        for (d = last - 2; d >= 0 && ++tap[d] == n[d]; d--)
            tap[d] = 0;
    } while (d >= 0);
}

/* Adds the sums of the taps of a piece to those of its outputs. */
static void add_piece(const state *s, piece *e, double *to)
{
    const native_window *w = &s->window;
    const int32_t last = w->rank - 1;
    const int64_t stride = w->stride[last], dilation = w->dilation[last];
    const int64_t reach = (e->n - 1) * stride + (e->taps - 1) * dilation + 1;
    int64_t i, k;

    e->base = e->first * stride + e->tap * dilation - w->pad[last];
    e->begin = e->base < 0 ? 0 : e->base;
    e->end = e->base + reach < s->dims[last] ? e->base + reach : s->dims[last];
    if (e->begin >= e->end)
        return;
    memset(e->sums, 0, (size_t)reach * sizeof *e->sums);
    add_rows(s, e);
    if (stride == 1) {
        s->isa->folds->rows[NATIVE_FOLD_SUM][NATIVE_FOLD_F64](
            &(native_fold){.x = e->sums, .rows = e->taps, .step = dilation, .n = e->n, .to = to});
        return;
    }
    for (i = 0; i < e->n; i++) {
        double sum = to[i];
        for (k = 0; k < e->taps; k++)
            sum += e->sums[i * stride + k * dilation];
        to[i] = sum;
    }
}

static double root(int64_t p, double sum)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : p == 3 ? cbrt(sum) : pow(sum, 1 / (double)p);
}

static void write_roots(const state *s, const double *sums, int64_t n, char *to)
{
    const native_act root_of = {.kind = NATIVE_ACT_SQRT};
    double *wide = (double *)(void *)to;
    float *narrow = (float *)(void *)to;
    bool plain = !s->wide && s->p <= 2; /* sums that floats hold */
    int others = 0;
    int64_t i;

    for (i = 0; plain && s->p == 2 && i < n; i++)
        others |= (sums[i] != 0) & (!(sums[i] >= (double)FLT_MIN) | !(sums[i] <= (double)FLT_MAX));
    plain = plain && !others;
    for (i = 0; plain && i < n; i++)
        narrow[i] = (float)sums[i];
    if (plain && s->p == 2)
        s->isa->act(&root_of, narrow, narrow, n);
    for (i = 0; !plain && i < n; i++)
        if (s->wide)
            wide[i] = root(s->p, sums[i]);
        else
            narrow[i] = (float)root(s->p, sums[i]);
}

static void run_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int32_t last = s->window.rank - 1;
    const int64_t n = s->outs[last], kernel = s->window.kernel[last];
    double sums[SPAN], of_inputs[SPAN];

    for (; begin < end; begin++) {
        int64_t out[TFR_MAX_RANK], rest = begin;
        piece e = {.from = w->from, .out = out, .sums = of_inputs};
        int32_t d;
        for (d = last - 1; d >= 0; rest /= s->outs[d--])
            out[d] = rest % s->outs[d];
        e.plane = rest;
        for (e.first = 0; e.first < n; e.first += e.n) {
            const size_t size = s->wide ? sizeof(double) : sizeof(float);
            e.n = n - e.first < s->each ? n - e.first : s->each;
            memset(sums, 0, (size_t)e.n * sizeof *sums);
            for (e.tap = 0; e.tap < kernel; e.tap += e.taps) {
                e.taps = kernel - e.tap < s->taps ? kernel - e.tap : s->taps;
                add_piece(s, &e, sums);
            }
            write_roots(s, sums, e.n, w->to + (size_t)(begin * n + e.first) * size);
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
    d = s->window.rank - 1;
    s->each = 1 + (SPAN / 2 - 1) / s->window.stride[d];
    s->taps = 1 + (SPAN / 2 - 1) / s->window.dilation[d];
    s->isa = b->device->isa;
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

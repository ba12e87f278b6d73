/* SPDX-License-Identifier: Apache-2.0 */
/*
 * col2im.c: Col2Im and AveragePoolGrad, which add up what the windows over a plane have for
 * each of its elements. Rows of one tap at a time, so that the inner loop has no question; threads
 * share the planes, and parts of the first axis where there are few. Floats are summed up in their
 * own type, a term for each tap.
 */
#include <string.h>

#include "window.h"

enum { PART_BYTES = 32 * 1024 /* that a thread writes at once, at least */ };

typedef struct state {
    native_window window;
    bool averages, include_pad;
    int32_t dtype;
    int width; /* of an element */
    int64_t planes, parts, plane, taps;
    int64_t dims[TFR_MAX_RANK];                   /* of a plane */
    int64_t n_positions, positions[TFR_MAX_RANK]; /* of the window */
    const void *known;
} state;

typedef struct work {
    const state *s;
    const char *from;
    char *to;
} work;

/* ---- sums ---- */

/* Rows of n terms, and how far the next ones lie behind them, in elements. */
typedef struct rows {
    int64_t n, rows, stride, to_step, from_step;
} rows;

/* Those beside each other have loops of known length, which compilers turn into vectors. */
#define ADD(name, type)                                                                            \
    static void add_##name(const rows *r, type *restrict y, const type *restrict x)                \
    {                                                                                              \
        const int64_t n = r->n, stride = r->stride;                                                \
        int64_t row, i;                                                                            \
        int j;                                                                                     \
        for (row = 0; row < r->rows; row++, y += r->to_step, x += r->from_step) {                  \
            i = 0;                                                                                 \
            for (; stride == 1 && i + 8 <= n; i += 8)                                              \
                for (j = 0; j < 8; j++)                                                            \
                    y[i + j] += x[i + j];                                                          \
            for (; stride == 1 && i + 4 <= n; i += 4)                                              \
                for (j = 0; j < 4; j++)                                                            \
                    y[i + j] += x[i + j];                                                          \
            for (; i < n; i++)                                                                     \
                y[i * stride] += x[i];                                                             \
        }                                                                                          \
    }
ADD(f32, float)
ADD(f64, double)
ADD(i32, uint32_t) /* which wraps as the signed one does */
ADD(i64, uint64_t)

static void add_rows(const state *s, const rows *r, void *to, const void *from)
{
    if (s->dtype == TFR_DTYPE_F32)
        add_f32(r, to, from);
    else if (s->dtype == TFR_DTYPE_F64)
        add_f64(r, to, from);
    else if (s->dtype == TFR_DTYPE_I32)
        add_i32(r, to, from);
    else
        add_i64(r, to, from);
}

/* The positions whose tap lies in [low, high) of the plane's first axis. */
static void add_tap(const state *s, const int64_t *tap, int64_t low, int64_t high, const char *from,
                    char *to)
{
    const native_window *w = &s->window;
    const int32_t last = w->rank - 1, inner = last > 0 ? last - 1 : 0;
    int64_t first[TFR_MAX_RANK] = {0}, end[TFR_MAX_RANK] = {0}, index[TFR_MAX_RANK];
    rows r = {.rows = 1, .stride = w->stride[last]};
    int32_t d;

    for (d = 0; d <= last; d++) {
        native_window_span(w, d, tap[d], d ? 0 : low, d ? s->dims[d] : high, s->positions[d],
                           &first[d], &end[d]);
        if (first[d] >= end[d])
            return;
        index[d] = first[d];
    }
    r.n = end[last] - first[last];
    if (last > 0) {
        r.rows = end[inner] - first[inner];
        r.to_step = w->stride[inner] * s->dims[last];
        r.from_step = s->positions[last];
    }
    do {
        int64_t at = 0, place = 0;
        for (d = 0; d <= last; d++) {
            at = at * s->positions[d] + index[d];
            place =
                place * s->dims[d] + index[d] * w->stride[d] + tap[d] * w->dilation[d] - w->pad[d];
        }
        add_rows(s, &r, to + place * s->width, from + at * s->width);
        for (d = inner - 1; d >= 0 && ++index[d] == end[d]; d--)
            index[d] = first[d];
    } while (d >= 0);
}

static void run_parts(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t row = s->plane / s->dims[0] * s->width;

    for (; begin < end; begin++) {
        const int64_t plane = begin / s->parts, part = begin % s->parts;
        const int64_t low = s->dims[0] * part / s->parts, high = s->dims[0] * (part + 1) / s->parts;
        char *to = w->to + plane * s->plane * s->width;
        const char *from =
            w->from + plane * (s->averages ? 1 : s->taps) * s->n_positions * s->width;
        int64_t tap[TFR_MAX_RANK] = {0}, t;
        int32_t d;
        memset(to + low * row, 0, (size_t)((high - low) * row));
        for (t = 0; t < s->taps; t++) {
            add_tap(s, tap, low, high, from, to);
            from += s->averages ? 0 : s->n_positions * s->width;
            for (d = s->window.rank - 1; d > 0 && ++tap[d] == s->window.kernel[d]; d--)
                tap[d] = 0;
            tap[0] += d == 0;
        }
    }
}

/* ---- averages: gradients are divided before they are spread ---- */

typedef struct division {
    const state *s;
    const char *from;
    char *to;
} division;

static int64_t taps_at(const state *s, int32_t d, int64_t o)
{
    const native_window *w = &s->window;

    return native_window_taps(w, d, o, s->include_pad ? -w->pad[d] : 0,
                              s->dims[d] + (s->include_pad ? w->pad_end[d] : 0));
}

static void divide_rows(void *user, int64_t begin, int64_t end)
{
    const division *w = user;
    const state *s = w->s;
    const int32_t last = s->window.rank - 1;
    const int64_t n = s->positions[last];

    for (; begin < end; begin++) {
        int64_t rest = begin, outer = 1, i;
        int32_t d;
        for (d = last - 1; d >= 0; rest /= s->positions[d--])
            outer *= taps_at(s, d, rest % s->positions[d]);
        for (i = 0; i < n; i++) {
            const int64_t count = outer * taps_at(s, last, i), at = begin * n + i;
            if (s->dtype == TFR_DTYPE_F32)
                ((float *)(void *)w->to)[at] =
                    (float)((double)((const float *)(const void *)w->from)[at] / (double)count);
            else
                ((double *)(void *)w->to)[at] =
                    ((const double *)(const void *)w->from)[at] / (double)count;
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
    if (s->averages) {
        const int64_t row = s->positions[s->window.rank - 1];
        division all = {s, w.from, launch->workspace};
        device->host->parallel_for(divide_rows, &all, s->planes * s->n_positions / row,
                                   PART_BYTES / 8 / row + 1);
        w.from = launch->workspace;
    }
    if (s->planes * s->plane * s->width <= PART_BYTES)
        run_parts(&w, 0, s->planes * s->parts);
    else
        device->host->parallel_for(run_parts, &w, s->planes * s->parts,
                                   s->parts > 1 ? 1 : PART_BYTES / (s->plane * s->width) + 1);
    return TFR_OK;
}

/* ---- what it is ---- */

/* False: the window is left to naive. */
static bool read_call(state *s, const tfr_plugin_device *device, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *block = tfr_call_input(call, 2);
    native_window *w = &s->window;
    int32_t d;

    s->averages = strcmp(call->name, "AveragePoolGrad") == 0;
    if (!s->averages && !block->data)
        return false;
    if (!native_window_read(w, call, y->rank - 2, s->averages ? NULL : block->data))
        return false;
    s->taps = s->plane = s->n_positions = 1;
    for (d = 0; d < w->rank; d++) {
        s->dims[d] = y->dims[d + 2];
        s->positions[d] = s->averages ? x->dims[d + 2]
                                      : (s->dims[d] + w->pad[d] + w->pad_end[d] -
                                         w->dilation[d] * (w->kernel[d] - 1) - 1) /
                                                w->stride[d] +
                                            1;
        s->taps *= w->kernel[d];
        s->plane *= s->dims[d];
        s->n_positions *= s->positions[d];
        if (s->taps > INT32_MAX || s->n_positions > INT32_MAX || s->positions[d] < 1)
            return false;
    }
    s->planes = y->dims[0] * y->dims[1];
    s->parts = s->planes < 2 * device->threads ? device->threads : 1;
    s->parts = s->parts < s->dims[0] ? s->parts : s->dims[0];
    return s->averages || (s->n_positions == x->dims[2] && s->taps * y->dims[1] == x->dims[1]);
}

void native_col2im_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    state s;

    if (!native_has_type(call, answer))
        return;
    memset(&s, 0, sizeof s);
    if (y->rank < 3)
        tfr_decline(answer, TFR_REASON_RANK, "planes without an axis are left to naive");
    else if (!read_call(&s, device, call))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "a window of this size, or one that is not known, is left to naive");
    else if (s.averages)
        answer->workspace_bytes =
            (size_t)tfr_operand_elements(x) * (size_t)tfr_dtype_bits(x->dtype) / 8;
}

void native_col2im_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "col2im");

    if (!s)
        return;
    read_call(s, b->device, call);
    s->include_pad = tfr_call_int(call, "count_include_pad", 0) != 0;
    s->dtype = x->dtype;
    s->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    s->known = x->data;
}

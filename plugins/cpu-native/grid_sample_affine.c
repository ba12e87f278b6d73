/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample_affine.c: AffineGrid of float32 and float64, what plugins/naive/grid_sample.c says of
 * it, in double. What the outer axes add is summed up once for a row of the grid; threads share the
 * rows.
 */
#include "grid_sample.h"

enum {
    PART = 4 * 1024, /* numbers of a thread, at least */
    COLUMNS = 256,   /* of the grid, at a time */
    GROUP = 8        /* of these, for compilers that make vectors of loops of known length */
};

typedef struct state {
    int32_t R;
    bool align, wide;
    int64_t dims[TFR_MAX_RANK]; /* [N o... R] */
    int64_t rows;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const void *theta;
    void *to;
} work;

static double get(const work *w, int64_t i)
{
    return w->s->wide ? ((const double *)w->theta)[i] : (double)((const float *)w->theta)[i];
}

/* Where element o of an axis of D lies. */
static double place_of(const state *s, int64_t o, int64_t D)
{
    if (s->align)
        return D == 1 ? 0 : 2 * (double)o / (double)(D - 1) - 1;
    return (double)(2 * o + 1) / (double)D - 1;
}

/* What row `begin` of the grid adds to each coordinate, and what the innermost place is times. */
static void read_row(const work *w, int64_t begin, double *shift, double *slope)
{
    const state *s = w->s;
    const int32_t R = s->R;
    int64_t rest = begin, index[3] = {0};
    int32_t d, r;

    for (d = R - 1; d >= 1; rest /= s->dims[d--])
        index[d - 1] = rest % s->dims[d];
    for (r = 0; r < R; r++) { /* rest is n */
        const int64_t row = (rest * R + r) * (R + 1);
        slope[r] = get(w, row);
        shift[r] = get(w, row + R);
        for (d = 1; d < R; d++)
            shift[r] += get(w, row + d) * place_of(s, index[R - 1 - d], s->dims[R - d]);
    }
}

/* Pairs of float32, in loops of known length. */
static void fill_pairs(const double *shift, const double *slope, const double *place, int64_t n,
                       float *to)
{
    const double x = shift[0], y = shift[1], x_slope = slope[0], y_slope = slope[1];
    int64_t o;
    int k;

    for (o = 0; o + GROUP <= n; o += GROUP) {
        for (k = 0; k < GROUP; k++) {
            to[2 * (o + k)] = (float)(x + x_slope * place[o + k]);
            to[2 * (o + k) + 1] = (float)(y + y_slope * place[o + k]);
        }
    }
    for (; o < n; o++) {
        to[2 * o] = (float)(x + x_slope * place[o]);
        to[2 * o + 1] = (float)(y + y_slope * place[o]);
    }
}

static void fill(const state *s, const double *shift, const double *slope, const double *place,
                 int64_t n, void *to)
{
    int64_t o, at = 0;
    int32_t r;

    for (o = 0; o < n; o++) {
        for (r = 0; r < s->R; r++, at++) {
            const double sum = shift[r] + slope[r] * place[o];
            if (s->wide)
                ((double *)to)[at] = sum;
            else
                ((float *)to)[at] = (float)sum;
        }
    }
}

/* The places of some columns at a time, for each has a quotient. */
static void run_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t W = s->dims[s->R], bytes = s->R * (s->wide ? 8 : 4);
    double place[COLUMNS], shift[3], slope[3];
    int64_t first, n, o, i;

    for (first = 0; first < W; first += n) {
        n = W - first < COLUMNS ? W - first : COLUMNS;
        for (o = 0; o < n; o++)
            place[o] = place_of(s, first + o, W);
        for (i = begin; i < end; i++) {
            char *to = (char *)w->to + (i * W + first) * bytes;
            read_row(w, i, shift, slope);
            if (s->R == 2 && !s->wide)
                fill_pairs(shift, slope, place, n, (float *)(void *)to);
            else
                fill(s, shift, slope, place, n, to);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .theta = launch->args[0].address ? launch->args[0].address : s->known};
    const int64_t row = s->dims[s->R] * s->R;

    (void)err;
    w.to = launch->args[launch->n_args - 1].address;
    if (s->rows * row <= PART)
        run_rows(&w, 0, s->rows);
    else
        device->host->parallel_for(run_rows, &w, s->rows, PART / row + 1);
    return TFR_OK;
}

void native_affine_grid_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);

    (void)device;
    if (x->dtype != TFR_DTYPE_F32 && x->dtype != TFR_DTYPE_F64)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 and float64 are done here");
    else if (y->rank < 4 || y->rank > 5)
        tfr_decline(answer, TFR_REASON_RANK, "a grid of rank %d is left to naive", y->rank);
}

void native_affine_grid_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "affine_grid");
    int d;

    if (!s)
        return;
    s->R = y->rank - 2;
    s->align = tfr_call_int(call, "align_corners", 0) != 0;
    s->wide = x->dtype == TFR_DTYPE_F64;
    s->known = x->data;
    s->rows = 1;
    for (d = 0; d < y->rank; d++) {
        s->dims[d] = y->dims[d];
        s->rows *= d < s->R ? y->dims[d] : 1;
    }
}

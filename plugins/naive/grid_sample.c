/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridSample (ONNX 22) and AffineGrid (ONNX 20), over R spatial axes (AffineGrid: 2 or 3).
 *
 * GridSample: grid[n,o,:] is a place in [-1, 1], the last axis of X first; on an axis of D elements
 *   it is p = (g + 1) / 2 * (D - 1) with align_corners, else ((g + 1) * D - 1) / 2. nearest rounds
 * p, ties to even. Then p outside [0, D-1], without align_corners outside [-0.5, D-0.5], is clamped
 *   to [0, D-1] (border) or mirrored at these limits (reflection). y[n,c,o] = sum over the taps of
 *   x[n,c] times the product of their weights: the element at p (nearest), the two around (linear),
 *   or four (cubic, Keys with a = -0.75); taps outside x are 0, clamped or mirrored by
 * padding_mode. X [N C i...], grid [N o... R], Y [N C o...]. In double, rounded once (integers drop
 * the fraction); nearest copies elements of any type. A p that is not a finite number or beyond
 * 2^52 counts as -100. AffineGrid: grid[n,o,:] = theta[n] * (place of o, last axis first, 1), where
 * the places of D elements run from -1 to 1 with align_corners (0 if D is 1), else are (2o + 1) / D
 * - 1. theta [N R R+1], grid [N o... R]. In double, rounded once.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

typedef struct sampler {
    naive_tensor x, grid, y;
    int32_t R;
    enum padding padding;
    bool align;
    int64_t taps; /* along an axis: 1, 2 or 4 */
} sampler;

/* The taps of one place along one axis. */
typedef struct axis_taps {
    int64_t at[4]; /* -1 = outside, worth 0 */
    double weight[4];
} axis_taps;

/* v mirrored at low and high until it lies between them. */
static double mirror(double v, double low, double high)
{
    double range = high - low, beyond, turns, rest;

    if (range <= 0)
        return low;
    if (v >= low && v <= high)
        return v;
    beyond = v < low ? low - v : v - high;
    turns = floor(beyond / range);
    rest = beyond - turns * range;
    return (v < low) == (fmod(turns, 2) == 0) ? low + rest : high - rest;
}

/* Where element number i of an axis of D is found, or -1. */
static int64_t find_element(const sampler *s, double i, int64_t D)
{
    double low = s->align ? 0 : -0.5, high = (double)D - (s->align ? 1 : 0.5);

    if (s->padding == PAD_BORDER)
        i = fmin(fmax(i, 0), (double)(D - 1));
    else if (s->padding == PAD_REFLECTION)
        i = trunc(mirror(i, low, high));
    return i >= 0 && i < (double)D ? (int64_t)i : -1;
}

static double keys(double v)
{
    const double a = -0.75;

    v = fabs(v);
    if (v <= 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? ((a * v - 5 * a) * v + 8 * a) * v - 4 * a : 0;
}

static void find_taps(const sampler *s, double g, int64_t D, axis_taps *out)
{
    double low = s->align ? 0 : -0.5, high = (double)D - (s->align ? 1 : 0.5);
    double p = s->align ? (g + 1) / 2 * (double)(D - 1) : ((g + 1) * (double)D - 1) / 2, first;
    int64_t t;

    if (!(fabs(p) <= 0x1p52))
        p = -100;
    if (s->taps == 1)
        p = nearbyint(p);
    if (p < low || p > high) {
        if (s->padding == PAD_BORDER)
            p = fmin(fmax(p, 0), (double)(D - 1));
        else if (s->padding == PAD_REFLECTION)
            p = mirror(p, low, high);
    }
    first = s->taps == 1 ? trunc(p) : floor(p) - (s->taps == 4);
    for (t = 0; t < s->taps; t++) {
        double i = first + (double)t;
        out->at[t] = find_element(s, i, D);
        out->weight[t] = s->taps == 1 ? 1 : s->taps == 2 ? 1 - fabs(p - i) : keys(p - i);
    }
}

/* Sums the taps in the plane of x that begins at element x0. */
static double sum_taps(const sampler *s, int64_t x0, const axis_taps *taps)
{
    int64_t dims[TFR_MAX_RANK];
    double sum = 0;
    naive_iter it;
    int32_t d;

    for (d = 0; d < s->R; d++)
        dims[d] = s->taps;
    for (naive_iter_init(&it, s->R, dims); it.left > 0; naive_iter_next(&it)) {
        double weight = 1;
        int64_t at = 0;
        for (d = 0; d < s->R && at >= 0; d++) {
            int64_t i = taps[d].at[it.index[d]];
            weight *= taps[d].weight[it.index[d]];
            at = i < 0 ? -1 : at * s->x.dims[d + 2] + i;
        }
        if (at >= 0)
            sum += weight * naive_read(&s->x, x0 + at);
    }
    return sum;
}

/* The one element of nearest in its plane, or -1. */
static int64_t nearest_element(const sampler *s, const axis_taps *taps)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < s->R; d++) {
        if (taps[d].at[0] < 0)
            return -1;
        at = at * s->x.dims[d + 2] + taps[d].at[0];
    }
    return at;
}

static bool is_mode(const tfr_call *call, const char *name, const char *older)
{
    const char *mode = tfr_call_string(call, "mode", "linear");

    return strcmp(mode, name) == 0 || strcmp(mode, older) == 0;
}

static int32_t supports_grid_sample(const tfr_call *call, tfr_answer *answer)
{
    int32_t dtype = tfr_call_input(call, 0)->dtype;

    if (!naive_is_number(dtype) && !is_mode(call, "nearest", "nearest"))
        return tfr_decline(answer, TFR_REASON_DTYPE, "element type %d has no weighted sum", dtype);
    return TFR_OK;
}

static int32_t run_grid_sample(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const char *padding = tfr_call_string(&k->call, "padding_mode", "zeros");
    axis_taps taps[TFR_MAX_RANK];
    int64_t i = 0, places, plane;
    int32_t d, status = TFR_OK;
    naive_iter it;
    sampler s;

    s.x = naive_input(k, launch, 0);
    s.grid = naive_input(k, launch, 1);
    s.y = naive_output(k, launch, 0);
    s.R = s.x.rank - 2;
    s.align = tfr_call_int(&k->call, "align_corners", 0) != 0;
    s.taps = is_mode(&k->call, "nearest", "nearest") ? 1
             : is_mode(&k->call, "cubic", "bicubic") ? 4
                                                     : 2;
    s.padding = strcmp(padding, "border") == 0       ? PAD_BORDER
                : strcmp(padding, "reflection") == 0 ? PAD_REFLECTION
                                                     : PAD_ZEROS;
    places = naive_product(s.y.dims, 2, s.y.rank);
    plane = naive_product(s.x.dims, 2, s.x.rank);
    for (naive_iter_init(&it, s.y.rank, s.y.dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        int64_t g = (it.index[0] * places + i % places) * s.R,
                x0 = (it.index[0] * s.x.dims[1] + it.index[1]) * plane, at;
        for (d = 0; d < s.R; d++)
            find_taps(&s, naive_read(&s.grid, g + s.R - 1 - d), s.x.dims[d + 2], &taps[d]);
        if (s.taps > 1)
            naive_write(&s.y, i, sum_taps(&s, x0, taps));
        else if ((at = nearest_element(&s, taps)) >= 0)
            status = naive_move(&s.y, i, &s.x, x0 + at, err);
        else
            status = naive_clear(&s.y, i, err);
    }
    return status;
}

static int32_t run_affine_grid(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor theta = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    bool align = tfr_call_int(&k->call, "align_corners", 0) != 0;
    int32_t R = y.rank - 2, d;
    int64_t i = 0;
    naive_iter it;

    (void)err;
    for (naive_iter_init(&it, y.rank, y.dims); it.left > 0; naive_iter_next(&it), i++) {
        int64_t row = (it.index[0] * R + it.index[R + 1]) * (R + 1);
        double sum = naive_read(&theta, row + R);
        for (d = 0; d < R; d++) {
            double o = (double)it.index[R - d], D = (double)y.dims[R - d], place;
            if (align)
                place = D == 1 ? 0 : 2 * o / (D - 1) - 1;
            else
                place = (2 * o + 1) / D - 1;
            sum += naive_read(&theta, row + d) * place;
        }
        naive_write(&y, i, sum);
    }
    return TFR_OK;
}

const naive_op naive_grid_sample_ops[] = {
    {.domain = "", .name = "AffineGrid", .since_version = 20, .run = run_affine_grid},
    {.domain = "",
     .name = "GridSample",
     .since_version = 22,
     .supports = supports_grid_sample,
     .run = run_grid_sample},
    {.name = NULL},
};

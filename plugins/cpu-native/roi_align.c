/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_align.c: RoiAlign of float32, what plugins/naive/roi.c says of it.
 *
 * Where a point lies in y does not depend on where it lies in x, so a mean of points is a product
 * of two short sums: rows of the image, weighted, become one row for each row of bins, in vectors,
 * and a bin is a weighted sum of that. What a point needs of an axis is computed once for a region,
 * in double, and holds for all channels; threads share regions and groups of channels. A maximum of
 * points is no such product and goes from point to point, as do means of very many.
 */
#include "roi_align.h"

#include <math.h>
#include <string.h>

#include "vec_portable.h"

enum {
    CHANNELS = 32,       /* of a task */
    MAX_POINTS = 1 << 24 /* of a bin, as in naive */
};
enum { MAX_TAPS = 1024, MAX_BINS = 128, MAX_COLUMNS = 4096 };

typedef struct state {
    int64_t N, C, H, W, R, PH, PW, ratio;
    double scale, offset;
    bool average, half;
    const void *known[3];
    int threads;
} state;

/* A region on one axis: where it starts, the size of a bin, points in a bin. */
typedef struct side {
    double start, bin;
    int64_t points, n, bins; /* n: pixels of the axis */
} side;

/* Pixels of an axis and what they weigh, those of each bin in turn. */
typedef struct taps {
    int32_t at[MAX_TAPS], begin[MAX_BINS + 1];
    float weight[MAX_TAPS];
    int32_t low, high; /* the pixels that are read: [low, high) */
} taps;

typedef struct work {
    const state *state;
    const float *x, *rois;
    const int64_t *batches;
    float *y;
    int64_t groups; /* of channels */
} work;

/* ---- regions ---- */

static int32_t fail_region(int64_t r, tfr_err *err)
{
    return tfr_fail(err, TFR_EINVAL, "region %lld is not finite or too large", (long long)r);
}

/* Sides y and x of region r, without checks. */
static void read_region(const state *s, const float *rois, int64_t r, side out[2])
{
    int i;

    for (i = 0; i < 2; i++) {
        side *o = &out[i];
        double extent;
        o->n = i ? s->W : s->H;
        o->bins = i ? s->PW : s->PH;
        o->start = (double)rois[r * 4 + !i] * s->scale - s->offset;
        extent = (double)rois[r * 4 + 2 + !i] * s->scale - s->offset - o->start;
        if (!s->half)
            extent = fmax(extent, 1);
        o->bin = extent / (double)o->bins;
    }
}

static double count_points(const state *s, const side *o)
{
    return s->ratio > 0 ? (double)s->ratio : ceil(o->bin);
}

static int32_t check_region(const work *w, int64_t r, tfr_err *err)
{
    const state *s = w->state;
    int64_t batch = w->batches[r];
    double ph, pw;
    side a[2];

    if (batch < 0 || batch >= s->N)
        return tfr_fail(err, TFR_EINVAL, "batch index %g of region %lld is outside [0, %lld)",
                        (double)batch, (long long)r, (long long)s->N);
    read_region(s, w->rois, r, a);
    ph = count_points(s, &a[0]);
    pw = count_points(s, &a[1]);
    if (!isfinite(a[0].start) || !isfinite(a[1].start) || !isfinite(a[0].bin) ||
        !isfinite(a[1].bin))
        return fail_region(r, err);
    if (fmax(ph, 1) * fmax(pw, 1) > MAX_POINTS)
        return tfr_fail(err, TFR_EINVAL,
                        "region %lld has %g by %g points in a bin, the limit is %d", (long long)r,
                        ph, pw, MAX_POINTS);
    return TFR_OK;
}

/* ---- points ---- */

/* Point i of bin b: its two pixels and the weight of the second; false = over a pixel outside. */
static bool find_point(const side *o, int64_t b, int64_t i, int64_t at[2], double *second)
{
    double v = o->start + (double)b * o->bin + ((double)i + 0.5) * o->bin / (double)o->points;

    if (v < -1 || v > (double)o->n)
        return false;
    v = v < 0 ? 0 : v;
    at[0] = v < (double)(o->n - 1) ? (int64_t)v : o->n - 1;
    at[1] = at[0] + 1;
    *second = v - (double)at[0];
    if (at[0] >= o->n - 1) {
        at[0] = at[1] = o->n - 1;
        *second = 0;
    }
    return true;
}

/* Points of a bin often share pixels. */
static void add_tap(taps *t, int32_t begin, int32_t *n, int64_t at, double weight)
{
    int32_t i = *n;

    while (i > begin && t->at[i - 1] != at)
        i--;
    if (i > begin) {
        t->weight[i - 1] += (float)weight;
        return;
    }
    t->at[*n] = (int32_t)at;
    t->weight[(*n)++] = (float)weight;
}

/* False: there are too many. share: of each point in the sum. */
static bool find_taps(const side *o, double share, taps *t)
{
    int64_t b, i, at[2];
    int32_t n = 0, k;
    double second;

    if (o->bins > MAX_BINS || o->points * o->bins > MAX_TAPS / 2)
        return false;
    for (b = 0; b < o->bins; b++) {
        t->begin[b] = n;
        for (i = 0; i < o->points; i++) {
            if (!find_point(o, b, i, at, &second))
                continue;
            add_tap(t, t->begin[b], &n, at[0], (1 - second) * share);
            add_tap(t, t->begin[b], &n, at[1], second * share);
        }
    }
    t->begin[b] = n;
    t->low = n ? t->at[0] : 0;
    t->high = t->low;
    for (k = 0; k < n; k++) {
        t->low = t->at[k] < t->low ? t->at[k] : t->low;
        t->high = t->at[k] >= t->high ? t->at[k] + 1 : t->high;
    }
    return true;
}

/* ---- means as products ---- */

/* row[i] = the sum of weighted rows of the image at column i. */
static void add_rows(const float *plane, int64_t W, const taps *rows, int64_t ph, int32_t columns,
                     float *row)
{
    const int32_t begin = rows->begin[ph], end = rows->begin[ph + 1];
    int32_t i = 0, k;

    for (; i + LANES <= columns; i += LANES) {
        vec sum = V_ZERO();
        for (k = begin; k < end; k++)
            sum = V_FMA(V_LOAD(plane + rows->at[k] * W + i), V_ALL(rows->weight[k]), sum);
        V_STORE(row + i, sum);
    }
    for (; i < columns; i++) {
        float sum = 0;
        for (k = begin; k < end; k++)
            sum += plane[rows->at[k] * W + i] * rows->weight[k];
        row[i] = sum;
    }
}

static void mean_plane(const state *s, const float *plane, const taps *rows, const taps *columns,
                       float *y)
{
    float row[MAX_COLUMNS];
    int64_t ph, pw;
    int32_t k;

    for (ph = 0; ph < s->PH; ph++) {
        add_rows(plane + columns->low, s->W, rows, ph, columns->high - columns->low, row);
        for (pw = 0; pw < s->PW; pw++) {
            float sum = 0;
            for (k = columns->begin[pw]; k < columns->begin[pw + 1]; k++)
                sum += row[columns->at[k] - columns->low] * columns->weight[k];
            *y++ = sum;
        }
    }
}

/* ---- from point to point ---- */

static float pool_bin(const state *s, const float *plane, const side a[2], int64_t ph, int64_t pw)
{
    double sum = 0, max = 0, v[4], ly, lx;
    int64_t iy, ix, y[2], x[2], count = 0;
    int j;

    for (iy = 0; iy < a[0].points; iy++) {
        bool inside = find_point(&a[0], ph, iy, y, &ly);
        for (ix = 0; ix < a[1].points; ix++, count++) {
            memset(v, 0, sizeof v);
            if (inside && find_point(&a[1], pw, ix, x, &lx)) {
                v[0] = (1 - ly) * (1 - lx) * (double)plane[y[0] * s->W + x[0]];
                v[1] = (1 - ly) * lx * (double)plane[y[0] * s->W + x[1]];
                v[2] = ly * (1 - lx) * (double)plane[y[1] * s->W + x[0]];
                v[3] = ly * lx * (double)plane[y[1] * s->W + x[1]];
            }
            sum += v[0] + v[1] + v[2] + v[3];
            for (j = 0; j < 4; j++)
                if ((count == 0 && j == 0) || v[j] > max || isnan(v[j]))
                    max = v[j];
        }
    }
    return (float)(s->average ? sum / (double)(count ? count : 1) : max);
}

static void pool_plane(const state *s, const float *plane, const side a[2], float *y)
{
    int64_t ph, pw;

    for (ph = 0; ph < s->PH; ph++)
        for (pw = 0; pw < s->PW; pw++)
            *y++ = pool_bin(s, plane, a, ph, pw);
}

/* ---- the launch ---- */

static void run_tasks(void *user, int64_t task, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    taps rows, columns;
    side a[2];

    for (; task < end; task++) {
        int64_t r = task / w->groups, c = task % w->groups * CHANNELS;
        int64_t last = c + CHANNELS < s->C ? c + CHANNELS : s->C;
        bool product;
        int i;
        read_region(s, w->rois, r, a);
        for (i = 0; i < 2; i++) {
            double points = count_points(s, &a[i]);
            a[i].points = points > 0 ? (int64_t)points : 0;
        }
        product = s->average && find_taps(&a[0], 1.0 / (double)a[0].points, &rows) &&
                  find_taps(&a[1], 1.0 / (double)a[1].points, &columns) &&
                  columns.high - columns.low <= MAX_COLUMNS;
        for (; c < last; c++) {
            const float *plane = w->x + (w->batches[r] * s->C + c) * s->H * s->W;
            float *y = w->y + (r * s->C + c) * s->PH * s->PW;
            if (product)
                mean_plane(s, plane, &rows, &columns, y);
            else
                pool_plane(s, plane, a, y);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const void *in[3];
    int64_t r;
    int i;

    for (i = 0; i < 3; i++)
        in[i] = launch->args[i].address ? launch->args[i].address : s->known[i];
    work w = {s, in[0], in[1], in[2], launch->args[3].address, (s->C + CHANNELS - 1) / CHANNELS};
    for (r = 0; r < s->R; r++) {
        int32_t status = check_region(&w, r, err);
        if (status)
            return status;
    }
    device->host->parallel_for(run_tasks, &w, s->R * w.groups, 4);
    return TFR_OK;
}

void native_roi_align_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    (void)device;
    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
}

void native_roi_align_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const char *mode = tfr_call_string(call, "coordinate_transformation_mode", "half_pixel");
    state *s = native_set_function(b, run, NULL, sizeof *s, "roi_align");
    uint32_t i;

    if (!s)
        return;
    s->N = x->dims[0];
    s->C = x->dims[1];
    s->H = x->dims[2];
    s->W = x->dims[3];
    s->R = y->dims[0];
    s->PH = y->dims[2];
    s->PW = y->dims[3];
    s->ratio = tfr_call_int(call, "sampling_ratio", 0);
    s->scale = (double)tfr_call_float(call, "spatial_scale", 1);
    s->half = strcmp(mode, "half_pixel") == 0;
    s->offset = s->half ? 0.5 : 0;
    s->average = strcmp(tfr_call_string(call, "mode", "avg"), "avg") == 0;
    for (i = 0; i < 3; i++)
        s->known[i] = tfr_call_input(call, i)->data;
}

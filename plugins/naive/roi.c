/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxRoiPool (ONNX 22; Girshick, arXiv:1504.08083) and RoiAlign (ONNX 22; He et al.,
 * arXiv:1703.06870).
 *
 * MaxRoiPool: the region (x1, y1, x2, y2) is scaled, rounded half away from 0, and split into
 *   PH x PW bins of floor(begin)...ceil(end); y[r,c,ph,pw] = max over the bin, 0 if it is empty.
 * RoiAlign: the region is scaled (minus half a pixel with half_pixel) and split into PH x PW bins,
 *   each with S x S points, S = sampling_ratio or ceil(region / bins); a point's four neighbours
 *   have bilinear weights. avg: the mean over the points of the weighted sums. max: the largest
 *   single weighted neighbour, as ONNX's reference and its test data have it.
 *
 * X [N C H W], rois [R 5] (batch first) or [R 4] with batch_indices [R], Y [R C PH PW]. In double,
 * rounded once. A region that is not finite, or has over 2^24 points a bin, is an error; ONNX does
 * not say what it is.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

typedef struct bins {
    double y0, x0, h, w;        /* start of the region, size of a bin */
    int64_t points_h, points_w; /* RoiAlign's points in a bin */
} bins;

static int32_t read_batch(const naive_tensor *t, int64_t i, int64_t r, int64_t N, int64_t *out,
                          tfr_err *err)
{
    double v = naive_read(t, i);

    if (!(v >= 0 && v < (double)N))
        return tfr_fail(err, TFR_EINVAL, "batch index %g of region %lld is outside [0, %lld)", v,
                        (long long)r, (long long)N);
    *out = (int64_t)v;
    return TFR_OK;
}

/* Points of one bin; a region or a sampling_ratio beyond is nobody's, and would take for ever. */
enum { MAX_POINTS = 1 << 24 };

static int32_t fail_region(int64_t r, tfr_err *err)
{
    return tfr_fail(err, TFR_EINVAL, "region %lld is not finite or too large", (long long)r);
}

/* Limits a bin's edge, relative to the region's start, to [0, n]. */
static int64_t edge(double v, double start, int64_t n)
{
    return naive_to_index(v + start, 0, n);
}

static int32_t run_max_roi_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), rois = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    double scale = tfr_call_float(&k->call, "spatial_scale", 1);
    int64_t H = x.dims[2], W = x.dims[3], i = 0, n = 0, h, w;
    naive_iter it;

    for (naive_iter_init(&it, y.rank, y.dims); it.left > 0; naive_iter_next(&it), i++) {
        int64_t r = it.index[0], ph = it.index[2], pw = it.index[3], plane;
        double x1 = round(naive_read(&rois, r * 5 + 1) * scale),
               y1 = round(naive_read(&rois, r * 5 + 2) * scale),
               x2 = round(naive_read(&rois, r * 5 + 3) * scale),
               y2 = round(naive_read(&rois, r * 5 + 4) * scale);
        double bin_h = fmax(y2 - y1 + 1, 1) / (double)y.dims[2],
               bin_w = fmax(x2 - x1 + 1, 1) / (double)y.dims[3], best = 0;
        int64_t h0 = edge(floor((double)ph * bin_h), y1, H),
                h1 = edge(ceil((double)(ph + 1) * bin_h), y1, H),
                w0 = edge(floor((double)pw * bin_w), x1, W),
                w1 = edge(ceil((double)(pw + 1) * bin_w), x1, W);
        int32_t status = read_batch(&rois, r * 5, r, x.dims[0], &n, err);
        if (status)
            return status;
        if (!isfinite(x1) || !isfinite(y1) || !isfinite(x2) || !isfinite(y2))
            return fail_region(r, err);
        plane = (n * x.dims[1] + it.index[1]) * H * W;
        for (h = h0; h < h1; h++)
            for (w = w0; w < w1; w++) {
                double v = naive_read(&x, plane + h * W + w);
                if ((h == h0 && w == w0) || v > best || isnan(v))
                    best = v;
            }
        naive_write(&y, i, best);
    }
    return TFR_OK;
}

static int32_t align_bins(const naive_kernel *k, const naive_tensor *rois, int64_t r,
                          const int64_t *y_dims, bins *b, tfr_err *err)
{
    const char *mode = tfr_call_string(&k->call, "coordinate_transformation_mode", "half_pixel");
    bool half = strcmp(mode, "half_pixel") == 0;
    double scale = tfr_call_float(&k->call, "spatial_scale", 1), offset = half ? 0.5 : 0;
    int64_t ratio = tfr_call_int(&k->call, "sampling_ratio", 0);
    double width, height, ph, pw;

    b->x0 = naive_read(rois, r * 4) * scale - offset;
    b->y0 = naive_read(rois, r * 4 + 1) * scale - offset;
    width = naive_read(rois, r * 4 + 2) * scale - offset - b->x0;
    height = naive_read(rois, r * 4 + 3) * scale - offset - b->y0;
    if (!half) {
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    b->h = height / (double)y_dims[2];
    b->w = width / (double)y_dims[3];
    ph = ratio > 0 ? (double)ratio : ceil(b->h);
    pw = ratio > 0 ? (double)ratio : ceil(b->w);
    if (!isfinite(b->x0) || !isfinite(b->y0) || !isfinite(b->w) || !isfinite(b->h))
        return fail_region(r, err);
    if (fmax(ph, 1) * fmax(pw, 1) > MAX_POINTS)
        return tfr_fail(err, TFR_EINVAL,
                        "region %lld has %g by %g points in a bin, the limit is %d", (long long)r,
                        ph, pw, MAX_POINTS);
    b->points_h = naive_to_index(ph, 0, MAX_POINTS);
    b->points_w = naive_to_index(pw, 0, MAX_POINTS);
    return TFR_OK;
}

/* Splits a coordinate into its two neighbours in [0, n) and the weight of the second. */
static double neighbours(double v, int64_t n, int64_t *low, int64_t *high)
{
    if (v < 0)
        v = 0;
    *low = naive_to_index(v, 0, n - 1);
    *high = *low + 1;
    if (*low >= n - 1) {
        *low = *high = n - 1;
        return 0;
    }
    return v - (double)*low;
}

/* The four weighted neighbours of a point, or zeros if it is over a pixel outside. */
static void weigh(const naive_tensor *x, int64_t plane, double py, double px, double *v)
{
    int64_t H = x->dims[2], W = x->dims[3], y0, y1, x0, x1;
    double ly, lx;

    v[0] = v[1] = v[2] = v[3] = 0;
    if (py < -1 || py > (double)H || px < -1 || px > (double)W || H == 0 || W == 0)
        return;
    ly = neighbours(py, H, &y0, &y1);
    lx = neighbours(px, W, &x0, &x1);
    v[0] = (1 - ly) * (1 - lx) * naive_read(x, plane + y0 * W + x0);
    v[1] = (1 - ly) * lx * naive_read(x, plane + y0 * W + x1);
    v[2] = ly * (1 - lx) * naive_read(x, plane + y1 * W + x0);
    v[3] = ly * lx * naive_read(x, plane + y1 * W + x1);
}

static double align_bin(const naive_tensor *x, int64_t plane, const bins *b, int64_t ph, int64_t pw,
                        bool average)
{
    double sum = 0, max = 0, v[4];
    int64_t iy, ix, count = 0;
    int j;

    for (iy = 0; iy < b->points_h; iy++) {
        for (ix = 0; ix < b->points_w; ix++) {
            double py = b->y0 + (double)ph * b->h + ((double)iy + 0.5) * b->h / (double)b->points_h,
                   px = b->x0 + (double)pw * b->w + ((double)ix + 0.5) * b->w / (double)b->points_w;
            weigh(x, plane, py, px, v);
            sum += v[0] + v[1] + v[2] + v[3];
            for (j = 0; j < 4; j++)
                if ((count == 0 && j == 0) || v[j] > max || isnan(v[j]))
                    max = v[j];
            count++;
        }
    }
    return average ? sum / (double)(count ? count : 1) : max;
}

static int32_t run_roi_align(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), rois = naive_input(k, launch, 1),
                 batches = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    bool average = strcmp(tfr_call_string(&k->call, "mode", "avg"), "avg") == 0;
    int64_t i = 0, n = 0;
    int32_t status;
    naive_iter it;
    bins b = {0};

    for (naive_iter_init(&it, y.rank, y.dims); it.left > 0; naive_iter_next(&it), i++) {
        int64_t r = it.index[0];
        if ((status = read_batch(&batches, r, r, x.dims[0], &n, err)) != TFR_OK ||
            (status = align_bins(k, &rois, r, y.dims, &b, err)) != TFR_OK)
            return status;
        naive_write(&y, i,
                    align_bin(&x, (n * x.dims[1] + it.index[1]) * x.dims[2] * x.dims[3], &b,
                              it.index[2], it.index[3], average));
    }
    return TFR_OK;
}

const naive_op naive_roi_ops[] = {
    {.domain = "", .name = "MaxRoiPool", .since_version = 22, .run = run_max_roi_pool},
    {.domain = "", .name = "RoiAlign", .since_version = 22, .run = run_roi_align},
    {.name = NULL},
};

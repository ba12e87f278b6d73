/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_max_pool.c: MaxRoiPool of float32, as plugins/naive/roi.c has it. The rows of a line of bins
 * become one row first, in which each bin has columns; threads share regions and channels.
 */
#include "roi_align.h"

#include <math.h>
#include <string.h>

enum { MAX_COLUMNS = 2048, MAX_BINS = 64, CHANNELS = 16 /* of a task */, AT_ONCE = 8 };

typedef struct state {
    int64_t N, C, H, W, R, PH, PW;
    double scale;
    const void *known[2];
} state;

typedef struct work {
    const state *state;
    const float *x, *rois;
    float *y;
    int64_t groups; /* of channels */
} work;

/* A region on one axis. */
typedef struct side {
    double start, bin;
    int64_t n; /* pixels of the axis */
} side;

/* The pixels [begin, end) of each bin. */
typedef struct bins {
    int64_t n, begin[MAX_BINS], end[MAX_BINS];
} bins;

static side side_of(const work *w, int64_t r, int axis)
{
    const state *s = w->state;
    const float *roi = w->rois + r * 5 + 1 + !axis;
    const double start = round((double)roi[0] * s->scale), end = round((double)roi[2] * s->scale);

    return (side){start, fmax(end - start + 1, 1) / (double)(axis ? s->PW : s->PH),
                  axis ? s->W : s->H};
}

static int64_t clamped(double v, int64_t n)
{
    return !(v > 0) ? 0 : v < (double)n ? (int64_t)v : n;
}

static void find_bins(const side *s, int64_t n, bins *b)
{
    int64_t i;

    b->n = n;
    for (i = 0; i < n; i++) {
        b->begin[i] = clamped(floor((double)i * s->bin) + s->start, s->n);
        b->end[i] = clamped(ceil((double)(i + 1) * s->bin) + s->start, s->n);
    }
}

/* The greater one, or NaN; by bits, as compilers would make jumps of a choice. */
static inline float greater(float best, float v)
{
    const uint32_t mask = 0 - (uint32_t)((v > best) | (v != v));
    uint32_t x, y;

    memcpy(&x, &v, sizeof x);
    memcpy(&y, &best, sizeof y);
    x = (x & mask) | (y & ~mask);
    memcpy(&v, &x, sizeof v);
    return v;
}

/* The greatest of each column of some rows, from column `begin` to `end`. */
static void fold_rows(const float *x, int64_t rows, int64_t width, int64_t begin, int64_t end,
                      float *to)
{
    float best[AT_ONCE];
    int64_t row, i;
    int k;

    memcpy(to + begin, x + begin, (size_t)(end - begin) * sizeof *to);
    for (row = 1; row < rows; row++) {
        x += width;
        for (i = begin; i + AT_ONCE <= end; i += AT_ONCE) {
            for (k = 0; k < AT_ONCE; k++)
                best[k] = greater(to[i + k], x[i + k]);
            memcpy(to + i, best, sizeof best);
        }
        for (; i < end; i++)
            to[i] = greater(to[i], x[i]);
    }
}

static void pool_plane(const float *plane, int64_t width, const bins *down, const bins *across,
                       float *y)
{
    const int64_t left = across->begin[0], right = across->end[across->n - 1];
    float row[MAX_COLUMNS];
    int64_t i, j, at;

    for (i = 0; i < down->n; i++) {
        const int64_t rows = down->end[i] - down->begin[i];
        if (rows > 0 && left < right)
            fold_rows(plane + down->begin[i] * width, rows, width, left, right, row);
        for (j = 0; j < across->n; j++) {
            const int64_t first = across->begin[j], end = rows > 0 ? across->end[j] : first;
            float best = first < end ? row[first] : 0.0f;
            for (at = first + 1; at < end; at++)
                best = greater(best, row[at]);
            *y++ = best;
        }
    }
}

/* Numbers count regions, in them groups of channels. */
static void run_regions(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    bins down, across;

    for (; begin < end; begin++) {
        const int64_t r = begin / w->groups, first = begin % w->groups * CHANNELS;
        const int64_t last = first + CHANNELS < s->C ? first + CHANNELS : s->C;
        const int64_t image = (int64_t)w->rois[r * 5];
        const side y = side_of(w, r, 0), x = side_of(w, r, 1);
        int64_t c;
        find_bins(&y, s->PH, &down);
        find_bins(&x, s->PW, &across);
        for (c = first; c < last; c++)
            pool_plane(w->x + (image * s->C + c) * s->H * s->W, s->W, &down, &across,
                       w->y + (r * s->C + c) * s->PH * s->PW);
    }
}

static int32_t check_region(const work *w, int64_t r, tfr_err *err)
{
    const double image = (double)w->rois[r * 5];
    const side down = side_of(w, r, 0), across = side_of(w, r, 1);

    if (!(image >= 0 && image < (double)w->state->N))
        return tfr_fail(err, TFR_EINVAL, "batch index %g of region %lld is outside [0, %lld)",
                        image, (long long)r, (long long)w->state->N);
    if (!isfinite(down.start) || !isfinite(across.start) || !isfinite(w->rois[r * 5 + 3]) ||
        !isfinite(w->rois[r * 5 + 4]))
        return tfr_fail(err, TFR_EINVAL, "region %lld is not finite or too large", (long long)r);
    return TFR_OK;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.state = s, .y = launch->args[2].address, .groups = (s->C + CHANNELS - 1) / CHANNELS};
    int64_t r;

    w.x = launch->args[0].address ? launch->args[0].address : s->known[0];
    w.rois = launch->args[1].address ? launch->args[1].address : s->known[1];
    for (r = 0; r < s->R; r++) {
        const int32_t status = check_region(&w, r, err);
        if (status)
            return status;
    }
    device->host->parallel_for(run_regions, &w, s->R * w.groups, 4);
    return TFR_OK;
}

void native_max_roi_pool_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);

    (void)device;
    if (x->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
    else if (x->dims[3] > MAX_COLUMNS || y->dims[2] > MAX_BINS || y->dims[3] > MAX_BINS ||
             tfr_operand_elements(y) == 0)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "rows of up to %d pixels and some bins of up to %d are done here", MAX_COLUMNS,
                    MAX_BINS);
}

void native_max_roi_pool_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "max_roi_pool");

    if (!s)
        return;
    s->N = x->dims[0];
    s->C = x->dims[1];
    s->H = x->dims[2];
    s->W = x->dims[3];
    s->R = y->dims[0];
    s->PH = y->dims[2];
    s->PW = y->dims[3];
    s->scale = (double)tfr_call_float(call, "spatial_scale", 1);
    s->known[0] = x->data;
    s->known[1] = tfr_call_input(call, 1)->data;
}

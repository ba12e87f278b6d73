/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize (ONNX 19), the product of one interpolation per axis:
 *
 *   y[o] = sum over taps t of  prod over axes of weight(o, t) * x[clamp(first(o) + t)]
 *
 * o goes to a place v of x by coordinate_transformation_mode, with s the scale of the axis, n its
 * length in x, m its length in y, and S = s * n, which need not be whole:
 *   half_pixel (o + 0.5)/s - 0.5; half_pixel_symmetric adds n/2 * (1 - m/S); pytorch_half_pixel is
 * 0 if m is 1; asymmetric o/s; align_corners o*(n-1)/(S-1), 0 if S is 1; tf_crop_and_resize
 *   start*(n-1) + o*(end-start)*(n-1)/(S-1), or the middle if S is 1, and the extrapolation_value
 *   where that lies outside [0, n-1].
 * S where the text of ONNX has m: so have it ONNX's reference and its test data.
 * Taps: nearest one of two by nearest_mode; linear 2; cubic 4 with Keys' kernel (IEEE 1163711) of
 * cubic_coeff_a; with antialias the kernel is stretched by 1/s if s < 1 and normalized to sum 1.
 * exclude_outside gives taps outside x the weight 0 and normalizes. An axis of s = 1 that keeps its
 * length is copied. sizes give s = m/n, or with keep_aspect_ratio_policy the least or the greatest
 * size/n of all axes.
 *
 * In double, rounded once; integers round to even and saturate. nearest copies elements of any
 * type.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

#define EXTRAPOLATED INT64_MIN

enum { RESIZE_MAX_TAPS = 1 << 30 };

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };

/* What is said about all axes. */
typedef struct resize {
    enum resize_mode mode;
    const char *nearest, *transform;
    double cubic_a;
    bool antialias, exclude_outside;
} resize;

/* One axis; first has m entries, weight m times taps. */
typedef struct axis {
    int64_t n, m, taps;
    double scale, start, end; /* start and end of the region of interest */
    int64_t *first;
    double *weight;
} axis;

static void read_resize(resize *r, const tfr_call *call)
{
    const char *mode = tfr_call_string(call, "mode", "nearest");

    r->mode = strcmp(mode, "linear") == 0  ? RESIZE_LINEAR
              : strcmp(mode, "cubic") == 0 ? RESIZE_CUBIC
                                           : RESIZE_NEAREST;
    r->nearest = tfr_call_string(call, "nearest_mode", "round_prefer_floor");
    r->transform = tfr_call_string(call, "coordinate_transformation_mode", "half_pixel");
    r->cubic_a = tfr_call_float(call, "cubic_coeff_a", -0.75f);
    r->antialias = r->mode != RESIZE_NEAREST && tfr_call_int(call, "antialias", 0);
    r->exclude_outside = tfr_call_int(call, "exclude_outside", 0) != 0;
}

/* The axis that entry i of scales, sizes and roi is about; -1 when there is none. */
static int32_t named_axis(const tfr_call *call, int64_t i, int32_t rank)
{
    uint64_t n;
    const int64_t *axes = naive_attr_ints(call, "axes", &n);

    if (!tfr_call_attr(call, "axes"))
        return i < rank ? (int32_t)i : -1;
    return (uint64_t)i < n ? naive_axis(axes[i], rank) : -1;
}

/* Scales of all axes from `sizes` where the aspect ratio is kept: the least or greatest of them. */
static void keep_aspect_ratio(const tfr_call *call, const tfr_operand *sizes, const void *data,
                              int32_t rank, axis *axes)
{
    const char *policy = tfr_call_string(call, "keep_aspect_ratio_policy", "stretch");
    bool least = strcmp(policy, "not_larger") == 0;
    double scale = 0;
    int32_t d;
    int64_t i;

    if (strcmp(policy, "stretch") == 0)
        return;
    for (i = 0; (d = named_axis(call, i, rank)) >= 0 && i < sizes->dims[0]; i++) {
        double s = (double)naive_get_int(sizes->dtype, data, i) / (double)axes[d].n;
        if (i == 0 || (least ? s < scale : s > scale))
            scale = s;
    }
    for (i = 0; (d = named_axis(call, i, rank)) >= 0 && i < sizes->dims[0]; i++)
        axes[d].scale = scale;
}

/*
 * Reads lengths and scales; scales and sizes are the values of inputs 2 and 3, NULL if not known.
 * Without them the core's attribute scales counts, which has rounded what sizes say to a float.
 */
static void read_axes(const tfr_call *call, const void *scales, const void *sizes, axis *axes)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *s = tfr_call_input(call, 2), *z = tfr_call_input(call, 3);
    uint64_t n_given;
    const float *given = naive_attr_floats(call, "scales", &n_given);
    int64_t i;
    int32_t d;

    for (d = 0; d < x->rank; d++) {
        axes[d].n = x->dims[d];
        axes[d].m = y->dims[d];
        axes[d].scale = (double)axes[d].m / (double)axes[d].n;
        axes[d].start = 0;
        axes[d].end = 1;
    }
    if (s && s->dims[0] > 0 && scales)
        for (i = 0; (d = named_axis(call, i, x->rank)) >= 0 && i < s->dims[0]; i++)
            axes[d].scale = naive_get(s->dtype, scales, i);
    else if (z && z->dims[0] > 0 && sizes)
        keep_aspect_ratio(call, z, sizes, x->rank, axes);
    else
        for (d = 0; d < x->rank && (uint64_t)d < n_given; d++)
            axes[d].scale = given[d];
}

/* The region of interest: input 1, or the core's attribute, which is about all axes. */
static void read_roi(const tfr_call *call, const naive_tensor *roi, int32_t rank, axis *axes)
{
    uint64_t n_given;
    const float *given = naive_attr_floats(call, "roi", &n_given);
    int64_t i, n = given ? (int64_t)n_given / 2 : roi->n / 2;
    int32_t d;

    for (i = 0; i < n; i++) {
        d = given ? (int32_t)i : named_axis(call, i, rank);
        if (d < 0 || d >= rank)
            return;
        axes[d].start = given ? given[i] : naive_read(roi, i);
        axes[d].end = given ? given[n + i] : naive_read(roi, n + i);
    }
}

/* The taps left of the place, 0 or less: where the kernel begins. */
static double kernel_start(const resize *r, double scale)
{
    double radius = r->mode == RESIZE_CUBIC ? 2 : 1;

    return floor(-radius / (r->antialias ? fmin(scale, 1) : 1)) + 1;
}

static bool is_copied(const axis *a)
{
    return a->scale == 1 && a->n == a->m && a->start == 0 && a->end == 1;
}

/* The number of taps as a double, for it may be huge. */
static double count_taps(const resize *r, const axis *a)
{
    return is_copied(a) || a->m == 0 ? 1 : 2 - 2 * kernel_start(r, a->scale);
}

static double keys(double v, double a)
{
    v = fabs(v);
    if (v <= 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? ((a * v - 5 * a) * v + 8 * a) * v - 4 * a : 0;
}

/* Weights of nearest for the two elements around a place, ratio in (0, 1] past the first. */
static void nearest_weights(const resize *r, double ratio, double *w)
{
    bool second = true;

    if (ratio != 1) {
        if (strcmp(r->nearest, "round_prefer_floor") == 0)
            second = ratio > 0.5;
        else if (strcmp(r->nearest, "round_prefer_ceil") == 0)
            second = ratio >= 0.5;
        else
            second = strcmp(r->nearest, "ceil") == 0;
    }
    w[0] = !second;
    w[1] = second;
}

static void normalize(double *w, int64_t n)
{
    double sum = 0;
    int64_t t;

    for (t = 0; t < n; t++)
        sum += w[t];
    for (t = 0; t < n && sum != 0; t++)
        w[t] /= sum;
}

/* The place in x of position o of y along an axis. */
static double place(const resize *r, const axis *a, int64_t o)
{
    double v = (double)o, n = (double)a->n, length = a->scale * n;

    if (strcmp(r->transform, "align_corners") == 0)
        return length == 1 ? 0 : v * (n - 1) / (length - 1);
    if (strcmp(r->transform, "asymmetric") == 0)
        return v / a->scale;
    if (strcmp(r->transform, "tf_crop_and_resize") == 0)
        return (length == 1 ? (a->end - a->start) * (n - 1) / 2
                            : v * (a->end - a->start) * (n - 1) / (length - 1)) +
               a->start * (n - 1);
    if (strcmp(r->transform, "pytorch_half_pixel") == 0 && a->m == 1)
        return 0;
    if (strcmp(r->transform, "half_pixel_symmetric") == 0)
        return n / 2 * (1 - (double)a->m / length) + (v + 0.5) / a->scale - 0.5;
    return (v + 0.5) / a->scale - 0.5;
}

/* Fills the entries of position o of an axis that is not copied. */
static void weigh(const resize *r, axis *a, int64_t o)
{
    double v = place(r, a, o), low, ratio, *w = a->weight + o * a->taps, stretch = 1;
    int64_t start = (int64_t)kernel_start(r, a->scale), t;

    if (strcmp(r->transform, "tf_crop_and_resize") == 0 && !(v >= 0 && v <= (double)(a->n - 1))) {
        a->first[o] = EXTRAPOLATED;
        return;
    }
    v = fmin(fmax(v, -0x1p52), 0x1p52);
    low = ceil(v) - 1; /* a whole place is its element's right end: ratio 1, never 0 */
    ratio = v - low;
    a->first[o] = (int64_t)low + start;
    if (r->antialias)
        stretch = fmin(a->scale, 1);
    if (r->mode == RESIZE_NEAREST)
        nearest_weights(r, ratio, w);
    for (t = 0; t < a->taps && r->mode != RESIZE_NEAREST; t++) {
        double distance = ((double)(start + t) - ratio) * stretch;
        w[t] = r->mode == RESIZE_CUBIC ? keys(distance, r->cubic_a) : fmax(1 - fabs(distance), 0);
    }
    if (r->antialias)
        normalize(w, a->taps);
    if (!r->exclude_outside)
        return;
    for (t = 0; t < a->taps; t++)
        if (a->first[o] + t < 0 || a->first[o] + t >= a->n)
            w[t] = 0;
    normalize(w, a->taps);
}

static void fill_axis(const resize *r, axis *a)
{
    int64_t o;

    for (o = 0; o < a->m; o++) {
        if (is_copied(a)) {
            a->first[o] = o;
            a->weight[o] = 1;
        } else {
            weigh(r, a, o);
        }
    }
}

static int32_t supports_resize(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scales = tfr_call_input(call, 2),
                      *sizes = tfr_call_input(call, 3);
    axis axes[TFR_MAX_RANK];
    resize r;
    int32_t d;

    read_resize(&r, call);
    if (!naive_is_number(x->dtype) && x->dtype != TFR_DTYPE_BOOL &&
        (r.mode != RESIZE_NEAREST || strcmp(r.transform, "tf_crop_and_resize") == 0))
        return tfr_decline(answer, TFR_REASON_DTYPE, "element type %d has no weighted sum",
                           x->dtype);
    if (!tfr_call_attr(call, "scales") && ((scales && scales->dims[0] > 0 && !scales->data) ||
                                           (sizes && sizes->dims[0] > 0 && !sizes->data)))
        return tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "scales or sizes are not known");
    read_axes(call, scales ? scales->data : NULL, sizes ? sizes->data : NULL, axes);
    for (d = 0; d < x->rank; d++)
        if (axes[d].m > 0 && !(axes[d].scale > 0 && count_taps(&r, &axes[d]) < RESIZE_MAX_TAPS))
            return tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "scale %g of axis %d is too small",
                               axes[d].scale, d);
    return TFR_OK;
}

static uint64_t workspace_resize(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scales = tfr_call_input(call, 2),
                      *sizes = tfr_call_input(call, 3);
    axis axes[TFR_MAX_RANK];
    uint64_t bytes = 0;
    resize r;
    int32_t d;

    read_resize(&r, call);
    read_axes(call, scales ? scales->data : NULL, sizes ? sizes->data : NULL, axes);
    for (d = 0; d < x->rank; d++) {
        /* A region of interest, known at launch only, may turn a copied axis into another. */
        double taps = 2 - 2 * kernel_start(&r, axes[d].scale);
        if (axes[d].m > 0)
            bytes += (uint64_t)axes[d].m * (sizeof(int64_t) + (uint64_t)taps * sizeof(double));
    }
    return bytes;
}

static double sum_taps(const naive_tensor *x, const axis *axes, const int64_t *out)
{
    int64_t taps[TFR_MAX_RANK];
    double sum = 0;
    naive_iter it;
    int32_t d;

    for (d = 0; d < x->rank; d++)
        taps[d] = axes[d].taps;
    for (naive_iter_init(&it, x->rank, taps); it.left > 0; naive_iter_next(&it)) {
        double weight = 1;
        int64_t at = 0;
        for (d = 0; d < x->rank; d++) {
            const axis *a = &axes[d];
            int64_t i = a->first[out[d]] + it.index[d];
            i = i < 0 ? 0 : i >= a->n ? a->n - 1 : i;
            weight *= a->weight[out[d] * a->taps + it.index[d]];
            at = at * a->n + i;
        }
        if (weight != 0)
            sum += weight * naive_read(x, at);
    }
    return sum;
}

/* The one element of x that nearest takes. */
static int64_t nearest_element(const naive_tensor *x, const axis *axes, const int64_t *out)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < x->rank; d++) {
        const axis *a = &axes[d];
        int64_t i = a->first[out[d]];
        if (a->taps == 2 && a->weight[out[d] * 2 + 1] != 0)
            i++;
        at = at * a->n + (i < 0 ? 0 : i >= a->n ? a->n - 1 : i);
    }
    return at;
}

static int32_t write_all(const naive_tensor *x, const naive_tensor *y, const resize *r,
                         const axis *axes, double extrapolation, tfr_err *err)
{
    bool whole = naive_is_integer(y->dtype);
    int32_t status = TFR_OK, d;
    int64_t i = 0;
    naive_iter it;

    for (naive_iter_init(&it, y->rank, y->dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        bool outside = false;
        for (d = 0; d < y->rank; d++)
            outside = outside || axes[d].first[it.index[d]] == EXTRAPOLATED;
        if (!outside && r->mode == RESIZE_NEAREST) {
            status = naive_move(y, i, x, nearest_element(x, axes, it.index), err);
        } else {
            double v = outside ? extrapolation : sum_taps(x, axes, it.index);
            naive_write(y, i, whole ? nearbyint(v) : v);
        }
    }
    return status;
}

static int32_t run_resize(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), roi = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    char *room = launch->workspace;
    axis axes[TFR_MAX_RANK];
    resize r;
    int32_t d;

    if (y.n == 0)
        return TFR_OK;
    if (x.n == 0)
        return tfr_fail(err, TFR_ESHAPE, "nothing can be resized to %lld elements", (long long)y.n);
    read_resize(&r, &k->call);
    read_axes(&k->call, naive_in(k, launch, 2), naive_in(k, launch, 3), axes);
    if (strcmp(r.transform, "tf_crop_and_resize") == 0)
        read_roi(&k->call, &roi, x.rank, axes);
    for (d = 0; d < x.rank; d++) {
        axes[d].taps = (int64_t)count_taps(&r, &axes[d]);
        axes[d].first = (int64_t *)(void *)room;
        room += (size_t)axes[d].m * sizeof(int64_t);
        axes[d].weight = (double *)(void *)room;
        room += (size_t)(axes[d].m * axes[d].taps) * sizeof(double);
        fill_axis(&r, &axes[d]);
    }
    return write_all(&x, &y, &r, axes, tfr_call_float(&k->call, "extrapolation_value", 0), err);
}

const naive_op naive_resize_ops[] = {
    {.domain = "",
     .name = "Resize",
     .since_version = 19,
     .supports = supports_resize,
     .run = run_resize,
     .workspace = workspace_resize},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.cu: Resize of up to three axes, formulas in plugins/naive/resize.c. What an output takes
 * of an axis depends on its place there alone: resize_axis finds that once, in double, so that what
 * is nearest is decided as naive decides it, for each place the first element and the weights of
 * all. resize_nearest_N moves elements by it, resize_T adds products.
 */
#include "index.h"

namespace resize
{

enum { OUTSIDE = INT32_MIN };

__device__ inline double keys(double v, double a)
{
    v = fabs(v);
    if (v <= 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? ((a * v - 5 * a) * v + 8 * a) * v - 4 * a : 0;
}

/* The place in x of position o of an axis of y. */
__device__ inline double place(const tfr_resizing &r, const tfr_resize_axis &a, int o)
{
    const double v = o, n = a.n, length = a.scale * n;

    switch (r.transform) {
    case TFR_RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : v * (n - 1) / (length - 1);
    case TFR_RESIZE_ASYMMETRIC:
        return v / a.scale;
    case TFR_RESIZE_CROP:
        return (length == 1 ? (a.end - a.begin) * (n - 1) / 2
                            : v * (a.end - a.begin) * (n - 1) / (length - 1)) +
               tfr_multiply(a.begin, n - 1);
    case TFR_RESIZE_PYTORCH_HALF_PIXEL:
        if (a.m == 1)
            return 0;
        break;
    case TFR_RESIZE_HALF_PIXEL_SYMMETRIC:
        return tfr_multiply(n / 2, 1 - (double)a.m / length) + (v + 0.5) / a.scale - 0.5;
    default:
        break;
    }
    return (v + 0.5) / a.scale - 0.5;
}

/* Whether the second of the two elements around a place is the nearest, ratio past the first. */
__device__ inline bool takes_second(int rule, double ratio)
{
    if (ratio == 1)
        return true;
    return rule == TFR_RESIZE_ROUND_PREFER_FLOOR  ? ratio > 0.5
           : rule == TFR_RESIZE_ROUND_PREFER_CEIL ? ratio >= 0.5
                                                  : rule == TFR_RESIZE_CEIL;
}

__device__ inline double weight(const tfr_resizing &r, const tfr_resize_axis &a, int t,
                                double ratio)
{
    if (r.mode == TFR_RESIZE_NEAREST)
        return takes_second(r.nearest, ratio) == (t == 1);
    const double stretch = r.antialias && a.scale < 1 ? a.scale : 1;
    const double distance = (a.start + t - ratio) * stretch;
    return r.mode == TFR_RESIZE_CUBIC ? keys(distance, r.cubic_a) : fmax(1 - fabs(distance), 0.);
}

__device__ inline int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

__device__ inline void weigh(TFR_PTR(int32_t) first, TFR_PTR(float) weights, const tfr_resizing &r,
                             const tfr_resize_axis &a, int o)
{
    double v = place(r, a, o), all = 0, inside = 0;
    if (r.transform == TFR_RESIZE_CROP && !(v >= 0 && v <= a.n - 1)) {
        first[a.table + o] = OUTSIDE;
        return;
    }
    v = fmin(fmax(v, -0x1p29), 0x1p29);
    const double low = ceil(v) - 1, ratio = v - low; /* ratio is 1 at an element, and never 0 */
    const int from = (int)low + a.start;
    if (a.taps == 0) {
        first[a.table + o] = clamp(from + takes_second(r.nearest, ratio), a.n);
        return;
    }
    first[a.table + o] = from;
    for (int t = 0; t < a.taps; t++) {
        const double w = weight(r, a, t, ratio);
        all += w;
        inside += from + t >= 0 && from + t < a.n ? w : 0;
    }
    const double sum = r.exclude_outside ? inside : r.antialias ? all : 1;
    for (int t = 0; t < a.taps; t++) {
        const bool counts = !r.exclude_outside || (from + t >= 0 && from + t < a.n);
        weights[a.weights + o * a.taps + t] =
            counts ? (float)(weight(r, a, t, ratio) / (sum != 0 ? sum : 1)) : 0;
    }
}

__device__ inline void find(TFR_PTR(int32_t) first, TFR_PTR(float) weights, const tfr_resizing &r)
{
    for (int i = tfr_thread(); i < r.places; i += tfr_threads()) {
        int k = 0;
        while (k + 1 < r.n_axes && i >= r.axis[k + 1].table)
            k++;
        weigh(first, weights, r, r.axis[k], i - r.axis[k].table);
    }
}

template <class T>
__device__ inline void nearest(TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(const int32_t) first,
                               const tfr_resizing &r)
{
    for (int i = tfr_thread(); i < r.n; i += tfr_threads()) {
        int rest = i, at = 0;
        for (int d = r.rank - 1; d >= 0; d--) {
            const int above = tfr_divide(rest, r.dims[d]), o = rest - above * (int)r.dims[d].d;
            at += r.strides[d] * (r.which[d] < 0 ? o : first[r.axis[r.which[d]].table + o]);
            rest = above;
        }
        y[i] = x[at];
    }
}

/* The sums of up to three axes are loops in each other; an axis that is not there has one tap. */
template <class T>
__device__ inline void sum(TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(const int32_t) first,
                           TFR_PTR(const float) weights, const tfr_resizing &r)
{
    for (int i = tfr_thread(); i < r.n; i += tfr_threads()) {
        int rest = i, base = 0, from[TFR_RESIZE_AXES] = {}, w[TFR_RESIZE_AXES] = {};
        bool outside = false;
        for (int d = r.rank - 1; d >= 0; d--) {
            const int above = tfr_divide(rest, r.dims[d]), o = rest - above * (int)r.dims[d].d;
            TFR_UNROLL
            for (int k = 0; k < TFR_RESIZE_AXES; k++)
                if (r.which[d] == k) {
                    from[k] = first[r.axis[k].table + o];
                    w[k] = r.axis[k].weights + o * r.axis[k].taps;
                    outside = outside || from[k] == OUTSIDE;
                }
            base += r.which[d] < 0 ? o * r.strides[d] : 0;
            rest = above;
        }
        float total = 0;
        TFR_NO_UNROLL
        for (int a = 0; a < r.axis[0].taps && !outside; a++) {
            const float wa = weights[w[0] + a];
            const int at_a = base + clamp(from[0] + a, r.axis[0].n) * r.axis[0].stride;
            TFR_NO_UNROLL
            for (int b = 0; b < r.axis[1].taps; b++) {
                const float wb = r.n_axes > 1 ? wa * weights[w[1] + b] : wa;
                const int at_b = at_a + clamp(from[1] + b, r.axis[1].n) * r.axis[1].stride;
                TFR_NO_UNROLL
                for (int c = 0; c < r.axis[2].taps; c++) {
                    const float wc = r.n_axes > 2 ? wb * weights[w[2] + c] : wb;
                    if (wc != 0) /* what it would multiply may be infinite */
                        total +=
                            wc *
                            tfr_load(x[at_b + clamp(from[2] + c, r.axis[2].n) * r.axis[2].stride]);
                }
            }
        }
        y[i] = tfr_store<T>::of(outside ? r.extrapolation : total);
    }
}

} // namespace resize

TFR_GLOBAL(resize_axis, 256, (TFR_PTR(int32_t) first, TFR_PTR(float) weights, tfr_resizing r))
{
    resize::find(first, weights, r);
}

#define NEAREST(bits)                                                                              \
    TFR_GLOBAL(resize_nearest_##bits, 256,                                                         \
               (TFR_PTR(const uint##bits##_t) x, TFR_PTR(uint##bits##_t) y,                        \
                TFR_PTR(const int32_t) first, tfr_resizing r))                                     \
    {                                                                                              \
        resize::nearest<uint##bits##_t>(x, y, first, r);                                           \
    }
#define RESIZE(type, T)                                                                            \
    TFR_GLOBAL(resize_##type, 256,                                                                 \
               (TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(const int32_t) first,                    \
                TFR_PTR(const float) weights, tfr_resizing r))                                     \
    {                                                                                              \
        resize::sum<T>(x, y, first, weights, r);                                                   \
    }

NEAREST(8)
NEAREST(16)
NEAREST(32)
NEAREST(64)
RESIZE(f32, float)
RESIZE(f16, tfr_f16)
RESIZE(bf16, tfr_bf16)
#undef NEAREST
#undef RESIZE

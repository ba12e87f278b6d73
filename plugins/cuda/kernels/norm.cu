/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.cu: the normalizations without parameters, formulas in plugins/naive/norm.c.
 *
 *   lp_normalization_thread_T, _warp_T, _T   a thread, a warp or a block for each lane along the
 *             axis: a thread where neighbours are of other lanes
 *   lrn_T     a thread for each element, which reads its neighbours in other channels, from a cache
 *   mean_variance_T   a block for each set of elements that are normalized together, which it
 *             reads three times
 */
#include "block.h"
#include "index.h"

namespace norms
{

template <int width> __device__ inline float all(float v)
{
    if constexpr (width == 1)
        return v;
    else if constexpr (width == 32)
        return tfr_fold_warp<tfr_sum>(v);
    else
        return tfr_fold_block<tfr_sum>(v);
}

template <class T, int width>
__device__ inline void lp(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_lanes &l, int p)
{
    const int mine = (int)threadIdx.x % width, per_block = (int)blockDim.x / width;
    const int n_lanes = l.outer * l.inner;

    for (int lane = (int)blockIdx.x * per_block + (int)threadIdx.x / width; lane < n_lanes;
         lane += (int)gridDim.x * per_block) {
        const int base = lane / l.inner * l.n * l.inner + lane % l.inner;
        float sum = 0;
        TFR_NO_UNROLL
        for (int j = mine; j < l.n; j += width) {
            const float v = fabsf(tfr_load(x[base + j * l.inner]));
            sum += p == 1 ? v : p == 2 ? v * v : powf(v, (float)p);
        }
        sum = all<width>(sum);
        sum = p == 1 ? sum : p == 2 ? sqrtf(sum) : powf(sum, 1 / (float)p);
        TFR_NO_UNROLL
        for (int j = mine; j < l.n; j += width) {
            const float v = tfr_load(x[base + j * l.inner]);
            y[base + j * l.inner] = tfr_store<T>::of(sum == 0 ? 0.f : v / sum);
        }
    }
}

template <class T> __device__ inline void lrn(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_lrn &r)
{
    for (int i = tfr_thread(); i < r.n; i += tfr_threads()) {
        const int above = tfr_divide(i, r.plane), plane = (int)r.plane.d;
        const int c = above - tfr_divide(above, r.channels) * (int)r.channels.d;
        const int first = c > r.before ? -r.before : -c;
        const int last = (int)r.channels.d - 1 - c < r.after ? (int)r.channels.d - 1 - c : r.after;
        float sum = 0;
        for (int j = first; j <= last; j++) {
            const float v = tfr_load(x[i + j * plane]);
            sum += v * v;
        }
        y[i] = tfr_store<T>::of(tfr_load(x[i]) / powf(r.bias + r.scale * sum, r.beta));
    }
}

/* f(v) of all elements of a set, added up. */
template <class T, class each>
__device__ inline float sum_of(TFR_PTR(const T) x, const tfr_walk &w, int base, each f)
{
    float sum = 0;
    for (int j = (int)threadIdx.x; j < w.n; j += (int)blockDim.x) {
        int at[1];
        tfr_walk_at<1>(w, j, at);
        sum += f(tfr_load(x[base + at[0]]));
    }
    return tfr_fold_block<tfr_sum>(sum);
}

/*
 * Elements are taken relative to the first one of the set: what is left of equal ones is exactly 0,
 * where a mean that is rounded would leave a unit in the last place, and 1e-9 does not hide it.
 */
template <class T>
__device__ inline void mean_variance(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_reducing &r)
{
    for (int o = (int)blockIdx.x; o < r.kept.n; o += (int)gridDim.x) {
        int base[1], at[1];
        tfr_walk_at<1>(r.kept, o, base);
        const float first = tfr_load(x[base[0] + r.reduced.offset[0]]);
        const float mean =
            sum_of<T>(x, r.reduced, base[0], [=](float v) { return v - first; }) * r.scale;
        const float squares = sum_of<T>(x, r.reduced, base[0], [=](float v) {
            return (v - first - mean) * (v - first - mean);
        });
        const float inverse = 1 / (sqrtf(squares * r.scale) + 1e-9f);
        for (int j = (int)threadIdx.x; j < r.reduced.n; j += (int)blockDim.x) {
            tfr_walk_at<1>(r.reduced, j, at);
            y[base[0] + at[0]] =
                tfr_store<T>::of((tfr_load(x[base[0] + at[0]]) - first - mean) * inverse);
        }
    }
}

} // namespace norms

#define LP(name, T, width)                                                                         \
    TFR_GLOBAL(lp_normalization_##name, 256,                                                       \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_lanes l, int32_t p))                         \
    {                                                                                              \
        norms::lp<T, width>(x, y, l, p);                                                           \
    }
#define NORM(type, T)                                                                              \
    LP(type, T, 256)                                                                               \
    LP(warp_##type, T, 32)                                                                         \
    LP(thread_##type, T, 1)                                                                        \
    TFR_GLOBAL(lrn_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_lrn r))                     \
    {                                                                                              \
        norms::lrn<T>(x, y, r);                                                                    \
    }                                                                                              \
    TFR_GLOBAL(mean_variance_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_reducing r))      \
    {                                                                                              \
        norms::mean_variance<T>(x, y, r);                                                          \
    }

NORM(f32, float)
NORM(f16, tfr_f16)
NORM(bf16, tfr_bf16)
#undef NORM
#undef LP

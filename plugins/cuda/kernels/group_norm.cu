/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_norm.cu: GroupNormalization and InstanceNormalization, formulas in
 * plugins/naive/group_norm.c. A group's n elements lie together. With many groups a block has each:
 * it reads the group three times, twice from a cache, and takes the variance around the mean. Few
 * large groups are cut into parts, so that all multiprocessors have work: group_norm_part_T leaves
 * the mean of each part and the squares around it, which group_norm_apply_T joins as Chan, Golub
 * and LeVeque do (1979), in the same order in each run.
 */
#include "block.h"
#include "index.h"

namespace group_norm
{

/* Of n elements from base on: their mean, and the sum of squares around it. All threads come. */
template <class T>
__device__ inline void statistics(TFR_PTR(const T) x, int base, int n, float &mean, float &squares)
{
    float sum = 0, around = 0;
    for (int j = (int)threadIdx.x; j < n; j += (int)blockDim.x)
        sum += tfr_load(x[base + j]);
    mean = tfr_fold_block<tfr_sum>(sum) / (float)n;
    for (int j = (int)threadIdx.x; j < n; j += (int)blockDim.x) {
        const float v = tfr_load(x[base + j]) - mean;
        around += v * v;
    }
    squares = tfr_fold_block<tfr_sum>(around);
}

/* Writes n elements of a group, from number `first` of it on. */
template <class T>
__device__ inline void write(TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,
                             TFR_PTR(T) y, const tfr_groups &g, int group, int first, int n,
                             float mean, float inverse)
{
    const int channel = group % g.of_sample * g.channels, base = group * g.n + first;
    for (int j = (int)threadIdx.x; j < n; j += (int)blockDim.x) {
        const int c = channel + tfr_divide(first + j, g.plane);
        y[base + j] = tfr_store<T>::of(
            (tfr_load(x[base + j]) - mean) * inverse * tfr_load(scale[c]) + tfr_load(bias[c]));
    }
}

template <class T>
__device__ inline void whole(TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,
                             TFR_PTR(T) y, const tfr_groups &g)
{
    for (int group = (int)blockIdx.x; group < g.groups; group += (int)gridDim.x) {
        float mean, squares;
        statistics<T>(x, group * g.n, g.n, mean, squares);
        write<T>(x, scale, bias, y, g, group, 0, g.n, mean,
                 1 / sqrtf(squares / (float)g.n + g.epsilon));
    }
}

__device__ inline int elements_of(const tfr_groups &g, int part)
{
    return g.n - part * g.part < g.part ? g.n - part * g.part : g.part;
}

template <class T>
__device__ inline void part(TFR_PTR(const T) x, TFR_PTR(float) found, const tfr_groups &g)
{
    for (int i = (int)blockIdx.x; i < g.groups * g.parts; i += (int)gridDim.x) {
        float mean, squares;
        statistics<T>(x, i / g.parts * g.n + i % g.parts * g.part, elements_of(g, i % g.parts),
                      mean, squares);
        if (threadIdx.x == 0) {
            found[2 * i] = mean;
            found[2 * i + 1] = squares;
        }
    }
}

template <class T>
__device__ inline void apply(TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,
                             TFR_PTR(const float) found, TFR_PTR(T) y, const tfr_groups &g)
{
    for (int i = (int)blockIdx.x; i < g.groups * g.parts; i += (int)gridDim.x) {
        const int group = i / g.parts, own = i % g.parts;
        float mean = 0, squares = 0;
        TFR_NO_UNROLL
        for (int p = 0; p < g.parts; p++)
            mean += found[2 * (group * g.parts + p)] * (float)elements_of(g, p);
        mean /= (float)g.n;
        TFR_NO_UNROLL
        for (int p = 0; p < g.parts; p++) {
            const float off = found[2 * (group * g.parts + p)] - mean;
            squares += found[2 * (group * g.parts + p) + 1] + off * off * (float)elements_of(g, p);
        }
        write<T>(x, scale, bias, y, g, group, own * g.part, elements_of(g, own), mean,
                 1 / sqrtf(squares / (float)g.n + g.epsilon));
    }
}

} // namespace group_norm

#define GROUP_NORM(type, T)                                                                        \
    TFR_GLOBAL(group_norm_##type, 256,                                                             \
               (TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias, TFR_PTR(T) y,   \
                tfr_groups g))                                                                     \
    {                                                                                              \
        group_norm::whole<T>(x, scale, bias, y, g);                                                \
    }                                                                                              \
    TFR_GLOBAL(group_norm_part_##type, 256,                                                        \
               (TFR_PTR(const T) x, TFR_PTR(float) found, tfr_groups g))                           \
    {                                                                                              \
        group_norm::part<T>(x, found, g);                                                          \
    }                                                                                              \
    TFR_GLOBAL(group_norm_apply_##type, 256,                                                       \
               (TFR_PTR(const T) x, TFR_PTR(const T) scale, TFR_PTR(const T) bias,                 \
                TFR_PTR(const float) found, TFR_PTR(T) y, tfr_groups g))                           \
    {                                                                                              \
        group_norm::apply<T>(x, scale, bias, found, y, g);                                         \
    }

GROUP_NORM(f32, float)
GROUP_NORM(f16, tfr_f16)
GROUP_NORM(bf16, tfr_bf16)
#undef GROUP_NORM

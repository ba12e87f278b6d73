/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad.cu: Pad in all its modes and CenterCropPad, by size of an element. A thread writes an element
 * of y, so that rows are written as rows; what lies outside of x is looked for in there.
 */
#include "index.h"

namespace pad
{

/* i, outside of [0, n), brought inside; rare, and so by divisions. */
__device__ inline int inside(int i, int n, int mode)
{
    const int period = mode == TFR_PAD_REFLECT ? 2 * (n - 1) : n;

    if (mode == TFR_PAD_EDGE || period == 0)
        return i < 0 ? 0 : n - 1;
    i %= period;
    i += i < 0 ? period : 0;
    return i < n ? i : period - i;
}

/* The element of x that element i of y is; -1: the constant. */
__device__ inline int source(const tfr_padding &p, int i)
{
    int at = p.offset;
    bool is_in = true;
TFR_NO_UNROLL
    for (int d = p.rank - 1; d >= 0; d--) {
        const int q = tfr_divide(i, p.dims[d]);
        int j = i - q * (int)p.dims[d].d - p.pad[d];
        if (j < 0 || j >= p.kept[d]) {
            is_in = is_in && p.mode != TFR_PAD_CONSTANT;
            j = is_in ? inside(j, p.kept[d], p.mode) : 0;
        }
        at += j * p.stride[d];
        i = q;
    }
    return is_in ? at : -1;
}

template <class T>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(const T) value, TFR_PTR(T) y,
                           const tfr_padding &p)
{
    const T constant = value ? value[0] : (T)0;
    for (int i = tfr_thread(); i < p.n; i += tfr_threads()) {
        const int at = source(p, i);
        y[i] = at < 0 ? constant : x[at];
    }
}

} // namespace pad

#define PAD(name, T)                                                                               \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) x, TFR_PTR(const T) value, TFR_PTR(T) y, tfr_padding p))          \
    {                                                                                              \
        pad::run<T>(x, value, y, p);                                                               \
    }

PAD(pad_8, uint8_t)
PAD(pad_16, uint16_t)
PAD(pad_32, uint32_t)
PAD(pad_64, uint64_t)
#undef PAD

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reverse_sequence.cu: of each sample the first `length` times in reverse, by size of an element. A
 * length that is outside of [0, times] is told (index.h).
 */
#include "index.h"

template <class T>
__device__ inline void tfr_reverse(TFR_PTR(const T) x, TFR_PTR(const int64_t) lengths, TFR_PTR(T) y,
                                   TFR_PTR(uint64_t) found, const tfr_reversing &r)
{
    const int times = (int)r.times.d, samples = (int)r.samples.d;
    for (int i = tfr_thread(); i < r.n; i += tfr_threads()) {
        const int at = tfr_divide(i, r.time_stride), t = at - tfr_divide(at, r.times) * times;
        const int of = tfr_divide(i, r.batch_stride);
        const int sample = of - tfr_divide(of, r.samples) * samples;
        const int64_t length = lengths[sample];
        const bool is_in = length >= 0 && length <= times;
        if (!is_in)
            tfr_tell(found, sample, length);
        y[i] = x[is_in && t < length ? i + ((int)length - 1 - 2 * t) * (int)r.time_stride.d : i];
    }
}

#define REVERSE(name, T)                                                                           \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) x, TFR_PTR(const int64_t) lengths, TFR_PTR(T) y,                  \
                TFR_PTR(uint64_t) found, tfr_reversing r))                                         \
    {                                                                                              \
        tfr_reverse<T>(x, lengths, y, found, r);                                                   \
    }

REVERSE(reverse_sequence_8, uint8_t)
REVERSE(reverse_sequence_16, uint16_t)
REVERSE(reverse_sequence_32, uint32_t)
REVERSE(reverse_sequence_64, uint64_t)
#undef REVERSE

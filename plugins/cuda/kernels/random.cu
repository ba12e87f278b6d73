/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.cu: RandomNormal, RandomUniform, their Like forms, Bernoulli and Dropout, by philox.h. A
 * thread has a block of the generator, four elements.
 */
#include "index.h"
#include "philox.h"

namespace random_numbers
{

/* f(i, word of element i, word of its pair's other element) of each element of the block. */
template <class each>
__device__ inline void draw(TFR_PTR(const tfr_random_state) session, const tfr_draw &d, each f)
{
    uint32_t subsequence;
    const tfr_random_state state = tfr_draw_state(session, d, &subsequence);

    for (int block = tfr_thread(); block <= (d.n - 1) / 4; block += tfr_threads()) {
        uint32_t words[4];
        tfr_random_block(&state, subsequence, (uint64_t)block, words);
        for (int k = 0; k < 4 && block * 4 + k < d.n; k++)
            f(block * 4 + k, words[k], words[k ^ 1]);
    }
}

template <class T>
__device__ inline void normal(TFR_PTR(const tfr_random_state) session, TFR_PTR(T) y,
                              const tfr_draw &d)
{
    draw(session, d, [&](int i, uint32_t own, uint32_t other) {
        const double z = tfr_to_normal(i % 2 ? other : own, i % 2 ? own : other, i % 2 != 0);
        y[i] = tfr_store<T>::of((float)((double)d.a + (double)d.b * z));
    });
}

/* a + (b - a) u in double, as the sum of two floats would be rounded twice. */
template <class T>
__device__ inline void uniform(TFR_PTR(const tfr_random_state) session, TFR_PTR(T) y,
                               const tfr_draw &d)
{
    draw(session, d, [&](int i, uint32_t word, uint32_t) {
        y[i] = tfr_store<T>::of(
            (float)((double)d.a + ((double)d.b - (double)d.a) * (double)tfr_to_uniform(word)));
    });
}

template <class T, class Y>
__device__ inline void bernoulli(TFR_PTR(const tfr_random_state) session, TFR_PTR(const T) x,
                                 TFR_PTR(Y) y, const tfr_draw &d)
{
    draw(session, d, [&](int i, uint32_t word, uint32_t) {
        y[i] = tfr_store<Y>::of(tfr_to_uniform(word) < tfr_load(x[i]) ? 1.f : 0.f);
    });
}

/* ratio NULL: it is d.a; mode NULL: it trains. Without training x is copied. */
template <class T>
__device__ inline void dropout(TFR_PTR(const tfr_random_state) session, TFR_PTR(const T) x,
                               TFR_PTR(const float) ratio, TFR_PTR(const uint8_t) mode,
                               TFR_PTR(T) y, TFR_PTR(uint8_t) mask, const tfr_draw &d)
{
    const bool trains = !mode || mode[0] != 0;
    const float r = ratio ? ratio[0] : d.a;
    draw(session, d, [&](int i, uint32_t word, uint32_t) {
        const bool keep = !trains || tfr_to_uniform(word) >= r;
        y[i] = trains ? tfr_store<T>::of(keep ? tfr_load(x[i]) / (1 - r) : 0.f) : x[i];
        if (mask)
            mask[i] = keep;
    });
}

} // namespace random_numbers

#define RANDOM(type, T)                                                                            \
    TFR_GLOBAL(random_normal_##type, 256,                                                          \
               (TFR_PTR(const tfr_random_state) state, TFR_PTR(T) y, tfr_draw d))                  \
    {                                                                                              \
        random_numbers::normal<T>(state, y, d);                                                    \
    }                                                                                              \
    TFR_GLOBAL(random_uniform_##type, 256,                                                         \
               (TFR_PTR(const tfr_random_state) state, TFR_PTR(T) y, tfr_draw d))                  \
    {                                                                                              \
        random_numbers::uniform<T>(state, y, d);                                                   \
    }                                                                                              \
    TFR_GLOBAL(bernoulli_##type, 256,                                                              \
               (TFR_PTR(const tfr_random_state) state, TFR_PTR(const T) x, TFR_PTR(T) y,           \
                tfr_draw d))                                                                       \
    {                                                                                              \
        random_numbers::bernoulli<T, T>(state, x, y, d);                                           \
    }                                                                                              \
    TFR_GLOBAL(dropout_##type, 256,                                                                \
               (TFR_PTR(const tfr_random_state) state, TFR_PTR(const T) x,                         \
                TFR_PTR(const float) ratio, TFR_PTR(const uint8_t) mode, TFR_PTR(T) y,             \
                TFR_PTR(uint8_t) mask, tfr_draw d))                                                \
    {                                                                                              \
        random_numbers::dropout<T>(state, x, ratio, mode, y, mask, d);                             \
    }

RANDOM(f32, float)
RANDOM(f16, tfr_f16)
RANDOM(bf16, tfr_bf16)
#undef RANDOM

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_avx2.c: the squares of turn.h in vectors of 32 bytes. Shuffles work inside of their halves,
 * which have rows of their own: of 1 and 2 bytes rows i and i + 8, whose columns come out side by
 * side; of 4 and 8 bytes halves change places at last.
 */
#include "turn.h"

#if defined(__x86_64__)
#include <string.h>

#include "vec_avx2.h"

#define UNROLL _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))

enum { TURN_ROWS_1 = 16, TURN_ROWS_2 = 16, TURN_ROWS_4 = 8, TURN_ROWS_8 = 4 };
enum { TURN_COLUMNS_1 = 16, TURN_COLUMNS_2 = 8, TURN_COLUMNS_4 = 8, TURN_COLUMNS_8 = 4 };

/* ---- 1 and 2 bytes ---- */

/* Row i and row i + 8 of 16 bytes; those from `ins` on are 0. */
INLINE __m256i load_pair(const char *from, int64_t step, int ins, int i)
{
    const __m128i low =
        i < ins ? _mm_loadu_si128((const void *)(from + i * step)) : _mm_setzero_si128();
    const __m128i high =
        i + 8 < ins ? _mm_loadu_si128((const void *)(from + (i + 8) * step)) : _mm_setzero_si128();

    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Rows i and i + 4 of 8 are merged: three times turns them. */
#define MERGE(from, to, bits)                                                                      \
    UNROLL for (i = 0; i < 4; i++)                                                                 \
    {                                                                                              \
        (to)[2 * i] = _mm256_unpacklo_epi##bits((from)[i], (from)[i + 4]);                         \
        (to)[2 * i + 1] = _mm256_unpackhi_epi##bits((from)[i], (from)[i + 4]);                     \
    }

INLINE void turn_square_1(const uint8_t *from, int64_t step, int ins, uint8_t *to, int64_t to_step,
                          int outs)
{
    __m256i r[8], t[8];
    int i;

    UNROLL for (i = 0; i < 8; i++) r[i] = load_pair((const char *)from, step, ins, i);
    MERGE(r, t, 8)
    MERGE(t, r, 8)
    MERGE(r, t, 8)
    UNROLL for (i = 0; i < outs; i++)
    {
        const __m256i two = _mm256_permute4x64_epi64(t[i / 2], 0xd8);
        _mm_storeu_si128((void *)(to + i * to_step), i % 2 == 0 ? _mm256_castsi256_si128(two)
                                                                : _mm256_extracti128_si256(two, 1));
    }
}

INLINE void turn_square_2(const uint16_t *from, int64_t step, int ins, uint16_t *to,
                          int64_t to_step, int outs)
{
    __m256i r[8], t[8];
    int i;

    UNROLL for (i = 0; i < 8; i++) r[i] = load_pair((const char *)from, step * 2, ins, i);
    MERGE(r, t, 16)
    MERGE(t, r, 16)
    MERGE(r, t, 16)
    UNROLL for (i = 0; i < outs; i++) _mm256_storeu_si256((void *)(to + i * to_step), t[i]);
}

/* ---- 4 and 8 bytes ---- */

INLINE void turn_square_4(const uint32_t *from, int64_t step, int ins, uint32_t *to,
                          int64_t to_step, int outs)
{
    __m256i r[8], t[8];
    int i;

    UNROLL for (i = 0; i < 8; i++) r[i] =
        i < ins ? _mm256_loadu_si256((const void *)(from + i * step)) : _mm256_setzero_si256();
    UNROLL for (i = 0; i < 4; i++)
    {
        t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    UNROLL for (i = 0; i < 8; i += 4)
    {
        r[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    UNROLL for (i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2x128_si256(r[i], r[4 + i], 0x20);
        t[4 + i] = _mm256_permute2x128_si256(r[i], r[4 + i], 0x31);
    }
    UNROLL for (i = 0; i < outs; i++) _mm256_storeu_si256((void *)(to + i * to_step), t[i]);
}

INLINE void turn_square_8(const uint64_t *from, int64_t step, int ins, uint64_t *to,
                          int64_t to_step, int outs)
{
    __m256i r[4], t[4];
    int i;

    UNROLL for (i = 0; i < 4; i++) r[i] =
        i < ins ? _mm256_loadu_si256((const void *)(from + i * step)) : _mm256_setzero_si256();
    UNROLL for (i = 0; i < 4; i += 2)
    {
        t[i] = _mm256_unpacklo_epi64(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi64(r[i], r[i + 1]);
    }
    UNROLL for (i = 0; i < 2; i++)
    {
        r[i] = _mm256_permute2x128_si256(t[i], t[2 + i], 0x20);
        r[2 + i] = _mm256_permute2x128_si256(t[i], t[2 + i], 0x31);
    }
    UNROLL for (i = 0; i < outs; i++) _mm256_storeu_si256((void *)(to + i * to_step), r[i]);
}

#define TURN_TABLE native_turn_avx2

#include "turn_loops.h"

#include "vec_end.h"
#else
typedef int native_no_turn_avx2; /* C wants one declaration in a file */
#endif

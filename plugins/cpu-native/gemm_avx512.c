/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx512.c: strict products with AVX-512.
 *
 * A tile of 14 x 32 takes 28 of the 32 registers for sums, two for B, one for an element of A: for
 * each k 28 multiplications, which two ports do in 14 cycles, against 16 loads. A panel of A, 14 x
 * 512 floats, is 28 KiB in the first cache; a block of B, 512 x 512, is 1 MiB in the second, from
 * where a tile reads 128 bytes in 14 cycles. Panels of 1 to 13 rows have tiles of their own, so
 * that the rows can be shared out evenly: 512 rows are 31 panels of 14 and 6 of 13.
 *
 * Alone in the caches the tile runs at 97-98 % of the FMA roof of a Sapphire Rapids core.
 */
#include "gemm_isa.h"

#if NATIVE_X86

#include "vec_avx512.h"

#define NV    2
#define MR    14

#include "gemm_epilogue.h"

/* ---- packing of what lies the other way round ---- */

/*
 * to[16][16] = the transpose of from[rows, cols], whose rows lie ld apart; what is beyond is zero.
 * Pairs of rows are interleaved by 1, 2, 4 and 8 lanes, as for any power of two.
 */
static void transpose_16(float *to, int64_t to_step, const float *from, int64_t ld, int rows,
                         int cols)
{
    const __mmask16 mask = (__mmask16)((1u << cols) - 1);
    __m512 x[16], y[16];
    int i;

    UNROLL_ALL
    for (i = 0; i < 16; i++)
        x[i] = i < rows ? _mm512_maskz_loadu_ps(mask, from + i * ld) : _mm512_setzero_ps();
    UNROLL_ALL
    for (i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    UNROLL_ALL
    for (i = 0; i < 16; i += 4) {
        const __m512d a = _mm512_castps_pd(y[i]), b = _mm512_castps_pd(y[i + 1]);
        const __m512d c = _mm512_castps_pd(y[i + 2]), d = _mm512_castps_pd(y[i + 3]);
        x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    /* x[4g + r] has column 4q + r of rows 4g...4g+3 in its quarter q. */
    UNROLL_ALL
    for (i = 0; i < 4; i++) {
        y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
        y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
        y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
        y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
    }
    UNROLL_ALL
    for (i = 0; i < 4; i++) {
        _mm512_storeu_ps(to + i * to_step, _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88));
        _mm512_storeu_ps(to + (i + 8) * to_step, _mm512_shuffle_f32x4(y[i], y[i + 8], 0xdd));
        _mm512_storeu_ps(to + (i + 4) * to_step, _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88));
        _mm512_storeu_ps(to + (i + 12) * to_step, _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xdd));
    }
}

static int at_most_16(int64_t n)
{
    return n < 16 ? (int)n : 16;
}

static void pack_a_columns(float *to, const native_source *a)
{
    float square[256];
    int64_t k;

    for (k = 0; k < a->k; k += K_ROW, to += a->n * K_ROW) {
        transpose_16(square, 16, a->at + k * a->k_step, a->k_step, at_most_16(a->k - k), (int)a->n);
        memcpy(to, square, (size_t)a->n * K_ROW * sizeof(float));
    }
}

static void pack_b_columns(float *to, const native_source *b)
{
    float square[256];
    int64_t j, k, panel;

    for (panel = 0; panel < b->n; panel += NR, to += b->k * NR) {
        for (j = 0; j < NR; j += 16) {
            const int n = at_most_16(b->n - panel - j > 0 ? b->n - panel - j : 0);
            const float *from = b->at + (panel + j) * b->major_step;
            for (k = 0; k + 16 <= b->k; k += 16)
                transpose_16(to + k * NR + j, NR, from + k, b->major_step, n, 16);
            if (k < b->k) {
                int64_t i;
                transpose_16(square, 16, from + k, b->major_step, n, (int)(b->k - k));
                for (i = 0; k + i < b->k; i++)
                    memcpy(to + (k + i) * NR + j, square + i * 16, 16 * sizeof(float));
            }
        }
    }
}

#define HAS_PACK_COLUMNS
#define ISA avx512
#include "gemm_strict.h"

#include "vec_end.h"

#endif

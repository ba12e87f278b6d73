/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_bf16.c: the loops of bf16.h with AMX: a result of 32 x 32 in four tile registers, two tiles
 * of each side in the others, as in gemm_amx.c. Rounding is to the nearest even; what is below the
 * normal numbers counts as 0, and what is finite stays finite.
 */
#include "bf16.h"

#include "gemm_isa.h"
#include "level.h"

#if NATIVE_AMX

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))),    \
    apply_to = function)
#else
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

#include <immintrin.h>
#include <string.h>

/* ---- packing ---- */

/* The largest finite float32 would be rounded to infinity. */
static inline __m512 finite(__m512 x)
{
    const __m512i largest = _mm512_set1_epi32(0x7f7f0000), infinity = _mm512_set1_epi32(0x7f800000);
    const __m512i size = _mm512_and_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    const __mmask16 large = _mm512_cmpgt_epu32_mask(size, largest);
    const __mmask16 cut = _mm512_mask_cmplt_epu32_mask(large, size, infinity);

    return _mm512_castsi512_ps(_mm512_mask_and_epi32(
        _mm512_castps_si512(x), cut, _mm512_castps_si512(x), _mm512_set1_epi32((int)0xffff0000u)));
}

static inline __m512i round_both(__m512 low, __m512 high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(finite(high), finite(low));
}

/* Numbers of x and y alternate, x first. */
static inline __m512i round_pairs(__m512 x, __m512 y)
{
    const __m512i order = _mm512_or_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        _mm512_slli_epi32(
            _mm512_setr_epi32(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31), 16));

    return _mm512_permutexvar_epi16(order, round_both(x, y));
}

static inline __mmask16 first(int64_t n)
{
    return n >= 16 ? (__mmask16)0xffff : n <= 0 ? (__mmask16)0 : (__mmask16)((1u << n) - 1);
}

static void pack_rows(const float *from, int64_t step, int64_t half, int terms, int64_t n, char *to)
{
    const __mmask16 low = first(terms), high = first(terms - 16);
    int64_t i;

    for (i = 0; i < n; i++, from += step, to += NATIVE_BF16_ROW) {
        const __m512 x = _mm512_maskz_loadu_ps(low, from);
        const __m512 y = high ? _mm512_maskz_loadu_ps(high, from + half) : _mm512_setzero_ps();
        _mm512_storeu_si512(to, round_both(x, y));
    }
}

static void pack_tile(const float *from, int64_t term_step, int terms, int64_t column_step,
                      int columns, char *to)
{
    const __mmask16 mask = first(columns);
    const __m512i index =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32((int)column_step));
    __m512 row[2];
    int k, i;

    for (k = 0; k < NATIVE_BF16_TERMS; k += 2, to += NATIVE_BF16_ROW) {
        for (i = 0; i < 2; i++) {
            const float *at = from + (k + i) * term_step;
            if (k + i >= terms)
                row[i] = _mm512_setzero_ps();
            else if (column_step == 1)
                row[i] = _mm512_maskz_loadu_ps(mask, at);
            else
                row[i] = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, index, at, 4);
        }
        _mm512_storeu_si512(to, round_pairs(row[0], row[1]));
    }
}

static void pack_columns(const float *from, int64_t n, int64_t step, char *to)
{
    int64_t i, k;

    for (i = 0; i < n; i += NATIVE_BF16_TERMS, to += step) {
        for (k = 0; k < NATIVE_BF16_TERMS; k += 2) {
            const __m512 x = i + k < n ? _mm512_loadu_ps(from + (i + k) * 16) : _mm512_setzero_ps();
            const __m512 y =
                i + k + 1 < n ? _mm512_loadu_ps(from + (i + k + 1) * 16) : _mm512_setzero_ps();
            _mm512_storeu_si512(to + k / 2 * NATIVE_BF16_ROW, round_pairs(x, y));
        }
    }
}

/* Rows and columns of 16 x 16 numbers of 32 bits change places. */
static inline __attribute__((always_inline)) void turn(__m512i *r)
{
    __m512i t[16];
    int i;

    for (i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

static void pack_turned(const float *from, int64_t n, int64_t row, char *to)
{
    __m512i pairs[16];
    int64_t i;
    int k;

    for (i = 0; i < n; i += 32, from += 32 * 16, to += 64) {
        for (k = 0; k < 16; k++)
            pairs[k] = round_pairs(_mm512_loadu_ps(from + 2 * k * 16),
                                   _mm512_loadu_ps(from + (2 * k + 1) * 16));
        turn(pairs);
        for (k = 0; k < 16; k++)
            _mm512_storeu_si512(to + k * row, pairs[k]);
    }
}

static void expand(const float *from, const uint8_t *codes, int64_t half, int64_t n,
                   const int32_t *places, int area, const int32_t *inside, char *to)
{
    int64_t w;
    int i;

    for (w = 0; w < n; w++, from += 16, codes += 16) {
        const __m512 x = _mm512_loadu_ps(from);
        const __m512 y = half ? _mm512_loadu_ps(from + half) : _mm512_setzero_ps();
        const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)codes);
        const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(codes + half));
        const __m256i code = _mm256_set_m128i(high, low);
        const __m512i both = round_both(x, y);
        for (i = 0; i < area; i++)
            _mm512_storeu_si512(to + places[w] + inside[i],
                                _mm512_maskz_mov_epi16(
                                    _mm256_cmpeq_epi8_mask(code, _mm256_set1_epi8((char)i)), both));
    }
}

/* ---- results ---- */

static void finish(const native_bf16_end *e)
{
    const __mmask16 mask = first(e->lanes);
    const __m512 bias = e->bias ? _mm512_maskz_loadu_ps(mask, e->bias) : _mm512_setzero_ps();
    const __m512 low = _mm512_set1_ps(e->low), high = _mm512_set1_ps(e->high);
    int64_t i;

    for (i = 0; i < e->n; i++) {
        __m512 x = _mm512_add_ps(_mm512_loadu_ps(e->sums + i * 16), bias);
        if (e->residual)
            x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, e->residual + i * e->to_row));
        if (e->clip) /* a NaN in the second operand stays */
            x = _mm512_min_ps(high, _mm512_max_ps(low, x));
        _mm512_mask_storeu_ps(e->to + i * e->to_row, mask, x);
    }
}

/* ---- products ---- */

/* Compilers do not know all memory that the tile instructions read and write. */
#define MEMORY_IS_READ __asm__ volatile("" ::: "memory")

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static void begin(void)
{
    tile_config config;
    int i;

    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (i = 0; i < 8; i++) {
        config.row_bytes[i] = NATIVE_BF16_ROW;
        config.rows[i] = 16;
    }
    MEMORY_IS_READ;
    _tile_loadconfig(&config);
}

static void end(void)
{
    _tile_release();
}

/* Registers: 0 1 2 3 the result, row by row; 4 5 rows; 6 7 columns. */
static inline __attribute__((always_inline)) void multiply(const native_bf16_product *p,
                                                           const bool low, const bool right)
{
    const size_t row = (size_t)p->to_row * sizeof(float), a_row = (size_t)p->a_row;
    int64_t k;

    MEMORY_IS_READ;
    if (p->add) {
        _tile_loadd(0, p->to[0], row);
        if (right)
            _tile_loadd(1, p->to[0] + p->to_column, row);
        if (low)
            _tile_loadd(2, p->to[1], row);
        if (low && right)
            _tile_loadd(3, p->to[1] + p->to_column, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (k = 0; k < p->n_steps; k++) {
        const char *b = p->b + p->b_offsets[k];
        _tile_loadd(4, p->a[0] + p->a_offsets[k], a_row);
        _tile_loadd(6, b, NATIVE_BF16_ROW);
        if (low)
            _tile_loadd(5, p->a[1] + p->a_offsets[k], a_row);
        if (right)
            _tile_loadd(7, b + p->b_column, NATIVE_BF16_ROW);
        _tile_dpbf16ps(0, 4, 6);
        if (right)
            _tile_dpbf16ps(1, 4, 7);
        if (low)
            _tile_dpbf16ps(2, 5, 6);
        if (low && right)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, p->to[0], row);
    if (right)
        _tile_stored(1, p->to[0] + p->to_column, row);
    if (low)
        _tile_stored(2, p->to[1], row);
    if (low && right)
        _tile_stored(3, p->to[1] + p->to_column, row);
    MEMORY_IS_READ;
}

static void product(const native_bf16_product *p)
{
    if (p->a[1] && p->columns > 1)
        multiply(p, true, true);
    else if (p->a[1])
        multiply(p, true, false);
    else if (p->columns > 1)
        multiply(p, false, true);
    else
        multiply(p, false, false);
}

static const native_bf16_isa amx = {
    .name = "amx_bf16",
    .begin = begin,
    .end = end,
    .product = product,
    .finish = finish,
    .pack_rows = pack_rows,
    .pack_tile = pack_tile,
    .pack_columns = pack_columns,
    .pack_turned = pack_turned,
    .expand = expand,
};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC reset_options
#endif

const native_bf16_isa *native_find_bf16(const char *features)
{
    return native_find_level(features) >= NATIVE_LEVEL_AMX && native_gemm_amx_exists() ? &amx
                                                                                       : NULL;
}

#else

const native_bf16_isa *native_find_bf16(const char *features)
{
    (void)features;
    return NULL;
}

#endif

bool native_bf16_is_permitted(void)
{
    return native_gemm_amx_permit();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_amx.c: products by bfloat16 parts with AMX; gemm_split.h says what the parts are.
 *
 * A result of 32 x 32 takes four of the eight tile registers, two tiles of A and two of B the
 * others: four products of 16 cycles for at most four loads of 8. In f32x6 the parts follow each
 * other so that each step loads the tiles of one side only: 14 loads for 24 products. One
 * instruction sums 32 products apart before it adds them to the others, so there are fewer
 * roundings than in a strict product. Each block of K begins anew, as there.
 */
#include "gemm_isa.h"

#if NATIVE_AMX

#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((                                                                                \
        target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma"))),      \
    apply_to = function)
#else
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")
#endif

#include <immintrin.h>

#define NATIVE_HIGH_HALF 2
#include "gemm_split.h"

/* ---- packing ---- */

SPLIT_INLINE __mmask16 outside(__m512 x, int parts)
{
    const __m512i size = _mm512_and_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    const __m512i low = _mm512_set1_epi32((int)split_ranges[parts - 1].low);
    const __m512i high = _mm512_set1_epi32((int)split_ranges[parts - 1].high);
    /* One comparison without a sign for both ends: size - low >= high - low. */
    const __mmask16 bad =
        _mm512_cmpge_epu32_mask(_mm512_sub_epi32(size, low), _mm512_sub_epi32(high, low));
    return (__mmask16)(bad & _mm512_test_epi32_mask(size, size));
}

SPLIT_INLINE bool split_row(char *to, const float *from, const int parts)
{
    __m512 x = _mm512_loadu_ps(from), y = _mm512_loadu_ps(from + 16);
    const __mmask16 bad = outside(x, parts) | outside(y, parts);
    int p;

    for (p = 0; p < parts; p++) {
        const __m512i half = (__m512i)_mm512_cvtne2ps_pbh(y, x);
        const __m256i of_x = _mm512_castsi512_si256(half);
        const __m256i of_y = _mm512_extracti64x4_epi64(half, 1);
        _mm512_storeu_si512(to + p * STEP, half);
        x = _mm512_sub_ps(x,
                          _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(of_x), 16)));
        y = _mm512_sub_ps(y,
                          _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(of_y), 16)));
    }
    return bad != 0;
}

SPLIT_INLINE bool split_pair(char *to, const float *first, const float *second, const int parts)
{
    /* of x in the low halves, of y in the high ones */
    const __m512i order = _mm512_or_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        _mm512_slli_epi32(
            _mm512_setr_epi32(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31), 16));
    const __m512i high = _mm512_set1_epi32((int)0xffff0000u);
    __m512 x = _mm512_loadu_ps(first), y = _mm512_loadu_ps(second);
    const __mmask16 bad = outside(x, parts) | outside(y, parts);
    int p;

    for (p = 0; p < parts; p++) {
        const __m512i half = (__m512i)_mm512_cvtne2ps_pbh(y, x);
        const __m512i both = _mm512_permutexvar_epi16(order, half);
        _mm512_storeu_si512(to + p * STEP, both);
        x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)));
        y = _mm512_sub_ps(y, _mm512_castsi512_ps(_mm512_and_epi32(both, high)));
    }
    return bad != 0;
}

/* ---- tiles ---- */

/* Compilers do not know all memory that the tile instructions read and write. */
#define MEMORY_IS_READ __asm__ volatile("" ::: "memory")

/* The layout of the operand of ldtilecfg. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

static void begin_tiles(void)
{
    tile_config config;
    int i;

    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (i = 0; i < 8; i++) {
        config.row_bytes[i] = TILE / HALF;
        config.rows[i] = HALF;
    }
    MEMORY_IS_READ;
    _tile_loadconfig(&config);
}

static void end_tiles(void)
{
    _tile_release();
}

#define SPLIT_ROW   split_row
#define SPLIT_PAIR  split_pair
#define SPLIT_BEGIN begin_tiles
#define SPLIT_END   end_tiles
#include "gemm_split.h"

/* Registers: 0 1 2 3 the result, row by row; 4 5 rows of A; 6 7 columns of B. */
#define LOAD_A(part)                                                                               \
    do {                                                                                           \
        _tile_loadd(4, a + (part)*STEP, TILE / HALF);                                              \
        if (low)                                                                                   \
            _tile_loadd(5, a + (part)*STEP + TILE, TILE / HALF);                                   \
    } while (0)
#define LOAD_B(part)                                                                               \
    do {                                                                                           \
        _tile_loadd(6, b + (part)*STEP, TILE / HALF);                                              \
        if (right)                                                                                 \
            _tile_loadd(7, b + (part)*STEP + TILE, TILE / HALF);                                   \
    } while (0)
#define MULTIPLY                                                                                   \
    do {                                                                                           \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        if (right)                                                                                 \
            _tile_dpbf16ps(1, 4, 7);                                                               \
        if (low)                                                                                   \
            _tile_dpbf16ps(2, 5, 6);                                                               \
        if (low && right)                                                                          \
            _tile_dpbf16ps(3, 5, 7);                                                               \
    } while (0)

/* Lines of the tiles of B that come next: they are in the second cache. */
#define FETCH                                                                                      \
    do {                                                                                           \
        int fetched;                                                                               \
        for (fetched = 0; fetched < 16; fetched++, ahead += 64)                                    \
            __builtin_prefetch(ahead, 0, 3);                                                       \
    } while (0)

/* The order of products is that of gemm_split.c. */
SPLIT_INLINE void multiply_parts(const char *a, const char *b, const int parts, const bool low,
                                 const bool right)
{
    const char *ahead = b + parts * STEP;

    LOAD_A(0);
    LOAD_B(parts - 1);
    FETCH;
    MULTIPLY;
    if (parts == 1)
        return;
    LOAD_B(0);
    FETCH;
    MULTIPLY;
    LOAD_A(parts - 1);
    FETCH;
    MULTIPLY;
    if (parts == 2)
        return;
    LOAD_A(1);
    FETCH;
    MULTIPLY;
    LOAD_B(1);
    FETCH;
    MULTIPLY;
    LOAD_A(0);
    FETCH;
    MULTIPLY;
}

SPLIT_INLINE void fetch_next(const native_gemm_tile *t, int step, native_prefetch *next)
{
    int i;

    for (i = 0; i < next->n; i++) {
        __builtin_prefetch(next->at + i * next->step, 0, 2);
        __builtin_prefetch(next->at + i * next->step + 64, 0, 2);
    }
    next->at += 128;
    if (t->next_c && step < HALF)
        for (i = 2 * step; i < 2 * step + 2; i++) {
            __builtin_prefetch(t->next_c + i * t->ldc, 1, 2);
            __builtin_prefetch(t->next_c + i * t->ldc + 16, 1, 2);
            __builtin_prefetch(t->next_c + i * t->ldc + 31, 1, 2);
        }
}

/* C[rows, cols] (+)= the sums of a block of K. */
SPLIT_INLINE void put_sums(const native_gemm_tile *t, const float *sums)
{
    const int left = t->cols < HALF ? t->cols : HALF, right = t->cols - left;
    const __mmask16 masks[2] = {(__mmask16)((1u << left) - 1), (__mmask16)((1u << right) - 1)};
    int i, j;

    for (i = 0; i < t->rows; i++)
        for (j = 0; j < 2; j++) {
            float *c = t->c + i * t->ldc + j * HALF;
            __m512 x = _mm512_loadu_ps(sums + i * BLOCK + j * HALF);
            if (t->accumulate)
                x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(masks[j], c));
            _mm512_mask_storeu_ps(c, masks[j], x);
        }
}

SPLIT_INLINE void amx_tile_of(const native_gemm_tile *t, const int parts, const bool low,
                              const bool right)
{
    const char *a = t->a, *b = t->b;
    float sums[BLOCK * BLOCK] __attribute__((aligned(64)));
    int64_t ldc = t->ldc, steps = (t->k + BLOCK - 1) / BLOCK, k;
    native_prefetch next = t->next_a;
    const bool apart = t->accumulate || t->rows % HALF != 0 || t->cols % HALF != 0;
    float *c = t->c;
    size_t step;

    if (apart) {
        c = sums;
        ldc = BLOCK;
    }
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    MEMORY_IS_READ;
    for (k = 0; k < steps; k++, a += parts * STEP, b += parts * STEP) {
        fetch_next(t, (int)k, &next);
        multiply_parts(a, b, parts, low, right);
    }
    step = (size_t)ldc * sizeof(float);
    _tile_stored(0, c, step);
    if (right)
        _tile_stored(1, c + HALF, step);
    if (low)
        _tile_stored(2, c + HALF * ldc, step);
    if (low && right)
        _tile_stored(3, c + HALF * ldc + HALF, step);
    MEMORY_IS_READ;
    if (apart)
        put_sums(t, sums);
}

SPLIT_INLINE void amx_tile(const native_gemm_tile *t, const int parts)
{
    if (t->rows > HALF && t->cols > HALF)
        amx_tile_of(t, parts, true, true);
    else if (t->rows > HALF)
        amx_tile_of(t, parts, true, false);
    else if (t->cols > HALF)
        amx_tile_of(t, parts, false, true);
    else
        amx_tile_of(t, parts, false, false);
}

static void tile_f32x6(const native_gemm_tile *t)
{
    amx_tile(t, 3);
}

static void tile_f32x3(const native_gemm_tile *t)
{
    amx_tile(t, 2);
}

static void tile_bf16(const native_gemm_tile *t)
{
    amx_tile(t, 1);
}

const native_gemm_isa native_gemm_amx[3] = {
    SPLIT_ISA("amx f32x6", 3, 512, tile_f32x6),
    SPLIT_ISA("amx f32x3", 2, 512, tile_f32x3),
    SPLIT_ISA("amx bf16", 1, 1024, tile_bf16),
};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC reset_options
#endif

/* ---- the processor and the system ---- */

bool native_gemm_amx_exists(void)
{
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AVX512_BF16 = 1 << 5 };
    enum { UNKNOWN, THERE, MISSING };
    static atomic_int answer; /* a virtual machine takes 10 us for each cpuid */
    int known = atomic_load(&answer);
    unsigned a, b, c, d, has;

    if (known == UNKNOWN) {
        __cpuid_count(7, 0, a, b, c, d); /* there, for whoever asks has AVX-512 */
        has = d;
        __cpuid_count(7, 1, a, b, c, d); /* zeros where it is not */
        known = (has & AMX_BF16) && (has & AMX_TILE) && (a & AVX512_BF16) ? THERE : MISSING;
        atomic_store(&answer, known);
    }
    return known == THERE;
}

/* The state of the tiles is large, so that the system wants to be asked: once for a process. */
bool native_gemm_amx_permit(void)
{
    enum { REQUEST_STATE = 0x1023, TILE_DATA = 18 };
    enum { UNKNOWN, GRANTED, REFUSED };
    static atomic_int answer;
    int known = atomic_load(&answer);

    if (known == UNKNOWN) {
        known = syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0 ? GRANTED : REFUSED;
        atomic_store(&answer, known);
    }
    return known == GRANTED;
}

#else

bool native_gemm_amx_exists(void)
{
    return false;
}

bool native_gemm_amx_permit(void)
{
    return false;
}

const native_gemm_isa native_gemm_amx[3];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_split.c: products by bfloat16 parts without an instruction for them: the same parts, the
 * same sums in the same order, element by element. Far slower than a strict product; it is there so
 * that what the modes compute can be tested on every machine.
 */
#include "gemm_isa.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_HIGH_HALF 0
#else
#define NATIVE_HIGH_HALF 2
#endif

#include "gemm_split.h"

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What is below the normal numbers counts as zero. */
static float flushed(float x)
{
    const uint32_t bits = bits_of(x);
    return (bits & 0x7f800000u) ? x : float_of(bits & 0x80000000u);
}

/* The nearest bfloat16, ties to even, as a float. */
static float rounded(float x)
{
    const uint32_t bits = bits_of(flushed(x));
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return x;
    return float_of((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

static bool split_one(char *to, float x, int parts)
{
    const struct split_range *range = &split_ranges[parts - 1];
    const uint32_t size = bits_of(x) & 0x7fffffffu;
    int p;

    for (p = 0; p < parts; p++) {
        const float part = rounded(x);
        const uint16_t half = (uint16_t)(bits_of(part) >> 16);
        memcpy(to + p * STEP, &half, sizeof half);
        x -= part;
    }
    return size != 0 && (size < range->low || size >= range->high);
}

static bool split_row(char *to, const float *x, int parts)
{
    bool bad = false;
    int i;

    for (i = 0; i < BLOCK; i++)
        bad |= split_one(to + 2 * i, x[i], parts);
    return bad;
}

static bool split_pair(char *to, const float *x, const float *y, int parts)
{
    bool bad = false;
    int i;

    for (i = 0; i < HALF; i++) {
        bad |= split_one(to + 4 * i, x[i], parts);
        bad |= split_one(to + 4 * i + 2, y[i], parts);
    }
    return bad;
}

#define SPLIT_ROW   split_row
#define SPLIT_PAIR  split_pair
#define SPLIT_BEGIN NULL
#define SPLIT_END   NULL
#include "gemm_split.h"

static float part_at(const char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return flushed(float_of((uint32_t)half << 16));
}

/*
 * c += a x b for one element and 32 k: even and odd k apart, then both to c, each sum rounded to
 * float32 and flushed. a and b are at their row and column of a tile.
 */
static float dot(float c, const char *a, const char *b)
{
    float sums[2] = {0.0f, 0.0f};
    int k;

    for (k = 0; k < BLOCK; k++)
        sums[k % 2] = flushed(sums[k % 2] +
                              part_at(a + 2 * k) * part_at(b + k / 2 * (TILE / HALF) + k % 2 * 2));
    return flushed(c + flushed(sums[0] + sums[1]));
}

/* The parts of A and B that are multiplied, in this order. */
static const unsigned char orders[3][6][2] = {
    {{0, 0}},
    {{0, 1}, {0, 0}, {1, 0}},
    {{0, 2}, {0, 0}, {2, 0}, {1, 0}, {1, 1}, {0, 1}},
};
static const int n_products[3] = {1, 3, 6};

static void split_tile(const native_gemm_tile *t, int parts)
{
    int64_t k;
    int i, j, q;

    for (i = 0; i < t->rows; i++)
        for (j = 0; j < t->cols; j++) {
            float *c = t->c + i * t->ldc + j, sum = 0.0f;
            for (k = 0; k < t->k; k += BLOCK) {
                const char *a = (const char *)t->a + split_bytes(k, parts) + i * (TILE / HALF);
                const char *b =
                    (const char *)t->b + split_bytes(k, parts) + j / HALF * TILE + j % HALF * 4;
                for (q = 0; q < n_products[parts - 1]; q++) {
                    const unsigned char *pair = orders[parts - 1][q];
                    sum = dot(sum, a + pair[0] * STEP, b + pair[1] * STEP);
                }
            }
            *c = t->accumulate ? sum + *c : sum;
        }
}

static void tile_f32x6(const native_gemm_tile *t)
{
    split_tile(t, 3);
}

static void tile_f32x3(const native_gemm_tile *t)
{
    split_tile(t, 2);
}

static void tile_bf16(const native_gemm_tile *t)
{
    split_tile(t, 1);
}

const native_gemm_isa native_gemm_emulated[3] = {
    SPLIT_ISA("emulated f32x6", 3, 512, tile_f32x6),
    SPLIT_ISA("emulated f32x3", 2, 512, tile_f32x3),
    SPLIT_ISA("emulated bf16", 1, 1024, tile_bf16),
};

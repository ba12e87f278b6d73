/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_tiles.h: the inner loops of direct.h, in C with vector types. It is included once by the
 * file of each instruction set, which defines LANES, REGISTERS, ISA_NAME, ISA_NEEDS and ISA_TABLE
 * before and is compiled with the flags for it.
 *
 * A tile keeps P x V sums in registers. For each of the k floats of a row it loads V vectors of
 * weights and multiplies them with P broadcast floats: P * V fused products for P + V loads. With
 * 14 x 2 or 6 x 4 sums of AVX-512 that leaves the two multipliers busy; measured on a Sapphire
 * Rapids core with a roof of 158 GFLOP/s: 130 to 143 for 3 x 3 and 1 x 1 layers of 32 to 512
 * channels.
 */
#if defined(__AVX__)
#include <immintrin.h>
#endif
#include <string.h>

#include "direct_isa.h"

/* The vector types are an extension that gcc and clang share. */
typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float vec_loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t vec_bits __attribute__((vector_size(LANES * 4)));

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE vec load(const float *p)
{
    return *(const vec_loose *)p;
}

INLINE void store(float *p, vec v, int64_t n)
{
    if (n >= LANES)
        *(vec_loose *)p = v;
    else if (n > 0)
        memcpy(p, &v, (size_t)n * sizeof *p);
}

INLINE vec load_part(const float *p, int64_t n)
{
    vec v = {0};
    if (n >= LANES)
        return load(p);
    if (n > 0)
        memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

/*
 * MINPS and MAXPS give the second operand if one is NaN. Elsewhere comparisons select bits.
 */
#if LANES == 16 && defined(__AVX512F__)
#define LESSER(a, b)  (vec) _mm512_min_ps((__m512)(a), (__m512)(b))
#define GREATER(a, b) (vec) _mm512_max_ps((__m512)(a), (__m512)(b))
#elif LANES == 8 && defined(__AVX__)
#define LESSER(a, b)  (vec) _mm256_min_ps((__m256)(a), (__m256)(b))
#define GREATER(a, b) (vec) _mm256_max_ps((__m256)(a), (__m256)(b))
#else
#define LESSER(a, b)  select_bits((a) < (b), a, b)
#define GREATER(a, b) select_bits((a) > (b), a, b)
#endif

INLINE vec select_bits(vec_bits mask, vec yes, vec no)
{
    return (vec)((mask & (vec_bits)yes) | (~mask & (vec_bits)no));
}

/* NaN in v stays. */
INLINE vec clamp(vec v, vec low, vec high)
{
    v = GREATER(low, v);
    return LESSER(high, v);
}

/* NaN in either wins. */
INLINE vec larger(vec a, vec b)
{
    return select_bits(a != a, a, GREATER(a, b));
}

INLINE vec splat(float s)
{
    vec v = {0};
    return v + s;
}

/* The rows of a tile, pooled in groups of t->window. The clamp commutes with the maximum. */
static void finish_pooled(const tfr_dnn_tile *t, int n, int n_vectors, const vec *sums)
{
    const vec low = splat(t->low), high = splat(t->high);
    for (int o = 0; (o + 1) * t->window <= n; o++)
        for (int v = 0; v < n_vectors; v++) {
            const vec *from = sums + o * t->window * n_vectors + v;
            vec best = *from;
            for (int64_t p = 1; p < t->window; p++)
                best = larger(best, from[p * n_vectors]);
            store(t->y + o * t->y_row + v * LANES, clamp(best, low, high), t->columns - v * LANES);
        }
}

/* The same for windows of four, in registers. */
INLINE void finish_fours(const tfr_dnn_tile *t, const int P, const int V, const vec *sums)
{
    const vec low = splat(t->low), high = splat(t->high);
    UNROLL for (int o = 0; o < P / 4; o++)
    {
        UNROLL for (int v = 0; v < V; v++)
        {
            const vec *s = sums + o * 4 * V + v;
            const vec best = larger(larger(s[0], s[V]), larger(s[2 * V], s[3 * V]));
            store(t->y + o * t->y_row + v * LANES, clamp(best, low, high), t->columns - v * LANES);
        }
    }
}

/* full: all V vectors are stored whole. */
INLINE void finish_rows(const tfr_dnn_tile *t, const int P, const int V, const int full, vec *sums)
{
    const vec low = splat(t->low), high = splat(t->high);
    UNROLL for (int p = 0; p < P; p++)
    {
        UNROLL for (int v = 0; v < V; v++)
        {
            const int64_t n = full ? LANES : t->columns - v * LANES;
            vec s = sums[p * V + v];
            if (t->residual)
                s += load_part(t->residual + p * t->y_row + v * LANES, n);
            store(t->y + p * t->y_row + v * LANES, clamp(s, low, high), n);
        }
    }
}

INLINE void finish(const tfr_dnn_tile *t, const int P, const int V, vec *sums)
{
    if (t->window == 4 && P % 4 == 0) {
        finish_fours(t, P, V, sums);
    } else if (t->window > 1) {
        /* A copy: what is indexed by a variable cannot stay in registers. */
        vec copy[TFR_DNN_MAX_POSITIONS * TFR_DNN_MAX_VECTORS];
        UNROLL for (int p = 0; p < P; p++)
        {
            UNROLL for (int v = 0; v < V; v++) copy[p * V + v] =
                t->residual ? sums[p * V + v] + load_part(t->residual + p * t->y_row + v * LANES,
                                                          t->columns - v * LANES)
                            : sums[p * V + v];
        }
        finish_pooled(t, P, V, copy);
    } else if (t->columns >= V * LANES) {
        finish_rows(t, P, V, 1, sums);
    } else {
        finish_rows(t, P, V, 0, sums);
    }
}

INLINE void products(const float *const *rows, int64_t i, const float *w, const int P, const int V,
                     vec *sums)
{
    vec b[TFR_DNN_MAX_VECTORS];
    UNROLL for (int v = 0; v < V; v++) b[v] = load(w + v * LANES);
    UNROLL for (int p = 0; p < P; p++)
    {
        const float s = rows[p][i];
        UNROLL for (int v = 0; v < V; v++) sums[p * V + v] += s * b[v];
    }
}

INLINE void tile(const tfr_dnn_tile *t, const int P, const int V)
{
    vec sums[TFR_DNN_MAX_POSITIONS * TFR_DNN_MAX_VECTORS];
    const float *w = t->weights;
    const int32_t *offsets = t->offsets;
    const int64_t k = t->k;

    UNROLL for (int p = 0; p < P; p++) UNROLL for (int v = 0; v < V; v++) sums[p * V + v] =
        load(t->bias + v * LANES);
    for (int64_t tap = 0; tap < t->taps; tap++, offsets += P) {
        const float *rows[TFR_DNN_MAX_POSITIONS];
        int64_t i = 0;
        UNROLL for (int p = 0; p < P; p++) rows[p] = offsets[p] < 0 ? t->zeros : t->x + offsets[p];
        for (; i + 4 <= k; i += 4, w += 4 * V * LANES) {
            products(rows, i, w, P, V, sums);
            products(rows, i + 1, w + V * LANES, P, V, sums);
            products(rows, i + 2, w + 2 * V * LANES, P, V, sums);
            products(rows, i + 3, w + 3 * V * LANES, P, V, sums);
        }
        for (; i < k; i++, w += V * LANES)
            products(rows, i, w, P, V, sums);
    }
    finish(t, P, V, sums);
}

/* Each channel by itself, so vectors run over the channels of the rows. */
INLINE void depthwise_block(const tfr_dnn_tile *t, const float *const *rows, const int P,
                            const int V, int64_t c, int64_t n)
{
    vec sums[TFR_DNN_MAX_POSITIONS * 2];
    tfr_dnn_tile part = *t;
    const float *w = t->weights + c;
    const int64_t w_row = (t->columns + LANES - 1) / LANES * LANES;

    UNROLL for (int p = 0; p < P; p++) UNROLL for (int v = 0; v < V; v++) sums[p * V + v] =
        load(t->bias + c + v * LANES);
    for (int64_t tap = 0; tap < t->taps; tap++, w += w_row, rows += P) {
        UNROLL for (int v = 0; v < V; v++)
        {
            const vec b = load(w + v * LANES);
            UNROLL for (int p = 0; p < P; p++) sums[p * V + v] +=
                b * load_part(rows[p] + c + v * LANES, n - v * LANES);
        }
    }
    part.y += c;
    if (part.residual)
        part.residual += c;
    part.columns = n;
    finish(&part, P, V, sums);
}

enum { MAX_TAPS = 64 }; /* of a depthwise window */

INLINE void depthwise(const tfr_dnn_tile *t, const int P)
{
    const float *rows[MAX_TAPS * TFR_DNN_MAX_POSITIONS];
    int64_t c = 0;

    for (int64_t i = 0; i < t->taps * P; i++)
        rows[i] = t->offsets[i] < 0 ? t->zeros : t->x + t->offsets[i];
    for (; c + 2 * LANES <= t->columns; c += 2 * LANES)
        depthwise_block(t, rows, P, 2, c, 2 * LANES);
    for (; c < t->columns; c += LANES)
        depthwise_block(t, rows, P, 1, c, t->columns - c);
}

static void gather(const float *const *rows, int64_t n, int64_t c, int max, float scale, float *y)
{
    for (int64_t i = 0; i < c; i += LANES) {
        vec v = n ? load_part(rows[0] + i, c - i) : splat(max ? -__builtin_inff() : 0);
        for (int64_t r = 1; r < n; r++) {
            const vec x = load_part(rows[r] + i, c - i);
            v = max ? larger(v, x) : v + x;
        }
        store(y + i, max ? v : v * scale, c - i);
    }
}

/* ---- the table ---- */

#define UP_TO_6(X, V)  X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#define UP_TO_8(X, V)  UP_TO_6(X, V) X(7, V) X(8, V)
#define UP_TO_14(X, V) UP_TO_8(X, V) X(9, V) X(10, V) X(11, V) X(12, V) X(13, V) X(14, V)

#define TILE(P, V)                                                                                 \
    static void tile_##P##_##V(const tfr_dnn_tile *t)                                              \
    {                                                                                              \
        tile(t, P, V);                                                                             \
    }
#define TILE_ROW(P, V) tile_##P##_##V,
#define DEPTHWISE(P, V)                                                                            \
    static void depthwise_##P(const tfr_dnn_tile *t)                                               \
    {                                                                                              \
        depthwise(t, P);                                                                           \
    }
#define DEPTHWISE_ROW(P, V) depthwise_##P,

UP_TO_14(TILE, 1)
#if REGISTERS >= 32
UP_TO_14(TILE, 2)
UP_TO_8(TILE, 3)
UP_TO_6(TILE, 4)
UP_TO_8(DEPTHWISE, 2)
#else
UP_TO_6(TILE, 2)
UP_TO_6(DEPTHWISE, 2)
#endif

const tfr_dnn_isa ISA_TABLE = {
    .name = ISA_NAME,
    .needs = ISA_NEEDS,
    .lanes = LANES,
    .tiles =
        {
            {UP_TO_14(TILE_ROW, 1)},
#if REGISTERS >= 32
            {UP_TO_14(TILE_ROW, 2)},
            {UP_TO_8(TILE_ROW, 3)},
            {UP_TO_6(TILE_ROW, 4)},
        },
    .depthwise = {UP_TO_8(DEPTHWISE_ROW, 2)},
#else
            {UP_TO_6(TILE_ROW, 2)},
        },
    .depthwise = {UP_TO_6(DEPTHWISE_ROW, 2)},
#endif
    .gather = gather,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_few_rows.h: products of few rows with weights that come from memory; a part of isa_kernels.h.
 *
 * Such a product is as fast as its weights arrive. Each block of columns lies on its own, all terms
 * of it one after the other, and a tile reads as many blocks at once as its sums leave registers
 * for: a core fetches ahead within each of these streams, and with one alone it does not keep
 * enough lines on their way. Software prefetches only take the places of those: on a Zen 3 core one
 * stream with them brings 16 to 17 GB/s, eight streams without 24 to 27. Tiles of five rows and
 * more compute long enough to be late with their loads, and do fetch.
 *
 * Weights of float16 and bfloat16 stay so, half the bytes, and become float32 as they are loaded.
 */

enum { FEW_ROWS_STEP = 4, FEW_ROWS_AHEAD = 4096, FEW_ROWS_LINE = 64 }; /* terms at a time, bytes */

/* Each element is one sum over the terms in their order, as in all tiles. What there is less of, an
 * element of each row or a vector of each block, stays in registers meanwhile. */
#define FEW_ROWS_TERM(LOAD, B, P, k)                                                               \
    {                                                                                              \
        vec x[P], y[B];                                                                            \
        if (P <= B) {                                                                              \
            UNROLL for (int i = 0; i < P; i++) x[i] = V_ALL(from[i][k]);                           \
            UNROLL for (int b = 0; b < B; b++)                                                     \
            {                                                                                      \
                y[b] = LOAD(weights + b * apart);                                                  \
                UNROLL for (int i = 0; i < P; i++) sum[b][i] = V_FMA(y[b], x[i], sum[b][i]);       \
            }                                                                                      \
        } else {                                                                                   \
            UNROLL for (int b = 0; b < B; b++) y[b] = LOAD(weights + b * apart);                   \
            UNROLL for (int i = 0; i < P; i++)                                                     \
            {                                                                                      \
                x[i] = V_ALL(from[i][k]);                                                          \
                UNROLL for (int b = 0; b < B; b++) sum[b][i] = V_FMA(y[b], x[i], sum[b][i]);       \
            }                                                                                      \
        }                                                                                          \
        weights += LANES;                                                                          \
    }

#define FEW_ROWS_TILE(NAME, TYPE, LOAD, B, P)                                                      \
    static void NAME##_##B##_##P(const native_tile *a)                                             \
    {                                                                                              \
        const int64_t apart = a->weights_step;                                                     \
        const TYPE *weights = (const TYPE *)(const void *)a->weights;                              \
        const float *from[P];                                                                      \
        TILE_BEGIN(B, P)                                                                           \
        (void)g, (void)w;                                                                          \
        UNROLL for (int i = 0; i < P; i++) from[i] = a->source + a->offsets[i];                    \
        for (t = 0; t + FEW_ROWS_STEP <= a->n_taps; t += FEW_ROWS_STEP) {                          \
            if (P > 4)                                                                             \
                UNROLL for (int b = 0; b < B; b++) for (c = 0; c < FEW_ROWS_STEP * LANES;          \
                                                        c += FEW_ROWS_LINE / (int)sizeof(TYPE))    \
                    __builtin_prefetch((const char *)(weights + b * apart + c) + FEW_ROWS_AHEAD,   \
                                       0, 2);                                                      \
            UNROLL for (c = 0; c < FEW_ROWS_STEP; c++) FEW_ROWS_TERM(LOAD, B, P, t + c)            \
        }                                                                                          \
        for (; t < a->n_taps; t++)                                                                 \
            FEW_ROWS_TERM(LOAD, B, P, t)                                                           \
        TILE_END(B, P)                                                                             \
    }

/* What fits 16 registers. */
#define FEW_ROWS_SIZES(X)                                                                          \
    X(1, 1)                                                                                        \
    X(2, 1)                                                                                        \
    X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2)        \
        X(6, 2) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(1, 4) X(2, 4) X(3, 4) X(1, 5) X(2, 5) X(1, 6)    \
            X(2, 6)
#define FEW_ROWS_BLOCKS                                                                            \
    {                                                                                              \
        0, 8, 6, 4, 3, 2, 2                                                                        \
    }

#define FEW_ROWS_F32(B, P)  FEW_ROWS_TILE(few_rows_f32, float, V_LOAD, B, P)
#define FEW_ROWS_F16(B, P)  FEW_ROWS_TILE(few_rows_f16, uint16_t, V_LOAD_F16, B, P)
#define FEW_ROWS_BF16(B, P) FEW_ROWS_TILE(few_rows_bf16, uint16_t, V_LOAD_BF16, B, P)

FEW_ROWS_SIZES(FEW_ROWS_F32)
FEW_ROWS_SIZES(FEW_ROWS_F16)
FEW_ROWS_SIZES(FEW_ROWS_BF16)

#define ROW_FEW_ROWS_F32(B, P)  [P][B] = few_rows_f32_##B##_##P,
#define ROW_FEW_ROWS_F16(B, P)  [P][B] = few_rows_f16_##B##_##P,
#define ROW_FEW_ROWS_BF16(B, P) [P][B] = few_rows_bf16_##B##_##P,

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_transpose.h: matrices are turned a square of vectors at a time, in registers; a part of
 * isa_kernels.h.
 */

#if LANES == 16
#define PAIRS(unpack, x, y)                                                                        \
    _mm512_castpd_ps(_mm512_unpack##unpack##_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)))

/* First inside of quarters: quarter q of r[4 i + j] has column 4 q + j of rows 4 i up to 4 i + 3.
 */
static inline void turn_square(vec *r)
{
    vec t[16], even, odd, low, high;
    int i, j;

    UNROLL for (i = 0; i < 8; i++)
    {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    UNROLL for (i = 0; i < 16; i += 4)
    {
        r[i] = PAIRS(lo, t[i], t[i + 2]);
        r[i + 1] = PAIRS(hi, t[i], t[i + 2]);
        r[i + 2] = PAIRS(lo, t[i + 1], t[i + 3]);
        r[i + 3] = PAIRS(hi, t[i + 1], t[i + 3]);
    }
    UNROLL for (j = 0; j < 4; j++)
    {
        even = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88);
        odd = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
        low = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
        high = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
        r[j] = _mm512_shuffle_f32x4(even, low, 0x88);
        r[8 + j] = _mm512_shuffle_f32x4(even, low, 0xdd);
        r[4 + j] = _mm512_shuffle_f32x4(odd, high, 0x88);
        r[12 + j] = _mm512_shuffle_f32x4(odd, high, 0xdd);
    }
}
#undef PAIRS
#elif LANES == 8
#define PAIRS(unpack, x, y)                                                                        \
    _mm256_castpd_ps(_mm256_unpack##unpack##_pd(_mm256_castps_pd(x), _mm256_castps_pd(y)))

/* First inside of halves: half h of r[4 i + j] has column 4 h + j of rows 4 i up to 4 i + 3. */
static inline void turn_square(vec *r)
{
    vec t[8], low;
    int i, j;

    UNROLL for (i = 0; i < 4; i++)
    {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    UNROLL for (i = 0; i < 8; i += 4)
    {
        r[i] = PAIRS(lo, t[i], t[i + 2]);
        r[i + 1] = PAIRS(hi, t[i], t[i + 2]);
        r[i + 2] = PAIRS(lo, t[i + 1], t[i + 3]);
        r[i + 3] = PAIRS(hi, t[i + 1], t[i + 3]);
    }
    UNROLL for (j = 0; j < 4; j++)
    {
        low = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
        r[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
        r[j] = low;
    }
}
#undef PAIRS
#else
static inline void turn_square(vec *r)
{
    vec t[LANES];
    int i, j;

    for (i = 0; i < LANES; i++) {
        for (j = 0; j < LANES; j++)
            t[j][i] = r[i][j];
    }
    memcpy(r, t, sizeof t);
}
#endif

/* A square of which some rows and columns are there. */
static void transpose_some(const float *from, int64_t from_step, float *to, int64_t to_step,
                           int64_t rows, int64_t columns)
{
    vec r[LANES];
    int64_t i;

    for (i = 0; i < LANES; i++)
        r[i] = i >= rows          ? V_ZERO()
               : columns == LANES ? V_LOAD(from + i * from_step)
                                  : V_LOAD_SOME(from + i * from_step, columns);
    turn_square(r);
    for (i = 0; i < columns; i++) {
        if (rows == LANES)
            V_STORE(to + i * to_step, r[i]);
        else
            V_STORE_SOME(to + i * to_step, rows, r[i]);
    }
}

/* Rows of a few numbers, the channels of pictures: a square would be empty for the most part. */
static inline __attribute__((always_inline)) void transpose_few(const float *from,
                                                                int64_t from_step, float *to,
                                                                int64_t to_step, int64_t rows,
                                                                int columns)
{
    int64_t i;
    int j;

    for (i = 0; i < rows; i++) {
        UNROLL for (j = 0; j < columns; j++) to[j * to_step + i] = from[i * from_step + j];
    }
}

static void transpose(const float *from, int64_t from_step, float *to, int64_t to_step,
                      int64_t rows, int64_t columns)
{
    int64_t i, j;

    if (columns == 2)
        transpose_few(from, from_step, to, to_step, rows, 2);
    if (columns == 3)
        transpose_few(from, from_step, to, to_step, rows, 3);
    if (columns == 2 || columns == 3)
        return;
    for (i = 0; i < rows; i += LANES) {
        const int64_t n = rows - i < LANES ? rows - i : LANES;
        for (j = 0; j < columns; j += LANES)
            transpose_some(from + i * from_step + j, from_step, to + j * to_step + i, to_step, n,
                           columns - j < LANES ? columns - j : LANES);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_winograd.h: the transforms of Winograd's convolutions F(2 x 2, 3 x 3), F(4 x 4, 3 x 3) and
 * F(3 x 3, 3 x 3) over vectors of channels, and the products between them; a part of isa_kernels.h.
 *
 * After A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016. The points
 * of F(2 x 2) are 0, 1, -1 and infinity, those of F(4 x 4) 0, A, -A, B, -B and infinity for A = 5/8
 * and B = 3/2, those of F(3 x 3) 0, -1, 1/2, 2 and infinity: all numbers of the transforms of the
 * source are exact, and errors of F(4 x 4) are less than half of those of the points 1 and 2.
 */

/* ---- straight tiles ---- */

/*
 * Numbers of neighbours lie at fixed distances, so that one pointer serves all. What comes next is
 * fetched, some planes ahead or, of few planes, the next tile's: if another thread has made it,
 * each line takes a hundred cycles, and no processor foresees steps of a plane.
 */
#define STRAIGHT_TERM(B, P)                                                                        \
    {                                                                                              \
        vec x[B];                                                                                  \
        UNROLL for (int b = 0; b < B; b++) x[b] = V_LOAD(w + b * LANES);                           \
        w += step;                                                                                 \
        UNROLL for (int i = 0; i < P; i++)                                                         \
        {                                                                                          \
            vec s = V_ALL(plane[i * LANES + c]);                                                   \
            UNROLL for (int b = 0; b < B; b++) sum[b][i] = V_FMA(x[b], s, sum[b][i]);              \
        }                                                                                          \
    }

#define AHEAD_PLANES 4
#define NEXT_LINE    (64 / (int)sizeof(float) >= LANES ? 64 / (int)sizeof(float) / LANES : 1)
#define STRAIGHT_TILE(B, P)                                                                        \
    static void straight_##B##_##P(const native_tile *a)                                           \
    {                                                                                              \
        const float *plane = a->source;                                                            \
        const char *ahead = a->ahead;                                                              \
        const int64_t step = a->weights_step;                                                      \
        const int64_t next =                                                                       \
            a->n_groups > 2 * AHEAD_PLANES ? AHEAD_PLANES * a->plane : (int64_t)P * LANES;         \
        const bool is_dense = step == B * LANES;                                                   \
        TILE_BEGIN(B, P)                                                                           \
        (void)t;                                                                                   \
        for (g = 0; g < a->n_groups; g++, plane += a->plane) {                                     \
            for (c = 0; c < a->ahead_bytes; c += 64)                                               \
                __builtin_prefetch(ahead + c, 0, 2);                                               \
            ahead += a->ahead_bytes;                                                               \
            UNROLL for (int i = 0; i < P; i += NEXT_LINE)                                          \
                __builtin_prefetch(plane + next + i * LANES, 0, 3);                                \
            __builtin_prefetch(plane + next + P * LANES - 1, 0, 3);                                \
            if (is_dense && SUM_TAP(B, P, w, plane, LANES, &sum[0][0])) {                          \
                w += LANES * step;                                                                 \
                continue;                                                                          \
            }                                                                                      \
            _Pragma("GCC unroll 4") for (c = 0; c < LANES; c++) STRAIGHT_TERM(B, P)                \
        }                                                                                          \
        TILE_END(B, P)                                                                             \
    }

SIZES_1(STRAIGHT_TILE)
SIZES_2(STRAIGHT_TILE)
SIZES_3(STRAIGHT_TILE)
#ifdef SIZES_4
SIZES_4(STRAIGHT_TILE)
#endif

/* ---- lines: columns or rows of a tile ---- */

#define POINT_A 0.625f
#define POINT_B 1.5f
#define A_2     (POINT_A * POINT_A)
#define B_2     (POINT_B * POINT_B)

/* t = the transposed B times d */
#define SOURCE_LINE_4(d, t)                                                                        \
    {                                                                                              \
        vec even_a = V_FNMA(V_ALL(B_2), d[2], d[4]), odd_a = V_FNMA(V_ALL(B_2), d[1], d[3]);       \
        vec even_b = V_FNMA(V_ALL(A_2), d[2], d[4]), odd_b = V_FNMA(V_ALL(A_2), d[1], d[3]);       \
        t[0] = V_FMA(V_ALL(A_2 * B_2), d[0], V_FNMA(V_ALL(A_2 + B_2), d[2], d[4]));                \
        t[1] = V_FMA(V_ALL(POINT_A), odd_a, even_a);                                               \
        t[2] = V_FNMA(V_ALL(POINT_A), odd_a, even_a);                                              \
        t[3] = V_FMA(V_ALL(POINT_B), odd_b, even_b);                                               \
        t[4] = V_FNMA(V_ALL(POINT_B), odd_b, even_b);                                              \
        t[5] = V_FMA(V_ALL(A_2 * B_2), d[1], V_FNMA(V_ALL(A_2 + B_2), d[3], d[5]));                \
    }

/* y = the transposed A times m */
#define RESULT_LINE_4(m, y)                                                                        \
    {                                                                                              \
        vec sum_a = V_ADD(m[1], m[2]), less_a = V_SUB(m[1], m[2]);                                 \
        vec sum_b = V_ADD(m[3], m[4]), less_b = V_SUB(m[3], m[4]);                                 \
        y[0] = V_ADD(V_ADD(m[0], sum_a), sum_b);                                                   \
        y[1] = V_FMA(V_ALL(POINT_A), less_a, V_MUL(V_ALL(POINT_B), less_b));                       \
        y[2] = V_FMA(V_ALL(A_2), sum_a, V_MUL(V_ALL(B_2), sum_b));                                 \
        y[3] = V_FMA(V_ALL(A_2 * POINT_A), less_a, V_FMA(V_ALL(B_2 * POINT_B), less_b, m[5]));     \
    }

#define SOURCE_LINE_2(d, t)                                                                        \
    {                                                                                              \
        t[0] = V_SUB(d[0], d[2]);                                                                  \
        t[1] = V_ADD(d[1], d[2]);                                                                  \
        t[2] = V_SUB(d[2], d[1]);                                                                  \
        t[3] = V_SUB(d[3], d[1]);                                                                  \
    }

#define RESULT_LINE_2(m, y)                                                                        \
    {                                                                                              \
        y[0] = V_ADD(V_ADD(m[0], m[1]), m[2]);                                                     \
        y[1] = V_ADD(V_SUB(m[1], m[2]), m[3]);                                                     \
    }

#define SOURCE_LINE_3(d, t)                                                                        \
    {                                                                                              \
        t[0] = V_FNMA(V_ALL(1.5f), V_ADD(d[1], d[2]), V_ADD(d[0], d[3]));                          \
        t[1] = V_FNMA(V_ALL(2.5f), d[2], V_ADD(d[1], d[3]));                                       \
        t[2] = V_FNMA(V_ALL(2.0f), d[1], V_SUB(d[3], d[2]));                                       \
        t[3] = V_FMA(V_ALL(0.5f), V_SUB(d[2], d[1]), d[3]);                                        \
        t[4] = V_FNMA(V_ALL(1.5f), V_ADD(d[2], d[3]), V_ADD(d[1], d[4]));                          \
    }

#define RESULT_LINE_3(m, y)                                                                        \
    {                                                                                              \
        y[0] = V_ADD(V_ADD(m[0], m[1]), V_ADD(m[2], m[3]));                                        \
        y[1] = V_FMA(V_ALL(2.0f), m[3], V_SUB(V_MUL(V_ALL(0.5f), m[2]), m[1]));                    \
        y[2] = V_ADD(V_FMA(V_ALL(4.0f), m[3], V_FMA(V_ALL(0.25f), m[2], m[1])), m[4]);             \
    }

/* Backwards each has the other's place, and is transposed. */
#define SOURCE_LINE_3_BACK(d, t)                                                                   \
    {                                                                                              \
        t[0] = d[0];                                                                               \
        t[1] = V_ADD(V_SUB(d[0], d[1]), d[2]);                                                     \
        t[2] = V_FMA(V_ALL(0.25f), d[2], V_FMA(V_ALL(0.5f), d[1], d[0]));                          \
        t[3] = V_FMA(V_ALL(4.0f), d[2], V_FMA(V_ALL(2.0f), d[1], d[0]));                           \
        t[4] = d[2];                                                                               \
    }

#define RESULT_LINE_3_BACK(m, y)                                                                   \
    {                                                                                              \
        vec less = V_FNMA(V_ALL(1.5f), m[0], V_MUL(V_ALL(0.5f), m[3]));                            \
        y[0] = m[0];                                                                               \
        y[1] = V_FNMA(V_ALL(2.0f), m[2],                                                           \
                      V_ADD(V_FNMA(V_ALL(1.5f), m[0], V_FNMA(V_ALL(0.5f), m[3], m[1])), m[4]));    \
        y[2] = V_FNMA(V_ALL(1.5f), m[4], V_SUB(V_FNMA(V_ALL(2.5f), m[1], less), m[2]));            \
        y[3] = V_FNMA(V_ALL(1.5f), m[4], V_ADD(V_ADD(m[0], m[1]), V_ADD(m[2], m[3])));             \
        y[4] = m[4];                                                                               \
    }

/* ---- the end of the transform back ---- */

/* The maximum of a window, and which it was: the first of equals. */
static inline vec take_maximum(vec y[5][5], int i, int j, uint8_t *codes)
{
    vec best = y[i][j], code = V_ZERO();

    if (!codes)
        return v_greater_of_two(v_greater(y[i][j], y[i][j + 1]), y[i + 1][j], y[i + 1][j + 1]);
    UNROLL for (int k = 1; k < 4; k++)
    {
        const vec v = y[i + k / 2][j + k % 2];
        code = V_LESS(best, v, V_ALL((float)k), code);
        best = V_LESS(best, v, v, best);
    }
    store_codes(codes, code);
    return V_NAN_OF(y[i][j + 1], y[i + 1][j], V_NAN_OF(y[i + 1][j + 1], best, best));
}

static inline __attribute__((always_inline)) void store_pooled(const native_winograd_end *e,
                                                               vec y[5][5], int n)
{
    const vec bias = e->bias ? V_LOAD(e->bias) : V_ZERO();

    UNROLL for (int i = 0; i < n; i += 2)
    {
        UNROLL for (int j = 0; j < n; j += 2)
        {
            const int64_t at = i / 2 * e->row + j / 2 * LANES;
            vec v;
            if (i + 2 > e->rows || j + 2 > e->columns)
                continue;
            v = V_ADD(take_maximum(y, i, j, e->codes ? e->codes + at : NULL), bias);
            if (e->act.kind == NATIVE_ACT_CLIP)
                v = v_clip(v, e->act.a, e->act.b);
            V_STORE(e->to + at, v);
        }
    }
}

static void store_tile(const native_winograd_end *e, vec y[5][5])
{
    const vec bias = e->bias ? V_LOAD(e->bias) : V_ZERO();
    const vec low = V_ALL(e->act.kind == NATIVE_ACT_CLIP ? e->act.a : -INFINITY);
    const vec high = V_ALL(e->act.kind == NATIVE_ACT_CLIP ? e->act.b : INFINITY);
    int i, j;

    for (i = 0; i < e->rows; i++) {
        float *to = e->to + i * e->row;
        for (j = 0; j < e->columns; j++) {
            vec v = V_ADD(y[i][j], bias);
            if (e->residual)
                v = V_ADD(v, V_LOAD(e->residual + i * e->row + j * LANES));
            V_STORE(to + j * LANES, V_MIN(high, V_MAX(low, v)));
        }
        if (e->act.kind > NATIVE_ACT_CLIP)
            act_loop(&e->act, to, to, (int64_t)e->columns * LANES);
    }
}

/* ---- tiles of N x N outputs from S x S pixels, by M x M places ---- */

/* Pixels outside of the plane are 0. */
static inline vec pixel_or_0(const native_plane *plane, int64_t y, int64_t x)
{
    return y < 0 || x < 0 || y >= plane->height || x >= plane->width
               ? V_ZERO()
               : V_LOAD(plane->at + (y * plane->width + x) * LANES);
}

#define SOURCE_TILE(FORM, S, M, pixel)                                                             \
    {                                                                                              \
        vec half[M][S];                                                                            \
        UNROLL for (int j = 0; j < S; j++)                                                         \
        {                                                                                          \
            vec d[S], t[M];                                                                        \
            UNROLL for (int i = 0; i < S; i++) d[i] = pixel;                                       \
            SOURCE_LINE_##FORM(d, t) UNROLL for (int i = 0; i < M; i++) half[i][j] = t[i];         \
        }                                                                                          \
        UNROLL for (int i = 0; i < M; i++)                                                         \
        {                                                                                          \
            vec t[M];                                                                              \
            SOURCE_LINE_##FORM(half[i], t) UNROLL for (int j = 0; j < M; j++)                      \
                V_STORE(to + (i * M + j) * step, t[j]);                                            \
        }                                                                                          \
    }

#define CLEAR_BLANK(N, blank, y)                                                                   \
    {                                                                                              \
        UNROLL for (int i = 0; i < N * N; i++)                                                     \
        {                                                                                          \
            if (blank >> i & 1)                                                                    \
                y[i / N][i % N] = V_ZERO();                                                        \
        }                                                                                          \
    }

/* The way back writes nothing and says no where a sum is not finite. */
#define WINOGRAD(FORM, N, S, M)                                                                    \
    static void winograd_source_##FORM(const native_plane *plane, int64_t y, int64_t x, float *to, \
                                       int64_t step)                                               \
    {                                                                                              \
        const int64_t width = plane->width;                                                        \
        const float *from = plane->at + (y * width + x) * LANES;                                   \
        if (y >= 0 && x >= 0 && y + S <= plane->height && x + S <= width)                          \
            SOURCE_TILE(FORM, S, M, V_LOAD(from + (i * width + j) * LANES))                        \
        else                                                                                       \
            SOURCE_TILE(FORM, S, M, pixel_or_0(plane, y + i, x + j))                               \
    }                                                                                              \
    static bool winograd_result_##FORM(const float *from, int64_t step,                            \
                                       const native_winograd_end *e)                               \
    {                                                                                              \
        vec half[N][M], result[5][5], check = V_ZERO();                                            \
        UNROLL for (int j = 0; j < M; j++)                                                         \
        {                                                                                          \
            vec m[M], y[N];                                                                        \
            UNROLL for (int i = 0; i < M; i++) m[i] = V_LOAD(from + (i * M + j) * step);           \
            RESULT_LINE_##FORM(m, y) UNROLL for (int i = 0; i < N; i++) half[i][j] = y[i];         \
        }                                                                                          \
        UNROLL for (int i = 0; i < N; i++)                                                         \
        {                                                                                          \
            vec y[N];                                                                              \
            RESULT_LINE_##FORM(half[i], y) UNROLL for (int j = 0; j < N; j++)                      \
            {                                                                                      \
                check = V_FMA(y[j], V_ZERO(), check);                                              \
                result[i][j] = y[j];                                                               \
            }                                                                                      \
        }                                                                                          \
        if (V_HAS_NAN(check))                                                                      \
            return false;                                                                          \
        if (e->blank)                                                                              \
            CLEAR_BLANK(N, e->blank, result)                                                       \
        if (N % 2 == 0 && e->pooled)                                                               \
            store_pooled(e, result, N);                                                            \
        else                                                                                       \
            store_tile(e, result);                                                                 \
        return true;                                                                               \
    }

WINOGRAD(2, 2, 4, 4)
WINOGRAD(4, 4, 6, 6)
WINOGRAD(3, 3, 5, 5)
WINOGRAD(3_BACK, 5, 3, 5)

/* The weights of a vector of outputs, whose taps lie tap_step apart; place k goes to to + k step.
 */
static void winograd_weights(const double rows[][3], int points, const float *taps,
                             int64_t tap_step, float *to, int64_t step)
{
    vec g[9], half[6][3];
    int i, j;

    UNROLL for (int tap = 0; tap < 9; tap++) g[tap] = V_LOAD(taps + tap * tap_step);
    for (i = 0; i < points; i++) {
        const vec a = V_ALL((float)rows[i][0]), b = V_ALL((float)rows[i][1]),
                  c = V_ALL((float)rows[i][2]);
        UNROLL for (int k = 0; k < 3; k++) half[i][k] =
            V_FMA(a, g[k], V_FMA(b, g[3 + k], V_MUL(c, g[6 + k])));
    }
    for (j = 0; j < points; j++, to += step) {
        const vec a = V_ALL((float)rows[j][0]), b = V_ALL((float)rows[j][1]),
                  c = V_ALL((float)rows[j][2]);
        for (i = 0; i < points; i++)
            V_STORE(to + i * points * step,
                    V_FMA(a, half[i][0], V_FMA(b, half[i][1], V_MUL(c, half[i][2]))));
    }
}

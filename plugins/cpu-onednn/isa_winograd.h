/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_winograd.h: the transforms of Winograd's convolution F(4 x 4, 3 x 3) over vectors of
 * channels, and the products between them; a part of isa_kernels.h.
 *
 * After A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016. The points
 * are 0, A, -A, B, -B and infinity for A = 5/8 and B = 3/2: all numbers of the transforms of the
 * source are exact, and errors are less than half of those of the points 1 and 2.
 */

/* ---- straight tiles ---- */

/* Numbers of neighbours lie at fixed distances, so that one pointer serves all. */
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

#define STRAIGHT_TILE(B, P)                                                                        \
    static void straight_##B##_##P(const tfr_dnn_tile *a)                                          \
    {                                                                                              \
        const float *plane = a->source;                                                            \
        const char *ahead = a->ahead;                                                              \
        const int64_t step = a->weights_step;                                                      \
        TILE_BEGIN(B, P)                                                                           \
        (void)t;                                                                                   \
        for (g = 0; g < a->n_groups; g++, plane += a->plane) {                                     \
            for (c = 0; c < a->ahead_bytes; c += 64)                                               \
                __builtin_prefetch(ahead + c, 0, 2);                                               \
            ahead += a->ahead_bytes;                                                               \
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

/* ---- the transform of the source ---- */

#define POINT_A 0.625f
#define POINT_B 1.5f
#define A_2     (POINT_A * POINT_A)
#define B_2     (POINT_B * POINT_B)

/* One column or row: d becomes the transposed B times d. */
#define SOURCE_LINE(d, t)                                                                          \
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

/* One column or row: m becomes the transposed A times m. */
#define RESULT_LINE(m, y)                                                                          \
    {                                                                                              \
        vec sum_a = V_ADD(m[1], m[2]), less_a = V_SUB(m[1], m[2]);                                 \
        vec sum_b = V_ADD(m[3], m[4]), less_b = V_SUB(m[3], m[4]);                                 \
        y[0] = V_ADD(V_ADD(m[0], sum_a), sum_b);                                                   \
        y[1] = V_FMA(V_ALL(POINT_A), less_a, V_MUL(V_ALL(POINT_B), less_b));                       \
        y[2] = V_FMA(V_ALL(A_2), sum_a, V_MUL(V_ALL(B_2), sum_b));                                 \
        y[3] = V_FMA(V_ALL(A_2 * POINT_A), less_a, V_FMA(V_ALL(B_2 * POINT_B), less_b, m[5]));     \
    }

#define SOURCE_TILE(pixel)                                                                         \
    {                                                                                              \
        vec half[6][6];                                                                            \
        UNROLL for (int j = 0; j < 6; j++)                                                         \
        {                                                                                          \
            vec d[6], t[6];                                                                        \
            UNROLL for (int i = 0; i < 6; i++) d[i] = pixel;                                       \
            SOURCE_LINE(d, t)                                                                      \
            UNROLL for (int i = 0; i < 6; i++) half[i][j] = t[i];                                  \
        }                                                                                          \
        UNROLL for (int i = 0; i < 6; i++)                                                         \
        {                                                                                          \
            vec t[6];                                                                              \
            SOURCE_LINE(half[i], t)                                                                \
            UNROLL for (int j = 0; j < 6; j++) V_STORE(to + (i * 6 + j) * step, t[j]);             \
        }                                                                                          \
    }

/* Pixels outside of the plane are 0. */
static inline vec pixel_or_0(const tfr_dnn_plane *plane, int64_t y, int64_t x)
{
    return y < 0 || x < 0 || y >= plane->height || x >= plane->width
               ? V_ZERO()
               : V_LOAD(plane->at + (y * plane->width + x) * LANES);
}

static void winograd_source(const tfr_dnn_plane *plane, int64_t y, int64_t x, float *to,
                            int64_t step)
{
    const int64_t width = plane->width;
    const float *from = plane->at + (y * width + x) * LANES;

    if (y >= 0 && x >= 0 && y + 6 <= plane->height && x + 6 <= width)
        SOURCE_TILE(V_LOAD(from + (i * width + j) * LANES))
    else
        SOURCE_TILE(pixel_or_0(plane, y + i, x + j))
}

/* ---- the transform back ---- */

static void store_pooled(const tfr_dnn_winograd_end *e, vec y[4][4])
{
    const vec bias = e->bias ? V_LOAD(e->bias) : V_ZERO();
    int i, j;

    for (i = 0; i + 2 <= e->rows; i += 2) {
        for (j = 0; j + 2 <= e->columns; j += 2) {
            vec v = V_MAX(V_MAX(y[i][j], y[i][j + 1]), V_MAX(y[i + 1][j], y[i + 1][j + 1]));
            v = V_ADD(v, bias);
            if (e->act.kind == TFR_DNN_ACT_CLIP)
                v = v_clip(v, e->act.a, e->act.b);
            V_STORE(e->to + i / 2 * e->row + j / 2 * LANES, v);
        }
    }
}

static void store_tile(const tfr_dnn_winograd_end *e, vec y[4][4])
{
    const vec bias = e->bias ? V_LOAD(e->bias) : V_ZERO();
    const vec low = V_ALL(e->act.kind == TFR_DNN_ACT_CLIP ? e->act.a : -INFINITY);
    const vec high = V_ALL(e->act.kind == TFR_DNN_ACT_CLIP ? e->act.b : INFINITY);
    int i, j;

    for (i = 0; i < e->rows; i++) {
        float *to = e->to + i * e->row;
        for (j = 0; j < e->columns; j++) {
            vec v = V_ADD(y[i][j], bias);
            if (e->residual)
                v = V_ADD(v, V_LOAD(e->residual + i * e->row + j * LANES));
            V_STORE(to + j * LANES, V_MIN(high, V_MAX(low, v)));
        }
        if (e->act.kind > TFR_DNN_ACT_CLIP)
            act_loop(&e->act, to, to, (int64_t)e->columns * LANES);
    }
}

/* Writes nothing and says no where a sum is not finite. */
static bool winograd_result(const float *from, int64_t step, const tfr_dnn_winograd_end *e)
{
    vec half[4][6], result[4][4], check = V_ZERO();

    UNROLL for (int j = 0; j < 6; j++)
    {
        vec m[6], y[4];
        UNROLL for (int i = 0; i < 6; i++) m[i] = V_LOAD(from + (i * 6 + j) * step);
        RESULT_LINE(m, y)
        UNROLL for (int i = 0; i < 4; i++) half[i][j] = y[i];
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        vec y[4];
        RESULT_LINE(half[i], y)
        UNROLL for (int j = 0; j < 4; j++)
        {
            check = V_FMA(y[j], V_ZERO(), check);
            result[i][j] = y[j];
        }
    }
    if (V_HAS_NAN(check))
        return false;
    if (e->pooled)
        store_pooled(e, result);
    else
        store_tile(e, result);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_winograd_grad.h: the transforms for the gradient of the weights of Winograd's convolutions; a
 * part of isa_kernels.h, behind isa_winograd.h, whose points it has.
 */

/* t = A times y, where isa_winograd.h has the transposed A */
#define BACK_LINE_4(y, t)                                                                          \
    {                                                                                              \
        const vec even_a = V_FMA(V_ALL(A_2), y[2], y[0]), even_b = V_FMA(V_ALL(B_2), y[2], y[0]);  \
        const vec odd_a = V_FMA(V_ALL(A_2), y[3], y[1]), odd_b = V_FMA(V_ALL(B_2), y[3], y[1]);    \
        t[0] = y[0];                                                                               \
        t[1] = V_FMA(V_ALL(POINT_A), odd_a, even_a);                                               \
        t[2] = V_FNMA(V_ALL(POINT_A), odd_a, even_a);                                              \
        t[3] = V_FMA(V_ALL(POINT_B), odd_b, even_b);                                               \
        t[4] = V_FNMA(V_ALL(POINT_B), odd_b, even_b);                                              \
        t[5] = y[3];                                                                               \
    }

/* 4 x 4 pixels from (y, x) on, zeros outside; place k goes to to + k step. */
static void winograd_back(const native_plane *plane, int64_t y, int64_t x, float *to, int64_t step)
{
    vec half[6][4];

    UNROLL for (int j = 0; j < 4; j++)
    {
        vec d[4], t[6];
        UNROLL for (int i = 0; i < 4; i++) d[i] = pixel_or_0(plane, y + i, x + j);
        BACK_LINE_4(d, t)
        UNROLL for (int i = 0; i < 6; i++) half[i][j] = t[i];
    }
    UNROLL for (int i = 0; i < 6; i++)
    {
        vec t[6];
        BACK_LINE_4(half[i], t)
        UNROLL for (int j = 0; j < 6; j++) V_STORE(to + (i * 6 + j) * step, t[j]);
    }
}

static inline vec add_shards(const native_winograd_sums *a, int64_t number)
{
    const float *from = a->from + number * a->step;
    vec sum = V_LOAD(from);

    for (int s = 1; s < a->shards; s++)
        sum = V_ADD(sum, V_LOAD(from + s * a->shard_step));
    return sum;
}

/* G' sums G + the sums of taps */
static void winograd_taps(const native_winograd_sums *a)
{
    vec half[3][6];
    int i, j, k;

    for (j = 0; j < a->points; j++) {
        UNROLL for (k = 0; k < 3; k++) half[k][j] = V_ZERO();
        for (i = 0; i < a->points; i++) {
            const vec m = add_shards(a, i * a->points + j);
            UNROLL for (k = 0; k < 3; k++) half[k][j] =
                V_FMA(V_ALL((float)a->rows[i][k]), m, half[k][j]);
        }
    }
    for (i = 0; i < 3; i++) {
        for (k = 0; k < 3; k++) {
            vec sum = V_ZERO();
            for (j = 0; j < a->points; j++)
                sum = V_FMA(V_ALL((float)a->rows[j][k]), half[i][j], sum);
            sum = V_ADD(sum, add_shards(a, a->points * a->points + i * 3 + k));
            V_STORE(a->to + (i * 3 + k) * LANES, sum);
        }
    }
}

/* Whether all of n vectors are finite. */
static bool are_finite(const float *from, int64_t n)
{
    vec check[2] = {V_ZERO(), V_ZERO()};
    int64_t i;

    for (i = 0; i < n; i++)
        check[i & 1] = V_FMA(V_LOAD(from + i * LANES), V_ZERO(), check[i & 1]);
    return !V_HAS_NAN(V_ADD(check[0], check[1]));
}

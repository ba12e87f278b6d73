/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_norm.h: inner loops of batch normalization and of its gradient, a part of isa_kernels.h. Each
 * takes one plane of a channel block. Sums of a plane are those of four chains, and go to double
 * with the others of a channel: which samples come together changes no bit of them.
 */

/* The sum of f(i) over the plane. */
#define PLANE_SUM(sum, n, f)                                                                       \
    {                                                                                              \
        vec part[4] = {V_ZERO(), V_ZERO(), V_ZERO(), V_ZERO()};                                    \
        int64_t at = 0;                                                                            \
        for (; at + 4 <= (n); at += 4) {                                                           \
            UNROLL for (int j = 0; j < 4; j++) part[j] = V_ADD(part[j], f(at + j));                \
        }                                                                                          \
        for (; at < (n); at++)                                                                     \
            part[0] = V_ADD(part[0], f(at));                                                       \
        (sum) = V_ADD(V_ADD(part[0], part[1]), V_ADD(part[2], part[3]));                           \
    }

/* [mean, its square, squares of distances from it] of each channel grow by those of the plane. */
static void norm_moments(const float *x, int64_t n, double *sums)
{
    float mean[LANES], squares[LANES];
    vec all, m;
    int i;

#define X_AT(k) V_LOAD(x + (k)*LANES)
    PLANE_SUM(all, n, X_AT)
#undef X_AT
    m = V_MUL(all, V_ALL(1.0f / (float)n));
#define X_AT(k) V_MUL(V_SUB(V_LOAD(x + (k)*LANES), m), V_SUB(V_LOAD(x + (k)*LANES), m))
    PLANE_SUM(all, n, X_AT)
#undef X_AT
    V_STORE(mean, m);
    V_STORE(squares, all);
    for (i = 0; i < LANES; i++) {
        sums[i] += (double)mean[i];
        sums[LANES + i] += (double)mean[i] * (double)mean[i];
        sums[2 * LANES + i] += (double)squares[i];
    }
}

/* What a channel's normalized element is, the same in all loops. */
#define NORMALIZED(k)                                                                              \
    V_FMA(V_SUB(V_LOAD(p->x + (k)*LANES), mean), V_LOAD(p->factor), V_LOAD(p->shift))

static void norm_plane(const native_norm *p)
{
    const vec mean = V_LOAD(p->mean);
    int64_t i;

    for (i = 0; i < p->n; i++) {
        vec v = NORMALIZED(i);
        if (p->other)
            v = V_ADD(v, V_LOAD(p->other + i * LANES));
        if (p->masked)
            v = v_clip(v, 0.0f, INFINITY);
        V_STORE(p->to + i * LANES, v);
    }
}

/* The gradient of what was normalized, 0 where a Relu behind it has cut. */
static inline vec norm_incoming(const native_norm *p, int64_t i, vec mean)
{
    const vec g = V_LOAD(p->other + i * LANES);

    return p->masked ? V_LESS(V_ZERO(), NORMALIZED(i), g, V_ZERO()) : g;
}

#define ADD_TERM(k, j)                                                                             \
    {                                                                                              \
        const vec v = norm_incoming(p, k, mean);                                                   \
        g[j] = V_ADD(g[j], v);                                                                     \
        gx[j] = V_FMA(v, V_SUB(V_LOAD(p->x + (k)*LANES), mean), gx[j]);                            \
    }

/* [gradients, their products with distances from the mean] grow by those of the plane. */
static void norm_grad_sums(const native_norm *p, double *sums)
{
    const vec mean = V_LOAD(p->mean);
    vec g[4] = {V_ZERO(), V_ZERO(), V_ZERO(), V_ZERO()};
    vec gx[4] = {V_ZERO(), V_ZERO(), V_ZERO(), V_ZERO()};
    float both[2][LANES];
    int64_t i;

    for (i = 0; i + 4 <= p->n; i += 4) {
        UNROLL for (int j = 0; j < 4; j++) ADD_TERM(i + j, j)
    }
    for (; i < p->n; i++)
        ADD_TERM(i, 0)
    V_STORE(both[0], V_ADD(V_ADD(g[0], g[1]), V_ADD(g[2], g[3])));
    V_STORE(both[1], V_ADD(V_ADD(gx[0], gx[1]), V_ADD(gx[2], gx[3])));
    for (i = 0; i < LANES; i++) {
        sums[i] += (double)both[0][i];
        sums[LANES + i] += (double)both[1][i];
    }
}

/* to = (gradient - less) factor - (x - mean) times */
static void norm_grad_plane(const native_norm *p)
{
    const vec mean = V_LOAD(p->mean), factor = V_LOAD(p->factor);
    const vec less = V_LOAD(p->less), times = V_LOAD(p->times);
    int64_t i;

    for (i = 0; i < p->n; i++) {
        const vec g = V_SUB(norm_incoming(p, i, mean), less);
        const vec x = V_SUB(V_LOAD(p->x + i * LANES), mean);
        V_STORE(p->to + i * LANES, V_FNMA(x, times, V_MUL(g, factor)));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_train.h: inner loops of gradients, a part of isa_kernels.h.
 *
 * An outer product keeps its sums in registers over all terms of a call: a vector of y for each
 * block, one number of x for each row. Sums go on from memory, so each is one chain of FMA over all
 * terms of all calls, wherever these are cut.
 */

#define OUTER_TERM(B, P, number)                                                                   \
    {                                                                                              \
        vec v[B];                                                                                  \
        UNROLL for (int b = 0; b < B - 1; b++) v[b] = V_LOAD(y + b * y_block);                     \
        v[B - 1] =                                                                                 \
            some ? V_LOAD_SOME(y + (B - 1) * y_block, some) : V_LOAD(y + (B - 1) * y_block);       \
        UNROLL for (int i = 0; i < P; i++)                                                         \
        {                                                                                          \
            vec s = V_ALL(number);                                                                 \
            UNROLL for (int b = 0; b < B; b++) sum[b][i] = V_FMA(v[b], s, sum[b][i]);              \
        }                                                                                          \
        y += a->y_step[2];                                                                         \
    }

#define OUTER_BEGIN(B, P)                                                                          \
    const int64_t y_block = a->y_block, x_step = a->x_step[2];                                     \
    const uint32_t some = a->last_lanes;                                                           \
    vec sum[B][P];                                                                                 \
    int64_t j, k, n;                                                                               \
    EACH(B, P) sum[b][i] = V_LOAD(a->to + i * a->to_row + b * a->to_block);                        \
    for (j = 0; j < a->n[0]; j++) {                                                                \
        for (k = 0; k < a->n[1]; k++) {                                                            \
            const float *x = a->x + j * a->x_step[0] + k * a->x_step[1];                           \
            const float *y = a->y + j * a->y_step[0] + k * a->y_step[1];

#define OUTER_END(B, P)                                                                            \
    }                                                                                              \
    }                                                                                              \
    EACH(B, P) V_STORE(a->to + i * a->to_row + b * a->to_block, sum[b][i]);

#define OUTER(B, P)                                                                                \
    static void outer_##B##_##P(const native_outer *a)                                             \
    {                                                                                              \
        OUTER_BEGIN(B, P)                                                                          \
        for (n = a->n[2]; n > 0; n--, x += x_step)                                                 \
            OUTER_TERM(B, P, x[i])                                                                 \
        OUTER_END(B, P)                                                                            \
    }                                                                                              \
    static void outer_apart_##B##_##P(const native_outer *a)                                       \
    {                                                                                              \
        OUTER_BEGIN(B, P)                                                                          \
        const float *from[P];                                                                      \
        int64_t at = 0;                                                                            \
        UNROLL for (int i = 0; i < P; i++) from[i] = x + a->offsets[i];                            \
        for (n = a->n[2]; n > 0; n--, at += x_step)                                                \
            OUTER_TERM(B, P, from[i][at])                                                          \
        OUTER_END(B, P)                                                                            \
    }

SIZES_1(OUTER)
SIZES_2(OUTER)
SIZES_3(OUTER)
#ifdef SIZES_4
SIZES_4(OUTER)
#endif

/* Of each plane one sum after the other, so that it does not matter where planes are cut. */
static void add_vectors(const float *from, int64_t n, float *to)
{
    vec a = V_ZERO(), b = V_ZERO(), c = V_ZERO(), d = V_ZERO();
    int64_t i;

    for (i = 0; i + 4 <= n; i += 4) {
        a = V_ADD(a, V_LOAD(from + i * LANES));
        b = V_ADD(b, V_LOAD(from + (i + 1) * LANES));
        c = V_ADD(c, V_LOAD(from + (i + 2) * LANES));
        d = V_ADD(d, V_LOAD(from + (i + 3) * LANES));
    }
    for (; i < n; i++)
        a = V_ADD(a, V_LOAD(from + i * LANES));
    V_STORE(to, V_ADD(V_LOAD(to), V_ADD(V_ADD(a, b), V_ADD(c, d))));
}

/* The first of the greatest elements of each window gets what the window's output gets. */
static void pool_grad(const native_pool_grad *g)
{
    int64_t x0, x1, y0, y1, x, y, i, j;

    memset(g->to, 0, (size_t)(g->height * g->width * LANES) * sizeof(float));
    for (y = 0; y < g->out_height; y++) {
        const int64_t top = y * g->stride[0] - g->pad[0];
        inside(top, g->height, g->kernel[0], g->dilation[0], &y0, &y1);
        for (x = 0; x < g->out_width; x++) {
            const int64_t left = x * g->stride[1] - g->pad[1];
            vec best = V_ALL(-INFINITY), at = V_ZERO(), d;
            int64_t first;
            inside(left, g->width, g->kernel[1], g->dilation[1], &x0, &x1);
            first = y0 * g->kernel[1] + x0;
            at = V_ALL((float)first);
            for (i = y0; i < y1; i++) {
                const float *p = g->source + ((top + i * g->dilation[0]) * g->width + left) * LANES;
                for (j = x0; j < x1; j++) {
                    const vec v = V_LOAD(p + j * g->dilation[1] * LANES);
                    at = V_LESS(best, v, V_ALL((float)(i * g->kernel[1] + j)), at);
                    best = V_LESS(best, v, v, best);
                }
            }
            d = V_LOAD(g->from + (y * g->out_width + x) * LANES);
            if (g->masked)
                d = V_LESS(V_ZERO(), best, d, V_ZERO());
            for (i = y0; i < y1; i++) {
                float *p = g->to + ((top + i * g->dilation[0]) * g->width + left) * LANES;
                for (j = x0; j < x1; j++) {
                    float *q = p + j * g->dilation[1] * LANES;
                    const vec off = V_ABS(V_SUB(at, V_ALL((float)(i * g->kernel[1] + j))));
                    V_STORE(q, V_ADD(V_LOAD(q), V_LESS(off, V_ALL(0.5f), d, V_ZERO())));
                }
            }
        }
    }
}

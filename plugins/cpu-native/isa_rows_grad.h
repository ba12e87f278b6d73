/* SPDX-License-Identifier: Apache-2.0 */
/* isa_rows_grad.h: gradients of what works on rows, a part of isa_kernels.h. */

/* Lanes that are not there count as 0. */
static inline float sum_of_products(const float *x, const float *y, int64_t n)
{
    vec sum = V_ZERO();
    int64_t i;

    for (i = 0; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        sum = V_FMA(v_some(x, 1, i, some), v_some(y, 1, i, some), sum);
    }
    return V_SUM(sum);
}

static void softmax_grad(const float *dy, const float *y, float factor, float *to, int64_t n)
{
    const vec sum = V_ALL(sum_of_products(dy, y, n)), k = V_ALL(factor);
    int64_t i;

    for (i = 0; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        store_some(to + i, some,
                   V_MUL(V_MUL(k, v_some(y, 1, i, some)), V_SUB(v_some(dy, 1, i, some), sum)));
    }
}

/* x^ = (x - mean) k: dX = k (dy scale - mean of dy scale - x^ mean of dy scale x^) */
static void layer_norm_grad(const native_norm_row *r)
{
    const float *dy = r->dy, *x = r->x;
    const float mean = r->rms ? 0.0f : sum_of(x, r->n, 0.0f, false) / (float)r->n;
    const vec m = V_ALL(mean),
              k = V_ALL(1.0f / sqrtf(sum_of(x, r->n, mean, true) / (float)r->n + r->epsilon));
    vec h = V_ZERO(), hx = V_ZERO();
    int64_t i;

    for (i = 0; i < r->n; i += LANES) {
        const int64_t some = r->n - i < LANES ? r->n - i : LANES;
        const vec at = V_MUL(V_SUB(v_some(x, 1, i, some), m), k);
        vec g = v_some(dy, 1, i, some);
        if (!r->to) {
            store_some(r->sums + i, some, V_FMA(g, at, v_some(r->sums, 1, i, some)));
            continue;
        }
        g = V_MUL(g, v_some(r->scale, 1, i, some)); /* 0 in lanes that are not there */
        h = V_ADD(h, g);
        hx = V_FMA(g, at, hx);
    }
    if (!r->to)
        return;
    h = V_ALL(r->rms ? 0.0f : V_SUM(h) / (float)r->n);
    hx = V_ALL(V_SUM(hx) / (float)r->n);
    for (i = 0; i < r->n; i += LANES) {
        const int64_t some = r->n - i < LANES ? r->n - i : LANES;
        const vec at = V_MUL(V_SUB(v_some(x, 1, i, some), m), k);
        vec g = V_SUB(V_MUL(v_some(dy, 1, i, some), v_some(r->scale, 1, i, some)), h);
        store_some(r->to + i, some, V_MUL(k, V_FNMA(at, hx, g)));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_pool.h: rows of pools, a part of isa_kernels.h. Windows that are inside are taken four
 * neighbours at a time, each in the order of its rows, then columns.
 */

static inline vec end_row(const native_row *r, vec v, int64_t x)
{
    if (r->residual)
        v = V_ADD(v, V_LOAD(r->residual + x * LANES));
    return r->act.kind == NATIVE_ACT_CLIP ? v_clip(v, r->act.a, r->act.b) : v;
}

/* One output near a border; every window holds an element. */
static void pool_edge(const native_row *r, int64_t x, int64_t y0, int64_t y1)
{
    const int64_t left = r->left + x * r->stride[1];
    vec v = r->average ? V_ZERO() : V_ALL(-INFINITY);
    int64_t x0, x1, i, j;

    inside(left, r->width, r->kernel[1], r->dilation[1], &x0, &x1);
    for (i = y0; i < y1; i++) {
        const float *p = r->source + ((r->top + i * r->dilation[0]) * r->width + left) * LANES;
        for (j = x0; j < x1; j++) {
            vec s = V_LOAD(p + j * r->dilation[1] * LANES);
            v = r->average ? V_ADD(v, s) : V_MAX(s, v);
        }
    }
    if (r->average)
        v = V_DIV(v, V_ALL(r->count_padding ? r->count : (float)((y1 - y0) * (x1 - x0))));
    V_STORE(r->to + x * LANES, end_row(r, v, x));
}

static inline __attribute__((always_inline)) vec pool_tap(const float *p, vec v, bool average)
{
    return average ? V_ADD(v, V_LOAD(p)) : V_MAX(V_LOAD(p), v);
}

/* Four outputs whose windows are inside, where so many columns of them are constants or not. */
static inline __attribute__((always_inline)) void
pool_four(const native_row *r, int64_t x, int64_t y0, int64_t y1, int64_t taps, bool average)
{
    const int64_t step = r->stride[1] * LANES, next = r->dilation[1] * LANES;
    const float *p =
        r->source + ((r->top + y0 * r->dilation[0]) * r->width + r->left) * LANES + x * step;
    vec v0 = average ? V_ZERO() : V_ALL(-INFINITY), v1 = v0, v2 = v0, v3 = v0;
    int64_t i, j;

    for (i = y0; i < y1; i++, p += r->dilation[0] * r->width * LANES) {
        const float *q = p;
        for (j = 0; j < taps; j++, q += next) {
            v0 = pool_tap(q, v0, average);
            v1 = pool_tap(q + step, v1, average);
            v2 = pool_tap(q + 2 * step, v2, average);
            v3 = pool_tap(q + 3 * step, v3, average);
        }
    }
    if (average) {
        const vec n = V_ALL(r->count_padding ? r->count : (float)((y1 - y0) * taps));
        v0 = V_DIV(v0, n), v1 = V_DIV(v1, n), v2 = V_DIV(v2, n), v3 = V_DIV(v3, n);
    }
    V_STORE(r->to + x * LANES, end_row(r, v0, x));
    V_STORE(r->to + (x + 1) * LANES, end_row(r, v1, x + 1));
    V_STORE(r->to + (x + 2) * LANES, end_row(r, v2, x + 2));
    V_STORE(r->to + (x + 3) * LANES, end_row(r, v3, x + 3));
}

static void pool_row(const native_row *r)
{
    int64_t y0, y1, first, last, x;

    inside(r->top, r->height, r->kernel[0], r->dilation[0], &y0, &y1);
    inside_columns(r, &first, &last);
    for (x = 0; x < first; x++)
        pool_edge(r, x, y0, y1);
    for (; x + 4 <= last; x += 4) {
        if (r->average)
            pool_four(r, x, y0, y1, r->kernel[1], true);
        else if (r->kernel[1] == 3)
            pool_four(r, x, y0, y1, 3, false);
        else if (r->kernel[1] == 2)
            pool_four(r, x, y0, y1, 2, false);
        else
            pool_four(r, x, y0, y1, r->kernel[1], false);
    }
    for (; x < r->out_width; x++)
        pool_edge(r, x, y0, y1);
}

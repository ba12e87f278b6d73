/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_depthwise.h: rows of depthwise convolutions, a part of isa_kernels.h. Windows of 3, 5 and 7
 * columns, nearly all that there are, have loops of their own, in which neighbouring outputs share
 * what they load. Each output is the sum over rows, then columns, of its window, whatever loop it
 * is in.
 */

/* From pixel to pixel; constants where channels are blocked. */
typedef struct steps {
    int64_t from, to;
} steps;

/* A row and what ends each of its outputs: bounds, which are infinite where nothing is clipped. */
typedef struct depthwise {
    native_row row;
    vec bias, low, high;
    int64_t y0, y1;      /* rows of the window that are there */
    int64_t first, last; /* outputs [first, last) have all columns of it */
} depthwise;

static inline __attribute__((always_inline)) void depthwise_end(const depthwise *d, vec v,
                                                                int64_t x, steps at)
{
    if (d->row.residual)
        v = V_ADD(v, V_LOAD(d->row.residual + x * at.to));
    V_STORE(d->row.to + x * at.to, V_MIN(d->high, V_MAX(d->low, v)));
}

/* One output near a border; dilation is a constant where it is 1, so that nothing is divided. */
static inline __attribute__((always_inline)) void
depthwise_edge(const depthwise *d, int64_t x, int64_t taps, int64_t dilation, steps of)
{
    const native_row *r = &d->row;
    const int64_t left = r->left + x * r->stride[1];
    vec sum = d->bias;
    int64_t i, j;

    for (i = d->y0; i < d->y1; i++) {
        const float *line = r->source + (r->top + i * r->dilation[0]) * r->width * of.from;
        const float *w = r->weights + i * taps * LANES;
        for (j = 0; j < taps; j++) {
            const int64_t at = left + j * dilation;
            if (at >= 0 && at < r->width)
                sum = V_FMA(V_LOAD(line + at * of.from), V_LOAD(w + j * LANES), sum);
        }
    }
    depthwise_end(d, sum, x, of);
}

#define DEPTHWISE_TAP                                                                              \
    {                                                                                              \
        const float *q = p + j * dilation * of.from;                                               \
        const vec k = V_LOAD(w + j * LANES);                                                       \
        s0 = V_FMA(V_LOAD(q), k, s0);                                                              \
        s1 = n > 1 ? V_FMA(V_LOAD(q + step), k, s1) : s1;                                          \
        s2 = n > 2 ? V_FMA(V_LOAD(q + 2 * step), k, s2) : s2;                                      \
        s3 = n > 3 ? V_FMA(V_LOAD(q + 3 * step), k, s3) : s3;                                      \
        s4 = n > 4 ? V_FMA(V_LOAD(q + 4 * step), k, s4) : s4;                                      \
        s5 = n > 5 ? V_FMA(V_LOAD(q + 5 * step), k, s5) : s5;                                      \
    }

/*
 * n outputs, 1 to 6, whose windows are inside. The numbers are constants, so that loops unroll and
 * neighbours share what they load.
 */
static inline __attribute__((always_inline)) void depthwise_few(const depthwise *d, int64_t x,
                                                                int n, int64_t taps, int64_t stride,
                                                                int64_t dilation, steps of)
{
    const native_row *r = &d->row;
    const int64_t step = stride * of.from;
    vec s0 = d->bias, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    int64_t i, j;

    for (i = d->y0; i < d->y1; i++) {
        const float *p =
            r->source + ((r->top + i * r->dilation[0]) * r->width + r->left + x * stride) * of.from;
        const float *w = r->weights + i * taps * LANES;
        _Pragma("GCC unroll 8") for (j = 0; j < taps; j++) DEPTHWISE_TAP
    }
    depthwise_end(d, s0, x, of);
    if (n > 1)
        depthwise_end(d, s1, x + 1, of);
    if (n > 2)
        depthwise_end(d, s2, x + 2, of);
    if (n > 3)
        depthwise_end(d, s3, x + 3, of);
    if (n > 4)
        depthwise_end(d, s4, x + 4, of);
    if (n > 5)
        depthwise_end(d, s5, x + 5, of);
}

/* As few as 5 and less, which there may be before last. */
static inline __attribute__((always_inline)) void depthwise_rest(const depthwise *d, int64_t x,
                                                                 int64_t n, int64_t taps,
                                                                 int64_t stride, int64_t dilation,
                                                                 steps of)
{
    switch (n) {
    case 5:
        depthwise_few(d, x, 5, taps, stride, dilation, of);
        break;
    case 4:
        depthwise_few(d, x, 4, taps, stride, dilation, of);
        break;
    case 3:
        depthwise_few(d, x, 3, taps, stride, dilation, of);
        break;
    case 2:
        depthwise_few(d, x, 2, taps, stride, dilation, of);
        break;
    case 1:
        depthwise_few(d, x, 1, taps, stride, dilation, of);
        break;
    default:
        break;
    }
}

/* ---- windows of any size ---- */

/* The columns [*begin, *end) of its window that an output has whose first one is at `left`. */
static inline __attribute__((always_inline)) void
depthwise_columns(const native_row *r, int64_t left, int64_t dilation, int64_t *begin, int64_t *end)
{
    const int64_t rest = r->width - left;

    *begin = left >= 0 ? 0 : (dilation - 1 - left) / dilation;
    *end = rest <= 0 ? 0 : (rest + dilation - 1) / dilation;
    *end = *end < r->kernel[1] ? *end : r->kernel[1];
}

/* A row of the window for one output, columns [begin, end). */
static inline __attribute__((always_inline)) vec
depthwise_line(const float *p, const float *w, int64_t begin, int64_t end, int64_t next, vec sum)
{
    for (; begin < end; begin++)
        sum = V_FMA(V_LOAD(p + begin * next), V_LOAD(w + begin * LANES), sum);
    return sum;
}

/* n outputs whose windows are inside: as many sums as keep both multipliers busy. */
static inline __attribute__((always_inline)) void
depthwise_inside(const depthwise *d, int64_t x, const int n, int64_t stride, steps of)
{
    const native_row *r = &d->row;
    const int64_t step = stride * of.from, next = r->dilation[1] * of.from;
    vec sum[8];
    int64_t i, j;
    int k;

    UNROLL for (k = 0; k < n; k++) sum[k] = d->bias;
    for (i = d->y0; i < d->y1; i++) {
        const float *p =
            r->source + ((r->top + i * r->dilation[0]) * r->width + r->left + x * stride) * of.from;
        const float *w = r->weights + i * r->kernel[1] * LANES;
        for (j = 0; j < r->kernel[1]; j++, p += next, w += LANES) {
            const vec weight = V_LOAD(w);
            UNROLL for (k = 0; k < n; k++) sum[k] = V_FMA(V_LOAD(p + k * step), weight, sum[k]);
        }
    }
    UNROLL for (k = 0; k < n; k++) depthwise_end(d, sum[k], x + k, of);
}

/*
 * n outputs near an end: the columns that all have go together, those before and behind output by
 * output. Large windows reach over both ends of most rows.
 */
static inline __attribute__((always_inline)) void depthwise_outside(const depthwise *d, int64_t x,
                                                                    const int n, steps of)
{
    const native_row *r = &d->row;
    const int64_t stride = r->stride[1], dilation = r->dilation[1];
    const int64_t left = r->left + x * stride, step = stride * of.from, next = dilation * of.from;
    int64_t begin[8], end[8], all_begin, all_end, i, j;
    vec sum[8];
    int k;

    UNROLL for (k = 0; k < n; k++)
    {
        depthwise_columns(r, left + k * stride, dilation, &begin[k], &end[k]);
        sum[k] = d->bias;
    }
    all_begin = begin[0];
    all_end = end[n - 1] > all_begin ? end[n - 1] : all_begin;
    for (i = d->y0; i < d->y1; i++) {
        const float *p = r->source + ((r->top + i * r->dilation[0]) * r->width + left) * of.from;
        const float *w = r->weights + i * r->kernel[1] * LANES;
        UNROLL for (k = 1; k < n; k++) sum[k] = depthwise_line(
            p + k * step, w, begin[k], end[k] < all_begin ? end[k] : all_begin, next, sum[k]);
        for (j = all_begin; j < all_end; j++) {
            const vec weight = V_LOAD(w + j * LANES);
            UNROLL for (k = 0; k < n; k++) sum[k] =
                V_FMA(V_LOAD(p + k * step + j * next), weight, sum[k]);
        }
        UNROLL for (k = 0; k < n; k++) sum[k] =
            depthwise_line(p + k * step, w, all_end, end[k], next, sum[k]);
    }
    UNROLL for (k = 0; k < n; k++) depthwise_end(d, sum[k], x + k, of);
}

#define DEPTHWISE_OUTSIDE(n)                                                                       \
    case n:                                                                                        \
        depthwise_outside(d, x, n, of);                                                            \
        break;
static void depthwise_outside_some(const depthwise *d, int64_t x, int64_t n, steps of)
{
    switch (n) {
        DEPTHWISE_OUTSIDE(8)
        DEPTHWISE_OUTSIDE(7)
        DEPTHWISE_OUTSIDE(6)
        DEPTHWISE_OUTSIDE(5)
        DEPTHWISE_OUTSIDE(4)
        DEPTHWISE_OUTSIDE(3)
        DEPTHWISE_OUTSIDE(2)
        DEPTHWISE_OUTSIDE(1)
    }
}

#define DEPTHWISE_INSIDE(n)                                                                        \
    case n:                                                                                        \
        depthwise_inside(d, x, n, stride, of);                                                     \
        break;
static inline __attribute__((always_inline)) void
depthwise_inside_some(const depthwise *d, int64_t x, int64_t n, int64_t stride, steps of)
{
    switch (n) {
        DEPTHWISE_INSIDE(8)
        DEPTHWISE_INSIDE(7)
        DEPTHWISE_INSIDE(6)
        DEPTHWISE_INSIDE(5)
        DEPTHWISE_INSIDE(4)
        DEPTHWISE_INSIDE(3)
        DEPTHWISE_INSIDE(2)
        DEPTHWISE_INSIDE(1)
    }
}

/* How many outputs follow the first x of a row: 8, the last two times nearly the same. */
static inline int64_t depthwise_next(const native_row *r, int64_t x)
{
    const int64_t left = r->out_width - x;
    return left >= 16 ? 8 : left > 8 ? (left + 1) / 2 : left;
}

/* 1 to 8 outputs. */
static inline __attribute__((always_inline)) void depthwise_any(const depthwise *d, int64_t x,
                                                                int64_t n, int64_t stride, steps of)
{
    if (x < d->first || x + n > d->last)
        depthwise_outside_some(d, x, n, of);
    else
        depthwise_inside_some(d, x, n, stride, of);
}

/* All outputs of a row. */
static void depthwise_all(const depthwise *d)
{
    const steps of = {LANES, LANES};
    const native_row *r = &d->row;
    int64_t x, n;

    for (x = 0; x < r->out_width; x += n) {
        n = depthwise_next(r, x);
        if (r->stride[1] == 1)
            depthwise_any(d, x, n, 1, of);
        else
            depthwise_any(d, x, n, r->stride[1], of);
    }
}

static void depthwise_all_of(const depthwise *d, steps of)
{
    int64_t x, n;

    for (x = 0; x < d->row.out_width; x += n) {
        n = depthwise_next(&d->row, x);
        depthwise_any(d, x, n, d->row.stride[1], of);
    }
}

/* ---- with what is missing at the ends ---- */

/*
 * Rows of images are short, so that many of their windows reach over an end: up to 7 outputs are
 * found together with those. `before` columns are missing in front of the first window, `behind`
 * after the last one, at most half a window each.
 */
typedef struct ends {
    int64_t before, behind;
} ends;

enum { DEPTHWISE_NEAR = 7 };

/* Has output k of n column j of its window? */
static inline __attribute__((always_inline)) bool
depthwise_has(int k, int n, int64_t j, int64_t taps, int64_t stride, ends e)
{
    const int64_t left = j, right = taps - 1 - j, more = n - 1 - k;

    return (left + k >= taps / 2 || left + k * stride >= e.before) &&
           (right + more >= taps / 2 || right + more * stride >= e.behind);
}

#define DEPTHWISE_NEAR_TAP(k)                                                                      \
    if (n > k && (!edge || depthwise_has(k, n, j, taps, stride, e)))                               \
    s##k = V_FMA(V_LOAD(q + k * step), weight, s##k)

/* n outputs; edge: some may lack columns. Numbers but x and the ends are constants. */
static inline __attribute__((always_inline)) void depthwise_near(const depthwise *d, int64_t x,
                                                                 int n, int64_t taps,
                                                                 int64_t stride, bool edge, ends e,
                                                                 steps of)
{
    const native_row *r = &d->row;
    const int64_t step = stride * of.from, place = r->left + x * stride;
    vec s0 = d->bias, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0;
    int64_t i, j;

    for (i = d->y0; i < d->y1; i++) {
        const float *p = r->source + ((r->top + i * r->dilation[0]) * r->width + place) * of.from;
        const float *w = r->weights + i * taps * LANES;
        _Pragma("GCC unroll 8") for (j = 0; j < taps; j++)
        {
            const float *q = p + j * of.from;
            const vec weight = V_LOAD(w + j * LANES);
            DEPTHWISE_NEAR_TAP(0);
            DEPTHWISE_NEAR_TAP(1);
            DEPTHWISE_NEAR_TAP(2);
            DEPTHWISE_NEAR_TAP(3);
            DEPTHWISE_NEAR_TAP(4);
            DEPTHWISE_NEAR_TAP(5);
            DEPTHWISE_NEAR_TAP(6);
        }
    }
    depthwise_end(d, s0, x, of);
    if (n > 1)
        depthwise_end(d, s1, x + 1, of);
    if (n > 2)
        depthwise_end(d, s2, x + 2, of);
    if (n > 3)
        depthwise_end(d, s3, x + 3, of);
    if (n > 4)
        depthwise_end(d, s4, x + 4, of);
    if (n > 5)
        depthwise_end(d, s5, x + 5, of);
    if (n > 6)
        depthwise_end(d, s6, x + 6, of);
}

/* Inside there are not fewer than 5 if others are in front of and behind them. */
#define DEPTHWISE_NEAR_OF(n, edge) depthwise_near(d, x, n, taps, stride, edge, e, of)
static inline __attribute__((always_inline)) void depthwise_some(const depthwise *d, int64_t x,
                                                                 int64_t n, int64_t taps,
                                                                 int64_t stride, ends e, steps of)
{
    switch (e.before || e.behind || n < 5 ? n : n + DEPTHWISE_NEAR) {
    case 14:
        DEPTHWISE_NEAR_OF(7, false);
        break;
    case 13:
        DEPTHWISE_NEAR_OF(6, false);
        break;
    case 12:
        DEPTHWISE_NEAR_OF(5, false);
        break;
    case 7:
        DEPTHWISE_NEAR_OF(7, true);
        break;
    case 6:
        DEPTHWISE_NEAR_OF(6, true);
        break;
    case 5:
        DEPTHWISE_NEAR_OF(5, true);
        break;
    case 4:
        DEPTHWISE_NEAR_OF(4, true);
        break;
    case 3:
        DEPTHWISE_NEAR_OF(3, true);
        break;
    case 2:
        DEPTHWISE_NEAR_OF(2, true);
        break;
    default:
        DEPTHWISE_NEAR_OF(1, true);
    }
}

/* What is missing at the ends of a row; false: more than half a window. */
static bool depthwise_ends(const native_row *r, ends *e)
{
    const int64_t end = r->left + (r->out_width - 1) * r->stride[1] + r->kernel[1];

    e->before = r->left < 0 ? -r->left : 0;
    e->behind = end > r->width ? end - r->width : 0;
    return r->dilation[1] == 1 && e->before <= r->kernel[1] / 2 && e->behind <= r->kernel[1] / 2;
}

/* All outputs of a row, in parts of nearly equal sizes. */
static inline __attribute__((always_inline)) void depthwise_parts(const depthwise *d, int64_t taps,
                                                                  int64_t stride, ends e, steps of)
{
    const int64_t width = d->row.out_width, parts = (width + DEPTHWISE_NEAR - 1) / DEPTHWISE_NEAR;
    int64_t i, x = 0, n;

    for (i = 0; i < parts; i++, x += n) {
        const ends here = {i == 0 ? e.before : 0, i == parts - 1 ? e.behind : 0};
        n = (width - x) / (parts - i);
        depthwise_some(d, x, n, taps, stride, here, of);
    }
}

/* What is of the row. */
static void depthwise_begin(depthwise *d)
{
    const native_row *r = &d->row;
    const bool clips = r->act.kind == NATIVE_ACT_CLIP;

    d->bias = r->bias ? V_LOAD(r->bias) : V_ZERO();
    d->low = V_ALL(clips ? r->act.a : -INFINITY);
    d->high = V_ALL(clips ? r->act.b : INFINITY);
    inside(r->top, r->height, r->kernel[0], r->dilation[0], &d->y0, &d->y1);
    inside_columns(r, &d->first, &d->last);
}

static void depthwise_row(const native_row *r)
{
    const steps of = {LANES, LANES};
    const int64_t stride = r->stride[1];
    depthwise d = {.row = *r};
    ends e;

    depthwise_begin(&d);
    switch (depthwise_ends(r, &e) && stride < 3 ? r->kernel[1] * 2 + stride : 0) {
    case 3 * 2 + 1:
        depthwise_parts(&d, 3, 1, e, of);
        break;
    case 3 * 2 + 2:
        depthwise_parts(&d, 3, 2, e, of);
        break;
    case 5 * 2 + 1:
        depthwise_parts(&d, 5, 1, e, of);
        break;
    case 5 * 2 + 2:
        depthwise_parts(&d, 5, 2, e, of);
        break;
    case 7 * 2 + 1:
        depthwise_parts(&d, 7, 1, e, of);
        break;
    default:
        depthwise_all(&d);
    }
    if (r->act.kind > NATIVE_ACT_CLIP)
        act_loop(&r->act, r->to, r->to, r->out_width * LANES);
}

/* Without steps over the source, to outputs that lie apart; other functions than clip are not done.
 */
static void depthwise_row_apart(const native_row *r)
{
    const steps of = {LANES, r->to_pixel};
    depthwise d = {.row = *r};
    ends e;

    depthwise_begin(&d);
    switch (depthwise_ends(r, &e) ? r->kernel[1] : 0) {
    case 1:
        depthwise_parts(&d, 1, 1, e, of);
        break;
    case 2:
        depthwise_parts(&d, 2, 1, e, of);
        break;
    default:
        depthwise_all_of(&d, of);
    }
}

/* ---- channels last ---- */

/* taps: of windows without steps and dilation, or 0 = any windows */
static inline __attribute__((always_inline)) void depthwise_of(const depthwise *d, int64_t x,
                                                               int64_t n, bool inside, int64_t taps)
{
    const steps of = {d->row.from_pixel, d->row.to_pixel};

    if (taps == 0)
        depthwise_any(d, x, n, d->row.stride[1], of);
    else if (!inside)
        depthwise_edge(d, x, taps, 1, of);
    else if (n == 6)
        depthwise_few(d, x, 6, taps, 1, 1, of);
    else
        depthwise_rest(d, x, n, taps, 1, 1, of);
}

/* Block after block of a few pixels, as they follow each other in memory. */
static inline __attribute__((always_inline)) void
depthwise_blocks(depthwise *d, int64_t x, int64_t n, bool inside, int64_t taps)
{
    const native_row row = d->row;
    int64_t block;

    for (block = 0; block < row.blocks; block++) {
        d->bias = row.bias ? V_LOAD(row.bias + block * LANES) : V_ZERO();
        depthwise_of(d, x, n, inside, taps);
        d->row.source += row.from_block;
        d->row.weights += row.kernel[0] * row.kernel[1] * LANES;
        d->row.to += row.to_block;
        d->row.residual = row.residual ? d->row.residual + row.to_block : NULL;
    }
    d->row = row;
}

static void depthwise_act(const native_row *r)
{
    int64_t i;

    if (r->to_block == LANES) {
        for (i = 0; i < r->out_width; i++)
            act_loop(&r->act, r->to + i * r->to_pixel, r->to + i * r->to_pixel, r->blocks * LANES);
        return;
    }
    for (i = 0; i < r->blocks; i++)
        act_loop(&r->act, r->to + i * r->to_block, r->to + i * r->to_block, r->out_width * LANES);
}

static void depthwise_row_of_blocks(const native_row *r)
{
    const bool usual = r->kernel[1] == 3 && r->stride[1] == 1 && r->dilation[1] == 1;
    const bool wide = r->kernel[1] == 7 && r->stride[1] == 1 && r->dilation[1] == 1;
    depthwise d = {.row = *r};
    int64_t x, n;

    depthwise_begin(&d);
    for (x = 0; x < r->out_width; x += n) {
        const bool inside = x >= d.first && x < d.last;
        if (usual || wide)
            n = !inside ? 1 : d.last - x < 6 ? d.last - x : 6;
        else
            n = depthwise_next(r, x);
        if (usual)
            depthwise_blocks(&d, x, n, inside, 3);
        else if (wide)
            depthwise_blocks(&d, x, n, inside, 7);
        else
            depthwise_blocks(&d, x, n, inside, 0);
    }
    if (r->act.kind > NATIVE_ACT_CLIP)
        depthwise_act(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_kernels.h: the inner loops of programs, written once over the macros V_... and compiled by
 * isa_avx512.c, isa_avx2.c and isa_portable.c, each of which includes this file once. Not a header
 * for others.
 *
 * Tiles keep their sums in registers over all terms of a call, as BLAS libraries do: a vector of
 * weights for each block, one number of the source for each pixel, blocks * pixels products.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "vec.h"

#define UNROLL _Pragma("GCC unroll 16")

/* ---- functions of one vector ---- */

static inline vec v_act(const native_act *act, vec x)
{
    switch (act->kind) {
    case NATIVE_ACT_CLIP:
        return v_clip(x, act->a, act->b);
    case NATIVE_ACT_LEAKY:
        return V_LESS(x, V_ZERO(), V_MUL(x, V_ALL(act->a)), x);
    case NATIVE_ACT_LINEAR:
        return V_FMA(x, V_ALL(act->a), V_ALL(act->b));
    case NATIVE_ACT_HARD_SIGMOID:
        return v_clip(V_FMA(x, V_ALL(act->a), V_ALL(act->b)), 0.0f, 1.0f);
    case NATIVE_ACT_HARD_SWISH:
        return V_MUL(x, v_clip(V_FMA(x, V_ALL(act->a), V_ALL(act->b)), 0.0f, 1.0f));
    case NATIVE_ACT_SIGMOID:
        return v_sigmoid(x);
    case NATIVE_ACT_SWISH:
        return V_MUL(x, v_sigmoid(V_MUL(x, V_ALL(act->a))));
    case NATIVE_ACT_TANH:
        return v_tanh(x);
    case NATIVE_ACT_EXP:
        return v_exp(x);
    case NATIVE_ACT_GELU:
        return v_gelu(x);
    case NATIVE_ACT_SQRT:
        return V_SQRT(x);
    case NATIVE_ACT_ABS:
        return V_ABS(x);
    case NATIVE_ACT_SQUARE:
        return V_MUL(x, x);
    case NATIVE_ACT_ERF:
        return v_erf(x);
    case NATIVE_ACT_GELU_TANH:
        return v_gelu_tanh(x);
    case NATIVE_ACT_ELU:
        return V_LESS(x, V_ZERO(), V_MUL(V_ALL(act->a), v_expm1(x)), x);
    case NATIVE_ACT_CELU:
        return V_ADD(V_MAX(V_ZERO(), x),
                     V_MIN(V_ZERO(), V_MUL(V_ALL(act->a), v_expm1(V_DIV(x, V_ALL(act->a))))));
    case NATIVE_ACT_SELU:
        return V_MUL(V_ALL(act->b), V_LESS(V_ZERO(), x, x, V_MUL(V_ALL(act->a), v_expm1(x))));
    case NATIVE_ACT_SOFTPLUS:
        return v_softplus(x);
    case NATIVE_ACT_MISH:
        return v_mish(x);
    case NATIVE_ACT_SOFTSIGN:
        return V_DIV(x, V_ADD(V_ALL(1.0f), V_ABS(x)));
    case NATIVE_ACT_THRESHOLD:
        return V_LESS(V_ALL(act->a), x, x, V_ZERO());
    case NATIVE_ACT_SHRINK:
        return V_LESS(x, V_ALL(-act->a), V_ADD(x, V_ALL(act->b)),
                      V_LESS(V_ALL(act->a), x, V_SUB(x, V_ALL(act->b)), V_ZERO()));
    default:
        return x;
    }
}

#define ACT_LOOP(k)                                                                                \
    case k: {                                                                                      \
        const native_act fixed = {.kind = k, .a = act->a, .b = act->b};                            \
        for (row = 0; row < rows; row++, from += step, to += step) {                               \
            for (i = 0; i + LANES <= n; i += LANES)                                                \
                V_STORE(to + i, v_act(&fixed, V_LOAD(from + i)));                                  \
            if (i < n)                                                                             \
                V_STORE_SOME(to + i, n - i, v_act(&fixed, V_LOAD_SOME(from + i, n - i)));          \
        }                                                                                          \
        return;                                                                                    \
    }

#define AFFINE_LOOP(k)                                                                             \
    case k: {                                                                                      \
        const native_act fixed = {.kind = k, .a = act->a, .b = act->b};                            \
        for (i = 0; i + LANES <= n; i += LANES)                                                    \
            V_STORE(to + i,                                                                        \
                    V_FMA(v_act(&fixed, V_FMA(V_LOAD(from + i), before, plus)), after, and));      \
        if (i < n)                                                                                 \
            V_STORE_SOME(to + i, n - i,                                                            \
                         V_FMA(v_act(&fixed, V_FMA(V_LOAD_SOME(from + i, n - i), before, plus)),   \
                               after, and));                                                       \
        return;                                                                                    \
    }

static void act_loop(const native_act *act, const float *from, float *to, int64_t n);

/* In one pass for what networks have so; else in three. */
__attribute__((noinline)) static void affine_loop(const native_act *act, const float *from,
                                                  float *to, int64_t n)
{
    const vec before = V_ALL(act->scale[0]), plus = V_ALL(act->shift[0]);
    const vec after = V_ALL(act->scale[1]), and = V_ALL(act->shift[1]);
    native_act part = {.kind = NATIVE_ACT_LINEAR, .a = act->scale[0], .b = act->shift[0]};
    int64_t i;

    switch (act->inner) {
        AFFINE_LOOP(NATIVE_ACT_CLIP)
        AFFINE_LOOP(NATIVE_ACT_LEAKY)
        AFFINE_LOOP(NATIVE_ACT_HARD_SIGMOID)
        AFFINE_LOOP(NATIVE_ACT_HARD_SWISH)
        AFFINE_LOOP(NATIVE_ACT_SIGMOID)
        AFFINE_LOOP(NATIVE_ACT_SWISH)
    default:
        act_loop(&part, from, to, n);
        part = (native_act){.kind = act->inner, .a = act->a, .b = act->b};
        act_loop(&part, to, to, n);
        part = (native_act){.kind = NATIVE_ACT_LINEAR, .a = act->scale[1], .b = act->shift[1]};
        act_loop(&part, to, to, n);
    }
}

/* Rows of n that lie step apart: the kind is asked for once a tile, not once a row. */
__attribute__((noinline)) static void act_rows(const native_act *act, const float *from, float *to,
                                               int64_t n, int64_t rows, int64_t step)
{
    int64_t i, row;

    switch (act->kind) {
        ACT_LOOP(NATIVE_ACT_NONE)
        ACT_LOOP(NATIVE_ACT_CLIP)
        ACT_LOOP(NATIVE_ACT_LEAKY)
        ACT_LOOP(NATIVE_ACT_LINEAR)
        ACT_LOOP(NATIVE_ACT_HARD_SIGMOID)
        ACT_LOOP(NATIVE_ACT_HARD_SWISH)
        ACT_LOOP(NATIVE_ACT_SIGMOID)
        ACT_LOOP(NATIVE_ACT_SWISH)
        ACT_LOOP(NATIVE_ACT_TANH)
        ACT_LOOP(NATIVE_ACT_EXP)
        ACT_LOOP(NATIVE_ACT_GELU)
        ACT_LOOP(NATIVE_ACT_SQRT)
        ACT_LOOP(NATIVE_ACT_ABS)
        ACT_LOOP(NATIVE_ACT_SQUARE)
        ACT_LOOP(NATIVE_ACT_ERF)
        ACT_LOOP(NATIVE_ACT_GELU_TANH)
        ACT_LOOP(NATIVE_ACT_ELU)
        ACT_LOOP(NATIVE_ACT_CELU)
        ACT_LOOP(NATIVE_ACT_SELU)
        ACT_LOOP(NATIVE_ACT_SOFTPLUS)
        ACT_LOOP(NATIVE_ACT_MISH)
        ACT_LOOP(NATIVE_ACT_SOFTSIGN)
        ACT_LOOP(NATIVE_ACT_THRESHOLD)
        ACT_LOOP(NATIVE_ACT_SHRINK)
    case NATIVE_ACT_AFFINE:
        for (row = 0; row < rows; row++)
            affine_loop(act, from + row * step, to + row * step, n);
    }
}

static void act_loop(const native_act *act, const float *from, float *to, int64_t n)
{
    act_rows(act, from, to, n, 1, 0);
}

static inline vec v_binary(native_binary_kind kind, vec x, vec y)
{
    switch (kind) {
    case NATIVE_ADD:
        return V_ADD(x, y);
    case NATIVE_SUB:
        return V_SUB(x, y);
    case NATIVE_MUL:
        return V_MUL(x, y);
    case NATIVE_MASK:
        return V_LESS(V_ZERO(), x, y, V_ZERO());
    case NATIVE_PRELU:
        return V_LESS(x, V_ZERO(), V_MUL(x, y), x);
    default:
        return V_DIV(x, y);
    }
}

static inline vec v_some(const float *p, int step, int64_t i, int64_t n)
{
    if (step == 0)
        return V_ALL(*p);
    p += step == 1 ? i : 0;
    return n == LANES ? V_LOAD(p) : V_LOAD_SOME(p, n);
}

/* Kind and steps are constants of the caller. Four vectors are read before any is written. */
static inline __attribute__((always_inline)) void binary_of(native_binary_kind kind, const float *x,
                                                            int x_step, const float *y, int y_step,
                                                            float *to, int64_t n)
{
    int64_t i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec v[4];
        UNROLL for (int k = 0; k < 4; k++) v[k] = v_binary(
            kind, v_some(x, x_step, i + k * LANES, LANES), v_some(y, y_step, i + k * LANES, LANES));
        UNROLL for (int k = 0; k < 4; k++) V_STORE(to + i + k * LANES, v[k]);
    }
    for (; i + LANES <= n; i += LANES)
        V_STORE(to + i, v_binary(kind, v_some(x, x_step, i, LANES), v_some(y, y_step, i, LANES)));
    if (i < n)
        V_STORE_SOME(to + i, n - i,
                     v_binary(kind, v_some(x, x_step, i, n - i), v_some(y, y_step, i, n - i)));
}

#define BINARY_LOOP(k)                                                                             \
    case k:                                                                                        \
        if (y_step == 2)                                                                           \
            binary_of(k, x, 1, y, 2, to, n);                                                       \
        else if (x_step == 2)                                                                      \
            binary_of(k, x, 2, y, 1, to, n);                                                       \
        else if (x_step && y_step)                                                                 \
            binary_of(k, x, 1, y, 1, to, n);                                                       \
        else if (x_step)                                                                           \
            binary_of(k, x, 1, y, 0, to, n);                                                       \
        else                                                                                       \
            binary_of(k, x, 0, y, y_step, to, n);                                                  \
        return;

static void binary_loop(native_binary_kind kind, const float *x, int x_step, const float *y,
                        int y_step, float *to, int64_t n)
{
    switch (kind) {
        BINARY_LOOP(NATIVE_ADD)
        BINARY_LOOP(NATIVE_SUB)
        BINARY_LOOP(NATIVE_MUL)
        BINARY_LOOP(NATIVE_DIV)
        BINARY_LOOP(NATIVE_MASK)
        BINARY_LOOP(NATIVE_PRELU)
    }
}

/* ---- tiles ---- */

static const float padding[LANES];

/*
 * A tile that is not whole, or pooled, or scaled, begins and ends here, with its sums in memory:
 * sums[b * pixels + i].
 */
__attribute__((noinline)) static void begin_slowly(const native_tile *a, int blocks, int pixels,
                                                   vec *sums)
{
    /* The residual may lie in the tile's own memory, which holds sums from the first call on. */
    const float *from = a->first ? a->residual : a->to;
    int b, i;

    for (b = 0; b < blocks; b++) {
        const uint32_t some = b == blocks - 1 && a->last_lanes ? a->last_lanes : LANES;
        const vec bias = a->first && a->bias ? V_LOAD(a->bias + b * LANES) : V_ZERO();
        for (i = 0; i < pixels; i++) {
            const float *p = from ? from + i * a->to_pixel + b * a->to_block : NULL;
            vec v = !p ? V_ZERO() : some < LANES ? V_LOAD_SOME(p, some) : V_LOAD(p);
            sums[b * pixels + i] = V_ADD(v, bias);
        }
    }
}

static inline vec end_one(const native_tile *a, vec v)
{
    if (!a->last)
        return v;
    v = V_MUL(v, V_ALL(a->scale));
    return a->act.kind == NATIVE_ACT_CLIP ? v_clip(v, a->act.a, a->act.b) : v;
}

__attribute__((noinline)) static void end_slowly(const native_tile *a, int blocks, int pixels,
                                                 const vec *sums)
{
    int b, i;

    for (b = 0; b < blocks; b++, sums += pixels) {
        const uint32_t some = b == blocks - 1 && a->last_lanes ? a->last_lanes : LANES;
        float *p = a->to + b * a->to_block;
        for (i = 0; a->pooled && i + 3 < pixels; i += 4) {
            vec v = v_greater_of_two(v_greater(sums[i], sums[i + 1]), sums[i + 2], sums[i + 3]);
            V_STORE(p + i / 4 * a->to_pixel, end_one(a, v));
        }
        for (i = 0; !a->pooled && i < pixels; i++) {
            if (some < LANES)
                V_STORE_SOME(p + i * a->to_pixel, some, end_one(a, sums[i]));
            else
                V_STORE(p + i * a->to_pixel, end_one(a, sums[i]));
        }
    }
}

/* Other functions than clip run over the stored tile, while it is in the first cache. */
__attribute__((noinline)) static void finish_stored(const native_tile *a, int blocks, int pixels)
{
    int64_t n = (int64_t)blocks * LANES - (a->last_lanes ? LANES - a->last_lanes : 0);
    int i, b;

    if (a->act.kind <= NATIVE_ACT_CLIP || !a->last)
        return;
    if (a->to_pixel == LANES && !a->last_lanes) { /* of a block they follow each other */
        for (b = 0; b < blocks; b++)
            act_loop(&a->act, a->to + b * a->to_block, a->to + b * a->to_block,
                     (int64_t)pixels * LANES);
        return;
    }
    if (a->to_block == LANES) {
        act_rows(&a->act, a->to, a->to, n, pixels, a->to_pixel);
        return;
    }
    for (i = 0; i < pixels; i++) {
        float *p = a->to + i * a->to_pixel;
        for (b = 0; b < blocks; b++)
            act_loop(&a->act, p + b * a->to_block, p + b * a->to_block, LANES);
    }
}

#define EACH(B, P) UNROLL for (int b = 0; b < B; b++) UNROLL for (int i = 0; i < P; i++)

/* The memory form has a copy of the sums, or they would not stay in registers. */
#define TILE_BEGIN(B, P)                                                                           \
    const bool slow = a->last_lanes || a->pooled || a->scale != 1.0f;                              \
    const float *w = a->weights;                                                                   \
    vec sum[B][P];                                                                                 \
    int g, t, c;                                                                                   \
    if (slow) {                                                                                    \
        vec copy[B * P];                                                                           \
        begin_slowly(a, B, P, copy);                                                               \
        EACH(B, P) sum[b][i] = copy[b * P + i];                                                    \
    } else if (!a->first) {                                                                        \
        EACH(B, P) sum[b][i] = V_LOAD(a->to + i * a->to_pixel + b * a->to_block);                  \
    } else {                                                                                       \
        EACH(B, P) sum[b][i] = a->bias ? V_LOAD(a->bias + b * LANES) : V_ZERO();                   \
        if (a->residual) {                                                                         \
            const float *more = a->residual;                                                       \
            EACH(B, P)                                                                             \
            sum[b][i] = V_ADD(V_LOAD(more + i * a->to_pixel + b * a->to_block), sum[b][i]);        \
        }                                                                                          \
    }

#define TILE_END(B, P)                                                                             \
    if (slow) {                                                                                    \
        vec copy[B * P];                                                                           \
        EACH(B, P) copy[b * P + i] = sum[b][i];                                                    \
        end_slowly(a, B, P, copy);                                                                 \
    } else if (a->last && a->act.kind == NATIVE_ACT_CLIP) {                                        \
        const vec low = V_ALL(a->act.a), high = V_ALL(a->act.b);                                   \
        EACH(B, P)                                                                                 \
        V_STORE(a->to + i * a->to_pixel + b * a->to_block, V_MIN(high, V_MAX(low, sum[b][i])));    \
    } else {                                                                                       \
        EACH(B, P) V_STORE(a->to + i * a->to_pixel + b * a->to_block, sum[b][i]);                  \
    }                                                                                              \
    if (a->act.kind > NATIVE_ACT_CLIP)                                                             \
        finish_stored(a, B, P);

#define TILE_TERM(B, P, index)                                                                     \
    {                                                                                              \
        vec x[B];                                                                                  \
        UNROLL for (int b = 0; b < B; b++) x[b] = V_LOAD(w + b * LANES);                           \
        w += step;                                                                                 \
        UNROLL for (int i = 0; i < P; i++)                                                         \
        {                                                                                          \
            vec s = V_ALL(from[i][index]);                                                         \
            UNROLL for (int b = 0; b < B; b++) sum[b][i] = V_FMA(x[b], s, sum[b][i]);              \
        }                                                                                          \
    }

/*
 * bool SUM_TAP(blocks, pixels, w, p, apart, sum) adds the LANES channels of one tap to sum, which
 * has the pixels of the first block, then those of the next, or says that it has no code for such a
 * tile. Weights are dense from w on, pixels `apart` floats from each other from p on. An ISA's file
 * may define it.
 */
#ifdef SUM_TAP
enum { MOST_EVEN = 64 };

/* A bit for each of the first taps whose pixels are all there, at one distance. */
static inline uint64_t even_taps(const native_tile *a, const int blocks, const int pixels)
{
    const int32_t *o = a->offsets;
    uint64_t even = 0;
    int t;

    if (pixels < 2 || a->weights_step != (int64_t)blocks * LANES)
        return 0;
    for (t = 0; t < a->n_taps && t < MOST_EVEN; t++, o += pixels) {
        bool is = o[0] >= 0 && o[pixels - 1] >= 0;
        UNROLL for (int i = 2; i < pixels; i++) is &= o[i] - o[i - 1] == o[1] - o[0];
        even |= (uint64_t)is << t;
    }
    return even;
}
#define IS_EVEN(t) ((t) < MOST_EVEN && (even >> (t)&1) != 0)
#else
#define even_taps(a, blocks, pixels)            0
#define IS_EVEN(t)                              ((void)even, false)
#define SUM_TAP(blocks, pixels, w, p, apart, x) false
#endif

#define TILE(B, P)                                                                                 \
    static void blocked_##B##_##P(const native_tile *a)                                            \
    {                                                                                              \
        const float *plane = a->source;                                                            \
        const char *ahead = a->ahead;                                                              \
        const int64_t step = a->weights_step;                                                      \
        const uint64_t even = even_taps(a, B, P);                                                  \
        TILE_BEGIN(B, P)                                                                           \
        for (g = 0; g < a->n_groups; g++, plane += a->plane) {                                     \
            const int32_t *offset = a->offsets;                                                    \
            for (t = 0; t < a->n_taps; t++, offset += P) {                                         \
                const float *from[P];                                                              \
                if (offset[0] == NATIVE_ALL_PADDING) {                                             \
                    w += LANES * step;                                                             \
                    ahead += a->ahead_bytes;                                                       \
                    continue;                                                                      \
                }                                                                                  \
                for (c = 0; c < a->ahead_bytes; c += 64)                                           \
                    __builtin_prefetch(ahead + c, 0, 2);                                           \
                ahead += a->ahead_bytes;                                                           \
                if (IS_EVEN(t) &&                                                                  \
                    SUM_TAP(B, P, w, plane + offset[0], offset[P > 1] - offset[0], &sum[0][0])) {  \
                    w += LANES * step;                                                             \
                    continue;                                                                      \
                }                                                                                  \
                UNROLL for (int i = 0; i < P; i++) from[i] =                                       \
                    offset[i] < 0 ? padding : plane + offset[i];                                   \
                _Pragma("GCC unroll 2") for (c = 0; c < LANES; c++) TILE_TERM(B, P, c)             \
            }                                                                                      \
        }                                                                                          \
        TILE_END(B, P)                                                                             \
    }                                                                                              \
    static void plain_##B##_##P(const native_tile *a)                                              \
    {                                                                                              \
        const float *from[P];                                                                      \
        const int64_t step = a->weights_step;                                                      \
        TILE_BEGIN(B, P)                                                                           \
        (void)g;                                                                                   \
        (void)c;                                                                                   \
        UNROLL for (int i = 0; i < P; i++) from[i] = a->source + a->offsets[i];                    \
        for (t = 0; t < a->n_taps; t++) {                                                          \
            const int64_t tap = a->taps[t];                                                        \
            TILE_TERM(B, P, tap)                                                                   \
        }                                                                                          \
        TILE_END(B, P)                                                                             \
    }

SIZES_1(TILE)
SIZES_2(TILE)
SIZES_3(TILE)
#ifdef SIZES_4
SIZES_4(TILE)
#endif

#include "isa_few_rows.h"

/* ---- windows ---- */

/* Rows of the window that lie inside, [low, high) of the kernel. */
static inline void inside(int64_t at, int64_t size, int64_t kernel, int64_t dilation, int64_t *low,
                          int64_t *high)
{
    *low = at < 0 ? (-at + dilation - 1) / dilation : 0;
    *high = kernel;
    if (at + (kernel - 1) * dilation >= size)
        *high = (size - at + dilation - 1) / dilation;
}

/* The outputs [first, last) of a row, whose windows have all their columns. */
static inline void inside_columns(const native_row *r, int64_t *first, int64_t *last)
{
    const int64_t reach = (r->kernel[1] - 1) * r->dilation[1], stride = r->stride[1];

    for (*first = 0; *first < r->out_width && r->left + *first * stride < 0;)
        (*first)++;
    /* the first one whose window leaves at the right */
    *last = r->width - 1 - reach - r->left;
    *last = *last < 0 ? 0 : (stride == 1 ? *last : *last / stride) + 1;
    if (*last > r->out_width)
        *last = r->out_width;
    if (*last < *first)
        *last = *first;
}

#include "isa_depthwise.h"
#include "isa_few_outs.h"

static void mean_of(const float *from, int64_t n, float *to)
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
    V_STORE(to, V_DIV(V_ADD(V_ADD(a, b), V_ADD(c, d)), V_ALL((float)n)));
}

/* ---- rows of matrices ---- */

static inline float sum_of(const float *x, int64_t n, float less, bool square)
{
    vec a = V_ZERO(), b = V_ZERO(), m = V_ALL(less);
    int64_t i;

    for (i = 0; i + 2 * LANES <= n; i += 2 * LANES) {
        vec u = V_SUB(V_LOAD(x + i), m), v = V_SUB(V_LOAD(x + i + LANES), m);
        a = square ? V_FMA(u, u, a) : V_ADD(a, u);
        b = square ? V_FMA(v, v, b) : V_ADD(b, v);
    }
    for (; i < n; i += LANES) {
        /* lanes that are not there are `less`, and count as 0 */
        vec u = n - i < LANES ? V_LOAD_SOME(x + i, n - i) : V_LOAD(x + i);
        u = V_SUB(u, n - i < LANES ? V_LOAD_SOME_OF(m, n - i) : m);
        a = square ? V_FMA(u, u, a) : V_ADD(a, u);
    }
    return V_SUM(V_ADD(a, b));
}

static void layer_norm(const float *x, const float *scale, const float *shift, float epsilon,
                       float *to, int64_t n)
{
    float mean = sum_of(x, n, 0.0f, false) / (float)n;
    float variance = sum_of(x, n, mean, true) / (float)n;
    vec k = V_ALL(1.0f / sqrtf(variance + epsilon)), m = V_ALL(mean);
    int64_t i;

    for (i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v = V_MUL(V_SUB(v_some(x, 1, i, some), m), k);
        if (scale)
            v = V_MUL(v, v_some(scale, 1, i, some));
        if (shift)
            v = V_ADD(v, v_some(shift, 1, i, some));
        if (some == LANES)
            V_STORE(to + i, v);
        else
            V_STORE_SOME(to + i, some, v);
    }
}

/* The first n lanes, up to all. */
static inline void store_some(float *to, int64_t n, vec v)
{
    if (n == LANES)
        V_STORE(to, v);
    else
        V_STORE_SOME(to, n, v);
}

#include "isa_resize.h"
#include "isa_transpose.h"

#include "isa_elementwise.h"
#include "isa_pool.h"
#include "isa_fold.h"
#include "isa_draw.h"
#include "isa_softmax.h"
#include "isa_recurrent.h"
#include "isa_linear.h"
#include "isa_svm.h"
#include "isa_boxes.h"

#include "isa_rows_grad.h"
#include "isa_norm.h"
#include "isa_train.h"
#include "isa_pooled.h"
#include "isa_winograd.h"
#include "isa_winograd_grad.h"

/* ---- the table ---- */

#define ROW_BLOCKED(B, P)     [B][P] = blocked_##B##_##P,
#define ROW_PLAIN(B, P)       [B][P] = plain_##B##_##P,
#define ROW_STRAIGHT(B, P)    [B][P] = straight_##B##_##P,
#define ROW_OUTER(B, P)       [B][P] = outer_##B##_##P,
#define ROW_OUTER_APART(B, P) [B][P] = outer_apart_##B##_##P,
#ifndef SIZES_4
#define SIZES_4(X)
#endif

const native_isa ISA_TABLE = {
    .name = ISA_NAME,
    .lanes = LANES,
    .max_pixels = MAX_PIXELS,
    .blocked = {SIZES_1(ROW_BLOCKED) SIZES_2(ROW_BLOCKED) SIZES_3(ROW_BLOCKED)
                    SIZES_4(ROW_BLOCKED)},
    .plain = {SIZES_1(ROW_PLAIN) SIZES_2(ROW_PLAIN) SIZES_3(ROW_PLAIN) SIZES_4(ROW_PLAIN)},
    .straight = {SIZES_1(ROW_STRAIGHT) SIZES_2(ROW_STRAIGHT) SIZES_3(ROW_STRAIGHT)
                     SIZES_4(ROW_STRAIGHT)},
    .few_rows = {[NATIVE_WEIGHTS_F32] = {FEW_ROWS_SIZES(ROW_FEW_ROWS_F32)},
                 [NATIVE_WEIGHTS_F16] = {FEW_ROWS_SIZES(ROW_FEW_ROWS_F16)},
                 [NATIVE_WEIGHTS_BF16] = {FEW_ROWS_SIZES(ROW_FEW_ROWS_BF16)}},
    .few_blocks = FEW_ROWS_BLOCKS,
    .outer = {SIZES_1(ROW_OUTER) SIZES_2(ROW_OUTER) SIZES_3(ROW_OUTER) SIZES_4(ROW_OUTER)},
    .outer_apart = {SIZES_1(ROW_OUTER_APART) SIZES_2(ROW_OUTER_APART) SIZES_3(ROW_OUTER_APART)
                        SIZES_4(ROW_OUTER_APART)},
    .add_vectors = add_vectors,
    .pool_grad = pool_grad,
    .winograd_back = winograd_back,
    .winograd_taps = winograd_taps,
    .are_finite = are_finite,
    .norm_moments = norm_moments,
    .norm_plane = norm_plane,
    .norm_grad_sums = norm_grad_sums,
    .norm_grad_plane = norm_grad_plane,
    .depthwise_row = depthwise_row,
    .depthwise_row_apart = depthwise_row_apart,
    .depthwise_row_of_blocks = depthwise_row_of_blocks,
    .few_outs_row = few_outs_row,
    .pool_row = pool_row,
    .pool_plain = pool_plain,
    .weigh_rows = weigh_rows,
    .weigh_pixels = weigh_pixels,
    .mean = mean_of,
    .act = act_loop,
    .binary = binary_loop,
    .layer_norm = layer_norm,
    .softmax = softmax,
    .softmax_rows = softmax_rows,
    .softmax_columns = softmax_columns,
    .log_softmax = log_softmax,
    .log_softmax_columns = log_softmax_columns,
    .softmax_grad = softmax_grad,
    .layer_norm_grad = layer_norm_grad,
    .transpose = transpose,
    .winograd_weights = winograd_weights,
    .winograd_source = {winograd_source_2, winograd_source_4, winograd_source_3,
                        winograd_source_3_BACK},
    .winograd_result = {winograd_result_2, winograd_result_4, winograd_result_3,
                        winograd_result_3_BACK},
    .pooled = &pooled_table,
    .folds = &fold_table,
    .draws = &draw_table,
    .recurrent_step = recurrent_step,
    .svm_kernels = svm_kernels,
    .svm_sum = svm_sum,
    .linear_sums = linear_sums,
    .boxes_near = boxes_near,
    .elementwise = elementwise_rows,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_pooled.h: convolutions with a maximum after them, and their gradients; a part of
 * isa_kernels.h. pooled.h says what lies where.
 *
 * One output of each window has a gradient, at most, and with a ReLU about half of the windows have
 * none. So the loops go over what there is: for the weights, channel by channel over a bit mask of
 * windows, with the sums of the channel in registers; for the input, window by window and for each
 * place in it over a list of the channels whose maximum was there, with the sums of the pixels
 * around the place in registers. Each product reads one vector and one number, which is what bounds
 * them: a core loads two vectors in the time of two products.
 *
 * What is not finite is not hidden by the products that are left out: 0 times each number of the
 * other side is added where one of these is not finite, and NaN among gradients is no zero. So what
 * is not finite with the dense gradient is not here, though an infinity may become NaN.
 *
 * Sums go over windows in order, one product after the other, whatever the sizes of the parts in
 * registers are.
 */

/* ---- bytes, masks and lists ---- */

static inline void store_codes(uint8_t *to, vec codes)
{
#if LANES == 16
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(codes)));
#else
    float numbers[LANES];
    V_STORE(numbers, codes);
    for (int l = 0; l < LANES; l++)
        to[l] = (uint8_t)numbers[l];
#endif
}

/* Sets a bit in masks[lane] where the gradient is not 0. */
static inline void mark_nonzeros(const float *gradient, uint32_t bit, uint32_t *masks)
{
#if LANES == 16
    const __mmask16 there = _mm512_cmp_ps_mask(V_LOAD(gradient), V_ZERO(), _CMP_NEQ_UQ);
    const __m512i m = _mm512_loadu_si512(masks);
    _mm512_storeu_si512(masks, _mm512_mask_or_epi32(m, there, m, _mm512_set1_epi32((int)bit)));
#else
    for (int l = 0; l < LANES; l++)
        masks[l] |= gradient[l] != 0.0f ? bit : 0;
#endif
}

/* Where the pixel of each lane lies: to[lane] = place + inside[code] */
static inline void find_pixels(const native_sparse *g, const uint8_t *codes, int32_t place,
                               int32_t *to)
{
    int l;
#if LANES == 16
    if (g->area <= 16) {
        const __mmask16 some = (__mmask16)((1u << g->area) - 1);
        const __m512i table = _mm512_maskz_loadu_epi32(some, g->inside);
        const __m512i at =
            _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)codes));
        _mm512_storeu_si512(
            to, _mm512_add_epi32(_mm512_set1_epi32(place), _mm512_permutexvar_epi32(at, table)));
        return;
    }
#endif
    for (l = 0; l < LANES; l++)
        to[l] = place + g->inside[codes[l]];
}

/*
 * Appends those of the first lanes whose code is this one and whose gradient is not 0; 16 more may
 * be written.
 */
static inline int64_t list_lanes(const float *gradient, const uint8_t *codes, int code, int some,
                                 int32_t first, int32_t step, int32_t *outs, float *values)
{
#if LANES == 16
    const vec v = V_LOAD(gradient);
    const __m512i at = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)codes));
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i out = _mm512_add_epi32(_mm512_set1_epi32(first),
                                         _mm512_mullo_epi32(count, _mm512_set1_epi32(step)));
    const __mmask16 all = (__mmask16)((1u << some) - 1);
    const __mmask16 there = _mm512_mask_cmpeq_epi32_mask(
        _mm512_mask_cmp_ps_mask(all, v, V_ZERO(), _CMP_NEQ_UQ), at, _mm512_set1_epi32(code));
    _mm512_storeu_si512(outs, _mm512_maskz_compress_epi32(there, out));
    V_STORE(values, _mm512_maskz_compress_ps(there, v));
    return __builtin_popcount(there);
#else
    int64_t n = 0;
    for (int l = 0; l < some; l++) {
        outs[n] = first + l * step;
        values[n] = gradient[l];
        n += (codes[l] == code) & (gradient[l] != 0.0f);
    }
    return n;
#endif
}

static inline bool all_finite(const float *p, int64_t n)
{
    vec a = V_ZERO(), b = V_ZERO();
    int64_t i;

    for (i = 0; i + 2 * LANES <= n; i += 2 * LANES) {
        a = V_FMA(V_LOAD(p + i), V_ZERO(), a);
        b = V_FMA(V_LOAD(p + i + LANES), V_ZERO(), b);
    }
    a = V_ADD(a, b);
    if (V_HAS_NAN(a))
        return false;
    for (; i < n; i++)
        if (!(p[i] - p[i] == 0.0f))
            return false;
    return true;
}

/* ---- maxima and their codes ---- */

/* A NaN is the maximum, the first of them, as the naive backend has it. */
__attribute__((noinline)) static void pool_slowly(const native_pool_end *e, const float *sums,
                                                  float *best, float *code)
{
    int i, l;

    for (l = 0; l < LANES; l++) {
        best[l] = sums[l];
        code[l] = 0.0f;
        for (i = 1; i < e->area; i++) {
            float v = sums[i * LANES + l];
            if (v > best[l] || (isnan(v) && !isnan(best[l]))) {
                best[l] = v;
                code[l] = (float)i;
            }
        }
    }
}

static inline __attribute__((always_inline)) void pool_windows(const native_pool_end *e, int area)
{
    const vec bias = e->bias ? V_LOAD(e->bias) : V_ZERO();
    const vec low = V_ALL(e->clip ? e->low : -INFINITY);
    const vec high = V_ALL(e->clip ? e->high : INFINITY);
    const float *sums = e->sums;
    int64_t w;
    int i;

    for (w = 0; w < e->windows; w++, sums += area * LANES) {
        vec best = V_LOAD(sums), code = V_ZERO(), check = V_MUL(best, V_ZERO());
        _Pragma("GCC unroll 9") for (i = 1; i < area; i++)
        {
            const vec v = V_LOAD(sums + i * LANES);
            code = V_LESS(best, v, V_ALL((float)i), code);
            best = V_LESS(best, v, v, best);
            check = V_FMA(v, V_ZERO(), check);
        }
        if (V_HAS_NAN(check)) {
            float slow_best[LANES], slow_code[LANES];
            pool_slowly(e, sums, slow_best, slow_code);
            best = V_LOAD(slow_best);
            code = V_LOAD(slow_code);
        }
        V_STORE(e->to + w * LANES, V_MIN(high, V_MAX(low, V_ADD(best, bias))));
        store_codes(e->codes + w * LANES, code);
    }
}

static void pool_end(const native_pool_end *e)
{
    if (e->area == 4)
        pool_windows(e, 4);
    else
        pool_windows(e, e->area);
}

/* ---- gradients of weights ---- */

/* All of them, or sums would not stay in registers. */
#define UNROLL_SUMS _Pragma("GCC unroll 32")

typedef struct filter_job {
    const native_sparse_filter *f;
    const uint32_t *masks;  /* [word][out] */
    const int32_t *offsets; /* [block][window][lane] */
    int64_t wide;           /* outs in whole vectors */
} filter_job;

/* Rows one by one: compilers give up on more than one loop around. */
#define ROWS_1(X, C, B) X(0, C, B)
#define ROWS_3(X, C, B) ROWS_1(X, C, B) X(1, C, B) X(2, C, B)
#define ROWS_5(X, C, B) ROWS_3(X, C, B) X(3, C, B) X(4, C, B)

#define FILTER_ROW(r, C, B)                                                                        \
    {                                                                                              \
        UNROLL for (int c = 0; c < C; c++)                                                         \
        {                                                                                          \
            sum[r * C + c] = V_FMA(V_LOAD(p + c * LANES), v, sum[r * C + c]);                      \
            if (B > 1)                                                                             \
                more[r * C + c] = V_FMA(V_LOAD(other + c * LANES), v, more[r * C + c]);            \
        }                                                                                          \
        p += row;                                                                                  \
        other += row;                                                                              \
    }

/*
 * Rows [ky, ky + R) and columns [kx, kx + C) of the kernel, for B blocks of the source, 1 or 2.
 * Several rows are a whole kernel.
 */
#define SPARSE_FILTER(R, C, B)                                                                     \
    static void sparse_filter_##R##_##C##_##B(const filter_job *j, int64_t block, int64_t ky,      \
                                              int64_t kx)                                          \
    {                                                                                              \
        const native_sparse *g = &j->f->g;                                                         \
        const int64_t row = g->row, plane = g->plane;                                              \
        const int64_t taps = R > 1 ? R * C : g->kernel[0] * g->kernel[1];                          \
        const int64_t in_all = g->ins_blocks * taps * LANES;                                       \
        const float *source = j->f->source + block * plane + ky * row + kx * LANES;                \
        float *to = j->f->to + (block * taps + ky * g->kernel[1] + kx) * LANES;                    \
        int64_t out, word;                                                                         \
        for (out = 0; out < g->outs; out++, to += in_all) {                                        \
            const int64_t at = out / LANES * g->windows * LANES + out % LANES;                     \
            vec sum[R * C], more[R * C];                                                           \
            UNROLL_SUMS for (int i = 0; i < R * C; i++)                                            \
            {                                                                                      \
                sum[i] = V_LOAD(to + i * LANES);                                                   \
                more[i] = B > 1 ? V_LOAD(to + (R * C + i) * LANES) : V_ZERO();                     \
                __builtin_prefetch(to + in_all + i * LANES, 1);                                    \
                __builtin_prefetch(to + in_all + ((B - 1) * R * C + i) * LANES, 1);                \
            }                                                                                      \
            for (word = 0; word * 32 < g->windows; word++) {                                       \
                uint32_t m = j->masks[word * j->wide + out];                                       \
                const float *gradient = g->gradient + at + word * 32 * LANES;                      \
                const int32_t *offsets = j->offsets + at + word * 32 * LANES;                      \
                while (m) {                                                                        \
                    const int w = __builtin_ctz(m) * LANES;                                        \
                    const vec v = V_ALL(gradient[w]);                                              \
                    const float *p = source + offsets[w], *other = p + plane;                      \
                    m &= m - 1;                                                                    \
                    ROWS_##R(FILTER_ROW, C, B)                                                     \
                }                                                                                  \
            }                                                                                      \
            UNROLL_SUMS for (int i = 0; i < R * C; i++)                                            \
            {                                                                                      \
                V_STORE(to + i * LANES, sum[i]);                                                   \
                if (B > 1)                                                                         \
                    V_STORE(to + (R * C + i) * LANES, more[i]);                                    \
            }                                                                                      \
        }                                                                                          \
    }

enum { SPARSE_LINE = 7 };

#define FILTER_SIZES(X)                                                                            \
    X(1, 1, 1) X(1, 2, 1) X(1, 3, 1) X(1, 4, 1) X(1, 5, 1) X(1, 6, 1) X(1, 7, 1)

#define ROW_FILTER(R, C, B) [C] = sparse_filter_##R##_##C##_##B,
FILTER_SIZES(SPARSE_FILTER)
SPARSE_FILTER(3, 3, 1)
#if LANES == 16
SPARSE_FILTER(3, 3, 2)
SPARSE_FILTER(5, 5, 1)
#endif

static void filter_block(const filter_job *j, int64_t block)
{
    static void (*const lines[SPARSE_LINE + 1])(const filter_job *, int64_t, int64_t,
                                                int64_t) = {FILTER_SIZES(ROW_FILTER)};
    const int64_t rows = j->f->g.kernel[0], columns = j->f->g.kernel[1];
    int64_t ky, kx;

    if (rows == 3 && columns == 3) {
        sparse_filter_3_3_1(j, block, 0, 0);
        return;
    }
#if LANES == 16
    if (rows == 5 && columns == 5) {
        sparse_filter_5_5_1(j, block, 0, 0);
        return;
    }
#endif
    for (ky = 0; ky < rows; ky++) {
        for (kx = 0; kx < columns; kx += SPARSE_LINE)
            lines[columns - kx < SPARSE_LINE ? columns - kx : SPARSE_LINE](j, block, ky, kx);
    }
}

/* 0 times every number that a tap of an output of the convolution reads: 0 or NaN. */
static void add_zeros(const native_sparse_filter *f)
{
    const native_sparse *g = &f->g;
    const int64_t columns = g->kernel[1], taps = g->kernel[0] * columns;
    int64_t block, tap, y, x, out;

    for (block = 0; block < g->ins_blocks; block++) {
        for (tap = 0; tap < taps; tap++) {
            const float *p =
                f->source + block * g->plane + tap / columns * g->row + tap % columns * LANES;
            float *to = f->to + (block * taps + tap) * LANES;
            vec zero = V_ZERO();
            for (y = 0; y < g->rows; y++)
                for (x = 0; x < g->columns; x++)
                    zero = V_FMA(V_LOAD(p + y * g->step_y + x * g->step_x), V_ZERO(), zero);
            for (out = 0; out < g->outs; out++, to += g->ins_blocks * taps * LANES)
                V_STORE(to, V_ADD(V_LOAD(to), zero));
        }
    }
}

/*
 * For 32 channels of 13 x 13, 64 outputs and 25 windows of which 70 % have a gradient: 10.9 us a
 * sample on a Xeon of 2.5 GHz with AVX-512, where a hand-written loop for this one shape took 9.3.
 */
static void sparse_filter(const native_sparse_filter *f)
{
    const native_sparse *g = &f->g;
    const int64_t blocks = (g->outs + LANES - 1) / LANES, wide = blocks * LANES;
    const int64_t words = (g->windows + 31) / 32;
    uint32_t *masks = g->scratch;
    int32_t *offsets = (int32_t *)(masks + words * wide);
    const filter_job job = {f, masks, offsets, wide};
    int64_t b, w;

    memset(masks, 0, (size_t)(words * wide) * sizeof *masks);
    for (b = 0; b < blocks; b++) {
        for (w = 0; w < g->windows; w++) {
            const int64_t at = (b * g->windows + w) * LANES;
            mark_nonzeros(g->gradient + at, (uint32_t)1 << w % 32,
                          masks + w / 32 * wide + b * LANES);
            find_pixels(g, g->codes + at, g->places[w], offsets + at);
        }
    }
    for (b = 0; b < g->ins_blocks; b++) {
#if LANES == 16
        if (g->kernel[0] == 3 && g->kernel[1] == 3 && b + 1 < g->ins_blocks) {
            sparse_filter_3_3_2(&job, b++, 0, 0);
            continue;
        }
#endif
        filter_block(&job, b);
    }
    if (!all_finite(f->source, g->ins_blocks * g->plane))
        add_zeros(f);
}

/* ---- gradients of inputs ---- */

typedef struct input_job {
    const native_sparse *g;
    const int32_t *counts; /* [window][code] */
    const int32_t *outs;   /* floats from the first channel's weights to those of each */
    const float *values;
    const float *weights; /* of the block: [out][tap][lane] */
    float *to;
} input_job;

/* Rows [ky, ky + R) and columns [kx, kx + C) of the kernel. Several rows are a whole kernel. */
#define SPARSE_INPUT(R, C)                                                                         \
    static void sparse_input_##R##_##C(const input_job *j, int64_t ky, int64_t kx)                 \
    {                                                                                              \
        const native_sparse *g = j->g;                                                             \
        const int64_t row = g->row;                                                                \
        const float *weights = j->weights + (ky * g->kernel[1] + kx) * LANES, *values = j->values; \
        const int32_t *outs = j->outs, *counts = j->counts;                                        \
        int64_t w, n;                                                                              \
        int a;                                                                                     \
        for (w = 0; w < g->windows; w++) {                                                         \
            float *corner = j->to + g->places[w] + ky * row + kx * LANES;                          \
            for (a = 0; a < g->area; a++) {                                                        \
                float *to = corner + g->inside[a];                                                 \
                vec sum[R * C];                                                                    \
                UNROLL_SUMS for (int i = 0; i < R * C; i++) sum[i] = V_ZERO();                     \
                for (n = *counts++; n > 0; n--) {                                                  \
                    const vec v = V_ALL(*values++);                                                \
                    const float *k = weights + *outs++;                                            \
                    UNROLL_SUMS for (int i = 0; i < R * C; i++) sum[i] =                           \
                        V_FMA(V_LOAD(k + i * LANES), v, sum[i]);                                   \
                }                                                                                  \
                UNROLL_SUMS for (int i = 0; i < R * C; i++)                                        \
                {                                                                                  \
                    float *p = to + i / C * row + i % C * LANES;                                   \
                    V_STORE(p, V_ADD(V_LOAD(p), sum[i]));                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define INPUT_SIZES(X)  X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(1, 7)
#define ROW_INPUT(R, C) [C] = sparse_input_##R##_##C,
INPUT_SIZES(SPARSE_INPUT)
SPARSE_INPUT(3, 3)
#if LANES == 16
SPARSE_INPUT(5, 5)
#endif

static void input_block(const input_job *j)
{
    static void (*const lines[SPARSE_LINE + 1])(const input_job *, int64_t,
                                                int64_t) = {INPUT_SIZES(ROW_INPUT)};
    const int64_t rows = j->g->kernel[0], columns = j->g->kernel[1];
    int64_t ky, kx;

    if (rows == 3 && columns == 3) {
        sparse_input_3_3(j, 0, 0);
        return;
    }
#if LANES == 16
    if (rows == 5 && columns == 5) {
        sparse_input_5_5(j, 0, 0);
        return;
    }
#endif
    for (ky = 0; ky < rows; ky++) {
        for (kx = 0; kx < columns; kx += SPARSE_LINE)
            lines[columns - kx < SPARSE_LINE ? columns - kx : SPARSE_LINE](j, ky, kx);
    }
}

/* Each output of the convolution has 0 times the weights of every channel, at least. */
static void spread_zeros(const input_job *j)
{
    const native_sparse *g = j->g;
    const int64_t columns = g->kernel[1], taps = g->kernel[0] * columns;
    int64_t tap, out, y, x;

    for (tap = 0; tap < taps; tap++) {
        float *to = j->to + tap / columns * g->row + tap % columns * LANES;
        vec zero = V_ZERO();
        for (out = 0; out < g->outs; out++)
            zero = V_FMA(V_LOAD(j->weights + (out * taps + tap) * LANES), V_ZERO(), zero);
        for (y = 0; y < g->rows; y++) {
            for (x = 0; x < g->columns; x++) {
                float *p = to + y * g->step_y + x * g->step_x;
                V_STORE(p, V_ADD(V_LOAD(p), zero));
            }
        }
    }
}

/* Lists by window and code, in order of channels. */
static void list_gradients(const native_sparse *g, int32_t step, int32_t *counts, int32_t *outs,
                           float *values)
{
    const int64_t blocks = (g->outs + LANES - 1) / LANES;
    int64_t w, b;
    int a;

    for (w = 0; w < g->windows; w++) {
        for (a = 0; a < g->area; a++) {
            int64_t n = 0;
            for (b = 0; b < blocks; b++) {
                const int64_t at = (b * g->windows + w) * LANES;
                const int some = (int)(g->outs - b * LANES < LANES ? g->outs - b * LANES : LANES);
                n += list_lanes(g->gradient + at, g->codes + at, a, some,
                                (int32_t)(b * LANES) * step, step, outs + n, values + n);
            }
            *counts++ = (int32_t)n;
            outs += n;
            values += n;
        }
    }
}

/*
 * One block of the input at a time, whose weights stay in the second cache, or the first where it
 * is large. Two at a time share the lists, and were slower: 15.2 us against 12.0 for the sample
 * that sparse_filter was measured with; the hand-written loop took 10.8.
 */
static void sparse_input(const native_sparse_input *f)
{
    const native_sparse *g = &f->g;
    const int64_t wide = (g->outs + LANES - 1) / LANES * LANES, most = g->windows * wide + 16;
    const int64_t taps = g->kernel[0] * g->kernel[1];
    int32_t *outs = g->scratch, *counts = outs + 2 * most;
    float *values = (float *)(outs + most);
    input_job job = {g, counts, outs, values, f->weights, f->to};
    int64_t block;

    memset(f->to, 0, (size_t)(g->ins_blocks * g->plane) * sizeof *f->to);
    list_gradients(g, (int32_t)taps * LANES, counts, outs, values);
    for (block = 0; block < g->ins_blocks; block++) {
        if (!f->finite)
            spread_zeros(&job);
        input_block(&job);
        job.to += g->plane;
        job.weights += g->outs * taps * LANES;
    }
}

/* ---- gradients of the first layer's weights ---- */

/*
 * T taps from the first on. The gradient of each output of a window, 0 in most lanes, times the
 * numbers that its taps read.
 */
#define FIRST_FILTER(T)                                                                            \
    static void first_filter_##T(const native_first_filter *f, int first)                          \
    {                                                                                              \
        const native_sparse *g = &f->g;                                                            \
        const int32_t *taps = f->taps + first;                                                     \
        float *to = f->to + first * LANES;                                                         \
        vec sum[T];                                                                                \
        int64_t w;                                                                                 \
        int a;                                                                                     \
        UNROLL for (int t = 0; t < T; t++) sum[t] = V_LOAD(to + t * LANES);                        \
        for (w = 0; w < g->windows; w++) {                                                         \
            const vec gradient = V_LOAD(g->gradient + w * LANES);                                  \
            float codes[LANES];                                                                    \
            vec code;                                                                              \
            for (int l = 0; l < LANES; l++)                                                        \
                codes[l] = (float)g->codes[w * LANES + l];                                         \
            code = V_LOAD(codes);                                                                  \
            for (a = 0; a < g->area; a++) {                                                        \
                const float *p = f->source + g->places[w] + g->inside[a];                          \
                const vec less = V_LESS(code, V_ALL((float)a), V_ZERO(), gradient);                \
                const vec v = V_LESS(V_ALL((float)a), code, V_ZERO(), less);                       \
                UNROLL for (int t = 0; t < T; t++) sum[t] = V_FMA(V_ALL(p[taps[t]]), v, sum[t]);   \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int t = 0; t < T; t++) V_STORE(to + t * LANES, sum[t]);                        \
    }

#define FIRST_SIZES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
enum { FIRST_TAPS = 9 };
FIRST_SIZES(FIRST_FILTER)

#if LANES == 16
/*
 * The 16 numbers that a window reads are one register; each lane picks its own by its code. 2.3 us
 * for 169 windows of 32 channels where the general form took 9.4.
 */
#define FIRST_NEAR(T)                                                                              \
    static void first_near_##T(const native_first_filter *f, int first)                            \
    {                                                                                              \
        const native_sparse *g = &f->g;                                                            \
        const __m512i inside =                                                                     \
            _mm512_maskz_loadu_epi32((__mmask16)((1u << g->area) - 1), f->near_inside);            \
        float *to = f->to + first * LANES;                                                         \
        __m512i tap[T];                                                                            \
        vec sum[T];                                                                                \
        int64_t w;                                                                                 \
        UNROLL for (int t = 0; t < T; t++)                                                         \
        {                                                                                          \
            sum[t] = V_LOAD(to + t * LANES);                                                       \
            tap[t] = _mm512_set1_epi32(f->near_taps[first + t]);                                   \
        }                                                                                          \
        for (w = 0; w < g->windows; w++) {                                                         \
            const float *p = f->source + g->places[w];                                             \
            const vec v = V_LOAD(g->gradient + w * LANES);                                         \
            const __m512i at = _mm512_permutexvar_epi32(                                           \
                _mm512_cvtepu8_epi32(                                                              \
                    _mm_loadu_si128((const __m128i *)(const void *)(g->codes + w * LANES))),       \
                inside);                                                                           \
            const __m256 top = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),       \
                                                    _mm_loadu_ps(p + g->row), 1);                  \
            const __m256 end =                                                                     \
                _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 2 * g->row)),         \
                                     _mm_loadu_ps(p + 3 * g->row), 1);                             \
            const vec near = _mm512_insertf32x8(_mm512_castps256_ps512(top), end, 1);              \
            UNROLL for (int t = 0; t < T; t++) sum[t] =                                            \
                V_FMA(v, _mm512_permutexvar_ps(_mm512_add_epi32(at, tap[t]), near), sum[t]);       \
        }                                                                                          \
        UNROLL for (int t = 0; t < T; t++) V_STORE(to + t * LANES, sum[t]);                        \
    }
FIRST_SIZES(FIRST_NEAR)
#endif

static void add_first_zeros(const native_first_filter *f)
{
    const native_sparse *g = &f->g;
    int64_t y, x;
    int t;

    for (t = 0; t < f->n_taps; t++) {
        const float *p = f->source + f->taps[t];
        float zero = 0.0f;
        for (y = 0; y < g->rows; y++)
            for (x = 0; x < g->columns; x++)
                zero += 0.0f * p[y * g->step_y + x * g->step_x];
        V_STORE(f->to + t * LANES, V_ADD(V_LOAD(f->to + t * LANES), V_ALL(zero)));
    }
}

#define ROW_FIRST(T) [T] = first_filter_##T,
#define ROW_NEAR(T)  [T] = first_near_##T,

static void first_filter(const native_first_filter *f)
{
    typedef void (*part_fn)(const native_first_filter *, int);
    static const part_fn parts[FIRST_TAPS + 1] = {FIRST_SIZES(ROW_FIRST)};
    const part_fn *part = parts;
    int t, n;
#if LANES == 16
    static const part_fn near_parts[FIRST_TAPS + 1] = {FIRST_SIZES(ROW_NEAR)};
    if (f->near_taps)
        part = near_parts;
#endif

    for (t = 0; t < f->n_taps; t += n) {
        n = f->n_taps - t < FIRST_TAPS ? f->n_taps - t : FIRST_TAPS;
        part[n](f, t);
    }
    if (!f->finite)
        add_first_zeros(f);
}

/* ---- room ---- */

static int64_t sparse_scratch(int64_t windows, int64_t outs, int area)
{
    const int64_t wide = (outs + LANES - 1) / LANES * LANES;
    const int64_t filter = (windows + 31) / 32 * wide + windows * wide;
    const int64_t input = 2 * (windows * wide + 16) + windows * area;

    return (filter > input ? filter : input) * (int64_t)sizeof(int32_t);
}

static const native_pooled_isa pooled_table = {
    .pool_end = pool_end,
    .scratch = sparse_scratch,
    .filter = sparse_filter,
    .input = sparse_input,
    .first_filter = first_filter,
    .all_finite = all_finite,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of convolutions with a maximum after them (plugins/cpu-native/pooled.h) against
 * sums in double over every output of the convolution, on every instruction set that this processor
 * has.
 */
#include "isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tfr_test.h"

/* A convolution of an image that has its padding, and windows of its outputs. */
typedef struct shape {
    int64_t ins, outs, height, width, kernel[2], stride[2], pool[2];
} shape;

static const shape shapes[] = {
    {32, 64, 13, 13, {3, 3}, {1, 1}, {2, 2}}, {16, 17, 8, 9, {3, 3}, {1, 1}, {2, 2}},
    {5, 3, 11, 7, {3, 3}, {1, 1}, {2, 2}},    {20, 20, 16, 17, {5, 5}, {1, 1}, {3, 3}},
    {7, 33, 9, 12, {2, 9}, {1, 1}, {2, 1}},   {16, 16, 15, 15, {3, 3}, {2, 2}, {2, 2}},
    {3, 8, 10, 10, {1, 1}, {1, 1}, {5, 5}},   {9, 1, 6, 6, {4, 3}, {1, 1}, {1, 3}},
    {33, 5, 20, 18, {3, 3}, {1, 1}, {1, 1}},  {4, 40, 4, 4, {3, 3}, {1, 1}, {2, 2}},
    {4, 6, 3, 3, {3, 3}, {1, 1}, {2, 2}}, /* no window */
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static const native_isa *isa_at(int i)
{
    static const char *const allowed[] = {"", "avx2 fma",
                                          "avx2 fma avx512f avx512bw avx512vl avx512dq"};
    const native_isa *isa = native_choose_isa(allowed[i]);
    return i > 0 && isa == native_choose_isa(allowed[i - 1]) ? NULL : isa;
}

#define EACH_ISA(isa)                                                                              \
    for (int n_isa = 0; n_isa < 3; n_isa++)                                                        \
        for (const native_isa *isa = isa_at(n_isa); isa; isa = NULL)

static uint32_t seed = 1;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

static void *make(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
    REQUIRE(p != NULL);
    memset(p, 0, ((size_t)bytes + 64) / 64 * 64);
    return p;
}

static float *make_floats(int64_t n)
{
    float *p = make(n * (int64_t)sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = next_value();
    return p;
}

/* One sample. gradients are 0 at about a third of the places. */
typedef struct problem {
    const shape *s;
    const native_isa *isa;
    int64_t rows, columns, out_rows, out_columns, windows, taps, lanes, in_blocks, out_blocks, area;
    native_sparse g;
    float *source, *gradient, *weights; /* source [block][pixel][lane], weights [out][in][tap] */
    uint8_t *codes;
    int32_t *places, *inside;
    void *scratch;
} problem;

static int64_t blocks_of(int64_t n, int64_t lanes)
{
    return (n + lanes - 1) / lanes;
}

static void set_windows(problem *p, int64_t pixel)
{
    const shape *s = p->s;
    const int64_t row = s->width * pixel;
    for (int64_t w = 0; w < p->windows; w++)
        p->places[w] = (int32_t)(w / p->out_columns * s->pool[0] * s->stride[0] * row +
                                 w % p->out_columns * s->pool[1] * s->stride[1] * pixel);
    for (int64_t a = 0; a < p->area; a++)
        p->inside[a] =
            (int32_t)(a / s->pool[1] * s->stride[0] * row + a % s->pool[1] * s->stride[1] * pixel);
    p->g.row = row;
    p->g.step_y = s->stride[0] * row;
    p->g.step_x = s->stride[1] * pixel;
}

static void begin(problem *p, const shape *s, const native_isa *isa)
{
    int64_t i;
    memset(p, 0, sizeof *p);
    p->s = s;
    p->isa = isa;
    p->lanes = isa->lanes;
    p->rows = (s->height - s->kernel[0]) / s->stride[0] + 1;
    p->columns = (s->width - s->kernel[1]) / s->stride[1] + 1;
    p->out_rows = p->rows / s->pool[0];
    p->out_columns = p->columns / s->pool[1];
    p->windows = p->out_rows * p->out_columns;
    p->area = s->pool[0] * s->pool[1];
    p->taps = s->kernel[0] * s->kernel[1];
    p->in_blocks = blocks_of(s->ins, p->lanes);
    p->out_blocks = blocks_of(s->outs, p->lanes);
    p->source = make_floats(p->in_blocks * s->height * s->width * p->lanes);
    p->weights = make_floats(s->outs * s->ins * p->taps);
    p->gradient = make_floats(p->out_blocks * p->windows * p->lanes);
    p->codes = make(p->out_blocks * p->windows * p->lanes);
    for (i = 0; i < p->out_blocks * p->windows * p->lanes; i++) {
        p->codes[i] = (uint8_t)((next_value() * 0.5f + 0.5f) * (float)p->area);
        p->codes[i] = (uint8_t)(p->codes[i] < p->area ? p->codes[i] : p->area - 1);
        if (next_value() < -0.33f)
            p->gradient[i] = 0.0f;
    }
    p->places = make((p->windows + 1) * (int64_t)sizeof *p->places);
    p->inside = make(p->area * (int64_t)sizeof *p->inside);
    p->scratch = make(isa->pooled->scratch(p->windows, s->outs, (int)p->area));
    p->g = (native_sparse){.gradient = p->gradient,
                           .codes = p->codes,
                           .windows = p->windows,
                           .outs = s->outs,
                           .area = (int)p->area,
                           .places = p->places,
                           .inside = p->inside,
                           .plane = s->height * s->width * p->lanes,
                           .ins_blocks = p->in_blocks,
                           .kernel = {s->kernel[0], s->kernel[1]},
                           .rows = p->rows,
                           .columns = p->columns,
                           .scratch = p->scratch};
    set_windows(p, p->lanes);
}

static void end(problem *p)
{
    free(p->source);
    free(p->weights);
    free(p->gradient);
    free(p->codes);
    free(p->places);
    free(p->inside);
    free(p->scratch);
}

static double source_at(const problem *p, int64_t in, int64_t y, int64_t x)
{
    const int64_t l = p->lanes;
    return p->source[((in / l * p->s->height + y) * p->s->width + x) * l + in % l];
}

/* The dense gradient of output (y, x) of the convolution. */
static double gradient_at(const problem *p, int64_t out, int64_t y, int64_t x)
{
    const shape *s = p->s;
    const int64_t wy = y / s->pool[0], wx = x / s->pool[1], l = p->lanes;
    int64_t at;
    if (wy >= p->out_rows || wx >= p->out_columns)
        return 0;
    at = (out / l * p->windows + wy * p->out_columns + wx) * l + out % l;
    return p->codes[at] == y % s->pool[0] * s->pool[1] + x % s->pool[1] ? p->gradient[at] : 0;
}

static double weight_sum(const problem *p, const double *gradient, int64_t in, int64_t tap)
{
    const shape *s = p->s;
    double sum = 0;
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < p->columns; x++)
            sum += *gradient++ * source_at(p, in, y * s->stride[0] + tap / s->kernel[1],
                                           x * s->stride[1] + tap % s->kernel[1]);
    return sum;
}

/* An infinity may become NaN, for 0 times it is added. */
static bool near_or_nan(double wanted, double got)
{
    return isnan(wanted) ? isnan(got) : isinf(wanted) ? !isfinite(got) : fabs(wanted - got) <= 2e-5;
}

/* how many are wrong; `to` began with 0.5 everywhere */
static int64_t wrong_weights(const problem *p, const float *to)
{
    const int64_t l = p->lanes;
    double *gradient = make(p->rows * p->columns * (int64_t)sizeof *gradient);
    int64_t wrong = 0;
    for (int64_t o = 0; o < p->s->outs; o++) {
        for (int64_t y = 0; y < p->rows; y++)
            for (int64_t x = 0; x < p->columns; x++)
                gradient[y * p->columns + x] = gradient_at(p, o, y, x);
        for (int64_t i = 0; i < p->s->ins; i++)
            for (int64_t t = 0; t < p->taps; t++)
                wrong += !near_or_nan(0.5 + weight_sum(p, gradient, i, t),
                                      to[((o * p->in_blocks + i / l) * p->taps + t) * l + i % l]);
    }
    free(gradient);
    return wrong;
}

static int64_t filter_wrong(problem *p)
{
    const int64_t n = p->s->outs * p->in_blocks * p->taps * p->lanes;
    float *to = make(n * (int64_t)sizeof *to);
    const native_sparse_filter f = {p->g, p->source, to};
    int64_t wrong;
    for (int64_t i = 0; i < n; i++)
        to[i] = 0.5f;
    p->isa->pooled->filter(&f);
    wrong = wrong_weights(p, to);
    free(to);
    return wrong;
}

TEST(gradients_of_weights_are_the_dense_sums)
{
    EACH_ISA(isa) for (int i = 0; i < N_SHAPES; i++)
    {
        problem p;
        begin(&p, &shapes[i], isa);
        CHECK_INT(0, filter_wrong(&p));
        end(&p);
    }
}

static float *pack_weights(const problem *p)
{
    const int64_t l = p->lanes, outs = p->s->outs;
    float *to = make(p->in_blocks * outs * p->taps * l * (int64_t)sizeof *to);
    for (int64_t i = 0; i < p->s->ins; i++)
        for (int64_t o = 0; o < outs; o++)
            for (int64_t t = 0; t < p->taps; t++)
                to[((i / l * outs + o) * p->taps + t) * l + i % l] =
                    p->weights[(o * p->s->ins + i) * p->taps + t];
    return to;
}

static int64_t input_wrong(problem *p, bool finite)
{
    const shape *s = p->s;
    const int64_t area = s->height * s->width, l = p->lanes;
    float *weights = pack_weights(p), *to = make_floats(p->in_blocks * area * l);
    double *sums = make(s->ins * area * (int64_t)sizeof *sums);
    const native_sparse_input f = {p->g, weights, finite, to};
    int64_t wrong = 0;
    for (int64_t o = 0; o < s->outs; o++)
        for (int64_t y = 0; y < p->rows; y++)
            for (int64_t x = 0; x < p->columns; x++) {
                const double v = gradient_at(p, o, y, x);
                for (int64_t i = 0; i < s->ins; i++)
                    for (int64_t t = 0; t < p->taps; t++)
                        sums[(i * s->height + y * s->stride[0] + t / s->kernel[1]) * s->width +
                             x * s->stride[1] + t % s->kernel[1]] +=
                            v * p->weights[(o * s->ins + i) * p->taps + t];
            }
    p->isa->pooled->input(&f);
    for (int64_t i = 0; i < s->ins; i++)
        for (int64_t k = 0; k < area; k++)
            wrong += !near_or_nan(sums[i * area + k], to[(i / l * area + k) * l + i % l]);
    free(weights);
    free(to);
    free(sums);
    return wrong;
}

TEST(gradients_of_inputs_are_the_dense_sums)
{
    EACH_ISA(isa) for (int i = 0; i < N_SHAPES; i++)
    {
        problem p;
        begin(&p, &shapes[i], isa);
        CHECK_INT(0, input_wrong(&p, true));
        CHECK_INT(0, input_wrong(&p, false));
        end(&p);
    }
}

/* Where a number of one side is not finite, products with gradients of 0 are NaN. */
TEST(zero_gradients_do_not_hide_what_is_not_finite)
{
    EACH_ISA(isa) for (int i = 0; i < N_SHAPES; i++)
    {
        problem p;
        begin(&p, &shapes[i], isa);
        p.source[p.g.plane / 2 / p.lanes * p.lanes] = INFINITY;
        CHECK_INT(0, filter_wrong(&p));
        p.weights[p.taps - 1] = NAN;
        CHECK(!isa->pooled->all_finite(p.weights, p.taps));
        CHECK_INT(0, input_wrong(&p, false));
        end(&p);
    }
}

TEST(gradients_that_are_not_finite_spread_as_in_the_dense_sums)
{
    EACH_ISA(isa) for (int i = 0; i < N_SHAPES; i++)
    {
        problem p;
        begin(&p, &shapes[i], isa);
        if (p.windows > 0)
            p.gradient[(p.windows - 1) * p.lanes] = NAN;
        CHECK_INT(0, filter_wrong(&p));
        CHECK_INT(0, input_wrong(&p, true));
        end(&p);
    }
}

TEST(finite_is_said_of_every_place)
{
    EACH_ISA(isa) for (int64_t n = 0; n < 70; n++)
    {
        float *p = make_floats(n);
        CHECK(isa->pooled->all_finite(p, n));
        for (int64_t i = 0; i < n; i++) {
            const float kept = p[i];
            p[i] = i % 2 ? NAN : -INFINITY;
            CHECK(!isa->pooled->all_finite(p, n));
            p[i] = kept;
        }
        free(p);
    }
}

/* ---- the first layer ---- */

static const shape few[] = {
    {1, 32, 28, 28, {3, 3}, {1, 1}, {2, 2}}, {1, 9, 9, 10, {2, 2}, {1, 1}, {3, 3}},
    {3, 20, 12, 11, {3, 3}, {1, 1}, {2, 2}}, {2, 5, 14, 14, {5, 5}, {1, 1}, {3, 3}},
    {4, 16, 13, 13, {3, 3}, {2, 2}, {2, 2}}, {1, 3, 5, 5, {4, 4}, {1, 1}, {2, 2}},
};
enum { N_FEW = sizeof few / sizeof few[0] };

/* For one channel after the other as lanes of one block, so that sources are plain. */
static double first_sum(const problem *p, const float *plain, int64_t out, int64_t in, int64_t tap)
{
    const shape *s = p->s;
    double sum = 0;
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < p->columns; x++)
            sum += gradient_at(p, out, y, x) *
                   plain[(in * s->height + y * s->stride[0] + tap / s->kernel[1]) * s->width +
                         x * s->stride[1] + tap % s->kernel[1]];
    return sum;
}

static int64_t first_wrong(problem *p, const float *plain, bool near, bool finite)
{
    const shape *s = p->s;
    const int64_t n = s->ins * p->taps, l = p->lanes;
    int32_t *taps = make(n * 4), *near_taps = make(n * 4), *near_inside = make(p->area * 4);
    float *to = make(n * l * (int64_t)sizeof *to);
    int64_t wrong = 0, i, t, o, b;
    for (t = 0; t < n; t++) {
        const int64_t ky = t % p->taps / s->kernel[1], kx = t % s->kernel[1];
        taps[t] = (int32_t)((t / p->taps * s->height + ky) * s->width + kx);
        near_taps[t] = (int32_t)(ky * 4 + kx);
    }
    for (i = 0; i < p->area; i++)
        near_inside[i] = (int32_t)(i / s->pool[1] * 4 + i % s->pool[1]);
    set_windows(p, 1);
    for (b = 0; b < p->out_blocks; b++) {
        native_first_filter f = {
            p->g,   plain, taps, (int)n, near ? near_inside : NULL, near ? near_taps : NULL,
            finite, to};
        f.g.gradient += b * p->windows * l;
        f.g.codes += b * p->windows * l;
        for (i = 0; i < n * l; i++)
            to[i] = 0.5f;
        p->isa->pooled->first_filter(&f);
        for (o = b * l; o < (b + 1) * l && o < s->outs; o++)
            for (t = 0; t < n; t++)
                wrong += !near_or_nan(0.5 + first_sum(p, plain, o, t / p->taps, t % p->taps),
                                      to[t * l + o % l]);
    }
    free(taps);
    free(near_taps);
    free(near_inside);
    free(to);
    return wrong;
}

static bool fits_near(const shape *s)
{
    return s->ins == 1 && s->stride[0] == 1 && s->pool[0] + s->kernel[0] - 1 == 4 &&
           s->pool[1] + s->kernel[1] - 1 == 4;
}

TEST(gradients_of_the_first_weights_are_the_dense_sums)
{
    EACH_ISA(isa) for (int i = 0; i < N_FEW; i++)
    {
        const int64_t n = few[i].ins * few[i].height * few[i].width;
        float *plain = make_floats(n);
        problem p;
        begin(&p, &few[i], isa);
        CHECK_INT(0, first_wrong(&p, plain, false, true));
        CHECK_INT(0, first_wrong(&p, plain, fits_near(&few[i]), true));
        plain[n - 1] = INFINITY;
        plain[n / 2] = NAN;
        CHECK_INT(0, first_wrong(&p, plain, fits_near(&few[i]), false));
        end(&p);
        free(plain);
    }
}

/* ---- maxima ---- */

static void check_maxima(const native_isa *isa, int area, int64_t windows, bool bias, bool clip)
{
    const int64_t l = isa->lanes;
    float *sums = make_floats(windows * area * l), *b = make_floats(l);
    float *to = make(windows * l * (int64_t)sizeof *to);
    uint8_t *codes = make(windows * l);
    const native_pool_end e = {sums, windows, area, bias ? b : NULL, clip, 0, INFINITY, to, codes};
    int64_t w, i;
    int a;
    for (i = 0; i < windows * area * l; i++) /* equals, and what is not finite */
        sums[i] = i % 37 == 0 ? NAN : i % 53 == 0 ? INFINITY : truncf(sums[i] * 3);
    isa->pooled->pool_end(&e);
    for (w = 0; w < windows; w++) {
        for (i = 0; i < l; i++) {
            const float *s = sums + w * area * l + i;
            float wanted;
            int best = 0;
            for (a = 1; a < area; a++)
                if (s[a * l] > s[best * l] || (isnan(s[a * l]) && !isnan(s[best * l])))
                    best = a;
            wanted = s[best * l] + (bias ? b[i] : 0);
            wanted = clip && wanted < 0 ? 0 : wanted;
            CHECK_INT(best, codes[w * l + i]);
            CHECK(isnan(wanted) ? isnan(to[w * l + i]) : wanted == to[w * l + i]);
        }
    }
    free(sums);
    free(b);
    free(to);
    free(codes);
}

TEST(maxima_have_the_code_of_the_first_of_equals)
{
    EACH_ISA(isa)
    {
        for (int area = 1; area <= 12; area++)
            check_maxima(isa, area, 7, area % 2 == 0, area % 3 == 0);
        check_maxima(isa, NATIVE_POOL_AREA, 3, true, true);
        check_maxima(isa, 4, 0, true, true);
    }
}

static const test_case cases[] = {
    CASE(gradients_of_weights_are_the_dense_sums),
    CASE(gradients_of_inputs_are_the_dense_sums),
    CASE(zero_gradients_do_not_hide_what_is_not_finite),
    CASE(gradients_that_are_not_finite_spread_as_in_the_dense_sums),
    CASE(finite_is_said_of_every_place),
    CASE(gradients_of_the_first_weights_are_the_dense_sums),
    CASE(maxima_have_the_code_of_the_first_of_equals),
};
TEST_MAIN_OF_ONE_THREAD(cases)

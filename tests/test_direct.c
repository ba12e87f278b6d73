/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution against the sum over its window in double, on every instruction set that this
 * processor has.
 */
#include "direct.h"

#include <math.h>
#include <stdlib.h>

#include "port/cpu.h"
#include "tfr_test.h"

typedef tfr_dnn_direct_shape shape;

static const char *const isa_names[] = {"avx512", "avx2", "portable"};
enum { N_ISAS = sizeof isa_names / sizeof isa_names[0] };

static uint32_t seed;

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1u << 23) - 1;
}

static float *numbers(int64_t n)
{
    float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 127) / 64 * 64);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = next();
    return p;
}

/* Everything of one convolution; strides are OIHW's. */
typedef struct problem {
    shape s;
    tfr_dnn_epilogue epilogue;
    int64_t strides[4], inputs, n_out;
    float *x, *w, *bias, *residual, *y;
} problem;

static problem problem_make(const shape *s, bool residual)
{
    problem p = {.s = *s, .epilogue = {-0.5f, 2, NULL}, .inputs = s->ic / s->groups};
    int64_t area = s->kh * s->kw;
    p.n_out = s->oh / s->pool_h * (s->ow / s->pool_w) * s->oc;
    p.x = numbers(s->h * s->w * s->ic);
    p.w = numbers(s->oc * p.inputs * area);
    p.bias = numbers(s->oc);
    p.y = numbers(p.n_out);
    if (residual)
        p.epilogue.residual = p.residual = numbers(p.n_out);
    p.strides[0] = p.inputs * area;
    p.strides[1] = area;
    p.strides[2] = s->kw;
    p.strides[3] = 1;
    return p;
}

static void problem_free(problem *p)
{
    free(p->x);
    free(p->w);
    free(p->bias);
    free(p->residual);
    free(p->y);
}

/* One position of one channel before the pool. */
static double expected_at(const problem *p, int64_t oy, int64_t ox, int64_t o)
{
    const shape *s = &p->s;
    double sum = p->bias[o];
    for (int64_t ky = 0; ky < s->kh; ky++)
        for (int64_t kx = 0; kx < s->kw; kx++) {
            int64_t y = oy * s->sh - s->pt + ky * s->dh, x = ox * s->sw - s->pl + kx * s->dw;
            if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                continue;
            for (int64_t i = 0; i < p->inputs; i++)
                sum += (double)p->x[(y * s->w + x) * s->ic + (s->groups > 1 ? o : i)] *
                       p->w[o * p->strides[0] + i * p->strides[1] + ky * s->kw + kx];
        }
    if (p->residual)
        sum += p->residual[(oy * s->ow + ox) * s->oc + o];
    return fmin(fmax(sum, p->epilogue.low), p->epilogue.high);
}

static double expected_pooled(const problem *p, int64_t i)
{
    const shape *s = &p->s;
    int64_t o = i % s->oc, x = i / s->oc % (s->ow / s->pool_w), y = i / s->oc / (s->ow / s->pool_w);
    double best = -INFINITY;
    for (int64_t a = 0; a < s->pool_h; a++)
        for (int64_t b = 0; b < s->pool_w; b++)
            best = fmax(best, expected_at(p, y * s->pool_h + a, x * s->pool_w + b, o));
    return best;
}

static double worst_error(const problem *p)
{
    double worst = 0;
    for (int64_t i = 0; i < p->n_out; i++)
        worst = fmax(worst, fabs(expected_pooled(p, i) - p->y[i]));
    return worst;
}

/* Runs in two unequal ranges of items, the later one first. */
static bool run(const tfr_dnn_isa *isa, problem *p)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_dnn_direct *d = NULL;
    float *packed;
    int64_t n;
    if (!CHECK_INT(TFR_OK, tfr_dnn_direct_create(isa, &p->s, &d, &err)))
        return false;
    packed = numbers((int64_t)(tfr_dnn_direct_packed_bytes(d) / sizeof *packed));
    tfr_dnn_direct_pack(d, p->w, p->strides, p->bias, packed);
    n = tfr_dnn_direct_items(d);
    tfr_dnn_direct_run(d, packed, p->x, p->y, &p->epilogue, NULL, n / 3, n);
    tfr_dnn_direct_run(d, packed, p->x, p->y, &p->epilogue, NULL, 0, n / 3);
    free(packed);
    tfr_dnn_direct_destroy(d);
    return true;
}

static void check_all(const shape *s, bool residual)
{
    for (int i = 0; i < N_ISAS; i++) {
        const tfr_dnn_isa *isa = tfr_dnn_isa_find(isa_names[i], tfr__cpu_get()->features);
        problem p;
        if (!isa)
            continue;
        seed = 7;
        p = problem_make(s, residual);
        if (run(isa, &p))
            CHECK_NEAR(0, worst_error(&p), 2e-5);
        problem_free(&p);
    }
}

#define DENSE(M, K, N)                                                                             \
    {                                                                                              \
        M, 1, K, M, 1, N, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1                                          \
    }

TEST(windows_strides_dilations_and_padding_are_summed)
{
    static const shape shapes[] = {
        {5, 5, 64, 3, 3, 64, 3, 3, 1, 1, 1, 1, 0, 0, 1, 1, 1},
        {7, 9, 5, 7, 9, 19, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {17, 15, 6, 8, 7, 50, 5, 3, 2, 2, 1, 1, 1, 0, 1, 1, 1},
        {17, 15, 3, 13, 11, 10, 3, 3, 1, 1, 2, 2, 0, 0, 1, 1, 1},
        {4, 4, 3, 6, 6, 70, 3, 3, 1, 1, 1, 1, 2, 2, 1, 1, 1},
        {1, 20, 4, 1, 9, 33, 1, 4, 1, 2, 1, 1, 0, 0, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_all(&shapes[i], i % 2 == 1);
}

TEST(pooled_windows_give_their_maximum)
{
    static const shape shapes[] = {
        {28, 28, 1, 26, 26, 32, 3, 3, 1, 1, 1, 1, 0, 0, 2, 2, 1},
        {13, 13, 8, 10, 10, 64, 3, 3, 1, 1, 1, 1, 0, 0, 2, 2, 1},
        {15, 15, 7, 6, 6, 33, 3, 3, 2, 2, 1, 1, 0, 0, 3, 2, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_all(&shapes[i], false);
}

TEST(depthwise_layers_keep_channels_apart)
{
    static const shape shapes[] = {
        {14, 14, 37, 14, 14, 37, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 37},
        {15, 15, 96, 8, 8, 96, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 96},
        {9, 9, 20, 4, 4, 20, 5, 5, 1, 1, 1, 1, 0, 0, 2, 2, 20},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_all(&shapes[i], i == 0);
}

TEST(dense_layers_of_all_small_sizes_are_products)
{
    for (int64_t m = 1; m <= 29; m += 7)
        for (int64_t k = 1; k <= 10; k += 3)
            for (int64_t n = 1; n <= 130; n += 13) {
                const shape s = DENSE(m, k, n);
                check_all(&s, n % 2 == 0);
            }
}

TEST(several_images_share_one_call)
{
    const shape s = {5, 5, 4, 3, 3, 40, 3, 3, 1, 1, 1, 1, 0, 0, 1, 1, 1};
    const int64_t x_size = 100, y_size = 360, strides[4] = {36, 9, 3, 1};
    const tfr_dnn_batch batch = {3, x_size, y_size, 0};
    const tfr_dnn_epilogue none = {-INFINITY, INFINITY, NULL};
    const tfr_dnn_isa *isa = tfr_dnn_isa_pick(tfr__cpu_get()->features);
    float *x = numbers(3 * x_size), *w = numbers(40 * 36), *y = numbers(3 * y_size), one[360];
    tfr_err err = TFR_ERR_INIT;
    tfr_dnn_direct *d = NULL;
    float *packed;
    REQUIRE_INT(TFR_OK, tfr_dnn_direct_create(isa, &s, &d, &err));
    packed = numbers((int64_t)(tfr_dnn_direct_packed_bytes(d) / sizeof *packed));
    tfr_dnn_direct_pack(d, w, strides, NULL, packed);
    tfr_dnn_direct_run(d, packed, x, y, &none, &batch, 0, tfr_dnn_direct_items(d));
    for (int i = 0; i < 3; i++) {
        tfr_dnn_direct_run(d, packed, x + i * x_size, one, &none, NULL, 0, tfr_dnn_direct_items(d));
        CHECK_INT(0, memcmp(one, y + i * y_size, sizeof one));
    }
    free(x);
    free(w);
    free(y);
    free(packed);
    tfr_dnn_direct_destroy(d);
}

TEST(nan_survives_the_clamp_and_the_pool)
{
    const shape s = {2, 2, 1, 2, 2, 3, 1, 1, 1, 1, 1, 1, 0, 0, 2, 2, 1};
    for (int i = 0; i < N_ISAS; i++) {
        const tfr_dnn_isa *isa = tfr_dnn_isa_find(isa_names[i], tfr__cpu_get()->features);
        for (int at = 0; isa && at < 4; at++) {
            problem p = problem_make(&s, false);
            p.x[at] = NAN;
            p.epilogue = (tfr_dnn_epilogue){0, INFINITY, NULL};
            run(isa, &p);
            CHECK(isnan(p.y[0]) && isnan(p.y[1]) && isnan(p.y[2]));
            problem_free(&p);
        }
    }
}

TEST(pools_take_what_lies_inside)
{
    const shape s = {3, 3, 5, 2, 2, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1};
    float x[45], y[20];
    for (int i = 0; i < 45; i++)
        x[i] = (float)(i / 5);
    for (int i = 0; i < N_ISAS; i++) {
        const tfr_dnn_isa *isa = tfr_dnn_isa_find(isa_names[i], tfr__cpu_get()->features);
        if (!isa)
            continue;
        tfr_dnn_direct_pool(isa, &s, TFR_DNN_POOL_MAX, x, y, 0, 2);
        CHECK_NEAR(4, y[4], 0);
        CHECK_NEAR(8, y[19], 0);
        tfr_dnn_direct_pool(isa, &s, TFR_DNN_POOL_AVERAGE, x, y, 0, 2);
        CHECK_NEAR(2, y[0], 1e-6); /* 0 1 3 4 */
        tfr_dnn_direct_pool(isa, &s, TFR_DNN_POOL_AVERAGE_PADDED, x, y, 0, 2);
        CHECK_NEAR(8 / 9.0, y[0], 1e-6);
    }
}

TEST(a_pool_over_a_large_image_is_its_mean)
{
    const shape s = {20, 20, 3, 1, 1, 3, 20, 20, 1, 1, 1, 1, 0, 0, 1, 1, 1};
    const tfr_dnn_isa *isa = tfr_dnn_isa_pick(tfr__cpu_get()->features);
    float x[1200], y[3];
    for (int i = 0; i < 1200; i++)
        x[i] = (float)(i % 3);
    tfr_dnn_direct_pool(isa, &s, TFR_DNN_POOL_AVERAGE, x, y, 0, 1);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(i, y[i], 1e-5);
}

TEST(an_image_too_large_for_offsets_is_refused)
{
    const shape s = {1 << 16, 1 << 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1};
    const tfr_dnn_isa *isa = tfr_dnn_isa_pick("");
    tfr_err err = TFR_ERR_INIT;
    tfr_dnn_direct *d = NULL;
    CHECK_INT(TFR_EUNSUPPORTED, tfr_dnn_direct_create(isa, &s, &d, &err));
}

TEST(hidden_features_leave_the_portable_code)
{
    CHECK_STR("portable", tfr_dnn_isa_name(tfr_dnn_isa_pick("")));
    CHECK_STR("portable", tfr_dnn_isa_name(tfr_dnn_isa_pick("avx512fx avx2x fma")));
}

static const test_case cases[] = {
    CASE(windows_strides_dilations_and_padding_are_summed),
    CASE(pooled_windows_give_their_maximum),
    CASE(depthwise_layers_keep_channels_apart),
    CASE(dense_layers_of_all_small_sizes_are_products),
    CASE(several_images_share_one_call),
    CASE(nan_survives_the_clamp_and_the_pool),
    CASE(pools_take_what_lies_inside),
    CASE(a_pool_over_a_large_image_is_its_mean),
    CASE(an_image_too_large_for_offsets_is_refused),
    CASE(hidden_features_leave_the_portable_code),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_results.c: what products of 8-bit integers of plugins/cpu-native make of their sums,
 * bytes and float32, to the last bit, on every instruction set that this machine has.
 */
#include "int8_kit.h"

static int32_t limit(double v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : (int32_t)v;
}

/* Bytes of C on every processor against what the formula says. */
static void check_bytes(const product *p, const uint8_t *expected)
{
    native_int8_cpu cpu;
    for (int i = 0; i < N_CPUS; i++) {
        const char *name = find_cpu(i, &cpu);
        void *c = run(p, &cpu, true, 2);
        CHECK(same(expected, c, (size_t)(p->shape.m * p->shape.n), name));
        free(c);
    }
}

TEST(results_of_8_bits_round_doubles_to_even)
{
    /* 1/2 and 1/4 make ties, the others come near to them */
    static const double scales[] = {0.5, 0.25, 0.0625, 1.0 / 3, 0.001, 1.0 / 1024, 0x1.fffffffp-8};
    enum { M = 21, MOST = 45 };
    for (int i = 0; i < 28; i++) {
        const int all = i & 8 ? MOST : 37; /* the last panel has 13 columns, or 5 */
        product p = make_product(M, all, 16, i & 3);
        native_int8_finish *f = &p.args.finish;
        int32_t bias[MOST];
        double rescale[MOST];
        uint8_t expected[M * MOST];
        for (int n = 0; n < all; n++) {
            bias[n] = between(-3000, 3000);
            rescale[n] = scales[(i + n) % 7] * (i % 9 == 8 ? 4 : 1);
            if (i % 5 == 0) {
                bias[n] += n % 2 ? INT32_MAX - 3000 : INT32_MIN + 3000;
                rescale[n] /= 1 << 24;
            }
        }
        f->result = i & 4 ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8;
        f->bias = bias;
        f->bias_is_far = i % 5 == 0;
        f->rescale = rescale;
        f->scale_each = true;
        f->zero = i & 4 ? between(-128, 127) : between(0, 255);
        f->low = (i & 4 ? -128 : 0) + (i % 3 == 1 ? 20 : 0);
        f->high = (i & 4 ? 127 : 255) - (i % 3 == 2 ? 35 : 0);
        int32_t *sums = make_sums(&p, false);
        REQUIRE(sums != NULL);
        for (int k = 0; k < M * all; k++)
            expected[k] = (uint8_t)limit(
                nearbyint(((double)sums[k] + bias[k % all]) * rescale[k % all]) + f->zero, f->low,
                f->high);
        check_bytes(&p, expected);
        free(sums);
        free_product(&p);
    }
}

/* The scales of t, and types and limits by the bits of i. */
static void check_addition(int i, int64_t m, int64_t n, double rescale, native_int8_addition t)
{
    product p = make_product(m, n, 33, 3);
    uint8_t *with = make_bytes(m * n), *expected = malloc((size_t)(m * n));
    int32_t *sums = make_sums(&p, false);
    REQUIRE(with && sums && expected);
    t.with = with;
    t.with_signed = (i & 1) != 0;
    t.sum_signed = (i & 2) != 0;
    t.with_zero = t.with_signed ? -3 : 120;
    t.sum_zero = t.sum_signed ? 5 : 130;
    t.low = i & 4 ? t.sum_zero : t.sum_signed ? -128 : 0;
    t.high = t.sum_signed ? 127 : 255;
    p.args.finish = (native_int8_finish){.result = i & 8 ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8,
                                         .rescale = &rescale,
                                         .zero = i & 8 ? 7 : 99,
                                         .low = i & 8 ? -128 : 0,
                                         .high = i & 8 ? 127 : 255,
                                         .then = &t};
    for (int k = 0; k < m * n; k++) {
        const native_int8_finish *f = &p.args.finish;
        const int32_t y = limit(nearbyint(sums[k] * rescale) + f->zero, f->low, f->high);
        const float a = (float)(y - f->zero) * t.scale;
        const float b = (float)(number_at(with, k, t.with_signed) - t.with_zero) * t.with_scale;
        const float sum = a + b, quotient = sum / t.sum_scale;
        expected[k] = (uint8_t)limit(nearbyint((double)quotient) + t.sum_zero, t.low, t.high);
    }
    check_bytes(&p, expected);
    free(expected);
    free(with);
    free(sums);
    free_product(&p);
}

TEST(an_addition_rounds_as_its_three_ops_do)
{
    for (int i = 0; i < 32; i++) {
        native_int8_addition t = {.scale = 0.031f, .with_scale = 0.017f, .sum_scale = 0.043f};
        if (i & 16) /* half of all sums are next to a tie */
            t.scale = t.with_scale = 0.3f, t.sum_scale = 0.6f;
        check_addition(i, 9, 21, 0.004, t);
    }
}

/* Near to ties, beyond both ends, and with as few steps as with many for one of the sum. */
TEST(additions_of_any_scales_round_so)
{
    static const float scales[] = {0.01f, 0.02f, 0.0299999f, 0.1f, 0.5f, 3.0f, 0x1p-7f};
    for (int i = 0; i < 128; i++) {
        const native_int8_addition t = {.scale = scales[i % 7],
                                        .with_scale = scales[i / 7 % 7],
                                        .sum_scale = scales[between(0, 6)] * (i & 1 ? 1 : 1.5f)};
        check_addition(i, between(20, 90), between(1, 40),
                       i % 3   ? 0.004
                       : i % 2 ? 0.0625
                               : 0.25,
                       t);
    }
}

TEST(float_results_round_every_step)
{
    enum { M = 14, N = 35 };
    for (int i = 0; i < 32; i++) {
        product p = make_product(M, N, 40, i & 3);
        native_int8_finish *f = &p.args.finish;
        float scale[N], addend[N], row_scale[M], residual[M * N], expected[M * N];
        native_int8_cpu cpu;
        for (int k = 0; k < M * N; k++) {
            residual[k] = (float)between(-1000, 1000) / 7;
            addend[k % N] = (float)between(-1000, 1000) / 3;
            scale[k % N] = (float)between(1, 1000) / 9999;
            row_scale[k % M] = (float)between(1, 1000) / 777;
        }
        f->result = NATIVE_INT8_TO_F32;
        f->scale = scale;
        f->scale_each = true;
        f->addend = i & 4 ? addend : NULL;
        f->residual = i & 8 ? residual : NULL;
        f->row_scale = i & 16 ? row_scale : NULL;
        f->low_f = i & 1 ? 0 : -INFINITY;
        f->high_f = i & 2 ? 6 : INFINITY;
        int32_t *sums = make_sums(&p, false);
        REQUIRE(sums != NULL);
        for (int k = 0; k < M * N; k++) {
            float y = (float)sums[k] * scale[k % N];
            if (f->row_scale)
                y *= row_scale[k / N];
            if (f->addend)
                y += addend[k % N];
            if (f->residual)
                y += residual[k];
            y = y < f->low_f ? f->low_f : y;
            expected[k] = y > f->high_f ? f->high_f : y;
        }
        for (int k = 0; k < N_CPUS; k++) {
            const char *name = find_cpu(k, &cpu);
            void *c = run(&p, &cpu, true, 1);
            CHECK(same(expected, c, sizeof expected, name));
            free(c);
        }
        free(sums);
        free_product(&p);
    }
}

static const test_case cases[] = {
    CASE(results_of_8_bits_round_doubles_to_even),
    CASE(an_addition_rounds_as_its_three_ops_do),
    CASE(additions_of_any_scales_round_so),
    CASE(float_results_round_every_step),
};

TEST_MAIN_OF_ONE_THREAD(cases)

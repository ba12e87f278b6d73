/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_winograd.c: convolutions of 3 x 3 of 8-bit integers with Winograd's fewer products
 * against plain sums of 64 bits, and which ones are left to others.
 */
#include "int8_kit.h"
#include "int8_winograd.h"

/* Of int32, on every processor that does it so; how many did. */
static int check_winograd(const product *p, int threads)
{
    int32_t *sums = make_sums(p, false);
    native_int8_winograd plan;
    native_int8_cpu cpu;
    int done = 0;
    for (int i = 0; i < N_CPUS && sums; i++) {
        const char *name = find_cpu(i, &cpu);
        if (!native_int8_winograd_plan(&plan, &cpu, &p->shape, threads))
            continue;
        void *packed = make_aligned(plan.packed_bytes), *scratch = make_aligned(plan.scratch_bytes);
        int32_t *c = calloc((size_t)(p->shape.m * p->shape.n), sizeof *c);
        native_int8_args args = p->args;
        args.packed = packed;
        args.c = c;
        if (packed && scratch && c) {
            native_int8_winograd_pack(&plan, &p->b, args.b_zero, args.b_zeros, packed, 0,
                                      plan.n_panels);
            native_int8_winograd_run(&plan, &args, scratch, 0, plan.n_units);
        }
        CHECK(same(sums, c, (size_t)(p->shape.m * p->shape.n) * 4, name));
        free(packed);
        free(scratch);
        free(c);
        done++;
    }
    free(sums);
    return done;
}

static bool has_winograd(void)
{
    native_int8_cpu cpu;
    native_int8_find_cpu(&cpu, "avx2 fma");
    return cpu.winograd != NULL;
}

TEST(windows_of_3_x_3_are_exact_by_winograd)
{
    int done = 0;
    for (int i = 0; i < 48; i++) {
        product p =
            make_3x3(16 * between(1, 4), between(1, 70), between(8, 19), between(8, 19), i & 3);
        int32_t zeros[70];
        for (int n = 0; n < 70; n++)
            zeros[n] = p.shape.b_signed ? between(-128, 127) : between(0, 255);
        p.args.b_zeros = i & 4 ? zeros : NULL;
        done += check_winograd(&p, i % 3 + 1);
        free_product(&p);
    }
    CHECK(done > 0 || !has_winograd());
}

TEST(winograd_does_not_overflow_with_the_most_channels)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 16; i++) {
        product p = make_3x3(896, 1, 10, 10, (i ^ i >> 2) & 3);
        memset((void *)(uintptr_t)p.args.a, ends[i & 3], (size_t)p.a_elements);
        memset((void *)(uintptr_t)p.b.at, ends[i >> 2 & 3], (size_t)p.b_elements);
        p.args.a_zero = p.shape.a_signed ? (i & 1 ? -128 : 127) : i & 1 ? 0 : 255;
        p.args.b_zero = p.shape.b_signed ? (i & 4 ? -128 : 127) : i & 4 ? 0 : 255;
        CHECK(check_winograd(&p, 1) > 0 || !has_winograd());
        free_product(&p);
    }
}

TEST(what_winograd_does_not_do_is_left)
{
    product p = make_3x3(16, 16, 12, 12, 0);
    native_int8_winograd plan;
    native_int8_cpu cpu;
    native_int8_find_cpu(&cpu, "avx2 fma");
    CHECK(native_int8_winograd_plan(&plan, &cpu, &p.shape, 2) == has_winograd());
    p.shape.window.stride[1] = 2;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    p.shape.window.stride[1] = 1;
    p.shape.window.channels = 17;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    p.shape.window.channels = 912;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    free_product(&p);
}

static const test_case cases[] = {
    CASE(windows_of_3_x_3_are_exact_by_winograd),
    CASE(winograd_does_not_overflow_with_the_most_channels),
    CASE(what_winograd_does_not_do_is_left),
};

TEST_MAIN_OF_ONE_THREAD(cases)

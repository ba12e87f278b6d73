/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_narrow.c: convolutions of 8-bit integers in groups of few outputs against plain sums of
 * 64 bits, and which ones are left to others.
 */
#include "int8_kit.h"
#include "int8_narrow.h"

/* A convolution of two axes in groups of so many inputs and outputs, over 2 images. */
static product make_groups(int64_t groups, int64_t ins, int64_t outs, int signs)
{
    product p = make_window(2, signs, ins, groups, groups * outs);
    p.shape.window.channels = groups * ins;
    return p;
}

/* Column n of group n / outs, whose inputs are beside each other. */
static int32_t *make_sums_of_groups(const product *p, int64_t groups)
{
    const int64_t outs = p->shape.n / groups, ins = p->shape.window.channels / groups;
    int32_t *sums = malloc((size_t)(p->shape.m * p->shape.n) * sizeof *sums);
    for (int64_t g = 0; sums && g < groups; g++) {
        product one = *p;
        one.shape.n = outs;
        one.shape.window.channels = ins;
        one.args.a = (const uint8_t *)p->args.a + g * ins;
        one.b.at = (const uint8_t *)p->b.at + g * outs * p->b.n_step;
        one.args.b_zeros = p->args.b_zeros ? p->args.b_zeros + g * outs : NULL;
        int32_t *some = make_sums(&one, false);
        for (int64_t i = 0; some && i < p->shape.m; i++)
            memcpy(sums + i * p->shape.n + g * outs, some + i * outs, (size_t)outs * sizeof *some);
        free(some);
    }
    return sums;
}

/* Of int32, on every processor that does it so; how many did. */
static int check_groups(const product *p, int64_t groups)
{
    int32_t *sums = make_sums_of_groups(p, groups);
    native_int8_narrow plan;
    native_int8_cpu cpu;
    int done = 0;
    for (int i = 0; i < N_CPUS && sums; i++) {
        const char *name = find_cpu(i, &cpu);
        if (!native_int8_narrow_plan(&plan, &cpu, &p->shape, groups))
            continue;
        void *packed = make_aligned(plan.packed_bytes), *scratch = make_aligned(plan.scratch_bytes);
        int32_t *c = calloc((size_t)(p->shape.m * p->shape.n), sizeof *c);
        native_int8_args args = p->args;
        args.packed = packed;
        args.c = c;
        if (packed && scratch && c) {
            memset(scratch, 0x5a, plan.scratch_bytes);
            native_int8_narrow_pack(&plan, &p->b, args.b_zero, args.b_zeros, packed, 0,
                                    plan.parts / 2);
            native_int8_narrow_pack(&plan, &p->b, args.b_zero, args.b_zeros, packed, plan.parts / 2,
                                    plan.parts);
            native_int8_narrow_run(&plan, &args, scratch, 0, plan.n_units / 3);
            native_int8_narrow_run(&plan, &args, scratch, plan.n_units / 3, plan.n_units);
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

static bool has_narrow(void)
{
    native_int8_cpu cpu;
    native_int8_find_cpu(&cpu, "avx2 fma");
    return cpu.narrow != NULL;
}

TEST(narrow_groups_are_exact)
{
    static const int outs[] = {8, 4, 2, 1};
    int done = 0;
    for (int i = 0; i < 64; i++) {
        const int64_t groups = between(1, 20), ins = i % 4 ? between(1, 9) : 2 * between(4, 12);
        product p = make_groups(groups, outs[i % 4] == 8 ? 2 * ins : ins, outs[i % 4], i / 4 & 3);
        int32_t zeros[160];
        for (int n = 0; n < 160; n++)
            zeros[n] = p.shape.b_signed ? between(-128, 127) : between(0, 255);
        p.args.b_zeros = i & 16 ? zeros : NULL;
        done += check_groups(&p, groups);
        free_product(&p);
    }
    CHECK(done > 0 || !has_narrow());
}

/* Images of several blocks, with windows of 3 x 3 and the ends of both types. */
TEST(narrow_groups_of_large_images_are_exact)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 16; i++) {
        product p = make_3x3(24, 24, between(30, 50), between(20, 40), (i ^ i >> 2) & 3);
        p.shape.k = 9 * 8;
        p.b = (native_int8_matrix){p.b.at, p.shape.k, 8, 9, 1};
        memset((void *)(uintptr_t)p.b.at, ends[i >> 2 & 3], (size_t)p.b_elements);
        if (i & 1)
            memset((void *)(uintptr_t)p.args.a, ends[i & 3], (size_t)p.a_elements);
        p.args.a_zero = p.shape.a_signed ? (i & 1 ? -128 : 127) : i & 1 ? 0 : 255;
        p.args.b_zero = p.shape.b_signed ? (i & 4 ? -128 : 127) : i & 4 ? 0 : 255;
        CHECK(check_groups(&p, 3) > 0 || !has_narrow());
        free_product(&p);
    }
}

TEST(other_groups_are_left)
{
    native_int8_narrow plan;
    native_int8_cpu cpu;
    product p = make_groups(6, 8, 8, 0);
    native_int8_find_cpu(&cpu, "avx2 fma");
    CHECK(native_int8_narrow_plan(&plan, &cpu, &p.shape, 6) == has_narrow());
    free_product(&p);
    p = make_groups(3, 16, 16, 0);
    CHECK(!native_int8_narrow_plan(&plan, &cpu, &p.shape, 3));
    free_product(&p);
    p = make_groups(3, 6, 6, 0);
    CHECK(!native_int8_narrow_plan(&plan, &cpu, &p.shape, 3));
    free_product(&p);
    p = make_groups(3, 7, 8, 0);
    CHECK(!native_int8_narrow_plan(&plan, &cpu, &p.shape, 3));
    free_product(&p);
}

static const test_case cases[] = {
    CASE(narrow_groups_are_exact),
    CASE(narrow_groups_of_large_images_are_exact),
    CASE(other_groups_are_left),
};

TEST_MAIN_OF_ONE_THREAD(cases)

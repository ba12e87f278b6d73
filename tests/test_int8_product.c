/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_product.c: products and dense convolutions of 8-bit integers of plugins/cpu-native
 * against plain sums of 64 bits, on every instruction set that this machine has, and how bytes are
 * transposed. What becomes of the sums is in test_int8_results.c, what has kernels of its own in
 * test_int8_depthwise.c and test_int8_winograd.c.
 */
#include "int8_kit.h"
#include "int8_lists.h"
#include "int8_turn.h"

/* Of int32, on every processor, with B constant and not. */
static void check_sums(const product *p)
{
    int32_t *sums = make_sums(p, false);
    native_int8_cpu cpu;
    for (int i = 0; i < 2 * N_CPUS; i++) {
        const char *name = find_cpu(i / 2, &cpu);
        void *c = run(p, &cpu, i % 2 != 0 || cpu.variable->lists, i % 3 + 1);
        CHECK(same(sums, c, (size_t)(p->shape.m * p->shape.n) * 4, name));
        free(c);
    }
    free(sums);
}

/* ---- sums ---- */

TEST(products_of_every_small_size_are_exact)
{
    for (int64_t i = 1; i <= 50; i++)
        for (int signs = 0; signs < 4; signs++) {
            product p = make_product(1 + (i * 7) % 29, i, 1 + (i * 29) % 65, signs);
            product q = make_product(i, 1 + (i * 13) % 40, i + signs, signs);
            check_sums(&p);
            check_sums(&q);
            free_product(&p);
            free_product(&q);
        }
}

/* As weights are: nearer to 0 than evenly distributed ones. */
static void make_normal(uint8_t *p, int64_t n, bool is_signed, int spread)
{
    for (int64_t i = 0; i < n; i++) {
        int v = 0;
        for (int k = 0; k < 4; k++)
            v += between(-spread, spread);
        v = v < -128 ? -128 : v > 127 ? 127 : v;
        p[i] = (uint8_t)(is_signed ? v : v + 128);
    }
}

TEST(weights_of_every_spread_are_exact)
{
    static const int spreads[] = {1, 10, 20, 30, 40, 60, 127};
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++)
        for (int signs = 0; signs < 4; signs++) {
            product p = make_product(9, 37, 131, signs);
            make_normal((uint8_t *)(uintptr_t)p.b.at, p.b_elements, p.shape.b_signed, spreads[i]);
            check_sums(&p);
            free_product(&p);
        }
}

/* Near a zero point, as most activations are, so that some are far from it. */
TEST(rows_of_every_spread_are_exact)
{
    static const int spreads[] = {5, 20, 40, 60, 90}, zeros[] = {0, 3, 90, 128, 190, 255};
    for (int i = 0; i < 5 * 6 * 4; i++) {
        const int zero = zeros[i / 4 % 6], off = i & 1 ? 128 : 0;
        product p = make_product(5 + i % 7, 33, 100 + i, i & 3);
        uint8_t *a = (uint8_t *)(uintptr_t)p.args.a;
        for (int64_t k = 0; k < p.a_elements; k++) {
            int v = zero;
            for (int n = 0; n < 4; n++)
                v += between(-spreads[i / 24], spreads[i / 24]);
            v = k % 61 == 0 ? 255 * (k % 2) : v < 0 ? 0 : v > 255 ? 255 : v;
            a[k] = (uint8_t)(v - off);
        }
        p.args.a_zero = zero - off;
        check_sums(&p);
        free_product(&p);
    }
}

/* Weights without a zero point. */
static product make_symmetric(int64_t m, int64_t n, int64_t k, int signs)
{
    product p = make_product(m, n, k, signs);
    p.args.b_zero = p.shape.b_signed ? 0 : 128;
    return p;
}

/* Most are small, as behind a ReLU; one of `rare` is anything. */
TEST(small_rows_with_few_large_terms_are_exact)
{
    static const int mosts[] = {1, 40, 64, 66, 100, 128}, rares[] = {1, 9, 40, 300};
    for (int i = 0; i < 6 * 4 * 4 * 3; i++) {
        const int zero = i / 96 == 0 ? 0 : i / 96 == 1 ? 12 : 140, off = i & 1 ? 128 : 0;
        product p = make_symmetric(1 + i % 9, 33, 90 + i, i & 3);
        uint8_t *a = (uint8_t *)(uintptr_t)p.args.a;
        for (int64_t k = 0; k < p.a_elements; k++) {
            int v = (zero > 76 ? zero - 76 : 0) + between(0, mosts[i / 4 % 6]);
            v = between(1, rares[i / 24 % 4]) == 1 ? between(0, 255) : v;
            a[k] = (uint8_t)(v - off);
        }
        p.args.a_zero = zero - off;
        check_sums(&p);
        free_product(&p);
    }
}

/* Two and four of them are at the most that sums of 16 bits hold, or above it here and there. */
TEST(small_rows_that_just_fit_do_not_saturate)
{
    static const uint8_t terms[] = {63, 64, 127, 128, 129, 255}, periods[] = {1, 2, 20, 41};
    for (int i = 0; i < 6 * 4 * 2 * 3; i++) {
        product p = make_symmetric(5, 19, 130 + i % 9, 2);
        uint8_t *a = (uint8_t *)(uintptr_t)p.args.a;
        memset((void *)(uintptr_t)p.b.at, i / 24 % 2 ? 0x80 : 0x7f, (size_t)p.b_elements);
        for (int64_t k = 0; k < p.a_elements; k++)
            a[k] = (uint8_t)(terms[i % 6] - (k % periods[i / 6 % 4] != 0));
        p.args.a_zero = i / 48 * 25;
        check_sums(&p);
        free_product(&p);
    }
    for (int i = 0; i < 2 * 4; i++) {
        product p = make_symmetric(5, 19, 131, 2);
        uint8_t *a = (uint8_t *)(uintptr_t)p.args.a;
        memset((void *)(uintptr_t)p.b.at, i % 2 ? 0x80 : 0x7f, (size_t)p.b_elements);
        for (int64_t k = 0; k < p.a_elements; k++)
            a[k] = (uint8_t)(64 + (k % 97 == 0) * (i / 2 + 1));
        p.args.a_zero = 0;
        check_sums(&p);
        free_product(&p);
    }
}

TEST(long_rows_are_exact)
{
    for (int64_t k = 8185; k <= 8200; k += 3) {
        product p = make_symmetric(3, 17, k, 3);
        make_normal((uint8_t *)(uintptr_t)p.args.a, p.a_elements, true, 8);
        p.args.a_zero = -60;
        check_sums(&p);
        free_product(&p);
    }
}

/* 16 columns of the same k weights, sorted into lists. */
static native_int8_lists *make_lists(const int8_t *weights, int k)
{
    int8_t b[64 * 16];
    const native_int8_matrix matrix = {b, 1, k, 16, 0};
    native_int8_lists *l = make_aligned(native_int8_lists_bytes(k));
    for (int i = 0; i < 16 * k; i++)
        b[i] = weights[i / 16];
    if (l)
        native_int8_make_lists(&matrix, true, k, 0, 16, l);
    return l;
}

TEST(terms_meet_others_where_their_neighbours_are_too_large)
{
    static const int8_t paired[16] = {100, 100, 100, 100, 9, 9, 9,   9,
                                      9,   100, 9,   100, 9, 9, 100, 100};
    static const int8_t summed[16] = {90, 80, 70, 60, 9, 9, 9, 9, -90, -80, -70, -60, 3, -3, 3, -3};
    static const int8_t large[20] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
                                     100, 100, 100, 100, 100, 100, 1,   2,   3,   4};
    native_int8_lists *l = make_lists(paired, 16);
    CHECK(l && l->octets == 0 && l->quads == 2 && l->wides == 0);
    free(l);
    l = make_lists(summed, 16);
    CHECK(l && l->octets == 2 && l->quads == 0 && l->wides == 0);
    free(l);
    l = make_lists(large, 20);
    CHECK(l && l->octets == 1 && l->quads == 0 && l->wides == 2);
    free(l);
}

TEST(extreme_values_do_not_saturate)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 256; i++) {
        product p = make_product(5, 19, 264 + i % 3, i >> 6);
        memset((void *)(uintptr_t)p.args.a, ends[i & 3], (size_t)p.a_elements);
        memset((void *)(uintptr_t)p.b.at, ends[i >> 2 & 3], (size_t)p.b_elements);
        p.args.a_zero = p.shape.a_signed ? (i & 16 ? -128 : 127) : i & 16 ? 0 : 255;
        p.args.b_zero = p.shape.b_signed ? (i & 32 ? -128 : 127) : i & 32 ? 0 : 255;
        check_sums(&p);
        free_product(&p);
    }
}

TEST(long_sums_keep_their_low_32_bits)
{
    product p = make_product(2, 17, 70000, 0);
    memset((void *)(uintptr_t)p.args.a, 255, (size_t)p.a_elements);
    memset((void *)(uintptr_t)p.b.at, 255, (size_t)p.b_elements);
    p.args.a_zero = p.args.b_zero = 0;
    check_sums(&p);
    free_product(&p);
}

TEST(every_row_and_column_may_have_a_zero_point)
{
    for (int signs = 0; signs < 4; signs++) {
        product p = make_product(23, 41, 50, signs);
        int32_t rows[23], columns[41];
        for (int i = 0; i < 23; i++)
            rows[i] = p.shape.a_signed ? between(-128, 127) : between(0, 255);
        for (int i = 0; i < 41; i++)
            columns[i] = p.shape.b_signed ? between(-128, 127) : between(0, 255);
        p.args.a_zeros = rows;
        check_sums(&p);
        p.args.b_zeros = columns;
        check_sums(&p);
        p.args.a_zeros = NULL;
        check_sums(&p);
        free_product(&p);
    }
}

TEST(rows_and_columns_may_lie_apart)
{
    product p = make_product(13, 20, 36, 1);
    free_product(&p);
    p.shape.lda = 50;
    p.args.a = make_bytes(13 * 50);
    p.b = (native_int8_matrix){make_bytes(20 * 36), 36, 36, 1, 0}; /* transposed */
    check_sums(&p);
    free_product(&p);
}

/* ---- windows ---- */

TEST(windows_are_convolutions)
{
    for (int i = 0; i < 240; i++) {
        product p = make_window(1 + i % 3, i / 3 % 4, between(1, 40), 1 + i % 2, between(1, 40));
        check_sums(&p);
        free_product(&p);
    }
}

TEST(a_block_of_rows_gives_what_all_of_them_do)
{
    product p = make_window(2, 1, 17, 1, 33);
    native_int8_product plan;
    native_int8_cpu cpu;
    for (int i = 0; i < N_CPUS; i++) {
        const char *name = find_cpu(i, &cpu);
        int32_t *sums = make_sums(&p, false), *c = malloc((size_t)(p.shape.m * p.shape.n) * 4);
        native_int8_plan(&plan, &cpu, &p.shape, &p.b, 1);
        void *packed = make_aligned(plan.packed_bytes), *scratch = make_aligned(plan.scratch_bytes);
        REQUIRE(sums && c && packed && scratch);
        native_int8_pack(&plan, &p.b, packed, 0, plan.n_panels);
        p.args.packed = packed;
        for (int64_t row = 0; row < p.shape.m; row += 5) {
            p.args.c = c + row * p.shape.n;
            native_int8_run_rows(&plan, &p.args, scratch, row,
                                 p.shape.m - row < 5 ? p.shape.m - row : 5);
        }
        CHECK(same(sums, c, (size_t)(p.shape.m * p.shape.n) * 4, name));
        free(sums);
        free(c);
        free(packed);
        free(scratch);
    }
    free_product(&p);
}

/* ---- transposed ---- */

TEST(matrices_of_every_small_size_are_transposed)
{
    enum { MOST = 37 };
    for (int64_t rows = 1; rows <= MOST; rows++)
        for (int64_t columns = 1; columns <= MOST; columns++) {
            const int64_t step = columns + 1;
            uint8_t *from = make_bytes(rows * step), *to = malloc((size_t)(rows * columns));
            int wrong = 0;
            REQUIRE(from && to);
            native_int8_turn(from, step, rows, columns, to, rows);
            for (int64_t i = 0; i < rows * columns; i++)
                wrong += to[i] != from[i % rows * step + i / rows];
            CHECK_INT(0, wrong);
            free(from);
            free(to);
        }
}

TEST(rows_of_every_small_length_are_woven)
{
    for (int64_t n = 0; n <= 70; n++) {
        uint8_t *a = make_bytes(n + 1), *b = make_bytes(n + 1), *to = malloc((size_t)(2 * n + 1));
        int wrong = 0;
        REQUIRE(a && b && to);
        to[2 * n] = 77;
        native_int8_weave(a, b, n, to);
        for (int64_t i = 0; i < n; i++)
            wrong += to[2 * i] != a[i] || to[2 * i + 1] != b[i];
        CHECK_INT(0, wrong);
        CHECK_INT(77, to[2 * n]);
        free(a);
        free(b);
        free(to);
    }
}

static const test_case cases[] = {
    CASE(products_of_every_small_size_are_exact),
    CASE(weights_of_every_spread_are_exact),
    CASE(rows_of_every_spread_are_exact),
    CASE(small_rows_with_few_large_terms_are_exact),
    CASE(small_rows_that_just_fit_do_not_saturate),
    CASE(long_rows_are_exact),
    CASE(terms_meet_others_where_their_neighbours_are_too_large),
    CASE(extreme_values_do_not_saturate),
    CASE(long_sums_keep_their_low_32_bits),
    CASE(every_row_and_column_may_have_a_zero_point),
    CASE(rows_and_columns_may_lie_apart),
    CASE(windows_are_convolutions),
    CASE(a_block_of_rows_gives_what_all_of_them_do),
    CASE(matrices_of_every_small_size_are_transposed),
    CASE(rows_of_every_small_length_are_woven),
};

TEST_MAIN_OF_ONE_THREAD(cases)

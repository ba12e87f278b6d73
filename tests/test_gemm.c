/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gemm.c: the matrix products of plugins/cpu-native against float64, on every instruction set
 * that this machine has. Math modes are in test_gemm_modes.c.
 */
#include "gemm_kit.h"

static void check_everywhere(const product *p)
{
    int i;
    for (i = 0; i < N_FEATURES; i++) {
        CHECK(product_agrees(p, all_features[i], 1, false));
        CHECK(product_agrees(p, all_features[i], 3, true));
    }
}

TEST(every_small_size_agrees_with_float64)
{
    int64_t i;
    for (i = 1; i <= 65; i++) {
        product p = make_product(i, 1 + (i * 7) % 65, 1 + (i * 29) % 65);
        product q = make_product(1 + (i * 31) % 65, i, 1 + (i * 3) % 33);
        product r = make_product(1 + (i * 11) % 15, 1 + (i * 13) % 40, i);
        check_everywhere(&p);
        check_everywhere(&q);
        check_everywhere(&r);
        free_product(&p);
        free_product(&q);
        free_product(&r);
    }
}

TEST(long_and_wide_products_agree_with_float64)
{
    static const int64_t sizes[][3] = {{1, 700, 1030}, {3, 33, 2049},  {70, 1100, 515},
                                       {29, 31, 1537}, {200, 130, 64}, {513, 5, 17}};
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        product p = make_product(sizes[i][0], sizes[i][1], sizes[i][2]);
        check_everywhere(&p);
        free_product(&p);
    }
}

TEST(transposed_operands_agree_with_float64)
{
    int t;
    int64_t i;
    for (t = 1; t < 4; t++)
        for (i = 1; i < 65; i += 5) {
            product p = make_product(i + 3, 66 - i, 1 + (i * 17) % 50);
            p.shape.trans_a = (t & 1) != 0;
            p.shape.trans_b = (t & 2) != 0;
            p.shape.lda = p.shape.trans_a ? p.shape.m : p.shape.k;
            p.shape.ldb = p.shape.trans_b ? p.shape.k : p.shape.n;
            check_everywhere(&p);
            free_product(&p);
        }
}

TEST(an_empty_k_gives_the_epilogue_of_zeros)
{
    product p = make_product(5, 40, 0);
    float *bias = make_matrix(40);
    REQUIRE(bias != NULL);
    p.args.column_bias = bias;
    check_everywhere(&p);
    free(bias);
    free_product(&p);
}

TEST(rows_may_lie_apart)
{
    product p = make_product(20, 37, 50);
    float *a = make_matrix(20 * 61), *b = make_matrix(50 * 43);
    free_product(&p);
    p.shape.lda = 61;
    p.shape.ldb = 43;
    p.shape.ldc = 45;
    p.args.a = a;
    p.args.b = b;
    check_everywhere(&p);
    free_product(&p);
}

/* 8 KiB apart: such rows of B are packed before the tiles. One block of K and two, all heights. */
TEST(rows_may_lie_in_the_same_places_of_a_cache)
{
    static const int64_t ks[] = {50, 523};
    size_t i;

    for (i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        product p = make_product(43, 37, ks[i]);
        free((void *)(uintptr_t)p.args.b);
        p.shape.ldb = 2048;
        p.args.b = make_matrix((ks[i] - 1) * 2048 + 37);
        check_everywhere(&p);
        free_product(&p);
    }
}

TEST(every_part_of_the_epilogue_agrees_with_float64)
{
    product p = make_product(33, 45, 40);
    float *full = make_matrix(33 * 45), *row = make_matrix(33), *column = make_matrix(45);
    int parts;
    REQUIRE(full && row && column);
    for (parts = 0; parts < 16; parts++) {
        p.shape.epilogue.alpha = parts & 1 ? -1.75f : 1.0f;
        p.args.row_bias = parts & 2 ? row : NULL;
        p.args.column_bias = parts & 4 ? column : NULL;
        p.args.residual = parts & 8 ? full : NULL;
        p.shape.epilogue.ld_residual = 45;
        check_everywhere(&p);
    }
    for (parts = 0; parts < 4; parts++) {
        p.args.residual = NULL;
        p.args.addend = full;
        p.shape.epilogue.beta = 0.5f;
        p.shape.epilogue.addend_row = parts & 1 ? 45 : 0;
        p.shape.epilogue.addend_column = parts & 2 ? 1 : 0;
        check_everywhere(&p);
    }
    free(full);
    free(row);
    free(column);
    free_product(&p);
}

TEST(the_residual_may_be_the_result_itself)
{
    product p = make_product(33, 45, 1100);
    int i;
    for (i = 0; i < N_FEATURES; i++) {
        float *c[2] = {make_matrix(33 * 45), make_matrix(33 * 45)};
        int t;
        REQUIRE(c[0] && c[1]);
        for (t = 0; t < 33 * 45; t++)
            c[1][t] = c[0][t];
        for (t = 0; t < 2; t++) {
            float *to = t ? c[1] : make_matrix(33 * 45);
            native_gemm_cpu cpu;
            native_gemm g;
            native_gemm_args args = p.args;
            void *scratch;
            REQUIRE(to != NULL);
            p.shape.epilogue.ld_residual = 45;
            p.shape.epilogue.activation = NATIVE_GEMM_RELU;
            native_gemm_find_cpu(&cpu, all_features[i]);
            native_gemm_plan(&g, &cpu, &p.shape, 1);
            scratch = make_aligned(g.scratch_bytes);
            REQUIRE(scratch != NULL);
            args.c = to;
            args.residual = c[t];
            native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
            free(scratch);
            if (t == 0) {
                memcpy(c[0], to, 33 * 45 * sizeof *to);
                free(to);
            }
        }
        for (t = 0; t < 33 * 45; t++)
            CHECK_NEAR(c[0][t], c[1][t], 1e-4);
        free(c[0]);
        free(c[1]);
    }
    free_product(&p);
}

TEST(activations_agree_with_float64)
{
    int act, i;
    for (act = NATIVE_GEMM_NONE; act <= NATIVE_GEMM_GELU_TANH; act++) {
        product p = make_product(60, 70, 1);
        for (i = 0; i < 60; i++)
            ((float *)(uintptr_t)p.args.a)[i] = i < 40 ? (float)(i - 20) : 0.03f * (float)(i - 50);
        p.shape.epilogue.activation = act;
        p.shape.epilogue.low = -0.25f;
        p.shape.epilogue.high = 6.0f;
        p.absolute = act > NATIVE_GEMM_CLIP ? 2e-6 : 0;
        check_everywhere(&p);
        free_product(&p);
    }
}

/* 40 x n, n <= 64, of a product that is 64 wide, with a bias and a residual. */
static void run_columns(const product *p, const char *features, int64_t n, float *c)
{
    native_gemm_shape shape = p->shape;
    native_gemm_args args = p->args;
    native_gemm_cpu cpu;
    native_gemm g;
    void *scratch;

    shape.n = n;
    args.c = c;
    native_gemm_find_cpu(&cpu, features);
    native_gemm_plan(&g, &cpu, &shape, 1);
    scratch = make_aligned(g.scratch_bytes);
    REQUIRE(scratch != NULL);
    native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
    free(scratch);
}

TEST(the_end_of_a_cut_tile_has_the_bits_of_a_whole_one)
{
    product p = make_product(40, 64, 33);
    float *more = make_matrix(40 * 64), *bias = make_matrix(64);
    float *whole = make_matrix(40 * 64), *cut = make_matrix(40 * 64);
    int act, f, i;

    REQUIRE(more && bias && whole && cut);
    p.args.column_bias = bias;
    p.args.residual = more;
    p.shape.epilogue.ld_residual = 64;
    p.shape.epilogue.low = -0.25f;
    p.shape.epilogue.high = 0.5f;
    for (f = 0; f < N_FEATURES; f++)
        for (act = NATIVE_GEMM_NONE; act <= NATIVE_GEMM_GELU_TANH; act++) {
            p.shape.epilogue.activation = act;
            run_columns(&p, all_features[f], 64, whole);
            run_columns(&p, all_features[f], 61, cut);
            for (i = 0; i < 40; i++)
                CHECK(memcmp(whole + i * 64, cut + i * 64, 61 * sizeof(float)) == 0);
        }
    free(more);
    free(bias);
    free(whole);
    free(cut);
    free_product(&p);
}

TEST(activations_of_what_is_not_finite_are_their_limits)
{
    static const float special[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 0.0f, -0.0f};
    static const float one = 1.0f;
    static const struct {
        int act;
        float of_inf, of_minus_inf;
    } limits[] = {{NATIVE_GEMM_RELU, INFINITY, 0},     {NATIVE_GEMM_SIGMOID, 1, 0},
                  {NATIVE_GEMM_TANH, 1, -1},           {NATIVE_GEMM_SILU, INFINITY, 0},
                  {NATIVE_GEMM_GELU_ERF, INFINITY, 0}, {NATIVE_GEMM_GELU_TANH, INFINITY, 0}};
    size_t i, f;
    for (f = 0; f < N_FEATURES; f++)
        for (i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            native_gemm_shape s = {.m = 7, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1};
            native_gemm_cpu cpu;
            native_gemm g;
            float c[7];
            native_gemm_args args = {.a = special, .b = &one, .c = c};
            void *scratch;
            s.epilogue.alpha = 1;
            s.epilogue.activation = limits[i].act;
            native_gemm_find_cpu(&cpu, all_features[f]);
            native_gemm_plan(&g, &cpu, &s, 1);
            scratch = make_aligned(g.scratch_bytes);
            REQUIRE(scratch != NULL);
            native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
            CHECK_NEAR(limits[i].of_inf, c[0], 1e-6);
            CHECK_NEAR(limits[i].of_minus_inf, c[1], 1e-6);
            CHECK(isnan(c[2]));
            CHECK(!isnan(c[3]) && !isnan(c[4]) && fabsf(c[4]) <= 1.0f);
            free(scratch);
        }
}

TEST(what_is_not_finite_comes_out_as_in_float64)
{
    static const float hostile[] = {INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f, 1e-41f, 2e-38f};
    size_t i, where;
    for (i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        for (where = 0; where < 2; where++) {
            product p = make_product(40, 70, 33);
            float *x = (float *)(uintptr_t)(where ? p.args.b : p.args.a);
            x[33 * 3 + 5] = hostile[i];
            if (fabsf(hostile[i]) > 1) { /* sums stay finite if the product does */
                int64_t k;
                for (k = 0; k < 40 * 33; k++)
                    if (where)
                        ((float *)(uintptr_t)p.args.a)[k] *= 0.5f;
            }
            /* Packing may refuse in other modes; strict takes all. */
            check_everywhere(&p);
            free_product(&p);
        }
}

TEST(a_batch_is_many_products)
{
    enum { M = 9, N = 35, K = 20, B0 = 3, B1 = 2 };
    float *a = make_matrix(B0 * B1 * M * K), *b = make_matrix(B0 * K * N);
    float *c = make_matrix(B0 * B1 * M * N);
    size_t f;
    REQUIRE(a && b && c);
    for (f = 0; f < N_FEATURES; f++) {
        native_gemm_shape s = {.m = M,
                               .n = N,
                               .k = K,
                               .lda = K,
                               .ldb = N,
                               .ldc = N,
                               .batch = {1, B0, B1},
                               .batch_a = {0, B1 * M * K, M * K},
                               .batch_b = {0, K * N, 0},
                               .batch_c = {0, B1 * M * N, M * N}};
        native_gemm_args args = {.a = a, .b = b, .c = c};
        native_gemm_cpu cpu;
        native_gemm g;
        void *scratch;
        int64_t i, j, k, at;
        s.epilogue.alpha = 1;
        native_gemm_find_cpu(&cpu, all_features[f]);
        native_gemm_plan(&g, &cpu, &s, 2);
        scratch = make_aligned(g.scratch_bytes);
        REQUIRE(scratch != NULL);
        memset(c, 0, sizeof(float) * B0 * B1 * M * N);
        native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
        for (at = 0; at < B0 * B1; at++)
            for (i = 0; i < M; i++)
                for (j = 0; j < N; j++) {
                    double sum = 0;
                    for (k = 0; k < K; k++)
                        sum += (double)a[(at * M + i) * K + k] * b[(at / B1 * K + k) * N + j];
                    CHECK_NEAR(sum, c[(at * M + i) * N + j], 1e-5);
                }
        free(scratch);
    }
    free(a);
    free(b);
    free(c);
}

TEST(the_number_of_threads_changes_no_bit)
{
    product p = make_product(61, 333, 700);
    size_t f;
    for (f = 0; f < N_FEATURES; f++) {
        float *c[2] = {make_matrix(61 * 333), make_matrix(61 * 333)};
        int t;
        REQUIRE(c[0] && c[1]);
        for (t = 0; t < 2; t++) {
            native_gemm_cpu cpu;
            native_gemm g;
            native_gemm_args args = p.args;
            void *scratch;
            native_gemm_find_cpu(&cpu, all_features[f]);
            native_gemm_plan(&g, &cpu, &p.shape, t ? 7 : 1);
            scratch = make_aligned(g.scratch_bytes);
            REQUIRE(scratch != NULL);
            args.c = c[t];
            native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
            free(scratch);
        }
        CHECK(memcmp(c[0], c[1], sizeof(float) * 61 * 333) == 0);
        free(c[0]);
        free(c[1]);
    }
    free_product(&p);
}

TEST(packing_the_left_side_ahead_changes_no_bit)
{
    int f, trans;
    for (trans = 0; trans < 2; trans++) {
        product p = make_product(150, 333, 1100);
        p.shape.trans_a = trans;
        p.shape.lda = trans ? 150 : 1100;
        p.shape.epilogue.activation = NATIVE_GEMM_RELU;
        for (f = 0; f < N_FEATURES; f++) {
            check_shared_a(&p, all_features[f], 3, 2);
            check_shared_a(&p, all_features[f], 2, 2);
            check_shared_a(&p, all_features[f], 3, 1);
            check_shared_a(&p, all_features[f], 2, 1);
        }
        free_product(&p);
    }
}

/* What this processor has of all_features[i]. */
static bool machine_has(size_t i)
{
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
    if (i >= 2)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return i == 0 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
    return i == 0;
#endif
}

TEST(each_set_of_features_has_its_own_code)
{
    static const char *const names[] = {"portable", "avx2", "avx512", "avx512"};
    size_t i;
    for (i = 0; i < N_FEATURES; i++) {
        native_gemm_cpu cpu;
        native_gemm_find_cpu(&cpu, all_features[i]);
        if (machine_has(i))
            CHECK_STR(names[i], native_gemm_isa_name(cpu.strict));
        else
            printf("  this machine has no %s\n", names[i]);
    }
}

TEST(a_hidden_feature_is_not_used)
{
    native_gemm_cpu cpu;
    native_gemm_find_cpu(&cpu, "avx2_but_another avx512f");
    CHECK_STR("portable", native_gemm_isa_name(cpu.strict));
    CHECK(cpu.modes == NULL);
}

static const test_case cases[] = {
    CASE(every_small_size_agrees_with_float64),
    CASE(long_and_wide_products_agree_with_float64),
    CASE(transposed_operands_agree_with_float64),
    CASE(an_empty_k_gives_the_epilogue_of_zeros),
    CASE(rows_may_lie_apart),
    CASE(rows_may_lie_in_the_same_places_of_a_cache),
    CASE(every_part_of_the_epilogue_agrees_with_float64),
    CASE(the_residual_may_be_the_result_itself),
    CASE(activations_agree_with_float64),
    CASE(the_end_of_a_cut_tile_has_the_bits_of_a_whole_one),
    CASE(activations_of_what_is_not_finite_are_their_limits),
    CASE(what_is_not_finite_comes_out_as_in_float64),
    CASE(a_batch_is_many_products),
    CASE(the_number_of_threads_changes_no_bit),
    CASE(packing_the_left_side_ahead_changes_no_bit),
    CASE(each_set_of_features_has_its_own_code),
    CASE(a_hidden_feature_is_not_used),
};

TEST_MAIN_OF_ONE_THREAD(cases)

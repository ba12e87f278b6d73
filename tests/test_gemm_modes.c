/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gemm_modes.c: products in the math modes against float64, by the processor, if it can, and
 * by the emulation of its arithmetic.
 */
#include "gemm_kit.h"

#if defined(__x86_64__)
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static const char *const mode_features[] = {
    "emulated", "avx2 fma avx512f avx512bw avx512vl avx512dq avx512_bf16 amx_tile amx_bf16"};
/*
 * Of a product of two factors: a bfloat16 is off by 2^-8 at most, the sum of two by 2^-16, and
 * f32x3, which tf32 is computed as, leaves out another 2^-16. What f32x6 leaves out, 2^-23, is in
 * the bound of float32.
 */
static const double mode_errors[] = {0, 0, 3 * 0x1.01p-16, 3 * 0x1.01p-16, 0x1.01p-7};

static void check_modes(product *p)
{
    int mode, i;
    for (mode = TFR_MATH_F32X6; mode <= TFR_MATH_BF16; mode++)
        for (i = 0; i < 2; i++) {
            p->shape.math_mode = mode;
            p->relative = mode_errors[mode];
            CHECK(product_agrees(p, mode_features[i], 1, false));
            CHECK(product_agrees(p, mode_features[i], 3, true));
        }
}

TEST(modes_have_their_error_for_every_small_size)
{
    int64_t i;
    for (i = 1; i <= 65; i += 2) {
        product p = make_product(i, 1 + (i * 7) % 65, 1 + (i * 29) % 67);
        product q = make_product(1 + (i * 31) % 67, i, 1 + (i * 3) % 33);
        check_modes(&p);
        check_modes(&q);
        free_product(&p);
        free_product(&q);
    }
}

TEST(modes_have_their_error_in_long_products)
{
    static const int64_t sizes[][3] = {{1, 70, 1030}, {70, 110, 515}, {33, 31, 2049}, {64, 64, 64}};
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        product p = make_product(sizes[i][0], sizes[i][1], sizes[i][2]);
        check_modes(&p);
        free_product(&p);
    }
}

TEST(modes_take_transposed_operands_batches_and_epilogues)
{
    float *residual = make_matrix(2 * 40 * 50), *bias = make_matrix(50);
    int t;
    REQUIRE(residual && bias);
    for (t = 0; t < 4; t++) {
        product p = make_product(40, 50, 70);
        p.shape.trans_a = (t & 1) != 0;
        p.shape.trans_b = (t & 2) != 0;
        p.shape.lda = p.shape.trans_a ? 40 : 70;
        p.shape.ldb = p.shape.trans_b ? 70 : 50;
        p.shape.epilogue.alpha = 0.5f;
        p.shape.epilogue.activation = NATIVE_GEMM_CLIP;
        p.shape.epilogue.low = -0.5f;
        p.shape.epilogue.high = 1.5f;
        p.shape.epilogue.ld_residual = 50;
        p.args.residual = residual;
        p.args.column_bias = bias;
        check_modes(&p);
        free_product(&p);
    }
    free(residual);
    free(bias);
}

/* Largest error in parts of the sum of the absolute products. */
static double worst_error(const product *p, const char *features)
{
    native_gemm_cpu cpu;
    native_gemm g;
    native_gemm_args args = p->args;
    const native_gemm_shape *s = &p->shape;
    float *c = make_matrix(s->m * s->n);
    double worst = 0;
    void *scratch;
    int64_t i, j, k;

    find_cpu(&cpu, features);
    native_gemm_plan(&g, &cpu, s, 1);
    scratch = make_aligned(g.scratch_bytes);
    REQUIRE(c && scratch);
    args.c = c;
    native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
    for (i = 0; i < s->m; i++)
        for (j = 0; j < s->n; j++) {
            const float *b = args.b;
            double sum = 0, size = 0;
            for (k = 0; k < s->k; k++) {
                sum += (double)args.a[i * s->k + k] * b[k * s->n + j];
                size += fabs((double)args.a[i * s->k + k] * b[k * s->n + j]);
            }
            worst = fmax(worst, fabs(c[i * s->n + j] - sum) / size);
        }
    free(scratch);
    free(c);
    return worst;
}

TEST(f32x6_is_no_less_exact_than_a_strict_product)
{
    static const int64_t depths[] = {64, 512, 2048};
    size_t i, f;
    for (i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        product p = make_product(64, 64, depths[i]);
        double strict = worst_error(&p, mode_features[1]);
        for (f = 0; f < 2; f++) {
            p.shape.math_mode = TFR_MATH_F32X6;
            CHECK(worst_error(&p, mode_features[f]) <= strict);
        }
        free_product(&p);
    }
}

TEST(the_processor_computes_what_the_emulation_does)
{
    product p = make_product(45, 70, 600);
    int mode, t;
    for (mode = TFR_MATH_F32X6; mode <= TFR_MATH_BF16; mode++) {
        float *c[2] = {make_matrix(45 * 70), make_matrix(45 * 70)};
        bool has_modes = true;
        REQUIRE(c[0] && c[1]);
        for (t = 0; t < 2; t++) {
            native_gemm_cpu cpu;
            native_gemm g;
            native_gemm_args args = p.args;
            void *scratch;
            find_cpu(&cpu, mode_features[t]);
            has_modes = cpu.modes != NULL;
            p.shape.math_mode = mode;
            native_gemm_plan(&g, &cpu, &p.shape, 1);
            scratch = make_aligned(g.scratch_bytes);
            REQUIRE(scratch != NULL);
            args.c = c[t];
            native_gemm_run(&g, &args, scratch, 0, g.n_tiles);
            free(scratch);
        }
        if (has_modes)
            CHECK(memcmp(c[0], c[1], sizeof(float) * 45 * 70) == 0);
        else
            printf("  this machine has no AMX\n");
        free(c[0]);
        free(c[1]);
    }
    free_product(&p);
}

TEST(modes_compute_strictly_what_their_format_lacks)
{
    static const float hostile[] = {INFINITY, -INFINITY, NAN, 3.4e38f, 1e20f, 1e-41f, 1e-36f};
    size_t i, where;
    for (i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        for (where = 0; where < 2; where++) {
            product p = make_product(40, 70, 100);
            float *m = where ? (float *)(uintptr_t)p.args.b : (float *)(uintptr_t)p.args.a;
            m[5 * (where ? 70 : 100) + 7] = hostile[i];
            check_modes(&p);
            free_product(&p);
        }
}

TEST(packing_the_left_side_ahead_keeps_what_the_format_lacks)
{
    product p = make_product(70, 130, 1100);
    int mode, f;
    ((float *)(uintptr_t)p.args.a)[57 * 1100 + 700] = 1e36f;
    for (mode = TFR_MATH_F32X6; mode <= TFR_MATH_BF16; mode++)
        for (f = 0; f < 2; f++) {
            p.shape.math_mode = mode;
            check_shared_a(&p, mode_features[f], 1, 2);
        }
    free_product(&p);
}

TEST(without_amx_the_modes_are_strict_and_say_why)
{
    native_gemm_cpu cpu;
    const native_gemm_shape s = {.m = 64, .n = 64, .k = 64, .math_mode = TFR_MATH_F32X6};
    const char *why;
    native_gemm g;
    native_gemm_find_cpu(&cpu, all_features[2]);
    why = native_gemm_no_mode(&cpu, &s);
    CHECK(why && strstr(why, "no amx_bf16") != NULL);
    native_gemm_plan(&g, &cpu, &s, 1);
    CHECK(g.isa == g.strict);
}

#if defined(__x86_64__)
/* From now on this process is refused every arch_prctl, with which AMX is asked for. */
static bool refuse_arch_prctl(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child, before anything has asked for AMX: 0 = the mode is strict and says why. */
static int ask_in_vain(void)
{
    const native_gemm_shape s = {.m = 64, .n = 64, .k = 64, .math_mode = TFR_MATH_F32X6};
    native_gemm_cpu cpu;
    const char *why;
    native_gemm g;
    find_cpu(&cpu, mode_features[1]);
    if (!cpu.modes)
        return 2;
    if (!refuse_arch_prctl())
        return 3;
    why = native_gemm_no_mode(&cpu, &s);
    native_gemm_plan(&g, &cpu, &s, 1);
    return why && strstr(why, "the system refuses") && g.isa == g.strict ? 0 : 1;
}
#endif

TEST(where_the_system_refuses_amx_the_modes_are_strict_and_say_why)
{
#if defined(__x86_64__)
    int status = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(ask_in_vain());
    REQUIRE_INT(child, waitpid(child, &status, 0));
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        SKIP("this machine has no AMX");
    if (WEXITSTATUS(status) == 3)
        SKIP("this system has no filters of system calls");
    CHECK_INT(0, WEXITSTATUS(status));
#else
    SKIP("AMX is of x86-64");
#endif
}

static const test_case cases[] = {
    /* first: a process that has once been granted AMX keeps it */
    CASE(where_the_system_refuses_amx_the_modes_are_strict_and_say_why),
    CASE(modes_have_their_error_for_every_small_size),
    CASE(modes_have_their_error_in_long_products),
    CASE(modes_take_transposed_operands_batches_and_epilogues),
    CASE(f32x6_is_no_less_exact_than_a_strict_product),
    CASE(the_processor_computes_what_the_emulation_does),
    CASE(modes_compute_strictly_what_their_format_lacks),
    CASE(packing_the_left_side_ahead_keeps_what_the_format_lacks),
    CASE(without_amx_the_modes_are_strict_and_say_why),
};
TEST_MAIN_OF_ONE_THREAD(cases)

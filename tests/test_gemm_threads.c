/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gemm_threads.c: threads that help each other in a product of plugins/cpu-native. Run it
 * under ThreadSanitizer, too.
 */
#include "tfr_test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "gemm.h"

enum { THREADS = 4, ROUNDS = 10 };

/* ---- a host with a thread for each range ---- */

typedef struct range {
    tfr_range_fn fn;
    void *user;
    int64_t begin, end;
} range;

static void *run_range(void *argument)
{
    const range *r = argument;
    r->fn(r->user, r->begin, r->end);
    return NULL;
}

static void run_at_once(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    pthread_t threads[THREADS];
    range ranges[THREADS];
    int started = 0;
    int64_t i;

    if (grain < 1)
        grain = (n + THREADS - 1) / THREADS;
    for (i = 0; i < n; i += grain, started++) {
        ranges[started] = (range){fn, user, i, i + grain < n ? i + grain : n};
        if (pthread_create(&threads[started], NULL, run_range, &ranges[started]) != 0)
            abort();
    }
    while (started-- > 0)
        pthread_join(threads[started], NULL);
}

/* ---- products ---- */

static float *make_matrix(int64_t n)
{
    float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);
    int64_t i;

    for (i = 0; p && i < n; i++)
        p[i] = (float)(i * 7919 % 1009) / 1009.0f - 0.5f;
    return p;
}

/* Of several threads, some times, against one thread. */
static void check_product(const native_gemm_cpu *cpu, const native_gemm_shape *s, float infinite)
{
    const tfr_host host = {.size = sizeof host, .parallel_for = run_at_once};
    const int64_t size = s->m * s->n;
    float *a = make_matrix(s->m * s->k), *b = make_matrix(s->k * s->n);
    float *alone = make_matrix(size), *together = make_matrix(size);
    native_gemm_args args = {.a = a, .b = b, .c = alone};
    native_gemm g;
    void *memory;
    int round;

    REQUIRE(a && b && alone && together);
    if (infinite != 0)
        a[size / 2 % (s->m * s->k)] = infinite;
    native_gemm_plan(&g, cpu, s, THREADS);
    memory = aligned_alloc(64, (native_gemm_workspace(&g, THREADS) + 64) & ~(size_t)63);
    REQUIRE(memory != NULL);
    native_gemm_run_all(&g, &args, memory, NULL, 1);
    args.c = together;
    for (round = 0; round < ROUNDS; round++) {
        memset(together, 0xff, (size_t)size * sizeof *together);
        native_gemm_run_all(&g, &args, memory, &host, THREADS);
        CHECK(memcmp(alone, together, (size_t)size * sizeof *alone) == 0);
    }
    free(memory);
    free(a);
    free(b);
    free(alone);
    free(together);
}

static native_gemm_shape shape_of(int64_t m, int64_t n, int64_t k)
{
    return (native_gemm_shape){.m = m,
                               .n = n,
                               .k = k,
                               .lda = k,
                               .ldb = n,
                               .ldc = n,
                               .epilogue = {.alpha = 1, .activation = NATIVE_GEMM_RELU}};
}

/* One unit is wider than the others, or there are more than threads; one or several blocks of K. */
TEST(threads_that_help_each_other_change_no_bit)
{
    static const int64_t sizes[][3] = {{301, 70, 40}, {200, 75, 1700}, {90, 900, 300}, {3, 200, 9}};
    native_gemm_cpu cpu;
    size_t i;

    native_gemm_find_cpu(&cpu, "avx2 fma avx512f avx512bw avx512vl avx512dq");
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        native_gemm_shape s = shape_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        check_product(&cpu, &s, 0);
        s.trans_a = s.trans_b = true;
        s.lda = s.m;
        s.ldb = s.k;
        check_product(&cpu, &s, 0);
        cpu.l2_bytes = 64 << 10; /* more units, and A is packed for all */
    }
}

TEST(what_a_format_lacks_is_computed_strictly_by_helpers_too)
{
    native_gemm_shape s = shape_of(90, 140, 40);
    native_gemm_cpu cpu;

    native_gemm_find_cpu(&cpu, "");
    native_gemm_emulate_modes(&cpu);
    s.math_mode = TFR_MATH_F32X3;
    check_product(&cpu, &s, 0);
    check_product(&cpu, &s, INFINITY);
}

static const test_case cases[] = {
    CASE(threads_that_help_each_other_change_no_bit),
    CASE(what_a_format_lacks_is_computed_strictly_by_helpers_too),
};
TEST_MAIN(cases)

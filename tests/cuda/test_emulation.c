/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That the CPU build of CUDA's kernels (cpu_cuda.h) notices mistakes: the kernels of emulation.cu,
 * in orders of their threads that a seed draws.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu_table.h"
#include "tfr_test.h"

enum { N = 64, SEEDS = 20 };

static const tfr_cpu_kernel *kernels;
static uint64_t *seed;
static _Alignas(16) float x[N], y[N];

#define BEGIN()                                                                                    \
    if (!begin())                                                                                  \
    SKIP("configure found no C++ compiler for CUDA's kernels")

/* The thread sanitizer ends a test that it finds a race in, and tests/cuda/kernels.sh has none. */
#ifdef __SANITIZE_THREAD__
#define BEGIN_RACE() SKIP("the kernel has a race on purpose")
#else
#define BEGIN_RACE() BEGIN()
#endif

static bool begin(void)
{
    char path[4096];
    const char *build = getenv("TFR_BUILDDIR");
    snprintf(path, sizeof path, "%s/tests/cuda/emulation.so", build ? build : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    kernels = dlsym(library, "tfr_cpu_kernels");
    seed = dlsym(library, "tfr_cpu_seed");
    REQUIRE(kernels && seed);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    return true;
}

/* An address of the "device" is that of the host, within x and y. */
static void *reach(void *ctx, uint64_t address, size_t *bytes)
{
    (void)ctx;
    *bytes = sizeof x;
    return address == (uintptr_t)x ? (void *)x : address == (uintptr_t)y ? (void *)y : NULL;
}

/* One block of N threads. */
static unsigned run(const char *name, uint64_t with_seed)
{
    uint64_t addresses[] = {(uintptr_t)x, (uintptr_t)y};
    void *args[] = {&addresses[0], &addresses[1]};
    const tfr_cpu_launch launch = {
        .grid = {1, 1, 1}, .block = {N, 1, 1}, .args = args, .reach = reach};
    const tfr_cpu_kernel *k = kernels;
    while (k->name && strcmp(k->name, name) != 0)
        k++;
    REQUIRE(k->name != NULL);
    *seed = with_seed;
    memset(y, 0, sizeof y);
    return k->run(&launch);
}

/* Whether y is x rotated. */
static bool is_rotated(int by)
{
    for (int i = 0; i < N; i++)
        if (!(y[i] == x[(i + by) % N])) /* NaN is not */
            return false;
    return true;
}

TEST(a_right_kernel_is_right_in_each_order)
{
    BEGIN();
    for (uint64_t s = 1; s <= SEEDS; s++) {
        CHECK_UINT(0, run("rotate", s));
        CHECK(is_rotated(1));
    }
}

TEST(a_missing_barrier_gives_wrong_values_in_each_order)
{
    BEGIN_RACE();
    for (uint64_t s = 1; s <= SEEDS; s++) {
        CHECK_UINT(0, run("rotate_without_barrier", s));
        CHECK(!is_rotated(1));
    }
}

TEST(a_missing_second_barrier_does_so_in_each_order)
{
    BEGIN_RACE();
    for (uint64_t s = 1; s <= SEEDS; s++) {
        CHECK_UINT(0, run("rotate_twice_with_one_barrier", s));
        CHECK(!is_rotated(2));
    }
}

TEST(copies_are_there_for_those_who_wait)
{
    BEGIN();
    for (uint64_t s = 1; s <= SEEDS; s++) {
        CHECK_UINT(0, run("rotate_by_copies", s));
        CHECK(is_rotated(1));
        CHECK_UINT(0, run("rotate_by_copies_without_wait", s));
        for (int i = 0; i < N; i++)
            CHECK(isnan(y[i]));
    }
}

TEST(threads_that_have_ended_are_not_waited_for)
{
    BEGIN();
    CHECK_UINT(0, run("end_before_barrier", 1));
    CHECK_NEAR(x[31], y[31], 0);
}

TEST(threads_that_wait_at_different_barriers_end_the_kernel)
{
    BEGIN();
    for (uint64_t s = 1; s <= SEEDS; s++)
        CHECK_UINT(719, run("stuck_at_barrier", s));
}

TEST(a_shuffle_that_half_of_a_warp_comes_to_ends_the_kernel)
{
    BEGIN();
    for (uint64_t s = 1; s <= SEEDS; s++)
        CHECK_UINT(719, run("stuck_at_shuffle", s));
}

TEST(a_warp_multiplies_matrices_rounded_to_tf32)
{
    BEGIN();
    for (uint64_t s = 1; s <= SEEDS; s++) {
        CHECK_UINT(0, run("square_tf32", s));
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += x[i / 8 * 8 + k] * x[k * 8 + i % 8];
            CHECK_NEAR(sum, y[i], 0);
        }
    }
}

TEST(after_a_kernel_that_got_stuck_another_one_runs)
{
    BEGIN();
    CHECK_UINT(719, run("stuck_at_barrier", 1));
    CHECK_UINT(0, run("rotate", 1));
    CHECK(is_rotated(1));
}

TEST(shared_memory_that_nobody_has_written_is_nan)
{
    BEGIN();
    CHECK_UINT(0, run("read_unwritten", 1));
    for (int i = 0; i < N; i++)
        CHECK(isnan(y[i]));
}

TEST(an_index_behind_the_end_ends_the_kernel)
{
    BEGIN();
    CHECK_UINT(700, run("read_past_end", 1));
}

TEST(a_wide_read_that_is_not_aligned_ends_the_kernel)
{
    BEGIN();
    CHECK_UINT(716, run("read_unaligned", 1));
}

static const test_case cases[] = {
    CASE(a_right_kernel_is_right_in_each_order),
    CASE(a_missing_barrier_gives_wrong_values_in_each_order),
    CASE(a_missing_second_barrier_does_so_in_each_order),
    CASE(copies_are_there_for_those_who_wait),
    CASE(threads_that_have_ended_are_not_waited_for),
    CASE(threads_that_wait_at_different_barriers_end_the_kernel),
    CASE(a_shuffle_that_half_of_a_warp_comes_to_ends_the_kernel),
    CASE(a_warp_multiplies_matrices_rounded_to_tf32),
    CASE(after_a_kernel_that_got_stuck_another_one_runs),
    CASE(shared_memory_that_nobody_has_written_is_nan),
    CASE(an_index_behind_the_end_ends_the_kernel),
    CASE(a_wide_read_that_is_not_aligned_ends_the_kernel),
};
TEST_MAIN(cases)

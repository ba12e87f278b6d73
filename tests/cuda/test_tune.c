/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms of cuBLASLt that are chosen by timing: which one is taken, what is kept of the choice,
 * and that nothing is run where it may not be. The stand-in has three algorithms for addresses at
 * multiples of 16: 2, with a workspace, 3, and 4.
 */
#include "cublaslt_abi.h"
#include "tune_kit.h"

enum { FIRST = 2, SECOND, THIRD };

TEST(the_fastest_algorithm_is_taken)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    lt.cost(SECOND, 1);
    lt.cost(THIRD, 2);
    CHECK_INT(SECOND, number_of(&r, &product));
    CHECK(n_timed() > 0);
    end_tune(&r);
}

TEST(of_algorithms_that_take_as_long_the_librarys_first_is_taken)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 1);
    lt.cost(SECOND, 1);
    lt.cost(THIRD, 1);
    CHECK_INT(FIRST, number_of(&r, &product));
    end_tune(&r);
}

TEST(another_process_does_not_time_again)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    CHECK_INT(SECOND, number_of(&r, &product));
    end_tune(&r);
    CHECK_UINT(1, n_entries);
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    lt.cost(FIRST, 0);
    lt.cost(SECOND, 3);
    CHECK_INT(SECOND, number_of(&r, &product));
    const unsigned n = n_gets;
    CHECK_INT(SECOND, number_of(&r, &product)); /* which is remembered */
    CHECK_UINT(n, n_gets);
    CHECK_UINT(0, n_timed());
    CHECK_UINT(1, n_puts);
    end_tune(&r);
}

TEST(without_a_store_a_choice_holds_while_the_device_is_open)
{
    BEGIN_TUNE("");
    store_is_off = true;
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    CHECK_INT(SECOND, number_of(&r, &product));
    const unsigned n = n_timed();
    lt.cost(SECOND, 4);
    CHECK_INT(SECOND, number_of(&r, &product));
    CHECK_UINT(n, n_timed());
    end_tune(&r);
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    CHECK_INT(THIRD, number_of(&r, &product));
    end_tune(&r);
}

TEST(a_host_without_a_store_is_enough)
{
    BEGIN_TUNE("");
    facet_of_host = NULL;
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    CHECK_INT(SECOND, number_of(&r, &product));
    end_tune(&r);
}

TEST(the_key_tells_the_chip_the_library_and_the_problem)
{
    problem other = product;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    other.math_mode = TFR_MATH_TF32;
    (void)number_of(&r, &product);
    (void)number_of(&r, &other);
    CHECK_UINT(2, n_entries);
    CHECK_CONTAINS(", 9.0, ", entries[0].key);
    CHECK_CONTAINS(
        " multiprocessors; cuBLASLt 130100; product of type 1, math mode 0: 24 x 40 x "
        "32, swapped 0 0, batch 1 by 0 and 0, bias 0, addend 0, alpha 0x1p+0, beta 0x0p+0, "
        "activation 0",
        entries[0].key);
    CHECK_CONTAINS(" math mode 3: ", entries[1].key);
    end_tune(&r);
}

/* What was kept, after `damage` has been done to it. */
static void check_replaced(void (*damage)(void))
{
    unsigned char good[sizeof entries[0].data];
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    CHECK_INT(SECOND, number_of(&r, &product));
    end_tune(&r);
    REQUIRE_INT(1, (int)n_entries);
    const uint64_t n = entries[0].n;
    memcpy(good, entries[0].data, sizeof good);
    damage();
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    CHECK_INT(SECOND, number_of(&r, &product));
    CHECK(n_timed() > 0);
    CHECK_UINT(2, n_puts);
    CHECK_UINT(n, entries[0].n);
    CHECK(memcmp(good, entries[0].data, (size_t)n) == 0);
    end_tune(&r);
}

static void cut_short(void)
{
    entries[0].n--;
}

static void make_longer(void)
{
    entries[0].n = sizeof entries[0].data;
}

static void make_empty(void)
{
    entries[0].n = 0;
}

static void spoil_magic(void)
{
    entries[0].data[7]++;
}

/* An algorithm that the library does not name for this product. */
static void name_another(void)
{
    entries[0].data[8 + 16] = 0;
}

TEST(a_kept_choice_that_is_malformed_is_replaced)
{
    check_replaced(cut_short);
    check_replaced(make_longer);
    check_replaced(make_empty);
    check_replaced(spoil_magic);
}

TEST(a_kept_choice_that_the_library_does_not_name_any_more_is_replaced)
{
    check_replaced(name_another);
}

TEST(an_algorithm_that_fails_is_passed_over)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    lt.cost(SECOND, -1);
    lt.cost(THIRD, 2);
    CHECK_INT(THIRD, number_of(&r, &product));
    end_tune(&r);
}

TEST(where_all_fail_the_librarys_first_stays_and_nothing_is_kept)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    for (unsigned i = FIRST; i <= THIRD; i++)
        lt.cost(i, -1);
    REQUIRE_OK(prepare_one(&r, &product, &kernel, &info), &err);
    CHECK_UINT(UINT64_C(4) << 20, info.workspace_bytes);
    CHECK_UINT(0, n_puts);
    kernels->drop(r.device, kernel);
    lt.cost(THIRD, 0);
    CHECK_INT(THIRD, number_of(&r, &product)); /* is asked again */
    end_tune(&r);
}

TEST(a_problem_gets_a_fifth_of_a_second_of_the_gpu)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 150);
    CHECK_INT(FIRST, number_of(&r, &product));
    CHECK_UINT(2, n_timed()); /* the one that loads code, and one that counts */
    CHECK_UINT(1, n_puts);
    end_tune(&r);
}

/* So that the host's time is not measured: it is at work for longer than the host. */
TEST(the_gpu_is_busy_in_front_of_each_run)
{
    const tfr_option options[] = {{"library-from", "0"}, {"tune_fill", "70000"}};
    BEGIN_TUNE("");
    rig r = rig_of(open_options(0, options, 2));
    CHECK_INT(FIRST, number_of(&r, &product));
    CHECK_UINT(1 + n_timed(), calls_of("cuMemsetD8Async"));
    end_tune(&r);
}

/* More than a workspace behind it could take in. */
TEST(all_that_a_candidate_writes_has_room)
{
    const problem large = {"MatMul", 2, {1200, 4}, {4, 1200}, {1200, 1200}, 0, 0};
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 150);
    CHECK_OK(prepare_one(&r, &large, &kernel, &info), &err);
    CHECK_UINT(2, n_timed());
    kernels->drop(r.device, kernel);
    end_tune(&r);
}

TEST(an_algorithm_that_takes_twice_as_long_is_run_once_more_only)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 1);
    lt.cost(SECOND, 3);
    lt.cost(THIRD, 3);
    CHECK_INT(FIRST, number_of(&r, &product));
    CHECK_UINT(5 + 2 + 2, n_timed());
    end_tune(&r);
}

/* ---- where nothing is run -------------------------------------------------------------------- */

static void check_not_run(rig *r, const problem *p, int expected)
{
    lt.cost(FIRST, 3);
    CHECK_INT(expected, number_of(r, p));
    CHECK_UINT(0, n_timed());
    CHECK_UINT(0, n_puts);
    end_tune(r);
}

TEST(the_option_tune_switches_it_off)
{
    BEGIN_TUNE("");
    rig r = new_rig("tune", "off");
    check_not_run(&r, &product, FIRST);
    CHECK_UINT(0, n_gets);
    BEGIN("worktime");
    r = new_rig("tune", "0");
    check_not_run(&r, &product, FIRST);
    BEGIN("worktime");
    r = new_rig("tune", "on");
    CHECK_INT(SECOND, number_of(&r, &product));
    end_tune(&r);
}

TEST(another_value_of_the_option_is_refused)
{
    const tfr_option option = {"tune", "maybe"};
    BEGIN_TUNE("");
    err = (tfr_err)TFR_ERR_INIT;
    CHECK(open_options(0, &option, 1) == NULL);
    CHECK_STR("cuda.tune is maybe, and has to be on or off", err.text);
    check_leaks("leaked: nothing");
}

/* Whatever was measured, the bits are the same: the algorithm for any address, untimed. */
TEST(a_deterministic_call_depends_on_no_time)
{
    problem p = product;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    p.flags = TFR_CALL_DETERMINISTIC;
    check_not_run(&r, &p, THIRD);
    CHECK_UINT(0, n_gets);
}

TEST(nothing_is_run_while_the_thread_captures)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    lt.cost(FIRST, 3);
    prepare_in_capture(&r, &product, "cublasLtMatmul");
    CHECK_INT(SECOND, number_of(&r, &product)); /* afterwards it is */
    end_tune(&r);
}

TEST(where_memory_is_short_the_librarys_first_is_taken)
{
    BEGIN_TUNE("");
    rig r = new_rig("memory_limit", "6000000"); /* more than half of it is wanted */
    check_not_run(&r, &product, FIRST);
    BEGIN("worktime fail=cuMemAlloc_v2:1:2 fail=cuMemAlloc_v2:2:2");
    r = new_rig(NULL, NULL);
    check_not_run(&r, &product, FIRST);
}

/* ---- failures -------------------------------------------------------------------------------- */

static const char *const of_driver[] = {
    "cuMemAlloc_v2",      "cuEventCreate",   "cuEventRecord",  "cuEventSynchronize",
    "cuEventElapsedTime", "cuMemsetD8Async", "cuLaunchKernel", "cuMemFree_v2"};
enum { N_OF_DRIVER = sizeof of_driver / sizeof *of_driver };

/* How often prepare calls each. */
static void count_calls(unsigned n[N_OF_DRIVER])
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    for (int i = 0; i < N_OF_DRIVER; i++)
        n[i] = calls_of(of_driver[i]);
    REQUIRE_OK(prepare_one(&r, &product, &kernel, &info), &err);
    for (int i = 0; i < N_OF_DRIVER; i++)
        n[i] = calls_of(of_driver[i]) - n[i];
    kernels->drop(r.device, kernel);
    end_tune(&r);
}

TEST(whatever_call_of_the_driver_fails_there_is_an_algorithm_and_nothing_is_left)
{
    unsigned n[N_OF_DRIVER];
    BEGIN_TUNE("");
    count_calls(n);
    for (int i = 0; i < N_OF_DRIVER; i++) {
        CHECK(n[i] > 0);
        for (unsigned nth = 1; nth <= n[i]; nth++) {
            tfr_kernel *kernel;
            tfr_kernel_info info;
            BEGIN_TUNE("");
            rig r = new_rig(NULL, NULL);
            fail_at(of_driver[i], nth, 1);
            CHECK_OK(prepare_one(&r, &product, &kernel, &info), &err);
            run_kernel(&r, &product, kernel, info.workspace_bytes);
            kernels->drop(r.device, kernel);
            end_rig(&r);
            CHECK_UINT(0, lt.held());
            if (strcmp(of_driver[i], "cuMemFree_v2") != 0) /* which gave nothing back */
                check_leaks("leaked: nothing");
        }
    }
}

TEST(a_gpu_that_is_lost_while_candidates_run_is_told_and_left_alone)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("sticky=719:2");
    rig r = new_rig(NULL, NULL);
    err = (tfr_err)TFR_ERR_INIT;
    CHECK_STATUS(TFR_ELOST, prepare_one(&r, &product, &kernel, &info), &err);
    CHECK(kernel == NULL);
    CHECK_UINT(0, n_puts);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

static const test_case cases[] = {
    CASE(the_fastest_algorithm_is_taken),
    CASE(of_algorithms_that_take_as_long_the_librarys_first_is_taken),
    CASE(another_process_does_not_time_again),
    CASE(without_a_store_a_choice_holds_while_the_device_is_open),
    CASE(a_host_without_a_store_is_enough),
    CASE(the_key_tells_the_chip_the_library_and_the_problem),
    CASE(a_kept_choice_that_is_malformed_is_replaced),
    CASE(a_kept_choice_that_the_library_does_not_name_any_more_is_replaced),
    CASE(an_algorithm_that_fails_is_passed_over),
    CASE(where_all_fail_the_librarys_first_stays_and_nothing_is_kept),
    CASE(a_problem_gets_a_fifth_of_a_second_of_the_gpu),
    CASE(the_gpu_is_busy_in_front_of_each_run),
    CASE(all_that_a_candidate_writes_has_room),
    CASE(an_algorithm_that_takes_twice_as_long_is_run_once_more_only),
    CASE(the_option_tune_switches_it_off),
    CASE(another_value_of_the_option_is_refused),
    CASE(a_deterministic_call_depends_on_no_time),
    CASE(nothing_is_run_while_the_thread_captures),
    CASE(where_memory_is_short_the_librarys_first_is_taken),
    CASE(whatever_call_of_the_driver_fails_there_is_an_algorithm_and_nothing_is_left),
    CASE(a_gpu_that_is_lost_while_candidates_run_is_told_and_left_alone),
};
TEST_MAIN(cases)

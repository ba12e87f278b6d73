/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of cuDNN that are chosen by timing. The stand-in has two engines that will do for TF32: 4,
 * on tensor cores, and 7, exact and with a workspace, the only one of its heuristic's for strict
 * f32. Another one that it names takes too much memory.
 */
#include "cudnn_abi.h"
#include "tune_kit.h"

enum { FIRST = 4, SECOND = 7 };

static const problem convolution = {"Conv",        4, {1, 2, 5, 5}, {3, 2, 3, 3}, {1, 3, 3, 3},
                                    TFR_MATH_TF32, 0};

TEST(the_fastest_plan_is_taken)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 2);
    dnn.cost(SECOND, 1);
    CHECK_INT(SECOND, number_of(&r, &convolution));
    end_tune(&r);
    BEGIN_TUNE("");
    r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 1);
    dnn.cost(SECOND, 2);
    CHECK_INT(FIRST, number_of(&r, &convolution));
    end_tune(&r);
}

TEST(what_the_plan_does_to_numbers_is_told)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 2);
    REQUIRE_OK(prepare_one(&r, &convolution, &kernel, &info), &err);
    CHECK_UINT(0, info.flags & TFR_ANSWER_MATH_MODE); /* engine 7 is exact */
    CHECK_UINT((3400000 + 255) / 256 * 256, info.workspace_bytes);
    kernels->drop(r.device, kernel);
    end_tune(&r);
}

static unsigned finalized(rig *r)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    const unsigned before = dnn.calls("cudnnBackendFinalize"), runs = n_timed();
    REQUIRE_OK(prepare_one(r, &convolution, &kernel, &info), &err);
    kernels->drop(r->device, kernel);
    /* a pack for each run */
    return dnn.calls("cudnnBackendFinalize") - before - (n_timed() - runs);
}

TEST(another_process_makes_the_one_plan_and_times_nothing)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 2);
    const unsigned n = finalized(&r);
    CHECK(n_timed() > 0);
    end_tune(&r);
    CHECK_UINT(1, n_entries);
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 0);
    dnn.cost(SECOND, 2);
    CHECK_UINT(n - 2, finalized(&r)); /* 1 plan in place of 3 */
    CHECK_INT(SECOND, number_of(&r, &convolution));
    CHECK_UINT(0, n_timed());
    CHECK_UINT(1, n_puts);
    end_tune(&r);
}

TEST(the_only_plan_there_is_is_not_timed)
{
    problem strict = convolution;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    strict.math_mode = TFR_MATH_STRICT;
    CHECK_INT(SECOND, number_of(&r, &strict));
    CHECK_UINT(0, n_timed());
    CHECK_UINT(0, n_puts);
    end_tune(&r);
}

TEST(the_key_tells_the_chip_the_library_and_the_problem)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    (void)number_of(&r, &convolution);
    CHECK_CONTAINS(", 9.0, ", entries[0].key);
    CHECK_CONTAINS(" multiprocessors; cuDNN 91900; convolution of type 1, math mode 3, x 1x2x5x5, "
                   "w 3x2x3x3, y 1x3x3x3, strides 1 1, dilations 1 1, pads 0 0 0 0, bias 0, addend "
                   "0, relu 0, ceiling inf",
                   entries[0].key);
    end_tune(&r);
}

/* Eight bytes of the kept choice become another number. */
static void check_replaced(int word, uint64_t value)
{
    unsigned char good[sizeof entries[0].data];
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 2);
    CHECK_INT(SECOND, number_of(&r, &convolution));
    end_tune(&r);
    REQUIRE_INT(1, (int)n_entries);
    memcpy(good, entries[0].data, sizeof good);
    memcpy(entries[0].data + 8 * word, &value, sizeof value);
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    CHECK_INT(SECOND, number_of(&r, &convolution));
    CHECK(n_timed() > 0);
    CHECK_UINT(2, n_puts);
    CHECK(memcmp(good, entries[0].data, (size_t)entries[0].n) == 0);
    end_tune(&r);
}

TEST(a_kept_choice_that_names_no_plan_of_these_is_replaced)
{
    check_replaced(0, 0);              /* no choice at all */
    check_replaced(1, FIRST);          /* another place in the list, */
    check_replaced(1, 8);              /* one that has no plan, */
    check_replaced(1, 1000);           /* one behind the end, */
    check_replaced(1, UINT64_MAX / 2); /* and one that is none */
    check_replaced(2, 99);             /* another engine */
    check_replaced(3, 1);              /* other notes */
    check_replaced(4, 0);              /* another workspace */
}

/* More than a workspace behind it could take in. */
TEST(all_that_a_plan_writes_has_room)
{
    const problem large = {"Conv",        4, {1, 1, 1000, 1000}, {1, 1, 1, 1}, {1, 1, 1000, 1000},
                           TFR_MATH_TF32, 0};
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 150);
    CHECK_OK(prepare_one(&r, &large, &kernel, &info), &err);
    CHECK_UINT(2, n_timed());
    kernels->drop(r.device, kernel);
    end_tune(&r);
}

TEST(a_plan_that_fails_is_passed_over)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, -1);
    CHECK_INT(SECOND, number_of(&r, &convolution));
    end_tune(&r);
}

TEST(where_all_fail_the_librarys_first_stays_and_nothing_is_kept)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, -1);
    dnn.cost(SECOND, -1);
    REQUIRE_OK(prepare_one(&r, &convolution, &kernel, &info), &err);
    CHECK_UINT(0, info.workspace_bytes);
    CHECK_UINT(TFR_ANSWER_MATH_MODE, info.flags & TFR_ANSWER_MATH_MODE);
    CHECK_UINT(0, n_puts);
    kernels->drop(r.device, kernel);
    end_tune(&r);
}

static void check_not_run(rig *r, const problem *p)
{
    dnn.cost(FIRST, 2);
    CHECK_INT(FIRST, number_of(r, p));
    CHECK_UINT(0, n_timed());
    CHECK_UINT(0, n_puts);
    end_tune(r);
}

TEST(nothing_is_run_where_it_may_not_be)
{
    problem p = convolution;
    BEGIN_TUNE("");
    rig r = new_rig("tune", "off");
    check_not_run(&r, &p);
    BEGIN("worktime");
    r = new_rig("memory_limit", "6000000"); /* more than half of it is wanted */
    check_not_run(&r, &p);
    BEGIN("worktime");
    r = new_rig(NULL, NULL);
    p.flags = TFR_CALL_DETERMINISTIC;
    check_not_run(&r, &p);
}

TEST(nothing_is_run_while_the_thread_captures)
{
    BEGIN_TUNE("");
    rig r = new_rig(NULL, NULL);
    dnn.cost(FIRST, 2);
    prepare_in_capture(&r, &convolution, "cudnnBackendExecute");
    end_tune(&r);
}

TEST(whatever_function_of_the_library_fails_the_values_are_right_and_nothing_is_left)
{
    static const char *const names[] = {"cudnnSetStream",           "cudnnBackendCreateDescriptor",
                                        "cudnnBackendSetAttribute", "cudnnBackendGetAttribute",
                                        "cudnnBackendFinalize",     "cudnnBackendExecute"};
    static const unsigned codes[] = {TFR_DNN_NOT_SUPPORTED_PATTERN, TFR_DNN_INTERNAL_ERROR};
    tfr_kernel *kernel;
    tfr_kernel_info info;
    char path[4200];
    BEGIN_TUNE("");
    snprintf(path, sizeof path, "%s/cpu_kernels.so", folder);
    if (access(path, F_OK) != 0)
        SKIP("our own kernels, which follow, are not built");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        BEGIN_TUNE("");
        rig r = new_rig(NULL, NULL);
        unsigned n = dnn.calls(names[i]);
        REQUIRE_OK(prepare_one(&r, &convolution, &kernel, &info), &err);
        n = dnn.calls(names[i]) - n;
        kernels->drop(r.device, kernel);
        end_tune(&r);
        CHECK(n > 0);
        for (unsigned k = 0; k < 2 * n; k++) {
            BEGIN_TUNE("");
            r = new_rig(NULL, NULL);
            dnn.fail(names[i], 1 + k / 2, codes[k % 2]);
            CHECK_OK(prepare_one(&r, &convolution, &kernel, &info), &err);
            dnn.fail(names[i], 0, 0);
            run_kernel(&r, &convolution, kernel, info.workspace_bytes);
            kernels->drop(r.device, kernel);
            end_tune(&r);
        }
    }
}

TEST(plans_of_a_gpu_that_is_lost_while_they_run_are_left_alone)
{
    tfr_kernel *kernel;
    tfr_kernel_info info;
    BEGIN_TUNE("sticky=719:2");
    rig r = new_rig(NULL, NULL);
    const unsigned before = dnn.calls("cudnnBackendExecute");
    CHECK_STATUS(TFR_ELOST, prepare_one(&r, &convolution, &kernel, &info), &err);
    CHECK(kernel == NULL);
    CHECK_UINT(before + 2, dnn.calls("cudnnBackendExecute"));
    CHECK_UINT(0, n_puts);
    end_rig(&r);
    CHECK_UINT(5, dnn.held()); /* the handle, and two plans with their configurations */
    check_leaks("leaked: nothing");
}

static const test_case cases[] = {
    CASE(the_fastest_plan_is_taken),
    CASE(what_the_plan_does_to_numbers_is_told),
    CASE(another_process_makes_the_one_plan_and_times_nothing),
    CASE(the_only_plan_there_is_is_not_timed),
    CASE(the_key_tells_the_chip_the_library_and_the_problem),
    CASE(a_kept_choice_that_names_no_plan_of_these_is_replaced),
    CASE(all_that_a_plan_writes_has_room),
    CASE(a_plan_that_fails_is_passed_over),
    CASE(where_all_fail_the_librarys_first_stays_and_nothing_is_kept),
    CASE(nothing_is_run_where_it_may_not_be),
    CASE(nothing_is_run_while_the_thread_captures),
    CASE(whatever_function_of_the_library_fails_the_values_are_right_and_nothing_is_left),
    CASE(plans_of_a_gpu_that_is_lost_while_they_run_are_left_alone),
};
TEST_MAIN(cases)

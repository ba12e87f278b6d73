/* SPDX-License-Identifier: Apache-2.0 */
/* How tfrun bench compares the outputs of peers with ours. */
#include "tfr_test.h"

#include <math.h>
#include <stdlib.h>
#include <tfrun/tfrun.h>

#include <bench/peer.h>

#define N 1500 /* more than are compared at once */

static tfr_err err = TFR_ERR_INIT;

/* What is said of a peer that gives base everywhere, and `last` as the last element, where we have
 * base. */
typedef struct verdict {
    bool agrees;
    double error;
    uint32_t n_left, n_skips;
} verdict;

static verdict compare(tfr_dtype dtype, double base, double last)
{
    const tfr_shape shape = {.rank = 1, .dims = {N}};
    double values[N];
    tfr_tensor *ours = NULL, *theirs = NULL;
    bench_report report = {.name = "model"};
    bench_contest contest = {.report = &report};
    const void *data;
    verdict v;
    for (int i = 0; i < N; i++)
        values[i] = base;
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &ours, &err), &err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &theirs, &err), &err);
    REQUIRE_OK(tfr_dtype_convert(dtype, tfr_tensor_data(ours), TFR_DTYPE_F64, values, N, &err),
               &err);
    values[N - 1] = last;
    REQUIRE_OK(tfr_dtype_convert(dtype, tfr_tensor_data(theirs), TFR_DTYPE_F64, values, N, &err),
               &err);
    data = tfr_tensor_data(theirs);
    contest.list[0] = (bench_contender){.who = "peer", .error = NAN};
    contest.n = 1;
    v.agrees = bench_peer_agrees(&contest, "peer", &ours, 1, &data);
    v.error = contest.list[0].error;
    v.n_left = contest.n;
    v.n_skips = report.n_skips;
    bench_report_finish(&report);
    tfr_tensor_release(ours);
    tfr_tensor_release(theirs);
    return v;
}

static const tfr_dtype types[] = {TFR_DTYPE_F32, TFR_DTYPE_F64, TFR_DTYPE_F16, TFR_DTYPE_BF16};

TEST(outputs_of_each_floating_point_type_have_an_error)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const verdict v = compare(types[i], 128, 129); /* within a hundredth */
        CHECK(v.agrees);
        CHECK_UINT(1, v.n_left);
        CHECK(v.error == 1);
    }
}

TEST(a_peer_whose_outputs_of_any_such_type_differ_is_left_out_with_a_line)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const verdict v = compare(types[i], 128, 256);
        CHECK(!v.agrees);
        CHECK_UINT(0, v.n_left);
        CHECK_UINT(1, v.n_skips);
    }
}

TEST(a_nan_differs_from_all_but_nan_and_infinities_are_equal)
{
    CHECK(!compare(TFR_DTYPE_F16, 1, NAN).agrees);
    CHECK(!compare(TFR_DTYPE_F32, 1, NAN).agrees);
    CHECK(compare(TFR_DTYPE_F16, NAN, NAN).agrees);
    CHECK(compare(TFR_DTYPE_BF16, INFINITY, INFINITY).agrees);
    CHECK(!compare(TFR_DTYPE_F32, 1, INFINITY).agrees);
}

TEST(the_peer_at_work_is_known_while_it_works)
{
    CHECK(bench_peer_at_work() == NULL);
    bench_begin_peer("one");
    CHECK_STR("one", bench_peer_at_work());
    bench_begin_peer("other");
    CHECK_STR("other", bench_peer_at_work());
    bench_end_peer();
    CHECK(bench_peer_at_work() == NULL);
}

static const test_case cases[] = {
    CASE(outputs_of_each_floating_point_type_have_an_error),
    CASE(a_peer_whose_outputs_of_any_such_type_differ_is_left_out_with_a_line),
    CASE(a_nan_differs_from_all_but_nan_and_infinities_are_equal),
    CASE(the_peer_at_work_is_known_while_it_works),
};
TEST_MAIN(cases)

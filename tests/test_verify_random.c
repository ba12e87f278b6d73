/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cli/verify_random.c, with draws of a small generator of its own. */
#include "tfr_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

enum { N = 1000, N_RUNS = 200 };

/* splitmix64, by Steele, Lea and Flood: a uniform number in [0, 1). */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* Element i of n, drawn by one of the ways that a kernel might have. */
typedef double (*drawer)(size_t i, uint64_t *state);

static double dropout_half(size_t i, uint64_t *state)
{
    return draw(state) < 0.5 ? 0 : 2 * (double)(i + 1);
}

static double dropout_unscaled(size_t i, uint64_t *state)
{
    return draw(state) < 0.5 ? 0 : (double)(i + 1);
}

static double dropout_third(size_t i, uint64_t *state)
{
    return draw(state) < 0.33 ? 0 : 2 * (double)(i + 1);
}

static double coin_by_place(size_t i, uint64_t *state)
{
    return draw(state) < (double)(i % 10) / 9;
}

static double coin_turned(size_t i, uint64_t *state)
{
    return draw(state) >= (double)(i % 10) / 9;
}

static double uniform(size_t i, uint64_t *state)
{
    (void)i;
    return draw(state);
}

static double uniform_narrow(size_t i, uint64_t *state)
{
    (void)i;
    return 0.15 + 0.85 * draw(state);
}

static double garbage_once(size_t i, uint64_t *state)
{
    return i == 700 ? 7 : uniform(i, state) < 0.5;
}

static double fair_coin(size_t i, uint64_t *state)
{
    return uniform(i, state) < 0.5;
}

static bool judge(drawer expected, drawer obtained, size_t n, size_t n_runs, char *text)
{
    uint64_t state = 1, other = 2;
    cli_sample s = {.n = n, .n_rows = n_runs, .rtol = 1e-3, .atol = 1e-7};
    s.expected = calloc(n, sizeof *s.expected);
    s.rows = calloc(n * n_runs, sizeof *s.rows);
    REQUIRE(s.expected && s.rows);
    for (size_t i = 0; i < n; i++)
        s.expected[i] = expected(i, &state);
    for (size_t i = 0; i < n * n_runs; i++)
        s.rows[i] = obtained(i % n, &other);
    bool good = cli_random_judge(&s, text, 300);
    CHECK(good == !*text);
    free(s.expected);
    free(s.rows);
    return good;
}

static double no_number(size_t i, uint64_t *state)
{
    double coin = fair_coin(i, state);
    return i % 2 ? (double)NAN : coin;
}

static void nan_equals_nan_and_no_number(void)
{
    char text[300];
    CHECK(judge(no_number, no_number, N, N_RUNS, text));
    CHECK(!judge(fair_coin, no_number, N, N_RUNS, text));
    CHECK(!judge(no_number, fair_coin, N, N_RUNS, text));
}

static void equal_distributions_pass(void)
{
    char text[300];
    CHECK(judge(dropout_half, dropout_half, N, N_RUNS, text));
    CHECK(judge(coin_by_place, coin_by_place, N, N_RUNS, text));
    CHECK(judge(coin_by_place, coin_by_place, 10, N_RUNS, text));
    CHECK(judge(uniform, uniform, N, N_RUNS, text));
    CHECK(judge(uniform, uniform, N, 1, text));
}

static void a_wrong_scale_is_found_by_the_first_value(void)
{
    char text[300];
    CHECK(!judge(dropout_half, dropout_unscaled, N, N_RUNS, text));
    CHECK_CONTAINS("which no run gave there", text);
}

static void a_wrong_rate_is_found(void)
{
    char text[300];
    CHECK(!judge(dropout_half, dropout_third, N, N_RUNS, text));
    CHECK(!judge(dropout_third, dropout_half, N, N_RUNS, text));
    CHECK_CONTAINS("chance", text);
}

static void chances_at_the_wrong_places_are_found_in_ten_values(void)
{
    char text[300];
    CHECK(!judge(coin_by_place, coin_turned, 10, 2000, text));
    CHECK(!judge(coin_by_place, coin_turned, N, N_RUNS, text));
}

static void another_range_is_found(void)
{
    char text[300];
    CHECK(!judge(uniform, uniform_narrow, N, N_RUNS, text));
    CHECK_CONTAINS("apart", text);
    CHECK(!judge(uniform, uniform_narrow, N, 1, text));
}

static void one_value_that_no_run_gives_is_found(void)
{
    char text[300];
    CHECK(!judge(garbage_once, fair_coin, N, N_RUNS, text));
    CHECK_CONTAINS("element 700: expected 7", text);
    CHECK(!judge(garbage_once, fair_coin, N, 1, text));
}

static void one_row_must_have_expected_values(void)
{
    char text[300];
    CHECK(judge(fair_coin, fair_coin, 10, 1, text));
    CHECK(!judge(fair_coin, garbage_once, N, 1, text));
    CHECK_CONTAINS("element 700: obtained 7, which is expected nowhere", text);
}

static const test_case cases[] = {
    CASE(equal_distributions_pass),
    CASE(nan_equals_nan_and_no_number),
    CASE(a_wrong_scale_is_found_by_the_first_value),
    CASE(a_wrong_rate_is_found),
    CASE(chances_at_the_wrong_places_are_found_in_ten_values),
    CASE(another_range_is_found),
    CASE(one_value_that_no_run_gives_is_found),
    CASE(one_row_must_have_expected_values),
};
TEST_MAIN(cases)

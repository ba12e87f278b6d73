/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves the harness itself: that a good check passes, and that a bad one, a fatal one and a skip
 * end a program as tests/build/harness.sh expects. The last three fail or skip on purpose; they
 * run only when the environment variable TFR_TEST_SELF is set.
 */
#include "tfr_test.h"

#include <stdlib.h>
#include <tfrun/status.h>

TEST(good_checks_pass)
{
    tfr_err err = TFR_ERR_INIT;
    snprintf(err.text, sizeof err.text, "bad number 7");
    CHECK(true);
    CHECK_INT(-3, 4 - 7);
    CHECK_UINT(SIZE_MAX, (size_t)-1);
    CHECK_NEAR(0.1, 0.1f, 1e-6);
    CHECK_NEAR(NAN, nan(""), 0);
    CHECK_STR("abc", "abc");
    CHECK_STR(NULL, NULL);
    CHECK_CONTAINS("number", err.text);
    CHECK_MEM("abc", "abd", 2);
    CHECK_OK(0, &err);
    CHECK_STATUS(-5, -5, &err);
    REQUIRE(err.text[0] == 'b');
}

#define ON_PURPOSE()                                                                               \
    do {                                                                                           \
        if (!getenv("TFR_TEST_SELF"))                                                              \
            return;                                                                                \
    } while (0)

TEST(failed_check_goes_on)
{
    ON_PURPOSE();
    CHECK_INT(1, 2);
    printf("after the check\n");
}

TEST(failed_requirement_ends_the_case)
{
    ON_PURPOSE();
    REQUIRE_INT(1, 2);
    printf("after the requirement\n");
}

TEST(skip_is_no_pass)
{
    ON_PURPOSE();
    SKIP("on purpose");
}

static const test_case cases[] = {
    CASE(good_checks_pass),
    CASE(failed_check_goes_on),
    CASE(failed_requirement_ends_the_case),
    CASE(skip_is_no_pass),
};
TEST_MAIN(cases)

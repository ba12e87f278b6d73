/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/base/status.c, and of tfr_fail, which writes every error. */
#include "tfr_test.h"

#include <tfrun/fail.h>
#include <tfrun/status.h>

TEST(every_status_has_its_name_and_sentence)
{
    CHECK_STR("TFR_OK", tfr_status_name(TFR_OK));
    CHECK_STR("TFR_EINVAL", tfr_status_name(TFR_EINVAL));
    CHECK_STR("TFR_EINTERNAL", tfr_status_name(TFR_EINTERNAL));
    for (int status = 0; status >= TFR_EINTERNAL; status--) {
        CHECK(strncmp(tfr_status_name((tfr_status)status), "TFR_", 4) == 0);
        CHECK(strlen(tfr_status_text((tfr_status)status)) > 0);
        CHECK(strcmp(tfr_status_text((tfr_status)status), "unknown status") != 0);
    }
}

TEST(a_number_that_is_no_status_is_unknown)
{
    CHECK_STR("unknown status", tfr_status_name((tfr_status)1));
    CHECK_STR("unknown status", tfr_status_name((tfr_status)(TFR_EINTERNAL - 1)));
    CHECK_STR("unknown status", tfr_status_text((tfr_status)INT32_MIN));
}

TEST(every_reason_has_its_name)
{
    CHECK_STR("none", tfr_reason_name(TFR_REASON_NONE));
    CHECK_STR("size_limit", tfr_reason_name(TFR_REASON_SIZE_LIMIT));
    CHECK_STR("quarantined", tfr_reason_name(TFR_REASON_QUARANTINED));
    CHECK_STR("unknown reason", tfr_reason_name((tfr_reason)-1));
    CHECK_STR("unknown reason", tfr_reason_name((tfr_reason)1000));
}

TEST(the_version_starts_with_a_number)
{
    CHECK(tfr_version()[0] >= '0' && tfr_version()[0] <= '9');
}

TEST(fail_fills_the_error_and_returns_its_code)
{
    tfr_err err = TFR_ERR_INIT;
    err.native = 5;
    CHECK_INT(TFR_ELIMIT, tfr_fail(&err, TFR_ELIMIT, "n %d is more than %d", 7, 3));
    CHECK_INT(TFR_ELIMIT, err.code);
    CHECK_INT(0, err.native);
    CHECK_STR("n 7 is more than 3", err.text);
    CHECK_INT(TFR_EIO, tfr_fail(NULL, TFR_EIO, "nobody listens"));
}

TEST(fail_writes_no_more_than_the_error_has_room_for)
{
    tfr_err err;
    memset(&err, 'x', sizeof err);
    err.size = offsetof(tfr_err, text) + 4;
    (void)tfr_fail(&err, TFR_EIO, "a long sentence");
    CHECK_STR("a l", err.text);
    CHECK_INT('x', err.text[4]);
    /* An error of an unknown, shorter form stays as it is. */
    memset(&err, 'x', sizeof err);
    err.size = 4;
    (void)tfr_fail(&err, TFR_EIO, "a long sentence");
    CHECK_INT('x', err.text[0]);
}

TEST(fail_leaves_what_a_newer_error_has_behind_the_text)
{
    struct {
        tfr_err err;
        char newer[16];
    } given;
    memset(&given, 'x', sizeof given);
    given.err.size = sizeof given;
    (void)tfr_fail(&given.err, TFR_EIO, "%600s", "a sentence longer than the text");
    CHECK_INT(sizeof given.err.text - 1, strlen(given.err.text));
    CHECK_INT('x', given.newer[0]);
}

TEST(decline_leaves_what_a_newer_answer_has_behind_the_text)
{
    struct {
        tfr_answer answer;
        char newer[16];
    } given;
    memset(&given, 'x', sizeof given);
    given.answer.size = sizeof given;
    (void)tfr_decline(&given.answer, TFR_REASON_RANK, "%600s", "a sentence longer than the text");
    CHECK_INT(sizeof given.answer.text - 1, strlen(given.answer.text));
    CHECK_INT('x', given.newer[0]);
}

static const test_case cases[] = {
    CASE(every_status_has_its_name_and_sentence),
    CASE(a_number_that_is_no_status_is_unknown),
    CASE(every_reason_has_its_name),
    CASE(the_version_starts_with_a_number),
    CASE(fail_fills_the_error_and_returns_its_code),
    CASE(fail_writes_no_more_than_the_error_has_room_for),
    CASE(fail_leaves_what_a_newer_error_has_behind_the_text),
    CASE(decline_leaves_what_a_newer_answer_has_behind_the_text),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* RegexFullMatch: RE2's syntax and what is not in it, texts that are no UTF-8, and the limits. */
#include "session_kit.h"

#include <stdlib.h>

static tfr_status match_bytes(const char *pattern, size_t pattern_bytes, const char *text,
                              size_t text_bytes, bool *found)
{
    static tfr_runtime *runtime;
    const tfr_string p = {pattern, pattern_bytes};
    const tfr_attr attr = {sizeof attr, TFR_ATTR_STRING, "pattern", 1, NULL, NULL, &p, NULL};
    const tfr_shape shape = {1, {1}};
    tfr_node_desc node = {
        .size = sizeof node, .op = "RegexFullMatch", .attrs = &attr, .n_attrs = 1, .n_outputs = 1};
    tfr_tensor *in = NULL, *out = NULL;
    tfr_status status;
    if (!runtime)
        runtime = new_runtime();
    status = tfr_tensor_create(TFR_DTYPE_STRING, &shape, &in, &err);
    if (!status)
        status = tfr_tensor_set_string(in, 0, text, text_bytes, &err);
    if (!status)
        status = tfr_op_run(runtime, "naive:0", &node, &in, 1, &out, 1, &err);
    if (!status)
        *found = *(const bool *)tfr_tensor_data(out);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return status;
}

/* 1 or 0, -1 = an error. */
static int match(const char *pattern, const char *text)
{
    bool found;
    return match_bytes(pattern, strlen(pattern), text, strlen(text), &found) ? -1 : found;
}

/* A macro, since a skip returns from the case. */
#define NEED_LIBRARY()                                                                             \
    do {                                                                                           \
        if (match("a", "a") < 0 && strstr(err.text, "PCRE2"))                                      \
            SKIP("there is no PCRE2");                                                             \
    } while (0)

/* Answers of RE2 2022-06-01. */
TEST(patterns_mean_what_they_mean_to_re2)
{
    static const struct {
        const char *pattern, *text;
        int found;
    } rows[] = {
        {"a", "a", 1},
        {"a", "ab", 0},
        {"a|ab", "ab", 1},
        {"", "", 1},
        {"a$", "a\n", 0},
        {"a.", "a\n", 0},
        {"(?s)a.", "a\n", 1},
        {"(?m)a$\nb", "a\nb", 1},
        {"(?m)a\n^", "a\n", 1},
        {"\\s", "\v", 0},
        {"\\S", "\v", 1},
        {"[\\s]", "\v", 0},
        {"[\\S]", "\v", 1},
        {"[^\\S]", "\v", 0},
        {"\\v", "\v", 1},
        {"\\v", "\n", 0},
        {"[[:space:]]", "\v", 1},
        {"\\d+", "\xd9\xa3", 0},
        {"\\012", "\n", 1},
        {"\\x41\\x{42}", "AB", 1},
        {"a{,2}", "a{,2}", 1},
        {"a{,2}", "aa", 0},
        {"{", "{", 1},
        {"\\Qa.b\\E.", "a.bc", 1},
        {"\\Qa.b", "axb", 0},
        {"(?i)k", "\xe2\x84\xaa", 1},
        {"(?i:A)b", "ab", 1},
        {"(?i)a|B", "b", 1},
        {"(?P<n>a)b", "ab", 1},
        {"a*?b+?", "aabb", 1},
        {".", "\xc3\xa9", 1},
        {"..", "\xc3\xa9", 0},
        {"\\p{Greek}", "\xce\xb1", 1},
        {"\\pL+", "a\xc3\xa9", 1},
        {"[]a]+", "a]", 1},
        {"[[a]+", "[a", 1},
        {"[a-]+", "a-", 1},
        {"(?U)a+", "aa", 1},
        {"\\bab\\b", "ab", 1},
        {"\\Aa\\z", "a", 1},
        {"(a*)*", "aaa", 1},
        {"(|a)+", "aaa", 1},
        {"(?:\\w)*\\B", "_1", 0},
        {"(?m:a$)\\n", "a\n", 1},
        {"(?-m:a$)\\n", "a\n", 0},
        {"(?m)(?-m)a$\\n", "a\n", 0},
        {"((?m)a)b$\\n", "ab\n", 0},
        {"[[:^digit:]]", "a", 1},
        {"[[:word:]]+", "a_1", 1},
    };
    NEED_LIBRARY();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int found = match(rows[i].pattern, rows[i].text);
        if (found != rows[i].found)
            fprintf(stderr, "%s: %d, %s\n", rows[i].pattern, found, found < 0 ? err.text : "");
        CHECK_INT(rows[i].found, found);
    }
}

TEST(what_is_not_in_the_syntax_is_refused_though_the_library_has_it)
{
    static const char *const patterns[] = {
        "(a)\\1",    "(?=a)a",        "(?!a)b",    "(?<=a)b",   "(?<!a)b",
        "(?>a)",     "a++",           "a*+",       "a?+",       "a{2}+",
        "a**",       "a{2}{3}",       "(?R)",      "(?1)",      "(?|a|b)",
        "(?#note)",  "(*UTF)a",       "\\Ka",      "\\R",       "\\X",
        "\\h",       "\\N",           "\\G",       "\\Z",       "\\C",
        "\\ca",      "\\g{1}",        "\\k<n>",    "(?x)a b",   "(?J)a",
        "(?(1)a|b)", "(?C1)a",        "[\\b]",     "[\\Qa\\E]", "\\e",
        "\\o{12}",   "a\\",           "[a",        "(a",        "a)",
        "*a",        "[[:none:]]",    "\\p{None}", "[b-a]",     "(?P=n)",
        "(?P>n)",    "\\x{",          "\\p{",      "\\8",       "a{2,1}",
        "\xff",      "(?<n>a)\\k{n}",
    };
    NEED_LIBRARY();
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        int found = match(patterns[i], "a");
        if (found >= 0)
            fprintf(stderr, "%s is taken\n", patterns[i]);
        CHECK_INT(-1, found);
    }
}

TEST(texts_may_have_zero_bytes_and_bytes_that_are_no_utf8)
{
    bool found = false;
    NEED_LIBRARY();
    REQUIRE_OK(match_bytes("a.b", 3, "a\0b", 3, &found), &err);
    CHECK(found);
    REQUIRE_OK(match_bytes("a\0b", 3, "a\0b", 3, &found), &err);
    CHECK(found);
    CHECK_INT(0, match(".*", "a\xff"));
    CHECK_INT(0, match("(?s).*", "\xc3"));
    CHECK_INT(0, match("[^a]", "\xed\xa0\x80"));
}

TEST(repeats_are_bounded_as_in_re2)
{
    static char text[1001];
    memset(text, 'a', 1000);
    NEED_LIBRARY();
    CHECK_INT(1, match("a{1000}", text));
    CHECK_INT(1, match("(a{10}){100}", text));
    CHECK_INT(1, match("(a{500})(a{500})", text));
    CHECK_INT(1, match("(a{0}b){1000}|a*", text));
    CHECK_INT(-1, match("a{1001}", text));
    CHECK_INT(-1, match("a{1,32767}", text));
    CHECK_INT(-1, match("(a{10}){101}", text));
    CHECK_INT(-1, match("((((a{100}){100}){100}){100})", text));
    CHECK_CONTAINS("it repeats something more than 1000 times", err.text);
    CHECK_CONTAINS("((((a{100}", err.text);
    CHECK_INT(-1, match("a{99999999999999999999}", text));
}

TEST(patterns_are_bounded)
{
    static char text[8192];
    NEED_LIBRARY();
    memset(text, 'a', 4096);
    CHECK_INT(1, match(text, text));
    memset(text, 'a', 4097);
    CHECK_INT(-1, match(text, text));
    CHECK_CONTAINS("the pattern has 4097 bytes, at most 4096", err.text);
    memset(text, '(', 201);
    memset(text + 201, ')', 201);
    text[402] = 0;
    CHECK_INT(-1, match(text, ""));
    CHECK_CONTAINS("more than 200 groups", err.text);
    text[401] = 0;
    CHECK_INT(1, match(text + 1, ""));
}

/* Ways that a library that goes back would try one after the other. */
TEST(many_ways_end_in_an_answer_or_a_limit_soon)
{
    enum { BYTES = 1 << 20 };
    char *text;
    NEED_LIBRARY();
    text = malloc(BYTES + 1);
    REQUIRE(text != NULL);
    memset(text, 'a', BYTES);
    text[BYTES] = 0;
    CHECK_INT(0, match("(a*)*b", text));
    CHECK_INT(1, match("(a|aa)+", text));
    CHECK_INT(0, match("(x+x+)+y", text));
    CHECK_INT(-1, match("((a?){30}){30}a{900}", text));
    CHECK_CONTAINS("ways through the pattern at once", err.text);
    free(text);
}

static const test_case cases[] = {
    CASE(patterns_mean_what_they_mean_to_re2),
    CASE(what_is_not_in_the_syntax_is_refused_though_the_library_has_it),
    CASE(texts_may_have_zero_bytes_and_bytes_that_are_no_utf8),
    CASE(repeats_are_bounded_as_in_re2),
    CASE(patterns_are_bounded),
    CASE(many_ways_end_in_an_answer_or_a_limit_soon),
};
TEST_MAIN(cases)

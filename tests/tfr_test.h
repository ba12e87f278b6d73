/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to CUnit. A test program includes this header, writes its cases with TEST(claim),
 * lists them in one array at the bottom and ends with TEST_MAIN(array). Not for production code.
 *
 *     TEST(rank_zero_holds_one_element)
 *     {
 *         CHECK_INT(1, tfr_shape_count(&scalar));
 *     }
 *
 *     static const test_case cases[] = {
 *         CASE(rank_zero_holds_one_element),
 *     };
 *     TEST_MAIN(cases)
 *
 * CHECK... prints what was expected and obtained and goes on; REQUIRE... ends the case, and is the
 * one to use for anything that the next line dereferences. Call both from the main thread only.
 * The program runs all cases, or those named as its arguments. It exits with 0 if all passed, 77
 * if all that ran were skipped, and 1 otherwise, also when nothing ran.
 */
#ifndef TFR_TEST_H
#define TFR_TEST_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    CU_TestFunc run;
} test_case;

#define TEST(claim) static void claim(void)
#define CASE(claim) {#claim, claim}

/* Skipped cases of this process, and whether the running one is among them. */
static unsigned test_n_skipped;

/* ------------------------------------------------------------------------------------------
 * Checks. All of them end here; the text is what CUnit prints for a failure. A check that passed
 * makes none: a test of numbers checks a million, most of whose time went into texts.
 */
static inline bool test_report(bool good, const char *text, const char *file, int line, bool fatal)
{
    return CU_assertImplementation(good ? CU_TRUE : CU_FALSE, (unsigned)line, text, file, "",
                                   fatal ? CU_TRUE : CU_FALSE) != CU_FALSE;
}

static inline bool test_int(intmax_t expected, intmax_t obtained, const char *expr,
                            const char *file, int line, bool fatal)
{
    char text[512];
    text[0] = 0;
    if (expected != obtained)
        snprintf(text, sizeof text, "%s: expected %jd, obtained %jd", expr, expected, obtained);
    return test_report(expected == obtained, text, file, line, fatal);
}

static inline bool test_uint(uintmax_t expected, uintmax_t obtained, const char *expr,
                             const char *file, int line, bool fatal)
{
    char text[512];
    text[0] = 0;
    if (expected != obtained)
        snprintf(text, sizeof text, "%s: expected %ju, obtained %ju", expr, expected, obtained);
    return test_report(expected == obtained, text, file, line, fatal);
}

static inline bool test_near(double expected, double obtained, double tol, const char *expr,
                             const char *file, int line, bool fatal)
{
    char text[512];
    bool good = isnan(expected) ? isnan(obtained)
                                : expected == obtained || fabs(expected - obtained) <= tol;
    text[0] = 0;
    if (!good)
        snprintf(text, sizeof text, "%s: expected %.9g within %g, obtained %.9g", expr, expected,
                 tol, obtained);
    return test_report(good, text, file, line, fatal);
}

static inline bool test_str(const char *expected, const char *obtained, const char *expr,
                            const char *file, int line, bool fatal)
{
    char text[1024];
    bool good = expected && obtained ? strcmp(expected, obtained) == 0 : expected == obtained;
    snprintf(text, sizeof text, "%s: expected \"%s\", obtained \"%s\"", expr,
             expected ? expected : "(null)", obtained ? obtained : "(null)");
    return test_report(good, text, file, line, fatal);
}

static inline bool test_contains(const char *part, const char *obtained, const char *expr,
                                 const char *file, int line, bool fatal)
{
    char text[1024];
    snprintf(text, sizeof text, "%s: expected a text with \"%s\", obtained \"%s\"", expr, part,
             obtained ? obtained : "(null)");
    return test_report(obtained && strstr(obtained, part), text, file, line, fatal);
}

static inline bool test_mem(const void *expected, const void *obtained, size_t n, const char *expr,
                            const char *file, int line, bool fatal)
{
    const unsigned char *e = expected;
    const unsigned char *o = obtained;
    char text[512];
    size_t i = 0;
    while (i < n && e[i] == o[i])
        i++;
    text[0] = 0;
    if (i < n)
        snprintf(text, sizeof text, "%s: byte %zu of %zu: expected 0x%02x, obtained 0x%02x", expr,
                 i, n, i < n ? e[i] : 0u, i < n ? o[i] : 0u);
    return test_report(i == n, text, file, line, fatal);
}

/* A status and the text of the tfr_err that came with it. */
static inline bool test_status(int expected, int obtained, const char *err_text, const char *expr,
                               const char *file, int line, bool fatal)
{
    char text[1024];
    text[0] = 0;
    if (expected != obtained)
        snprintf(text, sizeof text, "%s: expected status %d, obtained %d (%s)", expr, expected,
                 obtained, obtained ? err_text : "ok");
    return test_report(expected == obtained, text, file, line, fatal);
}

#define TEST_AT __FILE__, __LINE__

#define CHECK(cond) test_report((cond), "expected: " #cond, TEST_AT, false)
#define CHECK_INT(expected, expr) test_int((expected), (expr), #expr, TEST_AT, false)
#define CHECK_UINT(expected, expr) test_uint((expected), (expr), #expr, TEST_AT, false)
#define CHECK_NEAR(expected, expr, tol) test_near((expected), (expr), (tol), #expr, TEST_AT, false)
#define CHECK_STR(expected, expr) test_str((expected), (expr), #expr, TEST_AT, false)
#define CHECK_CONTAINS(part, expr) test_contains((part), (expr), #expr, TEST_AT, false)
#define CHECK_MEM(expected, expr, n) test_mem((expected), (expr), (n), #expr, TEST_AT, false)
/* err is the address of the tfr_err that the call filled, never NULL. The call in the first
 * argument is made before the text is read. */
#define CHECK_STATUS(expected, call, err)                                                          \
    do {                                                                                           \
        int test_got_ = (int)(call);                                                               \
        test_status((int)(expected), test_got_, (err)->text, #call, TEST_AT, false);               \
    } while (0)
#define CHECK_OK(call, err) CHECK_STATUS(0, call, err)

#define REQUIRE(cond) test_report((cond), "required: " #cond, TEST_AT, true)
#define REQUIRE_INT(expected, expr) test_int((expected), (expr), #expr, TEST_AT, true)
#define REQUIRE_STATUS(expected, call, err)                                                        \
    do {                                                                                           \
        int test_got_ = (int)(call);                                                               \
        test_status((int)(expected), test_got_, (err)->text, #call, TEST_AT, true);                \
    } while (0)
#define REQUIRE_OK(call, err) REQUIRE_STATUS(0, call, err)

/* Ends the case without a verdict; the reason is printed. */
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        printf("skipped: %s\n", (reason));                                                         \
        test_n_skipped++;                                                                          \
        return;                                                                                    \
    } while (0)

/* ------------------------------------------------------------------------------------------
 * The program.
 */
static inline bool test_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

static inline int test_run(const test_case *cases, size_t n, int argc, char **argv)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    const char *base = strrchr(argv[0], '/');
    CU_pSuite suite = CU_add_suite(base ? base + 1 : argv[0], NULL, NULL);
    size_t n_added = 0;
    for (size_t i = 0; suite && i < n; i++)
        if (test_wanted(cases[i].name, argc, argv) &&
            CU_add_test(suite, cases[i].name, cases[i].run))
            n_added++;
    if (n_added < (argc > 1 ? (size_t)argc - 1 : n)) {
        fprintf(stderr, "%s: only %zu of the cases exist and could be added; there are:\n", argv[0],
                n_added);
        for (size_t i = 0; i < n; i++)
            fprintf(stderr, "    %s\n", cases[i].name);
        return 1;
    }
    setvbuf(stdout, NULL, _IONBF, 0); /* the log of a test that is killed names its case */
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_ErrorCode code = CU_basic_run_tests();
    unsigned n_ran = CU_get_number_of_tests_run();
    unsigned n_failed = CU_get_number_of_tests_failed();
    /* Failure records also hold what no test counts, a failed suite initialisation for one. */
    unsigned n_records = CU_get_number_of_failure_records();
    CU_cleanup_registry();
    if (n_failed == 0 && (n_records > 0 || code != CUE_SUCCESS || n_ran == 0))
        n_failed = 1;
    unsigned n_bad = n_failed + test_n_skipped;
    unsigned n_passed = n_ran > n_bad ? n_ran - n_bad : 0;
    printf("%u passed, %u failed, %u skipped\n", n_passed, n_failed, test_n_skipped);
    if (n_failed > 0)
        return 1;
    return n_passed > 0 ? 0 : 77;
}

#define TEST_MAIN(cases)                                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_run((cases), sizeof(cases) / sizeof((cases)[0]), argc, argv);                  \
    }

/* For a program that computes much and has TSan find nothing that it does not find elsewhere. */
#ifdef __SANITIZE_THREAD__
enum { TEST_HAS_TSAN = 1 };
#else
enum { TEST_HAS_TSAN = 0 };
#endif
#define TEST_MAIN_WITHOUT_TSAN(cases, reason)                                                      \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        if (TEST_HAS_TSAN) {                                                                       \
            puts("skipped: " reason "\n0 passed, 0 failed, 1 skipped");                            \
            return 77;                                                                             \
        }                                                                                          \
        return test_run((cases), sizeof(cases) / sizeof((cases)[0]), argc, argv);                  \
    }
#define TEST_MAIN_OF_ONE_THREAD(cases)                                                             \
    TEST_MAIN_WITHOUT_TSAN(cases, "it has one thread, so that TSan finds nothing")

#endif

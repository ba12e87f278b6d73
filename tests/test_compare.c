/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/value/compare.c. */
#include "tfr_test.h"

#include <stdlib.h>
#include <tfrun/compare.h>

#include "value/tensor.h"

#define SHAPE(rank, ...) (&(tfr_shape){rank, {__VA_ARGS__}})

/* Over the caller's memory, plain. */
static tfr_tensor *wrapped(tfr_dtype dtype, const tfr_shape *shape, const void *data)
{
    tfr_tensor *tensor = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(
        tfr_tensor_wrap(dtype, shape, NULL, (void *)(uintptr_t)data, NULL, NULL, &tensor, &err),
        &err);
    return tensor;
}

static tfr_compare_report compared(tfr_dtype dtype, int64_t n, const void *expected,
                                   const void *obtained, double rtol, double atol)
{
    tfr_compare_report report = {.size = sizeof report};
    tfr_tensor *e = wrapped(dtype, SHAPE(1, n), expected);
    tfr_tensor *o = wrapped(dtype, SHAPE(1, n), obtained);
    const bool equal = tfr_tensor_compare(e, o, rtol, atol, &report);
    CHECK_INT(report.n_different == 0, equal);
    CHECK_INT(equal, tfr_tensor_compare(e, o, rtol, atol, NULL));
    CHECK_INT(equal, report.text[0] == '\0');
    tfr_tensor_release(e);
    tfr_tensor_release(o);
    return report;
}

TEST(floats_within_tolerance_are_equal)
{
    static const float e[3] = {1, 100, -2};
    static const float o[3] = {1.0009f, 100.09f, -2.0015f};
    tfr_compare_report r = compared(TFR_DTYPE_F32, 3, e, o, 1e-3, 0);
    CHECK_INT(0, r.n_different);
    CHECK_INT(3, r.n_elements);
    CHECK_INT(-1, r.first_index);
    CHECK_NEAR(0.09, r.max_abs_error, 1e-4);
    CHECK_INT(2, compared(TFR_DTYPE_F32, 3, e, o, 0, 1e-3).n_different);
}

TEST(the_first_difference_is_told_with_its_index_and_numbers)
{
    static const float e[6] = {0, 0, 0, 0, 2, 3};
    static const float o[6] = {0, 0, 0, 0, 2.5f, 4};
    tfr_compare_report r = {.size = sizeof r};
    tfr_tensor *a = wrapped(TFR_DTYPE_F32, SHAPE(2, 2, 3), e);
    tfr_tensor *b = wrapped(TFR_DTYPE_F32, SHAPE(2, 2, 3), o);
    CHECK(!tfr_tensor_compare(a, b, 1e-3, 1e-7, &r));
    CHECK_INT(2, r.n_different);
    CHECK_INT(4, r.first_index);
    CHECK_NEAR(2, r.first_expected, 0);
    CHECK_NEAR(2.5, r.first_obtained, 0);
    CHECK_NEAR(1, r.max_abs_error, 0);
    CHECK_STR("element [1,1]: expected 2, obtained 2.5, error 0.5", r.text);
    tfr_tensor_release(a);
    tfr_tensor_release(b);
}

TEST(nan_equals_nan_and_infinities_equal_themselves)
{
    static const double e[4] = {NAN, INFINITY, -INFINITY, -0.0};
    static const double o[4] = {NAN, INFINITY, -INFINITY, 0.0};
    tfr_compare_report r = compared(TFR_DTYPE_F64, 4, e, o, 0, 0);
    CHECK_INT(0, r.n_different);
    CHECK_NEAR(0, r.max_abs_error, 0);
}

TEST(no_tolerance_lets_an_infinity_or_nan_pass_for_a_number)
{
    static const double e[5] = {INFINITY, 1, NAN, 1, INFINITY};
    static const double o[5] = {1, INFINITY, 1, NAN, -INFINITY};
    tfr_compare_report r = compared(TFR_DTYPE_F64, 5, e, o, 10, 1e300);
    CHECK_INT(5, r.n_different);
    CHECK_NEAR(INFINITY, r.max_abs_error, 0);
}

TEST(a_tolerance_that_is_nan_or_negative_allows_only_equality)
{
    static const double e[2] = {1, 2};
    static const double o[2] = {1, 2.1};
    CHECK_INT(1, compared(TFR_DTYPE_F64, 2, e, o, NAN, 0).n_different);
    CHECK_INT(1, compared(TFR_DTYPE_F64, 2, e, o, 0, -1).n_different);
    CHECK_INT(0, compared(TFR_DTYPE_F64, 2, e, e, NAN, -1).n_different);
}

TEST(integers_are_exact_unless_a_tolerance_reaches_one)
{
    static const int32_t e[2] = {1000000, 5};
    static const int32_t o[2] = {1000001, 5};
    CHECK_INT(1, compared(TFR_DTYPE_I32, 2, e, o, 0.9, 0.9).n_different);
    CHECK_INT(0, compared(TFR_DTYPE_I32, 2, e, o, 0, 1).n_different);
}

TEST(a_tolerance_is_inclusive_and_of_the_expected_number)
{
    static const float e[2] = {1, 2}, o[2] = {1.5f, 3};
    static const int32_t one[1] = {1}, two[1] = {2};
    CHECK_INT(0, compared(TFR_DTYPE_F32, 2, e, o, 0.5, 0).n_different);
    CHECK_INT(1, compared(TFR_DTYPE_F32, 2, e, o, 0, 0.5).n_different);
    CHECK_INT(0, compared(TFR_DTYPE_F32, 2, e, o, 0.25, 0.5).n_different);
    CHECK_INT(2, compared(TFR_DTYPE_F32, 2, e, o, 0.375, 0).n_different);
    CHECK_INT(0, compared(TFR_DTYPE_I32, 1, one, two, 1, 0).n_different);
    CHECK_INT(1, compared(TFR_DTYPE_I32, 1, one, two, 0.9999, 0.9999).n_different);
    CHECK_INT(1, compared(TFR_DTYPE_I32, 1, two, one, 0.25, 0).n_different);
}

TEST(the_last_element_counts_whatever_the_length)
{
    static double e[600], o[600];
    for (int64_t n = 1; n <= 600; n = n < 250 ? n + 83 : n + 1) {
        o[n - 1] = 1;
        CHECK_INT(1, compared(TFR_DTYPE_F64, n, e, o, 0, 0).n_different);
        CHECK_INT(n - 1, compared(TFR_DTYPE_F64, n, e, o, 0, 0).first_index);
        o[n - 1] = 0;
    }
}

TEST(integers_beyond_the_doubles_are_told_apart)
{
    static const int64_t e[3] = {INT64_MAX, INT64_MIN, -1};
    static const int64_t o[3] = {INT64_MAX - 1, INT64_MAX, -1};
    static const uint64_t u[1] = {UINT64_MAX};
    static const uint64_t v[1] = {UINT64_MAX - 1};
    tfr_compare_report r = compared(TFR_DTYPE_I64, 3, e, o, 0, 0);
    CHECK_INT(2, r.n_different);
    CHECK_NEAR(18446744073709551615.0, r.max_abs_error, 0);
    CHECK_CONTAINS("expected 9223372036854775807, obtained 9223372036854775806", r.text);
    r = compared(TFR_DTYPE_U64, 1, u, v, 0, 0);
    CHECK_CONTAINS("expected 18446744073709551615, obtained 18446744073709551614", r.text);
}

TEST(packed_and_small_types_compare_by_value)
{
    static const uint8_t e[2] = {0x8f, 0x03};
    static const uint8_t o[2] = {0x8f, 0xf3}; /* the upper half of the last byte is unused */
    static const uint8_t x[2] = {0x7f, 0x03};
    CHECK_INT(0, compared(TFR_DTYPE_I4, 3, e, o, 0, 0).n_different);
    tfr_compare_report r = compared(TFR_DTYPE_I4, 3, e, x, 0, 0);
    CHECK_STR("element [1]: expected -8, obtained 7", r.text);
    static const uint16_t h[1] = {0x3c00};
    static const uint16_t k[1] = {0x3c01};
    CHECK_INT(0, compared(TFR_DTYPE_F16, 1, h, k, 1e-3, 0).n_different);
    static const uint8_t yes[1] = {1};
    static const uint8_t no[1] = {0};
    CHECK_INT(1, compared(TFR_DTYPE_BOOL, 1, yes, no, 0, 0).n_different);
}

TEST(complex_numbers_compare_by_distance)
{
    static const float e[4] = {3, 4, 1, NAN};
    static const float o[4] = {3, 4.004f, 1, NAN};
    CHECK_INT(0, compared(TFR_DTYPE_C64, 2, e, o, 1e-3, 0).n_different);
    tfr_compare_report r = compared(TFR_DTYPE_C64, 2, e, o, 1e-4, 0);
    CHECK_INT(1, r.n_different);
    CHECK_CONTAINS("expected 3+4i, obtained 3+4.004i", r.text);
}

TEST(strings_compare_by_bytes)
{
    static const tfr_string e[2] = {{"same", 4}, {"a\0b", 3}};
    static const tfr_string o[2] = {{"same", 4}, {"a\0c", 3}};
    tfr_compare_report r = compared(TFR_DTYPE_STRING, 2, e, o, 1, 1);
    CHECK_INT(1, r.n_different);
    CHECK_INT(1, r.first_index);
    CHECK_INT(0, compared(TFR_DTYPE_STRING, 2, e, e, 0, 0).n_different);
}

/* Longer than a chunk, with the one difference at the end. */
TEST(a_strided_tensor_equals_its_copy)
{
    enum { ROWS = 37, COLUMNS = 29 };
    static float data[ROWS * COLUMNS];
    tfr_tensor *base = wrapped(TFR_DTYPE_F32, SHAPE(2, ROWS, COLUMNS), data);
    tfr_tensor *turned = NULL;
    tfr_tensor *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_compare_report r = {.size = sizeof r};
    const int64_t strides[2] = {1, COLUMNS};
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = (float)i;
    REQUIRE_OK(tfr_tensor_view(base, 0, SHAPE(2, COLUMNS, ROWS), strides, &turned, &err), &err);
    REQUIRE_OK(tfr_tensor_copy(turned, &copy, &err), &err);
    CHECK(tfr_tensor_compare(turned, copy, 0, 0, &r));
    CHECK_INT(ROWS * COLUMNS, r.n_elements);
    data[ROWS * COLUMNS - 1] = 0;
    CHECK(!tfr_tensor_compare(copy, turned, 0, 0, &r));
    CHECK_INT(ROWS * COLUMNS - 1, r.first_index);
    CHECK_CONTAINS("element [28,36]", r.text);
    tfr_tensor_release(base);
    tfr_tensor_release(turned);
    tfr_tensor_release(copy);
}

TEST(values_of_other_forms_differ_with_a_sentence)
{
    static const float data[4] = {0};
    tfr_tensor *a = wrapped(TFR_DTYPE_F32, SHAPE(2, 2, 2), data);
    tfr_tensor *b = wrapped(TFR_DTYPE_F32, SHAPE(1, 4), data);
    tfr_tensor *c = wrapped(TFR_DTYPE_I32, SHAPE(2, 2, 2), data);
    tfr_tensor *s = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_compare_report r = {.size = sizeof r};
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, &a, 1, &s, &err), &err);
    CHECK(!tfr_tensor_compare(a, b, 0, 0, &r));
    CHECK_INT(-1, r.n_different);
    CHECK_STR("expected shape [2,2], obtained shape [4]", r.text);
    CHECK(!tfr_tensor_compare(a, c, 0, 0, &r));
    CHECK_STR("expected float32, obtained int32", r.text);
    CHECK(!tfr_tensor_compare(a, s, 0, 0, &r));
    CHECK_STR("expected a tensor, obtained a sequence", r.text);
    CHECK(!tfr_tensor_compare(a, NULL, 0, 0, &r));
    CHECK_STR("expected a tensor, obtained nothing", r.text);
    tfr_tensor_release(s);
    tfr_tensor_release(a);
    tfr_tensor_release(b);
    tfr_tensor_release(c);
}

TEST(sequences_compare_value_by_value)
{
    static const float data[2] = {1, 2};
    tfr_tensor *x = wrapped(TFR_DTYPE_F32, SHAPE(1, 1), data);
    tfr_tensor *y = wrapped(TFR_DTYPE_F32, SHAPE(1, 1), data + 1);
    tfr_tensor *s = NULL;
    tfr_tensor *t = NULL;
    tfr_tensor *shorter = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_compare_report r = {.size = sizeof r};
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, (tfr_tensor *[]){x, x}, 2, &s, &err), &err);
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, (tfr_tensor *[]){x, y}, 2, &t, &err), &err);
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, &x, 1, &shorter, &err), &err);
    CHECK(tfr_tensor_compare(s, s, 0, 0, &r));
    CHECK_INT(2, r.n_elements);
    CHECK(!tfr_tensor_compare(s, t, 0, 0, &r));
    CHECK_INT(1, r.n_different);
    CHECK_STR("value 1 of the sequence: element [0]: expected 1, obtained 2, error 1", r.text);
    CHECK(!tfr_tensor_compare(s, shorter, 0, 0, &r));
    CHECK_STR("expected 2 values, obtained 1", r.text);
    tfr_tensor_release(s);
    tfr_tensor_release(t);
    tfr_tensor_release(shorter);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

TEST(a_shorter_report_is_not_overrun)
{
    static const float e[1] = {1};
    static const float o[1] = {2};
    tfr_compare_report r;
    tfr_tensor *a = wrapped(TFR_DTYPE_F32, SHAPE(1, 1), e);
    tfr_tensor *b = wrapped(TFR_DTYPE_F32, SHAPE(1, 1), o);
    memset(&r, 'x', sizeof r);
    r.size = offsetof(tfr_compare_report, first_index);
    CHECK(!tfr_tensor_compare(a, b, 0, 0, &r));
    CHECK_UINT(offsetof(tfr_compare_report, first_index), r.size);
    CHECK_INT(1, r.n_different);
    CHECK_INT('x', r.text[0]);
    tfr_tensor_release(a);
    tfr_tensor_release(b);
}

static const test_case cases[] = {
    CASE(floats_within_tolerance_are_equal),
    CASE(the_first_difference_is_told_with_its_index_and_numbers),
    CASE(nan_equals_nan_and_infinities_equal_themselves),
    CASE(no_tolerance_lets_an_infinity_or_nan_pass_for_a_number),
    CASE(a_tolerance_that_is_nan_or_negative_allows_only_equality),
    CASE(integers_are_exact_unless_a_tolerance_reaches_one),
    CASE(a_tolerance_is_inclusive_and_of_the_expected_number),
    CASE(the_last_element_counts_whatever_the_length),
    CASE(integers_beyond_the_doubles_are_told_apart),
    CASE(packed_and_small_types_compare_by_value),
    CASE(complex_numbers_compare_by_distance),
    CASE(strings_compare_by_bytes),
    CASE(a_strided_tensor_equals_its_copy),
    CASE(values_of_other_forms_differ_with_a_sentence),
    CASE(sequences_compare_value_by_value),
    CASE(a_shorter_report_is_not_overrun),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/value/shape.c. */
#include "tfr_test.h"

#include <tfrun/shape.h>

static const tfr_shape scalar = {.rank = 0};

#define SHAPE(rank, ...) ((tfr_shape){rank, {__VA_ARGS__}})

TEST(rank_zero_is_one_element)
{
    int64_t n = -1;
    size_t bytes = 0;
    char text[8];
    tfr_err err = TFR_ERR_INIT;
    tfr_shape shape;
    CHECK_OK(tfr_shape_make(0, NULL, &shape, &err), &err);
    CHECK_OK(tfr_shape_elements(&shape, &n, &err), &err);
    CHECK_INT(1, n);
    CHECK_OK(tfr_shape_bytes(&shape, TFR_DTYPE_I4, &bytes, &err), &err);
    CHECK_UINT(1, bytes);
    CHECK_STR("[]", tfr_shape_format(&shape, text, sizeof text));
}

TEST(a_dim_of_zero_is_no_element)
{
    int64_t n = -1;
    size_t bytes = 1;
    tfr_err err = TFR_ERR_INIT;
    tfr_shape shape = SHAPE(3, 2, 0, 3);
    CHECK_OK(tfr_shape_elements(&shape, &n, &err), &err);
    CHECK_INT(0, n);
    CHECK_OK(tfr_shape_bytes(&shape, TFR_DTYPE_F32, &bytes, &err), &err);
    CHECK_UINT(0, bytes);
}

TEST(make_refuses_what_is_no_shape)
{
    const int64_t negative[2] = {3, -1};
    const int64_t many[TFR_MAX_RANK + 1] = {0};
    tfr_shape shape = SHAPE(1, 77);
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_make(2, negative, &shape, &err), &err);
    CHECK_CONTAINS("[3,-1]", err.text);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_make(TFR_MAX_RANK + 1, many, &shape, &err), &err);
    CHECK_CONTAINS("17", err.text);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_make(-1, many, &shape, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_shape_make(1, NULL, &shape, &err), &err);
    CHECK_INT(77, shape.dims[0]);
    CHECK_OK(tfr_shape_make(TFR_MAX_RANK, many, &shape, &err), &err);
}

TEST(products_that_overflow_are_refused)
{
    tfr_err err = TFR_ERR_INIT;
    int64_t n = -1;
    size_t bytes = 7;
    tfr_shape shape = SHAPE(2, INT64_C(1) << 32, INT64_C(1) << 31);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_elements(&shape, &n, &err), &err);
    /* Times 0 it would be 0, but its strides would not fit. */
    shape = SHAPE(3, 0, INT64_C(1) << 32, INT64_C(1) << 31);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_elements(&shape, &n, &err), &err);
    shape = SHAPE(1, INT64_MAX);
    CHECK_OK(tfr_shape_elements(&shape, &n, &err), &err);
    CHECK_INT(INT64_MAX, n);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_bytes(&shape, TFR_DTYPE_F16, &bytes, &err), &err);
    CHECK_CONTAINS("float16", err.text);
    /* The bits are what has to fit. */
    shape = SHAPE(1, INT64_C(1) << 56);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_bytes(&shape, TFR_DTYPE_C128, &bytes, &err), &err);
    shape = SHAPE(1, INT64_C(1) << 61);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_bytes(&shape, TFR_DTYPE_I4, &bytes, &err), &err);
    CHECK_UINT(7, bytes);
    shape = SHAPE(1, INT64_C(1) << 60);
    CHECK_OK(tfr_shape_bytes(&shape, TFR_DTYPE_I4, &bytes, &err), &err);
    CHECK_UINT((size_t)1 << 59, bytes);
}

TEST(bytes_of_packed_types_round_up)
{
    static const size_t four[] = {0, 1, 1, 2, 2, 3};
    static const size_t two[] = {0, 1, 1, 1, 1, 2};
    tfr_err err = TFR_ERR_INIT;
    size_t bytes = 99;
    for (int64_t n = 0; n < 6; n++) {
        tfr_shape shape = SHAPE(1, n);
        CHECK_OK(tfr_shape_bytes(&shape, TFR_DTYPE_U4, &bytes, &err), &err);
        CHECK_UINT(four[n], bytes);
        CHECK_OK(tfr_shape_bytes(&shape, TFR_DTYPE_I2, &bytes, &err), &err);
        CHECK_UINT(two[n], bytes);
    }
    CHECK_STATUS(TFR_EDTYPE, tfr_shape_bytes(&scalar, TFR_DTYPE_NONE, &bytes, &err), &err);
}

TEST(equal_shapes_have_equal_ranks_and_dims)
{
    tfr_shape a = SHAPE(2, 2, 3);
    tfr_shape b = SHAPE(2, 2, 3, 9);
    tfr_shape c = SHAPE(3, 2, 3, 1);
    tfr_shape d = SHAPE(2, 2, 4);
    CHECK(tfr_shape_equal(&a, &b));
    CHECK(!tfr_shape_equal(&a, &c));
    CHECK(!tfr_shape_equal(&a, &d));
    CHECK(tfr_shape_equal(&scalar, &scalar));
}

static void check_broadcast(tfr_shape a, tfr_shape b, tfr_shape expected)
{
    tfr_shape out;
    tfr_err err = TFR_ERR_INIT;
    CHECK_OK(tfr_shape_broadcast(&a, &b, &out, &err), &err);
    CHECK(tfr_shape_equal(&expected, &out));
    CHECK_OK(tfr_shape_broadcast(&b, &a, &out, &err), &err);
    CHECK(tfr_shape_equal(&expected, &out));
}

TEST(broadcast_aligns_last_dims_and_stretches_ones)
{
    check_broadcast(SHAPE(3, 2, 1, 4), SHAPE(2, 3, 1), SHAPE(3, 2, 3, 4));
    check_broadcast(scalar, SHAPE(2, 5, 6), SHAPE(2, 5, 6));
    check_broadcast(SHAPE(1, 1), SHAPE(1, 0), SHAPE(1, 0));
    check_broadcast(scalar, scalar, scalar);
}

TEST(broadcast_rejects_unequal_dims_by_name)
{
    tfr_shape a = SHAPE(2, 2, 3);
    tfr_shape b = SHAPE(2, 4, 3);
    tfr_shape out = SHAPE(1, 77);
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_broadcast(&a, &b, &out, &err), &err);
    CHECK_STR("shapes [2,3] and [4,3] do not broadcast: dim -2 is 2 in one and 4 in the other",
              err.text);
    CHECK_INT(77, out.dims[0]);
    a = SHAPE(1, 0);
    b = SHAPE(1, 2);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_broadcast(&a, &b, &out, &err), &err);
    a = SHAPE(2, INT64_C(1) << 40, 1);
    b = SHAPE(2, 1, INT64_C(1) << 40);
    CHECK_STATUS(TFR_ESHAPE, tfr_shape_broadcast(&a, &b, &out, &err), &err);
}

TEST(plain_strides_are_row_major)
{
    tfr_shape shape = SHAPE(3, 2, 3, 4);
    int64_t strides[3];
    tfr_shape_strides(&shape, strides);
    CHECK_INT(12, strides[0]);
    CHECK_INT(4, strides[1]);
    CHECK_INT(1, strides[2]);
    tfr_shape_strides(&scalar, strides);
    CHECK_INT(12, strides[0]);
}

TEST(format_cuts_to_the_room_there_is)
{
    tfr_shape shape = SHAPE(3, 2, 3, 4);
    tfr_shape long_one = {.rank = TFR_MAX_RANK};
    char text[400];
    for (int i = 0; i < TFR_MAX_RANK; i++)
        long_one.dims[i] = INT64_MIN;
    CHECK_STR("[2,3,4]", tfr_shape_format(&shape, text, sizeof text));
    CHECK_STR("[2,", tfr_shape_format(&shape, text, 4));
    CHECK_STR("", tfr_shape_format(&shape, text, 1));
    text[0] = 'x';
    (void)tfr_shape_format(&shape, text, 0);
    CHECK_INT('x', text[0]);
    CHECK_UINT(16 * 20 + 15 + 2, strlen(tfr_shape_format(&long_one, text, sizeof text)));
}

static const test_case cases[] = {
    CASE(rank_zero_is_one_element),
    CASE(a_dim_of_zero_is_no_element),
    CASE(make_refuses_what_is_no_shape),
    CASE(products_that_overflow_are_refused),
    CASE(bytes_of_packed_types_round_up),
    CASE(equal_shapes_have_equal_ranks_and_dims),
    CASE(broadcast_aligns_last_dims_and_stretches_ones),
    CASE(broadcast_rejects_unequal_dims_by_name),
    CASE(plain_strides_are_row_major),
    CASE(format_cuts_to_the_room_there_is),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/value/sequence.c. */
#include "tfr_test.h"

#include "base/alloc.h"
#include "value/tensor.h"

static tfr_tensor *new_scalar(tfr_dtype dtype)
{
    tfr_tensor *tensor = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_create(dtype, &(tfr_shape){0}, &tensor, &err), &err);
    return tensor;
}

TEST(a_sequence_keeps_its_values)
{
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *values[2] = {new_scalar(TFR_DTYPE_F32), new_scalar(TFR_DTYPE_F32)};
    tfr_tensor *s = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_NONE, values, 2, &s, &err), &err);
    tfr_tensor_release(values[0]);
    tfr_tensor_release(values[1]);
    CHECK_INT(TFR_KIND_SEQUENCE, tfr_tensor_kind(s));
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(s));
    CHECK_INT(0, tfr_tensor_shape(s)->rank);
    CHECK_UINT(2, tfr_sequence_length(s));
    CHECK(tfr_sequence_at(s, 1) == values[1]);
    CHECK(tfr_sequence_at(s, 2) == NULL);
    CHECK(tfr_tensor_data(s) == NULL);
    tfr_tensor_release(s);
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(an_empty_sequence_has_a_type)
{
    tfr_tensor *s = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_I64, NULL, 0, &s, &err), &err);
    CHECK_INT(TFR_DTYPE_I64, tfr_tensor_dtype(s));
    CHECK_UINT(0, tfr_sequence_length(s));
    tfr_tensor_release(s);
}

TEST(values_that_do_not_fit_a_sequence_are_refused)
{
    tfr_tensor *f = new_scalar(TFR_DTYPE_F32);
    tfr_tensor *i = new_scalar(TFR_DTYPE_I32);
    tfr_tensor *s = NULL;
    tfr_tensor *o = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_EDTYPE,
                 tfr_sequence_create(TFR_DTYPE_NONE, (tfr_tensor *[]){f, i}, 2, &s, &err), &err);
    CHECK_STR("value 1 of a sequence of float32 is int32", err.text);
    CHECK_STATUS(TFR_EDTYPE, tfr_sequence_create(TFR_DTYPE_I32, &f, 1, &s, &err), &err);
    CHECK_STATUS(TFR_EDTYPE, tfr_sequence_create(TFR_DTYPE_END, NULL, 0, &s, &err), &err);
    CHECK_STATUS(TFR_EINVAL,
                 tfr_sequence_create(TFR_DTYPE_F32, (tfr_tensor *[]){f, NULL}, 2, &s, &err), &err);
    REQUIRE_OK(tfr_optional_create(TFR_DTYPE_F32, f, &o, &err), &err);
    CHECK_STATUS(TFR_EINVAL,
                 tfr_sequence_create(TFR_DTYPE_F32, (tfr_tensor *[]){f, o}, 2, &s, &err), &err);
    CHECK(s == NULL);
    tfr_tensor_release(o);
    tfr_tensor_release(f);
    tfr_tensor_release(i);
}

TEST(an_optional_holds_a_value_or_nothing)
{
    tfr_tensor *f = new_scalar(TFR_DTYPE_F32);
    tfr_tensor *full = NULL;
    tfr_tensor *empty = NULL;
    tfr_tensor *bad = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_optional_create(TFR_DTYPE_NONE, f, &full, &err), &err);
    REQUIRE_OK(tfr_optional_create(TFR_DTYPE_U8, NULL, &empty, &err), &err);
    CHECK_STATUS(TFR_EDTYPE, tfr_optional_create(TFR_DTYPE_U8, f, &bad, &err), &err);
    CHECK_INT(TFR_KIND_OPTIONAL, tfr_tensor_kind(full));
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(full));
    CHECK_UINT(1, tfr_sequence_length(full));
    CHECK(tfr_sequence_at(full, 0) == f);
    CHECK_UINT(0, tfr_sequence_length(empty));
    CHECK(tfr_sequence_at(empty, 0) == NULL);
    tfr_tensor_release(full);
    tfr_tensor_release(empty);
    tfr_tensor_release(f);
}

TEST(a_copy_of_a_sequence_copies_its_values)
{
    tfr_tensor *f = new_scalar(TFR_DTYPE_F32);
    tfr_tensor *o = NULL;
    tfr_tensor *s = NULL;
    tfr_tensor *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    *(float *)tfr_tensor_data(f) = 3.5f;
    REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, &f, 1, &s, &err), &err);
    REQUIRE_OK(tfr_optional_create(TFR_DTYPE_F32, s, &o, &err), &err);
    REQUIRE_OK(tfr_tensor_copy(o, &copy, &err), &err);
    CHECK_INT(TFR_KIND_OPTIONAL, tfr_tensor_kind(copy));
    const tfr_tensor *inner = tfr_sequence_at(tfr_sequence_at(copy, 0), 0);
    REQUIRE(inner != NULL);
    CHECK(inner != f);
    CHECK_NEAR(3.5, *(float *)tfr_tensor_data(inner), 0);
    tfr_tensor_release(copy);
    REQUIRE_OK(tfr_optional_create(TFR_DTYPE_F32, NULL, &copy, &err), &err);
    tfr_tensor *empty = NULL;
    REQUIRE_OK(tfr_tensor_copy(copy, &empty, &err), &err);
    CHECK_UINT(0, tfr_sequence_length(empty));
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(empty));
    tfr_tensor_release(empty);
    tfr_tensor_release(copy);
    tfr_tensor_release(o);
    tfr_tensor_release(s);
    tfr_tensor_release(f);
}

TEST(values_nest_to_a_limit)
{
    tfr_tensor *value = new_scalar(TFR_DTYPE_F32);
    tfr_tensor *outer = NULL;
    tfr_err err = TFR_ERR_INIT;
    for (int i = 0; i < TFR__MAX_VALUE_DEPTH; i++) {
        REQUIRE_OK(tfr_sequence_create(TFR_DTYPE_F32, &value, 1, &outer, &err), &err);
        tfr_tensor_release(value);
        value = outer;
    }
    CHECK_STATUS(TFR_ELIMIT, tfr_optional_create(TFR_DTYPE_F32, value, &outer, &err), &err);
    CHECK_CONTAINS("8", err.text);
    tfr_tensor_release(value);
}

static const test_case cases[] = {
    CASE(a_sequence_keeps_its_values),
    CASE(an_empty_sequence_has_a_type),
    CASE(values_that_do_not_fit_a_sequence_are_refused),
    CASE(an_optional_holds_a_value_or_nothing),
    CASE(a_copy_of_a_sequence_copies_its_values),
    CASE(values_nest_to_a_limit),
};
TEST_MAIN(cases)

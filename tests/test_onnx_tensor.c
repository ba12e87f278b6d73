/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto, SequenceProto and OptionalProto: every way to store elements, and every lie. */
#include <stdlib.h>
#include <tfrun/compare.h>
#include <tfrun/onnx.h>

#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

static tfr_status parse(const pb *m, tfr_kind kind, tfr_tensor **out)
{
    return tfr_onnx_parse_tensor(m->data, m->n, kind, out, &err);
}

/* A TensorProto of one dim. */
static pb typed(int dtype, int64_t dim)
{
    return tensor_raw("t", dtype, 1, &dim, NULL, 0);
}

TEST(raw_data_give_the_elements)
{
    int64_t dims[2] = {2, 3};
    float values[6] = {0, 1, 2, 3, 4, 5};
    pb m = tensor_raw("t", TFR_DTYPE_F32, 2, dims, values, sizeof values);
    tfr_tensor *tensor;
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(tensor));
    CHECK_INT(3, tfr_tensor_shape(tensor)->dims[1]);
    CHECK_MEM(values, tfr_tensor_data(tensor), sizeof values);
    tfr_tensor_release(tensor);
}

/* For each type the field that holds it, and the numbers 0, 1 there. */
TEST(typed_fields_give_the_elements_of_every_type)
{
    static const struct {
        tfr_dtype dtype;
        unsigned field;
        int64_t dim;
    } rows[] = {
        {TFR_DTYPE_U8, 5, 2},     {TFR_DTYPE_I8, 5, 2},         {TFR_DTYPE_U16, 5, 2},
        {TFR_DTYPE_I16, 5, 2},    {TFR_DTYPE_I32, 5, 2},        {TFR_DTYPE_I64, 7, 2},
        {TFR_DTYPE_BOOL, 5, 2},   {TFR_DTYPE_F16, 5, 2},        {TFR_DTYPE_U32, 11, 2},
        {TFR_DTYPE_U64, 11, 2},   {TFR_DTYPE_BF16, 5, 2},       {TFR_DTYPE_F8E4M3FN, 5, 2},
        {TFR_DTYPE_F8E5M2, 5, 2}, {TFR_DTYPE_F8E4M3FNUZ, 5, 2}, {TFR_DTYPE_F8E5M2FNUZ, 5, 2},
        {TFR_DTYPE_F8E8M0, 5, 2}, {TFR_DTYPE_U4, 5, 3},         {TFR_DTYPE_I4, 5, 4},
        {TFR_DTYPE_F4E2M1, 5, 3}, {TFR_DTYPE_U2, 5, 7},         {TFR_DTYPE_I2, 5, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pb m = typed((int)rows[i].dtype, rows[i].dim);
        unsigned char expected[16] = {0};
        size_t width = tfr_dtype_bits((int32_t)rows[i].dtype) / 8;
        tfr_tensor *tensor;
        expected[width ? width : 1] = 1;
        pb_int(&m, rows[i].field, 0);
        pb_int(&m, rows[i].field, 1);
        REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
        CHECK_INT(rows[i].dtype, tfr_tensor_dtype(tensor));
        CHECK_MEM(expected, tfr_tensor_data(tensor), tfr_tensor_bytes(tensor));
        tfr_tensor_release(tensor);
    }
}

TEST(floats_doubles_and_complex_numbers_may_be_packed_or_not)
{
    float f[4] = {1, 2, 3, 4};
    double d[4] = {1, 2, 3, 4};
    pb m = typed(TFR_DTYPE_C64, 2);
    tfr_tensor *tensor;
    pb_float(&m, 4, 1);
    pb_bytes(&m, 4, f + 1, 12);
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_MEM(f, tfr_tensor_data(tensor), sizeof f);
    tfr_tensor_release(tensor);
    m = typed(TFR_DTYPE_C128, 2);
    pb_bytes(&m, 10, d, sizeof d);
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_MEM(d, tfr_tensor_data(tensor), sizeof d);
    tfr_tensor_release(tensor);
    m = typed(TFR_DTYPE_F64, 1);
    pb_varint(&m, 10 << 3 | 1);
    pb_raw(&m, d + 2, 8);
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_NEAR(3, ((double *)tfr_tensor_data(tensor))[0], 0);
    tfr_tensor_release(tensor);
}

TEST(negative_numbers_in_int32_data_are_sign_extended)
{
    pb m = typed(TFR_DTYPE_I8, 3);
    const int8_t expected[3] = {-1, -128, 127};
    tfr_tensor *tensor;
    pb_int(&m, 5, -1);
    pb_int(&m, 5, -128);
    pb_int(&m, 5, 127);
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_MEM(expected, tfr_tensor_data(tensor), 3);
    tfr_tensor_release(tensor);
}

TEST(numbers_that_a_type_cannot_hold_are_refused)
{
    static const struct {
        tfr_dtype dtype;
        unsigned field;
        int64_t value;
    } rows[] = {
        {TFR_DTYPE_U8, 5, 256}, {TFR_DTYPE_I8, 5, 128},         {TFR_DTYPE_I16, 5, 32768},
        {TFR_DTYPE_U16, 5, -1}, {TFR_DTYPE_BOOL, 5, 2},         {TFR_DTYPE_F16, 5, 65536},
        {TFR_DTYPE_U4, 5, 256}, {TFR_DTYPE_U32, 11, 1LL << 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pb m = typed((int)rows[i].dtype, 1);
        tfr_tensor *tensor;
        pb_int(&m, rows[i].field, rows[i].value);
        CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
        CHECK_CONTAINS("as element 0", err.text);
    }
}

TEST(strings_keep_their_bytes)
{
    pb m = typed(TFR_DTYPE_STRING, 3);
    tfr_tensor *tensor;
    size_t n;
    pb_bytes(&m, 6, "a\0b", 3);
    pb_text(&m, 6, "");
    pb_text(&m, 6, "\xff");
    REQUIRE_OK(parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_MEM("a\0b", tfr_tensor_get_string(tensor, 0, &n), 3);
    CHECK_UINT(3, n);
    CHECK_STR("\xff", tfr_tensor_get_string(tensor, 2, &n));
    tfr_tensor_release(tensor);
}

TEST(a_claim_of_four_gib_in_a_small_message_is_refused_before_memory_is_taken)
{
    int64_t dims[2] = {1 << 15, 1 << 15};
    pb m = tensor_raw("t", TFR_DTYPE_F32, 2, dims, "1234", 4);
    tfr_tensor *tensor;
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("raw_data has 4 bytes, float32[32768,32768] needs 4294967296", err.text);
    m = tensor_raw("t", TFR_DTYPE_STRING, 2, dims, NULL, 0);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("string_data has 0 elements", err.text);
}

TEST(dims_that_are_negative_overflow_or_are_too_many_are_refused)
{
    static const int64_t negative[1] = {-1}, huge[3] = {1LL << 40, 1LL << 40, 2};
    int64_t ones[17];
    tfr_tensor *tensor;
    pb m = tensor_raw("t", TFR_DTYPE_F32, 1, negative, "", 0);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("negative dim -1", err.text);
    m = tensor_raw("t", TFR_DTYPE_F32, 3, huge, "", 0);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("TensorProto.dims", err.text);
    for (int i = 0; i < 17; i++)
        ones[i] = 1;
    m = tensor_raw("t", TFR_DTYPE_U8, 17, ones, "x", 1);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("more than 16 dims", err.text);
}

TEST(types_that_do_not_exist_are_refused)
{
    static const int types[] = {0, TFR_DTYPE_END, 99};
    tfr_tensor *tensor;
    pb none = {.n = 0};
    for (int i = 0; i < 3; i++) {
        pb m = {.n = 0};
        char text[32];
        pb_int(&m, 2, types[i]);
        snprintf(text, sizeof text, "data_type %d is not", types[i]);
        CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
        CHECK_CONTAINS(text, err.text);
    }
    CHECK_STATUS(TFR_EMODEL, parse(&none, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("data_type is missing", err.text);
}

TEST(elements_in_the_wrong_field_or_in_two_are_refused)
{
    tfr_tensor *tensor;
    pb m = typed(TFR_DTYPE_I64, 1), both = typed(TFR_DTYPE_F32, 1);
    pb_float(&m, 4, 1);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("those of type int64 belong into int64_data", err.text);
    pb_float(&both, 4, 1);
    pb_bytes(&both, 9, "1234", 4);
    CHECK_STATUS(TFR_EMODEL, parse(&both, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("in raw_data and in float_data", err.text);
}

TEST(raw_bools_other_than_0_and_1_are_refused)
{
    int64_t dim = 3;
    tfr_tensor *tensor;
    pb m = tensor_raw("t", TFR_DTYPE_BOOL, 1, &dim, "\0\1\2", 3);
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_TENSOR, &tensor), &err);
    CHECK_CONTAINS("element 2 of type bool is 2", err.text);
}

TEST(sequences_and_optionals_hold_values_or_none)
{
    int64_t dim = 1;
    pb t = tensor_raw("t", TFR_DTYPE_U8, 1, &dim, "\7", 1), seq = {.n = 0}, opt = {.n = 0};
    tfr_tensor *value;
    pb_int(&seq, 2, 1);
    pb_msg(&seq, 3, &t);
    pb_msg(&seq, 3, &t);
    REQUIRE_OK(parse(&seq, TFR_KIND_SEQUENCE, &value), &err);
    CHECK_INT(TFR_KIND_SEQUENCE, tfr_tensor_kind(value));
    CHECK_UINT(2, tfr_sequence_length(value));
    tfr_tensor_release(value);
    pb_int(&opt, 2, 3);
    pb_msg(&opt, 5, &seq);
    REQUIRE_OK(parse(&opt, TFR_KIND_OPTIONAL, &value), &err);
    REQUIRE(tfr_sequence_at(value, 0) != NULL);
    CHECK_UINT(2, tfr_sequence_length(tfr_sequence_at(value, 0)));
    tfr_tensor_release(value);
    opt.n = 0;
    REQUIRE_OK(parse(&opt, TFR_KIND_OPTIONAL, &value), &err);
    CHECK_UINT(0, tfr_sequence_length(value));
    tfr_tensor_release(value);
}

TEST(sequences_nested_beyond_the_limit_are_refused)
{
    pb m = {.n = 0}, outer;
    tfr_tensor *value;
    for (int i = 0; i < 100; i++) {
        outer.n = 0;
        outer.full = false;
        pb_msg(&outer, 5, &m);
        m = outer;
    }
    CHECK_STATUS(TFR_EMODEL, parse(&m, TFR_KIND_SEQUENCE, &value), &err);
    CHECK_CONTAINS("deeper than 64", err.text);
}

TEST(values_survive_saving_and_loading)
{
    int64_t dims[2] = {2, 2};
    float f[4] = {1, 2, 3, 4};
    pb t = tensor_raw(NULL, TFR_DTYPE_F32, 2, dims, f, sizeof f), s = typed(TFR_DTYPE_STRING, 2);
    pb seq = {.n = 0}, opt = {.n = 0};
    const pb *all[4] = {&t, &s, &seq, &opt};
    static const tfr_kind kinds[4] = {TFR_KIND_TENSOR, TFR_KIND_TENSOR, TFR_KIND_SEQUENCE,
                                      TFR_KIND_OPTIONAL};
    pb_text(&s, 6, "abc");
    pb_text(&s, 6, "");
    pb_msg(&seq, 3, &t);
    pb_msg(&seq, 3, &t);
    pb_msg(&opt, 5, &seq);
    for (int i = 0; i < 4; i++) {
        tfr_tensor *value, *back;
        REQUIRE_OK(parse(all[i], kinds[i], &value), &err);
        REQUIRE_OK(tfr_onnx_save_tensor(temp_path("v.pb"), "v", value, &err), &err);
        REQUIRE_OK(tfr_onnx_load_tensor(temp_path("v.pb"), kinds[i], &back, &err), &err);
        CHECK(tfr_tensor_compare(value, back, 0, 0, NULL));
        tfr_tensor_release(value);
        tfr_tensor_release(back);
    }
    temp_drop("v.pb");
}

TEST(a_failed_save_leaves_the_old_file_and_no_other)
{
    static const tfr_shape shape = {1, {4}};
    tfr_tensor *value;
    char folder[256];
    temp_write("old.pb", "old", 3);
    snprintf(folder, sizeof folder, "%s", temp_folder());
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &value, &err), &err);
    if (geteuid() != 0) { /* root may write into any folder */
        chmod(folder, 0500);
        CHECK_STATUS(TFR_EIO, tfr_onnx_save_tensor(temp_path("old.pb"), "v", value, &err), &err);
        chmod(folder, 0700);
    }
    CHECK_STATUS(TFR_EIO, tfr_onnx_save_tensor("/proc/old.pb", "v", value, &err), &err);
    CHECK_CONTAINS("/proc/old.pb", err.text);
    tfr_tensor_release(value);
    temp_drop("old.pb");
    CHECK(access(folder, F_OK) != 0); /* nothing else was left in it */
}

TEST(every_flipped_bit_gives_a_value_or_a_sentence)
{
    int64_t dims[2] = {2, 2};
    float f[4] = {1, 2, 3, 4};
    pb t = tensor_raw("name", TFR_DTYPE_F32, 2, dims, f, sizeof f), m = {.n = 0};
    pb_int(&m, 2, 1);
    pb_msg(&m, 3, &t);
    for (size_t i = 0; i < m.n; i++)
        for (int bit = 0; bit < 8; bit++)
            for (int kind = TFR_KIND_TENSOR; kind <= TFR_KIND_OPTIONAL; kind++) {
                tfr_tensor *value;
                m.data[i] ^= (unsigned char)(1 << bit);
                if (parse(&m, (tfr_kind)kind, &value) == TFR_OK)
                    tfr_tensor_release(value);
                else
                    CHECK(*err.text != 0);
                m.data[i] ^= (unsigned char)(1 << bit);
            }
}

static const test_case cases[] = {
    CASE(raw_data_give_the_elements),
    CASE(typed_fields_give_the_elements_of_every_type),
    CASE(floats_doubles_and_complex_numbers_may_be_packed_or_not),
    CASE(negative_numbers_in_int32_data_are_sign_extended),
    CASE(numbers_that_a_type_cannot_hold_are_refused),
    CASE(strings_keep_their_bytes),
    CASE(a_claim_of_four_gib_in_a_small_message_is_refused_before_memory_is_taken),
    CASE(dims_that_are_negative_overflow_or_are_too_many_are_refused),
    CASE(types_that_do_not_exist_are_refused),
    CASE(elements_in_the_wrong_field_or_in_two_are_refused),
    CASE(raw_bools_other_than_0_and_1_are_refused),
    CASE(sequences_and_optionals_hold_values_or_none),
    CASE(sequences_nested_beyond_the_limit_are_refused),
    CASE(values_survive_saving_and_loading),
    CASE(a_failed_save_leaves_the_old_file_and_no_other),
    CASE(every_flipped_bit_gives_a_value_or_a_sentence),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests core/op/op.c, the rows of core/op/ops.def, and core/op/attr.c. */
#include <stdlib.h>
#include <tfrun/op_digests.h>

#include "op/attr.h"
#include "op/infer.h"
#include "op/op.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

TEST(rows_are_sorted_and_found)
{
    CHECK(tfr__op_count() > 200);
    for (uint32_t i = 0; i < tfr__op_count(); i++) {
        const tfr__op *op = tfr__op_at(i);
        CHECK(tfr__op_find(op->domain, op->name) == op);
        if (!i)
            continue;
        const tfr__op *before = tfr__op_at(i - 1);
        int by_domain = strcmp(before->domain, op->domain);
        CHECK(by_domain < 0 || (by_domain == 0 && strcmp(before->name, op->name) < 0));
    }
    CHECK(tfr__op_at(tfr__op_count()) == NULL);
}

TEST(the_long_name_of_the_onnx_domain_is_the_empty_one)
{
    REQUIRE(tfr__op_find("ai.onnx", "Relu") != NULL);
    CHECK(tfr__op_find("ai.onnx", "Relu") == tfr__op_find("", "Relu"));
    CHECK(tfr__op_find(NULL, "Relu") == tfr__op_find("", "Relu"));
    CHECK(tfr__op_find("com.example", "Relu") == NULL);
    CHECK(tfr__op_find("", "Upsample") == NULL);
    CHECK(tfr__op_find("", NULL) == NULL);
    CHECK(tfr__op_find("tfrun", "Reorder") != NULL);
    CHECK(tfr__op_find("ai.onnx.preview.training", "Adam") != NULL);
}

/* Every type of an operand is a set of the row or one type, and every set lists known types. */
static void check_operand_types(const tfr__op *op, const char *operands)
{
    tfr__formal f;
    for (uint32_t i = 0; i < 20 && tfr__op_formal(operands, i, &f); i++) {
        uint32_t bytes, words = 0, admitted = 0;
        const char *set = tfr__op_types(op, f.type, f.type_bytes, &bytes);
        for (uint32_t k = 0; k < bytes; k++)
            words += set[k] == '|';
        words += bytes > 0;
        for (int32_t d = 1; d < TFR_DTYPE_END; d++)
            admitted += tfr__op_admits(op, f.type, f.type_bytes, TFR_KIND_TENSOR, d);
        admitted += tfr__op_admits(op, f.type, f.type_bytes, TFR_KIND_SEQUENCE, TFR_DTYPE_F32);
        admitted += tfr__op_admits(op, f.type, f.type_bytes, TFR_KIND_OPTIONAL, TFR_DTYPE_F32);
        test_uint(words, admitted, op->name, TEST_AT, false);
        CHECK(f.name_bytes > 0);
        if (f.variadic)
            break;
    }
}

TEST(every_signature_can_be_read)
{
    for (uint32_t i = 0; i < tfr__op_count(); i++) {
        const tfr__op *op = tfr__op_at(i);
        tfr__attr_formal a;
        check_operand_types(op, op->inputs);
        check_operand_types(op, op->outputs);
        for (const char *c = op->attrs; tfr__op_next_attr(&c, &a);) {
            CHECK(a.name_bytes > 0);
            CHECK(a.type >= TFR_ATTR_FLOAT && a.type <= TFR_ATTR_STRINGS);
            CHECK(!(a.required && a.value));
        }
        test_report(op->compat_version >= 1 && op->compat_version <= op->since_version, op->name,
                    TEST_AT, false);
        test_report(!op->infer == (op->kind == TFR__OP_CONTROL), op->name, TEST_AT, false);
    }
}

TEST(formals_tell_optional_and_variadic_operands)
{
    tfr__formal f;
    uint32_t least, most;
    REQUIRE(tfr__op_formal("X:T B?:T rest...0*:V", 1, &f));
    CHECK(f.optional && !f.variadic && f.name_bytes == 1 && *f.name == 'B');
    REQUIRE(tfr__op_formal("X:T B?:T rest...0*:V", 9, &f));
    CHECK(f.variadic && f.mixed && f.min == 0 && *f.type == 'V' && f.type_bytes == 1);
    CHECK(!tfr__op_formal("X:T", 1, &f));
    tfr__op_arity("X:T B?:T C:T", &least, &most);
    CHECK_UINT(3, least);
    CHECK_UINT(3, most);
    tfr__op_arity("x...:T", &least, &most);
    CHECK_UINT(1, least);
    CHECK_UINT(UINT32_MAX, most);
    tfr__op_arity("", &least, &most);
    CHECK_UINT(0, most);
}

TEST(digests_differ_and_do_not_cover_types)
{
    for (uint32_t i = 0; i < tfr__op_count(); i++)
        for (uint32_t k = 0; k < i; k++)
            CHECK(tfr__op_digest(tfr__op_at(i)) != tfr__op_digest(tfr__op_at(k)));
    tfr__op relu = *tfr__op_find("", "Relu");
    uint64_t digest = tfr__op_digest(&relu);
    relu.types = "T=f32";
    CHECK(tfr__op_digest(&relu) == digest);
    relu.attrs = "alpha:f=1";
    CHECK(tfr__op_digest(&relu) != digest);
    /* A plugin has this number in its binary: FNV-1a of "|Relu|X:T|Y:T||1.0|". */
    CHECK(digest == UINT64_C(0x0cc58afe3c05544d));
}

TEST(another_normal_form_gives_another_digest)
{
    uint32_t version;
    const tfr__op *slice = tfr__op_find("", "Slice");
    const char *form = tfr__op_normal_form(slice, &version);
    const uint64_t digest = tfr__op_digest(slice);
    CHECK_UINT(1, version);
    CHECK(digest == tfr__op_digest_with(slice, TFR_NORMAL_FORM, version, form));
    CHECK(digest != tfr__op_digest_with(slice, TFR_NORMAL_FORM + 1, version, form));
    CHECK(digest != tfr__op_digest_with(slice, TFR_NORMAL_FORM, version + 1, form));
    CHECK(digest != tfr__op_digest_with(slice, TFR_NORMAL_FORM, version, "starts:is"));
}

TEST(plugins_are_compiled_with_the_digests_of_the_table)
{
    for (uint32_t i = 0; i < tfr__op_count(); i++) {
        const tfr__op *op = tfr__op_at(i);
        if (tfr_op_digest(op->domain, op->name) != tfr__op_digest(op))
            printf("%s\n", op->name);
        CHECK(tfr_op_digest(op->domain, op->name) == tfr__op_digest(op));
    }
    CHECK(tfr_op_digest("", "Nonsense") == 0);
    CHECK(tfr_op_digest("tfrun", "Relu") == 0);
}

/* Each row names an op, once, attributes of known types, and inputs that the op may have. */
TEST(rows_of_the_normal_form_fit_the_op_table)
{
#define ROW(domain, name, version, text) {domain, name, text},
    static const char *const rows[][3] = {TFR_NORMAL_FORM_LIST(ROW)};
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tfr__op *op = tfr__op_find(rows[i][0], rows[i][1]);
        REQUIRE(op != NULL);
        for (const char *p = rows[i][2]; *p; p += strcspn(p, " "), p += *p == ' ') {
            const size_t n = strcspn(p, " ");
            tfr__formal formal;
            if (*p == '~')
                CHECK(tfr__op_formal(op->inputs, (uint32_t)(p[1] - '0'), &formal));
            else if (*p == '-')
                CHECK(n > 1);
            else
                CHECK(memchr(p, ':', n) || memchr(p, '=', n));
        }
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(rows[i][1], rows[k][1]) || strcmp(rows[i][0], rows[k][0]));
    }
}

/* ---- attributes ---- */

TEST(attributes_are_copied_replaced_and_removed)
{
    tfr__attr_list a = {0}, b;
    char name[] = "axis";
    int64_t pads[] = {1, 2, 3};
    uint64_t n;
    REQUIRE_OK(tfr__attr_set_int(&a, name, 7, &err), &err);
    REQUIRE_OK(tfr__attr_set_ints(&a, "pads", pads, 3, &err), &err);
    REQUIRE_OK(tfr__attr_set_string(&a, "mode", "abc?", 3, &err), &err);
    name[0] = 'X';
    pads[0] = 9;
    REQUIRE_OK(tfr__attr_copy(&a, &b, &err), &err);
    REQUIRE_OK(tfr__attr_set_float(&a, "axis", 0.5f, &err), &err);
    CHECK_INT(7, tfr__attr_int(&b, "axis", -1));
    CHECK_INT(-1, tfr__attr_int(&a, "axis", -1));
    CHECK_NEAR(0.5, tfr__attr_float(&a, "axis", 0), 0);
    CHECK_STR("abc", tfr__attr_string(&b, "mode", ""));
    const int64_t *values = tfr__attr_ints(&b, "pads", &n);
    REQUIRE(values && n == 3);
    CHECK_INT(1, values[0]);
    CHECK(tfr__attr_remove(&a, "pads"));
    CHECK(!tfr__attr_remove(&a, "pads"));
    CHECK(tfr__attr_ints(&a, "pads", &n) == NULL && n == 0);
    CHECK_UINT(2, a.n);
    tfr__attr_free(&a);
    tfr__attr_free(&b);
}

TEST(an_empty_list_is_not_an_absent_one)
{
    tfr__attr_list a = {0};
    uint64_t n = 5;
    REQUIRE_OK(tfr__attr_set_ints(&a, "axes", NULL, 0, &err), &err);
    CHECK(tfr__attr_ints(&a, "axes", &n) != NULL);
    CHECK_UINT(0, n);
    tfr__attr_free(&a);
}

TEST(tensors_and_strings_are_copied_deeply)
{
    tfr__attr_list a = {0}, b;
    char word[] = "two";
    int64_t dims[] = {2};
    tfr_string elements[] = {{"one", 3}, {word, 3}};
    tfr_operand t = {
        .size = sizeof t, .dtype = TFR_DTYPE_STRING, .rank = 1, .dims = dims, .data = elements};
    REQUIRE_OK(tfr__attr_set_tensor(&a, "value", &t, &err), &err);
    word[0] = 'X';
    elements[0].data = NULL;
    dims[0] = 99;
    REQUIRE_OK(tfr__attr_copy(&a, &b, &err), &err);
    tfr__attr_free(&a);
    const tfr_operand *copy = tfr__attr_find(&b, "value")->pub.tensor;
    const tfr_string *s = copy->data;
    CHECK_INT(2, copy->dims[0]);
    CHECK_STR("one", s[0].data);
    CHECK_STR("two", s[1].data);
    tfr__attr_free(&b);
}

TEST(a_tensor_that_lies_about_its_size_is_refused)
{
    tfr__attr_list a = {0};
    int64_t dims[] = {INT64_MAX, INT64_MAX};
    float x = 1;
    tfr_operand t = {.size = sizeof t, .dtype = TFR_DTYPE_F32, .rank = 2, .dims = dims, .data = &x};
    CHECK_STATUS(TFR_EMODEL, tfr__attr_set_tensor(&a, "value", &t, &err), &err);
    t.rank = 17;
    CHECK_STATUS(TFR_EMODEL, tfr__attr_set_tensor(&a, "value", &t, &err), &err);
    dims[0] = dims[1] = 1;
    t.rank = 2;
    t.dtype = 99;
    CHECK_STATUS(TFR_EMODEL, tfr__attr_set_tensor(&a, "value", &t, &err), &err);
    t.dtype = TFR_DTYPE_F32;
    t.data = NULL;
    CHECK_STATUS(TFR_EMODEL, tfr__attr_set_tensor(&a, "value", &t, &err), &err);
    CHECK_UINT(0, a.n);
    CHECK(!tfr__attr_remove(&a, "value"));
    tfr__attr_free(&a);
}

static const test_case cases[] = {
    CASE(rows_are_sorted_and_found),
    CASE(the_long_name_of_the_onnx_domain_is_the_empty_one),
    CASE(every_signature_can_be_read),
    CASE(formals_tell_optional_and_variadic_operands),
    CASE(digests_differ_and_do_not_cover_types),
    CASE(another_normal_form_gives_another_digest),
    CASE(plugins_are_compiled_with_the_digests_of_the_table),
    CASE(rows_of_the_normal_form_fit_the_op_table),
    CASE(attributes_are_copied_replaced_and_removed),
    CASE(an_empty_list_is_not_an_absent_one),
    CASE(tensors_and_strings_are_copied_deeply),
    CASE(a_tensor_that_lies_about_its_size_is_refused),
};
TEST_MAIN(cases)

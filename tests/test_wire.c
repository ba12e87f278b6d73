/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded protobuf reader: what it gives, and where it stops. */
#include <stdlib.h>

#include "foreign.h"
#include "onnx/fields.h"
#include "onnx/labels.h"
#include "onnx/scratch.h"
#include "onnx_build.h"
#include "prefix.h"
#include "tfr_test.h"
#include "wire.h"

static tfr_err err = TFR_ERR_INIT;

/* Reads one field of a message of the given type out of bytes. */
static tfr_status first(const tfr__wire_message *message, const pb *bytes, tfr__wire_field *field)
{
    /* A block of the exact size, so that the address sanitizer sees a read behind it. */
    unsigned char *copy = malloc(bytes->n + 1);
    tfr__wire wire;
    tfr_status status;
    memcpy(copy, bytes->data, bytes->n);
    copy = realloc(copy, bytes->n ? bytes->n : 1);
    tfr__wire_open(&wire, message, copy, bytes->n);
    status = tfr__wire_next(&wire, field, &err);
    free(copy);
    return status;
}

TEST(fields_come_in_order_with_number_value_and_name)
{
    pb m = {.n = 0};
    tfr__wire wire;
    tfr__wire_field field;
    pb_int(&m, 2, 300);
    pb_text(&m, 8, "w");
    pb_float(&m, 4, 1.5f);
    tfr__wire_open(&wire, &tfr__onnx_tensor_message, m.data, m.n);
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK_UINT(2, field.number);
    CHECK_UINT(300, field.value);
    CHECK_STR("data_type", field.name);
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK(tfr__text_equal(field.text, "w"));
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK_UINT(0x3fc00000, field.value);
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK_UINT(0, field.number);
}

TEST(unknown_fields_of_every_wire_type_are_stepped_over)
{
    pb m = {.n = 0};
    tfr__wire wire;
    tfr__wire_field field;
    uint64_t eight = 8;
    pb_int(&m, 1000, 1);
    pb_varint(&m, 1001 << 3 | 1);
    pb_raw(&m, &eight, 8);
    pb_text(&m, 1002, "text");
    pb_float(&m, 1003, 1);
    pb_int(&m, 2, 7);
    tfr__wire_open(&wire, &tfr__onnx_tensor_message, m.data, m.n);
    for (unsigned i = 0; i < 4; i++) {
        REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
        CHECK_UINT(1000 + i, field.number);
    }
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK_UINT(7, field.value);
}

TEST(a_length_beyond_the_message_is_refused_with_the_numbers)
{
    pb m = {.n = 0};
    tfr__wire_field field;
    pb_varint(&m, 9 << 3 | 2);
    pb_varint(&m, (uint64_t)1 << 32);
    pb_raw(&m, "abcd", 4);
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &m, &field), &err);
    CHECK_STR("byte 0: TensorProto.raw_data claims 4294967296 bytes, its message has 4 left; the "
              "file may be cut short",
              err.text);
}

TEST(a_varint_of_eleven_bytes_or_more_than_64_bits_is_refused)
{
    pb m = {.n = 0};
    tfr__wire_field field;
    pb_varint(&m, 2 << 3);
    pb_raw(&m, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &m, &field), &err);
    CHECK_CONTAINS("more than 64 bits", err.text);
    m.data[m.n - 3] = 2; /* the tenth byte may only carry one bit */
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &m, &field), &err);
}

TEST(a_varint_of_ten_bytes_gives_all_64_bits)
{
    pb m = {.n = 0};
    tfr__wire_field field;
    pb_int(&m, 2, -1);
    CHECK_UINT(11, m.n);
    REQUIRE_OK(first(&tfr__onnx_tensor_message, &m, &field), &err);
    CHECK_UINT(UINT64_MAX, field.value);
}

TEST(every_truncation_of_a_field_is_refused)
{
    pb whole[3] = {{.n = 0}, {.n = 0}, {.n = 0}}, cut;
    tfr__wire_field field;
    pb_int(&whole[0], 2, 100000);
    pb_text(&whole[1], 8, "name");
    pb_float(&whole[2], 4, 1);
    for (int i = 0; i < 3; i++)
        for (size_t n = 1; n < whole[i].n; n++) {
            cut = whole[i];
            cut.n = n;
            CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &cut, &field), &err);
            CHECK_CONTAINS("byte ", err.text);
        }
}

TEST(field_number_zero_and_groups_are_refused)
{
    pb zero = {.n = 0}, group = {.n = 0};
    tfr__wire_field field;
    pb_varint(&zero, 0);
    pb_varint(&zero, 0);
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &zero, &field), &err);
    CHECK_CONTAINS("field of number 0", err.text);
    pb_varint(&group, 2 << 3 | 3);
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &group, &field), &err);
    CHECK_CONTAINS("wire type 3", err.text);
}

TEST(a_wire_type_that_is_not_the_fields_own_is_refused)
{
    pb m = {.n = 0};
    tfr__wire_field field;
    pb_text(&m, 2, "7");
    CHECK_STATUS(TFR_EMODEL, first(&tfr__onnx_tensor_message, &m, &field), &err);
    CHECK_STR("byte 0: TensorProto.data_type (field 2) has wire type 2, which is not its own",
              err.text);
}

TEST(packed_and_single_numbers_are_taken_alike)
{
    pb m = {.n = 0}, run = {.n = 0};
    tfr__wire wire;
    tfr__wire_field field;
    uint64_t value, sum = 0;
    size_t n, total = 0;
    bool more;
    pb_varint(&run, 1);
    pb_varint(&run, 20000);
    pb_msg(&m, 1, &run);
    pb_int(&m, 1, 5);
    tfr__wire_open(&wire, &tfr__onnx_tensor_message, m.data, m.n);
    while (tfr__wire_next(&wire, &field, &err) == TFR_OK && field.number) {
        REQUIRE_OK(tfr__wire_count(&wire, &field, &n, &err), &err);
        total += n;
        for (;;) {
            REQUIRE_OK(tfr__wire_take(&wire, &field, &value, &more, &err), &err);
            if (!more)
                break;
            sum += value;
        }
    }
    CHECK_UINT(3, total);
    CHECK_UINT(20006, sum);
}

TEST(packed_floats_of_a_broken_length_are_refused)
{
    pb m = {.n = 0};
    tfr__wire wire;
    tfr__wire_field field;
    size_t n;
    pb_bytes(&m, 4, "1234567", 7);
    tfr__wire_open(&wire, &tfr__onnx_tensor_message, m.data, m.n);
    REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
    CHECK_STATUS(TFR_EMODEL, tfr__wire_count(&wire, &field, &n, &err), &err);
    CHECK_CONTAINS("take 4 bytes each, and there are 7", err.text);
}

TEST(nesting_ends_at_64_messages)
{
    pb inner = {.n = 0}, outer;
    tfr__wire wire, child;
    tfr__wire_field field;
    tfr_status status = TFR_OK;
    int depth = 0;
    for (int i = 0; i < 80; i++) {
        outer.n = 0;
        outer.full = false;
        pb_msg(&outer, 5, &inner);
        inner = outer;
    }
    tfr__wire_open(&wire, &tfr__onnx_sequence_message, inner.data, inner.n);
    while (!status) {
        depth++;
        REQUIRE_OK(tfr__wire_next(&wire, &field, &err), &err);
        status = tfr__wire_enter(&wire, &field, &tfr__onnx_sequence_message, &child, &err);
        wire = child;
    }
    CHECK_INT(TFR__WIRE_MAX_DEPTH, depth);
    CHECK_CONTAINS("deeper than 64", err.text);
}

TEST(quoting_shortens_and_hides_control_bytes)
{
    char out[32];
    tfr__text bad = {"a\x1b[31mb\n", 8}, text;
    char longer[200];
    CHECK_STR("\"a?[31mb?\"", tfr__text_quote(bad, out, sizeof out));
    memset(longer, 'x', sizeof longer);
    text.data = longer;
    text.bytes = sizeof longer;
    CHECK_CONTAINS("xxx...xxx", tfr__text_quote(text, out, sizeof out));
    CHECK_UINT(sizeof out - 1, strlen(out));
}

TEST(labels_number_names_in_order_and_find_them_again)
{
    tfr__labels labels = {.n = 0};
    char names[2000][8];
    uint32_t number;
    bool is_new;
    for (uint32_t i = 0; i < 2000; i++) {
        tfr__text text = {names[i], (size_t)snprintf(names[i], 8, "n%u", i)};
        REQUIRE_OK(tfr__labels_add(&labels, text, &number, &is_new, &err), &err);
        CHECK(is_new);
        CHECK_UINT(i, number);
    }
    for (uint32_t i = 0; i < 2000; i++) {
        tfr__text text = {names[i], strlen(names[i])};
        CHECK_UINT(i, tfr__labels_find(&labels, text));
    }
    CHECK_UINT(TFR__LABEL_NONE, tfr__labels_find(&labels, (tfr__text){"n", 1}));
    tfr__labels_finish(&labels);
    CHECK_UINT(TFR__LABEL_NONE, tfr__labels_find(&labels, (tfr__text){"n1", 2}));
}

TEST(scratch_goes_back_to_a_mark)
{
    tfr__scratch scratch = {NULL};
    tfr__scratch_mark mark;
    char *kept = tfr__scratch_take(&scratch, 10, 1), *again;
    REQUIRE(kept != NULL);
    memset(kept, 7, 10);
    mark = tfr__scratch_now(&scratch);
    for (int i = 0; i < 100; i++)
        REQUIRE(tfr__scratch_take(&scratch, 1000, 4) != NULL);
    tfr__scratch_back_to(&scratch, mark);
    CHECK_INT(7, kept[9]);
    again = tfr__scratch_take(&scratch, 100, 1);
    REQUIRE(again != NULL);
    CHECK_INT(0, again[99]);
    CHECK(tfr__scratch_take(&scratch, SIZE_MAX / 2, 4) == NULL);
    tfr__scratch_finish(&scratch);
}

TEST(a_prefix_goes_in_front_and_never_beyond_the_room)
{
    tfr_err e = TFR_ERR_INIT;
    (void)tfr_fail(&e, TFR_EMODEL, "cause");
    CHECK_STATUS(TFR_EMODEL, tfr__prefix(&e, TFR_EMODEL, "%s: ", "m.onnx"), &e);
    CHECK_STR("m.onnx: cause", e.text);
    for (int i = 0; i < 100; i++)
        (void)tfr__prefix(&e, TFR_EMODEL, "%d bytes, ", i);
    CHECK_UINT(sizeof e.text - 1, strlen(e.text));
    CHECK(strncmp(e.text, "99 bytes, ...", 13) == 0);
    CHECK_STR("m.onnx: cause", e.text + strlen(e.text) - 13);
    CHECK_INT(TFR_EIO, tfr__prefix(NULL, TFR_EIO, "x"));
}

TEST(a_foreign_file_is_named_by_its_first_bytes)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *name;
    } rows[] = {
        {"", 0, ""},
        {"\xff\xd8\xff", 3, "a JPEG image"},
        {"\xff\xd8", 2, ""},
        {"....TFL3", 8, "a TensorFlow Lite model"},
        {"....TFL", 7, "text"},
        {"....TFL4", 8, "text"},
        {" ~\n\t\r", 5, "text"},
        {"a\x1f", 2, ""},
        {"a\x7f", 2, ""},
        {"a\x80", 2, ""},
        {"a\v", 2, ""},
        {"0123456789012345678901234567890123456789012345678901234567890123\xff", 65, "text"},
        {"012345678901234567890123456789012345678901234567890123456789012\xff", 64, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *name = tfr__foreign_name(rows[i].bytes, rows[i].n);
        CHECK_STR(rows[i].name, name ? name : "");
    }
}

static const test_case cases[] = {
    CASE(fields_come_in_order_with_number_value_and_name),
    CASE(unknown_fields_of_every_wire_type_are_stepped_over),
    CASE(a_length_beyond_the_message_is_refused_with_the_numbers),
    CASE(a_varint_of_eleven_bytes_or_more_than_64_bits_is_refused),
    CASE(a_varint_of_ten_bytes_gives_all_64_bits),
    CASE(every_truncation_of_a_field_is_refused),
    CASE(field_number_zero_and_groups_are_refused),
    CASE(a_wire_type_that_is_not_the_fields_own_is_refused),
    CASE(packed_and_single_numbers_are_taken_alike),
    CASE(packed_floats_of_a_broken_length_are_refused),
    CASE(nesting_ends_at_64_messages),
    CASE(quoting_shortens_and_hides_control_bytes),
    CASE(labels_number_names_in_order_and_find_them_again),
    CASE(scratch_goes_back_to_a_mark),
    CASE(a_foreign_file_is_named_by_its_first_bytes),
    CASE(a_prefix_goes_in_front_and_never_beyond_the_room),
};
TEST_MAIN(cases)

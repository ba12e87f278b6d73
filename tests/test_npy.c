/* SPDX-License-Identifier: Apache-2.0 */
/* npy files: round trips, NumPy's own bytes, and hostile headers. */
#include <stdlib.h>
#include <tfrun/compare.h>
#include <tfrun/fail.h>
#include <tfrun/npy.h>

#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

/* A file of version 1 with this header text and payload; returns its size. */
static size_t npy(unsigned char *out, const char *header, const void *payload, size_t n)
{
    size_t length = strlen(header);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)(length & 0xff);
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + 10, header, length);
    if (n)
        memcpy(out + 10 + length, payload, n);
    return 10 + length + n;
}

static tfr_status parse(const char *header, const void *payload, size_t n, tfr_tensor **out)
{
    unsigned char bytes[1024];
    size_t total = npy(bytes, header, payload, n);
    return tfr_npy_parse(bytes, total, out, &err);
}

TEST(a_file_as_numpy_writes_it_is_read)
{
    float values[6] = {0, 1, 2, 3, 4, 5};
    tfr_tensor *tensor;
    REQUIRE_OK(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", values,
                     sizeof values, &tensor),
               &err);
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(tensor));
    CHECK_INT(2, tfr_tensor_shape(tensor)->rank);
    CHECK_INT(3, tfr_tensor_shape(tensor)->dims[1]);
    CHECK_MEM(values, tfr_tensor_data(tensor), sizeof values);
    tfr_tensor_release(tensor);
}

TEST(fortran_order_is_a_strided_tensor_with_the_same_elements)
{
    int64_t stored[6] = {0, 3, 1, 4, 2, 5}, plain[6] = {0, 1, 2, 3, 4, 5};
    tfr_tensor *tensor, *copy;
    REQUIRE_OK(parse("{'shape': (2, 3), 'fortran_order': True, 'descr': '<i8'}", stored,
                     sizeof stored, &tensor),
               &err);
    CHECK_INT(1, tfr_tensor_strides(tensor)[0]);
    CHECK_INT(2, tfr_tensor_strides(tensor)[1]);
    REQUIRE_OK(tfr_tensor_copy(tensor, &copy, &err), &err);
    CHECK_MEM(plain, tfr_tensor_data(copy), sizeof plain);
    tfr_tensor_release(copy);
    tfr_tensor_release(tensor);
}

TEST(scalars_vectors_and_empty_arrays_keep_their_rank)
{
    static const char *const shapes[] = {"()", "(5,)", "(0,)", "(3, 0)", "(1, 1, 1)"};
    static const int ranks[] = {0, 1, 1, 2, 3};
    unsigned char bytes[5] = {1, 2, 3, 4, 5};
    static const size_t sizes[] = {1, 5, 0, 0, 1};
    char header[100];
    for (int i = 0; i < 5; i++) {
        tfr_tensor *tensor;
        snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': %s}",
                 shapes[i]);
        REQUIRE_OK(parse(header, bytes, sizes[i], &tensor), &err);
        CHECK_INT(ranks[i], tfr_tensor_shape(tensor)->rank);
        CHECK_INT((int)sizes[i], tfr_tensor_elements(tensor));
        tfr_tensor_release(tensor);
    }
}

TEST(unicode_and_byte_strings_become_utf8)
{
    uint32_t unicode[6] = {'a', 0, 0, 0x20ac, 0x1f600, 'z'};
    tfr_tensor *tensor;
    size_t n;
    REQUIRE_OK(parse("{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", unicode,
                     sizeof unicode, &tensor),
               &err);
    CHECK_STR("a", tfr_tensor_get_string(tensor, 0, &n));
    CHECK_STR("\xe2\x82\xac\xf0\x9f\x98\x80z", tfr_tensor_get_string(tensor, 1, &n));
    CHECK_UINT(8, n);
    tfr_tensor_release(tensor);
    REQUIRE_OK(
        parse("{'descr': '|S2', 'fortran_order': False, 'shape': (2,)}", "x\0yy", 4, &tensor),
        &err);
    CHECK_STR("x", tfr_tensor_get_string(tensor, 0, &n));
    CHECK_STR("yy", tfr_tensor_get_string(tensor, 1, &n));
    tfr_tensor_release(tensor);
}

TEST(every_type_survives_saving_and_loading)
{
    static const tfr_dtype types[] = {TFR_DTYPE_BOOL, TFR_DTYPE_I8,  TFR_DTYPE_U8,  TFR_DTYPE_I16,
                                      TFR_DTYPE_U16,  TFR_DTYPE_I32, TFR_DTYPE_U32, TFR_DTYPE_I64,
                                      TFR_DTYPE_U64,  TFR_DTYPE_F16, TFR_DTYPE_F32, TFR_DTYPE_F64,
                                      TFR_DTYPE_C64,  TFR_DTYPE_C128};
    tfr_shape shape = {3, {2, 3, 200}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tfr_tensor *tensor, *back;
        REQUIRE_OK(tfr_tensor_create(types[i], &shape, &tensor, &err), &err);
        for (size_t k = 0; k < tfr_tensor_bytes(tensor); k++)
            ((unsigned char *)tfr_tensor_data(tensor))[k] = (unsigned char)(k * 7 & 1);
        REQUIRE_OK(tfr_npy_save(temp_path("a.npy"), tensor, &err), &err);
        REQUIRE_OK(tfr_npy_load(temp_path("a.npy"), &back, &err), &err);
        CHECK_INT(types[i], tfr_tensor_dtype(back));
        CHECK_MEM(tfr_tensor_data(tensor), tfr_tensor_data(back), tfr_tensor_bytes(tensor));
        tfr_tensor_release(tensor);
        tfr_tensor_release(back);
    }
    temp_drop("a.npy");
}

TEST(strings_survive_saving_and_loading)
{
    tfr_shape shape = {1, {3}};
    tfr_tensor *tensor, *back;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &shape, &tensor, &err), &err);
    REQUIRE_OK(tfr_tensor_set_string(tensor, 0, "h\xc3\xa9", 3, &err), &err);
    REQUIRE_OK(tfr_tensor_set_string(tensor, 2, "\xff\xfe", 2, &err), &err); /* not UTF-8 */
    REQUIRE_OK(tfr_npy_save(temp_path("s.npy"), tensor, &err), &err);
    REQUIRE_OK(tfr_npy_load(temp_path("s.npy"), &back, &err), &err);
    CHECK(tfr_tensor_compare(tensor, back, 0, 0, NULL));
    tfr_tensor_release(back);
    REQUIRE_OK(tfr_tensor_set_string(tensor, 2, "abc", 3, &err), &err);
    REQUIRE_OK(tfr_npy_save(temp_path("s.npy"), tensor, &err), &err);
    REQUIRE_OK(tfr_npy_load(temp_path("s.npy"), &back, &err), &err);
    CHECK(tfr_tensor_compare(tensor, back, 0, 0, NULL));
    tfr_tensor_release(back);
    tfr_tensor_release(tensor);
    temp_drop("s.npy");
}

TEST(a_strided_tensor_is_written_in_plain_order)
{
    float data[6] = {0, 3, 1, 4, 2, 5}, plain[6] = {0, 1, 2, 3, 4, 5};
    int64_t strides[2] = {1, 2};
    tfr_shape shape = {2, {2, 3}};
    tfr_tensor *tensor, *back;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &shape, strides, data, NULL, NULL, &tensor, &err),
               &err);
    REQUIRE_OK(tfr_npy_save(temp_path("t.npy"), tensor, &err), &err);
    REQUIRE_OK(tfr_npy_load(temp_path("t.npy"), &back, &err), &err);
    CHECK_MEM(plain, tfr_tensor_data(back), sizeof plain);
    tfr_tensor_release(back);
    tfr_tensor_release(tensor);
    temp_drop("t.npy");
}

TEST(a_loaded_tensor_may_be_changed_and_the_file_stays)
{
    tfr_shape shape = {1, {5000}};
    tfr_tensor *tensor, *back;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &tensor, &err), &err);
    REQUIRE_OK(tfr_npy_save(temp_path("w.npy"), tensor, &err), &err);
    tfr_tensor_release(tensor);
    REQUIRE_OK(tfr_npy_load(temp_path("w.npy"), &tensor, &err), &err);
    ((float *)tfr_tensor_data(tensor))[4999] = 1;
    REQUIRE_OK(tfr_npy_load(temp_path("w.npy"), &back, &err), &err);
    CHECK_NEAR(0, ((float *)tfr_tensor_data(back))[4999], 0);
    tfr_tensor_release(tensor);
    tfr_tensor_release(back);
    temp_drop("w.npy");
}

/* What tfr_npy_write hands over, and when it says no. */
typedef struct taken {
    char bytes[4096];
    size_t n, most;
} taken;

static tfr_status take(void *user, const void *bytes, size_t n, tfr_err *e)
{
    taken *t = user;
    if (n > t->most - t->n)
        return tfr_fail(e, TFR_ELIMIT, "full after %zu bytes", t->n);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return TFR_OK;
}

TEST(a_tensor_is_written_to_anywhere_as_to_a_file)
{
    static const tfr_shape shape = {2, {2, 3}};
    static char bytes[4096];
    static taken t;
    tfr_tensor *tensor;
    FILE *file;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &tensor, &err), &err);
    REQUIRE_OK(tfr_npy_save(temp_path("a.npy"), tensor, &err), &err);
    file = fopen(temp_path("a.npy"), "rb");
    REQUIRE(file != NULL);
    t.most = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    REQUIRE_OK(tfr_npy_write(tensor, take, &t, &err), &err);
    CHECK_UINT(t.most, t.n);
    CHECK_MEM(bytes, t.bytes, t.n);
    for (size_t most = 0; most < t.n; most += 13) {
        static taken less;
        less = (taken){.most = most};
        CHECK_INT(TFR_ELIMIT, tfr_npy_write(tensor, take, &less, &err));
        CHECK_CONTAINS("full after", err.text);
    }
    tfr_tensor_release(tensor);
    temp_drop("a.npy");
}

TEST(types_that_npy_lacks_are_refused)
{
    tfr_shape shape = {1, {2}};
    tfr_tensor *tensor;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_BF16, &shape, &tensor, &err), &err);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_npy_save(temp_path("b.npy"), tensor, &err), &err);
    CHECK_CONTAINS("has no type bfloat16", err.text);
    CHECK(access(temp_path("b.npy"), F_OK) != 0);
    tfr_tensor_release(tensor);
    temp_drop("b.npy");
}

TEST(bad_headers_are_refused_with_their_place)
{
    static const struct {
        const char *header, *text;
    } bad[] = {
        {"", "a dictionary is expected"},
        {"{'descr': '<f4'", "a comma or the end of the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, }", "key \"shape\" is missing"},
        {"{'descr': '<f4', 'descr': '<f4', }", "key \"descr\" is there twice"},
        {"{'evil': 1}", "key \"evil\" is not descr, fortran_order or shape"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "big endian"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "no type that tfrun has"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "a dim from 0 to 2^63-1"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         "a dim from 0 to 2^63-1"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "more than 16 dims"},
        {"{'descr': '<f4', 'fortran_order': maybe, 'shape': (1,)}", "True or False is expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "the end of the header"},
        {"{'descr': '<U4000000000', 'fortran_order': False, 'shape': (2,)}", "no type"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfr_tensor *tensor;
        CHECK(parse(bad[i].header, "1234", 4, &tensor) != TFR_OK);
        CHECK_CONTAINS(bad[i].text, err.text);
    }
}

TEST(a_claim_of_four_gib_in_a_small_file_is_refused)
{
    tfr_tensor *tensor;
    CHECK_STATUS(TFR_EMODEL,
                 parse("{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824,)}", "1234",
                       4, &tensor),
                 &err);
    CHECK_STR("float32[1073741824] needs 4294967296 bytes, the file has 4 after its header",
              err.text);
}

TEST(every_truncation_is_refused)
{
    unsigned char bytes[256], *copy;
    float values[2] = {1, 2};
    size_t n = npy(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values,
                   sizeof values);
    for (size_t i = 0; i < n; i++) {
        tfr_tensor *tensor;
        copy = malloc(i + 1);
        memcpy(copy, bytes, i);
        copy = realloc(copy, i ? i : 1);
        CHECK_STATUS(TFR_EMODEL, tfr_npy_parse(copy, i, &tensor, &err), &err);
        free(copy);
    }
}

TEST(every_flipped_byte_gives_a_tensor_or_a_sentence)
{
    unsigned char bytes[256];
    float values[6] = {1, 2, 3, 4, 5, 6};
    size_t n = npy(bytes, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", values,
                   sizeof values);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            tfr_tensor *tensor;
            bytes[i] ^= (unsigned char)(1 << bit);
            if (tfr_npy_parse(bytes, n, &tensor, &err) == TFR_OK)
                tfr_tensor_release(tensor);
            else
                CHECK(*err.text != 0);
            bytes[i] ^= (unsigned char)(1 << bit);
        }
}

TEST(a_file_of_another_kind_is_named)
{
    tfr_tensor *tensor;
    CHECK_STATUS(TFR_EMODEL, tfr_npy_parse("\x89PNG\r\n\x1a\n....", 12, &tensor, &err), &err);
    CHECK_CONTAINS("a PNG image", err.text);
    CHECK_STATUS(TFR_EMODEL, tfr_npy_parse("PK\3\4....", 8, &tensor, &err), &err);
    CHECK_CONTAINS("zip archive", err.text);
    CHECK_STATUS(TFR_EMODEL, tfr_npy_parse("1, 2, 3", 7, &tensor, &err), &err);
    CHECK_CONTAINS("but text", err.text);
    CHECK_STATUS(TFR_EMODEL, tfr_npy_parse(NULL, 0, &tensor, &err), &err);
}

TEST(a_path_that_cannot_be_read_or_written_is_named_with_the_reason)
{
    tfr_shape shape = {0, {0}};
    tfr_tensor *tensor;
    CHECK_STATUS(TFR_EIO, tfr_npy_load("/nonexistent/x.npy", &tensor, &err), &err);
    CHECK_CONTAINS("/nonexistent/x.npy: cannot open it", err.text);
    CHECK_STATUS(TFR_EIO, tfr_npy_load("/", &tensor, &err), &err);
    CHECK_CONTAINS("it is a folder", err.text);
    CHECK_STATUS(TFR_EIO, tfr_npy_load("/dev/null", &tensor, &err), &err);
    CHECK_CONTAINS("not a regular file", err.text);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &tensor, &err), &err);
    CHECK_STATUS(TFR_EIO, tfr_npy_save("/nonexistent/x.npy", tensor, &err), &err);
    CHECK_CONTAINS("cannot be written", err.text);
    CHECK_OK(tfr_npy_save("/dev/null", tensor, &err), &err);
    CHECK(access("/dev/null", F_OK) == 0);
    tfr_tensor_release(tensor);
}

static const test_case cases[] = {
    CASE(a_file_as_numpy_writes_it_is_read),
    CASE(fortran_order_is_a_strided_tensor_with_the_same_elements),
    CASE(scalars_vectors_and_empty_arrays_keep_their_rank),
    CASE(unicode_and_byte_strings_become_utf8),
    CASE(every_type_survives_saving_and_loading),
    CASE(strings_survive_saving_and_loading),
    CASE(a_strided_tensor_is_written_in_plain_order),
    CASE(a_loaded_tensor_may_be_changed_and_the_file_stays),
    CASE(a_tensor_is_written_to_anywhere_as_to_a_file),
    CASE(types_that_npy_lacks_are_refused),
    CASE(bad_headers_are_refused_with_their_place),
    CASE(a_claim_of_four_gib_in_a_small_file_is_refused),
    CASE(every_truncation_is_refused),
    CASE(every_flipped_byte_gives_a_tensor_or_a_sentence),
    CASE(a_file_of_another_kind_is_named),
    CASE(a_path_that_cannot_be_read_or_written_is_named_with_the_reason),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of formats/safetensors*.c: what is written comes back, and each wrong file is refused. */
#include <inttypes.h>
#include <stdlib.h>
#include <tfrun/compare.h>
#include <tfrun/safetensors.h>

#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

/* A file of this header and n zero bytes; the caller frees it. */
static char *file_of(const char *header, size_t n, size_t *size)
{
    const size_t length = strlen(header);
    char *bytes = calloc(1, 8 + length + n + 1);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    *size = 8 + length + n;
    return bytes;
}

TEST(what_is_written_comes_back)
{
    const char *const names[] = {"b", "a", "empty", "scalar"};
    const tfr_shape shapes[] = {{2, {2, 3}}, {1, {3}}, {2, {0, 4}}, {.rank = 0}};
    const tfr_dtype dtypes[] = {TFR_DTYPE_F32, TFR_DTYPE_U8, TFR_DTYPE_BF16, TFR_DTYPE_I64};
    const char *const keys[] = {"format"}, *const texts[] = {"p\303\244 \"t\""};
    tfr_tensor *tensors[4];
    tfr_safetensors_content content = {.size = sizeof content,
                                       .n = 4,
                                       .n_metadata = 1,
                                       .names = names,
                                       .tensors = tensors,
                                       .keys = keys,
                                       .texts = texts};
    tfr_safetensors *file = NULL;
    const char *path = temp_path("file");
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(tfr_tensor_create(dtypes[i], &shapes[i], &tensors[i], &err), &err);
        for (size_t k = 0; k < tfr_tensor_bytes(tensors[i]); k++)
            ((char *)tfr_tensor_data(tensors[i]))[k] = (char)(k * 7 + (size_t)i);
    }
    REQUIRE_OK(tfr_safetensors_save(path, &content, &err), &err);
    REQUIRE_OK(tfr_safetensors_load(path, &file, &err), &err);
    CHECK_UINT(4, tfr_safetensors_n(file));
    CHECK_STR(texts[0], tfr_safetensors_metadata(file, "format"));
    CHECK(tfr_safetensors_metadata(file, "none") == NULL);
    CHECK(tfr_safetensors_find(file, "none") == NULL);
    for (int i = 0; i < 4; i++) {
        tfr_tensor *got = tfr_safetensors_find(file, names[i]);
        REQUIRE(got != NULL);
        CHECK_INT(dtypes[i], tfr_tensor_dtype(got));
        CHECK(tfr_tensor_compare(tensors[i], got, 0, 0, NULL));
        tfr_tensor_release(tensors[i]);
    }
    tfr_safetensors_release(file);
    temp_drop("file");
}

TEST(the_bytes_are_those_of_the_description)
{
    static const char want[] = "{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
    const tfr_shape shape = {1, {2}};
    const char *const names[] = {"x"};
    tfr_tensor *x = NULL;
    tfr_safetensors_content content = {
        .size = sizeof content, .n = 1, .names = names, .tensors = &x};
    char got[256] = "";
    FILE *f;
    size_t n;
    const char *path = temp_path("file");
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_U8, &shape, &x, &err), &err);
    memcpy(tfr_tensor_data(x), "\1\2", 2);
    REQUIRE_OK(tfr_safetensors_save(path, &content, &err), &err);
    f = fopen(path, "rb");
    n = fread(got, 1, sizeof got, f);
    fclose(f);
    CHECK_UINT(8 + 56 + 2, n); /* 55 characters of JSON and a blank */
    CHECK_INT(56, got[0]);
    CHECK(memcmp(got + 8, want, sizeof want - 1) == 0);
    CHECK_INT(' ', got[63]);
    CHECK(memcmp(got + 64, "\1\2", 2) == 0);
    tfr_tensor_release(x);
    temp_drop("file");
}

#define ROW(dtype, shape, offsets)                                                                 \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

TEST(each_wrong_file_is_refused_with_its_cause)
{
    static const struct {
        const char *header;
        size_t n; /* bytes behind it */
        tfr_status status;
        const char *text;
    } rows[] = {
        {"[]", 0, TFR_EMODEL, "no safetensors file: its header does not begin with {"},
        {"{", 0, TFR_EMODEL, "the header is no JSON: "},
        {"{\"a\":1}", 0, TFR_EMODEL, "tensor \"a\": its row of the header is no object"},
        {"{\"a\":{}}", 0, TFR_EMODEL, "tensor \"a\": it has no dtype"},
        {"{\"a\":" ROW("F3", "[1]", "[0,4]") "}", 4, TFR_EUNSUPPORTED,
         "tensor \"a\" has dtype \"F3\", which is none of tfrun's"},
        {"{\"a\":" ROW("F32", "1", "[0,4]") "}", 4, TFR_EMODEL,
         "tensor \"a\": its shape is no list"},
        {"{\"a\":" ROW("F32", "[-1]", "[0,4]") "}", 4, TFR_EMODEL,
         "tensor \"a\": a dim of its shape"},
        {"{\"a\":" ROW("F32", "[1.5]", "[0,4]") "}", 4, TFR_EMODEL,
         "tensor \"a\": a dim of its shape"},
        {"{\"a\":" ROW("F32", "[4611686018427387904,9]", "[0,4]") "}", 4, TFR_EMODEL,
         "tensor \"a\": its shape is too large"},
        {"{\"a\":" ROW("F32", "[1]", "[4,0]") "}", 4, TFR_EMODEL, "tensor \"a\": its data_offsets"},
        {"{\"a\":" ROW("F32", "[1]", "[0]") "}", 4, TFR_EMODEL, "tensor \"a\": its data_offsets"},
        {"{\"a\":" ROW("F32", "[2]", "[0,8]") "}", 4, TFR_EMODEL,
         "tensor \"a\" ends at byte 8 of the data, of which there are 4; the file is cut short"},
        {"{\"a\":" ROW("F32", "[1]", "[0,8]") "}", 8, TFR_EMODEL,
         "tensor \"a\" has 8 bytes, its type and shape take 4"},
        {"{\"a\":" ROW("F32", "[1]", "[4,8]") "}", 8, TFR_EMODEL,
         "tensor \"a\": there is a gap before it"},
        {"{\"a\":" ROW("F32", "[2]", "[0,8]") ",\"b\":" ROW("F32", "[1]", "[4,8]") "}", 8,
         TFR_EMODEL, "tensor \"b\": it overlaps the one before it"},
        {"{\"a\":" ROW("F32", "[1]", "[0,4]") "}", 5, TFR_EMODEL, "1 bytes behind the last tensor"},
        {"{\"a\":" ROW("F32", "[1]", "[0,4]") ",\"a\":" ROW("F32", "[1]", "[0,4]") "}", 4,
         TFR_EMODEL, "the header is no JSON: duplicate object key"},
        {"{\"__metadata__\":7}", 0, TFR_EMODEL, "__metadata__ is no object"},
        {"{\"__metadata__\":{\"a\":7}}", 0, TFR_EMODEL, "\"a\" of __metadata__ is no text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfr_safetensors *file = NULL;
        size_t n;
        char *bytes = file_of(rows[i].header, rows[i].n, &n);
        CHECK_INT(rows[i].status, tfr_safetensors_parse(bytes, n, &file, &err));
        CHECK_CONTAINS(rows[i].text, err.text);
        CHECK(file == NULL);
        free(bytes);
    }
}

TEST(a_file_that_ends_anywhere_is_refused)
{
    size_t n;
    char *bytes = file_of("{\"a\":" ROW("F32", "[2]", "[0,8]") "}", 8, &n);
    for (size_t cut = 0; cut < n; cut++) {
        tfr_safetensors *file = NULL;
        char *part = malloc(cut + 1); /* of its own, so that sanitizers see each byte too much */
        memcpy(part, bytes, cut);
        CHECK_INT(TFR_EMODEL, tfr_safetensors_parse(part, cut, &file, &err));
        free(part);
    }
    free(bytes);
}

TEST(strings_cannot_be_written)
{
    const tfr_shape shape = {1, {1}};
    const char *const names[] = {"x"};
    tfr_tensor *x = NULL;
    tfr_safetensors_content content = {
        .size = sizeof content, .n = 1, .names = names, .tensors = &x};
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &shape, &x, &err), &err);
    CHECK_INT(TFR_EUNSUPPORTED, tfr_safetensors_save(temp_path("file"), &content, &err));
    CHECK(strstr(err.text, "has no string") != NULL);
    tfr_tensor_release(x);
    temp_drop("file");
}

static const test_case cases[] = {
    CASE(what_is_written_comes_back),
    CASE(the_bytes_are_those_of_the_description),
    CASE(each_wrong_file_is_refused_with_its_cause),
    CASE(a_file_that_ends_anywhere_is_refused),
    CASE(strings_cannot_be_written),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The n-th request for memory fails while a model, a tensor or an npy file is read or written: a
 * status, no crash, and (under the leak checker) no leak. The linker puts the functions here in
 * front of malloc and its kin (-Wl,--wrap), in the libraries under test as well.
 */
#include <stdlib.h>
#include <tfrun/npy.h>
#include <tfrun/onnx.h>

#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static long requests_left = -1; /* until one fails; -1 = none fails */

static bool fails(void)
{
    return requests_left >= 0 && requests_left-- == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
int __real_posix_memalign(void **out, size_t align, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
int __wrap_posix_memalign(void **out, size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

int __wrap_posix_memalign(void **out, size_t align, size_t n)
{
    return fails() ? 12 : __real_posix_memalign(out, align, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return fails() ? NULL : __real_aligned_alloc(align, n);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails() ? NULL : __real_strndup(text, n);
}

/* Runs an attempt until nothing fails any more; it must have failed for lack of memory before. */
static void starve(tfr_status (*attempt)(void))
{
    tfr_status status = TFR_ENOMEM;
    long n = 0;
    for (; status == TFR_ENOMEM && n < 100000; n++) {
        requests_left = n;
        status = attempt();
        requests_left = -1;
        if (status) {
            CHECK_INT(TFR_ENOMEM, status);
            CHECK(*err.text != 0);
        }
    }
    CHECK_INT(TFR_OK, status);
    CHECK(n > 1);
}

static tfr_status load_model(void)
{
    tfr_graph *graph = NULL;
    tfr_status status = tfr_onnx_load(temp_path("m.onnx"), &graph, &err);
    tfr_graph_release(graph);
    return status;
}

static pb rich_model(void)
{
    static const int64_t two[1] = {2}, dims[2] = {1, 2};
    pb g = {.n = 0}, f = {.n = 0}, set = {.n = 0}, own = {.n = 0}, n, m;
    pb w = tensor_raw("w", TFR_DTYPE_F32, 1, two, "12345678", 8);
    pb c = tensor_raw("c", TFR_DTYPE_BOOL, 0, NULL, "\1", 1);
    pb s = tensor_raw("s", TFR_DTYPE_STRING, 1, two, NULL, 0);
    pb_text(&s, 6, "abc");
    pb_text(&s, 6, "def");
    add_value(&g, 11, "a", TFR_DTYPE_F32, 1, two);
    add_value(&g, 11, "x", TFR_DTYPE_F32, 2, dims);
    pb_msg(&g, 5, &w);
    pb_msg(&g, 5, &c);
    pb_msg(&g, 5, &s);
    n = node("Clip", "q", "k"); /* not in order */
    add_attr(&n, attr_float("min", 0));
    add_node(&g, n);
    add_variety(&g);
    n = node("Constant", "", "t");
    add_attr(&n, attr_msg("value", 5, 4, &w));
    add_node(&g, n);
    n = node("F", "k", "z");
    pb_text(&n, 7, "my");
    add_node(&g, n);
    add_value(&g, 12, "z", TFR_DTYPE_F32, 1, two);
    m = model(&g, 9);
    n = node("Neg", "i", "o");
    pb_text(&f, 1, "F");
    pb_words(&f, 4, "i");
    pb_words(&f, 5, "o");
    pb_msg(&f, 7, &n);
    pb_int(&set, 2, 9);
    pb_msg(&f, 9, &set);
    pb_text(&f, 10, "my");
    pb_text(&own, 1, "my");
    pb_int(&own, 2, 1);
    pb_msg(&m, 8, &own);
    pb_msg(&m, 25, &f);
    return m;
}

TEST(loading_a_model_survives_every_failing_request)
{
    pb m = rich_model();
    REQUIRE(!m.full);
    temp_write("m.onnx", m.data, m.n);
    REQUIRE_OK(load_model(), &err);
    starve(load_model);
    temp_drop("m.onnx");
}

static tfr_status load_sequence(void)
{
    tfr_tensor *value = NULL;
    tfr_status status = tfr_onnx_load_tensor(temp_path("s.pb"), TFR_KIND_SEQUENCE, &value, &err);
    tfr_tensor_release(value);
    return status;
}

TEST(loading_a_sequence_survives_every_failing_request)
{
    static const int64_t two[1] = {2};
    pb s = tensor_raw("s", TFR_DTYPE_STRING, 1, two, NULL, 0), seq = {.n = 0};
    pb_text(&s, 6, "abc");
    pb_text(&s, 6, "def");
    for (int i = 0; i < 10; i++)
        pb_msg(&seq, 3, &s);
    temp_write("s.pb", seq.data, seq.n);
    starve(load_sequence);
    temp_drop("s.pb");
}

static tfr_tensor *strided;

static tfr_status save_both(void)
{
    tfr_status status = tfr_npy_save(temp_path("t.npy"), strided, &err);
    return status ? status : tfr_onnx_save_tensor(temp_path("t.pb"), "t", strided, &err);
}

static tfr_status load_npy(void)
{
    tfr_tensor *value = NULL;
    tfr_status status = tfr_npy_load(temp_path("t.npy"), &value, &err);
    tfr_tensor_release(value);
    return status;
}

TEST(saving_and_loading_a_tensor_survives_every_failing_request)
{
    static float data[6];
    static const int64_t strides[2] = {1, 2};
    static const tfr_shape shape = {2, {2, 3}};
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &shape, strides, data, NULL, NULL, &strided, &err),
               &err);
    starve(save_both);
    starve(load_npy);
    tfr_tensor_release(strided);
    temp_drop("t.pb");
    temp_drop("t.npy");
}

static const test_case cases[] = {
    CASE(loading_a_model_survives_every_failing_request),
    CASE(loading_a_sequence_survives_every_failing_request),
    CASE(saving_and_loading_a_tensor_survives_every_failing_request),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/value/tensor.c and core/value/strided.c. */
#include "tfr_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"
#ifdef TFR__ASAN
#include <sanitizer/asan_interface.h>
#endif

#define SHAPE(rank, ...) (&(tfr_shape){rank, {__VA_ARGS__}})
#define STRIDES(...)     ((const int64_t[]){__VA_ARGS__})

static tfr_tensor *new_tensor(tfr_dtype dtype, const tfr_shape *shape)
{
    tfr_tensor *tensor = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_create(dtype, shape, &tensor, &err), &err);
    return tensor;
}

/* int32 0, 1, 2... */
static tfr_tensor *new_counting(const tfr_shape *shape)
{
    tfr_tensor *tensor = new_tensor(TFR_DTYPE_I32, shape);
    int32_t *data = tfr_tensor_data(tensor);
    for (int32_t i = 0; i < tfr_tensor_elements(tensor); i++)
        data[i] = i;
    return tensor;
}

static void check_int32s(const tfr_tensor *tensor, int64_t n, const int32_t *expected)
{
    tfr_tensor *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_copy(tensor, &copy, &err), &err);
    CHECK(tfr_tensor_is_plain(copy));
    REQUIRE_INT(n, tfr_tensor_elements(copy));
    if (n > 0)
        CHECK_MEM(expected, tfr_tensor_data(copy), (size_t)n * sizeof *expected);
    tfr_tensor_release(copy);
}

TEST(a_new_tensor_is_zero_plain_and_aligned)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F32, SHAPE(3, 2, 3, 5));
    static const char zeros[120];
    CHECK_INT(TFR_KIND_TENSOR, tfr_tensor_kind(t));
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(t));
    CHECK_INT(3, tfr_tensor_shape(t)->rank);
    CHECK_INT(15, tfr_tensor_strides(t)[0]);
    CHECK(tfr_tensor_is_plain(t));
    CHECK_INT(30, tfr_tensor_elements(t));
    CHECK_UINT(120, tfr_tensor_bytes(t));
    CHECK_UINT(0, (uintptr_t)tfr_tensor_data(t) % 64);
    CHECK_MEM(zeros, tfr_tensor_data(t), 120);
    CHECK_UINT(0, tfr_sequence_length(t));
    CHECK(tfr_sequence_at(t, 0) == NULL);
    tfr_tensor_release(t);
}

/* So that a kernel that writes one element too much is found. */
TEST(bytes_around_elements_are_out_of_bounds_for_asan)
{
#ifdef TFR__ASAN
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr__tensor_create_unset(TFR_DTYPE_F32, SHAPE(1, 3), &t, &err), &err);
    char *data = tfr_tensor_data(t);
    CHECK(!__asan_region_is_poisoned(data, 12));
    CHECK(__asan_address_is_poisoned(data + 12));
    CHECK(__asan_address_is_poisoned(data - 1));
    tfr_tensor_release(t);
#else
    SKIP("not built with AddressSanitizer");
#endif
}

TEST(a_tensor_without_elements_is_fine)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_F64, SHAPE(2, 0, 4));
    CHECK_INT(0, tfr_tensor_elements(t));
    CHECK_UINT(0, tfr_tensor_bytes(t));
    CHECK(tfr_tensor_is_plain(t));
    check_int32s(t, 0, NULL);
    tfr_tensor_release(t);
}

TEST(create_refuses_bad_types_and_shapes)
{
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_EDTYPE, tfr_tensor_create(TFR_DTYPE_NONE, SHAPE(0, 0), &t, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_create(TFR_DTYPE_F32, SHAPE(1, -2), &t, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_create(TFR_DTYPE_F32, SHAPE(77, 1), &t, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_create(TFR_DTYPE_F32, NULL, &t, &err), &err);
    CHECK(t == NULL);
}

TEST(more_memory_than_there_is_is_an_error_with_the_number)
{
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr__alloc_fail_at(2);
    CHECK_STATUS(TFR_ENOMEM, tfr_tensor_create(TFR_DTYPE_F32, SHAPE(1, 1000), &t, &err), &err);
    tfr__alloc_fail_at(0);
    CHECK_STR("no memory for 4000 bytes, a float32 tensor of shape [1000]", err.text);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

TEST(wrap_uses_the_callers_memory_and_gives_it_back_once)
{
    float data[6] = {0, 1, 2, 3, 4, 5};
    int n_released = 0;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, SHAPE(2, 2, 3), NULL, data, count_release,
                               &n_released, &t, &err),
               &err);
    CHECK(tfr_tensor_data(t) == data);
    CHECK(tfr_tensor_retain(t) == t);
    tfr_tensor_release(t);
    CHECK_INT(0, n_released);
    tfr_tensor_release(t);
    CHECK_INT(1, n_released);
    tfr_tensor_release(NULL);
}

static void count_idle(void *user, const void *at, size_t n)
{
    (void)at;
    *(int *)user += n > 0 ? 10 : 0;
}

TEST(bytes_at_any_address_are_aligned_once_somebody_asks)
{
    const float numbers[3] = {1, 2, 3};
    _Alignas(64) char bytes[sizeof numbers + 1];
    int n = 0; /* 10 for each call of idle, 1 for one of release */
    tfr_tensor *t = NULL, *view = NULL, *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    memcpy(bytes + 1, numbers, sizeof numbers);
    REQUIRE_OK(tfr_tensor_wrap_bytes(TFR_DTYPE_F32, SHAPE(1, 3), bytes + 1, count_idle,
                                     count_release, &n, &t, &err),
               &err);
    REQUIRE_OK(tfr_tensor_copy(t, &copy, &err), &err);
    CHECK(memcmp(tfr_tensor_data(copy), numbers, sizeof numbers) == 0);
    CHECK_INT(0, n);
    CHECK_INT(0, (uintptr_t)tfr_tensor_data(t) % 64);
    CHECK_INT(10, n);
    CHECK(memcmp(tfr_tensor_data(t), numbers, sizeof numbers) == 0);
    CHECK(tfr_tensor_data(t) == tfr_tensor_data(t));
    REQUIRE_OK(tfr_tensor_view(t, 1, SHAPE(1, 2), NULL, &view, &err), &err);
    CHECK(tfr_tensor_data(view) == (float *)tfr_tensor_data(t) + 1);
    tfr_tensor_release(view);
    tfr_tensor_release(copy);
    tfr_tensor_release(t);
    CHECK_INT(11, n);
}

TEST(bytes_stay_in_memory_once_somebody_outside_has_them)
{
    float numbers[3] = {1, 2, 3};
    int n = 0;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(
        tfr_tensor_wrap_bytes(TFR_DTYPE_F32, SHAPE(1, 3), numbers, count_idle, NULL, &n, &t, &err),
        &err);
    tfr__tensor_rest(t);
    CHECK_INT(10, n);
    CHECK(tfr_tensor_data(t) == numbers);
    tfr__tensor_rest(t);
    CHECK_INT(10, n);
    tfr_tensor_release(t);
}

TEST(wrap_bytes_refuses_strings_and_no_bytes)
{
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(
        TFR_EINVAL,
        tfr_tensor_wrap_bytes(TFR_DTYPE_STRING, SHAPE(1, 1), &err, NULL, NULL, NULL, &t, &err),
        &err);
    CHECK_STATUS(
        TFR_EINVAL,
        tfr_tensor_wrap_bytes(TFR_DTYPE_F32, SHAPE(1, 3), NULL, NULL, NULL, NULL, &t, &err), &err);
    CHECK_STR("no memory given for a tensor of shape [3]", err.text);
}

TEST(bytes_and_views_of_them_are_read_only_and_copies_are_not)
{
    static const float bytes[3] = {1, 2, 3};
    tfr_tensor *t = NULL, *view = NULL, *copy = NULL, *own = new_tensor(TFR_DTYPE_F32, SHAPE(1, 3));
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_wrap_bytes(TFR_DTYPE_F32, SHAPE(1, 3), bytes, NULL, NULL, NULL, &t, &err),
               &err);
    REQUIRE_OK(tfr_tensor_view(t, 1, SHAPE(1, 2), NULL, &view, &err), &err);
    REQUIRE_OK(tfr_tensor_copy(view, &copy, &err), &err);
    CHECK(tfr_tensor_is_read_only(t));
    CHECK(tfr_tensor_is_read_only(view));
    CHECK(!tfr_tensor_is_read_only(copy));
    CHECK(!tfr_tensor_is_read_only(own));
    tfr_tensor_release(own);
    tfr_tensor_release(copy);
    tfr_tensor_release(view);
    tfr_tensor_release(t);
}

TEST(wrap_takes_zero_and_negative_strides)
{
    int32_t data[4] = {10, 11, 12, 13};
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_I32, SHAPE(2, 2, 4), STRIDES(0, -1), data + 3, NULL, NULL,
                               &t, &err),
               &err);
    CHECK(!tfr_tensor_is_plain(t));
    check_int32s(t, 8, (const int32_t[]){13, 12, 11, 10, 13, 12, 11, 10});
    tfr_tensor_release(t);
}

TEST(strides_of_dims_of_one_do_not_matter)
{
    int32_t data[3] = {1, 2, 3};
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(
        tfr_tensor_wrap(TFR_DTYPE_I32, SHAPE(2, 1, 3), STRIDES(-77, 1), data, NULL, NULL, &t, &err),
        &err);
    CHECK(tfr_tensor_is_plain(t));
    tfr_tensor_release(t);
}

TEST(wrap_refuses_what_cannot_be_memory)
{
    _Alignas(8) char data[16] = {0};
    int n_released = 0;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_EINVAL,
                 tfr_tensor_wrap(TFR_DTYPE_F32, SHAPE(1, 2), NULL, NULL, count_release, &n_released,
                                 &t, &err),
                 &err);
    CHECK_STATUS(TFR_EINVAL,
                 tfr_tensor_wrap(TFR_DTYPE_F32, SHAPE(1, 2), NULL, data + 2, count_release,
                                 &n_released, &t, &err),
                 &err);
    CHECK_CONTAINS("aligned", err.text);
    CHECK_STATUS(TFR_ESHAPE,
                 tfr_tensor_wrap(TFR_DTYPE_F32, SHAPE(2, 2, 2), STRIDES(INT64_MAX / 4, 1), data,
                                 count_release, &n_released, &t, &err),
                 &err);
    CHECK_STATUS(TFR_ESHAPE,
                 tfr_tensor_wrap(TFR_DTYPE_I8, SHAPE(1, 2), STRIDES(INT64_MIN), data, count_release,
                                 &n_released, &t, &err),
                 &err);
    CHECK_STATUS(TFR_EUNSUPPORTED,
                 tfr_tensor_wrap(TFR_DTYPE_I4, SHAPE(1, 4), STRIDES(2), data, count_release,
                                 &n_released, &t, &err),
                 &err);
    CHECK_INT(0, n_released);
    CHECK(t == NULL);
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, SHAPE(1, 0), NULL, NULL, NULL, NULL, &t, &err), &err);
    tfr_tensor_release(t);
}

TEST(a_view_shares_and_keeps_its_base)
{
    tfr_tensor *base = new_counting(SHAPE(2, 3, 4));
    tfr_tensor *column = NULL;
    tfr_tensor *last = NULL;
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_view(base, 1, SHAPE(1, 3), STRIDES(4), &column, &err), &err);
    tfr_tensor_release(base);
    check_int32s(column, 3, (const int32_t[]){1, 5, 9});
    /* Of a view: the column upwards from its end. */
    REQUIRE_OK(tfr_tensor_view(column, 8, SHAPE(1, 3), STRIDES(-4), &last, &err), &err);
    tfr_tensor_release(column);
    check_int32s(last, 3, (const int32_t[]){9, 5, 1});
    tfr_tensor_release(last);
}

TEST(a_view_outside_its_base_is_refused)
{
    tfr_tensor *base = new_counting(SHAPE(2, 3, 4));
    tfr_tensor *view = NULL;
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, 1, SHAPE(2, 3, 4), NULL, &view, &err), &err);
    CHECK_STR("a view of shape [3,4] reaches elements 1...12 of its base, which has 0...11",
              err.text);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, -1, SHAPE(0, 0), NULL, &view, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, 12, SHAPE(0, 0), NULL, &view, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, 0, SHAPE(1, 2), STRIDES(-1), &view, &err), &err);
    CHECK_STATUS(TFR_ESHAPE,
                 tfr_tensor_view(base, 0, SHAPE(1, 3), STRIDES(INT64_MAX / 2), &view, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, INT64_MAX, SHAPE(1, 0), NULL, &view, &err),
                 &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_view(NULL, 0, SHAPE(0, 0), NULL, &view, &err), &err);
    /* What reaches nothing may stand at the end. */
    REQUIRE_OK(tfr_tensor_view(base, 12, SHAPE(2, 0, 4), NULL, &view, &err), &err);
    tfr_tensor_release(view);
    tfr_tensor_release(base);
}

TEST(a_view_of_a_strided_wrap_stays_in_its_reach)
{
    int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    tfr_tensor *base = NULL;
    tfr_tensor *view = NULL;
    tfr_err err = TFR_ERR_INIT;
    /* Elements -4...0 around data + 6. */
    REQUIRE_OK(
        tfr_tensor_wrap(TFR_DTYPE_I32, SHAPE(1, 3), STRIDES(-2), data + 6, NULL, NULL, &base, &err),
        &err);
    REQUIRE_OK(tfr_tensor_view(base, -4, SHAPE(1, 5), NULL, &view, &err), &err);
    check_int32s(view, 5, (const int32_t[]){2, 3, 4, 5, 6});
    tfr_tensor_release(view);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, -5, SHAPE(1, 1), NULL, &view, &err), &err);
    CHECK_STATUS(TFR_ESHAPE, tfr_tensor_view(base, 0, SHAPE(1, 2), NULL, &view, &err), &err);
    tfr_tensor_release(base);
}

TEST(a_packed_view_starts_at_a_byte)
{
    tfr_tensor *base = new_tensor(TFR_DTYPE_U4, SHAPE(1, 8));
    tfr_tensor *view = NULL;
    tfr_err err = TFR_ERR_INIT;
    ((uint8_t *)tfr_tensor_data(base))[1] = 0xba;
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_tensor_view(base, 1, SHAPE(1, 2), NULL, &view, &err), &err);
    REQUIRE_OK(tfr_tensor_view(base, 2, SHAPE(1, 2), NULL, &view, &err), &err);
    CHECK_UINT(0xba, *(uint8_t *)tfr_tensor_data(view));
    tfr_tensor_release(view);
    tfr_tensor_release(base);
}

/* Every size of element, transposed, against index arithmetic. */
TEST(a_transposed_copy_moves_elements_of_every_size)
{
    static const tfr_dtype dtypes[] = {TFR_DTYPE_U8, TFR_DTYPE_F16, TFR_DTYPE_F32, TFR_DTYPE_F64,
                                       TFR_DTYPE_C128};
    tfr_err err = TFR_ERR_INIT;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        const size_t bytes = tfr_dtype_bits((int32_t)dtypes[d]) / 8;
        tfr_tensor *t = new_tensor(dtypes[d], SHAPE(3, 2, 3, 4));
        tfr_tensor *turned = NULL;
        tfr_tensor *copy = NULL;
        uint8_t *from = tfr_tensor_data(t);
        for (size_t i = 0; i < 24 * bytes; i++)
            from[i] = (uint8_t)i;
        REQUIRE_OK(tfr_tensor_view(t, 0, SHAPE(3, 4, 2, 3), STRIDES(1, 12, 4), &turned, &err),
                   &err);
        REQUIRE_OK(tfr_tensor_copy(turned, &copy, &err), &err);
        const uint8_t *to = tfr_tensor_data(copy);
        for (size_t i = 0; i < 24; i++)
            CHECK_MEM(from + (i / 6 + i / 3 % 2 * 12 + i % 3 * 4) * bytes, to + i * bytes, bytes);
        tfr_tensor_release(copy);
        tfr_tensor_release(turned);
        tfr_tensor_release(t);
    }
}

TEST(strided_copy_writes_into_strides_too)
{
    const int32_t from[4] = {1, 2, 3, 4};
    int32_t to[9] = {0};
    tfr_err err = TFR_ERR_INIT;
    /* Rows of two into every other element of rows of four. */
    CHECK_OK(tfr__strided_copy(TFR_DTYPE_I32, SHAPE(2, 2, 2), to, STRIDES(4, 2), from, NULL, &err),
             &err);
    CHECK_MEM(((const int32_t[]){1, 0, 2, 0, 3, 0, 4, 0, 0}), to, sizeof to);
    CHECK_OK(tfr__strided_copy(TFR_DTYPE_I32, SHAPE(0, 0), to + 8, NULL, from + 3, NULL, &err),
             &err);
    CHECK_INT(4, to[8]);
    const uint8_t packed[2] = {0x21, 0x43};
    uint8_t copy[2] = {0};
    CHECK_OK(tfr__strided_copy(TFR_DTYPE_U4, SHAPE(1, 4), copy, NULL, packed, NULL, &err), &err);
    CHECK_MEM(packed, copy, 2);
    CHECK_STATUS(
        TFR_EUNSUPPORTED,
        tfr__strided_copy(TFR_DTYPE_U4, SHAPE(1, 4), copy, NULL, packed, STRIDES(-1), &err), &err);
}

/* ---- strings --------------------------------------------------------------------------------- */

TEST(strings_start_empty_and_end_with_a_zero)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_STRING, SHAPE(1, 2));
    tfr_err err = TFR_ERR_INIT;
    size_t bytes = 9;
    CHECK_STR("", tfr_tensor_get_string(t, 0, &bytes));
    CHECK_UINT(0, bytes);
    CHECK_OK(tfr_tensor_set_string(t, 1, "a\0b!", 3, &err), &err);
    const char *text = tfr_tensor_get_string(t, 1, &bytes);
    CHECK_UINT(3, bytes);
    CHECK_MEM("a\0b", text, 4);
    /* From itself, and to nothing. */
    CHECK_OK(tfr_tensor_set_string(t, 1, text + 2, 1, &err), &err);
    CHECK_STR("b", tfr_tensor_get_string(t, 1, NULL));
    CHECK_OK(tfr_tensor_set_string(t, 1, NULL, 0, &err), &err);
    CHECK_STR("", tfr_tensor_get_string(t, 1, NULL));
    tfr_tensor_release(t);
}

TEST(wrong_strings_are_refused)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_STRING, SHAPE(1, 2));
    tfr_tensor *f = new_tensor(TFR_DTYPE_F32, SHAPE(1, 2));
    tfr_tensor *w = NULL;
    tfr_string callers[1] = {{"his", 3}};
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_set_string(t, 2, "x", 1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_set_string(t, -1, "x", 1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_set_string(f, 0, "x", 1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_tensor_set_string(t, 0, NULL, 1, &err), &err);
    CHECK(tfr_tensor_get_string(f, 0, NULL) == NULL);
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_STRING, SHAPE(1, 1), NULL, callers, NULL, NULL, &w, &err),
               &err);
    CHECK_STR("his", tfr_tensor_get_string(w, 0, NULL));
    CHECK_STATUS(TFR_EPERM, tfr_tensor_set_string(w, 0, "x", 1, &err), &err);
    tfr_tensor_release(w);
    tfr_tensor_release(f);
    tfr_tensor_release(t);
}

TEST(a_copy_of_strings_is_deep_and_follows_strides)
{
    tfr_tensor *t = new_tensor(TFR_DTYPE_STRING, SHAPE(2, 2, 2));
    tfr_tensor *turned = NULL;
    tfr_tensor *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    for (int i = 0; i < 4; i++)
        CHECK_OK(tfr_tensor_set_string(t, i, &"abcd"[i], 1, &err), &err);
    REQUIRE_OK(tfr_tensor_view(t, 0, SHAPE(2, 2, 2), STRIDES(1, 2), &turned, &err), &err);
    CHECK_STR("c", tfr_tensor_get_string(turned, 1, NULL));
    CHECK_OK(tfr_tensor_set_string(turned, 2, "new", 3, &err), &err);
    CHECK_STR("new", tfr_tensor_get_string(t, 1, NULL));
    REQUIRE_OK(tfr_tensor_copy(turned, &copy, &err), &err);
    tfr_tensor_release(t);
    tfr_tensor_release(turned);
    CHECK_STR("a", tfr_tensor_get_string(copy, 0, NULL));
    CHECK_STR("c", tfr_tensor_get_string(copy, 1, NULL));
    CHECK_STR("new", tfr_tensor_get_string(copy, 2, NULL));
    CHECK_STR("d", tfr_tensor_get_string(copy, 3, NULL));
    tfr_tensor_release(copy);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct written {
    char *data;
    size_t n, capacity;
    uint32_t n_calls, fail_at; /* 0 = never */
} written;

static tfr_status take(void *user, const void *bytes, size_t n, tfr_err *err)
{
    written *w = user;
    if (++w->n_calls == w->fail_at)
        return tfr_fail(err, TFR_EIO, "full");
    REQUIRE(n <= w->capacity - w->n);
    memcpy(w->data + w->n, bytes, n);
    w->n += n;
    return TFR_OK;
}

static void check_written(const tfr_tensor *tensor, const void *expected, size_t n)
{
    written w = {.data = malloc(n + 1), .capacity = n};
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_write(tensor, take, &w, &err), &err);
    REQUIRE(n == w.n);
    CHECK_MEM(expected, w.data, n);
    free(w.data);
}

TEST(writing_gives_the_plain_form_whatever_the_strides)
{
    enum { N = 300 };
    tfr_tensor *t = new_counting(SHAPE(3, N, 2, N)), *view = NULL, *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    check_written(t, tfr_tensor_data(t), tfr_tensor_bytes(t));
    REQUIRE_OK(
        tfr_tensor_view(t, 2 * N * N - 1, SHAPE(3, 2, N, N), STRIDES(-N, -1, -2 * N), &view, &err),
        &err);
    CHECK(!tfr_tensor_is_plain(view));
    REQUIRE_OK(tfr_tensor_copy(view, &copy, &err), &err);
    check_written(view, tfr_tensor_data(copy), tfr_tensor_bytes(copy));
    tfr_tensor_release(copy);
    tfr_tensor_release(view);
    tfr_tensor_release(t);
    t = new_tensor(TFR_DTYPE_F64, SHAPE(2, 0, 3));
    check_written(t, "", 0);
    tfr_tensor_release(t);
}

static void sum_idle(void *user, const void *at, size_t n)
{
    (void)at;
    *(size_t *)user += n;
}

TEST(writing_loose_bytes_makes_no_copy_and_lets_them_rest)
{
    char bytes[4 * 5 + 1];
    size_t idle = 0;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    REQUIRE_OK(tfr_tensor_wrap_bytes(TFR_DTYPE_F32, SHAPE(1, 5), bytes + 1, sum_idle, NULL, &idle,
                                     &t, &err),
               &err);
    check_written(t, bytes + 1, 20);
    CHECK_UINT(20, idle);
    CHECK_UINT(0, atomic_load(&t->own));
    tfr_tensor_release(t);
}

TEST(writing_ends_with_the_first_error_and_refuses_strings)
{
    tfr_tensor *t = new_counting(SHAPE(2, 600, 600)), *view = NULL;
    written w = {.data = malloc(1 << 21), .capacity = 1 << 21, .fail_at = 3};
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_view(t, 0, SHAPE(2, 600, 600), STRIDES(1, 600), &view, &err), &err);
    CHECK_INT(TFR_EIO, tfr_tensor_write(view, take, &w, &err));
    CHECK_UINT(3, w.n_calls);
    free(w.data);
    tfr_tensor_release(view);
    tfr_tensor_release(t);
    t = new_tensor(TFR_DTYPE_STRING, SHAPE(1, 1));
    CHECK_INT(TFR_EUNSUPPORTED, tfr_tensor_write(t, take, NULL, &err));
    tfr_tensor_release(t);
}

static void *retain_and_release(void *tensor)
{
    for (int i = 0; i < 1000; i++)
        tfr_tensor_release(tfr_tensor_retain(tensor));
    tfr_tensor_release(tensor);
    return NULL;
}

TEST(references_are_counted_across_threads)
{
    pthread_t threads[3];
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *t = new_counting(SHAPE(1, 4));
    for (int i = 0; i < 3; i++)
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, retain_and_release, tfr_tensor_retain(t)));
    tfr_tensor_release(t);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_UINT(live, tfr__alloc_live());
}

static const test_case cases[] = {
    CASE(a_new_tensor_is_zero_plain_and_aligned),
    CASE(bytes_around_elements_are_out_of_bounds_for_asan),
    CASE(a_tensor_without_elements_is_fine),
    CASE(create_refuses_bad_types_and_shapes),
    CASE(more_memory_than_there_is_is_an_error_with_the_number),
    CASE(wrap_uses_the_callers_memory_and_gives_it_back_once),
    CASE(bytes_at_any_address_are_aligned_once_somebody_asks),
    CASE(bytes_stay_in_memory_once_somebody_outside_has_them),
    CASE(wrap_bytes_refuses_strings_and_no_bytes),
    CASE(bytes_and_views_of_them_are_read_only_and_copies_are_not),
    CASE(wrap_takes_zero_and_negative_strides),
    CASE(strides_of_dims_of_one_do_not_matter),
    CASE(wrap_refuses_what_cannot_be_memory),
    CASE(a_view_shares_and_keeps_its_base),
    CASE(a_view_outside_its_base_is_refused),
    CASE(a_view_of_a_strided_wrap_stays_in_its_reach),
    CASE(a_packed_view_starts_at_a_byte),
    CASE(a_transposed_copy_moves_elements_of_every_size),
    CASE(strided_copy_writes_into_strides_too),
    CASE(strings_start_empty_and_end_with_a_zero),
    CASE(wrong_strings_are_refused),
    CASE(a_copy_of_strings_is_deep_and_follows_strides),
    CASE(writing_gives_the_plain_form_whatever_the_strides),
    CASE(writing_loose_bytes_makes_no_copy_and_lets_them_rest),
    CASE(writing_ends_with_the_first_error_and_refuses_strings),
    CASE(references_are_counted_across_threads),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/base/alloc.c, and of every function that makes values: whichever of its requests
 * for memory fails, it says TFR_ENOMEM, leaves its output alone and gives back what it had.
 */
#include "tfr_test.h"

#include <pthread.h>

#include "base/alloc.h"
#include "value/tensor.h"

TEST(the_nth_request_fails_and_no_other)
{
    tfr__alloc_fail_at(2);
    void *a = tfr__alloc(1);
    void *b = tfr__calloc(1, 1);
    void *c = tfr__alloc(1);
    CHECK(a && !b && c);
    tfr__alloc_fail_at(1);
    CHECK(tfr__realloc(a, 100) == NULL);
    a = tfr__realloc(a, 200);
    CHECK(a != NULL);
    tfr__alloc_fail_at(1);
    CHECK(tfr__alloc_aligned(1, 64) == NULL);
    tfr__alloc_fail_at(1);
    CHECK(tfr__strdup("text") == NULL);
    tfr__alloc_fail_at(1);
    tfr__alloc_fail_at(0);
    char *text = tfr__strdup("text");
    CHECK_STR("text", text);
    tfr__free(text);
    tfr__free(a);
    tfr__free(c);
}

TEST(requests_and_live_blocks_are_counted)
{
    const uint64_t count = tfr__alloc_count();
    const uint64_t live = tfr__alloc_live();
    void *a = tfr__alloc(10);
    void *b = tfr__realloc(NULL, 10);
    CHECK_UINT(count + 2, tfr__alloc_count());
    CHECK_UINT(live + 2, tfr__alloc_live());
    b = tfr__realloc(b, 1000);
    CHECK_UINT(live + 2, tfr__alloc_live());
    tfr__free(a);
    tfr__free(b);
    tfr__free(NULL);
    CHECK_UINT(count + 3, tfr__alloc_count());
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(no_bytes_are_a_block_and_an_overflow_is_none)
{
    void *blocks[4] = {tfr__alloc(0), tfr__calloc(0, 8), tfr__realloc(NULL, 0),
                       tfr__alloc_aligned(0, 1)};
    for (int i = 0; i < 4; i++) {
        CHECK(blocks[i] != NULL);
        tfr__free(blocks[i]);
    }
    volatile size_t half = SIZE_MAX / 2;
    CHECK(tfr__calloc(half, 4) == NULL);
}

TEST(aligned_blocks_are_aligned)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = tfr__alloc_aligned(10, align);
        CHECK_UINT(0, (uintptr_t)p % align);
        tfr__free(p);
    }
}

static void *take_and_give_back(void *unused)
{
    for (int i = 0; i < 1000; i++)
        tfr__free(tfr__alloc(8));
    return unused;
}

TEST(counting_is_exact_across_threads)
{
    pthread_t threads[3];
    const uint64_t count = tfr__alloc_count();
    const uint64_t live = tfr__alloc_live();
    for (int i = 0; i < 3; i++)
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, take_and_give_back, NULL));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_UINT(count + 3000, tfr__alloc_count());
    CHECK_UINT(live, tfr__alloc_live());
}

/* ---- the n-th failure, over everything that makes a value ------------------------------------ */

static const tfr_shape shape = {.rank = 2, .dims = {2, 3}};
static const int64_t turned[2] = {1, 2};
static int32_t memory[6];
static tfr_tensor *strings;
static tfr_tensor *sequence;

static tfr_status make_tensor(tfr_tensor **out, tfr_err *err)
{
    return tfr_tensor_create(TFR_DTYPE_F32, &shape, out, err);
}

static tfr_status make_wrap(tfr_tensor **out, tfr_err *err)
{
    return tfr_tensor_wrap(TFR_DTYPE_I32, &shape, turned, memory, NULL, NULL, out, err);
}

static tfr_status make_view(tfr_tensor **out, tfr_err *err)
{
    return tfr_tensor_view(strings, 0, &shape, turned, out, err);
}

static tfr_status make_copy_of_strings(tfr_tensor **out, tfr_err *err)
{
    return tfr_tensor_copy(strings, out, err);
}

static tfr_status make_sequence(tfr_tensor **out, tfr_err *err)
{
    return tfr_sequence_create(TFR_DTYPE_NONE, &strings, 1, out, err);
}

static tfr_status make_optional(tfr_tensor **out, tfr_err *err)
{
    return tfr_optional_create(TFR_DTYPE_NONE, sequence, out, err);
}

static tfr_status make_copy_of_sequence(tfr_tensor **out, tfr_err *err)
{
    return tfr_tensor_copy(sequence, out, err);
}

static tfr_status set_string(tfr_tensor **out, tfr_err *err)
{
    tfr_status status = tfr_tensor_set_string(strings, 1, "another", 7, err);
    if (!status)
        *out = tfr_tensor_retain(strings);
    return status;
}

/* n_requests: what it asks for when nothing fails; the loop must have met each of them. */
static void check_every_failure(tfr_status (*make)(tfr_tensor **out, tfr_err *err), int n_requests)
{
    const uint64_t live = tfr__alloc_live();
    tfr_tensor *out = NULL;
    tfr_status status = TFR_ENOMEM;
    int n = 0;
    while (status && n < 100) {
        tfr_err err = TFR_ERR_INIT;
        tfr__alloc_fail_at((uint64_t)++n);
        status = make(&out, &err);
        tfr__alloc_fail_at(0);
        if (status) {
            CHECK_STATUS(TFR_ENOMEM, status, &err);
            CHECK_INT(TFR_ENOMEM, err.code);
            CHECK_CONTAINS("no memory for", err.text);
            CHECK(out == NULL);
            CHECK_UINT(live, tfr__alloc_live());
        }
    }
    CHECK_INT(n_requests, n - 1);
    tfr_tensor_release(out);
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(every_failed_request_is_a_status_and_no_leak)
{
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &shape, &strings, &err), &err);
    for (int i = 0; i < 6; i++)
        CHECK_OK(tfr_tensor_set_string(strings, i, "text", 4, &err), &err);
    REQUIRE_OK(
        tfr_sequence_create(TFR_DTYPE_NONE, (tfr_tensor *[]){strings, strings}, 2, &sequence, &err),
        &err);
    check_every_failure(make_tensor, 2);
    check_every_failure(make_wrap, 1);
    check_every_failure(make_view, 1);
    check_every_failure(make_copy_of_strings, 8);
    check_every_failure(make_sequence, 2);
    check_every_failure(make_optional, 2);
    check_every_failure(make_copy_of_sequence, 19);
    check_every_failure(set_string, 1);
    CHECK_STR("another", tfr_tensor_get_string(strings, 1, NULL));
    tfr_tensor_release(sequence);
    tfr_tensor_release(strings);
}

static const test_case cases[] = {
    CASE(the_nth_request_fails_and_no_other),
    CASE(requests_and_live_blocks_are_counted),
    CASE(no_bytes_are_a_block_and_an_overflow_is_none),
    CASE(aligned_blocks_are_aligned),
    CASE(counting_is_exact_across_threads),
    CASE(every_failed_request_is_a_status_and_no_leak),
};
TEST_MAIN(cases)

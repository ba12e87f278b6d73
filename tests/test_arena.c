/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers in an arena: nothing that is alive together overlaps, and little is wasted. */
#include "plan.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

static tfr__buffer arena_buffer(uint64_t bytes, uint32_t first, uint32_t last)
{
    return (tfr__buffer){
        .kind = TFR__BUFFER_ARENA, .bytes = bytes, .first = first, .last = last};
}

static bool overlaps(const tfr__buffer *a, const tfr__buffer *b)
{
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

TEST(buffers_one_after_the_other_share_their_place)
{
    tfr__buffer buffers[] = {arena_buffer(256, 0, 1), arena_buffer(256, 2, 3)};
    uint64_t bytes, bound;
    REQUIRE_OK(tfr__arena_plan(buffers, 2, 0, 64, &bytes, &bound, &err), &err);
    CHECK_UINT(256, bytes);
    CHECK_UINT(256, bound);
}

TEST(offsets_are_multiples_of_the_alignment)
{
    tfr__buffer buffers[] = {arena_buffer(1, 0, 9), arena_buffer(65, 0, 9), arena_buffer(3, 0, 9)};
    uint64_t bytes, bound;
    REQUIRE_OK(tfr__arena_plan(buffers, 3, 0, 64, &bytes, &bound, &err), &err);
    for (int i = 0; i < 3; i++)
        CHECK_UINT(0, buffers[i].offset % 64);
    CHECK_UINT(256, bytes);
}

TEST(other_memories_and_kinds_are_left_alone)
{
    tfr__buffer buffers[] = {arena_buffer(100, 0, 9), arena_buffer(100, 0, 9)};
    uint64_t bytes, bound;
    buffers[0].memory = 1;
    buffers[1].kind = TFR__BUFFER_CONSTANT;
    REQUIRE_OK(tfr__arena_plan(buffers, 2, 0, 64, &bytes, &bound, &err), &err);
    CHECK_UINT(0, bytes);
}

TEST(sizes_that_overflow_are_refused)
{
    tfr__buffer buffers[] = {arena_buffer(INT64_MAX / 2, 0, 1), arena_buffer(INT64_MAX / 2, 0, 1)};
    uint64_t bytes, bound;
    CHECK_STATUS(TFR_ENOMEM, tfr__arena_plan(buffers, 2, 0, 64, &bytes, &bound, &err), &err);
}

/* A linear congruential generator (Knuth, MMIX), so that the cases are the same everywhere. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

TEST(random_buffers_never_overlap_and_stay_near_the_bound)
{
    enum { N = 60 };
    uint64_t seed = 1, bytes, bound, sum_bytes = 0, sum_bound = 0;
    for (int round = 0; round < 200; round++) {
        tfr__buffer buffers[N];
        for (int i = 0; i < N; i++) {
            uint32_t first = random_below(&seed, 100);
            buffers[i] = arena_buffer(1 + random_below(&seed, 5000), first,
                                      first + random_below(&seed, 12));
        }
        REQUIRE_OK(tfr__arena_plan(buffers, N, 0, 64, &bytes, &bound, &err), &err);
        for (int i = 0; i < N; i++) {
            CHECK(buffers[i].offset + buffers[i].bytes <= bytes);
            for (int k = 0; k < i; k++)
                REQUIRE(!overlaps(&buffers[i], &buffers[k]));
        }
        REQUIRE(bytes >= bound);
        sum_bytes += bytes;
        sum_bound += bound;
    }
    CHECK(sum_bytes * 100 <= sum_bound * 110);
}

static const test_case cases[] = {
    CASE(buffers_one_after_the_other_share_their_place),
    CASE(offsets_are_multiples_of_the_alignment),
    CASE(other_memories_and_kinds_are_left_alone),
    CASE(sizes_that_overflow_are_refused),
    CASE(random_buffers_never_overlap_and_stay_near_the_bound),
};
TEST_MAIN(cases)

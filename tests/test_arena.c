/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers in an arena: nothing that is alive together overlaps, and little is wasted. */
#include "base/arena.h"
#include "device/loader.h"
#include "plan/buffer.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

static tfr__buffer arena_buffer(uint64_t bytes, uint32_t first, uint32_t last)
{
    return (tfr__buffer){.kind = TFR__BUFFER_ARENA, .bytes = bytes, .first = first, .last = last};
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
            buffers[i] =
                arena_buffer(1 + random_below(&seed, 5000), first, first + random_below(&seed, 12));
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

static tfr_arena_block random_block(uint64_t *seed, uint32_t n_steps, uint32_t life)
{
    uint32_t first = random_below(seed, n_steps);
    return (tfr_arena_block){.bytes = 1 + random_below(seed, 5000),
                             .first = first,
                             .last = first + random_below(seed, life)};
}

static bool meet(const tfr_arena_block *a, const tfr_arena_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static void check_blocks(const tfr_arena_block *blocks, uint32_t n, uint64_t bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        REQUIRE(blocks[i].offset + blocks[i].bytes <= bytes);
        for (uint32_t k = 0; k < i; k++)
            REQUIRE(!meet(&blocks[i], &blocks[k]) ||
                    blocks[i].offset >= blocks[k].offset + blocks[k].bytes ||
                    blocks[k].offset >= blocks[i].offset + blocks[i].bytes);
    }
}

/* The least size of all stackings: some packing is one where each block lies on lower ones. */
static uint64_t least_size(const tfr_arena_block *blocks, uint64_t *tops, uint32_t n, uint32_t done,
                           uint64_t size)
{
    uint64_t least = UINT64_MAX;
    if (done == (1u << n) - 1)
        return size;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t top = 0, rest;
        if (done >> i & 1)
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (done >> k & 1 && meet(&blocks[i], &blocks[k]) && tops[k] > top)
                top = tops[k];
        tops[i] = top + (blocks[i].bytes + 63) / 64 * 64;
        rest = least_size(blocks, tops, n, done | 1u << i, tops[i] > size ? tops[i] : size);
        least = rest < least ? rest : least;
    }
    return least;
}

TEST(a_few_blocks_are_packed_as_well_as_can_be)
{
    uint64_t seed = 3;
    for (int round = 0; round < 300; round++) {
        tfr_arena_block blocks[7];
        uint32_t n = 2 + random_below(&seed, 6);
        uint64_t tops[7], bytes, bound, least;
        for (uint32_t i = 0; i < n; i++)
            blocks[i] = random_block(&seed, 7, 4);
        REQUIRE_OK(tfr__arena_solve(blocks, n, 64, &bytes, &bound, NULL, &err), &err);
        check_blocks(blocks, n, bytes);
        least = least_size(blocks, tops, n, 0, 0);
        CHECK_UINT(least, bytes);
    }
}

TEST(a_bound_that_no_packing_reaches_does_not_matter)
{
    tfr_arena_block blocks[] = {{192, 0, 0, 0}, {128, 3, 4, 0}, {192, 4, 8, 0}, {64, 1, 3, 0},
                                {192, 6, 7, 0}, {192, 5, 5, 0}, {192, 0, 2, 0}, {64, 2, 4, 0}};
    uint64_t tops[8], bytes, bound;
    REQUIRE_OK(tfr__arena_solve(blocks, 8, 64, &bytes, &bound, NULL, &err), &err);
    check_blocks(blocks, 8, bytes);
    CHECK_UINT(384, bound);
    CHECK_UINT(448, bytes);
    CHECK_UINT(448, least_size(blocks, tops, 8, 0, 0));
}

/* Two chains of short lives and some long ones, as residual networks have them. */
static void fill_network(tfr_arena_block *blocks, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++)
        blocks[i] = (tfr_arena_block){.bytes = 1 + random_below(seed, 100000),
                                      .first = i,
                                      .last = i + 1 + (i % 4 ? 0 : random_below(seed, 8))};
}

TEST(networks_stay_within_a_twentieth_of_the_bound)
{
    static tfr_arena_block blocks[400];
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint64_t state = seed, bytes, bound;
        fill_network(blocks, 400, &state);
        REQUIRE_OK(tfr__arena_solve(blocks, 400, 64, &bytes, &bound, NULL, &err), &err);
        check_blocks(blocks, 400, bytes);
        CHECK(bytes * 100 <= bound * 105);
    }
}

TEST(the_same_blocks_get_the_same_offsets)
{
    enum { N = 300 };
    static tfr_arena_block once[N], again[N];
    uint64_t seed = 5, bytes, bound, bytes_again;
    for (int i = 0; i < N; i++)
        again[i] = once[i] = random_block(&seed, 200, 40);
    REQUIRE_OK(tfr__arena_solve(once, N, 256, &bytes, &bound, NULL, &err), &err);
    REQUIRE_OK(tfr__arena_solve(again, N, 256, &bytes_again, &bound, NULL, &err), &err);
    CHECK_UINT(bytes, bytes_again);
    for (int i = 0; i < N; i++)
        CHECK_UINT(once[i].offset, again[i].offset);
}

/* Counted, not timed: a step is a look at one block. */
TEST(planning_takes_few_steps)
{
    enum { MANY = 4000 };
    static tfr_arena_block blocks[MANY];
    static const struct {
        uint32_t n, life;
        uint64_t most;
    } rows[] = {{12, 8, 400000},       {100, 12, 400000},      {100, 100, 400000},
                {2000, 12, 10000000},  {2000, 2000, 12000000}, {MANY, 100, 25000000},
                {MANY, MANY, 50000000}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint64_t seed = 7, bytes, bound, steps;
        for (uint32_t i = 0; i < rows[r].n; i++)
            blocks[i] = random_block(&seed, rows[r].n, rows[r].life);
        REQUIRE_OK(tfr__arena_solve(blocks, rows[r].n, 64, &bytes, &bound, &steps, &err), &err);
        CHECK(bytes >= bound);
        if (steps > rows[r].most)
            printf("%u blocks took %llu steps\n", rows[r].n, (unsigned long long)steps);
        CHECK(steps <= rows[r].most);
    }
}

/* As a heap would grow: with gaps, but not many. */
TEST(thousands_of_blocks_at_once_stay_within_a_fifth_of_the_bound)
{
    enum { MANY = 6000 };
    static tfr_arena_block blocks[MANY];
    static const uint32_t lives[] = {1000, MANY};
    for (size_t k = 0; k < sizeof lives / sizeof *lives; k++) {
        uint64_t seed = 3, bytes, bound;
        for (uint32_t i = 0; i < MANY; i++)
            blocks[i] = random_block(&seed, MANY, lives[k]);
        REQUIRE_OK(tfr__arena_solve(blocks, MANY, 64, &bytes, &bound, NULL, &err), &err);
        check_blocks(blocks, MANY, bytes);
        CHECK(bytes * 5 <= bound * 6);
    }
}

TEST(what_cannot_be_planned_is_an_error)
{
    tfr_arena_block block = {.bytes = 1, .first = 2, .last = 1};
    uint64_t bytes, bound;
    CHECK_STATUS(TFR_EINVAL, tfr__arena_solve(&block, 1, 64, &bytes, &bound, NULL, &err), &err);
    block.last = 2;
    CHECK_STATUS(TFR_EINVAL, tfr__arena_solve(&block, 1, 48, &bytes, &bound, NULL, &err), &err);
    block.bytes = UINT64_MAX;
    CHECK_STATUS(TFR_ENOMEM, tfr__arena_solve(&block, 1, 64, &bytes, &bound, NULL, &err), &err);
    CHECK_OK(tfr__arena_solve(&block, 0, 64, &bytes, &bound, NULL, &err), &err);
    CHECK_UINT(0, bytes);
}

TEST(plugins_get_the_planner)
{
    const tfr_host_arena *arena = tfr__host()->facet(TFR_HOST_ARENA_V1);
    tfr_arena_block blocks[] = {{100, 0, 1, 7}, {100, 1, 2, 7}, {100, 2, 3, 7}};
    uint64_t bytes, bound;
    REQUIRE(arena != NULL);
    REQUIRE_OK((tfr_status)arena->plan(blocks, sizeof *blocks, 3, 128, &bytes, &bound, &err), &err);
    CHECK_UINT(256, bytes);
    CHECK_UINT(256, bound);
    CHECK_UINT(blocks[0].offset, blocks[2].offset);
}

static const test_case cases[] = {
    CASE(buffers_one_after_the_other_share_their_place),
    CASE(offsets_are_multiples_of_the_alignment),
    CASE(other_memories_and_kinds_are_left_alone),
    CASE(sizes_that_overflow_are_refused),
    CASE(random_buffers_never_overlap_and_stay_near_the_bound),
    CASE(a_few_blocks_are_packed_as_well_as_can_be),
    CASE(a_bound_that_no_packing_reaches_does_not_matter),
    CASE(networks_stay_within_a_twentieth_of_the_bound),
    CASE(the_same_blocks_get_the_same_offsets),
    CASE(planning_takes_few_steps),
    CASE(thousands_of_blocks_at_once_stay_within_a_fifth_of_the_bound),
    CASE(what_cannot_be_planned_is_an_error),
    CASE(plugins_get_the_planner),
};
TEST_MAIN(cases)

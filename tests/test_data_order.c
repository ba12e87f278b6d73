/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an epoch is a permutation that its seed and its number give. */
#include "nn/data/order.h"

#include "tfr_test.h"

enum { N = 60000 };
static int64_t order[N], other[N];

TEST(each_sample_comes_once)
{
    static bool seen[N];
    tfr__data_order(1, 0, N, order);
    for (int i = 0; i < N; i++) {
        REQUIRE(order[i] >= 0 && order[i] < N);
        REQUIRE(!seen[order[i]]);
        seen[order[i]] = true;
    }
}

TEST(the_same_seed_and_epoch_give_the_same_order)
{
    tfr__data_order(1, 7, N, order);
    tfr__data_order(2, 8, N, other);
    tfr__data_order(1, 7, N, other);
    CHECK_MEM(order, other, sizeof order);
}

TEST(another_seed_or_epoch_gives_another_order)
{
    static const uint64_t others[][2] = {
        {2, 7}, {1 + ((uint64_t)1 << 32), 7}, {1, 8}, {1, 7 + ((uint64_t)1 << 32)}};
    tfr__data_order(1, 7, N, order);
    for (int k = 0; k < 4; k++) {
        int same = 0;
        tfr__data_order(others[k][0], others[k][1], N, other);
        for (int i = 0; i < N; i++)
            same += order[i] == other[i];
        CHECK(same < 20); /* one is expected */
    }
}

TEST(no_samples_and_one_have_one_order)
{
    order[0] = -1;
    tfr__data_order(1, 0, 0, order);
    CHECK_INT(-1, order[0]);
    tfr__data_order(1, 0, 1, order);
    CHECK_INT(0, order[0]);
}

TEST(all_orders_of_three_are_about_as_frequent)
{
    int counts[3][3] = {{0}};
    for (uint64_t epoch = 0; epoch < 6000; epoch++) {
        tfr__data_order(5, epoch, 3, order);
        counts[order[0]][order[1]]++;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            CHECK(a == b ? counts[a][b] == 0 : counts[a][b] > 850 && counts[a][b] < 1150);
}

/* A checkpoint of an older tfrun goes on in the order that it was in. */
TEST(the_order_never_changes)
{
    static const int64_t expected[8] = {7, 5, 6, 2, 3, 1, 0, 4};
    tfr__data_order(0, 0, 8, order);
    CHECK_MEM(expected, order, sizeof expected);
}

static const test_case cases[] = {
    CASE(each_sample_comes_once),
    CASE(the_same_seed_and_epoch_give_the_same_order),
    CASE(another_seed_or_epoch_gives_another_order),
    CASE(no_samples_and_one_have_one_order),
    CASE(all_orders_of_three_are_about_as_frequent),
    CASE(the_order_never_changes),
};
TEST_MAIN_OF_ONE_THREAD(cases)

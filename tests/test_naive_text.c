/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of the naive backend that look elements up in lists of a model: what a look-up costs, counted
 * in comparisons, what repeated entries of a list mean, and what is too much work or padding.
 */
#include "sort.h"
#include "values_kit.h"

enum { LENGTH = 1 << 16, LOG_LENGTH = 16 };

typedef struct counted {
    const int64_t *items;
    int64_t wanted, comparisons;
} counted;

static int compare(const void *context, int64_t a, int64_t b)
{
    counted *c = (counted *)(uintptr_t)context;
    c->comparisons++;
    return (c->items[a] > c->items[b]) - (c->items[a] < c->items[b]);
}

static int match(const void *context, int64_t item)
{
    counted *c = (counted *)(uintptr_t)context;
    c->comparisons++;
    return (c->wanted > c->items[item]) - (c->wanted < c->items[item]);
}

static int64_t items[LENGTH], scratch[2 * LENGTH];

/* Sorts them, looks each of them up, and counts. */
static void check_items(const char *what)
{
    counted c = {items, 0, 0};
    const int64_t *order = naive_sort(LENGTH, scratch, compare, &c);
    int64_t i, worst = 0, wrong = 0;
    test_report(c.comparisons <= (int64_t)LENGTH * LOG_LENGTH, what, __FILE__, __LINE__, false);
    for (i = 1; i < LENGTH; i++)
        wrong += items[order[i - 1]] > items[order[i]] ||
                 (items[order[i - 1]] == items[order[i]] && order[i - 1] > order[i]);
    for (i = 0; i < LENGTH; i++) {
        c.comparisons = 0;
        c.wanted = items[i];
        int64_t place = naive_search(order, LENGTH, match, &c);
        wrong += place < 0 || items[order[place]] != items[i] ||
                 (place + 1 < LENGTH && items[order[place + 1]] == items[i]);
        worst = c.comparisons > worst ? c.comparisons : worst;
    }
    c.wanted = -1;
    CHECK_INT(-1, naive_search(order, LENGTH, match, &c));
    CHECK_INT(0, wrong);
    CHECK(worst <= LOG_LENGTH + 2);
}

TEST(a_list_costs_its_length_times_a_logarithm_whatever_it_holds)
{
    int64_t i;
    for (i = 0; i < LENGTH; i++)
        items[i] = 7;
    check_items("equal items");
    for (i = 0; i < LENGTH; i++)
        items[i] = LENGTH - i;
    check_items("falling items");
    for (i = 0; i < LENGTH; i++)
        items[i] = i * 40503 % 65521;
    check_items("items in disorder");
    CHECK_INT(-1, naive_search(NULL, 0, match, NULL));
}

TEST(of_equal_keys_the_last_one_counts)
{
    static const values_case calls[] = {
        {"ai.onnx.ml.LabelEncoder keys_strings:ss=b,a,b,c values_int64s:is=1,2,3,4 "
         "default_int64:i=9",
         "s[4] b a x c", "i64[4] 3 2 9 4"},
        {"ai.onnx.ml.LabelEncoder keys_int64s:is=5,-3,5,0 values_strings:ss=p,q,r,s "
         "default_string:s=none",
         "i64[4] 5 -3 0 7", "s[4] r q s none"},
        {"ai.onnx.ml.LabelEncoder keys_floats:fs=nan,0,nan,inf values_floats:fs=1,2,3,4 "
         "default_float:f=9",
         "f32[5] nan -0.0 inf -inf 1", "f32[5] 3 2 4 9 9"},
        {"ai.onnx.ml.CategoryMapper cats_strings:ss=a,b,a cats_int64s:is=1,2,3 default_int64:i=9",
         "s[3] a b c", "i64[3] 3 2 9"},
        {"ai.onnx.ml.CategoryMapper cats_strings:ss=a,b,c cats_int64s:is=1,2,1 "
         "default_string:s=none",
         "i64[3] 1 2 3", "s[3] c b none"},
        {"ai.onnx.ml.OneHotEncoder cats_int64s:is=4,2,4", "i64[3] 4 2 3",
         "f32[3,3] 0 0 1 0 1 0 0 0 0"},
    };
    values_check_all("naive:0", calls, sizeof calls / sizeof calls[0]);
}

TEST(stop_words_are_folded_as_texts_are)
{
    static const values_case calls[] = {
        {"StringNormalizer stopwords:ss=the,A,the,zzz", "s[4] THE cat a mat", "s[2] cat mat"},
        {"StringNormalizer is_case_sensitive:i=1 stopwords:ss=the,A", "s[4] THE cat a the",
         "s[3] THE cat a"},
        {"StringNormalizer case_change_action:s=UPPER stopwords:ss=b", "s[2] B c", "s[1] C"},
    };
    values_check_all("naive:0", calls, sizeof calls / sizeof calls[0]);
}

static const test_case cases[] = {
    CASE(a_list_costs_its_length_times_a_logarithm_whatever_it_holds),
    CASE(of_equal_keys_the_last_one_counts),
    CASE(stop_words_are_folded_as_texts_are),
};
TEST_MAIN(cases)

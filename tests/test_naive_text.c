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

TEST(letters_from_a_to_z_change_their_case)
{
    static const values_case calls[] = {
        {"StringNormalizer case_change_action:s=LOWER", "s[2] @AZ[ `az{", "s[2] @az[ `az{"},
        {"StringNormalizer case_change_action:s=UPPER", "s[2] @AZ[ `az{", "s[2] @AZ[ `AZ{"},
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

#define GRAMS(mode, counts, indexes, pool)                                                         \
    "TfIdfVectorizer mode:s=" mode " min_gram_length:i=1 max_gram_length:i=2 max_skip_count:i=1 "  \
    "ngram_counts:is=" counts " ngram_indexes:is=" indexes " pool_" pool

TEST(grams_are_counted_however_often_the_pool_repeats_them)
{
    static const values_case calls[] = {
        {GRAMS("TF", "0,2", "0,1,2", "int64s:is=5,6,5,6"), "i64[2,3] 5 6 6 6 5 7",
         "f32[2,3] 1 2 2 1 1 0"},
        /* two grams of one column, and one gram of two columns */
        {GRAMS("TF", "0,2", "0,0,1", "int64s:is=5,6,5,6"), "i64[3] 5 6 6", "f32[2] 3 2"},
        {GRAMS("TF", "0,3", "0,2,0,1", "int64s:is=5,5,5,5,6"), "i64[3] 5 6 5", "f32[3] 4 1 2"},
        {GRAMS("TF", "0,1", "3,0", "strings:ss=b,b,a"), "s[4] a b a b", "f32[4] 1 0 0 2"},
        /* the weight of a column is that of its first gram */
        {GRAMS("TFIDF", "0,2", "0,0,1", "int64s:is=5,6,5,6 weights:fs=3,5,0.5"), "i64[3] 5 6 6",
         "f32[2] 9 1"},
        {GRAMS("IDF", "0,2", "1,0,1", "int64s:is=5,6,5,6 weights:fs=3,5,0.5"), "i64[2] 5 7",
         "f32[2] 0 3"},
    };
    values_check_all("naive:0", calls, sizeof calls / sizeof calls[0]);
}

static tfr_status run_op(const char *op, const tfr_attr *attrs, uint32_t n_attrs, tfr_tensor *in,
                         uint32_t n_outputs)
{
    const tfr_node_desc node = {
        .size = sizeof node, .op = op, .attrs = attrs, .n_attrs = n_attrs, .n_outputs = n_outputs};
    tfr_runtime *runtime = NULL;
    tfr_tensor *out[2] = {NULL, NULL};
    tfr_status status;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &values_err), &values_err);
    status = tfr_op_run(runtime, "naive:0", &node, &in, 1, out, n_outputs, &values_err);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
    return status;
}

TEST(more_grams_than_a_launch_may_look_at_are_refused)
{
    const tfr_attr attrs[] = {
        TFR_SET_STRING("mode", "TF"),       TFR_SET_INT("min_gram_length", 2),
        TFR_SET_INT("max_gram_length", 2),  TFR_SET_INT("max_skip_count", INT64_MAX),
        TFR_SET_INTS("ngram_counts", 0, 0), TFR_SET_INTS("ngram_indexes", 0),
        TFR_SET_INTS("pool_int64s", 0, 0)};
    const tfr_shape shape = {1, {100000}};
    tfr_tensor *x = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &shape, &x, &values_err), &values_err);
    CHECK(run_op("TfIdfVectorizer", attrs, sizeof attrs / sizeof attrs[0], x, 1) != TFR_OK);
    CHECK_CONTAINS("n-grams of 9999900000 items altogether, the limit is 67108864",
                   values_err.text);
}

TEST(one_long_string_among_many_is_not_padded_to_gigabytes)
{
    enum { N = 5000 };
    static char text[2 * N];
    const tfr_shape shape = {1, {N}};
    tfr_tensor *x = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &shape, &x, &values_err), &values_err);
    for (int i = 0; i < N; i++)
        memcpy(text + 2 * i, "a ", 2);
    for (int64_t i = 0; i < N; i++)
        REQUIRE_OK(tfr_tensor_set_string(x, i, text, i ? 1 : sizeof text, &values_err),
                   &values_err);
    CHECK_STATUS(TFR_ELIMIT, run_op("StringSplit", NULL, 0, x, 2), &values_err);
    CHECK_CONTAINS("5000 strings of 9999 pieces in all, up to 5000 in one, make 5000 x 5000 "
                   "elements, the limit is 16777216",
                   values_err.text);
}

static const test_case cases[] = {
    CASE(a_list_costs_its_length_times_a_logarithm_whatever_it_holds),
    CASE(of_equal_keys_the_last_one_counts),
    CASE(letters_from_a_to_z_change_their_case),
    CASE(stop_words_are_folded_as_texts_are),
    CASE(grams_are_counted_however_often_the_pool_repeats_them),
    CASE(more_grams_than_a_launch_may_look_at_are_refused),
    CASE(one_long_string_among_many_is_not_padded_to_gigabytes),
};
TEST_MAIN(cases)

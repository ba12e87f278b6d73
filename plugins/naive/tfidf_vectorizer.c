/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TfIdfVectorizer (ONNX 9): counts, for every row of x, the n-grams of the pool with n from
 * min_gram_length to max_gram_length whose items lie s apart, s = 1 ... max_skip_count + 1 (single
 * items once). The pool holds the 1-grams from ngram_counts[0] on, the 2-grams from ngram_counts[1]
 * on, and so forth; gram g, counted over the whole pool, adds to output column ngram_indexes[g]:
 *   TF      the count
 *   IDF     weights[g] if the count is not 0 (1 without weights)
 *   TFIDF   weights[g] * count
 */
#include "naive.h"

#include <string.h>

typedef struct pool {
    const tfr_attr *strings, *ints, *counts, *indexes, *weights;
    uint64_t items;
} pool;

static pool find_pool(const tfr_call *call)
{
    pool p = {tfr_call_attr(call, "pool_strings"), tfr_call_attr(call, "pool_int64s"),
              tfr_call_attr(call, "ngram_counts"), tfr_call_attr(call, "ngram_indexes"),
              tfr_call_attr(call, "weights"),      0};

    if (p.strings && p.strings->n == 0)
        p.strings = NULL;
    if (p.weights && p.weights->n == 0)
        p.weights = NULL;
    p.items = p.strings ? p.strings->n : p.ints ? p.ints->n : 0;
    return p;
}

/* Where the grams of size n (from 1) begin; past the last size that is the end of the pool. */
static uint64_t size_begin(const pool *p, uint64_t n)
{
    uint64_t at = n <= p->counts->n ? (uint64_t)p->counts->ints[n - 1] : p->items;

    return at < p->items ? at : p->items;
}

static bool same(const pool *p, uint64_t item, const tfr_operand *x, const void *px, int64_t i)
{
    const tfr_string *a, *b;

    if (x->dtype != TFR_DTYPE_STRING)
        return !p->strings && p->ints->ints[item] == naive_get_int(x->dtype, px, i);
    if (!p->strings)
        return false;
    a = &p->strings->strings[item];
    b = (const tfr_string *)px + i;
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

/* Adds one to the column of the gram of n items that starts at x[i] with items step apart. */
static void count_gram(const pool *p, uint64_t n, const tfr_operand *x, const void *px, int64_t i,
                       int64_t step, float *row, int64_t columns)
{
    uint64_t first_gram = 0, at, g, j, size;

    for (size = 1; size < n; size++)
        if (size_begin(p, size + 1) > size_begin(p, size))
            first_gram += (size_begin(p, size + 1) - size_begin(p, size)) / size;
    g = first_gram;
    for (at = size_begin(p, n); at + n <= size_begin(p, n + 1); at += n, g++) {
        for (j = 0; j < n && same(p, at + j, x, px, i + (int64_t)j * step);)
            j++;
        if (j == n && g < p->indexes->n && p->indexes->ints[g] >= 0 &&
            p->indexes->ints[g] < columns)
            row[p->indexes->ints[g]] += 1;
    }
}

static void count_row(const tfr_call *call, const pool *p, const tfr_operand *x, const void *px,
                      int64_t begin, int64_t length, float *row, int64_t columns)
{
    int64_t least = tfr_call_int(call, "min_gram_length", 1);
    int64_t most = tfr_call_int(call, "max_gram_length", 1);
    int64_t skips = tfr_call_int(call, "max_skip_count", 0), n, step, i;

    for (n = least < 1 ? 1 : least; n <= most && n <= length; n++) {
        /* as far apart as the row is long: a larger max_skip_count finds no more */
        int64_t widest = n == 1 ? 1 : (length - 1) / (n - 1);
        for (step = 1; step <= widest && step - 1 <= (n == 1 ? 0 : skips); step++)
            for (i = 0; i + (n - 1) * step < length; i++)
                count_gram(p, (uint64_t)n, x, px, begin + i, step, row, columns);
    }
}

/* The weight of a column is that of its gram. */
static float weight_of(const pool *p, int64_t column)
{
    uint64_t g;

    for (g = 0; p->weights && g < p->indexes->n && g < p->weights->n; g++)
        if (p->indexes->ints[g] == column)
            return p->weights->floats[g];
    return 1;
}

static int32_t run_tfidf(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const char *mode = tfr_call_string(&k->call, "mode", "TF");
    const void *px = naive_in(k, launch, 0);
    float *py = naive_out(k, launch, 0);
    int64_t columns = y->dims[y->rank - 1], rows = naive_product(y->dims, 0, y->rank - 1);
    int64_t length = x->rank > 0 ? x->dims[x->rank - 1] : 1, r, c;
    pool p = find_pool(&k->call);

    if (!p.counts || !p.indexes)
        return tfr_fail(err, TFR_EINVAL, "TfIdfVectorizer needs ngram_counts and ngram_indexes");
    for (r = 0; r < rows; r++) {
        float *row = py + r * columns;
        for (c = 0; c < columns; c++)
            row[c] = 0;
        count_row(&k->call, &p, x, px, r * length, length, row, columns);
        for (c = 0; c < columns; c++) {
            if (strcmp(mode, "IDF") == 0)
                row[c] = row[c] > 0 ? weight_of(&p, c) : 0;
            else if (strcmp(mode, "TFIDF") == 0)
                row[c] *= weight_of(&p, c);
        }
    }
    return TFR_OK;
}

const naive_op naive_tfidf_vectorizer_ops[] = {
    {"", "TfIdfVectorizer", 9, NULL, run_tfidf, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

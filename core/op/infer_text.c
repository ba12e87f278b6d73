/* SPDX-License-Identifier: Apache-2.0 */
/* infer_text.c: ops on strings: StringNormalizer, StringSplit, TfIdfVectorizer. */
#include <string.h>

#include "op/infer_kit.h"

tfr_status tfr__infer_string_normalizer(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    if (x->rank > 2 || (x->rank == 2 && tfr__differ(in, x->dims[0], 1)))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "X is no list [C] and no row [1,C]");
    tfr__dims_of(x, &shape);
    int64_t *c = &shape.d[x->rank - 1];
    if (tfr__is_symbolic(in))
        *c = tfr__new_dim(in);
    if (*c == 0)
        *c = 1; /* when nothing is left, the output is one empty string */
    TFR__TRY(tfr__out_dims(in, err, 0, TFR_DTYPE_STRING, &shape));
    tfr__out_dynamic(in, 0);
    return TFR_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Words between blanks; at most limit. */
static int64_t count_words(const tfr_string *s, int64_t limit)
{
    int64_t n = 0;
    for (uint64_t i = 0; i < s->bytes && n < limit; i++)
        if (!is_blank(s->data[i]) && (i == 0 || is_blank(s->data[i - 1])))
            n++;
    return n;
}

/* Pieces between delimiters; at most limit. */
static int64_t count_pieces(const tfr_string *s, const tfr_string *delimiter, int64_t limit)
{
    int64_t n = 1;
    uint64_t i = 0;
    while (n < limit && s->bytes - i >= delimiter->bytes) {
        if (memcmp(s->data + i, delimiter->data, (size_t)delimiter->bytes) == 0) {
            n++;
            i += delimiter->bytes;
        } else {
            i++;
        }
    }
    return n;
}

/*
 * Y has as many columns as the longest row has pieces. One long row among many short ones would
 * make gigabytes of empty strings from a small file, so padding has a limit.
 */
static tfr_status check_padding(const tfr__infer *in, tfr_err *err, int64_t rows, int64_t longest,
                                int64_t pieces)
{
    enum { PADDED = 1 << 24, PADDED_PER_PIECE = 32 };
    int64_t most = pieces > PADDED / PADDED_PER_PIECE ? pieces * PADDED_PER_PIECE : PADDED;
    if (!tfr__wants(in, 0) || !longest || rows <= most / longest)
        return TFR_OK;
    return tfr__infer_fail(
        in, err, TFR_ELIMIT,
        "%lld strings of %lld pieces in all, up to %lld in one, make %lld x %lld "
        "elements, the limit is %lld; a smaller maxsplit helps",
        (long long)rows, (long long)pieces, (long long)longest, (long long)rows, (long long)longest,
        (long long)most);
}

tfr_status tfr__infer_string_split(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    const tfr__attr *delimiter = tfr__attr_find(in->attrs, "delimiter");
    int64_t limit = tfr__attr_int(in->attrs, "maxsplit", INT64_MAX), longest = 0, sum = 0;
    const void *data;
    tfr__dims shape;
    if (limit < 0)
        return tfr__infer_fail(in, err, TFR_EMODEL, "maxsplit is %lld", (long long)limit);
    limit = limit < INT64_MAX ? limit + 1 : limit;
    if (!x->shape_known)
        return TFR__EPENDING;
    tfr_status status = tfr__value_raw(in, err, 0, &data);
    bool known = !status;
    TFR__TRY(tfr__may_pend(in, status));
    int64_t n = known ? tfr__type_elements(x) : 0;
    for (int64_t i = 0; i < n; i++) {
        const tfr_string *s = (const tfr_string *)data + i;
        bool words = !delimiter || delimiter->pub.strings[0].bytes == 0;
        int64_t pieces =
            words ? count_words(s, limit) : count_pieces(s, &delimiter->pub.strings[0], limit);
        longest = pieces > longest ? pieces : longest;
        sum += pieces;
    }
    TFR__TRY(check_padding(in, err, n, longest, sum));
    TFR__TRY(tfr__out_like(in, err, 1, TFR_DTYPE_I64, x));
    tfr__dims_of(x, &shape);
    if (shape.rank == TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "X has rank %d, the limit is %d", TFR_MAX_RANK,
                               TFR_MAX_RANK - 1);
    shape.d[shape.rank++] = known ? longest : tfr__new_dim(in);
    return tfr__out_dims(in, err, 0, TFR_DTYPE_STRING, &shape);
}

/* ---- TfIdfVectorizer ---- */

/* The pool is cut into n-grams: counts[k] is where those of k + 1 words start. */
static tfr_status check_pool(tfr__infer *in, tfr_err *err, uint64_t n_indexes)
{
    const tfr__attr *words = tfr__attr_find(in->attrs, "pool_strings");
    const tfr__attr *numbers = tfr__attr_find(in->attrs, "pool_int64s");
    uint64_t n_counts, grams = 0;
    const int64_t *counts = tfr__attr_ints(in->attrs, "ngram_counts", &n_counts);
    bool is_text = tfr__in(in, 0)->dtype == TFR_DTYPE_STRING;
    const tfr__attr *pool = is_text ? words : numbers;
    if (!pool || (words && numbers))
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "one of pool_strings and pool_int64s that fits X "
                               "is wanted");
    uint64_t size = pool->pub.n;
    for (uint64_t k = 0; k < n_counts; k++) {
        int64_t end = k + 1 < n_counts ? counts[k + 1] : (int64_t)size;
        if (counts[k] < 0 || end < counts[k] || (uint64_t)end > size ||
            (uint64_t)(end - counts[k]) % (k + 1))
            return tfr__infer_fail(
                in, err, TFR_EMODEL,
                "ngram_counts has %lld at %llu, which does not cut a pool of %llu",
                (long long)counts[k], (unsigned long long)k, (unsigned long long)size);
        grams += (uint64_t)(end - counts[k]) / (k + 1);
    }
    if (grams != n_indexes || !n_counts || counts[0] != 0)
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "the pool has %llu n-grams, ngram_indexes has %llu",
                               (unsigned long long)grams, (unsigned long long)n_indexes);
    return TFR_OK;
}

tfr_status tfr__infer_tf_idf(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    const tfr__attr *weights = tfr__attr_find(in->attrs, "weights");
    uint64_t n, n_counts;
    TFR__TRY(tfr__need_dtype(in, 0));
    const int64_t *indexes = tfr__attr_ints(in->attrs, "ngram_indexes", &n);
    tfr__attr_ints(in->attrs, "ngram_counts", &n_counts);
    int64_t shortest = tfr__attr_int(in->attrs, "min_gram_length", 0);
    int64_t longest = tfr__attr_int(in->attrs, "max_gram_length", 0);
    int64_t skips = tfr__attr_int(in->attrs, "max_skip_count", 0), columns = 0;
    if (shortest < 1 || longest < shortest || (uint64_t)longest > n_counts || skips < 0)
        return tfr__infer_fail(
            in, err, TFR_EMODEL,
            "n-grams of %lld to %lld words with %lld skips, ngram_counts has %llu",
            (long long)shortest, (long long)longest, (long long)skips,
            (unsigned long long)n_counts);
    TFR__TRY(check_pool(in, err, n));
    if (weights && weights->pub.n != n)
        return tfr__infer_fail(in, err, TFR_EMODEL, "weights has %llu entries, ngram_indexes %llu",
                               (unsigned long long)weights->pub.n, (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        if (indexes[i] < 0 || indexes[i] >= INT32_MAX)
            return tfr__infer_fail(in, err, TFR_EMODEL, "ngram_indexes has %lld at %llu",
                                   (long long)indexes[i], (unsigned long long)i);
        columns = indexes[i] >= columns ? indexes[i] + 1 : columns;
    }
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    if (x->rank > 2)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "X has rank %d, want 1 or 2", (int)x->rank);
    int64_t dims[2] = {x->dims[0], columns};
    return tfr__out(in, err, 0, TFR_DTYPE_F32, x->rank, x->rank == 1 ? dims + 1 : dims);
}

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
#include "sort.h"
#include "tensor.h"

#include <string.h>

/* The items of grams that one launch may look at. */
static const double most_items = 67108864; /* 2^26 */

typedef struct gram {
    int64_t at, size; /* its items in the pool */
    int64_t slot;     /* its column's number among the columns that grams name */
    int64_t times;    /* how many equal grams of the same column this one stands for */
    int64_t first;    /* the place of the first equal gram, of any column */
} gram;

typedef struct column {
    int64_t index;
    float weight;
} column;

/* A prepared call. */
typedef struct vocabulary {
    const tfr_attr *strings, *ints, *counts, *indexes; /* strings or ints is NULL */
    int64_t n_items, n_grams, n_columns;
    int64_t *items, *ids; /* the items of the pool sorted, and their numbers */
    gram *grams;          /* in the order of the pool */
    int64_t *order;       /* the grams by size, items, column; one of equal ones */
    int64_t *begins;      /* where the grams of each size begin in order */
    column *columns;
} vocabulary;

static vocabulary pool_of(const tfr_call *call)
{
    vocabulary v = {.strings = tfr_call_attr(call, "pool_strings"),
                    .ints = tfr_call_attr(call, "pool_int64s"),
                    .counts = tfr_call_attr(call, "ngram_counts"),
                    .indexes = tfr_call_attr(call, "ngram_indexes")};

    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_STRING)
        v.ints = NULL;
    else
        v.strings = NULL;
    v.n_items = v.strings ? (int64_t)v.strings->n : v.ints ? (int64_t)v.ints->n : 0;
    return v;
}

/* Where the grams of size n (from 1) begin; past the last size that is the end of the pool. */
static int64_t size_begin(const vocabulary *v, int64_t n)
{
    int64_t at = n <= (int64_t)v->counts->n ? v->counts->ints[n - 1] : v->n_items;

    return at < v->n_items ? at : v->n_items;
}

/* ---- what x has ---- */

typedef struct lengths {
    int64_t least, most, skips, row;
} lengths;

static lengths lengths_of(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    lengths l = {tfr_call_int(call, "min_gram_length", 1), tfr_call_int(call, "max_gram_length", 1),
                 tfr_call_int(call, "max_skip_count", 0), x->rank ? x->dims[x->rank - 1] : 1};

    l.least = l.least < 1 ? 1 : l.least;
    l.most = l.most < l.row ? l.most : l.row;
    return l;
}

/* How far apart the items of a gram of size n may be: no farther than the row is long. */
static int64_t widest_step(const lengths *l, int64_t n)
{
    int64_t widest = n == 1 ? 1 : (l->row - 1) / (n - 1);

    return n > 1 && widest - 1 > l->skips ? l->skips + 1 : widest;
}

static int32_t supports_tfidf(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    vocabulary v = pool_of(call);
    lengths l = lengths_of(call);
    double items = 0;
    int64_t n;

    for (n = l.least; v.counts && n <= l.most && n <= (int64_t)v.counts->n; n++) {
        double steps = (double)widest_step(&l, n), size = (double)n;
        if (size_begin(&v, n) < size_begin(&v, n + 1))
            items += size * (steps * (double)l.row - (size - 1) * steps * (steps + 1) / 2);
    }
    items *= x->rank == 2 ? (double)x->dims[0] : 1;
    if (items > most_items)
        tfr_decline(
            answer, TFR_REASON_SIZE_LIMIT,
            "rows of %lld have n-grams of %.0f items altogether, the limit is %.0f; shorter "
            "rows or a smaller max_skip_count or max_gram_length help",
            (long long)l.row, items, most_items);
    return TFR_OK;
}

/* ---- the vocabulary ---- */

static int compare_items(const void *context, int64_t a, int64_t b)
{
    const vocabulary *v = context;

    if (v->strings)
        return naive_compare_strings(&v->strings->strings[a], &v->strings->strings[b]);
    return (v->ints->ints[a] > v->ints->ints[b]) - (v->ints->ints[a] < v->ints->ints[b]);
}

static int compare_columns(const void *context, int64_t a, int64_t b)
{
    const int64_t *of = ((const vocabulary *)context)->indexes->ints;

    return (of[a] > of[b]) - (of[a] < of[b]);
}

static int compare_grams(const void *context, int64_t a, int64_t b)
{
    const vocabulary *v = context;
    const gram *g = &v->grams[a], *h = &v->grams[b];
    int64_t i;

    if (g->size != h->size)
        return g->size < h->size ? -1 : 1;
    for (i = 0; i < g->size; i++)
        if (v->ids[g->at + i] != v->ids[h->at + i])
            return v->ids[g->at + i] < v->ids[h->at + i] ? -1 : 1;
    return 0;
}

/* Of one gram and column, too. */
static int compare_all(const void *context, int64_t a, int64_t b)
{
    const vocabulary *v = context;
    int order = compare_grams(v, a, b);

    if (order)
        return order;
    return (v->grams[a].slot > v->grams[b].slot) - (v->grams[a].slot < v->grams[b].slot);
}

/* Numbers the items and cuts them into grams. */
static void read_pool(vocabulary *v, int64_t *scratch)
{
    int64_t i, n, at;

    v->items = naive_sort(v->n_items, scratch, compare_items, v);
    for (i = 0; i < v->n_items; i++) {
        bool same = i > 0 && compare_items(v, v->items[i - 1], v->items[i]) == 0;
        v->ids[v->items[i]] = same ? v->ids[v->items[i - 1]] : i;
    }
    for (n = 1; n <= (int64_t)v->counts->n; n++)
        for (at = size_begin(v, n); at + n <= size_begin(v, n + 1); at += n)
            v->grams[v->n_grams++] = (gram){.at = at, .size = n, .times = 1};
}

static void read_columns(vocabulary *v, const tfr_attr *weights, int64_t *scratch)
{
    int64_t *sorted = naive_sort(v->n_grams, scratch, compare_columns, v), i;

    for (i = 0; i < v->n_grams; i++) {
        bool same = i > 0 && compare_columns(v, sorted[i - 1], sorted[i]) == 0;
        if (!same)
            v->columns[v->n_columns++] =
                (column){v->indexes->ints[sorted[i]], weights ? weights->floats[sorted[i]] : 1};
        v->grams[sorted[i]].slot = v->n_columns - 1;
    }
}

/* Sorts the grams, and leaves one of those with equal items and one column. */
static void sort_grams(vocabulary *v, int64_t *scratch)
{
    int64_t n = v->n_grams, kept = 0, size = 1, i;

    v->order = naive_sort(n, scratch, compare_all, v);
    for (i = 0; i < n; i++) {
        int64_t g = v->order[i], before = kept ? v->order[kept - 1] : -1;
        if (kept && compare_all(v, before, g) == 0) {
            v->grams[before].times++;
            continue;
        }
        v->grams[g].first =
            kept && compare_grams(v, before, g) == 0 ? v->grams[before].first : kept;
        while (size <= v->grams[g].size)
            v->begins[size++] = kept;
        v->order[kept++] = g;
    }
    v->n_grams = kept;
    while (size <= (int64_t)v->counts->n + 1)
        v->begins[size++] = kept;
}

static int32_t prepare_tfidf(naive_kernel *k, tfr_err *err)
{
    const tfr_attr *weights = tfr_call_attr(&k->call, "weights");
    vocabulary pool = pool_of(&k->call), *v = naive_keep(k, sizeof(*v));
    size_t n = (size_t)pool.n_items;
    int64_t *scratch = naive_keep(k, 6 * n * sizeof(*scratch));

    if (!pool.counts || !pool.indexes || (!pool.strings && !pool.ints))
        return tfr_fail(err, TFR_EINVAL,
                        "TfIdfVectorizer needs ngram_counts, ngram_indexes and a pool that fits X");
    pool.ids = naive_keep(k, n * sizeof(*pool.ids));
    pool.grams = naive_keep(k, n * sizeof(*pool.grams));
    pool.columns = naive_keep(k, n * sizeof(*pool.columns));
    pool.begins = naive_keep(k, ((size_t)pool.counts->n + 2) * sizeof(*pool.begins));
    if (!v || !scratch || !pool.ids || !pool.grams || !pool.columns || !pool.begins)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a pool of %zu items", n);
    *v = pool;
    read_pool(v, scratch);
    read_columns(v, weights && weights->n ? weights : NULL, scratch + 2 * n);
    sort_grams(v, scratch + 4 * n);
    k->state = v;
    return TFR_OK;
}

/* ---- a row ---- */

/* What is looked for in the vocabulary, and what was found; all arrays are workspace. */
typedef struct counter {
    const vocabulary *v;
    naive_tensor x;
    int64_t at, step; /* an element of x, or the first item of a gram in ids */
    int64_t *ids;     /* of the items of a row; -1 = not in the pool */
    int64_t *counts;  /* of the grams in order, 0 between rows */
    int64_t *found, n_found;
    int64_t *sums; /* of the columns */
} counter;

static int match_item(const void *context, int64_t item)
{
    const counter *c = context;
    int64_t a, b;

    if (c->v->strings)
        return naive_compare_strings((const tfr_string *)c->x.in + c->at,
                                     &c->v->strings->strings[item]);
    a = naive_read_int(&c->x, c->at);
    b = c->v->ints->ints[item];
    return (a > b) - (a < b);
}

static int match_gram(const void *context, int64_t item)
{
    const counter *c = context;
    const gram *g = &c->v->grams[item];
    int64_t i;

    for (i = 0; i < g->size; i++) {
        int64_t a = c->ids[c->at + i * c->step], b = c->v->ids[g->at + i];
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* Counts the grams of size n that start at c->at. */
static void count_gram(counter *c, int64_t n)
{
    const vocabulary *v = c->v;
    int64_t begin = v->begins[n], place, first;

    if (c->ids[c->at] < 0)
        return;
    place = naive_search(v->order + begin, v->begins[n + 1] - begin, match_gram, c);
    if (place < 0)
        return;
    first = v->grams[v->order[begin + place]].first;
    if (c->counts[first]++ == 0)
        c->found[c->n_found++] = first;
}

/* Sums up for the columns what row r has. */
static void count_row(counter *c, const lengths *l, int64_t r)
{
    const vocabulary *v = c->v;
    int64_t n, i, place;

    for (i = 0; i < l->row; i++) {
        c->at = r * l->row + i;
        place = naive_search(v->items, v->n_items, match_item, c);
        c->ids[i] = place < 0 ? -1 : v->ids[v->items[place]];
    }
    for (n = l->least; n <= l->most && n <= (int64_t)v->counts->n; n++)
        for (c->step = 1; v->begins[n] < v->begins[n + 1] && c->step <= widest_step(l, n);
             c->step++)
            for (c->at = 0; c->at + (n - 1) * c->step < l->row; c->at++)
                count_gram(c, n);
    for (i = 0; i < v->n_columns; i++)
        c->sums[i] = 0;
    while (c->n_found > 0) {
        int64_t first = c->found[--c->n_found];
        for (place = first; place < v->n_grams; place++) {
            const gram *g = &v->grams[v->order[place]];
            if (g->first != first)
                break;
            c->sums[g->slot] += c->counts[first] * g->times;
        }
        c->counts[first] = 0;
    }
}

static uint64_t tfidf_workspace(const tfr_call *call)
{
    return (uint64_t)(lengths_of(call).row + 3 * pool_of(call).n_items) * sizeof(int64_t);
}

static int32_t run_tfidf(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    const char *mode = tfr_call_string(&k->call, "mode", "TF");
    bool idf = strcmp(mode, "IDF") == 0, both = strcmp(mode, "TFIDF") == 0;
    const vocabulary *v = k->state;
    lengths l = lengths_of(&k->call);
    int64_t width = y->dims[y->rank - 1], rows = naive_product(y->dims, 0, y->rank - 1), r, i;
    int64_t *work = launch->workspace;
    counter c = {.v = v, .x = naive_input(k, launch, 0), .ids = work, .counts = work + l.row};
    float *py = naive_out(k, launch, 0);

    (void)err;
    c.found = c.counts + v->n_items;
    c.sums = c.found + v->n_items;
    for (i = 0; i < v->n_items; i++)
        c.counts[i] = 0;
    for (i = 0; i < rows * width; i++)
        py[i] = 0;
    for (r = 0; r < rows; r++) {
        count_row(&c, &l, r);
        for (i = 0; i < v->n_columns; i++) {
            float weight = v->columns[i].weight;
            if (idf)
                py[r * width + v->columns[i].index] = c.sums[i] ? weight : 0;
            else
                py[r * width + v->columns[i].index] =
                    (float)((double)c.sums[i] * (both ? (double)weight : 1));
        }
    }
    return TFR_OK;
}

const naive_op naive_tfidf_vectorizer_ops[] = {
    {.domain = "",
     .name = "TfIdfVectorizer",
     .since_version = 9,
     .supports = supports_tfidf,
     .run = run_tfidf,
     .workspace = tfidf_workspace,
     .prepare = prepare_tfidf},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather_nd.c: GatherND and ScatterND of any type of whole bytes: tuples of indices name blocks
 * that are copied as bytes, or reduced. Threads share out the tuples of GatherND; those of
 * ScatterND may meet, and go one after the other. Exporters write x[:, a:b] = y as a ScatterND
 * whose tuples are known: those that name blocks in even steps are one span.
 */
#include "elements.h"

#include <pthread.h>
#include <string.h>
#include <tfrun/fail.h>

#include "gather.h"
#include "scatter_fold.h"

enum { PART_BYTES = 16 * 1024 /* that a thread copies at once, at least */ };

typedef struct span {
    int64_t block, step, n; /* blocks block, block + step, ... */
} span;

typedef struct tuples {
    int depth;                  /* indices of a tuple */
    int64_t dims[TFR_MAX_RANK]; /* that they index */
    int64_t n, of_batch;        /* tuples, and of them in a batch */
    size_t inner, bytes;        /* of a block and of the data */
    bool wide, scatters;
    native_scatter_fold fold; /* of a scatter with a reduction */
    int64_t block;            /* and elements of a block */
    const void *known[3];
    span *spans; /* of known tuples of a scatter; or NULL */
    int64_t n_spans;
} tuples;

typedef struct work {
    const tuples *t;
    const void *indices;
    const char *from;
    char *to;
    pthread_mutex_t lock; /* of what follows */
    native_bad_index bad;
    bool failed;
} work;

/* The block that tuple i names; -1 = an index is out of range, and noted. */
static int64_t block_of(work *w, int64_t i)
{
    const tuples *t = w->t;
    int64_t at = t->scatters ? 0 : i / t->of_batch;
    int d;

    for (d = 0; d < t->depth; d++) {
        const int64_t position = i * t->depth + d, dim = t->dims[d];
        const int64_t given = t->wide ? ((const int64_t *)w->indices)[position]
                                      : ((const int32_t *)w->indices)[position];
        const int64_t index = given < 0 ? given + dim : given;
        if (index < 0 || index >= dim) {
            pthread_mutex_lock(&w->lock);
            if (!w->failed || position < w->bad.position)
                w->bad = (native_bad_index){given, position, dim};
            w->failed = true;
            pthread_mutex_unlock(&w->lock);
            return -1;
        }
        at = at * dim + index;
    }
    return at;
}

static void run_tuples(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const size_t inner = w->t->inner;

    for (; begin < end; begin++) {
        const int64_t block = block_of(w, begin);
        if (block < 0)
            return;
        if (w->t->fold)
            w->t->fold(w->to + (size_t)block * inner, w->from + (size_t)begin * inner, NULL,
                       w->t->block);
        else if (w->t->scatters)
            memcpy(w->to + (size_t)block * inner, w->from + (size_t)begin * inner, inner);
        else if (inner == 4) /* what detectors gather, scores by class and box */
            memcpy(w->to + (size_t)begin * 4, w->from + (size_t)block * 4, 4);
        else
            memcpy(w->to + (size_t)begin * inner, w->from + (size_t)block * inner, inner);
    }
}

#define COPY_SPAN(type)                                                                            \
    for (i = 0; i < s->n; i++)                                                                     \
        memcpy(to + i * step, from + (size_t)i * sizeof(type), sizeof(type));                      \
    break;

static void copy_span(const span *s, size_t inner, const char *from, char *to)
{
    const int64_t step = s->step * (int64_t)inner;
    int64_t i;

    to += s->block * (int64_t)inner;
    switch (s->step == 1 ? 0 : inner) {
    case 0:
        memcpy(to, from, (size_t)s->n * inner);
        break;
    case 4:
        COPY_SPAN(uint32_t)
    case 8:
        COPY_SPAN(uint64_t)
    default:
        for (i = 0; i < s->n; i++)
            memcpy(to + i * step, from + (size_t)i * inner, inner);
    }
}

static void run_spans(const tuples *t, const char *from, char *to)
{
    int64_t i;

    for (i = 0; i < t->n_spans; i++) {
        copy_span(&t->spans[i], t->inner, from, to);
        from += (size_t)t->spans[i].n * t->inner;
    }
}

/* As x[:] = y does. */
static bool writes_all(const tuples *t)
{
    return t->n_spans == 1 && t->spans[0].step == 1 && (size_t)t->spans[0].n * t->inner == t->bytes;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const tuples *t = user;
    const void *args[3];
    work w = {.t = t, .lock = PTHREAD_MUTEX_INITIALIZER};
    int i;

    for (i = 0; i < 2 + t->scatters; i++)
        args[i] = launch->args[i].address ? launch->args[i].address : t->known[i];
    w.indices = args[1];
    w.from = args[t->scatters ? 2 : 0];
    w.to = launch->args[2 + t->scatters].address;
    if (t->scatters && w.to != args[0] && !writes_all(t))
        memcpy(w.to, args[0], t->bytes);
    if (t->spans)
        run_spans(t, w.from, w.to);
    else if (t->scatters || (size_t)t->n * t->inner <= PART_BYTES)
        run_tuples(&w, 0, t->inner ? t->n : 0);
    else
        device->host->parallel_for(run_tuples, &w, t->n, (int64_t)(PART_BYTES / t->inner) + 1);
    if (!w.failed)
        return TFR_OK;
    return t->scatters ? tfr_fail(err, TFR_EINVAL,
                                  "scatter index %lld at position %lld is outside [-%lld, %lld)",
                                  (long long)w.bad.index, (long long)w.bad.position,
                                  (long long)w.bad.dim, (long long)w.bad.dim)
                       : native_gather_fail(&w.bad, err);
}

void native_tuples_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    (void)device;
    if (!native_gather_fits(call))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only int32 and int64 indices of elements of whole bytes are done here");
    else if (native_scatter_folds(call, answer) && !tfr_operand_elements(tfr_call_input(call, 1)))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "no indices are left to naive");
}

/* Finds them, and writes as many as there is room for; 0 = an index is out of range. */
static int64_t find_spans(const tuples *t, span *spans, int64_t room)
{
    work w = {.t = t, .indices = t->known[1], .lock = PTHREAD_MUTEX_INITIALIZER};
    span s = {0, 1, 0};
    int64_t n = 0, i;

    for (i = 0; i < t->n; i++) {
        const int64_t block = block_of(&w, i), step = block - s.block;
        if (block < 0)
            return 0;
        if (s.n == 1 || (s.n > 1 && step == s.step * s.n)) {
            s.step = s.n == 1 ? step : s.step;
            s.n++;
            continue;
        }
        if (s.n && n < room)
            spans[n] = s;
        n += s.n > 0;
        s = (span){block, 1, 1};
    }
    if (s.n && n < room)
        spans[n] = s;
    return n + (s.n > 0);
}

static void keep_spans(native_build *b, tuples *t)
{
    const int64_t n = find_spans(t, NULL, 0);

    if (n == 0 || n > t->n / 4 + 1)
        return;
    t->spans = native_add_block(b, (size_t)n * sizeof *t->spans);
    if (t->spans)
        t->n_spans = find_spans(t, t->spans, n);
}

void native_tuples_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *indices = tfr_call_input(call, 1);
    const int batch_dims = (int)tfr_call_int(call, "batch_dims", 0);
    const size_t width = (size_t)tfr_dtype_bits(x->dtype) / 8;
    tuples *t = native_set_function(b, run, NULL, sizeof *t, "tuples");
    uint32_t i;

    if (!t)
        return;
    t->scatters = call->n_inputs > 2;
    t->fold = native_scatter_fold_of(call);
    t->block = tfr_operand_span(x, batch_dims + (int)indices->dims[indices->rank - 1], x->rank);
    t->depth = (int)indices->dims[indices->rank - 1];
    memcpy(t->dims, x->dims + batch_dims, (size_t)t->depth * sizeof *t->dims);
    t->n = tfr_operand_span(indices, 0, indices->rank - 1);
    t->of_batch = t->n / tfr_operand_span(x, 0, batch_dims);
    t->inner = (size_t)tfr_operand_span(x, batch_dims + t->depth, x->rank) * width;
    t->bytes = (size_t)tfr_operand_elements(x) * width;
    t->wide = indices->dtype == TFR_DTYPE_I64;
    for (i = 0; i < call->n_inputs && i < 3; i++)
        t->known[i] = tfr_call_input(call, i)->data;
    if (t->scatters && !t->fold && t->known[1] && t->inner)
        keep_spans(b, t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather_elements.c: GatherElements and ScatterElements of any type of whole bytes. Elements whose
 * indices meet differ in the coordinate along the axis alone, so threads share out another dim, and
 * the last of equal indices wins, or updates follow each other, as in one loop; a scatter along the
 * only dim is one part. A line along the last dim is a loop for each size of elements, or the
 * reduction's: parts of it are as long as the number of threads permits, for each part goes through
 * all of the lines.
 */
#include "elements.h"

#include <pthread.h>
#include <string.h>
#include <tfrun/fail.h>

#include "gather.h"
#include "scatter_fold.h"

enum {
    PART = 8 * 1024, /* elements that a thread moves at once, at least */
    PLACES = 256     /* that are checked before their elements are reduced */
};

typedef struct elements {
    int rank, axis, split;         /* split: the dim that threads share out */
    int64_t dims[TFR_MAX_RANK];    /* of the indices */
    int64_t strides[TFR_MAX_RANK]; /* of the data, in elements */
    int64_t dim, n_data;           /* of the data: at the axis, elements */
    int width;                     /* bytes of an element */
    bool wide, scatters;
    native_scatter_fold fold; /* of a scatter with a reduction */
    const void *known[3];
} elements;

typedef struct work {
    const elements *e;
    const void *indices;
    const char *from; /* data, or updates */
    char *to;
    pthread_mutex_t lock; /* of what follows */
    native_bad_index bad;
    bool failed;
} work;

static void note_bad(work *w, int64_t index, int64_t position)
{
    pthread_mutex_lock(&w->lock);
    if (!w->failed || position < w->bad.position)
        w->bad = (native_bad_index){index, position, w->e->dim};
    w->failed = true;
    pthread_mutex_unlock(&w->lock);
}

static int64_t index_at(const elements *e, const void *indices, int64_t i)
{
    return e->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* Elements [first, end) of the last dim, whose others are at `at` in the indices and `base` in the
 * data; `from` and `to` are theirs. Answers the place of an index that is out of range, or end. */
#define LINE(type, index)                                                                          \
    static int64_t line_##type##_##index(const work *w, int64_t at, int64_t base, int64_t first,   \
                                         int64_t end)                                              \
    {                                                                                              \
        const elements *e = w->e;                                                                  \
        const int64_t step = e->axis == e->rank - 1 ? 0 : 1, dim = e->dim;                         \
        const int64_t stride = e->strides[e->axis];                                                \
        const index *restrict indices = (const index *)w->indices + at;                            \
        const type *restrict from =                                                                \
            (const type *)(const void *)w->from + (e->scatters ? at : base);                       \
        type *restrict to = (type *)(void *)w->to + (e->scatters ? base : at);                     \
        int64_t i, row = 0;                                                                        \
        for (i = first; e->scatters && i < end; i++) {                                             \
            row = indices[i] + (indices[i] < 0 ? dim : 0);                                         \
            if ((uint64_t)row >= (uint64_t)dim)                                                    \
                return i;                                                                          \
            to[row * stride + i * step] = from[i];                                                 \
        }                                                                                          \
        for (i = first; !e->scatters && i < end; i++) {                                            \
            row = indices[i] + (indices[i] < 0 ? dim : 0);                                         \
            if ((uint64_t)row >= (uint64_t)dim)                                                    \
                return i;                                                                          \
            to[i] = from[row * stride + i * step];                                                 \
        }                                                                                          \
        return end;                                                                                \
    }

typedef struct pair {
    uint64_t half[2];
} pair;
LINE(uint8_t, int32_t)
LINE(uint16_t, int32_t)
LINE(uint32_t, int32_t)
LINE(uint64_t, int32_t)
LINE(pair, int32_t)
LINE(uint8_t, int64_t)
LINE(uint16_t, int64_t)
LINE(uint32_t, int64_t)
LINE(uint64_t, int64_t)
LINE(pair, int64_t)

/* Are the n > 0 indices from `at` on all the same: each as the one before it? */
static bool same_indices(const elements *e, const void *indices, int64_t at, int64_t n)
{
    const size_t width = e->wide ? 8 : 4;
    const char *first = (const char *)indices + (size_t)at * width;

    return memcmp(first, first + width, (size_t)(n - 1) * width) == 0;
}

/*
 * Graph networks expand the indices of nodes over their features: then a line has one index, and is
 * added to another one.
 */
static bool fold_line(work *w, int64_t at, int64_t base, int64_t first, int64_t end)
{
    const elements *e = w->e;
    const int64_t stride = e->strides[e->axis], step = e->axis == e->rank - 1 ? 0 : 1;
    const bool one = step && same_indices(e, w->indices, at + first, end - first);
    int64_t places[PLACES], n, i;

    for (; first < end; first += n) {
        n = one ? end - first : end - first < PLACES ? end - first : PLACES;
        for (i = 0; i < (one ? 1 : n); i++) {
            const int64_t given = index_at(e, w->indices, at + first + i);
            const int64_t row = given < 0 ? given + e->dim : given;
            if (row < 0 || row >= e->dim) {
                note_bad(w, given, at + first + i);
                return false;
            }
            places[i] = base + row * stride + (first + i) * step;
        }
        e->fold(w->to + (one ? places[0] * e->width : 0), w->from + (at + first) * e->width,
                one ? NULL : places, n);
    }
    return true;
}

/* False: an index is out of range. */
static bool run_line(work *w, int64_t at, int64_t base, int64_t first, int64_t end)
{
    static int64_t (*const lines[2][5])(const work *, int64_t, int64_t, int64_t, int64_t) = {
        {line_uint8_t_int32_t, line_uint16_t_int32_t, line_uint32_t_int32_t, line_uint64_t_int32_t,
         line_pair_int32_t},
        {line_uint8_t_int64_t, line_uint16_t_int64_t, line_uint32_t_int64_t, line_uint64_t_int64_t,
         line_pair_int64_t}};
    const elements *e = w->e;
    int64_t done;
    int width = 0;

    if (e->fold)
        return fold_line(w, at, base, first, end);
    while (1 << width < e->width)
        width++;
    done = lines[e->wide][width](w, at, base, first, end);
    if (done < end)
        note_bad(w, index_at(e, w->indices, at + done), at + done);
    return done >= end;
}

/* Those whose coordinate of the split dim is in [begin, end), line by line in order. */
static void run_part(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const elements *e = w->e;
    const int last = e->rank - 1;
    int64_t low[TFR_MAX_RANK] = {0}, high[TFR_MAX_RANK], index[TFR_MAX_RANK];
    int d;

    memcpy(high, e->dims, sizeof high);
    low[e->split] = begin;
    high[e->split] = end;
    memcpy(index, low, sizeof index);
    for (;;) {
        int64_t at = 0, base = 0;
        for (d = 0; d < last; d++) {
            at = at * e->dims[d] + index[d];
            base += d == e->axis ? 0 : index[d] * e->strides[d];
        }
        if (!run_line(w, at * e->dims[last], base, low[last], high[last]))
            return;
        for (d = last - 1; d >= 0 && ++index[d] == high[d]; d--)
            index[d] = low[d];
        if (d < 0)
            return;
    }
}

/* How much of the split dim a part has. */
static int64_t part_of(const tfr_plugin_device *device, const elements *e, int64_t n)
{
    const int64_t all = e->dims[e->split], least = PART / (n / all) + 1;
    const int64_t even = (all + device->threads - 1) / device->threads;

    return e->split == e->rank - 1 && even > least ? even : least;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const elements *e = user;
    const void *args[3];
    work w = {.e = e, .lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t n = 1;
    int i;

    for (i = 0; i < 2 + e->scatters; i++)
        args[i] = launch->args[i].address ? launch->args[i].address : e->known[i];
    w.indices = args[1];
    w.from = args[e->scatters ? 2 : 0];
    w.to = launch->args[2 + e->scatters].address;
    if (e->scatters && w.to != args[0])
        memcpy(w.to, args[0], (size_t)e->n_data * (size_t)e->width);
    for (i = 0; i < e->rank; i++)
        n *= e->dims[i];
    if (n && (n <= PART || (e->scatters && e->split == e->axis)))
        run_part(&w, 0, e->dims[e->split]);
    else if (n)
        device->host->parallel_for(run_part, &w, e->dims[e->split], part_of(device, e, n));
    if (!w.failed)
        return TFR_OK;
    return e->scatters ? tfr_fail(err, TFR_EINVAL,
                                  "scatter index %lld at position %lld is outside [-%lld, %lld)",
                                  (long long)w.bad.index, (long long)w.bad.position,
                                  (long long)w.bad.dim, (long long)w.bad.dim)
                       : native_gather_fail(&w.bad, err);
}

void native_elements_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *i = tfr_call_input(call, 1);
    const int axis = native_gather_axis(call);
    int d;

    (void)device;
    if (!native_gather_fits(call) || tfr_dtype_bits(x->dtype) > 128) {
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only int32 and int64 indices of elements of whole bytes are done here");
        return;
    }
    if (!native_scatter_folds(call, answer))
        return;
    for (d = 0; d < x->rank; d++)
        if (d != axis && i->dims[d] > x->dims[d]) {
            tfr_decline(answer, TFR_REASON_LAYOUT,
                        "dim %d of the indices is larger than the data's", d);
            return;
        }
}

void native_elements_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *indices = tfr_call_input(call, 1);
    elements *e = native_set_function(b, run, NULL, sizeof *e, "elements");
    uint32_t i;
    int d;

    if (!e)
        return;
    e->rank = x->rank;
    e->axis = native_gather_axis(call);
    e->scatters = call->n_inputs > 2;
    e->fold = native_scatter_fold_of(call);
    e->dim = x->dims[e->axis];
    e->n_data = tfr_operand_elements(x);
    e->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    e->wide = indices->dtype == TFR_DTYPE_I64;
    for (d = x->rank - 1; d >= 0; d--) {
        e->dims[d] = indices->dims[d];
        e->strides[d] = d == x->rank - 1 ? 1 : e->strides[d + 1] * x->dims[d + 1];
    }
    /* Last dims of 1 would make each line one element. */
    while (e->rank - 1 > e->axis && e->dims[e->rank - 1] == 1 && e->strides[e->rank - 2] == 1)
        e->rank--;
    e->split = e->axis; /* of one dim: then it is one part */
    for (d = e->rank - 1; d >= 0; d--)
        if (d != e->axis && (e->split == e->axis || e->dims[d] > 1))
            e->split = d;
    for (i = 0; i < call->n_inputs && i < 3; i++)
        e->known[i] = tfr_call_input(call, i)->data;
}

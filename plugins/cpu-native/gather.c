/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.c: Gather of any type of whole bytes, along any axis, and ArrayFeatureExtractor, which is
 * Gather along the last one. The first index outside of [-dim, dim) is the error.
 */
#include "gather.h"

#include <pthread.h>
#include <string.h>
#include <tfrun/fail.h>

#include "copy_rows.h"

enum { PART_BYTES = 16 * 1024 /* that a thread copies at once, at least */ };

bool native_gather_fits(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *i = tfr_call_input(call, 1);

    return x->rank > 0 && x->dtype != TFR_DTYPE_STRING && tfr_dtype_bits(x->dtype) % 8 == 0 &&
           (i->dtype == TFR_DTYPE_I32 || i->dtype == TFR_DTYPE_I64);
}

int native_gather_axis(const tfr_call *call)
{
    const int64_t axis = tfr_call_int(call, "axis", call->name[0] == 'A' ? -1 : 0);

    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

static int64_t index_at(const native_gather *g, const void *indices, int64_t i)
{
    return g->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* The places of n indices from number `first` on; false: one is outside, and noted. */
static bool find_places(const native_gather *g, const void *indices, int64_t first, int n,
                        int64_t *places, native_bad_index *bad)
{
    int i;

    for (i = 0; i < n; i++) {
        const int64_t given = index_at(g, indices, first + i);
        places[i] = given < 0 ? given + g->dim : given;
        if (places[i] < 0 || places[i] >= g->dim) {
            *bad = (native_bad_index){given, first + i, g->dim};
            return false;
        }
    }
    return true;
}

#define COPY_PLACES(type)                                                                          \
    for (i = 0; i < n; i++)                                                                        \
        memcpy(to + (size_t)i * sizeof(type), from + (size_t)places[i] * sizeof(type),             \
               sizeof(type));                                                                      \
    break;

static void copy_places(int64_t inner, const char *from, const int64_t *places, int n, char *to)
{
    int i;

    switch (inner) {
    case 1:
        COPY_PLACES(uint8_t)
    case 2:
        COPY_PLACES(uint16_t)
    case 4:
        COPY_PLACES(uint32_t)
    case 8:
        COPY_PLACES(uint64_t)
    default:
        for (i = 0; i < n; i++)
            native_copy_rows(from + places[i] * inner, 0, to + i * inner, 0, inner, 1);
    }
}

enum { AT_ONCE = 128 };

bool native_gather_rows(const native_gather *g, const void *x, const void *indices, void *y,
                        int64_t begin, int64_t end, native_bad_index *bad)
{
    const bool few = g->n_indices <= AT_ONCE; /* they are found once */
    int64_t places[AT_ONCE];
    int n;

    if (few && begin < end && g->inner > 0 &&
        !find_places(g, indices, 0, (int)g->n_indices, places, bad))
        return false;
    for (; begin < end && g->inner > 0; begin += n) {
        const int64_t first = begin % g->n_indices, left = g->n_indices - first;
        const int64_t most = left < end - begin ? left : end - begin;
        n = (int)(most < AT_ONCE ? most : AT_ONCE);
        if (!few && !find_places(g, indices, first, n, places, bad))
            return false;
        copy_places(g->inner, (const char *)x + begin / g->n_indices * g->dim * g->inner,
                    places + (few ? first : 0), n, (char *)y + begin * g->inner);
    }
    return true;
}

int32_t native_gather_fail(const native_bad_index *bad, tfr_err *err)
{
    return tfr_fail(err, TFR_EINVAL, "gather index %lld at position %lld is outside [-%lld, %lld)",
                    (long long)bad->index, (long long)bad->position, (long long)bad->dim,
                    (long long)bad->dim);
}

/* ---- the kernel ---- */

typedef struct state {
    native_gather gather;
    const void *known_x, *known_indices;
    int64_t rows;
} state;

typedef struct work {
    const state *state;
    const void *x, *indices;
    void *y;
    pthread_mutex_t lock; /* of what follows */
    native_bad_index bad;
    bool failed;
} work;

static void run_rows(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    native_bad_index bad;

    if (native_gather_rows(&w->state->gather, w->x, w->indices, w->y, begin, end, &bad))
        return;
    pthread_mutex_lock(&w->lock);
    if (!w->failed || bad.position < w->bad.position)
        w->bad = bad;
    w->failed = true;
    pthread_mutex_unlock(&w->lock);
}

static int32_t run_gather(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                          tfr_err *err)
{
    const state *s = user;
    work w = {.state = s,
              .x = launch->args[0].address,
              .indices = launch->args[1].address,
              .y = launch->args[2].address,
              .lock = PTHREAD_MUTEX_INITIALIZER};

    if (!w.x)
        w.x = s->known_x;
    if (!w.indices)
        w.indices = s->known_indices;
    if (s->rows * s->gather.inner <= PART_BYTES)
        run_rows(&w, 0, s->rows);
    else
        device->host->parallel_for(run_rows, &w, s->rows,
                                   PART_BYTES / s->gather.inner + (PART_BYTES < s->gather.inner));
    return w.failed ? native_gather_fail(&w.bad, err) : TFR_OK;
}

void native_gather_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    (void)device;
    if (!native_gather_fits(call))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only int32 and int64 indices of elements of whole bytes are done here");
}

void native_gather_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *indices = tfr_call_input(call, 1);
    int axis = native_gather_axis(call);
    state *s = native_set_function(b, run_gather, NULL, sizeof *s, "gather");

    if (!s)
        return;
    s->gather.dim = x->dims[axis];
    s->gather.n_indices = (int64_t)tfr_operand_elements(indices);
    s->gather.inner = tfr_operand_span(x, axis + 1, x->rank) * (tfr_dtype_bits(x->dtype) / 8);
    s->gather.wide = indices->dtype == TFR_DTYPE_I64;
    s->known_x = x->data;
    s->known_indices = indices->data;
    s->rows = tfr_operand_span(x, 0, axis) * s->gather.n_indices;
}

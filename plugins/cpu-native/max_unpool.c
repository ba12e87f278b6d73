/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_unpool.c: MaxUnpool of elements of two to eight bytes. Threads share the planes, as long as
 * indices stay in the plane that they belong to, which those of MaxPool do; where one does not, all
 * is done again in one loop, so that the last of equal indices wins as in naive.
 */
#include <stdatomic.h>
#include <string.h>

#include "window.h"

enum { PART_BYTES = 32 * 1024 /* that a thread writes at once, at least */ };

typedef struct state {
    int32_t rank;
    int width;
    bool same;                                         /* indices count the output as it is */
    int64_t counted[TFR_MAX_RANK], dims[TFR_MAX_RANK]; /* what indices count, and Y */
    int64_t planes, x_plane, y_plane, n_counted;
    const void *known[2];
} state;

typedef struct work {
    const state *s;
    const char *x;
    const int64_t *indices;
    char *y;
    atomic_bool strayed;
} work;

/* Where an index lies in Y, -1 = not in it. */
static int64_t place_of(const state *s, int64_t index)
{
    int64_t at = 0, step = 1;
    int32_t d;

    if (index < 0 || index >= s->n_counted)
        return -1;
    if (s->same)
        return index;
    for (d = s->rank - 1; d >= 0; d--) {
        const int64_t i = index % s->counted[d];
        if (i >= s->dims[d])
            return -1;
        at += i * step;
        step *= s->dims[d];
        index /= s->counted[d];
    }
    return at;
}

static void move(int width, char *y, int64_t to, const char *x, int64_t from)
{
    if (width == 2)
        memcpy(y + to * 2, x + from * 2, 2);
    else if (width == 4)
        memcpy(y + to * 4, x + from * 4, 4);
    else
        memcpy(y + to * 8, x + from * 8, 8);
}

/* Where indices count Y itself. False: one is outside of [low, high). */
#define SCATTER(type)                                                                              \
    static bool scatter_##type(const work *w, int64_t i, int64_t end, int64_t low, int64_t high)   \
    {                                                                                              \
        const type *x = (const type *)(const void *)w->x;                                          \
        type *y = (type *)(void *)w->y;                                                            \
        for (; i < end; i++) {                                                                     \
            const int64_t at = w->indices[i];                                                      \
            if (at < low || at >= high)                                                            \
                return false;                                                                      \
            y[at] = x[i];                                                                          \
        }                                                                                          \
        return true;                                                                               \
    }
SCATTER(uint16_t)
SCATTER(uint32_t)
SCATTER(uint64_t)

static bool scatter(const work *w, int64_t i, int64_t end, int64_t low, int64_t high)
{
    const state *s = w->s;

    if (s->same)
        return s->width == 2   ? scatter_uint16_t(w, i, end, low, high)
               : s->width == 4 ? scatter_uint32_t(w, i, end, low, high)
                               : scatter_uint64_t(w, i, end, low, high);
    for (; i < end; i++) {
        const int64_t at = place_of(s, w->indices[i]);
        if (at < low || at >= high)
            return false;
        move(s->width, w->y, at, w->x, i);
    }
    return true;
}

static void run_planes(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        const int64_t low = begin * s->y_plane, high = low + s->y_plane;
        memset(w->y + low * s->width, 0, (size_t)(s->y_plane * s->width));
        if (!scatter(w, begin * s->x_plane, (begin + 1) * s->x_plane, low, high)) {
            atomic_store_explicit(&w->strayed, true, memory_order_relaxed);
            return;
        }
    }
}

static int32_t run_in_order(const work *w, tfr_err *err)
{
    const state *s = w->s;
    int64_t i;

    memset(w->y, 0, (size_t)(s->planes * s->y_plane * s->width));
    for (i = 0; i < s->planes * s->x_plane; i++) {
        const int64_t at = place_of(s, w->indices[i]);
        if (at < 0)
            return tfr_fail(err, TFR_EINVAL,
                            "unpool index %lld at position %lld is outside the output",
                            (long long)w->indices[i], (long long)i);
        move(s->width, w->y, at, w->x, i);
    }
    return TFR_OK;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s};

    w.x = launch->args[0].address ? launch->args[0].address : s->known[0];
    w.indices = launch->args[1].address ? launch->args[1].address : s->known[1];
    w.y = launch->args[launch->n_args - 1].address;
    atomic_init(&w.strayed, false);
    if (s->planes * s->y_plane * s->width <= PART_BYTES)
        run_planes(&w, 0, s->planes);
    else
        device->host->parallel_for(run_planes, &w, s->planes,
                                   PART_BYTES / (s->y_plane * s->width) + 1);
    return atomic_load(&w.strayed) ? run_in_order(&w, err) : TFR_OK;
}

/* False: left to naive. */
static bool read_call(state *s, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    native_window w;
    int32_t d;

    if (x->rank < 3 || y->rank != x->rank || !native_window_read(&w, call, x->rank - 2, NULL))
        return false;
    s->rank = x->rank;
    s->same = true;
    s->n_counted = 1;
    for (d = 0; d < s->rank; d++) {
        s->dims[d] = y->dims[d];
        s->counted[d] = d < 2 ? x->dims[d]
                              : (x->dims[d] - 1) * w.stride[d - 2] + w.kernel[d - 2] -
                                    w.pad[d - 2] - w.pad_end[d - 2];
        if (s->counted[d] < 1 || s->counted[d] > INT32_MAX)
            return false;
        s->n_counted *= s->counted[d];
        if (s->n_counted > INT32_MAX)
            return false;
        s->same = s->same && s->counted[d] == s->dims[d];
    }
    s->planes = x->dims[0] * x->dims[1];
    s->x_plane = tfr_operand_elements(x) / s->planes;
    s->y_plane = tfr_operand_elements(y) / s->planes;
    return true;
}

void native_max_unpool_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    state s;

    (void)device;
    if (native_has_type(call, answer) && !read_call(&s, call))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a window of this kind is left to naive");
}

void native_max_unpool_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "max_unpool");

    if (!s)
        return;
    read_call(s, call);
    s->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    s->known[0] = x->data;
    s->known[1] = tfr_call_input(call, 1)->data;
}

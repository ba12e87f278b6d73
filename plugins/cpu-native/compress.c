/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress.c: Compress of elements of whole bytes. Rows that are kept are listed, then threads copy
 * them. Single elements need no list: threads count what their part keeps, and then write it from
 * where the parts before end; an element that is not kept is written over by the next one, so
 * there is no branch for each.
 */
#include "select.h"

#include <string.h>

enum { PART = 16 * 1024 /* elements, or bytes of rows, of a thread, at least */, PARTS = 64 };

typedef struct state {
    int64_t outer, n, kept_of, inner; /* inner: bytes; kept_of: how many have a condition */
    int32_t rank, axis;               /* of the output */
    int64_t dims[TFR_MAX_RANK];
    const void *known[2];
} state;

typedef struct work {
    const state *s;
    const char *from;
    const uint8_t *keep;
    char *to;
    int64_t parts, first[PARTS + 1]; /* of the parts of single elements, in the output */
    const int64_t *list;             /* of rows */
    int64_t count;
} work;

static int64_t begin_of(const work *w, int64_t part)
{
    return w->s->kept_of * part / w->parts;
}

static void count_parts(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    int64_t j;

    for (; begin < end; begin++) {
        int64_t count = 0;
        for (j = begin_of(w, begin); j < begin_of(w, begin + 1); j++)
            count += w->keep[j] != 0;
        w->first[begin + 1] = count;
    }
}

#define KEEP(type)                                                                                 \
    static void keep_##type(const work *w, int64_t j, int64_t at, int64_t end)                     \
    {                                                                                              \
        const type *from = (const type *)(const void *)w->from;                                    \
        type *to = (type *)(void *)w->to;                                                          \
        for (; at < end; j++) {                                                                    \
            to[at] = from[j];                                                                      \
            at += w->keep[j] != 0;                                                                 \
        }                                                                                          \
    }
typedef struct pair {
    uint64_t half[2];
} pair;
KEEP(uint8_t)
KEEP(uint16_t)
KEEP(uint32_t)
KEEP(uint64_t)
KEEP(pair)

static void keep_parts(void *user, int64_t begin, int64_t end)
{
    const work *w = user;

    for (; begin < end; begin++) {
        const int64_t j = begin_of(w, begin), at = w->first[begin], stop = w->first[begin + 1];
        if (w->s->inner == 1)
            keep_uint8_t(w, j, at, stop);
        else if (w->s->inner == 2)
            keep_uint16_t(w, j, at, stop);
        else if (w->s->inner == 4)
            keep_uint32_t(w, j, at, stop);
        else if (w->s->inner == 8)
            keep_uint64_t(w, j, at, stop);
        else
            keep_pair(w, j, at, stop);
    }
}

static void copy_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        const int64_t row = begin / w->count * s->n + w->list[begin % w->count];
        memcpy(w->to + begin * s->inner, w->from + row * s->inner, (size_t)s->inner);
    }
}

static bool is_single(const state *s)
{
    return s->outer == 1 && s->inner <= 16 && (s->inner & (s->inner - 1)) == 0;
}

static void run_single(const tfr_plugin_device *device, work *w)
{
    int64_t i;

    w->parts = w->s->kept_of / PART;
    w->parts = w->parts < 1                 ? 1
               : w->parts > PARTS           ? PARTS
               : w->parts > device->threads ? device->threads
                                            : w->parts;
    w->first[0] = 0;
    if (w->parts > 1)
        device->host->parallel_for(count_parts, w, w->parts, 1);
    else
        count_parts(w, 0, 1);
    for (i = 0; i < w->parts; i++)
        w->first[i + 1] += w->first[i];
    w->count = w->first[w->parts];
    if (w->parts > 1)
        device->host->parallel_for(keep_parts, w, w->parts, 1);
    else
        keep_parts(w, 0, 1);
}

static void run_rows(const tfr_plugin_device *device, work *w, int64_t *list)
{
    const state *s = w->s;
    int64_t j;

    w->list = list;
    for (j = 0; j < s->kept_of; j++) {
        list[w->count] = j;
        w->count += w->keep[j] != 0;
    }
    if (w->count * s->outer * s->inner <= PART)
        copy_rows(w, 0, w->count * s->outer);
    else
        device->host->parallel_for(copy_rows, w, w->count * s->outer, PART / s->inner + 1);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const tfr_arg *y = &launch->args[2];
    work w = {.s = s, .to = y->address};

    (void)err;
    w.from = launch->args[0].address ? launch->args[0].address : s->known[0];
    w.keep = launch->args[1].address ? launch->args[1].address : s->known[1];
    if (is_single(s))
        run_single(device, &w);
    else
        run_rows(device, &w, launch->workspace);
    if (!y->dims)
        return TFR_OK;
    memcpy(y->dims, s->dims, (size_t)s->rank * sizeof *y->dims);
    y->dims[s->axis] = w.count;
    return TFR_OK;
}

void native_compress_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    (void)device;
    if (native_has_type(call, answer))
        answer->workspace_bytes =
            (size_t)tfr_operand_elements(tfr_call_input(call, 1)) * sizeof(int64_t);
}

void native_compress_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *keep = tfr_call_input(call, 1);
    const tfr_attr *axis = tfr_call_attr(call, "axis");
    state *s = native_set_function(b, run, NULL, sizeof *s, "compress");

    if (!s)
        return;
    native_select_lanes(x, axis, &s->outer, &s->n, &s->inner);
    s->kept_of = tfr_operand_elements(keep) < s->n ? tfr_operand_elements(keep) : s->n;
    s->rank = axis ? x->rank : 1;
    s->axis = axis ? (int32_t)axis->ints[0] : 0;
    if (axis)
        memcpy(s->dims, x->dims, (size_t)x->rank * sizeof *s->dims);
    s->known[0] = x->data;
    s->known[1] = keep->data;
}

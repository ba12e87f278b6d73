/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_scatter.c: TensorScatter of elements of whole bytes: lines of the cache are copied around
 * what the update brings, which is one piece, or two where a circular cache goes on at its front.
 * Threads share the lines. A cache that is written where it lies is not copied.
 */
#include "move.h"

#include <string.h>

enum { PART_BYTES = 64 * 1024 /* that a thread copies at once, at least */ };

typedef struct state {
    int64_t lines, per_sample, samples;
    int64_t n, length, inner; /* positions of the cache and of the update; bytes of one */
    bool circular, has_indices;
    const void *known[3];
} state;

typedef struct work {
    const state *s;
    const char *past, *update;
    const int64_t *indices;
    char *to;
} work;

static int32_t check_indices(const work *w, tfr_err *err)
{
    const state *s = w->s;
    int64_t b;

    for (b = 0; b < s->samples; b++) {
        const int64_t start = w->indices ? w->indices[b] : 0;
        if (start < 0 || (!s->circular && start > s->n - s->length))
            return tfr_fail(err, TFR_EINVAL,
                            "write_indices[%lld] is %lld, an update of %lld positions in a cache "
                            "of %lld wants %s",
                            (long long)b, (long long)start, (long long)s->length, (long long)s->n,
                            s->circular ? "0 or more" : "one with room behind it");
    }
    return TFR_OK;
}

/* Positions [begin, end) as they were. */
static void keep(const state *s, char *to, const char *past, int64_t begin, int64_t end)
{
    if (to != past && begin < end)
        memcpy(to + begin * s->inner, past + begin * s->inner, (size_t)((end - begin) * s->inner));
}

static void run_lines(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        const char *past = w->past + begin * s->n * s->inner;
        const char *update = w->update + begin * s->length * s->inner;
        char *to = w->to + begin * s->n * s->inner;
        const int64_t given = w->indices ? w->indices[begin / s->per_sample] : 0;
        /* Of a longer update than the cache the end is left. */
        const int64_t over = s->length > s->n ? s->length - s->n : 0;
        const int64_t start = (given % s->n + over % s->n) % s->n, length = s->length - over;
        const int64_t first = length < s->n - start ? length : s->n - start;
        const int64_t second = length - first;
        keep(s, to, past, second, start);
        keep(s, to, past, start + first, s->n);
        update += over * s->inner;
        memcpy(to + start * s->inner, update, (size_t)(first * s->inner));
        memcpy(to, update + first * s->inner, (size_t)(second * s->inner));
    }
}

static const void *operand(const state *s, const tfr_launch *launch, int i)
{
    return launch->args[i].address ? launch->args[i].address : s->known[i];
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const int64_t line = s->n * s->inner;
    work w = {.s = s, .to = launch->args[launch->n_args - 1].address};
    int32_t status;

    w.past = operand(s, launch, 0);
    w.update = operand(s, launch, 1);
    w.indices = s->has_indices ? operand(s, launch, 2) : NULL;
    status = check_indices(&w, err);
    if (status)
        return status;
    if (s->lines * line <= PART_BYTES)
        run_lines(&w, 0, s->lines);
    else
        device->host->parallel_for(run_lines, &w, s->lines, PART_BYTES / line + 1);
    return TFR_OK;
}

void native_tensor_scatter_supports(const tfr_plugin_device *device, const tfr_call *call,
                                    tfr_answer *answer)
{
    (void)device;
    if (native_has_type(call, answer) && !tfr_operand_elements(tfr_call_input(call, 1)))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "an update of 0 elements is left to naive");
}

void native_tensor_scatter_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *past = tfr_call_input(call, 0), *update = tfr_call_input(call, 1);
    const int64_t axis = tfr_call_int(call, "axis", 1);
    state *s = native_set_function(b, run, NULL, sizeof *s, "tensor_scatter");
    int64_t d;

    if (!s)
        return;
    s->lines = 1;
    s->inner = (int64_t)tfr_dtype_bits(past->dtype) / 8;
    for (d = 0; d < past->rank; d++)
        *(d < axis ? &s->lines : &s->inner) *= d == axis ? 1 : past->dims[d];
    s->samples = past->dims[0];
    s->per_sample = s->lines / s->samples;
    s->n = past->dims[axis];
    s->length = update->dims[axis];
    s->circular = strcmp(tfr_call_string(call, "mode", "linear"), "circular") == 0;
    s->has_indices = tfr_call_input(call, 2) != NULL;
    for (d = 0; d < (int64_t)call->n_inputs && d < 3; d++)
        s->known[d] =
            tfr_call_input(call, (uint32_t)d) ? tfr_call_input(call, (uint32_t)d)->data : NULL;
}

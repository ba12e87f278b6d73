/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_rows.c: Trilu and ReverseSequence of elements of whole bytes, row by row: a row of Trilu is
 * a copy of a part between zeros, one of ReverseSequence a copy of another row. Threads share the
 * rows.
 */
#include "move.h"

#include <string.h>

enum { PART_BYTES = 32 * 1024 /* that a thread writes at once, at least */ };

typedef struct state {
    bool reverses;
    int64_t rows, row; /* and bytes of one */
    const void *known[2];
    /* Trilu: of a matrix */
    int64_t height, columns, diagonal;
    int width;
    bool upper, reads_diagonal;
    /* ReverseSequence: rows are those of the first two dims */
    int64_t times, batches;
    bool time_first;
} state;

typedef struct work {
    const state *s;
    const char *from;
    const int64_t *lengths;
    char *to;
    int64_t diagonal;
} work;

static void copy_triangle(const work *w, int64_t begin, int64_t end)
{
    const state *s = w->s;
    const int64_t n = s->columns;

    for (; begin < end; begin++) {
        const char *from = w->from + begin * s->row;
        char *to = w->to + begin * s->row;
        const int64_t i = begin % s->height;
        /* The first column that is kept, or is not; no sum is beyond 64 bits. */
        int64_t border = w->diagonal > n ? n : w->diagonal < -s->height ? -1 : i + w->diagonal;
        border = (border + !s->upper < 0   ? 0
                  : border + !s->upper > n ? n
                                           : border + !s->upper) *
                 s->width;
        memcpy(s->upper ? to + border : to, s->upper ? from + border : from,
               (size_t)(s->upper ? s->row - border : border));
        memset(s->upper ? to : to + border, 0, (size_t)(s->upper ? border : s->row - border));
    }
}

static void copy_reversed(const work *w, int64_t begin, int64_t end)
{
    const state *s = w->s;
    const int64_t inner = s->time_first ? s->batches : s->times;

    for (; begin < end; begin++) {
        const int64_t t = s->time_first ? begin / inner : begin % inner;
        const int64_t batch = s->time_first ? begin % inner : begin / inner;
        const int64_t length = w->lengths[batch];
        const int64_t shift = t < length ? (length - 1 - 2 * t) * (s->time_first ? inner : 1) : 0;
        memcpy(w->to + begin * s->row, w->from + (begin + shift) * s->row, (size_t)s->row);
    }
}

static void run_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;

    if (w->s->reverses)
        copy_reversed(w, begin, end);
    else
        copy_triangle(w, begin, end);
}

static int32_t check_lengths(const work *w, tfr_err *err)
{
    const state *s = w->s;
    int64_t b;

    for (b = 0; b < s->batches; b++)
        if (w->lengths[b] < 0 || w->lengths[b] > s->times)
            return tfr_fail(err, TFR_EINVAL,
                            "sequence length %lld of batch %lld is outside [0, %lld]",
                            (long long)w->lengths[b], (long long)b, (long long)s->times);
    return TFR_OK;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const tfr_arg *args = launch->args;
    work w = {.s = s, .diagonal = s->diagonal};
    int32_t status = TFR_OK;

    w.from = args[0].address ? args[0].address : s->known[0];
    w.to = args[launch->n_args - 1].address;
    if (s->reverses || s->reads_diagonal)
        w.lengths = args[1].address ? args[1].address : s->known[1];
    if (s->reads_diagonal)
        w.diagonal = w.lengths[0];
    if (s->reverses)
        status = check_lengths(&w, err);
    if (status)
        return status;
    if (s->rows * s->row <= PART_BYTES)
        run_rows(&w, 0, s->rows);
    else
        device->host->parallel_for(run_rows, &w, s->rows, PART_BYTES / s->row + 1);
    return TFR_OK;
}

void native_move_rows_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    native_move_supports(device, call, answer);
}

void native_move_rows_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_operand *other = call->n_inputs > 1 ? tfr_call_input(call, 1) : NULL;
    state *s = native_set_function(b, run, NULL, sizeof *s, "move_rows");
    int64_t axis;

    if (!s)
        return;
    s->reverses = strcmp(call->name, "ReverseSequence") == 0;
    s->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    s->known[0] = x->data;
    s->known[1] = other ? other->data : NULL;
    if (s->reverses) {
        axis = tfr_call_int(call, "time_axis", 0);
        s->time_first = axis == 0 || axis == -x->rank;
        s->times = x->dims[!s->time_first];
        s->batches = x->dims[s->time_first];
        s->rows = s->times * s->batches;
    } else {
        s->height = x->dims[x->rank - 2];
        s->columns = x->dims[x->rank - 1];
        s->rows = tfr_operand_elements(x) / s->columns;
        s->upper = tfr_call_int(call, "upper", 1) != 0;
        s->diagonal = tfr_call_int(call, "k", 0);
        s->reads_diagonal = other && !tfr_call_attr(call, "k");
    }
    s->row = tfr_operand_elements(x) / s->rows * s->width;
}

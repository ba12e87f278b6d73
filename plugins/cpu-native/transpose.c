/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.c: Transpose of elements of whole bytes; that of float32 is an item of programs. Dims
 * that stay beside each other are one. Where the last one stays the last, its rows are copied; else
 * it and the one that was the last are a matrix, which is turned by turn.h.
 */
#include "elements.h"

#include <string.h>

#include "copy_rows.h"
#include "program.h"
#include "turn.h"

enum { SIDE = 64, PART_BYTES = 16 * 1024 /* of a thread, at least */ };

typedef struct group {
    int64_t n, from, to; /* steps in elements */
} group;

typedef struct state {
    native_turn_fn turn;       /* NULL = of wide elements */
    group outer[TFR_MAX_RANK]; /* what is walked, outermost first */
    int n_outer;
    int64_t walks;
    int64_t row; /* elements that are copied together; 0 = a matrix is turned: */
    int64_t rows,
        cols; /* its rows lie beside each other in the result, its columns in the source */
    int64_t from_step, to_step; /* from row to row of the source, from column to column of `to` */
    int width;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const char *from;
    char *to;
} work;

static void turn(const state *s, const char *from, char *to)
{
    int64_t row, column;

    if (s->turn) {
        s->turn(from, s->from_step, to, s->to_step, s->rows, s->cols);
        return;
    }
    for (column = 0; column < s->cols; column++)
        for (row = 0; row < s->rows; row++)
            memcpy(to + (column * s->to_step + row) * s->width,
                   from + (row * s->from_step + column) * s->width, (size_t)s->width);
}

/* Where a walk begins, and how many from it on go along the innermost of the outer dims. */
static int64_t begin_walk(const state *s, int64_t walk, int64_t *from, int64_t *to)
{
    const int last = s->n_outer - 1;
    int64_t rest = walk, in_row;
    int d;

    *from = *to = 0;
    if (last < 0)
        return 1;
    in_row = s->outer[last].n - walk % s->outer[last].n;
    for (d = last; d >= 0; rest /= s->outer[d--].n) {
        *from += rest % s->outer[d].n * s->outer[d].from;
        *to += rest % s->outer[d].n * s->outer[d].to;
    }
    return in_row;
}

static void run_walks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const group last = s->n_outer ? s->outer[s->n_outer - 1] : (group){1, 0, 0};
    const int64_t from_step = last.from * s->width, to_step = last.to * s->width;
    int64_t i, n, from, to;

    for (; begin < end; begin += n) {
        n = begin_walk(s, begin, &from, &to);
        n = end - begin < n ? end - begin : n;
        if (s->row)
            native_copy_rows(w->from + from * s->width, from_step, w->to + to * s->width, to_step,
                             s->row * s->width, n);
        else
            for (i = 0; i < n; i++)
                turn(s, w->from + from * s->width + i * from_step,
                     w->to + to * s->width + i * to_step);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .from = launch->args[0].address, .to = launch->args[1].address};
    const int64_t bytes = (s->row ? s->row : s->rows * s->cols) * s->width;

    (void)err;
    if (!w.from)
        w.from = s->known;
    if (s->walks * bytes <= PART_BYTES)
        run_walks(&w, 0, s->walks);
    else
        device->host->parallel_for(run_walks, &w, s->walks, PART_BYTES / bytes + 1);
    return TFR_OK;
}

void native_transpose_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;

    if (dtype == TFR_DTYPE_F32)
        native_item_supports(device, call, answer);
    else if (dtype == TFR_DTYPE_STRING || tfr_dtype_bits(dtype) % 8 != 0)
        tfr_decline(answer, TFR_REASON_DTYPE, "only elements of whole bytes are done here");
}

/* The dims of the result with their steps, those of one element left out, neighbours joined. */
static int read_groups(const tfr_call *call, group *groups)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t *perm = tfr_call_ints(call, "perm", (uint64_t)x->rank);
    int d, n = 0;

    for (d = 0; d < x->rank; d++) {
        const int of_x = perm ? (int)perm[d] : x->rank - 1 - d;
        const group g = {y->dims[d], tfr_operand_span(x, of_x + 1, x->rank),
                         tfr_operand_span(y, d + 1, y->rank)};
        if (g.n == 1)
            continue;
        if (n > 0 && groups[n - 1].from == g.n * g.from)
            groups[n - 1] = (group){groups[n - 1].n * g.n, g.from, g.to};
        else
            groups[n++] = g;
    }
    return n;
}

/* A matrix of one walk has its longer side cut for the threads. */
static void cut(state *s)
{
    const bool rows = s->rows > s->cols;
    int64_t *side = rows ? &s->rows : &s->cols;
    int64_t part;

    for (part = 2048; part >= SIDE && *side % part != 0; part -= SIDE)
        ;
    if (s->n_outer > 0 || part < SIDE || part == *side)
        return;
    s->walks = *side / part;
    s->outer[s->n_outer++] =
        (group){s->walks, rows ? part * s->from_step : part, rows ? part : part * s->to_step};
    *side = part;
}

void native_transpose_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int32_t dtype = x->dtype;
    group groups[TFR_MAX_RANK];
    state *s;
    int n, d, matrix = -1;

    if (dtype == TFR_DTYPE_F32) {
        native_item_prepare(b, call);
        return;
    }
    s = native_set_function(b, run, NULL, sizeof *s, "transpose");
    if (!s)
        return;
    s->width = (int)(tfr_dtype_bits(dtype) / 8);
    if (s->width <= 8)
        s->turn = native_find_turn(b->device->isa, s->width);
    s->known = x->data;
    s->walks = tfr_operand_elements(x) > 0;
    n = read_groups(call, groups);
    s->row = n == 0 ? 1 : groups[n - 1].from == 1 ? groups[n - 1].n : 0;
    for (d = 0; d < n - 1; d++) {
        if (!s->row && groups[d].from == 1) {
            matrix = d;
            continue;
        }
        s->outer[s->n_outer++] = groups[d];
        s->walks *= groups[d].n;
    }
    if (s->row)
        return;
    s->rows = groups[n - 1].n;
    s->from_step = groups[n - 1].from;
    s->cols = groups[matrix].n;
    s->to_step = groups[matrix].to;
    cut(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.c: Transpose of elements of whole bytes; that of floats is an item of programs. Dims
 * that stay beside each other are one. Where the last one stays the last, its rows are copied; else
 * it and the one that was the last are a matrix, which is turned a square at a time, so that lines
 * of the cache are read and written while they are near.
 */
#include "elements.h"

#include <string.h>

#include "isa.h"
#include "program.h"

enum { SIDE = 16, PART_BYTES = 16 * 1024 /* of a thread, at least */ };

typedef struct group {
    int64_t n, from, to; /* steps in elements */
} group;

typedef struct state {
    const native_isa *isa;
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

#define TURN(bits)                                                                                 \
    static void turn_##bits(const state *s, const void *source, void *result)                      \
    {                                                                                              \
        const uint##bits##_t *from = source;                                                       \
        uint##bits##_t *to = result;                                                               \
        int64_t i, j, row, column;                                                                 \
                                                                                                   \
        for (i = 0; i < s->rows; i += SIDE) {                                                      \
            const int64_t end = s->rows - i < SIDE ? s->rows : i + SIDE;                           \
            for (j = 0; j < s->cols; j += SIDE) {                                                  \
                const int64_t last = s->cols - j < SIDE ? s->cols : j + SIDE;                      \
                for (column = j; column < last; column++)                                          \
                    for (row = i; row < end; row++)                                                \
                        to[column * s->to_step + row] = from[row * s->from_step + column];         \
            }                                                                                      \
        }                                                                                          \
    }
TURN(8)
TURN(16)
TURN(64)

static void turn(const state *s, const char *from, char *to)
{
    int64_t row, column;

    switch (s->width) {
    case 1:
        turn_8(s, from, to);
        break;
    case 2:
        turn_16(s, from, to);
        break;
    case 4:
        s->isa->transpose((const float *)(const void *)from, s->from_step, (float *)(void *)to,
                          s->to_step, s->rows, s->cols);
        break;
    case 8:
        turn_64(s, from, to);
        break;
    default:
        for (column = 0; column < s->cols; column++)
            for (row = 0; row < s->rows; row++)
                memcpy(to + (column * s->to_step + row) * s->width,
                       from + (row * s->from_step + column) * s->width, (size_t)s->width);
    }
}

static void run_walks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        int64_t rest = begin, from = 0, to = 0;
        int d;
        for (d = s->n_outer - 1; d >= 0; rest /= s->outer[d--].n) {
            from += rest % s->outer[d].n * s->outer[d].from;
            to += rest % s->outer[d].n * s->outer[d].to;
        }
        if (s->row)
            memcpy(w->to + to * s->width, w->from + from * s->width, (size_t)(s->row * s->width));
        else
            turn(s, w->from + from * s->width, w->to + to * s->width);
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

    if (dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16)
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

    for (part = 2048; part >= 2 * SIDE && *side % part != 0; part -= SIDE)
        ;
    if (s->n_outer > 0 || part < 2 * SIDE || part == *side)
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

    if (dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16) {
        native_item_prepare(b, call);
        return;
    }
    s = native_set_function(b, run, NULL, sizeof *s, "transpose");
    if (!s)
        return;
    s->isa = b->device->isa;
    s->width = (int)(tfr_dtype_bits(dtype) / 8);
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

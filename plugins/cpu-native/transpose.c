/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.c: Transpose of elements of whole bytes; that of floats is an item of programs. Dims
 * that stay beside each other are one. Where the last one stays the last, its rows are copied; else
 * it and the one that was the last are a matrix, which is turned a square at a time, so that lines
 * of the cache are read and written while they are near. Words count their bytes from the low end.
 */
#include "elements.h"

#include <string.h>

#include "isa.h"
#include "program.h"

enum { SIDE = 64, PART_BYTES = 16 * 1024 /* of a thread, at least */ };

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

/* ---- squares of narrow elements, by shifts in words of 64 bits, two beside each other ---- */

typedef uint64_t words __attribute__((vector_size(16)));

/* What is in the upper part of a, after `by` bits, and in the lower one of b change places. */
#define SWAP(a, b, by, mask)                                                                       \
    do {                                                                                           \
        const words swap = ((a) >> (by) ^ (b)) & (mask);                                           \
        (b) ^= swap;                                                                               \
        (a) ^= swap << (by);                                                                       \
    } while (0)

#define UNROLL _Pragma("GCC unroll 8")

/* Of 8 rows of 16 bytes. */
static inline void turn_bytes(words *w)
{
    UNROLL for (int i = 0; i < 4; i++) SWAP(w[i], w[i + 4], 32, 0x00000000ffffffffu);
    UNROLL for (int i = 0; i < 2; i++) SWAP(w[i], w[i + 2], 16, 0x0000ffff0000ffffu);
    UNROLL for (int i = 4; i < 6; i++) SWAP(w[i], w[i + 2], 16, 0x0000ffff0000ffffu);
    UNROLL for (int i = 0; i < 8; i += 2) SWAP(w[i], w[i + 1], 8, 0x00ff00ff00ff00ffu);
}

/* Of 4 rows of 8 numbers of 16 bits. */
static inline void turn_halves(words *w)
{
    UNROLL for (int i = 0; i < 2; i++) SWAP(w[i], w[i + 2], 32, 0x00000000ffffffffu);
    UNROLL for (int i = 0; i < 4; i += 2) SWAP(w[i], w[i + 1], 16, 0x0000ffff0000ffffu);
}

/* n rows, a constant; steps in bytes. */
static inline __attribute__((always_inline)) void turn_words(const char *from, int64_t from_step,
                                                             char *to, int64_t to_step, int n)
{
    words w[8];
    uint64_t half[2];

    UNROLL for (int i = 0; i < n; i++) memcpy(&w[i], from + i * from_step, sizeof w[i]);
    if (n == 8)
        turn_bytes(w);
    else
        turn_halves(w);
    UNROLL for (int i = 0; i < n; i++)
    {
        memcpy(half, &w[i], sizeof half);
        memcpy(to + i * to_step, &half[0], sizeof half[0]);
        memcpy(to + (n + i) * to_step, &half[1], sizeof half[1]);
    }
}

static inline bool counts_from_low_end(void)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- matrices ---- */

#define TURN(bits)                                                                                 \
    static void turn_##bits(const state *s, const void *source, void *result, int64_t first,       \
                            int64_t end, int64_t left, int64_t right)                              \
    {                                                                                              \
        const uint##bits##_t *from = source;                                                       \
        uint##bits##_t *to = result;                                                               \
        int64_t row, column;                                                                       \
                                                                                                   \
        for (column = left; column < right; column++)                                              \
            for (row = first; row < end; row++)                                                    \
                to[column * s->to_step + row] = from[row * s->from_step + column];                 \
    }
TURN(8)
TURN(16)
TURN(64)

/* Rows [first, end) and columns [left, right) of elements of 1 or 2 bytes. */
static void turn_narrow(const state *s, const char *from, char *to, int64_t first, int64_t end,
                        int64_t left, int64_t right)
{
    void (*const rest)(const state *, const void *, void *, int64_t, int64_t, int64_t, int64_t) =
        s->width == 1 ? turn_8 : turn_16;
    const int64_t w = s->width, rows = 8 / w, columns = 16 / w;
    const int64_t whole = counts_from_low_end() ? end - (end - first) % rows : first;
    const int64_t last = right - (right - left) % columns;
    int64_t i, j;

    for (j = left; j < last; j += columns)
        for (i = first; i < whole; i += rows) {
            const char *x = from + (i * s->from_step + j) * w;
            char *y = to + (j * s->to_step + i) * w;
            if (w == 1)
                turn_words(x, s->from_step, y, s->to_step, 8);
            else
                turn_words(x, s->from_step * 2, y, s->to_step * 2, 4);
        }
    rest(s, from, to, first, whole, last, right);
    rest(s, from, to, whole, end, left, right);
}

static void turn(const state *s, const char *from, char *to)
{
    int64_t i, j, row, column;

    if (s->width == 4) {
        s->isa->transpose((const float *)(const void *)from, s->from_step, (float *)(void *)to,
                          s->to_step, s->rows, s->cols);
        return;
    }
    for (i = 0; s->width <= 8 && i < s->rows; i += SIDE) {
        const int64_t end = s->rows - i < SIDE ? s->rows : i + SIDE;
        for (j = 0; j < s->cols; j += SIDE) {
            const int64_t right = s->cols - j < SIDE ? s->cols : j + SIDE;
            if (s->width == 8)
                turn_64(s, from, to, i, end, j, right);
            else
                turn_narrow(s, from, to, i, end, j, right);
        }
    }
    for (column = 0; s->width > 8 && column < s->cols; column++)
        for (row = 0; row < s->rows; row++)
            memcpy(to + (column * s->to_step + row) * s->width,
                   from + (row * s->from_step + column) * s->width, (size_t)s->width);
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

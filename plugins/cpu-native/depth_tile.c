/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depth_tile.c: DepthToSpace, SpaceToDepth and Tile of elements of whole bytes: the output in
 * order, and a step of the input for each of its dims, which are cut or repeated ones of the input.
 * Dims that go on where the one behind them ends become one; what is left of the last one is a
 * copy, a repetition or a walk in steps. Threads share the lines.
 */
#include "move.h"

#include <string.h>

#include "copy_rows.h"

enum { MAX_DIMS = 2 * TFR_MAX_RANK, PART_BYTES = 32 * 1024 /* that a thread writes, at least */ };

typedef struct move {
    int rank;
    int64_t dims[MAX_DIMS];  /* of the output, merged */
    int64_t steps[MAX_DIMS]; /* of the input, in elements; 0 = repeated */
    int64_t lines;
    int width;
    const void *known;
} move;

typedef struct work {
    const move *m;
    const char *from;
    char *to;
} work;

/* A line, or a plane of few columns: rows of `n` elements in steps. */
#define WALK(type)                                                                                 \
    static void walk_##type(const void *from, int64_t step, void *to, int64_t n)                   \
    {                                                                                              \
        const type *x = from;                                                                      \
        type *y = to;                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < n; i++)                                                                    \
            y[i] = x[i * step];                                                                    \
    }                                                                                              \
    /* two rows of the input, one element of each in turns */                                      \
    static void pairs_##type(const void *from, int64_t step, void *to, int64_t n)                  \
    {                                                                                              \
        const type *x = from, *other = x + step;                                                   \
        type *y = to;                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < n; i++) {                                                                  \
            y[2 * i] = x[i];                                                                       \
            y[2 * i + 1] = other[i];                                                               \
        }                                                                                          \
    }
typedef struct pair {
    uint64_t half[2];
} pair;
WALK(uint8_t)
WALK(uint16_t)
WALK(uint32_t)
WALK(uint64_t)
WALK(pair)

#define OF_WIDTH(width, f, ...)                                                                    \
    do {                                                                                           \
        if ((width) == 1)                                                                          \
            f##_uint8_t(__VA_ARGS__);                                                              \
        else if ((width) == 2)                                                                     \
            f##_uint16_t(__VA_ARGS__);                                                             \
        else if ((width) == 4)                                                                     \
            f##_uint32_t(__VA_ARGS__);                                                             \
        else if ((width) == 8)                                                                     \
            f##_uint64_t(__VA_ARGS__);                                                             \
        else                                                                                       \
            f##_pair(__VA_ARGS__);                                                                 \
    } while (0)

/* Lines of the last two dims, at `from`. */
static void run_plane(const move *m, const char *from, char *to)
{
    const int64_t rows = m->dims[m->rank - 2], n = m->dims[m->rank - 1];
    const int64_t row = m->steps[m->rank - 2], step = m->steps[m->rank - 1];
    int64_t r;

    if (n == 2 && row == 1) {
        OF_WIDTH(m->width, pairs, from, step, to, rows);
        return;
    }
    if (step == 1) {
        native_copy_rows(from, row * m->width, to, n * m->width, n * m->width, rows);
        return;
    }
    for (r = 0; r < rows; r++, from += row * m->width, to += n * m->width) {
        if (step == 0 && m->width == 1)
            memset(to, *from, (size_t)n);
        else
            OF_WIDTH(m->width, walk, from, step, to, n);
    }
}

static void run_planes(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const move *m = w->m;
    const int64_t plane = m->dims[m->rank - 2] * m->dims[m->rank - 1] * m->width;

    for (; begin < end; begin++) {
        int64_t rest = begin, at = 0;
        int d;
        for (d = m->rank - 3; d >= 0; rest /= m->dims[d--])
            at += rest % m->dims[d] * m->steps[d];
        run_plane(m, w->from + at * m->width, w->to + begin * plane);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const move *m = user;
    const tfr_arg *x = &launch->args[0];
    work w = {.m = m, .from = x->address ? x->address : m->known};
    const int64_t plane = m->dims[m->rank - 2] * m->dims[m->rank - 1] * m->width;

    (void)err;
    w.to = launch->args[launch->n_args - 1].address;
    if (m->lines * plane <= PART_BYTES)
        run_planes(&w, 0, m->lines);
    else
        device->host->parallel_for(run_planes, &w, m->lines, PART_BYTES / plane + 1);
    return TFR_OK;
}

/* ---- what it is ---- */

/* One more dim of the output, behind those there are. */
static void add_dim(move *m, int64_t dim, int64_t step)
{
    const int last = m->rank - 1;

    if (dim == 1)
        return;
    if (m->rank && m->steps[last] == step * dim && (step || !m->steps[last])) {
        m->dims[last] *= dim;
        m->steps[last] = step;
        return;
    }
    m->dims[m->rank] = dim;
    m->steps[m->rank++] = step;
}

/* Blocks of size x size: a pixel of wide [n][c][h i][w j] is at deep [n][channel][h][w]. */
static void read_depth(const tfr_call *call, move *m)
{
    const bool to_space = strcmp(call->name, "DepthToSpace") == 0;
    const bool depth_first = strcmp(tfr_call_string(call, "mode", "DCR"), "CRD") != 0;
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t *wide = to_space ? y->dims : x->dims, *deep = to_space ? x->dims : y->dims;
    const int64_t size = tfr_call_int(call, "blocksize", 1), plane = deep[2] * deep[3];
    const int64_t C = wide[1];

    if (to_space) {
        const int64_t channel = depth_first ? plane : size * size * plane;
        const int64_t j = depth_first ? C * plane : plane;
        add_dim(m, wide[0], deep[1] * plane);
        add_dim(m, C, channel);
        add_dim(m, deep[2], deep[3]);
        add_dim(m, size, size * j);
        add_dim(m, deep[3], 1);
        add_dim(m, size, j);
        return;
    }
    add_dim(m, wide[0], C * wide[2] * wide[3]);
    if (!depth_first)
        add_dim(m, C, wide[2] * wide[3]);
    add_dim(m, size, wide[3]);
    add_dim(m, size, 1);
    if (depth_first)
        add_dim(m, C, wide[2] * wide[3]);
    add_dim(m, deep[2], size * wide[3]);
    add_dim(m, deep[3], size);
}

static void read_tile(const tfr_call *call, move *m)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    int64_t step = tfr_operand_elements(x);
    int d;

    for (d = 0; d < x->rank; d++) {
        step /= x->dims[d];
        add_dim(m, y->dims[d] / x->dims[d], 0);
        add_dim(m, x->dims[d], step);
    }
}

void native_move_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    (void)device;
    (void)native_has_type(call, answer);
}

void native_move_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    move *m = native_set_function(b, run, NULL, sizeof *m, "move");
    int d;

    if (!m)
        return;
    if (strcmp(call->name, "Tile") == 0)
        read_tile(call, m);
    else
        read_depth(call, m);
    for (d = m->rank; d < 2; d++) { /* at least a plane */
        memmove(m->dims + 1, m->dims, (size_t)m->rank * sizeof *m->dims);
        memmove(m->steps + 1, m->steps, (size_t)m->rank * sizeof *m->steps);
        m->dims[0] = 1;
        m->steps[0] = 0;
        m->rank++;
    }
    m->lines = 1;
    for (d = 0; d < m->rank - 2; d++)
        m->lines *= m->dims[d];
    m->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    m->known = x->data;
}

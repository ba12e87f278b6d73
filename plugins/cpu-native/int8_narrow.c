/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_narrow.c: convolutions in groups of 1, 2, 4 or 8 outputs. A panel of 16 columns is two
 * vectors of sums, and each reads the channels of its own groups alone: half of the products of a
 * panel that reads those of both. Where several groups are in a vector, weights are 0 for inputs of
 * others.
 *
 * A block of lines of one part of the channels becomes int16 differences to the zero point, with
 * padding of 0 around it, in memory of the thread that stays in the first cache. So a window is not
 * copied for its pixel: its terms are at the same distances for all pixels. vpmaddwd is exact, and
 * differences to zero points of B fit as well.
 */
#include "int8_narrow.h"

#include <string.h>

#include "int8_layout.h"

enum {
    COLUMNS = 16,
    HALF = 8,
    MOST_PAIRS = 8192,
    BLOCK_BYTES = 20 << 10, /* of the first cache */
    MOST_SUMS = 4 * NATIVE_INT8_NARROW_ROWS
};

/* ---- the plan ---- */

static int64_t pixel_bytes(const native_int8_narrow *w)
{
    return 2 * w->vector_ins * (int64_t)sizeof(int16_t);
}

/* Lines or pixels that n outputs of an axis read. */
static int64_t extent(const native_int8_window *in, int d, int64_t n)
{
    return (n - 1) * in->stride[d] + (in->kernel[d] - 1) * in->dilation[d] + 1;
}

static int64_t image_bytes(const native_int8_narrow *w)
{
    return int8_aligned(w->height * w->width * pixel_bytes(w));
}

/* As many lines as stay in the cache, in blocks of about one size. */
static void set_blocks(native_int8_narrow *w)
{
    const native_int8_window *in = &w->shape.window;
    const int64_t out = in->out[0];
    int64_t lines = 1;

    w->width = extent(in, 1, in->out[1]);
    while (lines < out && extent(in, 0, lines + 1) * w->width * pixel_bytes(w) <= BLOCK_BYTES)
        lines++;
    w->blocks = int8_ceil_div(out, lines);
    w->lines = int8_ceil_div(out, w->blocks);
    w->blocks = int8_ceil_div(out, w->lines);
    w->height = extent(in, 0, w->lines);
}

bool native_int8_narrow_plan(native_int8_narrow *w, const native_int8_cpu *cpu,
                             const native_int8_shape *shape, int64_t groups)
{
    const native_int8_window *in = &shape->window;

    memset(w, 0, sizeof *w);
    if (!cpu->narrow || in->rank != 2 || shape->m < 1)
        return false;
    w->shape = *shape;
    w->way = cpu->narrow;
    w->groups = groups;
    w->outs = shape->n / groups;
    w->ins = in->channels / groups;
    w->taps = shape->k / w->ins;
    if (w->outs > HALF || HALF % w->outs)
        return false;
    w->vector_ins = HALF / w->outs * w->ins;
    w->pairs = w->taps * w->vector_ins / 2;
    if (w->vector_ins % 2 || w->pairs > MOST_PAIRS)
        return false;
    w->parts = int8_ceil_div(shape->n, COLUMNS);
    w->packed_bytes = (size_t)(w->parts * int8_aligned(w->pairs * COLUMNS * 4));
    set_blocks(w);
    w->n_units = shape->m / (in->out[0] * in->out[1]) * w->blocks * w->parts;
    w->offsets_bytes = int8_aligned(w->pairs * (int64_t)sizeof(int32_t));
    w->scratch_bytes = (size_t)(image_bytes(w) + w->offsets_bytes + MOST_SUMS * COLUMNS * 4);
    return true;
}

/* ---- weights ---- */

static int16_t *weights_of(const native_int8_narrow *w, const void *packed, int64_t part)
{
    return (int16_t *)(uintptr_t)((const char *)packed +
                                  part * int8_aligned(w->pairs * COLUMNS * 4));
}

/* A part: pairs of terms with [16][2]. */
void native_int8_narrow_pack(const native_int8_narrow *w, const native_int8_matrix *b,
                             int32_t b_zero, const int32_t *b_zeros, void *packed, int64_t begin,
                             int64_t end)
{
    const int64_t first = begin * COLUMNS, last = int8_smaller(end * COLUMNS, w->shape.n);
    int64_t n, k;

    memset(weights_of(w, packed, begin), 0,
           (size_t)((end - begin) * int8_aligned(w->pairs * COLUMNS * 4)));
    for (n = first; n < last; n++) {
        const int32_t zero = b_zeros ? b_zeros[n] : b_zero;
        const int64_t before = n % HALF / w->outs * w->ins; /* channels of other groups */
        int16_t *to = weights_of(w, packed, n / COLUMNS) + n % COLUMNS * 2;
        for (k = 0; k < w->shape.k; k++) {
            const int64_t at = k / b->inner * b->outer_step + k % b->inner * b->inner_step;
            const int64_t term = k / w->ins * w->vector_ins + before + k % w->ins;
            const uint8_t byte = ((const uint8_t *)b->at)[n * b->n_step + at];
            to[term / 2 * COLUMNS * 2 + term % 2] =
                (int16_t)((w->shape.b_signed ? (int8_t)byte : byte) - zero);
        }
    }
}

/* ---- what a block reads ---- */

/* Lines [first, first + n) of the output of an image, of a part of the channels. */
typedef struct block {
    const native_int8_narrow *w;
    const native_int8_args *args;
    int64_t image, first, n, part;
    uint8_t *pixels;  /* [height][width][2 * vector_ins] of int16 */
    int32_t *offsets; /* bytes from the first tap to a pair of terms of the first vector */
    int32_t *sums;
} block;

static void set_offsets(const block *b)
{
    const native_int8_narrow *w = b->w;
    const native_int8_window *in = &w->shape.window;
    int32_t *to = b->offsets;
    int64_t tap, c;

    for (tap = 0; tap < w->taps; tap++) {
        const int64_t y = tap / in->kernel[1] * in->dilation[0];
        const int64_t x = tap % in->kernel[1] * in->dilation[1];
        for (c = 0; c < w->vector_ins; c += 2)
            *to++ = (int32_t)((y * w->width + x) * pixel_bytes(w) + c * 2);
    }
}

static void take_line(const block *b, int64_t line, int64_t channels, uint8_t *to)
{
    const native_int8_narrow *w = b->w;
    const native_int8_window *in = &w->shape.window;
    const int64_t bytes = pixel_bytes(w), front = int8_smaller(in->pad[1], w->width);
    const int64_t inside = int8_smaller(in->in[1], w->width - front);
    const int64_t at = b->image * in->image_step + line * in->in[1] * in->pixel_step;
    native_int8_rows rows = {.from_step = in->pixel_step, .to_step = bytes, .rows = inside};

    rows.n = channels;
    rows.is_signed = w->shape.a_signed;
    rows.zero = b->args->a_zero;
    rows.from = (const uint8_t *)b->args->a + at + b->part * 2 * w->vector_ins;
    rows.to = to + front * bytes;
    memset(to, 0, (size_t)(front * bytes));
    memset(to + (front + inside) * bytes, 0, (size_t)((w->width - front - inside) * bytes));
    w->way->take(&rows);
}

static void take_block(const block *b)
{
    const native_int8_narrow *w = b->w;
    const native_int8_window *in = &w->shape.window;
    const int64_t line_bytes = w->width * pixel_bytes(w);
    const int64_t left = in->channels - b->part * 2 * w->vector_ins;
    const int64_t channels = int8_smaller(2 * w->vector_ins, left);
    const int64_t first = b->first * in->stride[0] - in->pad[0], n = extent(in, 0, b->n);
    int64_t i;

    if (channels < 2 * w->vector_ins)
        memset(b->pixels, 0, (size_t)(n * line_bytes));
    for (i = 0; i < n; i++)
        if (first + i < 0 || first + i >= in->in[0])
            memset(b->pixels + i * line_bytes, 0, (size_t)line_bytes);
        else
            take_line(b, first + i, channels, b->pixels + i * line_bytes);
}

/* ---- products ---- */

/* Pixels of the output from `pixel` of the block on; how many. */
static int find_rows(const block *b, int64_t pixel, native_int8_gathered *t)
{
    const native_int8_window *in = &b->w->shape.window;
    const int64_t n = int8_smaller(b->n * in->out[1] - pixel, NATIVE_INT8_NARROW_ROWS);
    int64_t y = pixel / in->out[1], x = pixel % in->out[1];
    int i;

    for (i = 0; i < n; i++) {
        t->rows[i] =
            b->pixels + (y * in->stride[0] * b->w->width + x * in->stride[1]) * pixel_bytes(b->w);
        if (++x == in->out[1]) {
            x = 0;
            y++;
        }
    }
    return (int)n;
}

static void finish_rows(const block *b, const native_int8_columns *columns, int64_t pixel, int rows)
{
    const native_int8_window *in = &b->w->shape.window;
    const int64_t row = (b->image * in->out[0] + b->first) * in->out[1] + pixel;

    int8_finish_sums(b->w->way, &b->w->shape, b->args, columns, b->sums, row, rows,
                     b->part * COLUMNS);
}

static void run_block(const block *b)
{
    const native_int8_narrow *w = b->w;
    const int64_t pixels = b->n * w->shape.window.out[1];
    native_int8_gathered t = {.offsets = b->offsets, .groups = w->pairs};
    native_int8_columns columns;
    int64_t i;
    int rows = 0;

    memset(&columns, 0, sizeof columns);
    native_int8_finish_columns(&b->args->finish, b->part * COLUMNS, COLUMNS, w->shape.n, &columns);
    take_block(b);
    t.b = weights_of(w, b->args->packed, b->part);
    t.half = w->vector_ins * 2;
    for (i = 0; i < pixels; i += t.n) {
        t.n = find_rows(b, i, &t);
        t.sums = b->sums + rows * COLUMNS;
        w->way->gathered(&t);
        rows += t.n;
        if (i + t.n < pixels && rows + NATIVE_INT8_NARROW_ROWS <= MOST_SUMS)
            continue;
        finish_rows(b, &columns, i + t.n - rows, rows);
        rows = 0;
    }
}

void native_int8_narrow_run(const native_int8_narrow *w, const native_int8_args *args,
                            void *scratch, int64_t begin, int64_t end)
{
    block b = {.w = w, .args = args, .pixels = scratch};

    b.offsets = (int32_t *)(void *)(b.pixels + image_bytes(w));
    b.sums = (int32_t *)(void *)((char *)b.offsets + w->offsets_bytes);
    set_offsets(&b);
    for (; begin < end; begin++) {
        const int64_t some = begin / w->parts;
        b.part = begin % w->parts;
        b.image = some / w->blocks;
        b.first = some % w->blocks * w->lines;
        b.n = int8_smaller(w->lines, w->shape.window.out[0] - b.first);
        run_block(&b);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* int8_pack.c: packs panels of B, and rows of A, which may be windows of an image. */
#include <string.h>

#include "int8_layout.h"
#include "int8_lists.h"

/* ---- B ---- */

enum { MOST_NR = NATIVE_INT8_MOST_COLUMNS };

static const uint8_t *term_of(const native_int8_matrix *b, int64_t k)
{
    return (const uint8_t *)b->at + k / b->inner * b->outer_step + k % b->inner * b->inner_step;
}

/* One row of B, b' of `columns` columns. */
static void read_term(const native_int8_matrix *b, int64_t k, int64_t column, int columns,
                      uint8_t flip, int8_t *restrict to)
{
    const uint8_t *from = term_of(b, k) + column * b->n_step;
    int j;

    if (b->n_step == 1)
        for (j = 0; j < columns; j++)
            to[j] = (int8_t)(from[j] ^ flip);
    else
        for (j = 0; j < columns; j++)
            to[j] = (int8_t)(from[j * b->n_step] ^ flip);
}

static void weave_2(const int8_t *restrict a, const int8_t *restrict b, int nr, int8_t *restrict to)
{
    int j;

    for (j = 0; j < nr; j++) {
        to[2 * j] = a[j];
        to[2 * j + 1] = b[j];
    }
}

static void pack_groups(const native_int8_product *p, const native_int8_matrix *b, int64_t column,
                        int columns, int8_t *to)
{
    const int nr = p->way->nr, group = native_int8_group(p->way);
    const uint8_t flip = p->shape.b_signed ? 0 : 0x80;
    int8_t rows[4][MOST_NR];
    int64_t k;
    int i, j;

    memset(rows, 0, sizeof rows);
    for (k = 0; k < p->shape.k; k += group, to += group * nr) {
        for (i = 0; i < group; i++)
            if (k + i < p->shape.k)
                read_term(b, k + i, column, columns, flip, rows[i]);
            else
                memset(rows[i], 0, sizeof rows[i]);
        if (group == 2)
            weave_2(rows[0], rows[1], nr, to);
        else
            for (j = 0; j < nr; j++)
                for (i = 0; i < group; i++)
                    to[j * group + i] = rows[i][j];
    }
}

/* Sums over k of the columns of b'. */
static void sum_columns(const native_int8_product *p, const native_int8_matrix *b, int64_t column,
                        int columns, int32_t *sums)
{
    const uint8_t flip = p->shape.b_signed ? 0 : 0x80;
    int8_t row[MOST_NR];
    int64_t k;
    int j;

    memset(sums, 0, (size_t)p->way->nr * sizeof *sums);
    for (k = 0; k < p->shape.k; k++) {
        read_term(b, k, column, columns, flip, row);
        for (j = 0; j < columns; j++)
            sums[j] += row[j];
    }
}

void native_int8_pack(const native_int8_product *p, const native_int8_matrix *b, void *packed,
                      int64_t begin, int64_t end)
{
    const int nr = p->way->nr;
    int64_t i;

    for (i = begin; i < end; i++) {
        const int64_t column = i * nr;
        const int columns = (int)int8_smaller(nr, p->shape.n - column);
        int8_t *panel = native_int8_panel(p, packed, i);
        if (p->way->lists)
            native_int8_make_lists(b, p->shape.b_signed, p->shape.k, column, columns,
                                   (native_int8_lists *)(void *)panel);
        else
            pack_groups(p, b, column, columns, panel);
        if (p->way->wide && !p->way->halve)
            memset(native_int8_column_sums(p, packed) + column, 0, (size_t)nr * sizeof(int32_t));
        else
            sum_columns(p, b, column, columns, native_int8_column_sums(p, packed) + column);
    }
}

/* ---- rows of A ---- */

typedef struct taker {
    const native_int8_product *p;
    const uint8_t *a;
    int32_t zero;    /* that is taken off */
    int32_t padding; /* bytes: what stands for it */
    int size;        /* bytes of a packed term */
} taker;

static void take(const taker *t, uint8_t **to, const uint8_t *from, int64_t n)
{
    const native_int8_rows rows = {.to = *to,
                                   .from = from,
                                   .n = n,
                                   .rows = 1,
                                   .is_signed = t->p->shape.a_signed,
                                   .zero = t->zero};

    t->p->way->take(&rows);
    *to += n * t->size;
}

/* Terms that add nothing. */
static void fill(const taker *t, uint8_t **to, int64_t n)
{
    memset(*to, t->padding, (size_t)(n * t->size));
    *to += n * t->size;
}

static bool is_inside(int64_t at, int64_t n)
{
    return at >= 0 && at < n;
}

/* The taps of the last axis, from the pixel at `line` on; x is where the first one lies. */
static void take_line(const taker *t, uint8_t **to, const uint8_t *line, int64_t x)
{
    const native_int8_window *w = &t->p->shape.window;
    const int last = w->rank - 1;
    const int64_t kernel = w->kernel[last], dilation = w->dilation[last], in = w->in[last];
    int64_t tap;

    if (dilation == 1 && w->pixel_step == w->channels) {
        const int64_t front = x < 0 ? int8_smaller(-x, kernel) : 0;
        const int64_t end = int8_smaller(kernel, in - x);
        if (front > 0)
            fill(t, to, front * w->channels);
        if (end > front)
            take(t, to, line + (x + front) * w->pixel_step, (end - front) * w->channels);
        if (kernel > (end > front ? end : front))
            fill(t, to, (kernel - (end > front ? end : front)) * w->channels);
        return;
    }
    for (tap = 0; tap < kernel; tap++, x += dilation)
        if (is_inside(x, in))
            take(t, to, line + x * w->pixel_step, w->channels);
        else
            fill(t, to, w->channels);
}

/* at: the output pixel of the row, its image first. */
static void take_window(const taker *t, uint8_t *to, const int64_t *at)
{
    const native_int8_window *w = &t->p->shape.window;
    const uint8_t *image = t->a + at[0] * w->image_step;
    const int last = w->rank - 1;
    int64_t first[NATIVE_INT8_AXES] = {0}, outer[NATIVE_INT8_AXES] = {1, 1, 1}, i, j;
    int d;

    for (d = 0; d < w->rank; d++)
        first[d] = at[1 + d] * w->stride[d] - w->pad[d];
    for (d = 0; d < last; d++)
        outer[NATIVE_INT8_AXES - last + d] = w->kernel[d];
    for (i = 0; i < outer[1]; i++)
        for (j = 0; j < outer[2]; j++) {
            /* of ranks 1 to 3 the tap's index in the axes in front of the last one */
            const int64_t tap[2] = {last == 2 ? i : j, j};
            int64_t line = 0;
            bool inside = true;
            for (d = 0; d < last; d++) {
                const int64_t x = first[d] + tap[d] * w->dilation[d];
                inside = inside && is_inside(x, w->in[d]);
                line = line * w->in[d] + x;
            }
            if (inside)
                take_line(t, &to, image + line * w->in[last] * w->pixel_step, first[last]);
            else
                fill(t, &to, w->kernel[last] * w->channels);
        }
}

/* Taps of the last axis follow each other in memory. */
static bool has_lines(const native_int8_window *w)
{
    return w->dilation[1] == 1 && w->pixel_step == w->channels;
}

/*
 * How many output pixels from `at` on are beside each other and, where lines of taps are taken at a
 * time, have none of them in the padding; 0 = see take_window.
 */
static int64_t run_of(const native_int8_window *w, const int64_t *at, int64_t most)
{
    const int64_t x = at[2] * w->stride[1] - w->pad[1], last = w->in[1] - w->kernel[1];
    int64_t n;

    if (w->rank != 2)
        return 0;
    if (!has_lines(w))
        return int8_smaller(w->out[1] - at[2], most);
    if (x < 0 || x > last)
        return 0;
    n = int8_smaller((last - x) / w->stride[1] + 1, w->out[1] - at[2]);
    return int8_smaller(n, most);
}

static void fill_rows(const taker *t, uint8_t *to, int64_t step, int64_t n, int64_t terms)
{
    int64_t i;

    for (i = 0; i < n; i++)
        memset(to + i * step, t->padding, (size_t)(terms * t->size));
}

/* A line of taps of all n pixels, then the next one. */
static void take_run(const taker *t, uint8_t *to, int64_t step, const int64_t *at, int64_t n)
{
    const native_int8_window *w = &t->p->shape.window;
    const uint8_t *image = t->a + at[0] * w->image_step;
    const int64_t x = at[2] * w->stride[1] - w->pad[1];
    native_int8_rows rows = {.to_step = step, .rows = n, .zero = t->zero};
    int64_t tap;

    rows.from_step = w->stride[1] * w->pixel_step;
    rows.n = w->kernel[1] * w->channels;
    rows.is_signed = t->p->shape.a_signed;
    for (tap = 0; tap < w->kernel[0]; tap++, to += rows.n * t->size) {
        const int64_t line = at[1] * w->stride[0] - w->pad[0] + tap * w->dilation[0];
        rows.to = to;
        rows.from = image + (line * w->in[1] + x) * w->pixel_step;
        if (is_inside(line, w->in[0]))
            t->p->way->take(&rows);
        else
            fill_rows(t, to, step, n, rows.n);
    }
}

static int64_t limited(int64_t x, int64_t most)
{
    return x < 0 ? 0 : int8_smaller(x, most);
}

/* A tap of all n pixels, of which the first and last ones may have it in the padding. */
static void take_taps(const taker *t, uint8_t *to, int64_t step, const int64_t *at, int64_t n)
{
    const native_int8_window *w = &t->p->shape.window;
    const uint8_t *image = t->a + at[0] * w->image_step;
    const int64_t stride = w->stride[1], channels = w->channels;
    native_int8_rows rows = {.to_step = step, .n = channels, .zero = t->zero};
    int64_t tap, i;

    rows.from_step = stride * w->pixel_step;
    rows.is_signed = t->p->shape.a_signed;
    for (tap = 0; tap < w->kernel[0]; tap++) {
        const int64_t line = at[1] * w->stride[0] - w->pad[0] + tap * w->dilation[0];
        const bool inside = is_inside(line, w->in[0]);
        for (i = 0; i < w->kernel[1]; i++, to += channels * t->size) {
            const int64_t x = at[2] * stride - w->pad[1] + i * w->dilation[1];
            const int64_t end = inside ? limited(int8_ceil_div(w->in[1] - x, stride), n) : 0;
            const int64_t first = x < 0 ? limited(int8_ceil_div(-x, stride), end) : 0;
            if (end > first) {
                rows.to = to + first * step;
                rows.from = image + (line * w->in[1] + x + first * stride) * w->pixel_step;
                rows.rows = end - first;
                t->p->way->take(&rows);
            }
            fill_rows(t, to, step, first, channels);
            fill_rows(t, to + end * step, step, n - end, channels);
        }
    }
}

/* The next output pixel. */
static void step(const native_int8_window *w, int64_t *at)
{
    int d;

    for (d = w->rank - 1; d >= 0; d--) {
        if (++at[1 + d] < w->out[d])
            return;
        at[1 + d] = 0;
    }
    at[0]++;
}

static void begin_at(const native_int8_window *w, int64_t row, int64_t *at)
{
    int d;

    for (d = w->rank - 1; d >= 0; d--) {
        at[1 + d] = row % w->out[d];
        row /= w->out[d];
    }
    at[0] = row;
}

static void pack_windows(taker *t, const native_int8_args *args, int64_t row, int64_t n,
                         uint8_t *to)
{
    const native_int8_window *w = &t->p->shape.window;
    const int64_t bytes = native_int8_row_bytes(t->p);
    int64_t at[1 + NATIVE_INT8_AXES] = {0}, i, done;

    begin_at(w, row, at);
    for (i = 0; i < n; i += done) {
        const int64_t run = args->a_zeros ? 0 : run_of(w, at, n - i);
        if (args->a_zeros)
            t->zero = args->a_zeros[row + i];
        if (run > 0 && !has_lines(w))
            take_taps(t, to + i * bytes, bytes, at, run);
        else if (run > 0)
            take_run(t, to + i * bytes, bytes, at, run);
        else
            take_window(t, to + i * bytes, at);
        done = run > 0 ? run : 1;
        at[w->rank] += done - 1;
        step(w, at);
    }
}

/* All at once, but where each has a zero point of its own. */
static void pack_plain(const taker *t, const native_int8_args *args, int64_t row, int64_t n,
                       uint8_t *to)
{
    const native_int8_shape *s = &t->p->shape;
    const int64_t step = args->a_zeros ? 1 : n;
    native_int8_rows rows = {.to_step = native_int8_row_bytes(t->p),
                             .from_step = s->lda,
                             .n = s->k,
                             .rows = step,
                             .is_signed = s->a_signed,
                             .zero = t->zero};

    for (int64_t i = 0; i < n; i += step) {
        if (args->a_zeros)
            rows.zero = args->a_zeros[row + i];
        rows.to = to + i * rows.to_step;
        rows.from = t->a + (row + i) * s->lda;
        t->p->way->take(&rows);
    }
}

void native_int8_pack_rows(const native_int8_product *p, const native_int8_args *args, int64_t row,
                           int64_t n, uint8_t *to)
{
    const int size = p->way->wide ? 2 : 1;
    const int64_t bytes = native_int8_row_bytes(p), rest = (p->k_padded - p->shape.k) * size;
    taker t = {.p = p, .a = args->a, .zero = args->a_zero, .size = size};
    int64_t i, j;

    if (!p->way->wide)
        t.padding = args->a_zero + int8_flip_a(p);
    if (p->shape.window.rank > 0)
        pack_windows(&t, args, row, n, to);
    else
        pack_plain(&t, args, row, n, to);
    for (i = 0; i < n && rest > 0; i++)
        for (j = 0; j < rest; j++) /* a few bytes */
            to[i * bytes + p->shape.k * size + j] = 0;
}

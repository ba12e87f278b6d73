/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_flat.c: what goes over memory element by element: functions of one and two operands, the
 * second perhaps spread over dims of the first, copies from one layout to another, and zeros around
 * images.
 */
#include "program.h"

#include <string.h>

/* Elements of one number of work. */
enum { PART = 2048 };

/* Elements in the layout of the value, lanes of no channel too. */
static int64_t room(const native_planner *p, const native_value *v)
{
    const int64_t lanes = p->isa->lanes, n = native_count(p, v);
    return v->blocked ? n / v->dims[1] * ((v->dims[1] + lanes - 1) / lanes * lanes) : n;
}

/* ---- one operand, copies ---- */

typedef struct flat {
    const native_isa *isa;
    native_ref from, to;
    int64_t n;
    native_act act;
} flat;

static void run_act(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const flat *f = params;
    int64_t first = begin * PART, last = end * PART < f->n ? end * PART : f->n;

    f->isa->act(&f->act, native_at(bases, &f->from) + first, native_at(bases, &f->to) + first,
                last - first);
}

static flat *begin_flat(native_planner *p, const native_item *item)
{
    flat *f = native_keep(p, sizeof *f);

    if (!f)
        return NULL;
    f->isa = p->isa;
    f->from = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->act = item->act;
    f->n = room(p, &p->ir->values[item->output]);
    return f;
}

void native_plan_act(native_planner *p, const native_item *item)
{
    flat *f = begin_flat(p, item);
    double each = item->act.kind <= NATIVE_ACT_LINEAR ? 0.1 : 0.5;

    if (f)
        native_add_run(p, run_act, f, (f->n + PART - 1) / PART, (double)f->n * each);
}

static void run_copy(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const flat *f = params;

    (void)begin;
    (void)end;
    memcpy(native_at(bases, &f->to), native_at(bases, &f->from), (size_t)f->n);
}

void native_plan_copy(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    flat *f = begin_flat(p, item);

    if (!f)
        return;
    f->n = (native_count(p, y) * tfr_dtype_bits(y->dtype) + 7) / 8;
    native_add_run(p, run_copy, f, f->n > 0, (double)f->n * 0.1)->alone = true;
}

/* ---- two operands ---- */

enum {
    GROUPS = 6,
    SHORT = 32, /* of a row, whose call would take longer than its elements */
    TILE = 512  /* results of rows together */
};

/*
 * Rows that are short go together: the innermost dims are one row of so many elements, and several
 * of these are a tile. An operand that does not lie as the results do is written out before.
 */
typedef struct tiles {
    int64_t row, rows;  /* elements; rows of a tile, 0 = no tiles */
    int dim;            /* of the rows */
    bool lies[2];       /* as the results do */
    int32_t *places[2]; /* of a row's elements in an operand */
} tiles;

typedef struct spread {
    const native_isa *isa;
    native_binary_kind kind;
    native_ref in[2], to;
    int rank;
    int64_t dims[GROUPS], steps[2][GROUPS]; /* from outside inwards; the last as isa.h has them */
    native_act act;
    tiles tiles;
} spread;

static void run_row(const spread *s, const float *x, int x_step, const float *y, int y_step,
                    float *to, int64_t n)
{
    s->isa->binary(s->kind, x, x_step, y, y_step, to, n);
    if (s->act.kind != NATIVE_ACT_NONE)
        s->isa->act(&s->act, to, to, n);
}

/* Where operands are in the dims outside of `inner`, at this combination of them. */
static void find_place(const spread *s, int64_t rest, int inner, int64_t at[2])
{
    int d;

    at[0] = at[1] = 0;
    for (d = inner - 1; d >= 0; d--) {
        at[0] += rest % s->dims[d] * s->steps[0][d];
        at[1] += rest % s->dims[d] * s->steps[1][d];
        rest /= s->dims[d];
    }
}

static void write_rows(const tiles *t, int k, const float *from, int64_t step, int64_t rows,
                       float *to)
{
    int64_t i, j;

    for (i = 0; i < rows; i++, from += step, to += t->row) {
        for (j = 0; j < t->row; j++)
            to[j] = from[t->places[k][j]];
    }
}

/* Numbers count tiles. What is the same for all rows is written out again where it changes only. */
static void run_tiles(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const spread *s = params;
    const tiles *t = &s->tiles;
    const int64_t n = s->dims[t->dim], groups = (n + t->rows - 1) / t->rows;
    const float *written[2] = {NULL, NULL};
    float room[2][TILE];
    int64_t i;
    int k;

    for (i = begin; i < end; i++) {
        const int64_t first = i % groups * t->rows;
        const int64_t rows = n - first < t->rows ? n - first : t->rows;
        const float *in[2];
        int64_t at[2];
        find_place(s, i / groups, t->dim, at);
        for (k = 0; k < 2; k++) {
            const int64_t step = s->steps[k][t->dim];
            in[k] = (const float *)native_at(bases, &s->in[k]) + at[k] + first * step;
            if (t->lies[k])
                continue;
            if (step != 0 || written[k] != in[k])
                write_rows(t, k, in[k], step, step == 0 ? t->rows : rows, room[k]);
            written[k] = in[k];
            in[k] = room[k];
        }
        run_row(s, in[0], 1, in[1], 1,
                (float *)native_at(bases, &s->to) + (i / groups * n + first) * t->row,
                rows * t->row);
    }
}

/* Numbers count rows of the innermost dim, or parts of it if it is the only one. */
static void run_spread(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const spread *s = params;
    const float *x = native_at(bases, &s->in[0]), *y = native_at(bases, &s->in[1]);
    float *to = native_at(bases, &s->to);
    const int last = s->rank - 1, x_step = (int)s->steps[0][last], y_step = (int)s->steps[1][last];
    int64_t n = s->dims[last], i;

    if (s->rank == 1) {
        int64_t first = begin * PART, stop = end * PART < n ? end * PART : n;
        run_row(s, x_step == 1 ? x + first : x, x_step, y_step == 1 ? y + first : y, y_step,
                to + first, stop - first);
        return;
    }
    for (i = begin; i < end; i++) {
        int64_t at[2];
        find_place(s, i, last, at);
        run_row(s, x + at[0], x_step, y + at[1], y_step, to + i * n, n);
    }
}

/* Dims of which an operand has all or none come together, those of 1 go. */
static void collapse(spread *s, int rank, const int64_t *dims, const bool (*has)[2])
{
    int64_t step[2] = {1, 1};
    int d, k, n = 0;

    for (d = 0; d < rank; d++) {
        if (dims[d] == 1)
            continue;
        if (n > 0 && has[d][0] == (s->steps[0][n - 1] != 0) &&
            has[d][1] == (s->steps[1][n - 1] != 0)) {
            s->dims[n - 1] *= dims[d];
            continue;
        }
        s->dims[n] = dims[d];
        s->steps[0][n] = has[d][0];
        s->steps[1][n++] = has[d][1];
    }
    if (n == 0) {
        s->dims[0] = s->steps[0][0] = s->steps[1][0] = 1;
        n = 1;
    }
    s->rank = n;
    for (d = n - 1; d >= 0; d--) {
        for (k = 0; k < 2; k++) {
            if (s->steps[k][d] == 0)
                continue;
            s->steps[k][d] = step[k];
            step[k] *= s->dims[d];
        }
    }
}

typedef struct channels {
    const float *from;
    int64_t n, count; /* of numbers there are, of channels */
} channels;

static void fill_channels(float *to, const void *user)
{
    const channels *c = user;
    int64_t i;

    for (i = 0; i < c->count; i++)
        to[i] = c->from[c->n == 1 ? 0 : i];
}

/* A vector for all pixels of a block: they are one row, not one for each pixel. */
static void join_pixels(spread *s, int64_t lanes)
{
    const int last = s->rank - 1;
    int k;

    for (k = 0; k < 2 && last > 0 && s->dims[last] == lanes; k++) {
        if (s->steps[k][last] == 1 && s->steps[k][last - 1] == 0 && s->steps[1 - k][last] == 1 &&
            s->steps[1 - k][last - 1] == lanes) {
            s->dims[last - 1] *= lanes;
            s->steps[k][last - 1] = 2;
            s->steps[1 - k][last - 1] = 1;
            s->rank--;
            return;
        }
    }
}

/*
 * Blocked: [N, C / lanes, pixels, lanes], and what has a number for each channel: constants, or
 * blocked values of one pixel.
 */
static void spread_blocked(native_planner *p, spread *s, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes, blocks = (y->dims[1] + lanes - 1) / lanes;
    const int64_t dims[4] = {native_first_dim(p, y), blocks, y->dims[2] * y->dims[3], lanes};
    bool has[4][2];
    int k, d;

    for (k = 0; k < 2; k++) {
        const native_value *v = &p->ir->values[item->inputs[k]];
        channels c = {v->known, native_elements(v), y->dims[1]};
        const native_constant_key key = {{v->known}, {5, c.n, c.count, lanes}};
        for (d = 0; d < 4; d++)
            has[d][k] = d == 1 || d == 3 ||
                        (v->blocked &&
                         (d == 0 ? v->dims[0] == y->dims[0] : v->dims[2] * v->dims[3] == dims[2]));
        if (!v->blocked)
            s->in[k].known = (const char *)native_pack(
                p, &key, (uint64_t)(blocks * lanes) * sizeof(float), fill_channels, &c);
    }
    collapse(s, 4, dims, (const bool(*)[2])has);
    join_pixels(s, lanes);
}

static void spread_plain(native_planner *p, spread *s, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    int64_t dims[TFR_MAX_RANK];
    bool has[TFR_MAX_RANK][2];
    int k, d;

    memcpy(dims, y->dims, sizeof dims);
    dims[0] = native_first_dim(p, y);
    for (k = 0; k < 2; k++) {
        const native_value *v = &p->ir->values[item->inputs[k]];
        int missing = y->rank - v->rank;
        for (d = 0; d < y->rank; d++)
            has[d][k] = d >= missing && (v->dims[d - missing] != 1 || y->dims[d] == 1);
    }
    collapse(s, y->rank, dims, (const bool(*)[2])has);
}

/* The places of a row's elements in an operand; does it lie as the results do? */
static bool list_places(const spread *s, int k, int64_t row, int32_t *places)
{
    bool lies = s->steps[k][s->tiles.dim] == row;
    int64_t i;

    for (i = 0; i < row; i++) {
        int64_t rest = i, at = 0;
        int d;
        for (d = s->rank - 1; d > s->tiles.dim; d--) {
            at += rest % s->dims[d] * s->steps[k][d];
            rest /= s->dims[d];
        }
        places[i] = (int32_t)at;
        lies = lies && at == i;
    }
    return lies;
}

/* As many dims are one row as fit, but the outermost. False = rows are long enough as they are. */
static bool find_tiles(native_planner *p, spread *s)
{
    tiles *t = &s->tiles;
    int k;

    if (s->rank < 2 || s->dims[s->rank - 1] >= SHORT)
        return false;
    t->row = s->dims[s->rank - 1];
    t->dim = s->rank - 2;
    while (t->dim > 0 && t->row * s->dims[t->dim] <= TILE)
        t->row *= s->dims[t->dim--];
    t->rows = TILE / t->row;
    for (k = 0; k < 2; k++) {
        t->places[k] = native_keep(p, (size_t)t->row * sizeof *t->places[k]);
        if (!t->places[k])
            return false;
        t->lies[k] = list_places(s, k, t->row, t->places[k]);
    }
    return true;
}

void native_plan_binary(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    spread *s = native_keep(p, sizeof *s);
    int64_t n = room(p, y), rows;
    int k;

    if (!s)
        return;
    s->isa = p->isa;
    s->kind = item->binary;
    s->act = item->act;
    s->to = native_ref_of(p, item->output);
    for (k = 0; k < 2; k++)
        s->in[k] = native_ref_of(p, item->inputs[k]);
    if (y->blocked)
        spread_blocked(p, s, item);
    else
        spread_plain(p, s, item);
    if (!y->blocked && n > 0 && find_tiles(p, s)) {
        rows = n / (s->tiles.row * s->dims[s->tiles.dim]) *
               ((s->dims[s->tiles.dim] + s->tiles.rows - 1) / s->tiles.rows);
        native_add_run(p, run_tiles, s, rows, (double)n * 0.4);
        return;
    }
    rows = s->rank == 1 ? (n + PART - 1) / PART : n / s->dims[s->rank - 1];
    native_add_run(p, run_spread, s, rows, (double)n * 0.2);
}

/* ---- layouts ---- */

typedef struct reorder {
    const native_isa *isa;
    native_ref from, to;
    int64_t channels, blocks, pixels;
    bool to_blocked;
} reorder;

/* Numbers count channel blocks of all samples. */
static void run_reorder(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const reorder *r = params;
    const int64_t lanes = r->isa->lanes;
    const float *from = native_at(bases, &r->from);
    float *to = native_at(bases, &r->to);
    int64_t i;

    for (i = begin; i < end; i++) {
        int64_t sample = i / r->blocks, c = i % r->blocks * lanes;
        int64_t n = r->channels - c < lanes ? r->channels - c : lanes;
        int64_t plain = (sample * r->channels + c) * r->pixels, blocked = i * r->pixels * lanes;
        if (!r->to_blocked) {
            r->isa->transpose(from + blocked, lanes, to + plain, r->pixels, r->pixels, n);
            continue;
        }
        if (n < lanes)
            memset(to + blocked, 0, (size_t)(r->pixels * lanes) * sizeof *to);
        r->isa->transpose(from + plain, r->pixels, to + blocked, lanes, n, r->pixels);
    }
}

void native_plan_reorder(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    reorder *r = native_keep(p, sizeof *r);
    int d;

    if (!r)
        return;
    r->isa = p->isa;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->channels = x->dims[1];
    r->blocks = (x->dims[1] + p->isa->lanes - 1) / p->isa->lanes;
    r->pixels = 1;
    for (d = 2; d < x->rank; d++)
        r->pixels *= x->dims[d];
    r->to_blocked = y->blocked;
    native_add_run(p, run_reorder, r, native_first_dim(p, x) * r->blocks,
                   (double)native_count(p, x) * 0.5);
}

typedef struct pad {
    native_ref from, to;
    const native_isa *isa;
    int64_t channels, height, width, out_height, out_width, top, left;
    int64_t frames, out_frames, front; /* of a plane: 1, 1, 0 without depth */
} pad;

/* Numbers count planes, in them frames. */
static void run_pad(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pad *r = params;
    int64_t i, y;

    for (i = begin; i < end; i++) {
        const int64_t frame = i % r->out_frames - r->front;
        const float *from = native_at(bases, &r->from) +
                            (i / r->out_frames * r->frames + frame) * r->height * r->width;
        float *row = native_at(bases, &r->to) + i * r->out_height * r->out_width;
        for (y = 0; y < r->out_height; y++, row += r->out_width) {
            int64_t line = y - r->top;
            if (frame < 0 || frame >= r->frames || line < 0 || line >= r->height) {
                memset(row, 0, (size_t)r->out_width * sizeof *row);
                continue;
            }
            memset(row, 0, (size_t)r->left * sizeof *row);
            memcpy(row + r->left, from + line * r->width, (size_t)r->width * sizeof *row);
            memset(row + r->left + r->width, 0,
                   (size_t)(r->out_width - r->left - r->width) * sizeof *row);
        }
    }
}

/* Of an image with the channels last: numbers count samples, in them rows. */
static void run_turned_pad(const void *params, const native_bases *bases, int64_t begin,
                           int64_t end)
{
    const pad *r = params;
    const int64_t line = r->width * r->channels, plane = r->out_height * r->out_width;
    const int64_t behind = r->out_width - r->left - r->width;
    int64_t i, c;

    for (i = begin; i < end; i++) {
        const int64_t sample = i / r->out_height, y = i % r->out_height - r->top;
        const bool inside = y >= 0 && y < r->height;
        const float *from = native_at(bases, &r->from) + (sample * r->height + y) * line;
        float *row = native_at(bases, &r->to) + sample * r->channels * plane +
                     i % r->out_height * r->out_width;
        for (c = 0; c < r->channels; c++) {
            float *to = row + c * plane;
            memset(to, 0, (size_t)(inside ? r->left : r->out_width) * sizeof *to);
            if (inside)
                memset(to + r->left + r->width, 0, (size_t)behind * sizeof *to);
        }
        if (inside)
            r->isa->transpose(from, r->channels, row + r->left, plane, r->width, r->channels);
    }
}

void native_plan_pad(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_depth *d = &item->depth;
    pad *r = native_keep(p, sizeof *r);

    if (!r)
        return;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->frames = d->kernel ? d->size : 1;
    r->out_frames = d->kernel ? d->outs : 1;
    r->front = d->pad;
    r->isa = p->isa;
    r->channels = y->dims[1];
    r->height = x->dims[item->transposed ? 1 : 2] / r->frames;
    r->width = x->dims[item->transposed ? 2 : 3];
    r->out_height = y->dims[2] / r->out_frames;
    r->out_width = y->dims[3];
    r->top = item->pad[0];
    r->left = item->pad[1];
    if (item->transposed) {
        native_add_run(p, run_turned_pad, r, native_first_dim(p, x) * r->out_height,
                       (double)native_count(p, y) * 0.4);
        return;
    }
    native_add_run(p, run_pad, r, native_first_dim(p, x) * x->dims[1] * r->out_frames,
                   (double)native_count(p, y) * 0.2);
}

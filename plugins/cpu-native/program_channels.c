/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_channels.c: channels of blocked images that are cut out (Slice, Split), with all pixels
 * or some rows and columns, or put together (Concat), wherever they begin, or repeated for a
 * depthwise convolution with several outputs of each input. Networks do so between convolutions; on
 * plain images each would be turned from blocks and back.
 *
 * A block of the result has parts of blocks of the sources. A part is stored as a whole vector for
 * each pixel: what is too much of it lies where the next part or the next pixel follows, and the
 * last pixel is stored exactly. Lanes behind the last channel are 0.
 */
#include "program_layout.h"

#include <string.h>

/* ---- which ---- */

/* Where it begins along each axis, if it takes all samples and elements that follow each other. */
bool native_cuts_block(const native_ir *ir, const native_item *item, int64_t *at)
{
    const native_value *x, *y = &ir->values[item->output];
    const native_strided *s;
    native_strided lies, to;
    int64_t left;
    int d;

    if (item->kind != NATIVE_ITEM_STRIDED || item->n_inputs != 1 || item->strided < 0)
        return false;
    x = &ir->values[item->inputs[0]];
    s = &ir->strided[item->strided];
    if (x->rank < 3 || y->rank != x->rank || s->rank != x->rank || x->dtype != y->dtype ||
        s->to_offset != 0 || x->dims[0] != y->dims[0] || native_elements(x) < 1)
        return false;
    native_lies_plain(x, &lies);
    native_lies_plain(y, &to);
    left = s->offset;
    for (d = 0; d < x->rank; d++) {
        at[d] = left / lies.steps[d];
        left %= lies.steps[d];
        if (at[d] < 0 || at[d] + y->dims[d] > x->dims[d] || s->dims[d] != y->dims[d] ||
            (y->dims[d] > 1 && (s->steps[d] != lies.steps[d] || s->to_steps[d] != to.steps[d])))
            return false;
    }
    return true;
}

bool native_cuts_images(const native_ir *ir, const native_item *item, int64_t *first)
{
    const native_value *y = &ir->values[item->output];
    int64_t at[TFR_MAX_RANK];
    int d;

    if (y->rank != 4 || !native_cuts_block(ir, item, at))
        return false;
    for (d = 2; d < 4; d++) {
        if (y->dims[d] != ir->values[item->inputs[0]].dims[d])
            return false;
    }
    *first = at[1];
    return true;
}

bool native_cuts_channels(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    int64_t at[TFR_MAX_RANK];

    return y->rank == 4 && y->dtype == TFR_DTYPE_F32 && native_cuts_block(ir, item, at);
}

/* As dims [N, C, times, H, W], through the third of which it does not step. */
static void set_repeated(const native_value *x, const native_value *y, native_strided *to)
{
    const int64_t plane = x->dims[2] * x->dims[3], times = y->dims[1] / x->dims[1];
    const native_strided s = {
        .rank = 5,
        .dims = {x->dims[0], x->dims[1], times, x->dims[2], x->dims[3]},
        .steps = {x->dims[1] * plane, plane, 0, x->dims[3], 1},
        .to_steps = {y->dims[1] * plane, times * plane, plane, x->dims[3], 1}};
    *to = s;
}

bool native_repeats_channels(const native_ir *ir, const native_item *item, int64_t *times)
{
    const native_value *x, *y = &ir->values[item->output];
    native_strided s;

    if (item->kind != NATIVE_ITEM_STRIDED || item->n_inputs != 1 || item->strided < 0)
        return false;
    x = &ir->values[item->inputs[0]];
    if (x->rank != 4 || y->rank != 4 || x->dtype != TFR_DTYPE_F32 || x->dims[1] < 1 ||
        y->dims[1] % x->dims[1] || ir->strided[item->strided].rank != 5)
        return false;
    set_repeated(x, y, &s);
    *times = y->dims[1] / x->dims[1];
    return memcmp(&s, &ir->strided[item->strided], sizeof s) == 0;
}

/* The same of an item before, or -1. */
static int find_repeated(const native_ir *ir, int at, int image, int64_t channels)
{
    int64_t times;
    int i;

    for (i = 0; i < at; i++) {
        const native_item *item = &ir->items[i];
        if (native_repeats_channels(ir, item, &times) && item->inputs[0] == image &&
            ir->values[item->output].dims[1] == channels)
            return item->output;
    }
    return -1;
}

void native_repeat_channels(native_ir *ir, int at)
{
    native_item conv = ir->items[at];
    const native_value x = ir->values[conv.inputs[0]];
    const int64_t channels = ir->values[conv.inputs[1]].dims[0];
    native_value repeated = x;
    native_item *item;
    int strided, found;

    if (x.rank != 4 || channels == x.dims[1])
        return;
    found = find_repeated(ir, at, conv.inputs[0], channels);
    if (found >= 0) {
        ir->items[at].inputs[0] = found;
        return;
    }
    repeated.dims[1] = channels;
    conv.inputs[0] = native_new_value(ir, &repeated);
    strided = native_new_strided(ir, 1);
    *native_new_item(ir, NATIVE_ITEM_NONE) = conv;
    if (ir->failed)
        return;
    set_repeated(&x, &repeated, &ir->strided[strided]);
    item = &ir->items[at];
    item->kind = NATIVE_ITEM_STRIDED;
    item->n_inputs = 1;
    item->strided = strided;
    item->output = conv.inputs[0];
}

/* Of items that make images as their inputs lie: how far those who read them are looked for. */
enum { FAR = 4 };

static bool is_read_blocked(const native_ir *ir, const native_item *later, int n, int value,
                            int far)
{
    int i;

    for (i = 0; i < n; i++) {
        const native_item *item = &later[i];
        if (!native_reads(item, value))
            continue;
        switch (item->kind) {
        case NATIVE_ITEM_CONV:
        case NATIVE_ITEM_DEPTHWISE:
        case NATIVE_ITEM_MEAN:
            return true;
        case NATIVE_ITEM_POOL:
            if (!native_has_pool_rows(ir, item))
                return true; /* fall through */
        case NATIVE_ITEM_BATCH_NORM:
        case NATIVE_ITEM_STRIDED:
            if (item->kind == NATIVE_ITEM_BATCH_NORM && (!item->of_variance || item->integer >= 0))
                return true;
            if (item->kind == NATIVE_ITEM_STRIDED && !native_cuts_channels(ir, item))
                break;
            /* fall through */
        case NATIVE_ITEM_ACT:
        case NATIVE_ITEM_BINARY:
        case NATIVE_ITEM_CONCAT:
        case NATIVE_ITEM_RESIZE:
            if (far > 0 && ir->values[item->output].rank == 4 &&
                is_read_blocked(ir, item + 1, n - i - 1, item->output, far - 1))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

bool native_is_read_blocked(const native_ir *ir, const native_item *later, int n, int value)
{
    return is_read_blocked(ir, later, n, value, FAR);
}

/* ---- running ---- */

enum { PIXELS = 128 /* of a number of work */ };

/* Of a block of the result: `n` lanes from `to` on, which are in a block of a source. */
typedef struct part {
    native_ref from;
    int64_t sample, block; /* floats of the source from sample to sample; its block begins here */
    int64_t lane, to, n;
    bool zeros;
} part;

typedef struct channels {
    native_ref to;
    part *parts;
    int *first; /* of each block its first part, and the end */
    int64_t lanes, pixels, blocks;
    /* Pixels of the result are `lines` of `line`, each of so many pieces; lines of a source are
     * `from_line` pixels apart, the first one at `origin`. */
    int64_t lines, line, pieces, origin, from_line;
} channels;

static const float no_channels[16];

enum { MOST_PARTS = 17 /* of 16 lanes, and zeros */ };

typedef struct moved {
    const float *from[MOST_PARTS];
    int64_t step[MOST_PARTS], to[MOST_PARTS], n[MOST_PARTS];
} moved;

static inline __attribute__((always_inline)) void move_pixels(const moved *m, int n, float *to,
                                                              int64_t pixels, int64_t lanes)
{
    int64_t i;
    int k;

    for (i = 0; i + 1 < pixels; i++) {
        for (k = 0; k < n; k++)
            memcpy(to + i * lanes + m->to[k], m->from[k] + i * m->step[k],
                   (size_t)lanes * sizeof *to);
    }
    for (k = 0; k < n; k++)
        memcpy(to + i * lanes + m->to[k], m->from[k] + i * m->step[k],
               (size_t)m->n[k] * sizeof *to);
}

static inline __attribute__((always_inline)) void move_parts(const moved *m, int n, float *to,
                                                             int64_t pixels, int64_t lanes)
{
    if (n == 1)
        move_pixels(m, 1, to, pixels, lanes);
    else if (n == 2)
        move_pixels(m, 2, to, pixels, lanes);
    else
        move_pixels(m, n, to, pixels, lanes);
}

/* Numbers count pieces of the lines of blocks of samples. */
static void run_channels(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const channels *c = params;
    float *to = native_at(bases, &c->to);

    for (; begin < end; begin++) {
        const int64_t at = begin % c->pieces * PIXELS, line = begin / c->pieces % c->lines;
        const int64_t rest = begin / c->pieces / c->lines;
        const int64_t block = rest % c->blocks, sample = rest / c->blocks;
        const int64_t pixels = c->line - at < PIXELS ? c->line - at : PIXELS;
        const int64_t there = c->origin + line * c->from_line + at;
        float *here =
            to + ((sample * c->blocks + block) * c->pixels + line * c->line + at) * c->lanes;
        const int n = c->first[block + 1] - c->first[block];
        moved m;
        int k;
        for (k = 0; k < n; k++) {
            const part *p = &c->parts[c->first[block] + k];
            m.step[k] = p->zeros ? 0 : c->lanes;
            m.from[k] = p->zeros ? no_channels
                                 : native_at(bases, &p->from) + sample * p->sample + p->block +
                                       there * c->lanes + p->lane;
            m.to[k] = p->to;
            m.n[k] = p->n;
        }
        if (n == 1 && m.n[0] == c->lanes)
            memcpy(here, m.from[0], (size_t)(pixels * c->lanes) * sizeof *here);
        else if (c->lanes == 8)
            move_parts(&m, n, here, pixels, 8);
        else if (c->lanes == 16)
            move_parts(&m, n, here, pixels, 16);
        else
            move_parts(&m, n, here, pixels, c->lanes);
    }
}

/* ---- planning ---- */

static int64_t blocks_of(int64_t n, int64_t lanes)
{
    return (n + lanes - 1) / lanes;
}

/* Channels from `first` on, up to the end of a block here or there. */
static int64_t add_part(native_planner *p, channels *c, int *n_parts, int source, int64_t first,
                        int64_t place, int64_t left)
{
    const native_value *x = &p->ir->values[source];
    const int64_t plane = x->dims[2] * x->dims[3];
    part *to = &c->parts[(*n_parts)++];
    int64_t n = left;

    to->from = native_ref_of(p, source);
    to->sample = blocks_of(x->dims[1], c->lanes) * plane * c->lanes;
    to->block = first / c->lanes * plane * c->lanes;
    to->lane = first % c->lanes;
    to->to = place % c->lanes;
    if (n > c->lanes - to->lane)
        n = c->lanes - to->lane;
    if (n > c->lanes - to->to)
        n = c->lanes - to->to;
    to->n = n;
    return n;
}

/* Zeros from a place to the end of its block. */
static void end_parts(channels *c, int n_parts, int64_t place)
{
    if (place % c->lanes != 0) {
        c->parts[n_parts].zeros = true;
        c->parts[n_parts].to = place % c->lanes;
        c->parts[n_parts++].n = c->lanes - place % c->lanes;
    }
    c->first[c->blocks] = n_parts;
}

/* Those of the sources follow each other, of the first one from a channel on. */
static void add_parts(native_planner *p, channels *c, const native_item *item, int64_t first)
{
    const native_value *y = &p->ir->values[item->output];
    int64_t place = 0, at, some;
    int n_parts = 0, k;

    for (k = 0; k < item->n_inputs; k++) {
        const int64_t n =
            item->kind == NATIVE_ITEM_CONCAT ? p->ir->values[item->inputs[k]].dims[1] : y->dims[1];
        for (at = 0; at < n; at += some, place += some) {
            if (place % c->lanes == 0)
                c->first[place / c->lanes] = n_parts;
            some = add_part(p, c, &n_parts, item->inputs[k], first + at, place, n - at);
        }
    }
    end_parts(c, n_parts, place);
}

static void add_repeated(native_planner *p, channels *c, const native_item *item, int64_t times)
{
    const int64_t n = p->ir->values[item->output].dims[1];
    int64_t place;
    int n_parts = 0;

    for (place = 0; place < n; place++) {
        if (place % c->lanes == 0)
            c->first[place / c->lanes] = n_parts;
        (void)add_part(p, c, &n_parts, item->inputs[0], place / times, place, 1);
    }
    end_parts(c, n_parts, n);
}

/* Pixels of the result in those of an image, from row at[0] and column at[1] on. */
static void set_lines(channels *c, const native_value *y, const native_value *x, const int64_t *at)
{
    const bool whole = y->dims[3] == x->dims[3]; /* rows follow each other */

    c->pixels = y->dims[2] * y->dims[3];
    c->lines = whole ? 1 : y->dims[2];
    c->line = c->pixels / c->lines;
    c->pieces = blocks_of(c->line, PIXELS);
    c->from_line = x->dims[3];
    c->origin = at[0] * x->dims[3] + at[1];
}

void native_plan_channels(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    channels *c = native_keep(p, sizeof *c);
    int64_t at[TFR_MAX_RANK] = {0}, times = 1, most;

    if (!c)
        return;
    if (item->kind == NATIVE_ITEM_STRIDED && !native_cuts_block(p->ir, item, at)) {
        memset(at, 0, sizeof at);
        (void)native_repeats_channels(p->ir, item, &times);
    }
    c->to = native_ref_of(p, item->output);
    c->lanes = p->isa->lanes;
    c->blocks = blocks_of(y->dims[1], c->lanes);
    set_lines(c, y, &p->ir->values[item->inputs[0]], at + 2);
    /* each part is of one channel, or it ends a block of the result or of a source, or a source */
    most = times > 1 ? y->dims[1] + 1 : 2 * c->blocks + item->n_inputs + 2;
    c->parts = native_keep(p, (size_t)most * sizeof *c->parts);
    c->first = native_keep(p, (size_t)(c->blocks + 1) * sizeof *c->first);
    if (!c->parts || !c->first)
        return;
    if (times > 1)
        add_repeated(p, c, item, times);
    else
        add_parts(p, c, item, at[1]);
    native_add_run(p, run_channels, c, native_first_dim(p, y) * c->blocks * c->lines * c->pieces,
                   (double)native_count(p, y) * 0.1);
}

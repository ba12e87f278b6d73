/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_tokens.c: images as rows of channels, one for each pixel, which is how transformers have
 * them, and back. Convolutions read and write such images as they lie, with the channels last, if
 * channels are whole vectors and nobody wants them otherwise: what turned them becomes a view.
 * Elsewhere they are turned and blocked at once.
 */
#include <string.h>

#include "pixel_rows.h"
#include "program.h"

/* Steps of an item that only moves its one input; false: it is another. */
static bool read_move(const native_ir *ir, const native_item *item, native_strided *to)
{
    const native_value *x, *y = &ir->values[item->output];
    native_strided plain;

    if ((item->kind != NATIVE_ITEM_TRANSPOSE && item->kind != NATIVE_ITEM_STRIDED) ||
        item->n_inputs != 1 || item->inputs[0] < 0 || y->dtype != TFR_DTYPE_F32)
        return false;
    x = &ir->values[item->inputs[0]];
    if (x->rank > NATIVE_STRIDED_RANK || y->rank > NATIVE_STRIDED_RANK || native_elements(y) == 0 ||
        native_elements(x) != native_elements(y))
        return false;
    if (item->kind == NATIVE_ITEM_TRANSPOSE) {
        native_lies_plain(x, &plain);
        native_lies_turned(&plain, item->perm, to);
        return true;
    }
    *to = ir->strided[item->strided];
    native_lies_plain(y, &plain);
    return to->offset == 0 && to->to_offset == 0 && to->rank == y->rank &&
           memcmp(to->to_steps, plain.steps, sizeof plain.steps) == 0;
}

static bool steps_are(const native_strided *s, const int64_t *steps)
{
    int d;

    for (d = 0; d < s->rank; d++) {
        if (s->dims[d] > 1 && s->steps[d] != steps[d])
            return false;
    }
    return true;
}

bool native_are_tokens(const native_value *image, const native_strided *s)
{
    const int64_t n = image->dims[0], c = image->dims[1], w = image->dims[3];
    const int64_t pixels = image->dims[2] * w;
    const int64_t flat[] = {c * pixels, 1, pixels}, full[] = {c * pixels, w, 1, pixels};

    if (image->rank != 4 || s->dims[0] != n || s->dims[s->rank - 1] != c)
        return false;
    if (s->rank == 3)
        return steps_are(s, flat);
    return s->rank == 4 && s->dims[2] == w && steps_are(s, full);
}

static bool makes_tokens(const native_ir *ir, const native_item *item)
{
    native_strided s;

    return read_move(ir, item, &s) && native_are_tokens(&ir->values[item->inputs[0]], &s);
}

static bool makes_image(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    native_strided s;
    const int64_t c = y->rank == 4 ? y->dims[1] : 0;
    const int64_t steps[] = {c * (c ? y->dims[2] * y->dims[3] : 0), 1, c ? y->dims[3] * c : 0, c};

    return c > 0 && read_move(ir, item, &s) && steps_are(&s, steps);
}

/* ---- who has the channels last ---- */

static bool is_window(const native_item *item, int kind, int64_t kernel)
{
    return (int)item->kind == kind && item->kernel[0] == kernel && item->kernel[1] == kernel;
}

/* Forms of Winograd are of blocked channels. */
static bool can_be_last(const native_item *item)
{
    if (item->integer >= 0 || item->groups > 1 || item->pooled || item->codes >= 0 ||
        item->depth.kernel)
        return false;
    return item->kind == NATIVE_ITEM_DEPTHWISE ||
           (item->kind == NATIVE_ITEM_CONV && !(is_window(item, NATIVE_ITEM_CONV, 3) &&
                                                item->stride[0] == 1 && item->stride[1] == 1));
}

static bool is_whole(const native_ir *ir, const native_value *v)
{
    return v->dtype == TFR_DTYPE_F32 && v->rank == 4 && !v->output && !v->known && v->readers > 0 &&
           v->dims[1] % ir->device->isa->lanes == 0 && v->dims[1] > NATIVE_PLAIN_CHANNELS;
}

static bool is_read_last(const native_ir *ir, const native_item *items, int n, int value)
{
    int i;

    for (i = 0; i < n; i++) {
        if (native_reads(&items[i], value) &&
            (!can_be_last(&items[i]) || items[i].inputs[0] != value ||
             items[i].inputs[1] == value ||
             (items[i].n_inputs > 2 && items[i].inputs[2] == value) || items[i].residual == value))
            return false;
    }
    return is_whole(ir, &ir->values[value]);
}

static bool is_made_last(const native_ir *ir, const native_item *items, int n, int value)
{
    int i;

    for (i = 0; i < n; i++) {
        if (items[i].kind != NATIVE_ITEM_NONE && items[i].output == value)
            return can_be_last(&items[i]) && items[i].residual < 0 &&
                   ir->values[value].readers == 1 && is_whole(ir, &ir->values[value]);
    }
    return false;
}

void native_find_last(native_ir *ir, const native_item *items, int n)
{
    int i;

    if (native_wants_stages(ir))
        return;
    for (i = 0; i < n; i++) {
        const native_item *item = &items[i];
        if (makes_tokens(ir, item) && is_made_last(ir, items, i, item->inputs[0]))
            ir->values[item->inputs[0]].last = true;
        else if (makes_image(ir, item) && is_read_last(ir, item + 1, n - i - 1, item->output))
            ir->values[item->output].last = true;
    }
}

/* ---- what turns images ---- */

static bool wants_blocked(const native_ir *ir, const native_item *item, int value)
{
    const native_value *other;
    int k;

    switch (item->kind) {
    case NATIVE_ITEM_CONV:
        return item->residual == value ||
               (item->inputs[0] == value && (item->integer >= 0 || item->groups > 1 ||
                                             ir->values[value].dims[1] > NATIVE_PLAIN_CHANNELS));
    case NATIVE_ITEM_DEPTHWISE:
    case NATIVE_ITEM_POOL:
        return true;
    case NATIVE_ITEM_BINARY:
        for (k = 0; k < 2 && item->binary != NATIVE_DIV; k++) {
            other = &ir->values[item->inputs[k]];
            if (other->blocked && other->rank == 4 &&
                native_elements(other) == native_elements(&ir->values[value]))
                return true;
        }
        return false;
    default:
        return false;
    }
}

native_turn native_turn_of(const native_ir *ir, const native_item *item, const native_item *later,
                           int n)
{
    int i;

    if (makes_tokens(ir, item)) {
        const native_value *x = &ir->values[item->inputs[0]];
        return x->last ? NATIVE_TURN_VIEW : x->blocked ? NATIVE_TURN_REORDER : NATIVE_TURN_NONE;
    }
    if (!makes_image(ir, item))
        return NATIVE_TURN_NONE;
    if (ir->values[item->output].last)
        return NATIVE_TURN_VIEW;
    for (i = 0; i < n; i++) {
        if (native_reads(&later[i], item->output) && wants_blocked(ir, &later[i], item->output))
            return NATIVE_TURN_REORDER;
    }
    return NATIVE_TURN_NONE;
}

/* ---- running ---- */

enum { PIXELS = 32 /* of a number of work */ };

typedef struct turns {
    native_ref from, to;
    int64_t channels, lanes, pixels, parts;
    bool to_blocked;
} turns;

/* Numbers count parts of the pixels of samples. */
static void run_turns(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turns *t = params;
    const int64_t blocks = (t->channels + t->lanes - 1) / t->lanes;
    const float *from = native_at(bases, &t->from);
    float *to = native_at(bases, &t->to);

    for (; begin < end; begin++) {
        const int64_t sample = begin / t->parts, first = begin % t->parts * PIXELS;
        const int64_t left = t->pixels - first, n = left < PIXELS ? left : PIXELS;
        const int64_t last = (sample * t->pixels + first) * t->channels;
        const int64_t blocked = (sample * blocks * t->pixels + first) * t->lanes;
        if (t->to_blocked)
            native_rows_to_blocks(from + last, t->channels, n, to + blocked, t->pixels * t->lanes,
                                  t->lanes);
        else
            native_blocks_to_rows(from + blocked, t->pixels * t->lanes, t->lanes, n, to + last,
                                  t->channels);
    }
}

void native_plan_turn(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const native_value *image = y->blocked ? y : &p->ir->values[item->inputs[0]];
    turns *t = native_keep(p, sizeof *t);

    if (!t)
        return;
    t->from = native_ref_of(p, item->inputs[0]);
    t->to = native_ref_of(p, item->output);
    t->channels = image->dims[1];
    t->lanes = p->isa->lanes;
    t->pixels = image->dims[2] * image->dims[3];
    t->parts = (t->pixels + PIXELS - 1) / PIXELS;
    t->to_blocked = y->blocked;
    native_add_run(p, run_turns, t, native_first_dim(p, image) * t->parts,
                   (double)native_count(p, image) * 0.2);
}

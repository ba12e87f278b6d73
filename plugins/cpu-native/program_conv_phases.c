/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_conv_phases.c: transposed convolutions in steps, phase by phase. Outputs that lie as far
 * apart as the steps have the same taps of the window, those of another phase have others. Each
 * phase is a convolution with weights of its own, which its tiles read one after the other: of a
 * window over all phases they would skip most. One step has the tiles of all.
 *
 * Terms are summed in the order of the window, so that bits are those of one step for all phases.
 */
#include "program_tiles.h"

#include <string.h>

/* One of them, and those that follow; n: numbers of its tiles. */
typedef struct phase {
    native_tiles *tiles;
    int64_t n;
    const struct phase *next;
} phase;

/* Numbers count phases, in them what their tiles count. */
static void run_phases(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const phase *f;

    for (f = params; f && end > 0; f = f->next) {
        if (begin < f->n)
            native_run_tiles(f->tiles, bases, begin, end < f->n ? end : f->n);
        begin = begin < f->n ? 0 : begin - f->n;
        end -= f->n;
    }
}

/* Known weights of a whole window over two axes, in which each phase has a tap. */
bool native_has_phases(const native_planner *p, const native_tiles *c, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    bool has = c->places && !c->plain && !c->groups && !item->depth.kernel && !item->whole[0] &&
               p->ir->values[item->inputs[1]].known;
    int i;

    for (i = 0; i < 2; i++)
        has = has && item->dilation[i] == 1 && item->kernel[i] >= item->stride[i] &&
              item->kernel[i] < 256 && y->dims[2 + i] >= item->stride[i];
    return has;
}

/* Of an axis: the first tap of outputs at, at + stride, ..., and how many they have. */
static int64_t first_tap(const native_item *item, int axis, int64_t at, int64_t *n)
{
    const int64_t first = (at + item->pad[axis]) % item->stride[axis];

    *n = (item->kernel[axis] - first + item->stride[axis] - 1) / item->stride[axis];
    return first;
}

/* The offsets of tiles from `from` on, of the phase's taps alone. */
static void take_offsets(native_planner *p, native_tiles *c, const native_tiles *whole,
                         const native_packing *k, int64_t from, int64_t across)
{
    const int64_t pixels = c->first_pixel[c->n_tiles] - c->first_pixel[0];
    int32_t *to = native_keep(p, (size_t)(pixels * c->n_taps) * sizeof *to), *begin = to;
    int32_t *at = native_keep(p, (size_t)c->n_tiles * sizeof *at);
    int64_t tile, i, j;

    for (tile = 0; to && at && tile < c->n_tiles; tile++) {
        const int64_t n = c->first_pixel[tile + 1] - c->first_pixel[tile];
        const int32_t *all = whole->offsets + whole->at[from + tile];
        at[tile] = (int32_t)(to - begin);
        for (i = 0; i < k->kernel[0]; i++) {
            for (j = 0; j < k->kernel[1]; j++, to += n) {
                const int64_t tap =
                    (k->first[0] + i * k->step[0]) * across + k->first[1] + j * k->step[1];
                memcpy(to, all + tap * n, (size_t)n * sizeof *to);
            }
        }
    }
    c->offsets = begin;
    c->at = at;
    c->shift = whole->shift + from;
}

/* How many tiles of the phase of tile `from` follow each other. */
static int64_t tiles_of_phase(const native_tiles *c, const native_item *item, int64_t width,
                              int64_t from)
{
    const int64_t row = c->places[from] / width % item->stride[0];
    const int64_t column = c->places[from] % width % item->stride[1];
    int64_t tile = from;

    while (tile < c->n_tiles && c->places[tile] / width % item->stride[0] == row &&
           c->places[tile] % width % item->stride[1] == column)
        tile++;
    return tile - from;
}

/* The phase of tile `from`, whose tiles follow each other. */
static phase *make_phase(native_planner *p, const native_tiles *whole, const native_item *item,
                         const native_packing *pack, int64_t from)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    const int64_t width = p->ir->values[item->output].dims[3];
    const int blocks = whole->first_block[whole->n_groups];
    phase *f = native_keep(p, sizeof *f);
    native_tiles *c = native_keep(p, sizeof *c);
    native_packing k = *pack;
    int i;

    if (!f || !c)
        return NULL;
    *c = *whole;
    c->n_tiles = tiles_of_phase(whole, item, width, from);
    c->first_pixel = whole->first_pixel + from;
    c->places = whole->places + from;
    for (i = 0; i < 2; i++) {
        k.whole[i] = item->kernel[i];
        k.step[i] = item->stride[i];
        k.first[i] =
            first_tap(item, i, i ? c->places[0] % width : c->places[0] / width, &k.kernel[i]);
    }
    k.taps = k.kernel[0] * k.kernel[1];
    c->n_taps = (int)k.taps;
    c->terms = c->n_in * p->isa->lanes * k.taps;
    c->parts = 1;
    native_make_chunks(p, c,
                       x->dims[1] * x->dims[2] * x->dims[3] * (int64_t)sizeof(float) / c->n_tiles);
    take_offsets(p, c, whole, &k, from, item->kernel[1]);
    native_pack_weights(p, c, &k, item->inputs[1], blocks);
    native_pack_bias(p, c, item->n_inputs > 2 ? item->inputs[2] : -1, 1.0f, k.outs, blocks);
    *f = (phase){c, c->samples * c->n_tiles * c->n_groups, NULL};
    return f;
}

void native_plan_phases(native_planner *p, const native_tiles *whole, const native_item *item,
                        const native_packing *pack)
{
    const phase *first = NULL;
    double flops = 0.0;
    int64_t tile = 0, n = 0;

    while (tile < whole->n_tiles) {
        phase *f = make_phase(p, whole, item, pack, tile);
        const native_tiles *c = f ? f->tiles : NULL;
        if (!f)
            return;
        f->next = first;
        first = f;
        tile += c->n_tiles;
        n += f->n;
        flops += 2.0 * (double)(c->first_pixel[c->n_tiles] - c->first_pixel[0]) *
                 (double)(c->samples * pack->outs) * (double)c->terms;
    }
    native_add_run(p, run_phases, first, n, flops / 100.0)->flops = flops;
}

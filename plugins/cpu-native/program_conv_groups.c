/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_conv_groups.c: convolutions in groups, by the tiles of program_conv.c. Every vector of
 * outputs is a dense convolution of the blocks of inputs that its groups read, with weights of 0
 * where a block has inputs of another group. Groups of whole vectors have no such weights; where a
 * group is half a vector, half of the products are by 0.
 *
 * A product of 0 and a number that is not finite is NaN, which must not reach another group. So the
 * outputs of narrow groups are looked at, and a vector that has NaN or infinity is computed again
 * from the model's weights, one by one.
 */
#include "program_tiles.h"

#include <string.h>

/* ---- which inputs a group of outputs reads ---- */

/* Of blocks [first, last) of outputs, the blocks of inputs. */
static void inputs_of(const native_conv_groups *g, int64_t lanes, int64_t first, int64_t last,
                      int64_t *begin, int64_t *end)
{
    const int64_t outs = g->outs * g->groups;
    const int64_t most = last * lanes < outs ? last * lanes : outs;

    *begin = first * lanes / g->outs * g->ins / lanes;
    *end = (((most - 1) / g->outs + 1) * g->ins + lanes - 1) / lanes;
}

/* The most blocks of inputs that groups of `size` blocks of outputs read. */
static int64_t most_inputs(const native_conv_groups *g, int64_t lanes, int64_t blocks, int64_t size)
{
    int64_t most = 0, at, begin, end;

    for (at = 0; at < blocks; at += size) {
        inputs_of(g, lanes, at, at + size < blocks ? at + size : blocks, &begin, &end);
        most = end - begin > most ? end - begin : most;
    }
    return most;
}

/* As many blocks of outputs together as read no more than one of them alone. */
void native_group_channels(native_planner *p, native_tiles *c, const native_item *item, int blocks)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes, in_blocks = (x->dims[1] + lanes - 1) / lanes;
    native_conv_groups *g = native_keep(p, sizeof *g);
    int16_t *first = native_keep(p, ((size_t)blocks + 1) * sizeof *first);
    int16_t *first_in = native_keep(p, (size_t)blocks * sizeof *first_in);
    int64_t size, begin, end;

    if (!g || !first || !first_in)
        return;
    g->groups = item->groups;
    g->ins = x->dims[1] / item->groups;
    g->outs = y->dims[1] / item->groups;
    g->narrow = g->ins % lanes != 0 || g->outs % lanes != 0;
    g->transposed = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    g->weights = native_ref_of(p, item->inputs[1]);
    g->has_bias = item->n_inputs > 2 && item->inputs[2] >= 0;
    g->bias = native_ref_of(p, g->has_bias ? item->inputs[2] : -1);
    c->n_in = (int)most_inputs(g, lanes, blocks, 1);
    size = p->isa->max_pixels[4] ? 4 : 3;
    while (size > 1 && most_inputs(g, lanes, blocks, size) > c->n_in)
        size--;
    while (c->n_groups * size < blocks) {
        const int64_t at = c->n_groups * size;
        inputs_of(g, lanes, at, at + size < blocks ? at + size : blocks, &begin, &end);
        first[c->n_groups] = (int16_t)at;
        first_in[c->n_groups++] =
            (int16_t)(begin + c->n_in > in_blocks ? in_blocks - c->n_in : begin);
    }
    first[c->n_groups] = (int16_t)blocks;
    c->first_block = first;
    g->first_in = first_in;
    c->groups = g;
}

/* ---- weights ---- */

/* The taps of an output and of one of the inputs of its group; how many there are is `taps`. */
static const float *taps_of(const native_conv_groups *g, const float *weights, int64_t out,
                            int64_t in, int64_t taps)
{
    if (g->transposed)
        return weights + ((out / g->outs * g->ins + in) * g->outs + out % g->outs) * taps;
    return weights + (out * g->ins + in) * taps;
}

/* The weights of a group of blocks for `part` inputs from number `in` of those that it reads. */
void native_fill_group(const native_packing *k, int64_t group, int64_t in, int64_t part, float *to)
{
    const native_tiles *c = k->tiles;
    const native_conv_groups *g = c->groups;
    const int64_t lanes = c->isa->lanes, first = c->first_block[group] * lanes;
    const int64_t width = c->first_block[group + 1] * lanes - first;
    const int64_t outs = k->outs - first < width ? k->outs - first : width;
    int64_t o, i, tap;

    in += g->first_in[group] * lanes;
    for (o = 0; o < outs; o++) {
        const int64_t begin = (first + o) / g->outs * g->ins;
        for (i = 0; i < part; i++) {
            const float *from;
            if (in + i < begin || in + i >= begin + g->ins)
                continue;
            from = taps_of(g, k->from, first + o, in + i - begin, k->taps);
            for (tap = 0; tap < k->taps; tap++)
                to[(tap * part + i) * width + o] = from[tap];
        }
    }
}

/* ---- sums that are not finite ---- */

typedef struct pixel {
    const float *weights, *bias; /* the model's; bias may be NULL */
    const float *source;         /* of the sample, with the tile's shift */
    const int32_t *offsets;
    int64_t step; /* from tap to tap */
} pixel;

/* One output without the others. */
static float sum_of(const native_tiles *c, const pixel *at, int64_t out, float sum)
{
    const native_conv_groups *g = c->groups;
    const int64_t lanes = c->isa->lanes, first = out / g->outs * g->ins;
    int64_t i, tap;

    for (i = first; i < first + g->ins; i++) {
        const float *plane = at->source + i / lanes * c->plane + i % lanes;
        const float *w = taps_of(g, at->weights, out, i - first, c->n_taps);
        for (tap = 0; tap < c->n_taps; tap++) {
            const int32_t offset = at->offsets[tap * at->step];
            if (offset >= 0)
                sum += w[tap] * plane[offset];
        }
    }
    return sum;
}

/* The vector of outputs from number `out` on. */
static void compute_again(const native_tiles *c, const pixel *at, int64_t out,
                          const float *residual, float *to)
{
    const native_conv_groups *g = c->groups;
    int64_t i;

    for (i = 0; i < c->isa->lanes; i++) {
        to[i] = 0.0f;
        if (out + i < g->outs * g->groups)
            to[i] = sum_of(c, at, out + i,
                           (at->bias ? at->bias[out + i] : 0.0f) + (residual ? residual[i] : 0.0f));
    }
    c->isa->act(&c->act, to, to, c->isa->lanes);
}

static void check_tile(const native_tiles *c, const native_bases *bases, int group, int64_t sample,
                       int64_t tile)
{
    const int64_t lanes = c->isa->lanes, first = c->first_pixel[tile];
    const int64_t n = c->first_pixel[tile + 1] - first,
                  to_first = c->places ? c->places[tile] : first;
    const int64_t step = c->places ? c->to_pixel * c->apart : c->to_pixel;
    const float *residual = c->has_residual ? native_at(bases, &c->residual) : NULL;
    int64_t b, i;

    for (b = c->first_block[group]; b < c->first_block[group + 1]; b++) {
        const int64_t place = sample * c->to_sample + b * c->to_block + to_first * c->to_pixel;
        float *to = native_at(bases, &c->to) + place;
        if (step == lanes && c->isa->are_finite(to, n))
            continue;
        for (i = 0; i < n; i++) {
            const pixel at = {
                .weights = native_at(bases, &c->groups->weights),
                .bias = c->groups->has_bias ? native_at(bases, &c->groups->bias) : NULL,
                .source = native_at(bases, &c->source) + sample * c->source_sample + c->shift[tile],
                .offsets = c->offsets + c->at[tile] + i,
                .step = n};
            if (!c->isa->are_finite(to + i * step, 1))
                compute_again(c, &at, b * lanes, residual ? residual + place + i * step : NULL,
                              to + i * step);
        }
    }
}

void native_check_groups(const native_tiles *c, const native_bases *bases, int group, int64_t begin,
                         int64_t end)
{
    int64_t i;

    for (i = begin; c->groups->narrow && i < end; i++)
        check_tile(c, bases, group, i / c->n_tiles, i % c->n_tiles);
}

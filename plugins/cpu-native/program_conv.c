/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_conv.c: convolutions and products with a constant matrix, as tiles of isa.h.
 *
 * Output channels come in groups of up to 4 vectors, output pixels in tiles of as many as fit the
 * registers beside them, whatever rows they stand in: each tile has the offsets of its pixels for
 * every tap of the window (program_tile_table.c). The terms are cut to chunks, so that the weights
 * of a chunk stay in the first cache while many tiles go over them; sums wait in the output between
 * chunks.
 *
 * A product is a convolution of 1 x 1: its rows are the pixels.
 */
#include "gemm_layout.h"
#include "program_tiles.h"

#include <math.h>
#include <string.h>

enum {
    BESIDE_WEIGHTS = 12 * 1024, /* bytes of the first cache that a chunk leaves to all else */
    LEAST_CHUNK = 8 * 1024,
    FEW_TILES = 48,
    FEW_CUT_TILES = 128,     /* of those without the taps in the padding, which take less time */
    MOST_SOURCE = 512 * 1024 /* bytes of the source that one group after the other reads */
};

/* ---- running ---- */

/*
 * Where few tiles share weights, these come from far away: the tiles of a chunk fetch the next one,
 * which follows it in memory (or is a group's first), each a part.
 */
static void fetch_ahead(const native_tiles *c, native_tile *tile, int64_t n)
{
    int64_t times = n * tile->n_taps * tile->n_groups;
    int64_t bytes =
        tile->weights_step * (int64_t)sizeof(float) * c->isa->lanes * tile->n_taps * tile->n_groups;

    if (c->plain || n > (c->cut ? FEW_CUT_TILES : FEW_TILES))
        return;
    tile->ahead = (const char *)tile->weights + bytes;
    if (!c->cut)
        tile->ahead_bytes = (int)((bytes + times - 1) / times + 63) / 64 * 64;
}

/* Part i of n of what is fetched for tiles that leave taps out: these would leave out parts, too.
 */
static void fetch_part(const native_tile *tile, int64_t bytes, int64_t i, int64_t n)
{
    int64_t at;

    for (at = (bytes * i / n + 63) / 64 * 64; at < bytes * (i + 1) / n; at += 64)
        __builtin_prefetch(tile->ahead + at, 0, 2);
}

/* Tiles [begin, end) of all samples, for one group of channels and one chunk of terms. */
static void run_chunk(const native_tiles *c, const native_bases *bases, int g, int64_t begin,
                      int64_t end, int at, int n)
{
    const int lanes = c->isa->lanes, blocks = c->first_block[g + 1] - c->first_block[g];
    const int in = c->plain ? c->n_taps : c->n_in;
    const native_tile_fn *fns = (c->plain      ? c->isa->plain
                                 : c->straight ? c->isa->straight
                                               : c->isa->blocked)[blocks];
    const float *source = native_at(bases, &c->source);
    const float *residual = c->has_residual ? native_at(bases, &c->residual) : NULL;
    float *to = native_at(bases, &c->to) + c->first_block[g] * c->to_block;
    int64_t s = begin / c->n_tiles, t = begin % c->n_tiles, i;
    native_tile tile;

    memset(&tile, 0, sizeof tile);
    tile.plane = c->plane;
    tile.n_groups = c->plain ? 1 : n;
    tile.n_taps = c->plain ? n : c->n_taps;
    tile.taps = c->plain ? c->taps + at : NULL;
    tile.weights_step = (int64_t)blocks * lanes;
    tile.weights = native_at(bases, &c->weights) + c->first_block[g] * lanes * c->terms +
                   (c->plain ? at : (int64_t)at * c->n_taps * lanes) * tile.weights_step;
    tile.to_pixel = c->places ? c->to_pixel * c->apart : c->to_pixel;
    tile.to_block = c->to_block;
    tile.last_lanes = g == c->n_groups - 1 ? c->last_lanes : 0;
    tile.first = at == 0;
    tile.last = at + n == in;
    tile.pooled = c->pooled;
    tile.scale = 1.0f;
    tile.bias = c->has_bias ? native_at(bases, &c->bias) + c->first_block[g] * lanes : NULL;
    tile.act = c->act;
    source += c->plain ? 0 : (at + (c->groups ? c->groups->first_in[g] : 0)) * c->plane;
    fetch_ahead(c, &tile, end - begin);
    for (i = begin; i < end; i++) {
        const int32_t first = c->first_pixel[t], pixel = c->places ? c->places[t] : first;
        int64_t place = s * c->to_sample + (c->pooled ? pixel / 4 : pixel) * c->to_pixel;
        tile.source = source + s * c->source_sample + c->shift[t];
        tile.offsets = c->offsets + c->at[t];
        tile.to = to + place;
        tile.residual = residual ? residual + c->first_block[g] * c->to_block + place : NULL;
        if (c->cut && tile.ahead)
            fetch_part(&tile,
                       tile.weights_step * (int64_t)sizeof(float) * lanes * tile.n_taps *
                           tile.n_groups,
                       i - begin, end - begin);
        fns[c->first_pixel[t + 1] - first](&tile);
        tile.ahead += (int64_t)tile.ahead_bytes * tile.n_taps * tile.n_groups;
        if (++t == c->n_tiles) {
            t = 0;
            s++;
        }
    }
}

/* Numbers count parts of tiles, in them blocks of tiles, in them groups, in them tiles. */
void native_run_tiles(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_tiles *c = params;
    const int64_t all = c->samples * c->n_tiles, in_block = c->block_tiles * c->n_groups;
    const int in = c->plain ? c->n_taps : c->n_in;

    while (begin < end) {
        const native_cut part = native_cut_at(begin, all, c->n_groups, c->parts);
        int64_t block = part.rest / in_block, skipped = block * c->block_tiles;
        int64_t size = part.n - skipped < c->block_tiles ? part.n - skipped : c->block_tiles;
        int64_t rest = part.rest - block * in_block, g = rest / size, t = rest % size;
        int64_t n = size - t < end - begin ? size - t : end - begin;
        int64_t first = part.first + skipped + t;
        int at;
        for (at = 0; at < in; at += c->chunk)
            run_chunk(c, bases, (int)g, first, first + n, at,
                      in - at < c->chunk ? in - at : c->chunk);
        if (c->groups)
            native_check_groups(c, bases, (int)g, first, first + n);
        begin += n;
    }
}

/* ---- groups of channels, tiles of pixels ---- */

/* Vectors in most groups: as many as divide all, 3 and 4 mixed otherwise. */
static int group_size(const native_isa *isa, int blocks, bool pooled)
{
    int most = isa->max_pixels[4] ? 4 : 3, b;

    if (pooled) /* tiles of 8 and more pixels */
        most = isa->max_pixels[2] >= 8 ? 2 : 1;
    for (b = most; b > 1; b--) {
        if (blocks % b == 0)
            return b;
    }
    return blocks < most ? blocks : pooled ? 1 : most;
}

/*
 * The same where a tile has pixels of one row of so many alone: what costs least by the sums, of
 * which less than 8 wait for each other, and by what is read for each step of them.
 */
static int group_size_in_row(const native_isa *isa, int blocks, int64_t row)
{
    double least = INFINITY;
    int best = 1, b;

    for (b = 1; b <= NATIVE_MAX_BLOCKS && b <= blocks && isa->max_pixels[b]; b++) {
        const int64_t tiles = (row + isa->max_pixels[b] - 1) / isa->max_pixels[b];
        const double pixels = (double)row / (double)tiles;
        const double cost = (double)blocks / b * (double)tiles * (fmax(8, b * pixels) + b + pixels);
        best = cost < least ? b : best;
        least = fmin(cost, least);
    }
    return best;
}

static void split_blocks(native_planner *p, native_tiles *c, int blocks, int size)
{
    int16_t *first = native_keep(p, ((size_t)blocks + 1) * sizeof *first);
    int at = 0;

    if (!first)
        return;
    while (at < blocks) {
        int left = blocks - at;
        first[c->n_groups++] = (int16_t)at;
        /* the last two share what is left evenly */
        at += left > size && left < 2 * size ? (left + 1) / 2 : left < size ? left : size;
    }
    first[c->n_groups] = (int16_t)blocks;
    c->first_block = first;
}

void native_make_groups(native_planner *p, native_tiles *c, int blocks)
{
    split_blocks(p, c, blocks, group_size(p->isa, blocks, c->pooled));
}

/* Taps of a tile: of the window those that its outputs have, where these lie apart. */
static int64_t taps_at_once(const native_tiles *c)
{
    return c->phases > 1 ? (c->n_taps + c->phases - 1) / c->phases : c->n_taps;
}

/* Is it less to read the source once for each group than all weights for each block of tiles? */
static bool source_is_less(const native_tiles *c, int64_t source_bytes)
{
    const int64_t all = c->samples * c->n_tiles, source = all * source_bytes;
    const int64_t weights =
        c->first_block[c->n_groups] * c->isa->lanes * c->terms * (int64_t)sizeof(float);

    return source * (c->n_groups - 1) < weights * ((all - 1) / c->block_tiles);
}

/*
 * source_bytes: that one tile reads. Weights of a chunk stay in the first cache, what the groups
 * read in half of the second: of 32 and 512 KiB, tiles of AVX2 that have both from the next cache
 * take a twentieth longer.
 */
void native_make_chunks(const native_planner *p, native_tiles *c, int64_t source_bytes)
{
    int64_t tap_bytes = (int64_t)native_largest_group(c) * p->isa->lanes * (int64_t)sizeof(float);
    int64_t bytes = c->plain ? tap_bytes : tap_bytes * taps_at_once(c) * p->isa->lanes;
    int64_t all = c->samples * c->n_tiles;
    int in = c->plain ? c->n_taps : c->n_in;

    c->chunk = (int)(larger(p->ir->device->gemm.l1_bytes - BESIDE_WEIGHTS, LEAST_CHUNK) / bytes);
    if (c->chunk < 1)
        c->chunk = 1;
    if (c->pooled || all <= 2 || c->chunk > in)
        c->chunk = in;
    else /* equal ones */
        c->chunk = (in + (in + c->chunk - 1) / c->chunk - 1) / ((in + c->chunk - 1) / c->chunk);
    c->block_tiles = source_bytes > 0
                         ? smaller(p->ir->device->gemm.l2_bytes / 2, MOST_SOURCE) / source_bytes
                         : all;
    if (c->block_tiles < 16)
        c->block_tiles = 16;
    if (c->phases > 1 && c->block_tiles > c->n_tiles / c->phases)
        c->block_tiles = c->n_tiles / c->phases;
    if (c->block_tiles > all || (c->cut && source_is_less(c, source_bytes)))
        c->block_tiles = all;
}

/* Plain: where the taps lie from a pixel on, channel by channel. */
static void make_taps(native_planner *p, native_tiles *c, const native_item *item,
                      const native_value *x)
{
    int32_t *to = native_keep(p, (size_t)c->n_taps * sizeof *to);
    const native_depth *d = &item->depth;
    const int64_t frame = d->kernel ? x->dims[2] / d->size * d->dilation : 0;
    const int64_t down = native_taps(item) / item->kernel[1];
    int64_t channel, i, j;

    c->taps = to;
    for (channel = 0; to && channel < x->dims[1]; channel++) {
        for (i = 0; i < down; i++) {
            const int64_t row = channel * x->dims[2] + i / item->kernel[0] * frame +
                                i % item->kernel[0] * item->dilation[0];
            for (j = 0; j < item->kernel[1]; j++)
                *to++ = (int32_t)(row * x->dims[3] + j * item->dilation[1]);
        }
    }
}

/* ---- the two items ---- */

void native_begin_tiles(native_planner *p, native_tiles *c, const native_item *item)
{
    c->isa = p->isa;
    c->source = native_ref_of(p, item->inputs[0]);
    c->to = native_ref_of(p, item->output);
    c->has_residual = item->residual >= 0;
    c->residual = native_ref_of(p, item->residual);
    c->pooled = item->pooled;
    c->act = item->act;
}

/* Weights that are more than what is computed from and with them are better read by one thread. */
static void end_tiles(native_planner *p, native_tiles *c, int64_t outs, int64_t pixels)
{
    const int64_t source = c->samples * c->source_sample, to = c->samples * pixels * outs;
    const double flops = 2.0 * (double)(c->samples * pixels * outs) * (double)c->terms;
    const double taken =
        c->groups ? (double)c->groups->ins / (double)(c->n_in * c->isa->lanes) : 1.0;

    c->parts =
        outs * c->terms <= (source > to ? source : to) ? native_parts(p, c->samples * pixels) : 1;

    native_add_run(p, native_run_tiles, c, c->samples * c->n_tiles * c->n_groups, flops / 100.0)
        ->flops = taken * flops;
}

static int input_or_none(const native_item *item, int i)
{
    return i < item->n_inputs ? item->inputs[i] : -1;
}

/* No offsets to look up. */
bool native_is_straight(const native_item *item, const native_value *x, const native_value *y)
{
    const native_depth *d = &item->depth;
    bool is = item->kind == NATIVE_ITEM_CONV && !item->plain_source && !item->pooled && !x->last &&
              (!d->kernel || (d->kernel == 1 && d->stride == 1 && d->pad == 0));
    int i;

    for (i = 0; i < 2; i++)
        is = is && item->kernel[i] == 1 && item->stride[i] == 1 && item->pad[i] == 0 &&
             x->dims[2 + i] == y->dims[2 + i];
    return is;
}

/* Samples of one pixel, as those in squeeze-and-excitation blocks, are the rows of a product. */
static bool are_rows(const native_tiles *c, int64_t area)
{
    return c->straight && area == 1 && c->samples > 1 && !c->groups;
}

static bool make_sample_rows(native_planner *p, native_tiles *c)
{
    native_make_tiles(p, c, c->samples);
    if (!c->first_pixel)
        return false;
    native_make_rows(p, c, c->source_sample);
    c->straight = false;
    c->to_pixel = c->to_sample;
    c->samples = 1;
    return true;
}

/* Outputs that lie apart: how many lists of taps they have. */
static int64_t phases_of(const native_item *item, const native_value *y)
{
    const native_depth *d = &item->depth;
    const int64_t frames = d->kernel ? smaller(d->stride, d->outs) : 1;

    return frames * smaller(item->stride[0], native_frame_rows(y->dims[2], d->outs)) *
           smaller(item->stride[1], y->dims[3]);
}

void native_plan_conv(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_value *k = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes, ins = x->dims[1], outs = y->dims[1];
    const int64_t blocks = (outs + lanes - 1) / lanes, taps = native_taps(item);
    const int64_t out_pixels = y->dims[2] * y->dims[3], area = x->dims[2] * x->dims[3];
    int64_t pixels = out_pixels * (item->pooled ? 4 : 1), rows;
    native_tiles *c = native_keep(p, sizeof *c);
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    native_packing pack = {.from = k->known,
                           .outs = outs,
                           .ins = ins,
                           .taps = taps,
                           .whole = {item->whole[0], item->whole[1]},
                           .first = {item->first[0], item->first[1]},
                           .kernel = {item->kernel[0], item->kernel[1]},
                           .transposed = turned,
                           .factor = 1.0f};

    if (!c)
        return;
    native_begin_tiles(p, c, item);
    c->plain = item->plain_source;
    c->straight = native_is_straight(item, x, y);
    c->samples = native_first_dim(p, y);
    c->n_taps = (int)(c->plain ? ins * taps : taps);
    c->n_in = (int)(c->plain ? 1 : (ins + lanes - 1) / lanes);
    if (item->groups > 1)
        native_group_channels(p, c, item, (int)blocks);
    else if (native_tiles_are_apart(item))
        split_blocks(p, c, (int)blocks,
                     group_size_in_row(p->isa, (int)blocks,
                                       (y->dims[3] + item->stride[1] - 1) / item->stride[1]));
    else
        native_make_groups(p, c, (int)blocks);
    c->terms = c->plain ? c->n_taps : c->n_in * lanes * taps;
    c->plane = x->last ? lanes : area * lanes;
    c->source_sample = c->plain ? ins * area : (ins + lanes - 1) / lanes * lanes * area;
    c->to_pixel = y->last ? outs : lanes;
    c->to_block = y->last ? lanes : out_pixels * lanes;
    c->to_sample = blocks * lanes * out_pixels;
    rows = are_rows(c, area) ? c->samples : 1;
    if (!c->first_block ||
        !(rows > 1 ? make_sample_rows(p, c) : native_make_tile_table(p, c, item)))
        return;
    if (native_has_phases(p, c, item)) {
        native_plan_phases(p, c, item, &pack);
        return;
    }
    if (c->places && item->dilation[0] == 1 && item->dilation[1] == 1 && !c->plain)
        c->phases = phases_of(item, y);
    native_make_chunks(p, c, rows * x->dims[1] * area * (int64_t)sizeof(float) / c->n_tiles);
    if (c->plain)
        make_taps(p, c, item, x);
    native_pack_weights(p, c, &pack, item->inputs[1], blocks);
    native_pack_bias(p, c, input_or_none(item, 2), 1.0f, outs, blocks);
    end_tiles(p, c, outs, rows * pixels);
}

/* The terms of a row follow each other. */
static void make_depth(native_planner *p, native_tiles *c)
{
    int32_t *taps = native_keep(p, (size_t)c->n_taps * sizeof *taps);
    int i;

    for (i = 0; taps && i < c->n_taps; i++)
        taps[i] = i;
    c->taps = taps;
}

void native_plan_product(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *w = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes, depth = x->dims[x->rank - 1];
    const int64_t outs = w->dims[item->transposed ? 0 : 1], blocks = (outs + lanes - 1) / lanes;
    const int64_t rows = native_count(p, x) / depth;
    native_tiles *c = native_keep(p, sizeof *c);
    native_packing pack = {.from = w->known,
                           .outs = outs,
                           .ins = depth,
                           .taps = 1,
                           .transposed = !item->transposed,
                           .factor = item->alpha};

    if (!c)
        return;
    native_begin_tiles(p, c, item);
    c->plain = depth % lanes != 0;
    c->samples = 1;
    c->n_taps = c->plain ? (int)depth : 1;
    c->n_in = c->plain ? 1 : (int)(depth / lanes);
    c->terms = depth;
    c->plane = lanes;
    c->to_pixel = outs;
    c->to_block = lanes;
    c->last_lanes = (uint32_t)(outs % lanes);
    native_make_groups(p, c, (int)blocks);
    if (c->first_block)
        native_make_tiles(p, c, rows);
    if (!c->first_pixel)
        return;
    native_make_chunks(p, c, rows * depth * (int64_t)sizeof(float) / c->n_tiles);
    native_make_rows(p, c, depth);
    if (c->plain)
        make_depth(p, c);
    native_pack_weights(p, c, &pack, item->inputs[1], blocks);
    native_pack_bias(p, c, input_or_none(item, 2), item->beta, outs, blocks);
    end_tiles(p, c, outs, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_few_rows.c: products of few rows with a constant matrix that the second cache does not
 * hold: the tokens of a decoder, one sample of a classifier. isa_few_rows.h says how their tiles
 * read it.
 *
 * The order of the packed matrix depends on the length of a vector alone, so that plans of one row
 * and of several share it.
 */
#include <string.h>

#include "gemm_layout.h"
#include "program_half.h"
#include "program_tiles.h"

enum { PAGE = 4096, LINE = 64, PACKED_AT_ONCE = 8 };

typedef struct few_rows {
    native_tiles tiles;
    int rows;
    int64_t blocks, apart; /* blocks of columns; from one of the packed matrix to the next */
    int type;              /* of the packed matrix: NATIVE_WEIGHTS_... */
} few_rows;

static int64_t element_bytes(int type)
{
    return type == NATIVE_WEIGHTS_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(uint16_t);
}

/* ---- running ---- */

/* Numbers count blocks of columns. */
static void run_few_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const few_rows *f = params;
    const native_tiles *c = &f->tiles;
    const int64_t lanes = c->isa->lanes, tiles = ceil_div(end - begin, c->isa->few_blocks[f->rows]);
    const char *weights = (const char *)native_at(bases, &c->weights);
    const int64_t block_bytes = f->apart * element_bytes(f->type);
    const float *residual = c->has_residual ? native_at(bases, &c->residual) : NULL;
    const float *bias = c->has_bias ? native_at(bases, &c->bias) : NULL;
    float *to = native_at(bases, &c->to);
    int32_t offsets[NATIVE_MAX_PIXELS];
    native_tile tile = {.first = true, .last = true, .scale = 1.0f, .act = c->act};
    int64_t i;

    for (i = 0; i < f->rows; i++)
        offsets[i] = (int32_t)(i * c->terms);
    tile.source = native_at(bases, &c->source);
    tile.offsets = offsets;
    tile.n_taps = (int)c->terms;
    tile.weights_step = f->apart;
    tile.to_pixel = c->to_pixel;
    tile.to_block = c->to_block;
    for (i = 0; i < tiles; i++) {
        const int64_t first = begin + (end - begin) * i / tiles;
        const int64_t last = begin + (end - begin) * (i + 1) / tiles;
        tile.weights = (const float *)(const void *)(weights + first * block_bytes);
        tile.to = to + first * lanes;
        tile.residual = residual ? residual + first * lanes : NULL;
        tile.bias = bias ? bias + first * lanes : NULL;
        tile.last_lanes = last == f->blocks ? c->last_lanes : 0;
        c->isa->few_rows[f->type][f->rows][last - first](&tile);
    }
}

/* ---- the matrix ---- */

typedef struct packing {
    const native_isa *isa;
    int64_t outs, ins, apart;
    bool transposed; /* from [ins, outs] */
    float factor;
    const char *half; /* what is packed instead of floats, or NULL */
} packing;

/* Some blocks at once, whose parts of a row lie beside each other. */
static void copy_rows(const packing *k, const float *from, int64_t first, int64_t last, float *to)
{
    const int64_t lanes = k->isa->lanes;
    int64_t i, o;

    for (i = 0; i < k->ins; i++) {
        for (o = first; o < last; o += lanes)
            memcpy(to + o / lanes * k->apart + i * lanes, from + i * k->outs + o,
                   (size_t)smaller(lanes, last - o) * sizeof *to);
    }
}

static void fill_few_rows(float *to, const float *from, const void *user)
{
    const packing *k = user;
    const int64_t lanes = k->isa->lanes, step = k->transposed ? PACKED_AT_ONCE * lanes : lanes;
    int64_t first, i;

    for (first = 0; first < k->outs; first += step) {
        const int64_t last = smaller(first + step, k->outs);
        if (k->transposed)
            copy_rows(k, from, first, last, to);
        else
            k->isa->transpose(from + first * k->ins, k->ins, to + first / lanes * k->apart, lanes,
                              last - first, k->ins);
    }
    for (i = 0; k->factor != 1.0f && i < ceil_div(k->outs, lanes) * k->apart; i++)
        to[i] *= k->factor;
}

/* The same of numbers of 16 bits, at any address. */
static void fill_few_halves(float *to, const float *from, const void *user)
{
    const packing *k = user;
    const int64_t lanes = k->isa->lanes, step = k->transposed ? PACKED_AT_ONCE * lanes : lanes;
    const int64_t o_bytes = 2 * (k->transposed ? 1 : k->ins);
    const int64_t i_bytes = 2 * (k->transposed ? k->outs : 1);
    int64_t first, o, i, lane;

    (void)from;
    for (first = 0; first < k->outs; first += step) {
        const int64_t last = smaller(first + step, k->outs);
        for (i = 0; i < k->ins; i++) {
            for (o = first; o < last; o += lanes) {
                uint16_t *block = (uint16_t *)(void *)to + o / lanes * k->apart + i * lanes;
                const char *x = k->half + o * o_bytes + i * i_bytes;
                for (lane = 0; lane < smaller(lanes, last - o); lane++)
                    memcpy(&block[lane], x + lane * o_bytes, 2);
            }
        }
    }
}

/* Weights that stay half; a factor would have to be rounded to it. */
static const native_widened *find_half(const native_planner *p, const native_item *item)
{
    return item->alpha == 1.0f ? native_find_widened(p->ir, p->ir->values[item->inputs[1]].known)
                               : NULL;
}

static int weights_type(const native_widened *w)
{
    return !w                          ? NATIVE_WEIGHTS_F32
           : w->dtype == TFR_DTYPE_F16 ? NATIVE_WEIGHTS_F16
                                       : NATIVE_WEIGHTS_BF16;
}

static void pack_matrix(native_planner *p, few_rows *f, const native_item *item, int64_t outs)
{
    const native_widened *half = find_half(p, item);
    const packing k = {p->isa,
                       outs,
                       f->tiles.terms,
                       f->apart,
                       !item->transposed,
                       item->alpha,
                       half ? half->half : NULL};
    const uint64_t bytes = (uint64_t)(f->blocks * f->apart * element_bytes(f->type));
    native_constant_key key = {{p->ir->values[item->inputs[1]].known},
                               {11, outs, k.ins, k.apart, k.transposed, p->isa->lanes, 0, f->type}};

    memcpy(&key.numbers[6], &k.factor, sizeof k.factor);
    f->tiles.weights.known = (const char *)native_pack_later(
        p, &key, bytes, half ? fill_few_halves : fill_few_rows, &k, sizeof k, item->inputs[1]);
}

/* ---- the item ---- */

/* For all samples, however they are shared out. */
bool native_has_few_rows(const native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *w = &p->ir->values[item->inputs[1]];
    const int64_t depth = x->dims[x->rank - 1], rows = depth > 0 ? native_elements(x) / depth : 0;

    return item->kind == NATIVE_ITEM_PRODUCT && w->known && rows > 0 && rows <= NATIVE_FEW_ROWS &&
           rows * depth <= INT32_MAX &&
           native_elements(w) * (int64_t)sizeof(float) > p->ir->device->gemm.l2_bytes / 2;
}

void native_plan_few_rows(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *w = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes, depth = x->dims[x->rank - 1];
    const int64_t outs = w->dims[item->transposed ? 0 : 1];
    few_rows *f = native_keep(p, sizeof *f);
    double flops;

    if (!f)
        return;
    native_begin_tiles(p, &f->tiles, item);
    f->rows = (int)(native_count(p, x) / depth);
    f->blocks = ceil_div(outs, lanes);
    f->type = weights_type(find_half(p, item));
    f->apart = depth * lanes;
    /* Streams that lie whole pages apart would meet in the same sets of the caches. */
    if (f->apart * element_bytes(f->type) % PAGE == 0)
        f->apart += LINE / element_bytes(f->type);
    f->tiles.terms = depth;
    f->tiles.to_pixel = outs;
    f->tiles.to_block = lanes;
    f->tiles.last_lanes = (uint32_t)(outs % lanes);
    pack_matrix(p, f, item, outs);
    native_pack_bias(p, &f->tiles, item->n_inputs > 2 ? item->inputs[2] : -1, item->beta, outs,
                     f->blocks);
    flops = 2.0 * (double)f->rows * (double)outs * (double)depth;
    native_add_run(p, run_few_rows, f, f->blocks, flops / 100.0)->flops = flops;
}

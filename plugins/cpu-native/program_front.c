/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_front.c: a convolution of 1 x 1 in front of a depthwise one becomes a part of it, as
 * mobile networks have them. What is between is some times as large as what goes in and comes out:
 * 4.8 MB at 112 x 112 and 96 channels. Here a group of channels of some rows is computed to
 * memory of the thread, a part of its second cache, and the depthwise convolution reads it there. A
 * band has the rows that its windows reach into, so that rows between two bands are computed twice.
 * Images of few pixels are one band: threads share the groups, and no row is computed twice.
 *
 * Each sum is the same as in two steps: bits do not depend on bands.
 */
#include "program_front.h"

#include "gemm_layout.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROWS = 8, /* of a band, for each row that it shares with the next one */
    FEW_GROUPS = 4, /* for a thread, where threads share them evenly enough */
    FEW_TILES = 48
};

/* ---- the items ---- */

/* The item that makes a value, if the value is read by one item and lies nowhere else. */
static native_item *only_maker(const native_ir *ir, int value)
{
    const native_value *v = &ir->values[value];

    return v->arg >= 0 || v->known || v->root != value ? NULL : native_only_maker(ir, value);
}

/* Whether its operands from the second on are there when the program is compiled. */
static bool has_known_weights(const native_ir *ir, const native_item *item)
{
    int k;

    for (k = 1; k < item->n_inputs; k++) {
        if (item->inputs[k] >= 0 && !ir->values[item->inputs[k]].known)
            return false;
    }
    return item->n_inputs > 1;
}

/* Of float32, and every pixel of the output is one pixel of the source. */
static bool can_be_front(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];

    return native_is_straight(item, x, y) && item->groups <= 1 && item->residual < 0 &&
           item->integer < 0 && item->codes < 0 && x->blocked && y->blocked &&
           x->dtype == TFR_DTYPE_F32 && y->dtype == TFR_DTYPE_F32 && has_known_weights(ir, item);
}

static void take_front(native_ir *ir, native_item *item)
{
    native_item *front, *kept;

    if (item->depth.kernel || item->integer >= 0 ||
        ir->values[item->output].dtype != TFR_DTYPE_F32 || !has_known_weights(ir, item))
        return;
    front = only_maker(ir, item->inputs[0]);
    if (!front || front->kind != NATIVE_ITEM_CONV || !can_be_front(ir, front))
        return;
    kept = malloc(sizeof *kept);
    if (!kept) {
        ir->failed = true;
        return;
    }
    *kept = *front;
    item->front = kept;
    item->inputs[0] = front->inputs[0];
    front->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

/* Items that went are no items: a plan gives memory to what items make. */
static void drop_none(native_ir *ir)
{
    int i, n = 0;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind != NATIVE_ITEM_NONE)
            ir->items[n++] = ir->items[i];
    }
    ir->n_items = n;
}

int32_t native_fuse_fronts(native_ir *ir, tfr_err *err)
{
    int i;

    if (ir->staged || !(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_DEPTHWISE)))
        return TFR_OK;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_DEPTHWISE)
            take_front(ir, &ir->items[i]);
    }
    drop_none(ir);
    return ir->failed ? tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes",
                                 ir->graph->n_nodes)
                      : TFR_OK;
}

/* ---- bands ---- */

/* The rows of the source that the windows of rows [y, end) reach into. */
static native_band band_of(const native_bands *b, int64_t y, int64_t end)
{
    const int64_t first = y * b->stride - b->pad;
    const int64_t last = (end - 1) * b->stride - b->pad + b->reach;
    native_band band = {.y = y, .end = end, .first = larger(first, 0)};

    band.rows = larger(smaller(last + 1, b->height) - band.first, 0);
    return band;
}

native_band native_band_at(const native_bands *b, int64_t number)
{
    return band_of(b, number * b->out_height / b->n, (number + 1) * b->out_height / b->n);
}

/*
 * row_bytes: of a row of what a band reads and computes, which stay in the second cache while its
 * groups go over them. Threads take bands of their own where these are high enough, or where they
 * have too few groups to share.
 */
void native_make_bands(const native_planner *p, native_bands *b, int64_t row_bytes, int64_t parts,
                       int64_t groups)
{
    const int64_t room = larger(p->ir->device->gemm.l2_bytes / 4 * 3, 1);
    const int64_t least = larger(LEAST_ROWS * b->reach, 1);
    int64_t i;

    b->n = smaller((b->height * row_bytes + room - 1) / room, b->height / least);
    b->n = larger(b->n, 1);
    if (b->height >= parts * least || groups < FEW_GROUPS * parts)
        b->n = smaller((b->n + parts - 1) / parts * parts, b->out_height);
    b->most_rows = 0;
    for (i = 0; i < b->n; i++)
        b->most_rows = larger(b->most_rows, native_band_at(b, i).rows);
}

/* ---- what is in front ---- */

native_tiles *native_make_front(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_value *w = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes, area = x->dims[2] * x->dims[3];
    const int64_t blocks = (y->dims[1] + lanes - 1) / lanes;
    native_tiles *c = native_keep(p, sizeof *c);
    native_packing pack = {
        .from = w->known, .outs = y->dims[1], .ins = x->dims[1], .taps = 1, .factor = 1.0f};

    if (!c)
        return NULL;
    c->isa = p->isa;
    c->source = native_ref_of(p, item->inputs[0]);
    c->act = item->act;
    c->samples = native_first_dim(p, y);
    c->n_taps = 1;
    c->n_in = (int)((x->dims[1] + lanes - 1) / lanes);
    c->terms = c->n_in * lanes;
    c->plane = area * lanes;
    c->source_sample = c->n_in * c->plane;
    c->n_tiles = larger(area / p->isa->max_pixels[1], 1);
    native_make_groups(p, c, (int)blocks);
    if (!c->first_block)
        return NULL;
    native_make_chunks(p, c, 0);
    native_pack_weights(p, c, &pack, item->inputs[1], blocks);
    native_pack_bias(p, c, item->n_inputs > 2 ? item->inputs[2] : -1, 1.0f, y->dims[1], blocks);
    return c;
}

/* What follows the weights of a chunk is wanted next: few tiles fetch it, each a part. */
static void fetch_ahead(const native_tiles *c, native_tile *tile, int64_t tiles)
{
    const int64_t times = tiles * tile->n_groups;
    const int64_t bytes =
        tile->weights_step * (int64_t)sizeof(float) * c->isa->lanes * tile->n_groups;

    if (tiles > FEW_TILES)
        return;
    tile->ahead = (const char *)tile->weights + bytes;
    tile->ahead_bytes = (int)((bytes + times - 1) / times + 63) / 64 * 64;
}

/* Of one chunk of terms: those of n_in from `at` on, so many. */
static void run_terms(const native_tiles *c, native_tile *tile, int blocks, const float *source,
                      int64_t n, float *to)
{
    const int64_t lanes = c->isa->lanes, most = c->isa->max_pixels[blocks];
    const int64_t tiles = (n + most - 1) / most;
    int64_t i;

    for (i = 0; i < tiles; i++) {
        const int64_t begin = i * n / tiles;
        tile->source = source + begin * lanes;
        tile->to = to + begin * lanes;
        c->isa->straight[blocks][(i + 1) * n / tiles - begin](tile);
        tile->ahead += (int64_t)tile->ahead_bytes * tile->n_groups;
    }
}

void native_run_front(const native_tiles *c, const native_bases *bases, int64_t sample, int group,
                      int64_t first, int64_t n, float *to)
{
    const int64_t lanes = c->isa->lanes, block = c->first_block[group];
    const int blocks = c->first_block[group + 1] - (int)block;
    const float *source = native_at(bases, &c->source) + sample * c->source_sample + first * lanes;
    const float *weights = native_at(bases, &c->weights) + block * lanes * c->terms;
    native_tile tile = {.plane = c->plane,
                        .n_taps = 1,
                        .weights_step = blocks * lanes,
                        .to_pixel = lanes,
                        .to_block = n * lanes,
                        .scale = 1.0f,
                        .act = c->act};
    int at;

    tile.bias = c->has_bias ? native_at(bases, &c->bias) + block * lanes : NULL;
    for (at = 0; at < c->n_in; at += c->chunk) {
        tile.n_groups = c->n_in - at < c->chunk ? c->n_in - at : c->chunk;
        tile.first = at == 0;
        tile.last = at + tile.n_groups == c->n_in;
        tile.weights = weights + at * lanes * tile.weights_step;
        fetch_ahead(c, &tile, n / c->isa->max_pixels[blocks] + 1);
        run_terms(c, &tile, blocks, source + at * c->plane, n, to);
    }
}

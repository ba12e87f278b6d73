/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_winograd_grad.c: the gradient of the weights of a convolution of 3 x 3 and stride 1 by
 * Winograd's F(4 x 4, 3 x 3): with Y = A' [(G g G') * (B' d B)] A, that of g is
 *   G' [ sum over tiles of (B' d B) * (A dY A') ] G,
 * 36 products for a tile of 16 outputs and a pair of channels, where the direct sum has 144.
 *
 * Tiles of a unit are transformed, then the sums of each of 36 places are outer products of isa.h.
 * They are chains over all tiles of a shard, so that units change no bit. The shards' sums are
 * added and transformed back in the next stage.
 *
 * The transforms mix pixels: a sample that is not finite is left out of them, and its products are
 * summed tap by tap.
 */
#include "program_winograd.h"

#include <string.h>

enum {
    OUT = 4,
    PLACES = 36,
    APART = 16, /* floats, so that places do not share the sets of a cache */
    BAND_BYTES = 1200 * 1024,
    NEAR_SUMS = 1024 * 1024 /* bytes that stay in the second cache */
};

typedef struct gradient {
    const native_isa *isa;
    native_ref x, y, sums, to;
    int shards;
    int64_t samples, height, width, rows, columns, pad[2];
    int64_t ins, outs, in_blocks, out_blocks;
    int64_t tiles_y, tiles_x, band; /* samples that are transformed together */
    int64_t step;  /* from place to place of what is transformed, a block's tiles */
    int64_t plane; /* sums of a place */
} gradient;

/* ---- sums ---- */

/* [place][block][tile][lane], for some samples; those that are not finite are left out. */
static void transform(const gradient *g, const native_bases *bases, int64_t first, int64_t n,
                      float *source, float *back, bool *bad)
{
    const int64_t lanes = g->isa->lanes, tiles = g->tiles_y * g->tiles_x;
    int64_t sample, block, tile;

    for (sample = 0; sample < n; sample++) {
        const float *x = native_at(bases, &g->x) +
                         (first + sample) * g->in_blocks * g->height * g->width * lanes;
        const float *y = native_at(bases, &g->y) +
                         (first + sample) * g->out_blocks * g->rows * g->columns * lanes;
        bad[sample] = !g->isa->are_finite(x, g->in_blocks * g->height * g->width) ||
                      !g->isa->are_finite(y, g->out_blocks * g->rows * g->columns);
        for (block = 0; block < g->in_blocks + g->out_blocks; block++) {
            const bool in = block < g->in_blocks;
            const int64_t b = in ? block : block - g->in_blocks;
            const native_plane plane = {in ? x + b * g->height * g->width * lanes
                                           : y + b * g->rows * g->columns * lanes,
                                        bad[sample] ? 0
                                        : in        ? g->height
                                                    : g->rows,
                                        in ? g->width : g->columns};
            for (tile = 0; tile < tiles; tile++) {
                const int64_t top = tile / g->tiles_x * OUT, left = tile % g->tiles_x * OUT;
                const int64_t at = (b * g->band * tiles + sample * tiles + tile) * lanes;
                if (in)
                    g->isa->winograd_source[1](&plane, top - g->pad[0], left - g->pad[1],
                                               source + at, g->in_blocks * g->step + APART);
                else
                    g->isa->winograd_back(&plane, top, left, back + at,
                                          g->out_blocks * g->step + APART);
            }
        }
    }
}

/* Rows of a vector that are computed together, evenly. */
static int64_t rows_at(const native_isa *isa, int columns, int64_t at)
{
    const int64_t most = isa->max_pixels[columns], parts = (isa->lanes + most - 1) / most;
    const int64_t each = (isa->lanes + parts - 1) / parts;

    return isa->lanes - at < each ? isa->lanes - at : each;
}

/* sums of a place [in][out] += source' back over so many tiles */
static void multiply(const gradient *g, const float *source, const float *back, int64_t tiles,
                     float *sums)
{
    const int64_t lanes = g->isa->lanes, most = g->isa->max_pixels[4] ? 4 : 3;
    int64_t block, in, row, n;
    native_outer o;

    memset(&o, 0, sizeof o);
    o.n[0] = o.n[1] = 1;
    o.n[2] = tiles;
    o.x_step[2] = o.y_step[2] = lanes;
    o.y_block = g->step;
    o.to_row = g->out_blocks * lanes;
    o.to_block = lanes;
    for (block = 0; block < g->out_blocks; block += most) {
        const int columns = (int)(g->out_blocks - block < most ? g->out_blocks - block : most);
        o.y = back + block * g->step;
        for (in = 0; in < g->in_blocks; in++) {
            for (row = 0; row < lanes; row += n) {
                n = rows_at(g->isa, columns, row);
                o.x = source + in * g->step + row;
                o.to = sums + (in * lanes + row) * o.to_row + block * lanes;
                g->isa->outer[columns][n](&o);
            }
        }
    }
}

/* The products of a sample, tap by tap: [tap][in][out] behind the sums of places. */
static void add_plainly(const gradient *g, const native_bases *bases, int64_t sample, float *sums)
{
    const int64_t lanes = g->isa->lanes, outs = g->out_blocks * lanes;
    const float *x = native_at(bases, &g->x) + sample * g->in_blocks * g->height * g->width * lanes;
    const float *y =
        native_at(bases, &g->y) + sample * g->out_blocks * g->rows * g->columns * lanes;
    int64_t tap, in, out, i, j;

    for (tap = 0; tap < WINOGRAD_TAPS; tap++) {
        for (i = 0; i < g->rows; i++) {
            for (j = 0; j < g->columns; j++) {
                const int64_t row = i + tap / 3 - g->pad[0], column = j + tap % 3 - g->pad[1];
                if (row < 0 || column < 0 || row >= g->height || column >= g->width)
                    continue;
                for (in = 0; in < g->ins; in++) {
                    const float from =
                        x[((in / lanes * g->height + row) * g->width + column) * lanes +
                          in % lanes];
                    float *to = sums + tap * g->plane + in * outs;
                    for (out = 0; out < g->outs; out++)
                        to[out] +=
                            from *
                            y[((out / lanes * g->rows + i) * g->columns + j) * lanes + out % lanes];
                }
            }
        }
    }
}

/* One number: a sum is a chain over all samples. */
static void run_gradient(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const gradient *g = params;
    const int64_t tiles = g->tiles_y * g->tiles_x;
    float *source = (float *)(void *)bases->scratch;
    float *back = source + PLACES * (g->in_blocks * g->step + APART);
    float *sums = native_at(bases, &g->sums);
    bool *bad = (bool *)(back + PLACES * (g->out_blocks * g->step + APART));
    int64_t first, n, sample, place;

    (void)begin, (void)end;
    for (first = 0; first < g->samples; first += n) {
        n = g->samples - first < g->band ? g->samples - first : g->band;
        transform(g, bases, first, n, source, back, bad);
        for (place = 0; place < PLACES; place++)
            multiply(g, source + place * (g->in_blocks * g->step + APART),
                     back + place * (g->out_blocks * g->step + APART), n * tiles,
                     sums + place * g->plane);
        for (sample = 0; sample < n; sample++) {
            if (bad[sample])
                add_plainly(g, bases, first + sample, sums + PLACES * g->plane);
        }
    }
}

/* ---- the way back ---- */

/* Numbers count blocks of outputs, in them blocks of inputs. */
static void finish_gradient(const void *params, const native_bases *bases, int64_t begin,
                            int64_t end)
{
    const gradient *g = params;
    const native_winograd_form_desc *form = &native_winograd_forms[NATIVE_WINOGRAD_4];
    const int64_t lanes = g->isa->lanes;
    _Alignas(NATIVE_ALIGNMENT) float taps[WINOGRAD_TAPS * NATIVE_MAX_LANES * NATIVE_MAX_LANES];
    native_winograd_sums sums = {.rows = form->weights,
                                 .points = form->points,
                                 .step = g->plane,
                                 .shard_step = bases->sums_step / (int64_t)sizeof(float),
                                 .shards = g->shards};

    for (; begin < end; begin++) {
        const int64_t block = begin / g->in_blocks, in = begin % g->in_blocks * lanes;
        const int64_t outs = g->outs - block * lanes, ins = g->ins - in;
        const int64_t n_ins = ins < lanes ? ins : lanes;
        int64_t i;
        for (i = 0; i < n_ins; i++) {
            sums.from =
                native_shard_at(bases, &g->sums, 0) + ((in + i) * g->out_blocks + block) * lanes;
            sums.to = taps + i * WINOGRAD_TAPS * lanes;
            g->isa->winograd_taps(&sums);
        }
        g->isa->transpose(
            taps, lanes, native_at(bases, &g->to) + (block * lanes * g->ins + in) * WINOGRAD_TAPS,
            g->ins * WINOGRAD_TAPS, n_ins * WINOGRAD_TAPS, outs < lanes ? outs : lanes);
    }
}

/* ---- planning ---- */

/*
 * By the shape of a sample alone, so that the same model gives the same numbers everywhere. Four
 * tiles of a sample at least: the sums are four times as many as the weights.
 */
bool native_is_winograd_grad(const native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->inputs[1]];
    const int64_t tiles = (y->dims[2] + OUT - 1) / OUT * ((y->dims[3] + OUT - 1) / OUT);
    double direct, fast;
    int i;

    for (i = 0; i < 2; i++) {
        if (item->kernel[i] != 3 || item->stride[i] != 1 || item->dilation[i] != 1)
            return false;
    }
    direct = (double)(y->dims[2] * y->dims[3]) * WINOGRAD_TAPS * (double)(x->dims[1] * y->dims[1]);
    fast = (double)tiles *
           (PLACES * (double)(x->dims[1] * y->dims[1]) + 200.0 * (double)(x->dims[1] + y->dims[1]));
    return item->by_samples && item->reduces && item->codes < 0 && !item->plain_source &&
           x->dims[1] >= NATIVE_MAX_LANES && y->dims[1] >= NATIVE_MAX_LANES && tiles >= 4 &&
           fast <= 0.6 * direct;
}

static void set_shape(const native_planner *p, const native_item *item, gradient *g)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes;
    int64_t tiles, sample_bytes;

    g->samples = native_first_dim(p, y);
    g->height = x->dims[2];
    g->width = x->dims[3];
    g->rows = y->dims[2];
    g->columns = y->dims[3];
    g->pad[0] = item->pad[0];
    g->pad[1] = item->pad[1];
    g->ins = x->dims[1];
    g->outs = y->dims[1];
    g->in_blocks = (g->ins + lanes - 1) / lanes;
    g->out_blocks = (g->outs + lanes - 1) / lanes;
    g->tiles_y = (g->rows + OUT - 1) / OUT;
    g->tiles_x = (g->columns + OUT - 1) / OUT;
    g->plane = g->in_blocks * g->out_blocks * lanes * lanes + APART;
    tiles = g->tiles_y * g->tiles_x;
    sample_bytes = PLACES * (g->in_blocks + g->out_blocks) * lanes * tiles * (int64_t)sizeof(float);
    g->band = g->samples;
    if (PLACES * g->plane * (int64_t)sizeof(float) <= NEAR_SUMS)
        g->band = BAND_BYTES / sample_bytes < 1 ? 1 : BAND_BYTES / sample_bytes;
    if (g->band > g->samples)
        g->band = g->samples;
    g->step = g->band * tiles * lanes;
}

void native_plan_winograd_grad(native_planner *p, const native_item *item)
{
    gradient *g = native_keep(p, sizeof *g);
    double flops;
    native_run *run;

    if (!g)
        return;
    g->isa = p->isa;
    g->y = native_ref_of(p, item->inputs[0]);
    g->x = native_ref_of(p, item->inputs[1]);
    g->to = native_ref_of(p, item->output);
    g->shards = native_shards(p);
    set_shape(p, item, g);
    g->sums = native_sums(p, (uint64_t)((PLACES + WINOGRAD_TAPS) * g->plane) * sizeof(float));
    native_need_scratch(
        p, (uint64_t)(PLACES * ((g->in_blocks + g->out_blocks) * g->step + 2 * APART)) *
                   sizeof(float) +
               (uint64_t)g->band * sizeof(bool));
    flops =
        2.0 * PLACES * (double)(g->samples * g->tiles_y * g->tiles_x) * (double)(g->ins * g->outs);
    run = native_add_run(p, run_gradient, g, 1, flops / 60.0);
    run->flops = flops;
    run->name = "winograd weights gradient";
    native_in_order(p,
                    native_finish(p, finish_gradient, g, g->out_blocks * g->in_blocks,
                                  (double)(g->plane * PLACES * g->shards) * 0.1),
                    p->isa->lanes * g->ins * WINOGRAD_TAPS, g->in_blocks);
}

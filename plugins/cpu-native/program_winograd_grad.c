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
#include "program.h"

#include <string.h>

enum {
    OUT = 4,
    PLACES = 36,
    TAPS = 9,
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

    for (tap = 0; tap < TAPS; tap++) {
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

/* 1 / (2 a^2 (a^2 - b^2)) for the points a = 5/8 and b = 3/2, and with a and b exchanged */
#define FACTOR_A (1.0 / (2.0 * 0.390625 * (0.390625 - 2.25)))
#define FACTOR_B (1.0 / (2.0 * 2.25 * (2.25 - 0.390625)))

/* y = G' m, for numbers that lie `step` apart. */
static void back_line(const float *m, int64_t step, float *y)
{
    const float sum_a = (float)FACTOR_A * (m[step] + m[2 * step]);
    const float less_a = (float)FACTOR_A * (m[step] - m[2 * step]);
    const float sum_b = (float)FACTOR_B * (m[3 * step] + m[4 * step]);
    const float less_b = (float)FACTOR_B * (m[3 * step] - m[4 * step]);

    y[0] = m[0] * (float)(1.0 / (0.390625 * 2.25)) + (sum_a + sum_b);
    y[1] = 0.625f * less_a + 1.5f * less_b;
    y[2] = 0.390625f * sum_a + 2.25f * sum_b + m[5 * step];
}

/* Of one input channel and a block of outputs: [place][lane] becomes [tap][lane]. */
static void transform_back(const float *m, int64_t lanes, float *to)
{
    float half[3][6], y[3];
    int64_t l;
    int i, j;

    for (l = 0; l < lanes; l++) {
        for (j = 0; j < 6; j++) {
            back_line(m + j * lanes + l, 6 * lanes, y);
            for (i = 0; i < 3; i++)
                half[i][j] = y[i];
        }
        for (i = 0; i < 3; i++) {
            back_line(half[i], 1, y);
            for (j = 0; j < 3; j++)
                to[(i * 3 + j) * lanes + l] += y[j];
        }
    }
}

/* [place][lane] of all shards, which lie plane after plane. */
static void add_shards(const gradient *g, const native_bases *bases, int64_t at, int n, float *to)
{
    const int64_t lanes = g->isa->lanes;
    int64_t l;
    int place, s;

    for (place = 0; place < n; place++, to += lanes) {
        memcpy(to, native_shard_at(bases, &g->sums, 0) + at + place * g->plane,
               (size_t)lanes * sizeof *to);
        for (s = 1; s < g->shards; s++) {
            const float *from = native_shard_at(bases, &g->sums, s) + at + place * g->plane;
            for (l = 0; l < lanes; l++)
                to[l] += from[l];
        }
    }
}

/* Numbers count input channels. */
static void finish_gradient(const void *params, const native_bases *bases, int64_t begin,
                            int64_t end)
{
    const gradient *g = params;
    const int64_t lanes = g->isa->lanes;
    float sums[PLACES * NATIVE_MAX_LANES], taps[TAPS * NATIVE_MAX_LANES];
    int64_t in, block, l, tap;

    for (in = begin; in < end; in++) {
        for (block = 0; block < g->out_blocks; block++) {
            const int64_t left = g->outs - block * lanes, n = left < lanes ? left : lanes;
            const int64_t at = (in * g->out_blocks + block) * lanes;
            add_shards(g, bases, at, PLACES, sums);
            add_shards(g, bases, at + PLACES * g->plane, TAPS, taps);
            transform_back(sums, lanes, taps);
            for (l = 0; l < n; l++) {
                float *to = native_at(bases, &g->to) + ((block * lanes + l) * g->ins + in) * TAPS;
                for (tap = 0; tap < TAPS; tap++)
                    to[tap] = taps[tap * lanes + l];
            }
        }
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
    direct = (double)(y->dims[2] * y->dims[3]) * TAPS * (double)(x->dims[1] * y->dims[1]);
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
    g->plane = g->in_blocks * g->out_blocks * lanes * lanes;
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
    g->sums = native_sums(p, (uint64_t)((PLACES + TAPS) * g->plane) * sizeof(float));
    native_need_scratch(
        p, (uint64_t)(PLACES * ((g->in_blocks + g->out_blocks) * g->step + 2 * APART)) *
                   sizeof(float) +
               (uint64_t)g->band * sizeof(bool));
    flops =
        2.0 * PLACES * (double)(g->samples * g->tiles_y * g->tiles_x) * (double)(g->ins * g->outs);
    run = native_add_run(p, run_gradient, g, 1, flops / 60.0);
    run->flops = flops;
    run->name = "winograd weights gradient";
    native_finish(p, finish_gradient, g, g->ins, (double)(g->plane * PLACES * g->shards) * 0.5);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_winograd.c: convolutions of 3 x 3 and stride 1 by Winograd's F(4 x 4, 3 x 3), F(3 x 3,
 * 3 x 3) or F(2 x 2, 3 x 3): of the products a quarter, 25 of 81, or four ninths.
 * docs/decisions/0009-winograd.md tells what it costs in precision.
 *
 * A band of tiles goes through three stages that stay in the second cache: its source is
 * transformed for all input channels, then for one group of output channels after the other come
 * the products, one for each of up to 36 places, and the transform back. What a tile gives depends
 * on nothing but its own pixels, so neither cuts nor the sizes of bands change a bit of it.
 *
 * The transforms mix pixels: where sums are not finite, the tile is computed anew tap by tap, as
 * program_conv.c does, so that NaN and infinity stay where they belong. In training, sums over
 * pixels that are all 0 are set to 0, for a ReLU or a maximum behind them tells it from a rounding
 * error.
 */
#include "program_winograd.h"

#include <string.h>

enum {
    MOST_OUT = 4,             /* that are computed tap by tap together */
    MOST_TILES = 56,          /* of a band, bits of a word */
    LEAST_TILES = 14,         /* of bands that are made for threads */
    BAND_BYTES = 1100 * 1024, /* of the transformed source */
    APART = 16                /* floats, so that places do not share the sets of a cache */
};

/* A tile's sample, its frame and its first output; where that of the first block goes, in vectors.
 */
typedef struct corner {
    int64_t sample, frame, y, x, to;
} corner;

static void find_corners(const native_winograd_item *w, int64_t first, int64_t n, corner *corners)
{
    const int64_t part = w->pooled ? 2 : 1, width = w->columns / part;
    const int64_t frame = w->rows / part * width, area = w->depth.outs * frame;
    const int64_t in_frame = w->tiles_y * w->tiles_x, tiles = w->depth.outs * in_frame;
    int64_t sample = first / tiles, tile = first % tiles, i;

    for (i = 0; i < n; i++) {
        corner *c = &corners[i];
        c->sample = sample;
        c->frame = tile / in_frame;
        c->y = tile % in_frame / w->tiles_x * w->form->out;
        c->x = tile % w->tiles_x * w->form->out;
        c->to =
            sample * w->out_blocks * area + c->frame * frame + c->y / part * width + c->x / part;
        if (++tile == tiles) {
            tile = 0;
            sample++;
        }
    }
}

/* The frame that a tap of the depth reads, or -1. */
static int64_t frame_of(const native_winograd_item *w, const corner *c, int64_t tap)
{
    const int64_t at = c->frame * w->depth.stride - w->depth.pad + tap * w->depth.dilation;

    return at >= 0 && at < w->depth.size ? at : -1;
}

/* ---- the three stages ---- */

/* The blocks of terms that are not padding for all of the tiles. */
static void find_terms(const native_winograd_item *w, const corner *corners, int64_t n,
                       int64_t *first, int64_t *end)
{
    int64_t tap, i;

    *first = w->depth.kernel;
    *end = 0;
    for (tap = 0; tap < w->depth.kernel; tap++) {
        for (i = 0; i < n && frame_of(w, &corners[i], tap) < 0; i++)
            continue;
        if (i<n && * first> tap)
            *first = tap;
        if (i < n)
            *end = tap + 1;
    }
    *end = (*end > *first ? *end : *first) * w->in_blocks;
    *first *= w->in_blocks;
}

/* [place][block of terms][tile][lane] */
static void transform_source(const native_winograd_item *w, const native_bases *bases,
                             const corner *corners, int64_t n, float *to)
{
    const int64_t lanes = w->isa->lanes, frame = w->height * w->width * lanes;
    const int64_t area = w->depth.size * frame;
    const float *source = native_at(bases, &w->source);
    const int64_t top = w->form->back ? 0 : w->pad[0], left = w->form->back ? 0 : w->pad[1];
    int64_t i, term, end;

    for (find_terms(w, corners, n, &term, &end); term < end; term++) {
        const int64_t block = term % w->in_blocks, tap = term / w->in_blocks;
        for (i = 0; i < n; i++) {
            const corner *c = &corners[i];
            const int64_t at = frame_of(w, c, tap);
            const native_plane plane = {source + (c->sample * w->in_blocks + block) * area +
                                            (at < 0 ? 0 : at * frame),
                                        at < 0 ? 0 : w->height, w->width};
            w->isa->winograd_source[w->form - native_winograd_forms](
                &plane, c->y - top, c->x - left, to + (term * w->band + i) * lanes, w->source_step);
        }
    }
}

/* One group: [place][block][tile][lane] */
static void multiply(const native_winograd_item *w, const native_bases *bases, int64_t g,
                     const corner *corners, int64_t n, const float *source, float *to)
{
    const int64_t lanes = w->isa->lanes, left = w->out_blocks - g * WINOGRAD_GROUP;
    const int64_t blocks = left < WINOGRAD_GROUP ? left : WINOGRAD_GROUP,
                  most = w->isa->max_pixels[blocks];
    const int64_t parts = (n + most - 1) / most, floats = native_winograd_floats(w, blocks);
    const float *weights =
        native_at(bases, &w->weights) + g * w->places * native_winograd_floats(w, WINOGRAD_GROUP);
    native_tile tile;
    int64_t place, first, end, i;

    memset(&tile, 0, sizeof tile);
    find_terms(w, corners, n, &first, &end);
    tile.plane = w->band * lanes;
    tile.n_groups = (int)(end - first);
    tile.n_taps = 1;
    tile.weights_step = blocks * lanes;
    tile.to_pixel = lanes;
    tile.to_block = w->band * lanes;
    tile.first = tile.last = true;
    tile.scale = 1.0f;
    if (w->places * w->n_groups * floats * (int64_t)sizeof(float) > WINOGRAD_NEAR_BYTES)
        tile.ahead_bytes =
            (int)((floats * (int64_t)sizeof(float) / (parts * w->term_blocks) + 63) / 64 * 64);
    for (place = 0; place < w->places; place++) {
        tile.weights = weights + place * floats;
        tile.ahead = (const char *)(tile.weights + floats);
        tile.weights += first * lanes * tile.weights_step;
        for (i = 0; i < parts; i++) {
            int64_t begin = i * n / parts;
            tile.source = source + place * w->source_step + (first * w->band + begin) * lanes;
            tile.to = to + place * w->sums_step + begin * lanes;
            w->isa->straight[blocks][(i + 1) * n / parts - begin](&tile);
            tile.ahead += tile.ahead_bytes * (end - first);
        }
    }
}

/* ---- blank pixels ---- */

static bool is_blank(const native_winograd_item *w, const float *source, int64_t y, int64_t x)
{
    const int64_t lanes = w->isa->lanes, area = w->height * w->width * lanes;
    int64_t block, l;

    if (y < 0 || x < 0 || y >= w->height || x >= w->width)
        return true;
    source += (y * w->width + x) * lanes;
    for (block = 0; block < w->in_blocks; block++, source += area) {
        for (l = 0; l < lanes; l++) {
            if (source[l] != 0.0f)
                return false;
        }
    }
    return true;
}

/* A bit for each output of the tile all of whose pixels are 0, in all channels. */
static uint32_t find_blank(const native_winograd_item *w, const native_bases *bases,
                           const corner *c)
{
    const float *source = native_at(bases, &w->source) +
                          c->sample * w->in_blocks * w->height * w->width * w->isa->lanes;
    bool pixels[WINOGRAD_MOST_IN][WINOGRAD_MOST_IN];
    const int in = w->form->in, out = w->form->out;
    uint32_t blank = 0;
    int i, j, tap;

    for (i = 0; i < in * in; i++)
        pixels[i / in][i % in] =
            is_blank(w, source, c->y - w->pad[0] + i / in, c->x - w->pad[1] + i % in);
    for (i = 0; i < out; i++) {
        for (j = 0; j < out; j++) {
            for (tap = 0; tap < WINOGRAD_TAPS && pixels[i + tap / 3][j + tap % 3]; tap++)
                continue;
            if (tap == WINOGRAD_TAPS)
                blank |= (uint32_t)1 << (i * out + j);
        }
    }
    return blank;
}

/* Beside a bias other than 0, rounding errors make no difference. */
static bool has_zero_bias(const native_winograd_item *w, const native_bases *bases, int64_t block)
{
    const int64_t lanes = w->isa->lanes;
    const float *bias = native_at(bases, &w->bias);
    int64_t o;

    for (o = block * lanes; w->has_bias && o < w->outs && o < (block + WINOGRAD_GROUP) * lanes;
         o++) {
        if (bias[o] == 0.0f)
            return true;
    }
    return !w->has_bias;
}

/* ---- the way back ---- */

static native_winograd_end end_of(const native_winograd_item *w, const native_bases *bases,
                                  int64_t block, const corner *c)
{
    const int64_t lanes = w->isa->lanes;
    const int64_t width = w->pooled ? w->columns / 2 : w->columns;
    const int64_t at = c->to + block * w->depth.outs * width * (w->pooled ? w->rows / 2 : w->rows);
    native_winograd_end end;

    end.to = native_at(bases, &w->to) + at * lanes;
    end.residual = w->has_residual ? native_at(bases, &w->residual) + at * lanes : NULL;
    end.row = width * lanes;
    end.rows = (int)(w->rows - c->y < w->form->out ? w->rows - c->y : w->form->out);
    end.columns = (int)(w->columns - c->x < w->form->out ? w->columns - c->x : w->form->out);
    end.pooled = w->pooled;
    end.codes = w->has_codes ? (uint8_t *)(void *)native_at(bases, &w->codes) + at * lanes : NULL;
    end.bias = w->has_bias ? native_at(bases, &w->bias) + block * lanes : NULL;
    end.blank = 0;
    end.act = w->act;
    return end;
}

/* A bit for each tile that is not finite. */
static uint64_t transform_back(const native_winograd_item *w, const native_bases *bases,
                               int64_t block, const corner *corners, int64_t n, const float *sums,
                               const uint32_t *blank)
{
    uint64_t bad = 0;
    int64_t i;

    for (i = 0; i < n; i++) {
        native_winograd_end end = end_of(w, bases, block, &corners[i]);
        if (blank)
            end.blank = blank[i];
        if (!w->isa->winograd_result[w->form - native_winograd_forms](sums + i * w->isa->lanes,
                                                                      w->sums_step, &end))
            bad |= (uint64_t)1 << i;
    }
    return bad;
}

/* ---- tiles that are not finite ---- */

/* The weights of one block as tiles of program_conv.c want them: [in / lanes][tap][lane][lane] */
static void pack_taps(const native_winograd_item *w, const native_bases *bases, int64_t block,
                      float *to)
{
    const float *taps = native_at(bases, &w->taps);
    const int64_t lanes = w->isa->lanes;
    int64_t in, tap, i, o;

    for (in = 0; in < w->in_blocks * lanes; in += lanes) {
        for (tap = 0; tap < WINOGRAD_TAPS * w->depth.kernel; tap++) {
            for (i = in; i < in + lanes; i++) {
                for (o = block * lanes; o < (block + 1) * lanes; o++)
                    *to++ =
                        i < w->ins && o < w->outs ? native_winograd_tap(w, taps, o, i, tap) : 0.0f;
            }
        }
    }
}

/* Where outputs of a tile from (y, x) on find their taps; at most 4 of them. */
static void find_taps(const native_winograd_item *w, const corner *c, int64_t y, int64_t x,
                      int rows, int columns, int32_t *to)
{
    const int64_t taps = WINOGRAD_TAPS * w->depth.kernel;
    int64_t tap;
    int i, n = rows * columns;

    for (tap = 0; tap < taps; tap++) {
        const int64_t frame = frame_of(w, c, tap / WINOGRAD_TAPS), at = tap % WINOGRAD_TAPS;
        for (i = 0; i < n; i++) {
            int64_t row = c->y + y + i / columns + at / 3 - w->pad[0];
            int64_t column = c->x + x + i % columns + at % 3 - w->pad[1];
            *to++ =
                frame < 0 || row < 0 || column < 0 || row >= w->height || column >= w->width
                    ? -1
                    : (int32_t)(((frame * w->height + row) * w->width + column) * w->isa->lanes);
        }
    }
}

/* One window: its sums, then the maximum and its code. */
static void compute_window(const native_winograd_item *w, native_tile *tile,
                           const native_winograd_end *end, int64_t at)
{
    _Alignas(NATIVE_ALIGNMENT) float sums[4 * NATIVE_MAX_LANES];
    const bool clip = w->act.kind == NATIVE_ACT_CLIP;
    const native_pool_end window = {.sums = sums,
                                    .windows = 1,
                                    .area = 4,
                                    .bias = end->bias,
                                    .clip = clip,
                                    .low = clip ? w->act.a : 0.0f,
                                    .high = clip ? w->act.b : 0.0f,
                                    .to = end->to + at,
                                    .codes = end->codes + at};

    tile->to = sums;
    w->isa->blocked[1][4](tile);
    w->isa->pooled->pool_end(&window);
}

/* offsets: room for those of 4 outputs. */
static void compute_plainly(const native_winograd_item *w, const native_bases *bases, int64_t block,
                            const corner *c, const float *weights, int32_t *offsets)
{
    const int64_t lanes = w->isa->lanes;
    const int64_t area = w->depth.size * w->height * w->width * lanes;
    const native_winograd_end end = end_of(w, bases, block, c);
    const int part = w->pooled ? 2 : 1;
    native_tile tile;
    int i, j, columns;

    memset(&tile, 0, sizeof tile);
    tile.source = native_at(bases, &w->source) + c->sample * w->in_blocks * area;
    tile.offsets = offsets;
    tile.plane = area;
    tile.n_groups = (int)w->in_blocks;
    tile.n_taps = (int)(WINOGRAD_TAPS * w->depth.kernel);
    tile.weights = weights;
    tile.weights_step = tile.to_pixel = lanes;
    tile.first = tile.last = true;
    tile.scale = 1.0f;
    if (!w->has_codes) {
        tile.pooled = w->pooled;
        tile.bias = end.bias;
        tile.act = w->act;
    }
    for (i = 0; i + part <= end.rows; i += part) {
        for (j = 0; j + part <= end.columns; j += columns) {
            const int64_t at = i / part * end.row + j / part * lanes;
            columns = w->pooled ? 2 : end.columns - j < MOST_OUT ? end.columns - j : MOST_OUT;
            find_taps(w, c, i, j, part, columns, offsets);
            if (w->has_codes) {
                compute_window(w, &tile, &end, at);
                continue;
            }
            tile.to = end.to + at;
            tile.residual = end.residual ? end.residual + at : NULL;
            w->isa->blocked[1][part * columns](&tile);
        }
    }
}

/* Of a block, as pack_taps leaves them. */
static int64_t floats_of_taps(const native_winograd_item *w)
{
    return w->term_blocks * WINOGRAD_TAPS * w->isa->lanes * w->isa->lanes;
}

/* ---- running ---- */

static void run_group(const native_winograd_item *w, const native_bases *bases, int64_t g,
                      const corner *corners, int64_t n, const float *source, float *sums)
{
    uint64_t bad[WINOGRAD_GROUP] = {0};
    uint32_t blank[MOST_TILES];
    int64_t block = g * WINOGRAD_GROUP, i, k;
    const bool keeps_zeros = w->keeps_zeros && has_zero_bias(w, bases, block);

    for (i = 0; keeps_zeros && i < n; i++)
        blank[i] = find_blank(w, bases, &corners[i]);
    multiply(w, bases, g, corners, n, source, sums);
    for (k = 0; k < WINOGRAD_GROUP && block + k < w->out_blocks; k++)
        bad[k] = transform_back(w, bases, block + k, corners, n, sums + k * w->band * w->isa->lanes,
                                keeps_zeros ? blank : NULL);
    for (k = 0; k < WINOGRAD_GROUP; k++) {
        if (bad[k])
            pack_taps(w, bases, block + k, sums);
        for (i = 0; i < n; i++) {
            if (bad[k] >> i & 1)
                compute_plainly(w, bases, block + k, &corners[i], sums,
                                (int32_t *)(void *)(sums + floats_of_taps(w)));
        }
    }
}

/* Numbers count bands, in them groups of output channels. */
static void run_winograd(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_winograd_item *w = params;
    float *source = (float *)(void *)bases->scratch, *sums = source + w->places * w->source_step;
    corner corners[MOST_TILES];
    int64_t here = -1;

    for (; begin < end; begin++) {
        int64_t band = begin / w->n_groups;
        int64_t first = band * w->all / w->n_bands, n = (band + 1) * w->all / w->n_bands - first;
        if (band != here) {
            find_corners(w, first, n, corners);
            transform_source(w, bases, corners, n, source);
        }
        here = band;
        run_group(w, bases, begin % w->n_groups, corners, n, source, sums);
    }
}

/* ---- planning ---- */

/*
 * A training's ReLU passes no gradient where its sum is 0, as that of blank pixels is while the
 * bias is, and of equal maxima the first one gets it. Winograd's tiles see the pixels around as
 * well and leave a rounding error there, which may be above 0.
 */
static bool needs_zeros(const native_planner *p, const native_item *item)
{
    return (item->act.kind != NATIVE_ACT_NONE || item->codes >= 0) &&
           !p->ir->values[item->inputs[1]].known;
}

static void make_bands(const native_planner *p, native_winograd_item *w)
{
    const int64_t threads = p->ir->device->threads, lanes = w->isa->lanes;
    const int64_t unit = w->isa->max_pixels[WINOGRAD_GROUP];
    int64_t most = BAND_BYTES / (w->places * w->term_blocks * lanes * (int64_t)sizeof(float));
    int64_t even;

    most = most < MOST_TILES ? most : MOST_TILES;
    most = most < unit ? unit : most / unit * unit;
    w->n_bands = (w->all + most - 1) / most;
    even = threads > 1 ? (w->n_bands + threads - 1) / threads * threads : w->n_bands;
    if (w->all >= even * LEAST_TILES)
        w->n_bands = even;
    w->band = (w->all + w->n_bands - 1) / w->n_bands;
    w->source_step = w->term_blocks * w->band * lanes + APART;
    w->sums_step = WINOGRAD_GROUP * w->band * lanes + APART;
}

static void set_shape(const native_planner *p, native_winograd_item *w, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes, part = w->pooled ? 2 : 1;

    w->ins = x->dims[1];
    w->outs = y->dims[1];
    w->in_blocks = (w->ins + lanes - 1) / lanes;
    w->depth = item->depth;
    if (!w->depth.kernel)
        w->depth = (native_depth){1, 1, 1, 0, 1, 1};
    w->term_blocks = w->depth.kernel * w->in_blocks;
    w->out_blocks = (w->outs + lanes - 1) / lanes;
    w->n_groups = (w->out_blocks + WINOGRAD_GROUP - 1) / WINOGRAD_GROUP;
    w->height = x->dims[2] / w->depth.size;
    w->width = x->dims[3];
    w->pad[0] = w->turned ? 2 - item->pad[0] : item->pad[0];
    w->pad[1] = w->turned ? 2 - item->pad[1] : item->pad[1];
    w->rows = y->dims[2] / w->depth.outs * part;
    w->columns = y->dims[3] * part;
    w->tiles_y = (w->rows + w->form->out - 1) / w->form->out;
    w->tiles_x = (w->columns + w->form->out - 1) / w->form->out;
    w->all = native_first_dim(p, y) * w->depth.outs * w->tiles_y * w->tiles_x;
}

void native_plan_winograd(native_planner *p, const native_item *item, int number)
{
    native_winograd_item *w = native_keep(p, sizeof *w);
    int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    int64_t again; /* floats of the weights of a block, for tiles that are not finite */
    double flops;
    native_run *run;

    if (!w)
        return;
    w->isa = p->isa;
    w->form = &native_winograd_forms[number];
    w->places = native_winograd_places(w->form);
    w->source = native_ref_of(p, item->inputs[0]);
    w->to = native_ref_of(p, item->output);
    w->has_residual = item->residual >= 0;
    w->residual = native_ref_of(p, item->residual);
    w->has_codes = item->codes >= 0;
    w->codes = native_ref_of(p, item->codes);
    w->pooled = item->pooled || w->has_codes;
    w->turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    w->keeps_zeros = needs_zeros(p, item);
    w->act = item->act;
    set_shape(p, w, item);
    make_bands(p, w);
    native_winograd_set_weights(p, w, item->inputs[1]);
    native_winograd_set_bias(p, w, bias);
    again = floats_of_taps(w) + WINOGRAD_TAPS * w->depth.kernel * MOST_OUT;
    if (again < w->places * w->sums_step)
        again = w->places * w->sums_step;
    native_need_scratch(p, (uint64_t)(w->places * w->source_step + again) * sizeof(float));
    flops = 2.0 * w->places * (double)w->all * (double)(w->depth.kernel * w->ins * w->outs);
    run = native_add_run(p, run_winograd, w, w->n_bands * w->n_groups, flops / 80.0);
    run->flops = flops;
    run->together = w->n_groups;
    run->name = "winograd conv";
}

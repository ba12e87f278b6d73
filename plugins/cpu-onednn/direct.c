/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c: tables of offsets, packing, and the split into tiles; the arithmetic is in
 * direct_tiles.h.
 *
 * Positions are numbered in the order in which they are stored; with a fused pool those of one
 * window follow each other. Tiles have P positions each, the last one the rest.
 */
#include "direct.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "direct_isa.h"

struct tfr_dnn_direct {
    const tfr_dnn_isa *isa;
    tfr_dnn_direct_shape s;
    bool depthwise;
    int64_t taps, k;     /* rows of one position, and floats of each */
    int64_t window;      /* positions that are pooled into one */
    int64_t n_positions; /* with those that are pooled */
    int positions, vectors;
    int64_t n_tiles, n_blocks; /* tiles of positions, blocks of output channels */
    int32_t *offsets;          /* by tile [taps][positions of the tile] */
    float *zeros;
};

/* ---- instruction sets ---- */

static const tfr_dnn_isa *const isas[] = {
#if defined(__x86_64__)
    &tfr_dnn_isa_avx512,
    &tfr_dnn_isa_avx2,
#endif
    &tfr_dnn_isa_portable,
};

static bool has_word(const char *words, const char *word, size_t n)
{
    const char *at;
    for (at = words; (at = strchr(at, word[0])) != NULL; at++)
        if (strncmp(at, word, n) == 0 && (at == words || at[-1] == ' ') &&
            (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static bool has_all(const char *features, const char *needs)
{
    size_t n;
    for (; *needs; needs += n + (needs[n] == ' ')) {
        n = strcspn(needs, " ");
        if (!has_word(features, needs, n))
            return false;
    }
    return true;
}

const tfr_dnn_isa *tfr_dnn_isa_find(const char *name, const char *features)
{
    size_t i;
    for (i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if ((!name || strcmp(isas[i]->name, name) == 0) && has_all(features, isas[i]->needs))
            return isas[i];
    return NULL;
}

const tfr_dnn_isa *tfr_dnn_isa_pick(const char *features)
{
    return tfr_dnn_isa_find(NULL, features);
}

const char *tfr_dnn_isa_name(const tfr_dnn_isa *isa)
{
    return isa->name;
}

/* ---- tiles ---- */

/*
 * Cycles of a tile, roughly: for each of the taps * k rows the slowest of two products, two loads
 * and the latency of a sum that waits for itself; then what begins and ends a tile.
 */
static int64_t tile_cost(const tfr_dnn_direct *d, int positions, int vectors)
{
    int64_t products = positions * vectors, loads = positions + vectors;
    int64_t row = products > loads ? products : loads;
    if (row < 8)
        row = 8;
    return d->taps * d->k * row + d->taps * 2 * positions + 4 * products + 60;
}

static int64_t split_cost(const tfr_dnn_direct *d, int positions, int vectors)
{
    int64_t lanes = d->isa->lanes, blocks = d->s.oc / (lanes * vectors);
    int64_t left = d->s.oc - blocks * lanes * vectors, tiles = d->n_positions / positions;
    int rest = (int)(d->n_positions % positions), last = (int)((left + lanes - 1) / lanes);
    int64_t cost = blocks * tiles * tile_cost(d, positions, vectors);
    if (rest)
        cost += blocks * tile_cost(d, rest, vectors);
    if (last)
        cost += tiles * tile_cost(d, positions, last) + (rest ? tile_cost(d, rest, last) : 0);
    return cost;
}

/* Blocks all have `vectors` vectors but the last one, which may have fewer. */
static void choose_tile(tfr_dnn_direct *d)
{
    int64_t best = INT64_MAX;
    int v, p;
    for (v = 1; v <= TFR_DNN_MAX_VECTORS; v++)
        for (p = 1; p <= TFR_DNN_MAX_POSITIONS; p++) {
            int64_t cost;
            if (!d->isa->tiles[v - 1][p - 1] || p % d->window)
                continue;
            cost = split_cost(d, p, v);
            if (cost < best) {
                best = cost;
                d->positions = p;
                d->vectors = v;
            }
        }
}

static int32_t offset_of(const tfr_dnn_direct_shape *s, int64_t y, int64_t x)
{
    return y < 0 || y >= s->h || x < 0 || x >= s->w ? -1 : (int32_t)((y * s->w + x) * s->ic);
}

/* Where position i lies in the image that is computed. */
static void position_at(const tfr_dnn_direct_shape *s, int64_t i, int64_t *y, int64_t *x)
{
    int64_t window = s->pool_h * s->pool_w, columns = s->ow / s->pool_w;
    int64_t out = i / window, in = i % window;
    *y = out / columns * s->pool_h + in / s->pool_w;
    *x = out % columns * s->pool_w + in % s->pool_w;
}

/* Rows of one window line follow each other in the image: they are one long row. */
static bool lines_are_rows(const tfr_dnn_direct_shape *s)
{
    return s->dw == 1 && s->pl == 0 && (s->ow - 1) * s->sw + s->kw <= s->w;
}

static void fill_offsets(tfr_dnn_direct *d)
{
    const tfr_dnn_direct_shape *s = &d->s;
    int64_t columns = d->taps / s->kh, i, tap;
    int32_t *out = d->offsets;
    for (i = 0; i < d->n_positions; i += d->positions)
        for (tap = 0; tap < d->taps; tap++) {
            int64_t end = i + d->positions, p;
            for (p = i; p < end && p < d->n_positions; p++) {
                int64_t y, x;
                position_at(s, p, &y, &x);
                *out++ = offset_of(s, y * s->sh - s->pt + tap / columns * s->dh,
                                   x * s->sw - s->pl + tap % columns * s->dw);
            }
        }
}

static bool fits(const tfr_dnn_direct_shape *s, const tfr_dnn_direct *d)
{
    int64_t limit = INT32_MAX;
    return s->h * s->w <= limit / s->ic && s->oh * s->ow <= limit / s->oc &&
           d->n_positions <= limit / 8 / d->taps && d->window <= TFR_DNN_MAX_WINDOW &&
           s->oh % s->pool_h == 0 && s->ow % s->pool_w == 0 &&
           (!d->depthwise || (d->taps <= 64 && d->window <= 6)) && (s->groups == 1 || d->depthwise);
}

int32_t tfr_dnn_direct_create(const tfr_dnn_isa *isa, const tfr_dnn_direct_shape *shape,
                              tfr_dnn_direct **out, tfr_err *err)
{
    tfr_dnn_direct *d = calloc(1, sizeof *d);
    if (!d)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a convolution");
    d->isa = isa;
    d->s = *shape;
    d->depthwise = shape->groups > 1 && shape->groups == shape->ic && shape->ic == shape->oc;
    d->taps = shape->kh * shape->kw;
    d->k = shape->ic;
    if (!d->depthwise && lines_are_rows(shape)) {
        d->taps = shape->kh;
        d->k = shape->kw * shape->ic;
    }
    d->window = shape->pool_h * shape->pool_w;
    d->n_positions = shape->oh * shape->ow;
    if (!fits(shape, d)) {
        free(d);
        return tfr_fail(err, TFR_EUNSUPPORTED, "the image is too large for direct convolution");
    }
    if (d->depthwise) {
        d->vectors = 1;
        d->positions = TFR_DNN_MAX_POSITIONS;
        while (!isa->depthwise[d->positions - 1] || d->positions % d->window)
            d->positions--;
        d->n_blocks = 1;
    } else {
        choose_tile(d);
        d->n_blocks = (shape->oc + d->vectors * isa->lanes - 1) / (d->vectors * isa->lanes);
    }
    d->n_tiles = (d->n_positions + d->positions - 1) / d->positions;
    d->offsets = malloc((size_t)(d->n_positions * d->taps) * sizeof *d->offsets);
    d->zeros = calloc((size_t)d->k, sizeof *d->zeros);
    if (!d->offsets || !d->zeros) {
        tfr_dnn_direct_destroy(d);
        return tfr_fail(err, TFR_ENOMEM, "no memory for the offsets of %lld positions",
                        (long long)(shape->oh * shape->ow));
    }
    fill_offsets(d);
    *out = d;
    return TFR_OK;
}

void tfr_dnn_direct_destroy(tfr_dnn_direct *d)
{
    if (!d)
        return;
    free(d->offsets);
    free(d->zeros);
    free(d);
}

/* ---- weights ---- */

/* Output channels as packed: whole vectors. */
static int64_t padded_oc(const tfr_dnn_direct *d)
{
    int64_t lanes = d->isa->lanes;
    return (d->s.oc + lanes - 1) / lanes * lanes;
}

uint64_t tfr_dnn_direct_packed_bytes(const tfr_dnn_direct *d)
{
    int64_t rows = 1 + d->taps * (d->depthwise ? 1 : d->k);
    return (uint64_t)(rows * padded_oc(d)) * sizeof(float);
}

uint32_t tfr_dnn_direct_pack_id(const tfr_dnn_direct *d)
{
    return (uint32_t)d->isa->lanes << 8 | (uint32_t)d->vectors << 1 | d->depthwise;
}

/* Vectors of block b. */
static int64_t block_vectors(const tfr_dnn_direct *d, int64_t b)
{
    int64_t left = padded_oc(d) / d->isa->lanes - b * d->vectors;
    return left < d->vectors ? left : d->vectors;
}

static void pack_block(const tfr_dnn_direct *d, const float *w, const int64_t strides[4],
                       int64_t begin, int64_t width, float *packed)
{
    const tfr_dnn_direct_shape *s = &d->s;
    int64_t inputs = d->depthwise ? 1 : s->ic, y, x, i, o;
    for (y = 0; y < s->kh; y++)
        for (x = 0; x < s->kw; x++)
            for (i = 0; i < inputs; i++, packed += width)
                for (o = 0; o < width; o++)
                    packed[o] = begin + o < s->oc ? w[(begin + o) * strides[0] + i * strides[1] +
                                                      y * strides[2] + x * strides[3]]
                                                  : 0;
}

void tfr_dnn_direct_pack(const tfr_dnn_direct *d, const float *w, const int64_t strides[4],
                         const float *bias, float *packed)
{
    int64_t oc = padded_oc(d), b, o, done = 0;
    for (o = 0; o < oc; o++)
        packed[o] = bias && o < d->s.oc ? bias[o] : 0;
    packed += oc;
    if (d->depthwise) {
        pack_block(d, w, strides, 0, oc, packed);
        return;
    }
    for (b = 0; b < d->n_blocks; b++) {
        int64_t width = block_vectors(d, b) * d->isa->lanes;
        pack_block(d, w, strides, done, width, packed + done * d->taps * d->k);
        done += width;
    }
}

/* ---- running ---- */

int64_t tfr_dnn_direct_items(const tfr_dnn_direct *d)
{
    return d->n_tiles * d->n_blocks;
}

void tfr_dnn_direct_run(const tfr_dnn_direct *d, const float *packed, const float *x, float *y,
                        const tfr_dnn_epilogue *epilogue, const tfr_dnn_batch *batch, int64_t begin,
                        int64_t end)
{
    static const tfr_dnn_batch one = {1, 0, 0, 0};
    const float *weights = packed + padded_oc(d);
    int64_t lanes = d->isa->lanes, rest = d->n_positions - (d->n_tiles - 1) * d->positions;

    if (!batch)
        batch = &one;
    while (begin < end) {
        int64_t b = begin / d->n_tiles, stop = (b + 1) * d->n_tiles, n, i;
        int64_t vectors = block_vectors(d, b), column = b * d->vectors * lanes;
        tfr_dnn_tile_fn whole = d->depthwise ? d->isa->depthwise[d->positions - 1]
                                             : d->isa->tiles[vectors - 1][d->positions - 1];
        tfr_dnn_tile_fn last =
            d->depthwise ? d->isa->depthwise[rest - 1] : d->isa->tiles[vectors - 1][rest - 1];
        tfr_dnn_tile t = {.zeros = d->zeros,
                          .taps = d->taps,
                          .k = d->k,
                          .bias = packed + column,
                          .weights = weights + column * d->taps * (d->depthwise ? 1 : d->k),
                          .y_row = d->s.oc,
                          .columns = d->depthwise                         ? d->s.oc
                                     : d->s.oc - column < vectors * lanes ? d->s.oc - column
                                                                          : vectors * lanes,
                          .window = d->window,
                          .low = epilogue->low,
                          .high = epilogue->high};
        if (stop > end)
            stop = end;
        for (n = 0; n < batch->n; n++)
            for (i = begin; i < stop; i++) {
                int64_t tile = i % d->n_tiles, first = tile * d->positions;
                t.x = x + n * batch->x_stride;
                t.offsets = d->offsets + first * d->taps;
                t.y = y + n * batch->y_stride + first / d->window * d->s.oc + column;
                if (epilogue->residual)
                    t.residual =
                        epilogue->residual + n * batch->residual_stride + first * d->s.oc + column;
                (tile == d->n_tiles - 1 ? last : whole)(&t);
            }
        begin = stop;
    }
}

/* ---- pools ---- */

/* One position. More rows than fit are taken in turns, with what there is so far as the first. */
static void pool_at(const tfr_dnn_isa *isa, const tfr_dnn_direct_shape *s, tfr_dnn_pool_kind kind,
                    const float *x, int64_t oy, int64_t ox, float *y)
{
    enum { ROOM = 128 };
    const float *rows[ROOM];
    int64_t n = 0, counted = 0, i;
    bool max = kind == TFR_DNN_POOL_MAX;

    for (i = 0; i < s->kh * s->kw; i++) {
        int32_t at = offset_of(s, oy * s->sh - s->pt + i / s->kw * s->dh,
                               ox * s->sw - s->pl + i % s->kw * s->dw);
        if (at < 0)
            continue;
        if (n == ROOM) {
            isa->gather(rows, n, s->ic, max, 1, y);
            rows[0] = y;
            n = 1;
        }
        rows[n++] = x + at;
        counted++;
    }
    if (kind == TFR_DNN_POOL_AVERAGE_PADDED)
        counted = s->kh * s->kw;
    isa->gather(rows, n, s->ic, max, counted ? 1.0f / (float)counted : 0, y);
}

void tfr_dnn_direct_pool(const tfr_dnn_isa *isa, const tfr_dnn_direct_shape *s,
                         tfr_dnn_pool_kind kind, const float *x, float *y, int64_t begin,
                         int64_t end)
{
    int64_t oy, ox;
    for (oy = begin; oy < end; oy++)
        for (ox = 0; ox < s->ow; ox++)
            pool_at(isa, s, kind, x, oy, ox, y + (oy * s->ow + ox) * s->ic);
}

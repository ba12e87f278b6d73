/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_direct.c: how kernels/conv_direct.cu computes a convolution and conv_direct_filter.cu the
 * gradient of its filter: what a block has, how many teams of threads it is, how many channels or
 * rows they take at once. As in plan_tile.c, what an H100 would take for each way is estimated in
 * cycles, and the fewest win.
 */
#include "plan_kit.h"

#include <string.h>

enum {
    TAPS = 9, /* of a 3 x 3 kernel */
    MARGIN = 2,
    OCTET = 8,
    RESIDENT_WARPS = 16,
    RESIDENT_BLOCKS = 4,
    CYCLES_OF_LOAD = 900,
    BYTES_A_CYCLE = 16 /* that come to a multiprocessor */
};

static const char *const kernels[] = {
    [4] = "conv_direct_4_f32",
    [5] = "conv_direct_5_f32",
    [6] = "conv_direct_6_f32",
    [7] = "conv_direct_7_f32",
};
enum { NARROWEST = 4, WIDEST = 7 };

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool cuda_direct_of(const tfr_conv *c, bool is_gradient, tfr_direct *out)
{
    const tfr_window *v = &c->window;
    const int32_t taps = (int32_t)c->taps.d, plane = c->channels * taps;

    *out = (tfr_direct){
        .batch = c->batch,
        .groups = c->groups,
        .channels = is_gradient ? c->filters : c->channels,
        .filters = is_gradient ? c->channels : c->filters,
        .w_group = c->filters * plane,
        .w_filter = is_gradient ? taps : plane,
        .w_channel = is_gradient ? plane : taps,
        .is_mirrored = is_gradient,
    };
    for (int d = 0; d < 2; d++) {
        out->x[d] = is_gradient ? v->y[d] : v->x[d];
        out->y[d] = is_gradient ? v->x[d] : v->y[d];
        out->pad[d] = is_gradient ? MARGIN - v->pad[d] : v->pad[d];
        /* what is read is the middle of a padded plane */
        if (v->kernel[d] != MARGIN + 1 || v->stride[d] != 1 || v->dilation[d] != 1 ||
            out->pad[d] < 0 || out->y[d] + MARGIN < out->x[d] + out->pad[d])
            return false;
    }
    return true;
}

/* A way to compute it; of a team: its threads, and what it moves to shared memory for a channel. */
typedef struct way {
    tfr_direct d;
    int32_t width, segments;
    int64_t team, moves;
} way;

/* A block's outputs of one filter. */
static int64_t outputs_of(const tfr_direct *d)
{
    return (int64_t)d->samples * d->rows * d->y[1];
}

/* Floats of the chunks in shared memory. */
static int64_t floats_of(const tfr_direct *d)
{
    const int64_t channel =
        d->block_filters * TAPS + (int64_t)d->samples * (d->rows + MARGIN) * d->pitch;

    return (d->chunk < d->share ? 2 : 1) * up(d->teams * d->chunk * channel, 4) * 4;
}

/* Completes it, with as many channels in a chunk as there is room for; false: it does not fit. */
static bool complete(way *w)
{
    tfr_direct *d = &w->d;
    const int32_t high = d->rows + MARGIN < d->x[0] ? d->rows + MARGIN : d->x[0];

    w->segments = (int32_t)up(d->y[1], w->width);
    w->team = (int64_t)d->block_filters / OCTET * d->samples * d->rows * w->segments;
    w->moves = (int64_t)d->samples * high * d->x[1] + d->block_filters * TAPS;
    d->pitch = w->segments * w->width + MARGIN;
    d->share = (int32_t)up(d->channels, d->teams);
    if (w->moves > TFR_DIRECT_MOVES || w->team * d->teams > TFR_DIRECT_THREADS ||
        d->block_filters / 2 * outputs_of(d) > TFR_DIRECT_FLOATS ||
        d->teams / 2 * w->team * OCTET / 2 * w->width > TFR_DIRECT_FLOATS)
        return false;
    for (d->chunk = d->share < 4 ? d->share : 4; d->chunk > 0; d->chunk--)
        if (floats_of(d) <= TFR_DIRECT_FLOATS)
            return true;
    return false;
}

static int64_t blocks_of(const tfr_direct *d)
{
    return up(d->filters, d->block_filters) * up(d->y[0], d->rows) * d->groups *
           up(d->batch, d->samples);
}

static int64_t cycles(const cuda_chip *chip, const way *w)
{
    const tfr_direct *d = &w->d;
    const int64_t blocks = up(blocks_of(d), chip->multiprocessors);
    const int64_t threads = w->team * d->teams, warps = up(threads, 32);
    const int64_t resident = warps * 2 > RESIDENT_WARPS ? 1 : RESIDENT_WARPS / warps;
    const int64_t rounds = up(blocks, resident < RESIDENT_BLOCKS ? resident : RESIDENT_BLOCKS);
    /* what a warp issues: for a channel, for a chunk, at its beginning and its end */
    const int64_t of_channel = TAPS * OCTET * w->width + 3 * (w->width + MARGIN + 6) + 12 +
                               16 * (up(w->moves, w->team) + 1);
    const int64_t of_ends = 300 + up(w->moves, threads) * 40 + up(floats_of(d), threads) * 4 +
                            (d->teams > 1) * d->teams * w->width * 10 +
                            up(d->block_filters * outputs_of(d), threads) * 20;
    const int64_t of_warp = d->share * of_channel + up(d->share, d->chunk) * 60 + of_ends;
    const int64_t issued = up(blocks * warps, 4) * of_warp;
    /* a warp alone issues every other cycle */
    const int64_t waited = rounds * (2 * of_warp + CYCLES_OF_LOAD);
    const int64_t read = blocks * d->channels * w->moves * 4 / BYTES_A_CYCLE;

    return larger(larger(issued, waited), read) + CYCLES_OF_LOAD;
}

/* The best of all numbers of teams and samples for that many filters and rows. */
static void try_ways(const cuda_chip *chip, way *w, way *best, int64_t *fewest)
{
    tfr_direct *d = &w->d;
    int64_t each;

    for (d->samples = 1; d->samples <= (d->rows == d->y[0] ? 4 : 1); d->samples *= 2)
        for (d->teams = 1; d->teams <= 16 && d->teams <= d->channels; d->teams *= 2) {
            if (d->samples > d->batch || !complete(w))
                continue;
            each = cycles(chip, w);
            if (each < *fewest) {
                *fewest = each;
                *best = *w;
            }
        }
}

/* The next fewer rows of a block that make another number of blocks; 0: there are none. */
static int32_t fewer_rows(int32_t all, int32_t rows)
{
    return rows > 1 ? (int32_t)up(all, up(all, rows - 1)) : 0;
}

bool cuda_choose_direct(const cuda_chip *chip, const tfr_direct *what, int64_t cycles,
                        cuda_direct *out)
{
    way w = {.d = *what}, best = {.width = 0};
    tfr_direct *d = &w.d;

    for (w.width = NARROWEST; w.width <= WIDEST; w.width++)
        for (d->block_filters = OCTET; d->block_filters <= 64; d->block_filters *= 2) {
            if (d->block_filters > OCTET && d->block_filters / 2 >= d->filters)
                break;
            for (d->rows = d->y[0]; d->rows > 0; d->rows = fewer_rows(d->y[0], d->rows))
                try_ways(chip, &w, &best, &cycles);
        }
    if (!best.width)
        return false;
    d = &best.d;
    d->filter_tiles = cuda_divisor(up(d->filters, d->block_filters));
    d->row_tiles = cuda_divisor(up(d->y[0], d->rows));
    d->groups_d = cuda_divisor(d->groups);
    d->team = cuda_divisor(best.team);
    d->places = cuda_divisor(best.team / (d->block_filters / OCTET));
    d->segments = cuda_divisor(best.segments);
    d->rows_d = cuda_divisor(d->rows);
    d->samples_d = cuda_divisor(d->samples);
    d->x_row = cuda_divisor(d->x[1]);
    d->y_piece = cuda_divisor((int64_t)d->rows * d->y[1]);
    *out = (cuda_direct){.kernel = kernels[best.width],
                         .threads = (uint32_t)up(best.team * d->teams, 32) * 32,
                         .blocks = (uint64_t)blocks_of(d),
                         .args = *d};
    return true;
}

/* ---- the gradient of the filter ---- */

enum {
    MAX_SLABS = 256,
    MAX_SLAB_ELEMENTS = 1 << 26,
    CYCLES_OF_SLABS = 3500 /* of one more launch */
};

bool cuda_direct_filter_of(const tfr_conv *c, tfr_direct_filter *out)
{
    tfr_direct what;

    if (!cuda_direct_of(c, false, &what))
        return false;
    *out = (tfr_direct_filter){
        .batch = c->batch, .groups = c->groups, .channels = c->channels, .filters = c->filters};
    for (int d = 0; d < 2; d++) {
        out->x[d] = what.x[d];
        out->y[d] = what.y[d];
        out->pad[d] = what.pad[d];
    }
    return true;
}

/* Completes it for rows, channels, filters and teams; false: there is no room. */
static bool complete_filter(tfr_direct_filter *d)
{
    const int64_t octets = d->block_filters / OCTET, team = octets * d->block_channels;
    const int64_t y_pitch = up(d->y[1], 3) * 3, x_pitch = y_pitch + MARGIN;
    const int64_t x_floats = (d->rows + MARGIN) * x_pitch | 1;
    const int64_t y_floats = d->rows * y_pitch * OCTET;
    const int64_t moves = (int64_t)(d->rows + MARGIN) * d->x[1] + (int64_t)d->rows * d->y[1];

    if (moves > TFR_DIRECT_MOVES || team * d->teams > TFR_DIRECT_THREADS ||
        up(octets * y_floats + d->block_channels * x_floats, 4) * 4 * 2 > TFR_DIRECT_FLOATS ||
        (d->teams + 1) / 2 * team * OCTET / 2 * TAPS > TFR_DIRECT_FLOATS)
        return false;
    d->x_pitch = (int32_t)x_pitch;
    d->y_pitch = (int32_t)y_pitch;
    d->x_floats = (int32_t)x_floats;
    d->y_floats = (int32_t)y_floats;
    d->chunks = (int32_t)(d->batch * up(d->y[0], d->rows));
    return true;
}

static int64_t blocks_of_filter(const tfr_direct_filter *d)
{
    return up(d->filters, d->block_filters) * up(d->channels, d->block_channels) * d->groups *
           up(d->chunks, d->share);
}

static int64_t threads_of_filter(const tfr_direct_filter *d)
{
    return up((int64_t)d->block_filters / OCTET * d->block_channels * d->teams, 32) * 32;
}

static int64_t cycles_of_filter(const cuda_chip *chip, const tfr_direct_filter *d)
{
    const int64_t blocks = up(blocks_of_filter(d), chip->multiprocessors);
    const int64_t warps = threads_of_filter(d) / 32, slabs = up(d->chunks, d->share);
    const int64_t resident = warps * 2 > RESIDENT_WARPS ? 1 : RESIDENT_WARPS / warps;
    const int64_t rounds = up(blocks, resident < RESIDENT_BLOCKS ? resident : RESIDENT_BLOCKS);
    const int64_t copies = d->block_channels * up((d->rows + MARGIN) * d->x[1], 32) +
                           d->block_filters * up((int64_t)d->rows * d->y[1], 32);
    /* what a warp issues: for a row, for a chunk, at its beginning and its end */
    const int64_t of_row = d->y_pitch / 3 * (3 * TAPS * OCTET + 25) + 26;
    const int64_t of_chunk = up(d->rows, d->teams) * of_row + up(copies, warps) * 22 + 80;
    const int64_t of_ends = 600 + (d->teams > 1) * d->teams * 60 + TAPS * OCTET * 2;
    const int64_t of_warp = d->share * of_chunk + of_ends;
    const int64_t issued = up(blocks * warps, 4) * of_warp;
    const int64_t waited = rounds * (2 * of_warp + CYCLES_OF_LOAD);
    const int64_t elements = (int64_t)d->groups * d->filters * d->channels * TAPS;

    return larger(issued, waited) + CYCLES_OF_LOAD +
           (slabs > 1) * (CYCLES_OF_SLABS + elements * slabs / (chip->multiprocessors * 2));
}

/* The best of all numbers of teams and slabs for that many rows, channels and filters. */
static void try_filter(const cuda_chip *chip, tfr_direct_filter *d, tfr_direct_filter *best,
                       int64_t *fewest)
{
    const int64_t elements = (int64_t)d->groups * d->filters * d->channels * TAPS;
    int64_t each;

    for (d->teams = d->rows; d->teams > 0; d->teams = fewer_rows(d->rows, d->teams)) {
        if (!complete_filter(d))
            continue;
        for (int32_t slabs = 1; slabs <= MAX_SLABS && slabs <= d->chunks; slabs *= 2) {
            if (slabs > 1 && elements * slabs > MAX_SLAB_ELEMENTS)
                break;
            d->share = (int32_t)up(d->chunks, slabs);
            each = cycles_of_filter(chip, d);
            if (each < *fewest) {
                *fewest = each;
                *best = *d;
            }
        }
    }
}

bool cuda_choose_direct_filter(const cuda_chip *chip, const tfr_direct_filter *what,
                               int64_t cycles_of_tiles, cuda_direct_filter *out)
{
    tfr_direct_filter each = *what, best = {.share = 0}, *d = &each;

    for (d->block_filters = OCTET; d->block_filters <= 64; d->block_filters *= 2)
        for (d->block_channels = 1; d->block_channels <= 32; d->block_channels *= 2) {
            if ((d->block_filters > OCTET && d->block_filters / 2 >= d->filters) ||
                (d->block_channels > 1 && d->block_channels / 2 >= d->channels))
                continue;
            for (d->rows = d->y[0]; d->rows > 0; d->rows = fewer_rows(d->y[0], d->rows))
                try_filter(chip, d, &best, &cycles_of_tiles);
        }
    if (!best.share)
        return false;
    d = &best;
    d->filter_tiles = cuda_divisor(up(d->filters, d->block_filters));
    d->channel_tiles = cuda_divisor(up(d->channels, d->block_channels));
    d->groups_d = cuda_divisor(d->groups);
    d->team = cuda_divisor((int64_t)d->block_filters / OCTET * d->block_channels);
    d->channels_d = cuda_divisor(d->block_channels);
    d->parts = cuda_divisor(up(d->y[0], d->rows));
    d->x_row = cuda_divisor(d->x[1]);
    d->y_row = cuda_divisor(d->y[1]);
    *out = (cuda_direct_filter){.threads = (uint32_t)threads_of_filter(d),
                                .blocks = (uint64_t)blocks_of_filter(d),
                                .slabs = (int32_t)up(d->chunks, d->share),
                                .args = *d};
    return true;
}

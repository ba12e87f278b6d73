/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_tile_cut.c: cuts the pixels of a convolution into tiles where much of what its windows
 * read is padding. A tile leaves a tap out where all of its pixels find padding there, and a
 * dilation that is not far below the size of the image puts most taps of most pixels outside: then
 * tiles that end where the taps change leave out more than their smaller sizes cost.
 */
#include "program_tiles.h"

#include <stdlib.h>

enum {
    MOST_TAPS = 64,
    /* A core has about so many products under way: fewer sums take no less time. */
    LEAST_SUMS = 10,
    BEFORE_TAP = 4 /* sums that could be made while a tap begins, for each of its terms */
};

/* The bits of the taps that each pixel has. */
static uint64_t *taps_of_pixels(const native_tap_grid *g)
{
    uint64_t *taps = calloc((size_t)(g->height * g->width), sizeof *taps);
    int64_t row, column, i, j;

    for (i = 0; taps && i < g->down; i++) {
        for (row = 0; row < g->height; row++) {
            for (j = 0; g->rows[i * g->height + row] >= 0 && j < g->across; j++) {
                for (column = 0; column < g->width; column++) {
                    const bool has = g->columns[j * g->width + column] >= 0;
                    taps[row * g->width + column] |= (uint64_t)has << (i * g->across + j);
                }
            }
        }
    }
    return taps;
}

static int64_t count(const int32_t *table, int64_t n)
{
    int64_t i, there = 0;

    for (i = 0; i < n; i++)
        there += table[i] >= 0;
    return there;
}

/* Is at least a tenth of all that the windows read padding? */
static bool has_much_padding(const native_tap_grid *g)
{
    const double there = (double)count(g->rows, g->down * g->height) *
                         (double)count(g->columns, g->across * g->width);

    return there < 0.9 * (double)(g->down * g->height) * (double)(g->across * g->width);
}

/*
 * What a tile takes: for each term a load of each vector of weights and of each pixel, and their
 * products. To begin and end it takes about as long as a tap.
 */
static int64_t time_of(int64_t blocks, int64_t pixels, uint64_t taps)
{
    const int64_t loads = blocks + pixels, sums = blocks * pixels;
    const int64_t most = loads > sums ? loads : sums;

    return ((most > LEAST_SUMS ? most : LEAST_SUMS) + BEFORE_TAP) *
           (__builtin_popcountll(taps) + 1);
}

static int64_t time_of_all(const native_tiles *c, const uint64_t *taps)
{
    const int64_t blocks = native_largest_group(c);
    int64_t all = 0, tile, i;

    for (tile = 0; tile < c->n_tiles; tile++) {
        uint64_t any = 0;
        for (i = c->first_pixel[tile]; i < c->first_pixel[tile + 1]; i++)
            any |= taps[i];
        all += time_of(blocks, c->first_pixel[tile + 1] - c->first_pixel[tile], any);
    }
    return all;
}

/* The least time[i] of pixels [0, i), and of what size the last tile of these is then. */
static void find_cut(int64_t blocks, int64_t most, int64_t pixels, const uint64_t *taps,
                     int64_t *time, uint8_t *size)
{
    int64_t i, n;

    time[0] = 0;
    for (i = 1; i <= pixels; i++) {
        uint64_t any = 0;
        time[i] = INT64_MAX;
        for (n = 1; n <= most && n <= i; n++) {
            int64_t all;
            any |= taps[i - n];
            all = time[i - n] + time_of(blocks, n, any);
            if (all <= time[i]) {
                time[i] = all;
                size[i] = (uint8_t)n;
            }
        }
    }
}

static void keep_cut(native_planner *p, native_tiles *c, int64_t pixels, const uint8_t *size)
{
    int64_t i, tiles = 0;
    int32_t *first;

    for (i = pixels; i > 0; i -= size[i])
        tiles++;
    first = native_keep(p, ((size_t)tiles + 1) * sizeof *first);
    if (!first)
        return;
    c->first_pixel = first;
    c->n_tiles = tiles;
    c->cut = true;
    for (i = pixels; i > 0; i -= size[i])
        first[tiles--] = (int32_t)i;
    first[0] = 0;
}

void native_cut_tiles(native_planner *p, native_tiles *c, const native_tap_grid *g)
{
    const int64_t pixels = g->height * g->width, blocks = native_largest_group(c);
    uint64_t *taps;
    int64_t *time;
    uint8_t *size;

    if (g->down * g->across > MOST_TAPS || !has_much_padding(g))
        return;
    taps = taps_of_pixels(g);
    time = malloc(((size_t)pixels + 1) * sizeof *time);
    size = malloc((size_t)pixels + 1);
    if (taps && time && size) { /* without memory, the tiles stay as they are */
        find_cut(blocks, p->isa->max_pixels[blocks], pixels, taps, time, size);
        if ((double)time[pixels] < 0.95 * (double)time_of_all(c, taps))
            keep_cut(p, c, pixels, size);
    }
    free(taps);
    free(time);
    free(size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_tile_table.c: which output pixels a tile of a convolution has, and where each of them
 * finds each tap of the window. Tiles whose windows lie inside of the plane differ by where they
 * begin: those that begin in the same column, or stay in one row, share their offsets, which a
 * first level cache then holds for the whole plane. A table depends on the geometry alone, so the
 * convolutions of a program that have the same share one.
 */
#include "gemm_layout.h"
#include "program_tiles.h"

#include <stdlib.h>
#include <string.h>

typedef struct geometry {
    int64_t numbers[23];
} geometry;

struct native_tile_table {
    geometry of;
    const int32_t *first_pixel, *places, *offsets, *at, *shift;
    int64_t n_tiles, apart;
    bool cut;
    struct native_tile_table *next;
};

int native_largest_group(const native_tiles *c)
{
    int i, most = 0;

    for (i = 0; i < c->n_groups; i++) {
        int n = c->first_block[i + 1] - c->first_block[i];
        most = n > most ? n : most;
    }
    return most;
}

/* ---- tiles ---- */

/* Tiles of nearly equal sizes, pooled ones of whole windows. */
void native_make_tiles(native_planner *p, native_tiles *c, int64_t pixels)
{
    int64_t unit = c->pooled ? 4 : 1, most = p->isa->max_pixels[native_largest_group(c)] / unit;
    int64_t units = pixels / unit, i;
    int32_t *first;

    c->n_tiles = (units + most - 1) / most;
    first = native_keep(p, ((size_t)c->n_tiles + 1) * sizeof *first);
    for (i = 0; first && i <= c->n_tiles; i++)
        first[i] = (int32_t)(i * units / c->n_tiles * unit);
    c->first_pixel = first;
}

/* Tiles of one row of outputs, `apart` steps from each other; the end of the list. */
static int32_t *add_row(int32_t *first, int32_t *place, int64_t row, int64_t n, int64_t apart,
                        int64_t most)
{
    const int64_t tiles = (n + most - 1) / most;
    int64_t i;

    for (i = 0; i < tiles; i++) {
        place[i] = (int32_t)(row + i * n / tiles * apart);
        first[i + 1] = first[0] + (int32_t)((i + 1) * n / tiles);
    }
    return first + tiles;
}

bool native_tiles_are_apart(const native_item *item)
{
    return item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && item->stride[1] > 1;
}

/*
 * The gradient of what a convolution with steps has read: the outputs of a tile lie as far apart as
 * the steps, so that they have the same taps, and those that none of them has are left out. Tiles
 * that have the same taps follow each other, for their weights.
 */
static void make_apart_tiles(native_planner *p, native_tiles *c, const native_item *item,
                             const native_value *y)
{
    const int64_t width = y->dims[3], apart = item->stride[1], pixels = y->dims[2] * width;
    const int64_t most = p->isa->max_pixels[native_largest_group(c)];
    const int64_t frames = item->depth.kernel ? item->depth.outs : 1, height = y->dims[2] / frames;
    const int64_t deep = item->depth.kernel ? item->depth.stride : 1;
    const int64_t columns = smaller(apart, width), rows = smaller(item->stride[0], height);
    int32_t *first = native_keep(p, ((size_t)pixels + 1) * sizeof *first), *end = first;
    int32_t *place = native_keep(p, (size_t)pixels * sizeof *place);
    int64_t i, frame, row;

    if (!first || !place)
        return;
    for (i = 0; i < smaller(deep, frames) * rows * columns; i++) { /* which share their taps */
        const int64_t column = i % columns;
        for (frame = i / columns / rows; frame < frames; frame += deep)
            for (row = i / columns % rows; row < height; row += item->stride[0])
                end = add_row(end, place + (end - first), (frame * height + row) * width + column,
                              (width - column + apart - 1) / apart, apart, most);
    }
    c->n_tiles = end - first;
    c->first_pixel = first;
    c->places = place;
    c->apart = apart;
}

/* ---- offsets ---- */

/* Output pixel i as row and column; pooled ones count window by window. */
static void place_of(const native_tiles *c, int64_t i, int64_t width, int64_t *y, int64_t *x)
{
    if (c->pooled) {
        *y = i / 4 / (width / 2) * 2 + i % 4 / 2;
        *x = i / 4 % (width / 2) * 2 + i % 2;
    } else {
        *y = i / width;
        *x = i % width;
    }
}

/* An axis of a window; turned: of a gradient. */
typedef struct window_axis {
    int64_t stride, dilation, pad;
    bool turned;
} window_axis;

static window_axis axis_of(const native_item *item, int axis)
{
    return (window_axis){item->stride[axis], item->dilation[axis], item->pad[axis],
                         item->kind == NATIVE_ITEM_CONV_GRAD_INPUT};
}

/* Of the pixel that a tap reads there; -1 = none. */
static int64_t read_at(const window_axis *w, int64_t at, int64_t tap, int64_t size)
{
    if (!w->turned) {
        at = at * w->stride - w->pad + tap * w->dilation;
        return at >= 0 && at < size ? at : -1;
    }
    /* of the gradient's pixels the one whose window has this pixel at the tap */
    at = at + w->pad - tap * w->dilation;
    return at >= 0 && at % w->stride == 0 && at / w->stride < size ? at / w->stride : -1;
}

/* [tap][place] of one axis, times `step`; -1 = none. */
static int32_t *axis_table(const native_item *item, int axis, int64_t taps, int64_t places,
                           int64_t size, int64_t step)
{
    const window_axis w = axis_of(item, axis);
    int32_t *table = malloc((size_t)(taps * places + 1) * sizeof *table);
    int64_t tap, i;

    for (tap = 0; table && tap < taps; tap++) {
        for (i = 0; i < places; i++) {
            const int64_t at = read_at(&w, i, tap, size);
            table[tap * places + i] = at < 0 ? -1 : (int32_t)(at * step);
        }
    }
    return table;
}

/* The same of the rows of all frames, for windows over three axes: so many taps of both axes. */
static int32_t *depth_table(const native_item *item, int64_t taps, int64_t places, int64_t size,
                            int64_t step)
{
    const native_depth *d = &item->depth;
    const window_axis w = axis_of(item, 0);
    const window_axis deep = {d->stride, d->dilation, d->pad, w.turned};
    const int64_t rows = size / d->size, outs = places / d->outs;
    int32_t *table = malloc((size_t)(taps * places + 1) * sizeof *table);
    int64_t tap, i;

    for (tap = 0; table && tap < taps; tap++) {
        for (i = 0; i < places; i++) {
            const int64_t frame = read_at(&deep, i / outs, tap / item->kernel[0], d->size);
            const int64_t row = read_at(&w, i % outs, tap % item->kernel[0], rows);
            table[tap * places + i] =
                frame < 0 || row < 0 ? -1 : (int32_t)((frame * rows + row) * step);
        }
    }
    return table;
}

/* Taps that find nothing but padding are left out. */
static void mark_padding(int32_t *offsets, int64_t n)
{
    int64_t i = 0;

    while (i < n && offsets[i] < 0)
        i++;
    if (i == n && n > 0)
        offsets[0] = NATIVE_ALL_PADDING;
}

/* The tables of both axes of an item, and the places of a tile's pixels in them. */
typedef struct finder {
    const native_tiles *c;
    const native_item *item;
    int64_t height, width; /* of the outputs */
    int64_t frame;         /* rows of one */
    int64_t taps, down, across;
    int32_t *rows, *columns;
    int64_t n; /* pixels of the tile */
    int32_t row[NATIVE_MAX_PIXELS], column[NATIVE_MAX_PIXELS];
    int32_t *shared; /* by number of pixels and first column: where offsets begin, or -1 */
} finder;

static void find_places(finder *f, int64_t tile)
{
    const native_tiles *c = f->c;
    const int64_t first = c->first_pixel[tile];
    int64_t i, row, column;

    f->n = c->first_pixel[tile + 1] - first;
    for (i = 0; i < f->n; i++) {
        place_of(c, c->places ? c->places[tile] + i * c->apart : first + i, f->width, &row,
                 &column);
        f->row[i] = (int32_t)row;
        f->column[i] = (int32_t)column;
    }
}

static int32_t offset_of(const finder *f, int64_t i, int64_t down, int64_t across)
{
    const int32_t row = f->rows[down * f->height + f->row[i]];
    const int32_t column = f->columns[across * f->width + f->column[i]];

    return (row | column) < 0 ? -1 : row + column;
}

/* Are all taps of all pixels there? Then they are as far from the first as in any other tile. */
static bool is_inside(const finder *f)
{
    int64_t i;

    if (f->item->kind == NATIVE_ITEM_CONV_GRAD_INPUT ||
        (!f->c->straight && f->row[0] / f->frame != f->row[f->n - 1] / f->frame))
        return false;
    for (i = 0; i < f->n; i++) {
        if (offset_of(f, i, 0, 0) < 0 || offset_of(f, i, f->down - 1, f->across - 1) < 0)
            return false;
    }
    return true;
}

/* Of tiles inside, where the offsets of those begin that are alike. */
static int32_t *shared_by(const finder *f)
{
    const bool in_row = !f->c->pooled && f->row[0] == f->row[f->n - 1];

    return &f->shared[f->n * (f->width + 1) + (in_row ? f->width : f->column[0])];
}

static int32_t *add_tile(const finder *f, int32_t shift, int32_t *to)
{
    int64_t tap, i;

    for (tap = 0; tap < f->taps; tap++, to += f->n) {
        const int32_t *rows = f->rows + tap / f->across * f->height;
        const int32_t *columns = f->columns + tap % f->across * f->width;
        for (i = 0; i < f->n; i++) {
            const int32_t row = rows[f->row[i]], column = columns[f->column[i]];
            to[i] = (row | column) < 0 ? -1 : row + column - shift;
        }
        if (!f->c->plain)
            mark_padding(to, f->n);
    }
    return to;
}

/* The offsets of all tiles into `all`, which has room; how many there are. */
static int64_t find_offsets(finder *f, int32_t *at, int32_t *shift, int32_t *all)
{
    int32_t *end = all;
    int64_t tile;

    for (tile = 0; tile < f->c->n_tiles; tile++) {
        int32_t *shared;
        find_places(f, tile);
        shared = is_inside(f) ? shared_by(f) : NULL;
        shift[tile] = shared ? offset_of(f, 0, 0, 0) : 0;
        at[tile] = shared && *shared >= 0 ? *shared : (int32_t)(end - all);
        if (at[tile] == end - all)
            end = add_tile(f, shift[tile], end);
        if (shared)
            *shared = at[tile];
    }
    return end - all;
}

static void make_offsets(native_planner *p, native_tiles *c, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t step = c->plain  ? 1
                         : x->last ? x->dims[1]
                                   : p->isa->lanes,
                  pooled = c->pooled ? 2 : 1;
    finder f = {.c = c,
                .item = item,
                .height = y->dims[2] * pooled,
                .width = y->dims[3] * pooled,
                .down = c->plain ? 1 : native_taps(item) / item->kernel[1],
                .across = c->plain ? 1 : item->kernel[1]};
    const size_t n_shared = (NATIVE_MAX_PIXELS + 1) * ((size_t)f.width + 1);
    int32_t *at, *shift, *all, *kept;
    int64_t n;

    f.taps = f.down * f.across;
    f.frame = native_frame_rows(f.height, item->depth.outs);
    f.rows = item->depth.kernel
                 ? depth_table(item, f.down, f.height, x->dims[2], x->dims[3] * step)
                 : axis_table(item, 0, f.down, f.height, x->dims[2], x->dims[3] * step);
    f.columns = axis_table(item, 1, f.across, f.width, x->dims[3], step);
    f.shared = malloc(n_shared * sizeof *f.shared);
    all = malloc((size_t)(f.height * f.width * f.taps) * sizeof *all);
    if (f.rows && f.columns && !c->plain && !c->pooled && !c->places)
        native_cut_tiles(p, c,
                         &(native_tap_grid){.rows = f.rows,
                                            .columns = f.columns,
                                            .height = f.height,
                                            .width = f.width,
                                            .down = f.down,
                                            .across = f.across});
    at = native_keep(p, (size_t)c->n_tiles * sizeof *at);
    shift = native_keep(p, (size_t)c->n_tiles * sizeof *shift);
    if (at && shift && f.rows && f.columns && f.shared && all) {
        memset(f.shared, 0xff, n_shared * sizeof *f.shared);
        n = find_offsets(&f, at, shift, all);
        kept = native_keep(p, (size_t)n * sizeof *kept);
        if (kept)
            memcpy(kept, all, (size_t)n * sizeof *kept);
        c->offsets = kept;
        c->at = at;
        c->shift = shift;
    } else if (p->status == TFR_OK) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for the taps of a convolution");
    }
    free(f.rows);
    free(f.columns);
    free(f.shared);
    free(all);
}

void native_make_rows(native_planner *p, native_tiles *c, int64_t depth)
{
    int32_t *offsets = native_keep(p, NATIVE_MAX_PIXELS * sizeof *offsets);
    int32_t *at = native_keep(p, (size_t)c->n_tiles * sizeof *at);
    int32_t *shift = native_keep(p, (size_t)c->n_tiles * sizeof *shift);
    int64_t i;

    for (i = 0; offsets && i < NATIVE_MAX_PIXELS; i++)
        offsets[i] = (int32_t)(i * depth);
    for (i = 0; shift && i < c->n_tiles; i++)
        shift[i] = (int32_t)(c->first_pixel[i] * depth);
    c->offsets = offsets;
    c->at = at;
    c->shift = shift;
}

/* ---- tables ---- */

static geometry geometry_of(const native_planner *p, const native_tiles *c, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    geometry g = {{item->kind == NATIVE_ITEM_CONV_GRAD_INPUT,
                   c->plain,
                   c->pooled,
                   native_largest_group(c),
                   item->kernel[0],
                   item->kernel[1],
                   item->stride[0],
                   item->stride[1],
                   item->dilation[0],
                   item->dilation[1],
                   item->pad[0],
                   item->pad[1],
                   x->dims[2],
                   x->dims[3],
                   y->dims[2],
                   y->dims[3],
                   item->depth.kernel,
                   item->depth.stride,
                   item->depth.dilation,
                   item->depth.pad,
                   item->depth.size,
                   item->depth.outs,
                   x->last ? x->dims[1] : 0}};

    return g;
}

static void keep_table(native_planner *p, const native_tiles *c, const geometry *g)
{
    struct native_tile_table *table = native_keep(p, sizeof *table);

    if (!table)
        return;
    *table = (struct native_tile_table){.of = *g,
                                        .first_pixel = c->first_pixel,
                                        .places = c->places,
                                        .offsets = c->offsets,
                                        .at = c->at,
                                        .shift = c->shift,
                                        .n_tiles = c->n_tiles,
                                        .apart = c->apart,
                                        .cut = c->cut,
                                        .next = p->tables};
    p->tables = table;
}

bool native_make_tile_table(native_planner *p, native_tiles *c, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const geometry g = geometry_of(p, c, item);
    const struct native_tile_table *table = p->tables;

    while (table && memcmp(&table->of, &g, sizeof g) != 0)
        table = table->next;
    if (table) {
        c->first_pixel = table->first_pixel;
        c->places = table->places;
        c->offsets = table->offsets;
        c->at = table->at;
        c->shift = table->shift;
        c->n_tiles = table->n_tiles;
        c->apart = table->apart;
        c->cut = table->cut;
        return true;
    }
    if (native_tiles_are_apart(item))
        make_apart_tiles(p, c, item, y);
    else
        native_make_tiles(p, c, y->dims[2] * y->dims[3] * (c->pooled ? 4 : 1));
    if (p->status == TFR_OK)
        make_offsets(p, c, item);
    if (p->status == TFR_OK)
        keep_table(p, c, &g);
    return p->status == TFR_OK;
}

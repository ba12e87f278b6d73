/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_winograd.c: Winograd's F(2 x 2, 3 x 3) in integers. 4 x 4 pixels d and 3 x 3 weights g give
 * 2 x 2 sums y by 16 products a channel instead of 36:
 *
 *   4 y = A' [(G g G') * (B' d B)] A     A' = 1 1  1  0   B' = 1  0 -1  0   G = 2  0 0
 *                                             0 1 -1 -1        0  1  1  0       1  1 1
 *                                                              0 -1  1  0       1 -1 1
 *                                                              0  1  0 -1       0  0 2
 *
 * G is twice the usual one, so that all are integers: d less its zero point becomes at most 4 * 255
 * and g at most 9 * 255, which int16 holds. vpmaddwd multiplies such; sums are taken modulo 2^32,
 * and 4 y is within int32 for up to MOST_CHANNELS channels. So y is exact. What is subtracted from
 * d adds to one of the 16 alone: columns 1, 3 and 4 of B sum to 0.
 *
 * Some tiles at a time are transformed to memory of the thread, 16 products of matrices are made of
 * them for a panel of 16 columns, and the sums are finished as those of int8_product.c. On an AMD
 * EPYC (Zen 3) 64 channels to 64 at 56 x 56 take 0.87 ms, and 1.19 ms by lists (int8_lists.h).
 */
#include "int8_winograd.h"

#include <string.h>

#include "int8_layout.h"

enum {
    POSITIONS = 16,
    COLUMNS = 16,
    STEP = 16, /* channels that are transformed together */
    MOST_CHANNELS = 896,
    MOST_BLOCK = 48,
    PART = 12, /* tiles whose sums stay in the first cache */
    FEW_TILES = 24
};

/* ---- the plan ---- */

static bool is_3x3(const native_int8_window *w)
{
    int d;

    for (d = 0; d < w->rank; d++)
        if (w->kernel[d] != 3 || w->stride[d] != 1 || w->dilation[d] != 1)
            return false;
    return w->rank == 2;
}

/* Few tiles do not pay for weights that are four times as large; nor do those with few pixels: with
 * three of four it is 1.7 times fewer products instead of 2.25 times. */
static bool pays(const native_int8_winograd *w)
{
    return w->tiles >= FEW_TILES && w->tiles * 3 <= w->shape.m;
}

static int64_t panel_elements(const native_int8_winograd *w)
{
    return POSITIONS * COLUMNS * w->shape.window.channels;
}

bool native_int8_winograd_plan(native_int8_winograd *w, const native_int8_cpu *cpu,
                               const native_int8_shape *shape, int threads)
{
    const native_int8_window *in = &shape->window;
    const int64_t c = in->channels;
    int64_t wanted = threads > 1 ? threads * 4 : 1;

    memset(w, 0, sizeof *w);
    if (!cpu->winograd || shape->m < 1 || !is_3x3(in) || c % STEP || c > MOST_CHANNELS)
        return false;
    w->shape = *shape;
    w->way = cpu->winograd;
    w->tiles_y = int8_ceil_div(in->out[0], 2);
    w->tiles_x = int8_ceil_div(in->out[1], 2);
    w->tiles = shape->m / (in->out[0] * in->out[1]) * w->tiles_y * w->tiles_x;
    if (!pays(w))
        return false;
    w->n_panels = int8_ceil_div(shape->n, COLUMNS);
    w->packed_bytes = (size_t)int8_aligned(w->n_panels * panel_elements(w) * 2);
    w->row_step = c % 512 ? c : c + INT8_LINE / 2;
    w->block = cpu->l2_bytes / 2 / (POSITIONS * w->row_step * 2) / w->way->mr * w->way->mr;
    w->block = w->block < w->way->mr ? w->way->mr : int8_smaller(w->block, MOST_BLOCK);
    w->blocks = int8_ceil_div(w->tiles, w->block);
    if (threads > 1)
        w->blocks = int8_ceil_div(w->blocks, threads) * threads;
    /* As first_tile() cuts them. */
    w->block = int8_smaller(int8_ceil_div(w->tiles, w->blocks) + w->way->mr - 1, w->tiles);
    wanted = int8_ceil_div(wanted, w->blocks);
    w->column_units = wanted > 1 && w->n_panels >= 2 * wanted ? wanted : 1;
    w->n_units = w->blocks * w->column_units;
    w->scratch_bytes = (size_t)(int8_aligned(POSITIONS * w->block * w->row_step * 2) +
                                (POSITIONS + 4) * PART * COLUMNS * 4);
    return true;
}

/* ---- weights ---- */

/* Of one channel and column: [16]. */
static void transform_weights(const int32_t *g, int16_t *to)
{
    int32_t rows[4][3];
    int i;

    for (i = 0; i < 3; i++) {
        rows[0][i] = 2 * g[i];
        rows[1][i] = g[i] + g[3 + i] + g[6 + i];
        rows[2][i] = g[i] - g[3 + i] + g[6 + i];
        rows[3][i] = 2 * g[6 + i];
    }
    for (i = 0; i < 4; i++) {
        *to++ = (int16_t)(2 * rows[i][0]);
        *to++ = (int16_t)(rows[i][0] + rows[i][1] + rows[i][2]);
        *to++ = (int16_t)(rows[i][0] - rows[i][1] + rows[i][2]);
        *to++ = (int16_t)(2 * rows[i][2]);
    }
}

static void read_weights(const native_int8_winograd *w, const native_int8_matrix *b, int64_t c,
                         int64_t n, int32_t zero, int32_t *g)
{
    int64_t tap;

    for (tap = 0; tap < 9; tap++) {
        const int64_t k = tap * w->shape.window.channels + c;
        const uint8_t byte =
            ((const uint8_t *)b
                 ->at)[n * b->n_step + k / b->inner * b->outer_step + k % b->inner * b->inner_step];
        g[tap] = (w->shape.b_signed ? (int8_t)byte : byte) - zero;
    }
}

/* A panel: of each position pairs of channels with [16][2]. */
void native_int8_winograd_pack(const native_int8_winograd *w, const native_int8_matrix *b,
                               int32_t b_zero, const int32_t *b_zeros, void *packed, int64_t begin,
                               int64_t end)
{
    const int64_t channels = w->shape.window.channels;
    int64_t n, c;
    int p;

    for (n = begin * COLUMNS; n < end * COLUMNS; n++) {
        int16_t *to = (int16_t *)packed + n / COLUMNS * panel_elements(w) + n % COLUMNS * 2;
        for (c = 0; c < channels; c++) {
            int32_t g[9] = {0};
            int16_t u[POSITIONS];
            if (n < w->shape.n)
                read_weights(w, b, c, n, b_zeros ? b_zeros[n] : b_zero, g);
            transform_weights(g, u);
            for (p = 0; p < POSITIONS; p++)
                to[p * channels * COLUMNS + c / 2 * COLUMNS * 2 + c % 2] = u[p];
        }
    }
}

/* ---- tiles ---- */

/* Tiles [first, first + n), transformed. */
typedef struct block {
    const native_int8_winograd *w;
    const native_int8_args *args;
    int64_t first, n;
    int16_t *tiles; /* [16][n][row_step] */
    int32_t *sums;  /* [16][PART][16] */
    int32_t *lines; /* [2][2 * PART][16]: of a line of pixels, and of the one below */
    uint8_t zeros[MOST_CHANNELS];
} block;

/* Where a tile is: its image, and its first pixel of the output. */
typedef struct place {
    int64_t image, y, x;
} place;

static place place_of(const native_int8_winograd *w, int64_t tile)
{
    const int64_t line = tile / w->tiles_x;

    return (place){line / w->tiles_y, line % w->tiles_y * 2, tile % w->tiles_x * 2};
}

static void find_pixels(const block *b, int64_t tile, const uint8_t **to)
{
    const native_int8_window *in = &b->w->shape.window;
    const place at = place_of(b->w, tile);
    const uint8_t *image = (const uint8_t *)b->args->a + at.image * in->image_step;
    int i, j;

    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++) {
            const int64_t y = at.y - in->pad[0] + i, x = at.x - in->pad[1] + j;
            const bool inside = y >= 0 && y < in->in[0] && x >= 0 && x < in->in[1];
            *to++ = inside ? image + (y * in->in[1] + x) * in->pixel_step : b->zeros;
        }
}

static void transform_tiles(block *b)
{
    const native_int8_winograd *w = b->w;
    native_int8_patch patch = {.channels = w->shape.window.channels,
                               .is_signed = w->shape.a_signed,
                               .zero = b->args->a_zero,
                               .step = b->n * w->row_step};
    int64_t i;

    memset(b->zeros, b->args->a_zero, sizeof b->zeros);
    for (i = 0; i < b->n; i++) {
        find_pixels(b, b->first + i, patch.pixels);
        patch.to = b->tiles + i * w->row_step;
        w->way->winograd->transform(&patch);
    }
}

/* The sums of tiles [begin, end) of the block, of a panel of B. */
static void multiply(const block *b, const int16_t *panel, int64_t begin, int64_t end)
{
    const native_int8_winograd *w = b->w;
    const int64_t mr = w->way->mr, channels = w->shape.window.channels;
    native_int8_tile t = {.a_step = w->row_step * 2, .groups = channels / 2, .cols = COLUMNS};
    int64_t i;
    int p;

    for (p = 0; p < POSITIONS; p++) {
        t.b = (const int8_t *)(panel + p * channels * COLUMNS);
        for (i = begin; i < end; i += mr) {
            t.a = (const uint8_t *)(b->tiles + (p * b->n + i) * w->row_step);
            t.rows = (int)int8_smaller(mr, end - i);
            t.sums = b->sums + (p * PART + i - begin) * COLUMNS;
            w->way->winograd->tile(&t);
        }
    }
}

/* Tiles [begin, end) of the block: those of a line of tiles at a time are two lines of pixels. */
static void finish_tiles(const block *b, const native_int8_columns *columns, int64_t column,
                         int64_t begin, int64_t end)
{
    const native_int8_winograd *w = b->w;
    const native_int8_window *in = &w->shape.window;
    int64_t i, n;

    for (i = begin; i < end; i += n) {
        const place at = place_of(w, b->first + i);
        const int64_t row = (at.image * in->out[0] + at.y) * in->out[1] + at.x;
        int64_t pixels;
        n = int8_smaller(w->tiles_x - at.x / 2, end - i);
        pixels = int8_smaller(2 * n, in->out[1] - at.x);
        w->way->winograd->sum(b->sums + (i - begin) * COLUMNS, PART * COLUMNS, (int)n, b->lines,
                              b->lines + 2 * PART * COLUMNS);
        int8_finish_sums(w->way, &w->shape, b->args, columns, b->lines, row, (int)pixels, column);
        if (at.y + 1 < in->out[0])
            int8_finish_sums(w->way, &w->shape, b->args, columns, b->lines + 2 * PART * COLUMNS,
                             row + in->out[1], (int)pixels, column);
    }
}

static void run_block(block *b, int64_t panel, int64_t panel_end)
{
    const native_int8_winograd *w = b->w;
    native_int8_columns columns;
    int64_t i;

    memset(&columns, 0, sizeof columns);
    transform_tiles(b);
    for (; panel < panel_end; panel++) {
        const int64_t column = panel * COLUMNS;
        native_int8_finish_columns(&b->args->finish, column, COLUMNS, w->shape.n, &columns);
        for (i = 0; i < b->n; i += PART) {
            const int64_t end = int8_smaller(i + PART, b->n);
            multiply(b, (const int16_t *)b->args->packed + panel * panel_elements(w), i, end);
            finish_tiles(b, &columns, column, i, end);
        }
    }
}

static int64_t first_tile(const native_int8_winograd *w, int64_t i)
{
    const int64_t mr = w->way->mr;

    return i == w->blocks ? w->tiles : w->tiles * i / w->blocks / mr * mr;
}

void native_int8_winograd_run(const native_int8_winograd *w, const native_int8_args *args,
                              void *scratch, int64_t begin, int64_t end)
{
    block b = {.w = w, .args = args, .tiles = scratch};
    int64_t i;

    b.sums =
        (int32_t *)(void *)((char *)scratch + int8_aligned(POSITIONS * w->block * w->row_step * 2));
    b.lines = b.sums + POSITIONS * PART * COLUMNS;
    for (i = begin; i < end; i++) {
        const int64_t column = i % w->column_units;
        b.first = first_tile(w, i / w->column_units);
        b.n = first_tile(w, i / w->column_units + 1) - b.first;
        if (b.n > 0)
            run_block(&b, w->n_panels * column / w->column_units,
                      w->n_panels * (column + 1) / w->column_units);
    }
}

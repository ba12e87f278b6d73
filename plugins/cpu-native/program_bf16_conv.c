/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bf16_conv.c: convolutions, the gradients of what they read, and products with a matrix,
 * with operands rounded to bfloat16; program_bf16.h says how. A product is a convolution of 1 x 1
 * over images of 32 rows each.
 *
 * A few images at a time are packed, then each group of 32 outputs goes over all of them, so that
 * its weights stay in the first cache.
 */
#include "program_bf16.h"

#include <math.h>
#include <string.h>

enum {
    GROUP = 2,               /* blocks of outputs, tiles of a product's columns */
    ROWS = 16,               /* of a tile */
    NEAR_BYTES = 256 * 1024, /* of packed images */
    PRODUCT_ROWS = 32        /* of the images of a product */
};

typedef struct convolution {
    const native_bf16_isa *isa;
    const native_isa *acts;
    native_bf16_image image;
    bool product, has_bias, has_residual;
    bool coded, expands; /* results have codes, the source has */
    native_ref weights, bias, residual, to, codes;
    native_act act;
    int64_t samples, near, rows; /* rows: of a product */
    int64_t ins, pairs, steps;   /* pairs: of blocks */
    int64_t outs, blocks, groups;
    int64_t plane, image_bytes; /* bytes */
    int64_t a_row;
    int64_t tiles, together; /* of rows, in an image; images that make two */
    int64_t out_rows, out_columns, out_width;
    int64_t windows, area;
    const int32_t *offsets, *weight_offsets;
    const int32_t *places; /* coded: of each output of each window; expands: of windows, */
    const int32_t *inside; /* and in them, bytes */
    uint64_t packed_bytes, staged_bytes, sums_bytes;
} convolution;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- packing ---- */

static int64_t rows_of(const convolution *c, int64_t sample)
{
    return least(c->rows - sample * PRODUCT_ROWS, PRODUCT_ROWS);
}

/* What lies behind a pool; all pixels that are in no window are 0. */
static void pack_codes(const convolution *c, const native_bases *bases, int64_t sample, char *to)
{
    const int64_t plane = c->windows * NATIVE_BF16_LANES, at = sample * c->image.blocks * plane;
    const float *from = native_at(bases, &c->image.from) + at;
    const uint8_t *codes = (const uint8_t *)(const void *)native_at(bases, &c->codes) + at;
    int64_t i;

    for (i = 0; i < c->pairs; i++, to += c->plane) {
        const bool both = 2 * i + 1 < c->image.blocks;
        memset(to, 0, (size_t)(c->image.pixels * NATIVE_BF16_ROW));
        c->isa->expand(from + 2 * i * plane, codes + 2 * i * plane, both ? plane : 0, c->windows,
                       c->places, (int)c->area, c->inside, to);
    }
}

static void pack(const convolution *c, const native_bases *bases, int64_t sample, char *to,
                 float *staged)
{
    const int64_t pixels = c->image.height * c->image.width;
    int64_t i;

    for (i = 0; i < c->pairs; i++, to += c->plane) {
        if (c->product) {
            const float *from = native_at(bases, &c->image.from) + sample * PRODUCT_ROWS * c->ins +
                                i * NATIVE_BF16_TERMS;
            c->isa->pack_rows(from, c->ins, NATIVE_BF16_LANES,
                              (int)least(c->ins - i * NATIVE_BF16_TERMS, NATIVE_BF16_TERMS),
                              rows_of(c, sample), to);
        } else {
            const bool both = 2 * i + 1 < c->image.blocks;
            float *next = staged + c->image.pixels * NATIVE_BF16_LANES;
            const float *x = native_bf16_plane(&c->image, bases, sample, 2 * i, staged);
            const float *y =
                both ? native_bf16_plane(&c->image, bases, sample, 2 * i + 1, next) : x;
            c->isa->pack_rows(x, NATIVE_BF16_LANES, y - x, both ? 32 : 16, pixels, to);
        }
    }
}

/* ---- products ---- */

/* All sums of a group for one image, or for two that fill a tile each. */
static void multiply(const convolution *c, const char *image, int64_t n, const char *weights,
                     int columns, float *sums)
{
    const int64_t tile = ROWS * NATIVE_BF16_LANES, all = c->tiles * n;
    native_bf16_product p = {.a_row = c->a_row,
                             .a_offsets = c->offsets,
                             .b_offsets = c->weight_offsets,
                             .n_steps = c->steps,
                             .b = weights,
                             .b_column = NATIVE_BF16_TILE,
                             .columns = columns,
                             .to_row = NATIVE_BF16_LANES,
                             .to_column = c->tiles * c->together * tile};
    int64_t i;
    int k;

    for (i = 0; i < all; i += 2) {
        for (k = 0; k < 2; k++) {
            const int64_t t = i + k;
            p.a[k] = t < all
                         ? image + t / c->tiles * c->image_bytes + t % c->tiles * ROWS * c->a_row
                         : NULL;
            p.to[k] = sums + t * tile;
        }
        c->isa->product(&p);
    }
}

/* ---- results ---- */

/* Of each window, in order; then the maxima. */
static void finish_coded(const convolution *c, const native_bases *bases, int64_t sample,
                         int64_t block, const float *sums, float *windows)
{
    const int64_t lanes = NATIVE_BF16_LANES, n = c->windows * c->area;
    const int64_t at = (sample * c->blocks + block) * c->windows * lanes;
    const native_pool_end e = {
        .sums = windows,
        .windows = c->windows,
        .area = (int)c->area,
        .bias = c->has_bias ? native_at(bases, &c->bias) + block * lanes : NULL,
        .clip = c->act.kind == NATIVE_ACT_CLIP,
        .low = c->act.a,
        .high = c->act.b,
        .to = native_at(bases, &c->to) + at,
        .codes = (uint8_t *)(void *)native_at(bases, &c->codes) + at,
    };
    int64_t i;

    for (i = 0; i < n; i++)
        memcpy(windows + i * lanes, sums + c->places[i], (size_t)lanes * sizeof *windows);
    c->acts->pooled->pool_end(&e);
}

static void finish(const convolution *c, const native_bases *bases, int64_t sample, int64_t block,
                   const float *sums)
{
    const int64_t lanes = NATIVE_BF16_LANES;
    const int64_t at = c->product
                           ? sample * PRODUCT_ROWS * c->outs + block * lanes
                           : (sample * c->blocks + block) * c->out_rows * c->out_columns * lanes;
    native_bf16_end e = {.sums = sums,
                         .to = native_at(bases, &c->to) + at,
                         .to_row = c->product ? c->outs : lanes,
                         .lanes = (int)(c->product ? least(c->outs - block * lanes, lanes) : lanes),
                         .bias = c->has_bias ? native_at(bases, &c->bias) + block * lanes : NULL,
                         .residual = c->has_residual ? native_at(bases, &c->residual) + at : NULL,
                         .clip = c->act.kind == NATIVE_ACT_CLIP,
                         .low = c->act.a,
                         .high = c->act.b};
    int64_t y;

    if (c->product || c->out_width == c->out_columns) {
        e.n = c->product ? rows_of(c, sample) : c->out_rows * c->out_columns;
        c->isa->finish(&e);
        return;
    }
    e.n = c->out_columns;
    for (y = 0; y < c->out_rows; y++) {
        c->isa->finish(&e);
        e.sums += c->out_width * lanes;
        e.to += c->out_columns * lanes;
        e.residual = e.residual ? e.residual + c->out_columns * lanes : NULL;
    }
}

/* Activations beyond a clip, of samples that follow each other. */
static void activate(const convolution *c, const native_bases *bases, int64_t first, int64_t n)
{
    const int64_t each = c->product ? PRODUCT_ROWS * c->outs
                                    : c->blocks * c->out_rows * c->out_columns * NATIVE_BF16_LANES;
    float *to = native_at(bases, &c->to) + first * each;

    if (c->act.kind > NATIVE_ACT_CLIP)
        c->acts->act(&c->act, to, to,
                     c->product ? least(n * PRODUCT_ROWS, c->rows - first * PRODUCT_ROWS) * c->outs
                                : n * each);
}

/* ---- running ---- */

static void run_group(const convolution *c, const native_bases *bases, int64_t group, int64_t first,
                      int64_t n, char *packed)
{
    const char *weights =
        (const char *)native_at(bases, &c->weights) + group * c->steps * GROUP * NATIVE_BF16_TILE;
    float *sums = (float *)(void *)(packed + c->packed_bytes + c->staged_bytes);
    float *windows = (float *)(void *)((char *)sums + c->sums_bytes);
    const int columns = (int)least(c->blocks - group * GROUP, GROUP);
    const int64_t tile = ROWS * NATIVE_BF16_LANES;
    int64_t i, k, some;
    int b;

    for (i = 0; i < n; i += some) {
        some = least(n - i, c->together);
        multiply(c, packed + i * c->image_bytes, some, weights, columns, sums);
        for (k = 0; k < some; k++) {
            for (b = 0; b < columns; b++) {
                const float *from = sums + (b * c->together + k) * c->tiles * tile;
                if (c->coded)
                    finish_coded(c, bases, first + i + k, group * GROUP + b, from, windows);
                else
                    finish(c, bases, first + i + k, group * GROUP + b, from);
            }
        }
    }
}

/* Numbers count images. */
static void run_convolution(const void *params, const native_bases *bases, int64_t begin,
                            int64_t end)
{
    const convolution *c = params;
    char *packed = bases->scratch;
    int64_t first, n, i;

    c->isa->begin();
    for (first = begin; first < end; first += n) {
        n = least(end - first, c->near);
        for (i = 0; i < n; i++) {
            char *to = packed + i * c->image_bytes;
            if (c->expands)
                pack_codes(c, bases, first + i, to);
            else
                pack(c, bases, first + i, to, (float *)(void *)(packed + c->packed_bytes));
        }
        for (i = 0; i < c->groups; i++)
            run_group(c, bases, i, first, n, packed);
        activate(c, bases, first, n);
    }
    c->isa->end();
}

/* ---- planning ---- */

/* Where the steps lie from the first tap of the first channels on, and their weights. */
static void make_offsets(native_planner *p, convolution *c, const native_item *item)
{
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    const int64_t taps = c->product ? 1 : item->kernel[0] * item->kernel[1];
    int32_t *to = native_keep(p, (size_t)c->steps * sizeof *to);
    int32_t *weights = native_keep(p, (size_t)c->steps * sizeof *weights);
    int64_t pair, i, tap;

    c->offsets = to;
    c->weight_offsets = weights;
    for (i = 0; weights && i < c->steps; i++)
        weights[i] = (int32_t)(i * GROUP * NATIVE_BF16_TILE);
    for (pair = 0; to && pair < c->pairs; pair++) {
        for (i = 0; i < taps; i++) {
            tap = turned ? taps - 1 - i : i;
            *to++ = (int32_t)(pair * c->plane +
                              (c->product
                                   ? 0
                                   : (tap / item->kernel[1] * item->dilation[0] * c->image.width +
                                      tap % item->kernel[1] * item->dilation[1]) *
                                         NATIVE_BF16_ROW));
        }
    }
}

static void make_places(native_planner *p, convolution *c, const native_item *item, int64_t columns)
{
    int32_t *to = native_keep(p, (size_t)(c->windows * c->area) * sizeof *to);
    int64_t w, a;

    c->places = to;
    for (w = 0; to && w < c->windows; w++) {
        for (a = 0; a < c->area; a++)
            *to++ = (int32_t)(((w / columns * item->pool[0] + a / item->pool[1]) * c->out_width +
                               w % columns * item->pool[1] + a % item->pool[1]) *
                              NATIVE_BF16_LANES);
    }
}

/* Of a source with codes. */
static void make_windows(native_planner *p, convolution *c, const native_item *item)
{
    const int64_t width = c->image.width, columns = c->image.columns;
    const int64_t apart = c->image.step * NATIVE_BF16_ROW;
    const int64_t first = (c->image.top * width + c->image.left) * NATIVE_BF16_ROW;
    int32_t *places, *inside;
    int64_t i;

    c->windows = c->image.rows * columns;
    c->area = item->pool[0] * item->pool[1];
    c->places = places = native_keep(p, (size_t)c->windows * sizeof *places);
    c->inside = inside = native_keep(p, (size_t)c->area * sizeof *inside);
    for (i = 0; places && i < c->windows; i++)
        places[i] =
            (int32_t)(first +
                      (i / columns * item->pool[0] * width + i % columns * item->pool[1]) * apart);
    for (i = 0; inside && i < c->area; i++)
        inside[i] = (int32_t)((i / item->pool[1] * width + i % item->pool[1]) * apart);
}

static void set_common(native_planner *p, convolution *c, const native_item *item)
{
    c->isa = p->ir->device->bf16;
    c->acts = p->isa;
    c->to = native_ref_of(p, item->output);
    c->has_residual = item->residual >= 0;
    c->residual = native_ref_of(p, item->residual);
    c->act = item->act;
    c->pairs = (c->ins + NATIVE_BF16_TERMS - 1) / NATIVE_BF16_TERMS;
    c->blocks = (c->outs + NATIVE_BF16_LANES - 1) / NATIVE_BF16_LANES;
    c->groups = (c->blocks + GROUP - 1) / GROUP;
}

/* Weights, bias, memory and the step itself, once the image is known. */
static void add_step(native_planner *p, convolution *c, const native_item *item,
                     native_bf16_weights *w, double flops)
{
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    const uint64_t tile = ROWS * NATIVE_BF16_LANES * sizeof(float);

    c->image_bytes = c->pairs * c->plane;
    c->steps = c->pairs * w->taps;
    c->near = greatest(1, least(c->samples, NEAR_BYTES / c->image_bytes));
    c->together = c->tiles == 1 ? 2 : 1;
    c->packed_bytes = (uint64_t)(c->near * c->image_bytes);
    c->staged_bytes =
        c->product || c->expands || c->image.as_is ? 0 : 2 * native_bf16_staged_bytes(&c->image);
    c->sums_bytes = (uint64_t)(GROUP * c->together * c->tiles) * tile;
    make_offsets(p, c, item);
    c->weights = native_bf16_pack_weights(p, w, item->inputs[1]);
    c->has_bias = bias >= 0;
    if (c->has_bias)
        c->bias = native_bf16_pack_bias(p, bias, c->product ? item->beta : 1.0f, c->outs,
                                        c->blocks * NATIVE_BF16_LANES);
    native_need_scratch(p,
                        c->packed_bytes + c->staged_bytes + c->sums_bytes +
                            (uint64_t)(c->windows * c->area * NATIVE_BF16_LANES) * sizeof(float));
    native_add_run(p, run_convolution, c, c->samples, flops / 600.0)->flops = flops;
}

void native_plan_bf16_product(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    convolution *c = native_keep(p, sizeof *c);
    native_bf16_weights w = {.taps = 1};

    if (!c)
        return;
    c->product = true;
    w.ins = c->ins = x->dims[x->rank - 1];
    w.outs = c->outs = y->dims[y->rank - 1];
    w.out_step = item->transposed ? c->ins : 1;
    w.in_step = item->transposed ? 1 : c->outs;
    set_common(p, c, item);
    c->image.from = native_ref_of(p, item->inputs[0]);
    c->rows = native_count(p, x) / c->ins;
    c->samples = (c->rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
    c->plane = PRODUCT_ROWS * NATIVE_BF16_ROW;
    c->a_row = NATIVE_BF16_ROW;
    c->tiles = c->rows > ROWS ? 2 : 1;
    add_step(p, c, item, &w, 2.0 * (double)(c->rows * c->ins) * (double)c->outs);
}

/* The image as all taps of all outputs find it, from tile to tile. */
static void set_size(convolution *c, const native_item *item)
{
    native_bf16_image *m = &c->image;
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    const int64_t step = turned ? 1 : item->stride[0], apart = turned ? item->stride[0] : 1;
    const int64_t reach[2] = {(item->kernel[0] - 1) * item->dilation[0],
                              (item->kernel[1] - 1) * item->dilation[1]};
    const int64_t rows = item->codes >= 0 && turned ? item->full[0] : m->rows;
    const int64_t columns = item->codes >= 0 && turned ? item->full[1] : m->columns;

    m->height = greatest(m->top + (rows - 1) * apart + 1, (c->out_rows - 1) * step + reach[0] + 1);
    m->width =
        greatest(m->left + (columns - 1) * apart + 1, (c->out_columns - 1) * step + reach[1] + 1);
    m->as_is = apart == 1 && m->height == m->rows && m->width == m->columns;
    m->pixels = m->height * m->width;
    c->out_width = m->width;
    c->tiles = ((c->out_rows - 1) * c->out_width + c->out_columns + ROWS - 1) / ROWS;
    c->a_row = step * NATIVE_BF16_ROW;
    c->plane = NATIVE_BF16_ROW * greatest(m->pixels, step * (c->tiles * ROWS - 1) + 1 +
                                                         reach[0] * m->width + reach[1]);
}

void native_plan_bf16_conv(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    convolution *c = native_keep(p, sizeof *c);
    native_bf16_weights w = {.taps = item->kernel[0] * item->kernel[1]};
    int64_t corner[2], i;

    if (!c)
        return;
    w.ins = c->ins = x->dims[1];
    w.outs = c->outs = y->dims[1];
    w.out_step = turned ? w.taps : c->ins * w.taps;
    w.in_step = turned ? c->outs * w.taps : w.taps;
    set_common(p, c, item);
    c->samples = native_first_dim(p, y);
    c->coded = item->codes >= 0 && !turned;
    c->expands = item->codes >= 0 && turned;
    c->codes = native_ref_of(p, item->codes);
    c->out_rows = y->dims[2] * (c->coded ? item->pool[0] : 1);
    c->out_columns = y->dims[3] * (c->coded ? item->pool[1] : 1);
    for (i = 0; i < 2; i++)
        corner[i] =
            turned ? (item->kernel[i] - 1) * item->dilation[i] - item->pad[i] : item->pad[i];
    c->image.rows = x->dims[2];
    c->image.columns = x->dims[3];
    c->image.top = corner[0];
    c->image.left = corner[1];
    set_size(c, item);
    native_bf16_set_image(p, &c->image, item, 0, corner, turned ? item->stride[0] : 1);
    if (c->expands)
        make_windows(p, c, item);
    if (c->coded) {
        c->windows = y->dims[2] * y->dims[3];
        c->area = item->pool[0] * item->pool[1];
        make_places(p, c, item, y->dims[3]);
    }
    add_step(p, c, item, &w,
             2.0 * (double)(c->samples * c->out_rows * c->out_columns) *
                 (double)(c->outs * c->ins * w.taps));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bf16_grad.c: the gradients of a convolution's weights with operands rounded to bfloat16:
 * for each tap a product of the gradient of what was made, turned so that its channels are rows,
 * with what was read; its terms are pixels. These go in pairs, so what was read is there twice, for
 * taps at even and at odd pixels. Those of a sample fill whole steps, with zeros behind, so that
 * bits do not depend on the number of samples in a unit.
 */
#include "program_bf16.h"

#include <string.h>

enum {
    NEAR_BYTES = 512 * 1024,   /* of packed samples, */
    NEAREST_BYTES = 28 * 1024, /* of two blocks of both sides of them */
    NEAR_TAPS = 4,             /* with sums of 4 KiB for each */
    BLOCK = NATIVE_BF16_LANES * NATIVE_BF16_LANES
};

typedef struct filter {
    const native_bf16_isa *isa;
    native_bf16_image x, y;
    native_ref sums; /* [out block][in block][tap][out lane][in lane] */
    int64_t samples, taps, steps;
    int64_t near, nearest;            /* samples that are packed, and that are in the first cache */
    int64_t y_row, y_bytes;           /* bytes of a channel, of a sample */
    int64_t x_half, x_block, x_bytes; /* of all pairs, of both kinds of pairs, of a sample */
    const int32_t *y_offsets, *x_offsets; /* of the steps of near samples */
    const int32_t *order;                 /* taps, those at even pixels before the others */
    const int32_t *places;                /* of each tap, in x */
} filter;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- running ---- */

static void pack(const filter *f, const native_bases *bases, int64_t sample, char *x, char *y,
                 float *staged)
{
    int64_t i;

    for (i = 0; i < f->y.blocks; i++)
        f->isa->pack_turned(native_bf16_plane(&f->y, bases, sample, i, staged),
                            f->steps * NATIVE_BF16_TERMS, f->y_row,
                            y + i * NATIVE_BF16_LANES * f->y_row);
    for (i = 0; i < f->x.blocks; i++, x += f->x_block) {
        const float *plane = native_bf16_plane(&f->x, bases, sample, i, staged);
        f->isa->pack_columns(plane, f->x.pixels, NATIVE_BF16_TILE, x);
        f->isa->pack_columns(plane + NATIVE_BF16_LANES, f->x.pixels - 1, NATIVE_BF16_TILE,
                             x + f->x_half);
    }
}

/* Two blocks of each side, or one, of n samples, for some taps. */
static void add_blocks(const filter *f, const char *x, const char *y, int64_t n, int64_t in,
                       int64_t out, const int32_t *taps, int64_t n_taps, float *sums)
{
    const int64_t row = f->x.blocks * f->taps * BLOCK;
    native_bf16_product p = {.a_row = f->y_row,
                             .a_offsets = f->y_offsets,
                             .b_offsets = f->x_offsets,
                             .n_steps = n * f->steps,
                             .b_column = f->x_block,
                             .columns = (int)least(f->x.blocks - in, 2),
                             .to_row = NATIVE_BF16_LANES,
                             .to_column = f->taps * BLOCK,
                             .add = true};
    int64_t i;

    p.a[0] = y + out * NATIVE_BF16_LANES * f->y_row;
    p.a[1] = out + 1 < f->y.blocks ? p.a[0] + NATIVE_BF16_LANES * f->y_row : NULL;
    for (i = 0; i < n_taps; i++) {
        p.b = x + in * f->x_block + f->places[taps[i]];
        p.to[0] = sums + out * row + (in * f->taps + taps[i]) * BLOCK;
        p.to[1] = p.to[0] + row;
        f->isa->product(&p);
    }
}

/* Sums of some taps stay in the first cache while the packed samples go through it. */
static void add_samples(const filter *f, const char *x, const char *y, int64_t n, int64_t in,
                        int64_t out, float *sums)
{
    int64_t tap, i;

    for (tap = 0; tap < f->taps; tap += NEAR_TAPS) {
        for (i = 0; i < n; i += f->nearest)
            add_blocks(f, x + i * f->x_bytes, y + i * f->y_bytes, least(n - i, f->nearest), in, out,
                       f->order + tap, least(f->taps - tap, NEAR_TAPS), sums);
    }
}

/* It cannot be cut. */
static void run_filter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const filter *f = params;
    char *x = bases->scratch, *y = x + f->near * f->x_bytes;
    float *staged = (float *)(void *)(y + f->near * f->y_bytes);
    float *sums = native_at(bases, &f->sums);
    int64_t first, n, i, k;

    (void)begin, (void)end;
    f->isa->begin();
    for (first = 0; first < f->samples; first += n) {
        n = least(f->samples - first, f->near);
        for (i = 0; i < n; i++)
            pack(f, bases, first + i, x + i * f->x_bytes, y + i * f->y_bytes, staged);
        for (i = 0; i < f->y.blocks; i += 2) {
            for (k = 0; k < f->x.blocks; k += 2)
                add_samples(f, x, y, n, k, i, sums);
        }
    }
    f->isa->end();
}

/* ---- planning ---- */

static void make_offsets(native_planner *p, filter *f)
{
    const int64_t n = f->near * f->steps;
    int32_t *y = native_keep(p, (size_t)n * sizeof *y), *x = native_keep(p, (size_t)n * sizeof *x);
    int64_t i;

    f->y_offsets = y;
    f->x_offsets = x;
    for (i = 0; y && x && i < n; i++) {
        y[i] = (int32_t)(i / f->steps * f->y_bytes + i % f->steps * NATIVE_BF16_ROW);
        x[i] = (int32_t)(i / f->steps * f->x_bytes + i % f->steps * NATIVE_BF16_TILE);
    }
}

static void make_taps(native_planner *p, filter *f, const native_item *item)
{
    int32_t *order = native_keep(p, (size_t)f->taps * sizeof *order);
    int32_t *places = native_keep(p, (size_t)f->taps * sizeof *places);
    int64_t i, odd;

    f->order = order;
    f->places = places;
    for (odd = 0; order && places && odd < 2; odd++) {
        for (i = 0; i < f->taps; i++) {
            const int64_t pixel = i / item->kernel[1] * item->dilation[0] * f->x.width +
                                  i % item->kernel[1] * item->dilation[1];
            if (pixel % 2 != odd)
                continue;
            places[i] = (int32_t)(odd * f->x_half + pixel / 2 * NATIVE_BF16_ROW);
            *order++ = (int32_t)i;
        }
    }
}

/* Pixels of both images count alike; rows of the gradient are as wide as those of the other. */
static void set_sizes(filter *f, const native_item *item, const native_value *x,
                      const native_value *y)
{
    const int64_t *full = y->dims + 2;
    const int64_t reach[2] = {(item->kernel[0] - 1) * item->dilation[0],
                              (item->kernel[1] - 1) * item->dilation[1]};
    const int64_t rows = (full[0] - 1) * item->stride[0] + 1;
    const int64_t columns = (full[1] - 1) * item->stride[1] + 1;
    int64_t n;

    f->x.height = greatest(item->pad[0] + x->dims[2], rows + reach[0]);
    f->x.width = f->y.width = greatest(item->pad[1] + x->dims[3], columns + reach[1]);
    f->y.height = rows;
    n = (rows - 1) * f->x.width + columns;
    f->steps = (n + NATIVE_BF16_TERMS - 1) / NATIVE_BF16_TERMS;
    n = f->steps * NATIVE_BF16_TERMS;
    f->y.pixels = greatest(n, rows * f->y.width);
    f->x.pixels = greatest(f->x.height * f->x.width, n + reach[0] * f->x.width + reach[1]);
    f->x.pixels = (f->x.pixels + NATIVE_BF16_TERMS - 1) / NATIVE_BF16_TERMS * NATIVE_BF16_TERMS;
    f->y_row = n * 2;
    if (f->y_row % 256 == 0) /* not all rows of a tile in the same sets of a cache */
        f->y_row += 64;
    f->x_half = f->x.pixels / 2 * NATIVE_BF16_ROW;
    f->x_block = 2 * f->x_half;
}

void native_plan_bf16_filter(native_planner *p, const native_item *item, native_ref sums)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->inputs[1]];
    const int64_t none[2] = {0, 0};
    filter *f = native_keep(p, sizeof *f);
    native_run *run;
    double flops;

    if (!f)
        return;
    f->isa = p->ir->device->bf16;
    f->sums = sums;
    f->taps = item->kernel[0] * item->kernel[1];
    set_sizes(f, item, x, y);
    native_bf16_set_image(p, &f->y, item, 0, none, item->stride[0]);
    native_bf16_set_image(p, &f->x, item, 1, item->pad, 1);
    f->samples = f->y.samples;
    f->x_bytes = f->x.blocks * f->x_block;
    f->y_bytes = f->y.blocks * NATIVE_BF16_LANES * f->y_row;
    f->near = greatest(1, least(f->samples, NEAR_BYTES / (f->x_bytes + f->y_bytes)));
    f->nearest = greatest(1, NEAREST_BYTES / (2 * f->x_half + 2 * NATIVE_BF16_LANES * f->y_row));
    make_offsets(p, f);
    make_taps(p, f, item);
    native_need_scratch(p, (uint64_t)(f->near * (f->x_bytes + f->y_bytes)) +
                               greatest(f->x.pixels, f->y.pixels) * NATIVE_BF16_LANES *
                                   (int64_t)sizeof(float));
    flops = 2.0 * (double)(f->samples * f->steps * NATIVE_BF16_TERMS) *
            (double)(f->x.blocks * f->y.blocks * BLOCK * f->taps);
    run = native_add_run(p, run_filter, f, 1, flops / 600.0);
    run->flops = flops;
    run->alone = true;
}

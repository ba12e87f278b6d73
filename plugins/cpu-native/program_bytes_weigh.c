/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bytes_weigh.c: averages over windows, and resized images, of values of 8 bits whose
 * channels are last. Every pixel is a sum of a few others, whose weights are products of one for
 * its row and one for its column: rows are summed first, in float32, then pixels beside each other.
 */
#include "program_grid.h"
#include "resize_axis.h"

#include <string.h>

enum { MOST_TAPS = 256 };

/* ---- which ---- */

static bool weighs_little(const native_item *item)
{
    native_resize_rule rule;

    if (item->kind == NATIVE_ITEM_POOL)
        return item->kernel[0] <= MOST_TAPS && item->kernel[1] <= MOST_TAPS;
    return !native_read_resize(item->call, &rule) && native_resize_taps(&rule, 2) <= MOST_TAPS &&
           native_resize_taps(&rule, 3) <= MOST_TAPS;
}

bool native_can_weigh(const native_ir *ir, const native_item *item, const native_quant *x,
                      const native_quant *y)
{
    const bool kind =
        (item->kind == NATIVE_ITEM_POOL && item->average) || item->kind == NATIVE_ITEM_RESIZE;

    return kind && !item->depth.size && item->residual < 0 && item->act.kind == NATIVE_ACT_NONE &&
           ir->values[item->output].rank == 4 && weighs_little(item) &&
           native_quant_scale(x, 0) / native_quant_scale(y, 0) < 1e3f;
}

/* ---- steps ---- */

typedef struct weighing {
    native_ref from, to;
    const native_int8_isa *isa;
    native_line_sum lines;
    native_pixel_sum pixels;
    native_axis_map rows, columns; /* taps of weight 0 are outside */
    float factor;
    const float *shares; /* of each column, what is left of the factor; or NULL */
    bool copies;
} weighing;

/* Where samples follow each other, rows of pixels begin in steps of so many bytes. */
static int64_t line_bytes(const weighing *f)
{
    return f->columns.n * f->pixels.n;
}

static int find_lines(const weighing *f, const uint8_t *image, int64_t row, const uint8_t **lines,
                      float *weights)
{
    const native_axis_map *r = &f->rows;
    int n = 0, i;

    for (i = 0; i < r->taps; i++) {
        const int64_t at = row * r->taps + i;
        lines[n] = image + r->at[at] * line_bytes(f);
        weights[n] = r->weight[at];
        n += weights[n] != 0.0f;
    }
    return n;
}

static void weigh_row(const weighing *f, const uint8_t *image, int64_t row, float *memory,
                      uint8_t *to)
{
    const uint8_t *lines[MOST_TAPS];
    float weights[MOST_TAPS], *factors = memory, *sums = memory + f->pixels.m, factor = f->factor;
    native_line_sum line = f->lines;
    native_pixel_sum pixel = f->pixels;
    int64_t i;

    line.lines = lines;
    line.weights = weights;
    line.n_lines = find_lines(f, image, row, lines, weights);
    if (f->shares && line.n_lines > 1)
        factor /= (float)line.n_lines;
    for (i = 0; i < pixel.m; i++)
        factors[i] = f->shares ? factor * f->shares[i] : factor;
    pixel.factors = factors;
    f->isa->add_lines(&line, sums);
    f->isa->add_pixels(&pixel, sums, to);
}

/* Numbers count samples, in them rows. */
static void run_weighing(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const weighing *f = params;
    const native_axis_map *r = &f->rows, *c = &f->columns;
    const int64_t n = f->pixels.n;
    int64_t x;

    for (; begin < end; begin++) {
        const int64_t row = begin % r->m;
        const uint8_t *image =
            (const uint8_t *)native_at(bases, &f->from) + begin / r->m * r->n * line_bytes(f);
        uint8_t *to = (uint8_t *)native_at(bases, &f->to) + begin * c->m * n;
        if (!f->copies)
            weigh_row(f, image, row, (float *)(void *)bases->scratch, to);
        for (x = 0; f->copies && x < c->m; x++)
            memcpy(to + x * n, image + r->at[row] * line_bytes(f) + c->at[x] * n, (size_t)n);
    }
}

/* ---- plan ---- */

/* Of an axis of windows: each element of one by 1. */
static void keep_windows(native_planner *p, const native_item *item, int axis, int64_t n, int64_t m,
                         native_axis_map *map)
{
    const int64_t count = m * item->kernel[axis];
    int64_t i;

    *map = (native_axis_map){.n = n, .m = m, .taps = (int)item->kernel[axis]};
    map->at = native_keep(p, (size_t)count * sizeof *map->at);
    map->weight = native_keep(p, (size_t)count * sizeof *map->weight);
    for (i = 0; map->at && map->weight && i < count; i++) {
        const int64_t at = i / map->taps * item->stride[axis] - item->pad[axis] +
                           i % map->taps * item->dilation[axis];
        const bool inside = at >= 0 && at < n;
        map->at[i] = inside ? (int32_t)at : 0;
        map->weight[i] = inside;
    }
}

/* An average over the elements that there are: a part of the factor for each column. */
static void keep_shares(native_planner *p, weighing *f)
{
    const native_axis_map *c = &f->columns;
    float *shares = native_keep(p, (size_t)c->m * sizeof *shares);
    int64_t i;

    for (i = 0; shares && c->weight && i < c->m; i++) {
        float n = 0;
        for (int t = 0; t < c->taps; t++)
            n += c->weight[i * c->taps + t];
        shares[i] = n > 1 ? 1.0f / n : 1.0f;
    }
    f->shares = shares;
}

static void keep_maps(native_planner *p, weighing *f, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    native_resize_rule rule;

    if (item->kind == NATIVE_ITEM_POOL) {
        keep_windows(p, item, 0, x->dims[2], y->dims[2], &f->rows);
        keep_windows(p, item, 1, x->dims[3], y->dims[3], &f->columns);
        if (item->count_padding)
            f->factor /= (float)(item->kernel[0] * item->kernel[1]);
        else
            keep_shares(p, f);
        return;
    }
    if (native_read_resize(item->call, &rule))
        return;
    native_keep_axis_map(p, &rule, 2, item->call, &f->rows);
    native_keep_axis_map(p, &rule, 3, item->call, &f->columns);
}

void native_plan_weighing(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const native_integer *in = &p->ir->integers[item->integer];
    const native_grid from = native_grid_of(&in->x), to = native_grid_of(&in->y);
    weighing *f = native_keep(p, sizeof *f);

    if (!f)
        return;
    f->isa = p->ir->device->int8;
    f->from = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->factor = from.scale / to.scale;
    f->lines.flip = from.is_signed ? 0x80 : 0;
    f->lines.from = from.zero + (from.is_signed ? 128 : 0);
    f->pixels = (native_pixel_sum){.n = y->dims[1], .m = y->dims[3], .zero = (int32_t)to.zero};
    f->pixels.low = (to.is_signed ? INT8_MIN : 0) - to.zero;
    f->pixels.high = (to.is_signed ? INT8_MAX : UINT8_MAX) - to.zero;
    keep_maps(p, f, item);
    f->pixels.at = f->columns.at;
    f->pixels.weights = f->columns.weight;
    f->pixels.taps = f->columns.taps;
    f->lines.n = line_bytes(f);
    native_need_scratch(p, (uint64_t)(f->pixels.m + f->lines.n) * sizeof(float));
    f->copies = f->rows.taps == 1 && f->columns.taps == 1 && item->kind == NATIVE_ITEM_RESIZE &&
                native_same_grid(&in->x, &in->y);
    native_add_run(p, run_weighing, f, native_first_dim(p, y) * f->rows.m,
                   (double)(native_count(p, y) * (f->rows.taps + f->columns.taps)) * 0.1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bytes_channels.c: channels of images of 8 bits that are cut out (Split, Slice) or
 * shuffled (Reshape, Transpose, Reshape), and Concats in front of that. Each becomes one CONCAT,
 * which takes channels `first[0]` on of what is put together, those of so many `groups` in turn:
 * where the channels are last, pixels are read and written once and no image is turned.
 */
#include "program_integer.h"

#include <string.h>

#include "int8_turn.h"

/* ---- which ---- */

static bool is_image(const native_value *v)
{
    return v->rank == 4 && (v->dtype == TFR_DTYPE_U8 || v->dtype == TFR_DTYPE_I8) && !v->known;
}

static void become_channels(native_item *item, int from, int64_t groups, int64_t first)
{
    item->kind = NATIVE_ITEM_CONCAT;
    item->n_inputs = 1;
    item->inputs[0] = from;
    item->axis = 1;
    item->groups = groups;
    item->first[0] = first;
    item->strided = -1;
}

static bool is_view(const native_item *item)
{
    return item && item->kind == NATIVE_ITEM_VIEW;
}

/* Whether y is x with its channels as [groups, C / groups], or [C / groups, groups]. */
static bool splits_channels(const native_value *x, const native_value *y, int64_t groups, bool last)
{
    return is_image(x) && y->rank == 5 && y->dtype == x->dtype && groups > 0 &&
           groups <= NATIVE_ITEM_INPUTS && x->dims[1] % groups == 0 && y->dims[0] == x->dims[0] &&
           y->dims[1 + last] == groups && y->dims[2 - last] == x->dims[1] / groups &&
           y->dims[3] == x->dims[2] && y->dims[4] == x->dims[3];
}

static void find_shuffle(native_ir *ir, int i)
{
    static const int perm[] = {0, 2, 1, 3, 4};
    native_item *item = &ir->items[i], *after = native_reader_of(ir, i, item->output);
    native_item *before = native_only_maker(ir, item->inputs[0]);
    const native_value *split = &ir->values[item->inputs[0]], *turned = &ir->values[item->output];
    const native_value *x, *y;

    if (split->rank != 5 || memcmp(item->perm, perm, sizeof perm) != 0 || !is_view(before) ||
        !is_view(after))
        return;
    x = &ir->values[before->inputs[0]];
    y = &ir->values[after->output];
    if (!splits_channels(x, split, split->dims[1], false) ||
        !splits_channels(y, turned, split->dims[1], true))
        return;
    become_channels(item, before->inputs[0], split->dims[1], 0);
    item->output = after->output;
    before->kind = after->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2;
}

static void find_cut(native_ir *ir, native_item *item)
{
    int64_t first;

    if (item->n_inputs == 1 && is_image(&ir->values[item->inputs[0]]) &&
        native_cuts_images(ir, item, &first))
        become_channels(item, item->inputs[0], 1, first);
}

static bool is_concat(const native_ir *ir, const native_item *item)
{
    return item && item->kind == NATIVE_ITEM_CONCAT && is_image(&ir->values[item->output]) &&
           (item->axis == 1 || item->axis == -3);
}

static bool is_whole(const native_ir *ir, const native_item *item)
{
    int64_t n = 0;
    int k;

    for (k = 0; k < item->n_inputs; k++)
        n += ir->values[item->inputs[k]].dims[1];
    return ir->values[item->output].dims[1] == n;
}

/* Whether an item that reads what the Concat makes may read its parts. */
static bool can_join(const native_ir *ir, const native_item *maker, const native_item *item)
{
    return is_concat(ir, item) && item->n_inputs == 1 && item->integer < 0 &&
           (item->groups <= 1 || (maker->groups <= 1 && is_whole(ir, maker)));
}

static void join(native_item *item, const native_item *maker)
{
    memcpy(item->inputs, maker->inputs, sizeof item->inputs);
    item->n_inputs = maker->n_inputs;
    item->integer = maker->integer;
    if (maker->groups > 1)
        item->groups = maker->groups;
    item->first[0] += maker->first[0];
}

/* Those who read it, if all may: else the whole would be made, too. */
static void join_readers(native_ir *ir, int at)
{
    native_item *maker = &ir->items[at];
    int i, n = 0;

    for (i = at + 1; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE || !native_reads(item, maker->output))
            continue;
        if (!can_join(ir, maker, item))
            return;
        n++;
    }
    if (n == 0 || ir->values[maker->output].output)
        return;
    for (i = at + 1; i < ir->n_items; i++)
        if (ir->items[i].kind != NATIVE_ITEM_NONE && native_reads(&ir->items[i], maker->output))
            join(&ir->items[i], maker);
    maker->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

void native_join_channels(native_ir *ir)
{
    int i;

    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_TRANSPOSE)
            find_shuffle(ir, i);
        else if (ir->items[i].kind == NATIVE_ITEM_STRIDED)
            find_cut(ir, &ir->items[i]);
    }
    for (i = 0; i < ir->n_items; i++)
        if (is_concat(ir, &ir->items[i]))
            join_readers(ir, i);
}

bool native_is_joined(const native_ir *ir, const native_item *item)
{
    return is_concat(ir, item) &&
           (item->groups > 1 || !is_whole(ir, item) || ir->values[item->output].blocked);
}

/* ---- steps ---- */

enum { BLOCK = 8192 /* bytes of the sources of some pixels, about */ };

typedef struct part {
    native_ref from;
    const native_regrid *grid; /* or NULL */
    int64_t channels, first;   /* first: of all of them */
    int64_t low, high;         /* those of its own that are taken */
} part;

typedef struct joined {
    native_ref to;
    const native_int8_isa *isa;
    int64_t groups, first, channels; /* channels: of the result */
    int64_t all, pixels, block;
    bool by_groups; /* each part is a group */
    int n;
    part parts[];
} joined;

/* Some channels of n pixels: pixel i's are at `at + i * step`. */
typedef struct rows {
    const uint8_t *at;
    int64_t step;
} rows;

/* Pieces of at most twice `size` bytes: the last ones may be among the first ones. */
static inline __attribute__((always_inline)) void
put_in_two(const size_t size, uint8_t *to, int64_t to_step, rows from, int64_t n, size_t bytes)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *y = to + i * to_step;
        const uint8_t *x = from.at + i * from.step;
        memcpy(y, x, size);
        memcpy(y + bytes - size, x + bytes - size, size);
    }
}

/* A call for each pixel would take longer than what it copies. */
static void put_rows(uint8_t *to, int64_t to_step, rows from, int64_t n, size_t bytes)
{
    if (bytes > 64)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from.at + i * from.step, bytes);
    else if (bytes >= 32)
        put_in_two(32, to, to_step, from, n, bytes);
    else if (bytes >= 16)
        put_in_two(16, to, to_step, from, n, bytes);
    else if (bytes >= 8)
        put_in_two(8, to, to_step, from, n, bytes);
    else if (bytes >= 4)
        put_in_two(4, to, to_step, from, n, bytes);
    else
        for (int64_t i = 0; i < n; i++)
            for (size_t j = 0; j < bytes; j++)
                to[i * to_step + (int64_t)j] = from.at[i * from.step + (int64_t)j];
}

static const uint8_t *take_channels(const uint8_t *from, int64_t step, int64_t n, int64_t channels,
                                    uint8_t *to)
{
    put_rows(to, channels, (rows){from, step}, n, (size_t)channels);
    return to;
}

/* What is taken of a part, on the result's grid: in *memory, which goes on, or where it lies. */
static rows rows_of(const joined *j, const part *p, const native_bases *bases, int64_t pixel,
                    int64_t n, uint8_t **memory)
{
    const uint8_t *from =
        (const uint8_t *)native_at(bases, &p->from) + pixel * p->channels + p->low;
    const int64_t channels = p->high - p->low;

    if (!p->grid)
        return (rows){from, p->channels};
    if (channels < p->channels) {
        from = take_channels(from, p->channels, n, channels, *memory);
        *memory += n * channels;
    }
    native_change_grid(j->isa, p->grid, from, *memory, n * channels);
    *memory += n * channels;
    return (rows){*memory - n * channels, channels};
}

/* Channels of a group, all that are asked for, to their places in a pixel. */
static void put_group(const joined *j, int64_t group, const uint8_t *from, uint8_t *to)
{
    int64_t at = (group - j->first % j->groups + j->groups) % j->groups;

    for (; at < j->channels; at += j->groups)
        to[at] = *from++;
}

static int64_t first_of_group(const joined *j, int64_t group)
{
    return (j->first - group + j->groups - 1) / j->groups;
}

/* lines: of each group, from channel 0 on. */
static void put_turns(const joined *j, const rows *lines, int64_t n, uint8_t *to)
{
    const bool pairs = j->groups == 2 && j->first % 2 == 0 && j->channels % 2 == 0;
    int64_t i, g;

    for (i = 0; i < n; i++, to += j->channels) {
        if (pairs) {
            native_int8_weave(lines[0].at + i * lines[0].step + j->first / 2,
                              lines[1].at + i * lines[1].step + j->first / 2, j->channels / 2, to);
            continue;
        }
        for (g = 0; g < j->groups; g++)
            put_group(j, g, lines[g].at + i * lines[g].step + first_of_group(j, g), to);
    }
}

/* Parts beside each other; step: from pixel to pixel of the result. */
static void put_parts(const joined *j, const native_bases *bases, int64_t pixel, int64_t n,
                      uint8_t *memory, uint8_t *to, int64_t step)
{
    int64_t at = 0;

    for (int k = 0; k < j->n; k++) {
        const part *p = &j->parts[k];
        const size_t some = (size_t)(p->high > p->low ? p->high - p->low : 0);
        uint8_t *own = memory;
        rows r;
        if (!some)
            continue;
        r = rows_of(j, p, bases, pixel, n, &own);
        put_rows(to + at, step, r, n, some);
        at += (int64_t)some;
    }
}

/* Numbers count blocks of pixels. */
static void run_pixels(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const joined *j = params;
    const int64_t last = end * j->block < j->pixels ? end * j->block : j->pixels;
    rows lines[NATIVE_ITEM_INPUTS];
    int64_t at, n, g;

    for (at = begin * j->block; at < last; at += n) {
        uint8_t *to = (uint8_t *)native_at(bases, &j->to) + at * j->channels;
        uint8_t *memory = (uint8_t *)bases->scratch;
        n = last - at < j->block ? last - at : j->block;
        if (j->groups == 1) {
            put_parts(j, bases, at, n, memory, to, j->channels);
            continue;
        }
        if (!j->by_groups)
            put_parts(j, bases, at, n, memory + j->block * j->all, memory, j->all);
        for (g = 0; g < j->groups && !j->by_groups; g++)
            lines[g] = (rows){memory + g * (j->all / j->groups), j->all};
        for (g = 0; g < j->groups && j->by_groups; g++) {
            lines[g] = rows_of(j, &j->parts[g], bases, at, n, &memory);
            lines[g].at -= j->parts[g].low;
        }
        put_turns(j, lines, n, to);
    }
}

/* Plain. Numbers count channels of the result in samples. */
static void run_planes(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const joined *j = params;

    for (; begin < end; begin++) {
        const int64_t sample = begin / j->channels, at = j->first + begin % j->channels;
        const int64_t c = at % j->groups * (j->all / j->groups) + at / j->groups;
        uint8_t *to = (uint8_t *)native_at(bases, &j->to) + begin * j->pixels;
        const part *p = j->parts;
        const uint8_t *from;
        while (c >= p->first + p->channels)
            p++;
        from = (const uint8_t *)native_at(bases, &p->from) +
               (sample * p->channels + c - p->first) * j->pixels;
        if (p->grid)
            native_change_grid(j->isa, p->grid, from, to, j->pixels);
        else
            memcpy(to, from, (size_t)j->pixels);
    }
}

/* ---- plan ---- */

static int64_t clip(int64_t x, int64_t high)
{
    return x < 0 ? 0 : x > high ? high : x;
}

static void set_taken(joined *j)
{
    for (int k = 0; k < j->n; k++) {
        part *p = &j->parts[k];
        p->high = p->channels;
        if (j->groups == 1) {
            p->low = clip(j->first - p->first, p->channels);
            p->high = clip(j->first + j->channels - p->first, p->channels);
        } else if (j->by_groups) {
            p->low = j->first / j->groups;
            p->high = (j->first + j->channels + j->groups - 1) / j->groups;
        }
    }
}

static void set_parts(native_planner *p, joined *j, const native_item *item)
{
    for (int k = 0; k < j->n; k++) {
        part *own = &j->parts[k];
        own->from = native_ref_of(p, item->inputs[k]);
        own->channels = p->ir->values[item->inputs[k]].dims[1];
        own->first = j->all;
        j->all += own->channels;
        if (item->integer >= 0)
            own->grid = native_new_regrid(p, &p->ir->integers[item->integer + k].x,
                                          &p->ir->integers[item->integer + k].y);
    }
    j->by_groups = j->n == j->groups;
    for (int k = 0; k < j->n; k++)
        j->by_groups = j->by_groups && j->parts[k].channels == j->all / j->n;
}

void native_plan_joined(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const int64_t images = native_first_dim(p, y);
    joined *j = native_keep(p, sizeof *j + (size_t)item->n_inputs * sizeof *j->parts);

    if (!j)
        return;
    j->n = item->n_inputs;
    j->isa = p->ir->device->int8;
    j->to = native_ref_of(p, item->output);
    j->groups = item->groups > 1 ? item->groups : 1;
    j->first = item->first[0];
    j->channels = y->dims[1];
    j->pixels = y->dims[2] * y->dims[3];
    set_parts(p, j, item);
    set_taken(j);
    if (!y->blocked) {
        native_add_run(p, run_planes, j, images * j->channels, (double)j->pixels * 0.1);
        return;
    }
    j->pixels *= images;
    j->block = BLOCK / j->all + 1;
    native_need_scratch(p, (uint64_t)(3 * j->block * j->all));
    native_add_run(p, run_pixels, j, (j->pixels + j->block - 1) / j->block,
                   (double)native_count(p, y) * 0.1);
}

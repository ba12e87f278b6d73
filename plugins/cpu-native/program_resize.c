/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_resize.c: Resize of the pixels of images in programs, as they lie: plain, or in blocks,
 * whose pixels are vectors that move and are weighed as a whole. On its own it would cut a network
 * into programs, each of which turns its images from blocks and back.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "resize.h"

enum { MOST_LANES = 16 };

bool native_resize_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    native_resize_rule rule;

    return (x->rank == 4 || x->rank == 5) && x->dtype == TFR_DTYPE_F32 && y &&
           y->dtype == TFR_DTYPE_F32 && tfr_operand_elements(x) > 0 &&
           tfr_operand_elements(x) < INT32_MAX / 2 && tfr_operand_elements(y) > 0 &&
           tfr_operand_elements(y) < INT32_MAX / 2 &&
           x->dims[x->rank - 1] <= NATIVE_RESIZE_ROW / MOST_LANES &&
           !native_read_resize(call, &rule) && native_resize_copies(&rule, 0) &&
           native_resize_copies(&rule, 1);
}

typedef struct resize {
    native_resize how;
    native_ref from, to;
} resize;

static void run_resize(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const resize *r = params;

    native_resize_rows(&r->how, native_at(bases, &r->from), native_at(bases, &r->to), begin, end);
}

void native_keep_axis_map(native_planner *p, const native_resize_rule *rule, int axis,
                          const tfr_call *call, native_axis_map *map)
{
    tfr_kernel kernel = {.n_blocks = 0};
    native_build b = {
        .device = p->ir->device, .call = call, .kernel = &kernel, .err = p->err, .status = TFR_OK};
    size_t bytes;
    char *to;

    native_map_axis(&b, rule, axis, map);
    if (b.status != TFR_OK) {
        p->status = b.status;
        return;
    }
    bytes = (size_t)(map->m * map->taps) * sizeof *map->at;
    to = native_keep(p, 2 * bytes);
    if (to) {
        memcpy(to, map->at, bytes);
        memcpy(to + bytes, map->weight, bytes);
        map->at = (int32_t *)(void *)to;
        map->weight = (float *)(void *)(to + bytes);
    }
    free(kernel.blocks[0]);
}

/* The columns of blocks, or of numbers. */
static void keep_pixels(native_planner *p, native_resize *r)
{
    const native_axis_map *c = &r->columns;
    const int lanes = p->isa->lanes;
    void *memory;

    r->pixels = (native_pixels){
        .n = c->m, .width = r->inner, .taps = c->taps, .at = c->at, .weight = c->weight};
    if (r->nearest || r->inner != 1 || c->m < lanes)
        return;
    memory = native_keep(p, native_pixels_bytes(c, lanes));
    if (memory)
        native_find_pixels(c, lanes, memory, &r->pixels);
}

void native_plan_resize(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t lanes = y->blocked ? p->isa->lanes : 1;
    resize *r = native_keep(p, sizeof *r);
    native_resize_rule rule;
    int axis = 2;

    if (!r || native_read_resize(item->call, &rule))
        return;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->how.isa = p->isa;
    r->how.cubes = native_first_dim(p, x) * ((x->dims[1] + lanes - 1) / lanes);
    r->how.inner = lanes;
    r->how.bytes = lanes * (int64_t)sizeof(float);
    r->how.nearest = rule.mode == NATIVE_RESIZE_NEAREST;
    r->how.frames = (native_axis_map){.n = 1, .m = 1, .taps = 1, .copied = true};
    if (item->depth.size)
        native_keep_axis_map(p, &rule, axis++, item->call, &r->how.frames);
    if (p->status == TFR_OK)
        native_keep_axis_map(p, &rule, axis++, item->call, &r->how.rows);
    if (p->status == TFR_OK)
        native_keep_axis_map(p, &rule, axis, item->call, &r->how.columns);
    if (p->status == TFR_OK)
        keep_pixels(p, &r->how);
    native_add_run(p, run_resize, r, native_resize_count(&r->how),
                   (double)native_count(p, y) *
                       (r->how.nearest ? 0.1 : 0.1 * (double)r->how.columns.taps));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_concat.c: Concat: inputs one behind the other along an axis, plain ones by their bytes,
 * and values of 8 bits on the grid of the output. Blocked channels of float32 are in
 * program_channels.c.
 */
#include "copy_rows.h"
#include "program_integer.h"

#include <string.h>

enum {
    CONCAT_PART = 32768, /* bytes of a number of work, about */
    NEAR = 8192          /* bytes that are written while they are near */
};

typedef struct part {
    native_ref from;
    const native_regrid *grid; /* that bytes change to, or NULL */
    int64_t inner;             /* bytes of each outer index */
} part;

/* Along channels blocked values of 8 bits go pixel by pixel. */
typedef struct concat {
    int n;
    native_ref to;
    const native_int8_isa *isa;
    int64_t all;  /* bytes of each outer index */
    int64_t cuts; /* of all */
    part parts[];
} concat;

static void put_bytes(const concat *c, int k, const char *from, char *to, int64_t n)
{
    if (c->parts[k].grid)
        native_change_grid(c->isa, c->parts[k].grid, (const uint8_t *)from, (uint8_t *)to, n);
    else
        memcpy(to, from, (size_t)n);
}

/* Numbers count outer indices, in them parts of what each has. */
static void run_cuts(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const concat *c = params;
    char *to = (char *)native_at(bases, &c->to);
    int64_t i;
    int k;

    for (i = begin; i < end; i++) {
        const int64_t outer = i / c->cuts, cut = i % c->cuts;
        const int64_t first = cut * c->all / c->cuts, last = (cut + 1) * c->all / c->cuts;
        int64_t at = 0;
        for (k = 0; k < c->n; at += c->parts[k++].inner) {
            const int64_t low = first > at ? first - at : 0;
            const int64_t high = last - at < c->parts[k].inner ? last - at : c->parts[k].inner;
            if (low < high)
                put_bytes(c, k,
                          (const char *)native_at(bases, &c->parts[k].from) +
                              outer * c->parts[k].inner + low,
                          to + outer * c->all + at + low, high - low);
        }
    }
}

/* Numbers count outer indices: some of them at a time, input by input. */
static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const concat *c = params;
    const int64_t most = NEAR / c->all + 1;
    int64_t n, i;
    int k;

    for (; begin < end; begin += n) {
        char *to = (char *)native_at(bases, &c->to) + begin * c->all;
        n = end - begin < most ? end - begin : most;
        for (k = 0; k < c->n; to += c->parts[k++].inner) {
            const int64_t inner = c->parts[k].inner;
            const char *from = (const char *)native_at(bases, &c->parts[k].from) + begin * inner;
            if (!c->parts[k].grid)
                native_copy_rows(from, inner, to, c->all, inner, n);
            for (i = 0; i < n && c->parts[k].grid; i++)
                put_bytes(c, k, from + i * inner, to + i * c->all, inner);
        }
    }
}

void native_plan_concat(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    int axis = item->axis < 0 ? item->axis + y->rank : item->axis, k, d;
    const int64_t size = tfr_dtype_bits(y->dtype) / 8, n = native_count(p, y);
    const int last = y->blocked && size == 1 ? axis + 1 : y->rank;
    concat *c;

    if (y->blocked && y->dtype == TFR_DTYPE_F32) {
        native_plan_channels(p, item);
        return;
    }
    if (native_is_joined(p->ir, item)) {
        native_plan_joined(p, item);
        return;
    }
    c = native_keep(p, sizeof *c + (size_t)item->n_inputs * sizeof *c->parts);
    if (!c)
        return;
    c->n = item->n_inputs;
    c->isa = p->ir->device->int8;
    c->to = native_ref_of(p, item->output);
    for (k = 0; k < c->n; k++) {
        const native_value *x = &p->ir->values[item->inputs[k]];
        c->parts[k].from = native_ref_of(p, item->inputs[k]);
        if (item->integer >= 0)
            c->parts[k].grid = native_new_regrid(p, &p->ir->integers[item->integer + k].x,
                                                 &p->ir->integers[item->integer + k].y);
        c->parts[k].inner = size;
        for (d = axis; d < last; d++)
            c->parts[k].inner *= d == 0 ? native_first_dim(p, x) : x->dims[d];
        c->all += c->parts[k].inner;
    }
    c->cuts = c->all > CONCAT_PART ? c->all / CONCAT_PART : 1;
    native_add_run(p, c->cuts > 1 ? run_cuts : run_rows, c,
                   c->all > 0 ? n * size / c->all * c->cuts : 0, (double)n * 0.1);
}

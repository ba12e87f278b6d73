/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_pool_rows.c: pools of plain images, row by row, where nobody around them wants blocks:
 * to make these and to leave them takes ten times as long as the pool.
 */
#include "program_layout.h"

typedef struct rows {
    const native_isa *isa;
    native_ref source, to;
    int64_t out_height;
    native_row form;
    native_act act;
} rows;

bool native_has_pool_rows(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];

    return x->dtype == TFR_DTYPE_F32 && item->integer < 0 && item->codes < 0 &&
           item->residual < 0 && !x->last && !y->last &&
           (item->depth.kernel ||
            (item->stride[1] <= NATIVE_POOL_STRIDE &&
             (item->kernel[1] - 1) * item->dilation[1] < NATIVE_POOL_SPAN / 2));
}

bool native_pools_rows(const native_ir *ir, const native_item *item, const native_item *later,
                       int n)
{
    const int x = item->inputs[0];

    return native_has_pool_rows(ir, item) && !ir->values[x].blocked && ir->twins[x] < 0 &&
           !native_is_read_blocked(ir, later, n, x) &&
           !native_is_read_blocked(ir, later, n, item->output);
}

/* Numbers count planes, in them rows of outputs. */
static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    native_row form = r->form;

    form.source = native_at(bases, &r->source);
    form.to = native_at(bases, &r->to);
    r->isa->pool_plain(&form, r->out_height, begin, end);
    if (r->act.kind != NATIVE_ACT_NONE) {
        float *to = form.to + begin * form.out_width;
        r->isa->act(&r->act, to, to, (end - begin) * form.out_width);
    }
}

/* Windows over frames, whose pixels are a row. */
static void set_depth(rows *r, const native_depth *d)
{
    native_row *form = &r->form;

    form->width = form->out_width *= form->height / d->size;
    form->height = d->size;
    r->out_height = d->outs;
    form->kernel[0] = d->kernel;
    form->stride[0] = d->stride;
    form->dilation[0] = d->dilation;
    form->top = -d->pad;
    form->kernel[1] = form->stride[1] = form->dilation[1] = 1;
    form->left = 0;
}

void native_plan_pool_rows(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_depth *d = &item->depth;
    rows *r = native_keep(p, sizeof *r);
    int64_t n = native_first_dim(p, y) * y->dims[1];
    int i;

    if (!r)
        return;
    r->isa = p->isa;
    r->source = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->act = item->act;
    r->form = (native_row){.height = x->dims[2],
                           .width = x->dims[3],
                           .out_width = y->dims[3],
                           .top = -item->pad[0],
                           .left = -item->pad[1],
                           .average = item->average,
                           .count_padding = item->count_padding,
                           .count = item->count};
    r->out_height = y->dims[2];
    for (i = 0; i < 2; i++) {
        r->form.kernel[i] = item->kernel[i];
        r->form.stride[i] = item->stride[i];
        r->form.dilation[i] = item->dilation[i];
    }
    if (d->kernel) {
        set_depth(r, d);
    } else if (d->size) {
        r->form.height /= d->size;
        r->out_height /= d->outs;
        n *= d->outs;
    }
    n *= r->out_height;
    native_add_run(p, run_rows, r, n,
                   (double)n * (20.0 + 0.1 * (double)(r->form.width * r->form.kernel[0] +
                                                      r->form.out_width * r->form.kernel[1])));
}

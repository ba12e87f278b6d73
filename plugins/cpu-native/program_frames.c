/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_frames.c: means over frames alone, of images of few channels, whose blocks would be
 * nearly empty: they stay plain, and frames are rows that are added up. So exporters write what
 * normalizes over neighbouring channels, which are frames of one channel there.
 */
#include "program.h"

enum { MOST_FRAMES = 64 };

typedef struct frames {
    const native_isa *isa;
    native_ref source, to;
    native_depth depth;
    int64_t frame; /* floats of one */
    bool count_padding;
    native_act act;
} frames;

bool native_pools_frames(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];
    const native_depth *d = &item->depth;

    return item->average && d->kernel && d->kernel <= MOST_FRAMES && item->residual < 0 &&
           item->kernel[0] * item->kernel[1] == 1 && item->stride[0] * item->stride[1] == 1 &&
           item->pad[0] + item->pad[1] == 0 && x->dims[1] < ir->device->isa->lanes &&
           x->dims[3] == y->dims[3] && x->dims[2] / d->size == y->dims[2] / d->outs;
}

/* Numbers count planes, in them frames of the result. */
static void run_frames(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const frames *f = params;
    const native_depth *d = &f->depth;

    for (; begin < end; begin++) {
        const float *plane = native_at(bases, &f->source) + begin / d->outs * d->size * f->frame;
        const int64_t first = begin % d->outs * d->stride - d->pad;
        float *to = native_at(bases, &f->to) + begin * f->frame;
        const float *rows[MOST_FRAMES];
        float weights[MOST_FRAMES];
        int64_t tap;
        int n = 0, i;
        for (tap = 0; tap < d->kernel; tap++) {
            const int64_t at = first + tap * d->dilation;
            if (at >= 0 && at < d->size)
                rows[n++] = plane + at * f->frame;
        }
        for (i = 0; i < n; i++)
            weights[i] = 1.0f / (float)(f->count_padding ? d->kernel : n);
        f->isa->weigh_rows(rows, weights, n, f->frame, to);
        if (f->act.kind != NATIVE_ACT_NONE)
            f->isa->act(&f->act, to, to, f->frame);
    }
}

void native_plan_frames(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    frames *f = native_keep(p, sizeof *f);
    int64_t n;

    if (!f)
        return;
    f->isa = p->isa;
    f->source = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->depth = item->depth;
    f->frame = y->dims[2] / item->depth.outs * y->dims[3];
    f->count_padding = item->count_padding;
    f->act = item->act;
    n = native_first_dim(p, y) * y->dims[1] * item->depth.outs;
    native_add_run(p, run_frames, f, n, 0.1 * (double)(n * f->frame * item->depth.kernel));
}

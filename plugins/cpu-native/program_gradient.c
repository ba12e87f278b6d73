/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_gradient.c: steps of gradients that go by samples: pools, softmax with cross entropy.
 */
#include "program.h"

#include <math.h>
#include <string.h>

/* ---- pools ---- */

typedef struct pools {
    const native_isa *isa;
    native_ref source, from, to;
    native_pool_grad form;
} pools;

/* Numbers count planes of channel blocks. */
static void run_pools(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pools *r = params;
    const int64_t lanes = r->isa->lanes, plane = r->form.height * r->form.width * lanes;
    const int64_t out = r->form.out_height * r->form.out_width * lanes;
    int64_t i;

    for (i = begin; i < end; i++) {
        native_pool_grad g = r->form;
        g.source = native_at(bases, &r->source) + i * plane;
        g.from = native_at(bases, &r->from) + i * out;
        g.to = native_at(bases, &r->to) + i * plane;
        r->isa->pool_grad(&g);
    }
}

void native_plan_pool_grad(native_planner *p, const native_item *item)
{
    const native_value *dy = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->output];
    pools *r = native_keep(p, sizeof *r);
    int64_t planes;
    int i;

    if (!r)
        return;
    r->isa = p->isa;
    r->from = native_ref_of(p, item->inputs[0]);
    r->source = native_ref_of(p, item->inputs[1]);
    r->to = native_ref_of(p, item->output);
    r->form.height = x->dims[2];
    r->form.width = x->dims[3];
    r->form.out_height = dy->dims[2];
    r->form.out_width = dy->dims[3];
    r->form.masked = item->masked;
    for (i = 0; i < 2; i++) {
        r->form.kernel[i] = item->kernel[i];
        r->form.stride[i] = item->stride[i];
        r->form.dilation[i] = item->dilation[i];
        r->form.pad[i] = item->pad[i];
    }
    planes = native_first_dim(p, x) * ((x->dims[1] + p->isa->lanes - 1) / p->isa->lanes);
    native_add_run(p, run_pools, r, planes, (double)native_count(p, x) * 0.5);
}

/* MaxPool's own answer and its use, where it is asked for: element by element. */
typedef struct windows {
    native_ref from, indices, to;
    int64_t height, width, out_height, out_width;
    int64_t kernel[2], stride[2], dilation[2], pad[2];
} windows;

/* The first of the greatest, or NaN. */
static int64_t find_greatest(const windows *w, const float *plane, int64_t y, int64_t x)
{
    int64_t best = -1, i, j;

    for (i = 0; i < w->kernel[0]; i++) {
        const int64_t row = y * w->stride[0] - w->pad[0] + i * w->dilation[0];
        if (row < 0 || row >= w->height)
            continue;
        for (j = 0; j < w->kernel[1]; j++) {
            const int64_t column = x * w->stride[1] - w->pad[1] + j * w->dilation[1];
            const int64_t at = row * w->width + column;
            if (column < 0 || column >= w->width)
                continue;
            if (best < 0 || plane[at] > plane[best] || (isnan(plane[at]) && !isnan(plane[best])))
                best = at;
        }
    }
    return best;
}

/* Numbers count planes. */
static void run_indices(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const windows *w = params;
    const float *from = native_at(bases, &w->from);
    int64_t *to = (int64_t *)(void *)native_at(bases, &w->indices);
    int64_t i, y, x;

    for (i = begin; i < end; i++) {
        const int64_t first = i * w->height * w->width;
        for (y = 0; y < w->out_height; y++) {
            for (x = 0; x < w->out_width; x++)
                to[(i * w->out_height + y) * w->out_width + x] =
                    first + find_greatest(w, from + first, y, x);
        }
    }
}

static windows *begin_windows(native_planner *p, const native_item *item, const native_value *x,
                              const native_value *y)
{
    windows *w = native_keep(p, sizeof *w);
    int i;

    if (!w)
        return NULL;
    w->height = x->dims[2];
    w->width = x->dims[3];
    w->out_height = y->dims[2];
    w->out_width = y->dims[3];
    for (i = 0; i < 2; i++) {
        w->kernel[i] = item->kernel[i];
        w->stride[i] = item->stride[i];
        w->dilation[i] = item->dilation[i];
        w->pad[i] = item->pad[i];
    }
    return w;
}

void native_plan_indices(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    windows *w = begin_windows(p, item, x, y);

    if (!w)
        return;
    w->from = native_ref_of(p, item->inputs[0]);
    w->indices = native_ref_of(p, item->output);
    native_add_run(p, run_indices, w, native_first_dim(p, x) * x->dims[1],
                   (double)native_count(p, x) * 2.0);
}

static void note_index(const native_bases *bases, int64_t index, int64_t position, int64_t dim)
{
    native_fault *fault = bases->fault;

    pthread_mutex_lock(&fault->lock);
    if (!fault->there) {
        fault->there = true;
        fault->bad = (native_bad_index){index, position, dim};
    }
    pthread_mutex_unlock(&fault->lock);
}

/* Numbers count planes. */
static void run_scatter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const windows *w = params;
    const float *from = native_at(bases, &w->from);
    const int64_t *indices = (const int64_t *)(const void *)native_at(bases, &w->indices);
    const int64_t n = w->out_height * w->out_width, plane = w->height * w->width;
    float *to = native_at(bases, &w->to);
    int64_t i, k;

    for (i = begin; i < end; i++) {
        memset(to + i * plane, 0, (size_t)plane * sizeof *to);
        for (k = i * n; k < (i + 1) * n; k++) {
            if (indices[k] == -1)
                continue;
            if (indices[k] < i * plane || indices[k] >= (i + 1) * plane)
                note_index(bases, indices[k], k, plane);
            else
                to[indices[k]] += from[k];
        }
    }
}

void native_plan_scatter(native_planner *p, const native_item *item)
{
    const native_value *dy = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->output];
    windows *w = begin_windows(p, item, x, dy);

    if (!w)
        return;
    w->from = native_ref_of(p, item->inputs[0]);
    w->indices = native_ref_of(p, item->inputs[1]);
    w->to = native_ref_of(p, item->output);
    native_add_run(p, run_scatter, w, native_first_dim(p, x) * x->dims[1],
                   (double)native_count(p, x));
}

/* ---- softmax and cross entropy ---- */

typedef struct scores {
    const native_isa *isa;
    native_ref from, labels, scale, to;
    int64_t n, unit_rows, all;
    float part; /* of a row in the mean */
    int step, shards;
} scores;

static scores *begin_scores(native_planner *p, const native_item *item, int from)
{
    const native_value *x = &p->ir->values[from];
    scores *r = native_keep(p, sizeof *r);

    if (!r)
        return NULL;
    r->isa = p->isa;
    r->from = native_ref_of(p, from);
    r->to = native_ref_of(p, item->output);
    r->n = x->dims[x->rank - 1];
    return r;
}

static void note_label(const scores *r, const native_bases *bases, int64_t label, int64_t row)
{
    native_fault *fault = bases->fault;
    const int64_t position = row + bases->unit * r->unit_rows;

    pthread_mutex_lock(&fault->lock);
    if (!fault->there || r->step < fault->step ||
        (r->step == fault->step && position < fault->bad.position)) {
        fault->there = fault->label = true;
        fault->step = r->step;
        fault->bad = (native_bad_index){label, position, r->n};
    }
    pthread_mutex_unlock(&fault->lock);
}

/* The sum over rows of - log_prob at the label. */
static void run_loss(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const scores *r = params;
    const int64_t *labels = (const int64_t *)(const void *)native_at(bases, &r->labels);
    double *sum = (double *)(void *)native_at(bases, &r->scale);
    int64_t i;

    for (i = begin; i < end; i++) {
        if (labels[i] < 0 || labels[i] >= r->n)
            note_label(r, bases, labels[i], i);
        else
            *sum -= (double)native_at(bases, &r->from)[i * r->n + labels[i]];
    }
}

static void finish_loss(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const scores *r = params;
    double sum = 0.0;
    int s;

    (void)begin, (void)end;
    for (s = 0; s < r->shards; s++)
        sum += *(const double *)(const void *)native_shard_at(bases, &r->scale, s);
    *native_at(bases, &r->to) = (float)(sum / (double)r->all);
}

void native_plan_loss(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    scores *r = begin_scores(p, item, item->inputs[0]);

    if (!r)
        return;
    r->labels = native_ref_of(p, item->inputs[1]);
    r->scale = native_sums(p, sizeof(double));
    r->all = x->dims[0];
    r->shards = native_shards(p);
    r->unit_rows = x->batched ? native_first_dim(p, x) : 0;
    r->step = p->plan->n_runs;
    native_add_run(p, run_loss, r, native_first_dim(p, x), (double)native_first_dim(p, x))->alone =
        true;
    native_finish(p, finish_loss, r, 1, 10.0);
}

/* dY / rows (exp(log_prob) - 1 at the label) */
static void run_loss_grad(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const scores *r = params;
    const native_act exponential = {.kind = NATIVE_ACT_EXP};
    const float scale = *native_at(bases, &r->scale) * r->part;
    const int64_t *labels = (const int64_t *)(const void *)native_at(bases, &r->labels);
    int64_t i;

    for (i = begin; i < end; i++) {
        float *to = native_at(bases, &r->to) + i * r->n;
        r->isa->act(&exponential, native_at(bases, &r->from) + i * r->n, to, r->n);
        if (labels[i] < 0 || labels[i] >= r->n)
            note_label(r, bases, labels[i], i);
        else
            to[labels[i]] -= 1.0f;
        r->isa->binary(NATIVE_MUL, to, 1, &scale, 0, to, r->n);
    }
}

void native_plan_loss_grad(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    scores *r = begin_scores(p, item, item->inputs[1]);

    if (!r)
        return;
    r->scale = native_ref_of(p, item->inputs[0]);
    r->labels = native_ref_of(p, item->inputs[2]);
    r->part = (float)(1.0 / (double)y->dims[0]);
    r->unit_rows = y->batched ? native_first_dim(p, y) : 0;
    r->step = p->plan->n_runs;
    native_add_run(p, run_loss_grad, r, native_first_dim(p, y), (double)native_count(p, y));
}

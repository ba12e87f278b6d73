/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_norm.c: batch normalization in training, and its gradient. Both need sums over the whole
 * batch before they can write an element, so each is two items, with the end of a stage between
 * them. Planes are summed in float32, each about its own mean, and planes in double: the variance
 * is the mean of what planes vary by, and what their means do.
 *
 * With x^ = (x - mean) / deviation: y = scale x^ + shift, and
 *   of shift = sum dy, of scale = sum dy x^,
 *   dx = scale / deviation (dy - of shift / M - x^ of scale / M)
 */
#include "program.h"

#include <math.h>
#include <string.h>

enum { MOMENTS = 3, SUMS = 2 };

typedef struct norm {
    const native_isa *isa;
    native_ref x, other, to; /* other: a residual; a gradient of the result */
    native_ref mean, deviation, scale, shift, of_scale, of_shift;
    native_ref sums;
    native_ref before[2], after[2]; /* running mean and variance */
    bool has_other, has_after[2], masked, of_variance;
    bool finishes; /* with an activation that is not a Relu */
    native_act act;
    int64_t samples, channels, blocks, plane; /* vectors */
    double count;                             /* elements of a channel in the batch */
    double epsilon, momentum, unbias;
    int shards;
} norm;

static norm *begin(native_planner *p, const native_item *item, const native_value *x)
{
    norm *s = native_keep(p, sizeof *s);

    if (!s)
        return NULL;
    s->isa = p->isa;
    s->samples = native_first_dim(p, x);
    s->channels = x->dims[1];
    s->blocks = (x->dims[1] + p->isa->lanes - 1) / p->isa->lanes;
    s->plane = x->dims[2] * x->dims[3];
    s->count = (double)x->dims[0] * (double)s->plane;
    s->shards = native_shards(p);
    s->masked = item->masked;
    return s;
}

static double *sums_at(const norm *s, float *sums, int64_t block, int n)
{
    return (double *)(void *)sums + block * n * s->isa->lanes;
}

/* The sums of a channel, all shards together. */
static void add_shards(const norm *s, const native_bases *bases, int64_t c, int n, double *to)
{
    const int64_t lanes = s->isa->lanes;
    int shard, i;

    for (i = 0; i < n; i++)
        to[i] = 0.0;
    for (shard = 0; shard < s->shards; shard++) {
        const double *from =
            sums_at(s, native_shard_at(bases, &s->sums, shard), c / lanes, n) + c % lanes;
        for (i = 0; i < n; i++)
            to[i] += from[i * lanes];
    }
}

static int64_t place(const norm *s, int64_t sample, int64_t block)
{
    return (sample * s->blocks + block) * s->plane * s->isa->lanes;
}

/* What a number is of each channel of a block; lanes of no channel have 0. */
static void load_channels(const norm *s, const native_bases *bases, const native_ref *from,
                          int64_t block, float *to)
{
    const int64_t lanes = s->isa->lanes, first = block * lanes;
    const float *all = native_at(bases, from);
    int64_t i;

    for (i = 0; i < lanes; i++)
        to[i] = first + i < s->channels ? all[first + i] : 0.0f;
}

/* Vectors of a block: what norm_plane and the sums of gradients need. */
typedef struct vectors {
    _Alignas(64) float mean[NATIVE_MAX_LANES], deviation[NATIVE_MAX_LANES];
    _Alignas(64) float factor[NATIVE_MAX_LANES], shift[NATIVE_MAX_LANES];
    _Alignas(64) float less[NATIVE_MAX_LANES], times[NATIVE_MAX_LANES];
} vectors;

static void set_vectors(const norm *s, const native_bases *bases, int64_t block, vectors *v,
                        native_norm *to)
{
    int i;

    load_channels(s, bases, &s->mean, block, v->mean);
    load_channels(s, bases, &s->deviation, block, v->deviation);
    load_channels(s, bases, &s->scale, block, v->factor);
    load_channels(s, bases, &s->shift, block, v->shift);
    for (i = 0; i < s->isa->lanes && s->of_variance; i++)
        v->deviation[i] = (float)(1.0 / sqrt((double)v->deviation[i] + s->epsilon));
    for (i = 0; i < s->isa->lanes; i++)
        v->factor[i] *= v->deviation[i];
    *to = (native_norm){.n = s->plane,
                        .mean = v->mean,
                        .factor = v->factor,
                        .shift = v->shift,
                        .less = v->less,
                        .times = v->times,
                        .masked = s->masked};
}

/* ---- moments ---- */

/* Numbers count blocks of channels. */
static void run_moments(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    const float *x = native_at(bases, &s->x);
    int64_t sample, block;

    for (sample = 0; sample < s->samples; sample++) {
        for (block = begin; block < end; block++)
            s->isa->norm_moments(x + place(s, sample, block), s->plane,
                                 sums_at(s, native_at(bases, &s->sums), block, MOMENTS));
    }
}

/* Numbers count channels. */
static void finish_moments(const void *params, const native_bases *bases, int64_t begin,
                           int64_t end)
{
    const norm *s = params;
    const double planes = s->count / (double)s->plane;
    int64_t c;
    int i;

    for (c = begin; c < end; c++) {
        double sums[MOMENTS], now[2];
        add_shards(s, bases, c, MOMENTS, sums);
        now[0] = sums[0] / planes;
        /* of the planes' means about theirs; a NaN stays */
        now[1] = sums[1] / planes - now[0] * now[0];
        now[1] = (now[1] < 0.0 ? 0.0 : now[1]) + sums[2] / s->count;
        native_at(bases, &s->mean)[c] = (float)now[0];
        native_at(bases, &s->deviation)[c] = (float)(1.0 / sqrt(now[1] + s->epsilon));
        now[1] *= s->unbias;
        for (i = 0; i < 2; i++) {
            if (s->has_after[i])
                native_at(bases, &s->after[i])[c] =
                    (float)((double)native_at(bases, &s->before[i])[c] * s->momentum +
                            now[i] * (1.0 - s->momentum));
        }
    }
}

void native_plan_moments(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    norm *s = begin(p, item, x);
    int i;

    if (!s)
        return;
    s->x = native_ref_of(p, item->inputs[0]);
    s->mean = native_ref_of(p, item->output);
    s->deviation = native_ref_of(p, item->more[0]);
    for (i = 0; i < 2; i++) {
        s->before[i] = native_ref_of(p, item->inputs[1 + i]);
        s->after[i] = native_ref_of(p, item->more[1 + i]);
        s->has_after[i] = item->more[1 + i] >= 0;
    }
    s->epsilon = (double)item->epsilon;
    s->momentum = (double)item->alpha;
    s->unbias = item->unbiased && s->count > 1.0 ? s->count / (s->count - 1.0) : 1.0;
    s->sums = native_sums(p, (uint64_t)(MOMENTS * s->blocks * p->isa->lanes) * sizeof(double));
    native_add_run(p, run_moments, s, s->blocks, (double)native_count(p, x) * 0.15);
    native_finish(p, finish_moments, s, s->channels, (double)s->channels * 20.0);
}

/* ---- the normalized ---- */

/* Numbers count blocks of channels, in them samples. */
static void run_norm(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    int64_t here = -1;
    native_norm n;
    vectors v;

    for (; begin < end; begin++) {
        const int64_t block = begin / s->samples, at = place(s, begin % s->samples, block);
        if (block != here)
            set_vectors(s, bases, block, &v, &n);
        here = block;
        n.x = native_at(bases, &s->x) + at;
        n.other = s->has_other ? native_at(bases, &s->other) + at : NULL;
        n.to = native_at(bases, &s->to) + at;
        s->isa->norm_plane(&n);
        if (s->finishes)
            s->isa->act(&s->act, n.to, n.to, s->plane * s->isa->lanes);
    }
}

/* The last numbers of a plain plane, fewer than a vector has, as one. */
static void run_rest(const norm *s, native_norm n, int64_t some)
{
    _Alignas(64) float x[NATIVE_MAX_LANES] = {0}, other[NATIVE_MAX_LANES] = {0};
    float *const to = n.to;

    memcpy(x, n.x, (size_t)some * sizeof *x);
    if (n.other)
        memcpy(other, n.other, (size_t)some * sizeof *other);
    n.x = n.to = x;
    n.other = n.other ? other : NULL;
    n.n = 1;
    s->isa->norm_plane(&n);
    memcpy(to, x, (size_t)some * sizeof *to);
}

/* The numbers of channel c in all lanes. */
static void set_channel(const norm *s, const native_bases *bases, int64_t c, vectors *v)
{
    const double variance = (double)native_at(bases, &s->deviation)[c];
    const float deviation = (float)(1.0 / sqrt(variance + s->epsilon));
    int i;

    for (i = 0; i < s->isa->lanes; i++) {
        v->mean[i] = native_at(bases, &s->mean)[c];
        v->factor[i] = native_at(bases, &s->scale)[c] * deviation;
        v->shift[i] = native_at(bases, &s->shift)[c];
    }
}

/* Of plain images: a vector has numbers of one channel. Numbers count planes. */
static void run_planes(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    const int64_t lanes = s->isa->lanes, whole = s->plane - s->plane % lanes;
    vectors v;

    for (; begin < end; begin++) {
        const int64_t at = begin * s->plane;
        native_norm n = {.x = native_at(bases, &s->x) + at,
                         .other = s->has_other ? native_at(bases, &s->other) + at : NULL,
                         .to = native_at(bases, &s->to) + at,
                         .n = whole / lanes,
                         .mean = v.mean,
                         .factor = v.factor,
                         .shift = v.shift,
                         .masked = s->masked};
        set_channel(s, bases, begin % s->channels, &v);
        s->isa->norm_plane(&n);
        n.x += whole;
        n.other = n.other ? n.other + whole : NULL;
        n.to += whole;
        if (whole < s->plane)
            run_rest(s, n, s->plane - whole);
        if (s->finishes)
            s->isa->act(&s->act, n.to - whole, n.to - whole, s->plane);
    }
}

void native_plan_batch_norm(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    norm *s = begin(p, item, x);

    if (!s)
        return;
    s->x = native_ref_of(p, item->inputs[0]);
    s->mean = native_ref_of(p, item->inputs[1]);
    s->deviation = native_ref_of(p, item->inputs[2]);
    s->scale = native_ref_of(p, item->inputs[3]);
    s->shift = native_ref_of(p, item->inputs[4]);
    s->to = native_ref_of(p, item->output);
    s->has_other = item->residual >= 0;
    s->other = native_ref_of(p, item->residual);
    s->of_variance = item->of_variance;
    s->epsilon = (double)item->epsilon;
    s->masked = native_is_relu(&item->act);
    s->finishes = !s->masked && item->act.kind != NATIVE_ACT_NONE;
    s->act = item->act;
    if (!p->ir->values[item->output].blocked) {
        native_add_run(p, run_planes, s, s->samples * s->channels,
                       (double)native_count(p, x) * 0.15);
        return;
    }
    native_add_run(p, run_norm, s, s->samples * s->blocks, (double)native_count(p, x) * 0.15);
}

/* ---- gradients ---- */

static norm *begin_gradient(native_planner *p, const native_item *item)
{
    norm *s = begin(p, item, &p->ir->values[item->inputs[1]]);

    if (!s)
        return NULL;
    s->other = native_ref_of(p, item->inputs[0]);
    s->x = native_ref_of(p, item->inputs[1]);
    s->mean = native_ref_of(p, item->inputs[2]);
    s->deviation = native_ref_of(p, item->inputs[3]);
    s->scale = native_ref_of(p, item->inputs[4]);
    s->shift = native_ref_of(p, item->inputs[item->masked ? 5 : 4]);
    return s;
}

/* Numbers count blocks of channels. */
static void run_sums(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    int64_t sample, block;
    native_norm n;
    vectors v;

    for (block = begin; block < end; block++) {
        set_vectors(s, bases, block, &v, &n);
        for (sample = 0; sample < s->samples; sample++) {
            n.x = native_at(bases, &s->x) + place(s, sample, block);
            n.other = native_at(bases, &s->other) + place(s, sample, block);
            s->isa->norm_grad_sums(&n, sums_at(s, native_at(bases, &s->sums), block, SUMS));
        }
    }
}

/* Numbers count channels. */
static void finish_sums(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    int64_t c;

    for (c = begin; c < end; c++) {
        double sums[SUMS];
        add_shards(s, bases, c, SUMS, sums);
        native_at(bases, &s->of_shift)[c] = (float)sums[0];
        native_at(bases, &s->of_scale)[c] =
            (float)(sums[1] * (double)native_at(bases, &s->deviation)[c]);
    }
}

void native_plan_batch_norm_sums(native_planner *p, const native_item *item)
{
    norm *s = begin_gradient(p, item);
    const double n = (double)native_count(p, &p->ir->values[item->inputs[1]]);

    if (!s)
        return;
    s->of_scale = native_ref_of(p, item->output);
    s->of_shift = native_ref_of(p, item->more[0]);
    s->sums = native_sums(p, (uint64_t)(SUMS * s->blocks * p->isa->lanes) * sizeof(double));
    native_add_run(p, run_sums, s, s->blocks, n * 0.15);
    native_finish(p, finish_sums, s, s->channels, (double)s->channels * 20.0);
}

static void set_less(const norm *s, const native_bases *bases, int64_t block, vectors *v)
{
    const float count = (float)s->count;
    int i;

    load_channels(s, bases, &s->of_shift, block, v->less);
    load_channels(s, bases, &s->of_scale, block, v->times);
    for (i = 0; i < s->isa->lanes; i++) {
        v->less[i] /= count;
        v->times[i] *= v->factor[i] * v->deviation[i] / count;
    }
}

/* Numbers count blocks of channels, in them samples. */
static void run_gradient(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *s = params;
    int64_t here = -1;
    native_norm n;
    vectors v;

    for (; begin < end; begin++) {
        const int64_t block = begin / s->samples, at = place(s, begin % s->samples, block);
        if (block != here) {
            set_vectors(s, bases, block, &v, &n);
            set_less(s, bases, block, &v);
        }
        here = block;
        n.x = native_at(bases, &s->x) + at;
        n.other = native_at(bases, &s->other) + at;
        n.to = native_at(bases, &s->to) + at;
        s->isa->norm_grad_plane(&n);
    }
}

void native_plan_batch_norm_grad(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[1]];
    norm *s = begin_gradient(p, item);

    if (!s)
        return;
    s->of_scale = native_ref_of(p, item->inputs[6]);
    s->of_shift = native_ref_of(p, item->inputs[7]);
    s->to = native_ref_of(p, item->output);
    native_add_run(p, run_gradient, s, s->samples * s->blocks, (double)native_count(p, x) * 0.2);
}

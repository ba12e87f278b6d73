/* SPDX-License-Identifier: Apache-2.0 */
/*
 * non_max_suppression.c: NonMaxSuppression, with the results of plugins/naive/
 * non_max_suppression.c, whose double arithmetic decides.
 *
 * Boxes whose score is not above the threshold are left out before the others are sorted, by radix.
 * A candidate is compared with the boxes near it that its class has so far in vectors of floats,
 * rounded so that they never call a box far that is not; the few that may be too near are looked at
 * in double. Boxes without an area overlap nothing and are never compared. Threads share pairs of a
 * batch and a class, each of which writes to rows of its own, which are put together at the end.
 */
#include "non_max_suppression.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "boxes.h"
#include "isa.h"
#include "ml.h"

enum {
    BUCKETS = 64,
    FEW = 128 /* boxes of a pair: comparing with all of them takes less than finding buckets */
};

typedef struct state {
    int64_t C, S, pairs; /* classes, boxes, and batches times classes */
    int64_t limit;       /* boxes of a pair that are taken */
    bool center;
    int n_inputs;
    size_t lane_bytes;
    const void *known[5];
} state;

typedef struct work {
    const state *state;
    const tfr_plugin_device *device;
    const float *boxes, *scores;
    double iou;
    const float *threshold; /* NULL = none */
    int64_t *rows, *counts; /* [pair][limit][3] and [pair] */
    char *scratch;
} work;

typedef struct box {
    double x0, x1, y0, y1;
} box;

/* What a thread works with. Boxes that were taken lie in buckets by x0, which are at least as wide
 * as the widest box, so that those which overlap lie in the same or in neighbours. */
typedef struct lane {
    uint64_t *items, *other; /* a score's key, and a box */
    native_boxes *taken;
    int32_t n_taken;        /* of those */
    int32_t first[BUCKETS]; /* of a bucket's, -1 = none */
    double start, width;
} lane;

/* ---- order ---- */

/* Greater scores have smaller keys, -0 and 0 the same, NaN the greatest. */
static uint64_t key_of(float score)
{
    const float x = score + 0.0f;
    uint32_t bits;

    if (x != x)
        return UINT32_MAX;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? bits : bits ^ 0x7fffffffu;
}

/* By the keys alone: equal ones stay in the order of boxes. Returns where the result is. */
static uint64_t *sort(uint64_t *from, uint64_t *to, int64_t n)
{
    int shift;

    for (shift = 32; shift < 64; shift += 8) {
        int64_t places[256] = {0}, at = 0, i;
        uint64_t *swap = from;
        for (i = 0; i < n; i++)
            places[from[i] >> shift & 255]++;
        if (n && places[from[0] >> shift & 255] == n)
            continue;
        for (i = 0; i < 256; i++) {
            int64_t here = places[i];
            places[i] = at;
            at += here;
        }
        for (i = 0; i < n; i++)
            to[places[from[i] >> shift & 255]++] = from[i];
        from = to;
        to = swap;
    }
    return from;
}

/* ---- boxes ---- */

static box read_box(const state *s, const float *boxes, int64_t i)
{
    const float *v = boxes + i * 4;
    const double v0 = (double)v[0], v1 = (double)v[1], v2 = (double)v[2], v3 = (double)v[3];

    if (s->center)
        return (box){v0 - v2 / 2, v0 + v2 / 2, v1 - v3 / 2, v1 + v3 / 2};
    return (box){fmin(v1, v3), fmax(v1, v3), fmin(v0, v2), fmax(v0, v2)};
}

static double area_of(const box *a)
{
    return (a->x1 - a->x0) * (a->y1 - a->y0);
}

/* Can it overlap another one? */
static bool has_area(const box *a)
{
    return a->x1 > a->x0 && area_of(a) > 0;
}

/* Both have an area. */
static bool overlap(const box *a, const box *b, double iou)
{
    const double w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
    const double h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);

    if (!(w > 0 && h > 0))
        return false;
    return w * h / (area_of(a) + area_of(b) - w * h) > iou;
}

static float below(double x)
{
    const float f = (float)x;

    return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

static native_near round_box(const box *a, double iou)
{
    native_near q = {below(a->x0), -below(-a->x1), below(a->y0), -below(-a->y1), 0, 0, 0, 0};

    q.area = fminf(below(area_of(a)), FLT_MAX / 4); /* so that the sum of two is finite */
    q.iou = fmaxf((float)iou, 0);
    q.share = (1 + q.iou) * (1 + 0x1p-20f); /* more than all roundings */
    q.least = 1e-36f;                       /* more than what is lost in small products */
    return q;
}

/* ---- those that were taken ---- */

/* All in one bucket where that is no use, where few are taken or numbers are not finite. */
static void find_buckets(const work *w, lane *l, const float *boxes, int64_t n)
{
    double low = INFINITY, high = -INFINITY, widest = 0;
    int64_t i;

    for (i = 0; i < n && w->state->limit > FEW; i++) {
        const box a = read_box(w->state, boxes, (uint32_t)l->items[i]);
        if (!has_area(&a))
            continue;
        low = fmin(low, a.x0);
        high = fmax(high, a.x0);
        widest = fmax(widest, a.x1 - a.x0);
    }
    for (i = 0; i < BUCKETS; i++)
        l->first[i] = -1;
    l->n_taken = 0;
    l->start = 0;
    l->width = INFINITY;
    if (low == INFINITY)
        return;
    l->start = low;
    l->width = fmax(widest * (1 + 0x1p-20), (high - low) / (BUCKETS - 1)); /* more than rounding */
}

static int find_bucket(const lane *l, const box *a)
{
    const double x = (a->x0 - l->start) / l->width;

    return x >= 1 ? (int)x : 0;
}

static bool is_near(const work *w, const native_boxes *taken, const float *boxes, const box *a,
                    const native_near *q)
{
    const int lanes = w->device->isa->lanes;
    float excess[NATIVE_MAX_LANES];
    int64_t at = 0;
    int i;

    for (; (at = w->device->isa->boxes_near(taken, q, at, excess)) >= 0; at += lanes) {
        for (i = 0; i < lanes; i++) {
            if (excess[i] >= 0) {
                const box b = read_box(w->state, boxes, taken->which[at + i]);
                if (overlap(a, &b, w->iou))
                    return true;
            }
        }
    }
    return false;
}

static bool is_suppressed(const work *w, const lane *l, const float *boxes, const box *a,
                          const native_near *q)
{
    const int bucket = find_bucket(l, a), last = bucket + 1 < BUCKETS ? bucket + 1 : bucket;
    int32_t at;
    int i;

    for (i = bucket ? bucket - 1 : 0; i <= last; i++)
        for (at = l->first[i]; at >= 0; at = l->taken[at].next)
            if (is_near(w, &l->taken[at], boxes, a, q))
                return true;
    return false;
}

static void take(lane *l, const box *a, const native_near *q, uint32_t which)
{
    int32_t *first = &l->first[find_bucket(l, a)];
    native_boxes *to = &l->taken[*first < 0 ? 0 : *first];

    if (*first < 0 || to->n == NATIVE_BOXES) {
        to = &l->taken[l->n_taken];
        memset(to, 0, sizeof *to);
        to->next = *first;
        *first = l->n_taken++;
    }
    to->x0[to->n] = q->x0;
    to->x1[to->n] = q->x1;
    to->y0[to->n] = q->y0;
    to->y1[to->n] = q->y1;
    to->area[to->n] = q->area;
    to->which[to->n++] = which;
}

/* ---- a run ---- */

static lane find_lane(const work *w)
{
    const state *s = w->state;
    uint64_t number = s->pairs > 1 && w->device->pool ? w->device->pool->lane() : 0;
    char *at = w->scratch + number * s->lane_bytes;
    lane l = {.items = (uint64_t *)(void *)at, .other = (uint64_t *)(void *)at + s->S};

    l.taken = (native_boxes *)(void *)(l.other + s->S);
    return l;
}

static void run_pairs(void *user, int64_t pair, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    lane l = find_lane(w);

    for (; pair < end; pair++) {
        const float *scores = w->scores + pair * s->S, *boxes = w->boxes + pair / s->C * s->S * 4;
        int64_t *row = w->rows + pair * s->limit * 3, n = 0, count = 0, i;
        const uint64_t *order;
        for (i = 0; i < s->S; i++)
            if (!w->threshold || scores[i] > *w->threshold)
                l.items[n++] = key_of(scores[i]) << 32 | (uint64_t)i;
        find_buckets(w, &l, boxes, n);
        order = sort(l.items, l.other, n);
        for (i = 0; i < n && count < s->limit; i++) {
            const uint32_t which = (uint32_t)order[i];
            const box a = read_box(s, boxes, which);
            if (has_area(&a)) {
                const native_near q = round_box(&a, w->iou);
                if (is_suppressed(w, &l, boxes, &a, &q))
                    continue;
                take(&l, &a, &q, which);
            }
            *row++ = pair / s->C;
            *row++ = pair % s->C;
            *row++ = which;
            count++;
        }
        w->counts[pair] = count;
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const tfr_arg *y = &launch->args[s->n_inputs];
    const float *in[5] = {NULL};
    int64_t pair, n = 0;
    int i;

    (void)err;
    for (i = 0; i < s->n_inputs; i++)
        in[i] = native_argument(launch, i, s->known[i]);
    work w = {.state = s,
              .device = device,
              .boxes = in[0],
              .scores = in[1],
              .iou = in[3] ? (double)*in[3] : 0,
              .threshold = in[4],
              .rows = y->address,
              .counts = launch->workspace};
    w.scratch = (char *)launch->workspace + (s->pairs + 7) / 8 * 64;
    if (s->pairs > 1 && device->pool)
        device->host->parallel_for(run_pairs, &w, s->pairs, 1);
    else
        run_pairs(&w, 0, s->pairs);
    for (pair = 0; pair < s->pairs; n += w.counts[pair++])
        memmove(w.rows + n * 3, w.rows + pair * s->limit * 3,
                (size_t)w.counts[pair] * 3 * sizeof *w.rows);
    y->dims[0] = n;
    y->dims[1] = 3;
    return TFR_OK;
}

/* ---- the call ---- */

static void read_call(const tfr_call *call, state *s)
{
    const tfr_operand *scores = tfr_call_input(call, 1);
    uint32_t i;

    s->C = scores->dims[1];
    s->S = scores->dims[2];
    s->pairs = scores->dims[0] * s->C;
    s->limit = tfr_call_output(call, 0)->dims[0] / s->pairs;
    s->center = tfr_call_int(call, "center_point_box", 0) != 0;
    s->n_inputs = (int)call->n_inputs;
    s->lane_bytes = (size_t)s->S * 2 * sizeof(uint64_t) +
                    (size_t)(s->limit / NATIVE_BOXES + BUCKETS) * sizeof(native_boxes);
    s->lane_bytes = (s->lane_bytes + 63) / 64 * 64;
    for (i = 0; i < call->n_inputs; i++)
        if (tfr_call_input(call, i))
            s->known[i] = tfr_call_input(call, i)->data;
}

void native_nms_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    state s = {0};

    read_call(call, &s);
    answer->workspace_bytes = (uint64_t)(s.pairs + 7) / 8 * 64 +
                              (s.pairs > 1 ? (uint64_t)device->lanes : 1) * s.lane_bytes;
}

void native_nms_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run, NULL, sizeof *s, "non_max_suppression");

    if (s)
        read_call(call, s);
}

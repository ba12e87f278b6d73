/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mincut.c: alpha expansion (Boykov, Veksler, Zabih, 2001): for one label at a time, the best set
 * of nodes to take it is a minimum cut, found by Dinic's algorithm (1970).
 */
#include "plan/mincut.h"

#include <string.h>

#include "base/alloc.h"

int64_t tfr__labeling_edge_price(const tfr__labeling *l, const tfr__labeling_edge *edge, uint8_t a,
                                 uint8_t b)
{
    return l->fixed[a][b] + (int64_t)(edge->bytes >> 10) * l->per_kib[a][b];
}

int64_t tfr__labeling_price(const tfr__labeling *l, const uint8_t *labels)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < l->n_nodes; i++)
        sum += l->prices[i * l->n_labels + labels[i]];
    for (uint32_t e = 0; e < l->n_edges; e++)
        sum += tfr__labeling_edge_price(l, &l->edges[e], labels[l->edges[e].from],
                                        labels[l->edges[e].to]);
    return sum;
}

/* ---- a flow ---------------------------------------------------------------------------------- */

/* Arcs come in pairs, an arc and its reverse. */
typedef struct flow {
    int64_t *capacity; /* by arc */
    uint32_t *to, *next;
    uint32_t *first;        /* by vertex: an arc, or NONE */
    uint32_t *at;           /* by vertex: arc that a path tries next */
    uint32_t *level, *path; /* by vertex; path and queue share memory */
    uint32_t n, n_arcs;
} flow;

#define NONE UINT32_MAX

static void flow_arc(flow *f, uint32_t from, uint32_t to, int64_t there, int64_t back)
{
    for (int k = 0; k < 2; k++) {
        uint32_t arc = f->n_arcs++;
        f->to[arc] = k ? from : to;
        f->capacity[arc] = k ? back : there;
        f->next[arc] = f->first[k ? to : from];
        f->first[k ? to : from] = arc;
    }
}

/* Distances from the source over arcs with room; false if the sink is not reached. */
static bool flow_levels(flow *f, uint32_t source, uint32_t sink)
{
    uint32_t n = 1;
    memset(f->level, 0xff, f->n * sizeof *f->level);
    f->level[source] = 0;
    f->path[0] = source;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = f->first[f->path[i]]; a != NONE; a = f->next[a])
            if (f->capacity[a] > 0 && f->level[f->to[a]] == NONE) {
                f->level[f->to[a]] = f->level[f->path[i]] + 1;
                f->path[n++] = f->to[a];
            }
    return f->level[sink] != NONE;
}

/* One path along the levels, filled up; false if there is none. path holds its arcs. */
static bool flow_push(flow *f, uint32_t source, uint32_t sink)
{
    uint32_t v = source, n = 0;
    int64_t least = INT64_MAX;
    while (v != sink) {
        uint32_t a = f->at[v];
        while (a != NONE && (f->capacity[a] <= 0 || f->level[f->to[a]] != f->level[v] + 1))
            a = f->next[a];
        f->at[v] = a;
        if (a != NONE) {
            f->path[n++] = a;
            v = f->to[a];
        } else if (n) { /* a dead end: step back, and do not come again */
            f->level[v] = NONE;
            v = f->to[f->path[--n] ^ 1];
        } else {
            return false;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        least = f->capacity[f->path[i]] < least ? f->capacity[f->path[i]] : least;
    for (uint32_t i = 0; i < n; i++) {
        f->capacity[f->path[i]] -= least;
        f->capacity[f->path[i] ^ 1] += least;
    }
    return true;
}

/* Afterwards level is NONE on the sink's side of a minimum cut. */
static void flow_run(flow *f, uint32_t source, uint32_t sink)
{
    while (flow_levels(f, source, sink)) {
        memcpy(f->at, f->first, f->n * sizeof *f->at);
        while (flow_push(f, source, sink))
            ;
    }
}

static bool flow_init(flow *f, uint32_t n, uint32_t most_arcs)
{
    f->n = n;
    f->capacity = tfr__calloc(most_arcs, sizeof *f->capacity);
    f->to = tfr__calloc(2 * (size_t)most_arcs, sizeof *f->to);
    f->first = tfr__calloc(4 * (size_t)n, sizeof *f->first);
    if (!f->capacity || !f->to || !f->first)
        return false;
    f->next = f->to + most_arcs;
    f->at = f->first + n;
    f->level = f->at + n;
    f->path = f->level + n;
    return true;
}

static void flow_finish(flow *f)
{
    tfr__free(f->capacity);
    tfr__free(f->to);
    tfr__free(f->first);
}

/* ---- expansion ------------------------------------------------------------------------------- */

/*
 * A node on the sink's side takes the label. Of an edge with the prices keep-keep k, keep-take t,
 * take-keep m, take-take 0, the parts for single nodes go to unary, what is left is the arc's.
 */
static void expand(const tfr__labeling *l, uint8_t label, flow *f, int64_t *unary)
{
    uint32_t source = l->n_nodes, sink = source + 1;
    f->n_arcs = 0;
    memset(f->first, 0xff, f->n * sizeof *f->first);
    for (uint32_t i = 0; i < l->n_nodes; i++) /* price of taking it, less that of keeping */
        unary[i] = l->prices[i * l->n_labels + label] - l->prices[i * l->n_labels + l->labels[i]];
    for (uint32_t e = 0; e < l->n_edges; e++) {
        const tfr__labeling_edge *edge = &l->edges[e];
        uint8_t a = l->labels[edge->from], b = l->labels[edge->to];
        int64_t keep = tfr__labeling_edge_price(l, edge, a, b);
        int64_t take = tfr__labeling_edge_price(l, edge, a, label);
        int64_t left = tfr__labeling_edge_price(l, edge, label, b);
        if (edge->from == edge->to)
            continue;
        /* keep + (left - keep) x + (0 - left) y + (take + left - keep) (1 - x) y */
        unary[edge->from] += left - keep;
        unary[edge->to] -= left;
        flow_arc(f, edge->from, edge->to, take + left - keep, 0);
    }
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        if (unary[i] > 0)
            flow_arc(f, source, i, unary[i], 0);
        else
            flow_arc(f, i, sink, -unary[i], 0);
    }
    flow_run(f, source, sink);
}

bool tfr__labeling_solve(tfr__labeling *l)
{
    uint8_t *trial = tfr__alloc((size_t)l->n_nodes + 1);
    int64_t *unary = tfr__calloc((size_t)l->n_nodes + 1, sizeof *unary), best;
    flow f = {0};
    bool good = flow_init(&f, l->n_nodes + 2, 2 * (l->n_edges + l->n_nodes) + 2) && trial && unary;
    best = good ? tfr__labeling_price(l, l->labels) : 0;
    /* Rounds come to an end, for each makes it cheaper; a few do nearly all of it. */
    for (int round = 0, moved = good; moved && round < 8; round++) {
        moved = 0;
        for (uint8_t label = 0; label < l->n_labels; label++) {
            int64_t price;
            expand(l, label, &f, unary);
            for (uint32_t i = 0; i < l->n_nodes; i++)
                trial[i] = f.level[i] == NONE ? label : l->labels[i];
            price = tfr__labeling_price(l, trial);
            if (price >= best)
                continue;
            best = price;
            moved = 1;
            memcpy(l->labels, trial, l->n_nodes);
        }
    }
    tfr__free(trial);
    tfr__free(unary);
    flow_finish(&f);
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mincut.h: the cheapest labels for the nodes of a graph, where a label has a price at each node
 * and two labels have a price at each edge. It knows nothing of backends; plan_cost.c does.
 */
#ifndef TFR_CORE_MINCUT_H
#define TFR_CORE_MINCUT_H

#include <stdbool.h>
#include <stdint.h>

enum { TFR__LABELS = 8 };
/* A label that a node cannot have. All real prices together stay below it. */
#define TFR__IMPOSSIBLE (INT64_C(1) << 57)

typedef struct tfr__labeling_edge {
    uint32_t from, to; /* nodes */
    uint64_t bytes;    /* what travels */
} tfr__labeling_edge;

typedef struct tfr__labeling {
    uint32_t n_nodes, n_edges, n_labels;
    const int64_t *prices; /* by node, then label */
    const tfr__labeling_edge *edges;
    /* From label a to b: fixed + bytes * 1024ths. A metric: 0 from a to a, and no detour is
     * cheaper. */
    int64_t fixed[TFR__LABELS][TFR__LABELS], per_kib[TFR__LABELS][TFR__LABELS];
    uint8_t *labels; /* by node: a possible one to begin with; the result */
} tfr__labeling;

int64_t tfr__labeling_edge_price(const tfr__labeling *l, const tfr__labeling_edge *edge, uint8_t a,
                                 uint8_t b);
int64_t tfr__labeling_price(const tfr__labeling *l, const uint8_t *labels);

/*
 * Never makes it dearer. With two labels the result is the cheapest of all; with more it is one
 * that no change of any set of nodes to one label makes cheaper, at most twice as dear as the
 * cheapest where all edges have one price. False: there is no memory, and nothing has changed.
 */
bool tfr__labeling_solve(tfr__labeling *l);

#endif

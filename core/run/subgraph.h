/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subgraph.h: a graph with its plans: the whole one of a session, or one inside a node. A run walks
 * its nodes in sections. A section is either one node that the core does itself on whole values
 * (sequences, optionals, control flow), or a plan (plan.h).
 */
#ifndef TFR_CORE_SUBGRAPH_H
#define TFR_CORE_SUBGRAPH_H

#include <tfrun/session.h>

#include "plan/plan.h"

struct tfr__frame;

typedef struct tfr__subgraph {
    tfr_graph *graph;
    tfr__plan **plans; /* by node: of the section that begins there, the last used first */
    uint32_t n_plans;  /* of all */
    uint64_t n_made;   /* plans, since the session began */
    int32_t *last_use; /* by value: the last node, n_nodes for the graph's caller, -1 */
    tfr__pin *pins;    /* by node */
    uint64_t *checked; /* by node that the core does: what it was last right for */
    struct tfr__subgraph ***children; /* by node: n_subgraphs of them, or NULL */
} tfr__subgraph;

tfr_status tfr__subgraph_create(tfr_session *session, tfr_graph *graph, tfr__subgraph **out,
                                tfr_err *err);
void tfr__subgraph_destroy(tfr_session *session, tfr__subgraph *subgraph);
/*
 * Runs a subgraph: frame holds its inputs, variables and captures; outputs gets retained tensors.
 * With run false only the first section is planned.
 */
tfr_status tfr__subgraph_run(tfr_session *session, struct tfr__frame *frame, tfr_tensor **outputs,
                             bool run, tfr_err *err);
/* Drops the plan with something in this memory that was not used for longest; false = there is
 * none. user is the session. */
bool tfr__session_make_room(void *user, uint32_t memory);
/* Nothing has run: the list of used plans is empty. */
void tfr__subgraph_forget_used(tfr_session *session);

#endif

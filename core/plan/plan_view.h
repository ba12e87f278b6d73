/* SPDX-License-Identifier: Apache-2.0 */
/* plan_view.h: the nodes of a section, or of one group of it, as compilers of backends see them. */
#ifndef TFR_CORE_PLAN_VIEW_H
#define TFR_CORE_PLAN_VIEW_H

#include "kernel/call.h"
#include "plan/plan_build.h"

/* A tfr_program_graph with all that it points to. */
typedef struct tfr__view {
    tfr_program_graph pub;
    tfr_program_node *nodes;
    tfr__call *calls;
    uint32_t *which;   /* node of the section, by number here */
    int32_t *operands; /* numbers of the values of all nodes' inputs and outputs */
    tfr_program_value *values;
    tfr_operand *types;  /* by value here */
    tfr_value *value_of; /* by value here */
    int32_t *number;     /* by value of the graph: its number here, or -1; the build's */
    int32_t *args;       /* inputs, then outputs of launches */
} tfr__view;

/* The nodes of a group, or, with group -1, all that are needed, for a backend. */
tfr_status tfr__view_init(tfr__view *w, tfr__build *b, int32_t group, const tfr__backend *backend,
                          tfr_err *err);
void tfr__view_finish(tfr__view *w);
/* The groups that were compiled last. */
enum { TFR__VIEWS = 4 };
typedef struct tfr__views {
    tfr__view items[TFR__VIEWS];
    uint32_t groups[TFR__VIEWS];
    uint32_t n; /* so far; the last ones are here */
} tfr__views;

/* Takes over a view. */
void tfr__views_add(tfr__views *seen, tfr__view *w, uint32_t group);
void tfr__views_finish(tfr__views *seen);
/* Whether one of them is equal to the group but for the values themselves: this then has its
 * program, and arguments of its own. */
bool tfr__views_share(const tfr__views *seen, tfr__build *b, uint32_t group);

/* The border of the group: what goes in and out; on_host: in the host's memory. */
void tfr__view_border(tfr__view *w, const tfr__build *b, const tfr__backend *backend, bool on_host);

#endif

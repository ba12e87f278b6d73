/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable.h: the variables of a session, each where it is used. The state of one is a plain tensor
 * on the host, or bytes in the memory and the layout of the backend that computes with it, its
 * home; the tensor is made again only when somebody asks for it. A run writes a new state over the
 * old one where nobody reads that any more, else beside it. What lies beside becomes the state when
 * the run has succeeded; what was overwritten by a run that fails later is lost. Whoever calls
 * holds the session's lock.
 */
#ifndef TFR_CORE_VARIABLE_H
#define TFR_CORE_VARIABLE_H

#include "device/stream.h"
#include "graph/graph.h"
#include "value/tensor.h"

typedef struct tfr__home {
    uint32_t memory; /* TFR__MEMORY_HOST with layout plain: the tensor itself */
    uint32_t stream; /* whose layout, and whose queue */
    uint64_t layout;
    uint64_t bytes;
} tfr__home;

typedef enum tfr__written {
    TFR__WRITTEN_NOT,
    TFR__WRITTEN_OVER,  /* the old state is gone */
    TFR__WRITTEN_BESIDE /* the new one waits for the run's end */
} tfr__written;

typedef struct tfr__variable {
    tfr_tensor *plain;      /* the state if is_plain, else only its type and shape */
    bool is_plain, is_home; /* where the state is now; neither: it is lost */
    bool host_only;         /* read by what works on tensors: they are made for each run */
    int32_t written;        /* tfr__written, by the run at hand */
    tfr__home home;
    void *now, *beside; /* memory of the home; NULL until needed */
    tfr_tensor *spare;  /* beside plain, where that is the home */
} tfr__variable;

typedef struct tfr__variables {
    tfr__streams *streams;
    const tfr_graph *graph;
    tfr__variable *items; /* by number in graph->variables */
    int32_t *number;      /* by value: the variable that it is, or -1 */
    int32_t *update_of;   /* by value: the variable that becomes it, or -1 */
    tfr_tensor **fresh;   /* for the end of a run; NULL between runs */
    uint32_t n;
    uint64_t n_left;  /* homes whose memory was freed */
    uint64_t n_moves; /* states brought from one place to another, since the session began */
} tfr__variables;

tfr_status tfr__variables_init(tfr__variables *variables, tfr__streams *streams,
                               const tfr_graph *graph, tfr_err *err);
/* Before the streams are closed. */
void tfr__variables_finish(tfr__variables *variables);

/* A new tensor with the state. */
tfr_status tfr__variable_get(tfr__variables *variables, uint32_t i, tfr_tensor **out, tfr_err *err);
/* Takes over the tensor, which has the variable's type and shape. */
void tfr__variable_set(tfr__variables *variables, uint32_t i, tfr_tensor *state);
/* Makes plain current. */
tfr_status tfr__variable_to_plain(tfr__variables *variables, uint32_t i, tfr_err *err);
/* Brings the state home; *now holds it, *beside, if asked for, is as large. */
tfr_status tfr__variable_to_home(tfr__variables *variables, uint32_t i, const tfr__home *home,
                                 void **now, void **beside, tfr_err *err);

/* The run has succeeded, or failed. */
void tfr__variables_commit(tfr__variables *variables);
void tfr__variables_abort(tfr__variables *variables);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: a graph, or a section of it, compiled for fixed input types and shapes.
 *
 * A section is the longest run of nodes whose shapes are known from the values that are there when
 * it begins. It ends where a shape depends on a value that is computed inside it; the next section
 * begins there, with that value known. A usual model is one section, so one plan.
 *
 * A plan is found again by what it was made for: type, shape and strides of each live-in, and the
 * bytes of those values that decided a shape (shape inputs).
 */
#ifndef TFR_CORE_PLAN_H
#define TFR_CORE_PLAN_H

#include "plan/buffer.h"
#include "plan/capture.h"
#include "op/infer.h"
#include "kernel/place.h"
#include "plan/placed.h"
#include "plan/step.h"
#include "plan/variable.h"
#include "value/tensor.h"

/* What a session's options say about plans. */
typedef struct tfr__plan_env {
    tfr__kernel_env kernel;
    int32_t math_mode;   /* tfr_math_mode */
    uint32_t call_flags; /* of all calls: TFR_CALL_DETERMINISTIC */
    uint32_t shards;     /* of all calls */
    bool no_fallback;    /* is an error */
    bool no_programs;
    bool no_capture;
} tfr__plan_env;

/* Where a plan begins, and what is known there. All is borrowed. */
typedef struct tfr__section {
    const tfr_graph *graph;
    const int32_t *last_use; /* by value: the last node, n_nodes for the graph's caller, -1 */
    const tfr__pin *pins;    /* by node */
    tfr_tensor **values; /* by value: what is there, or NULL; of variables that are elsewhere only
                          * type and shape, until a plan needs more */
    uint32_t first;      /* node */
    tfr__variables *variables; /* that live where they are used; NULL = none do */
    bool unsampled;            /* times of its nodes are not worth measuring */
    bool slices_apart;         /* a Slice whose bounds come from outside is none of its nodes */
    const tfr_value *appends;  /* by value: the input that it may be appended to; NULL = none is */
} tfr__section;

/* What a section takes from the frame, as it must be for the plan to fit. */
typedef struct tfr__live_in {
    tfr_value value;
    int32_t dtype;
    bool plain, aligned;
    bool grows; /* a live-out is appended to it: its strides count, and that there is room */
    tfr_shape shape;
    int64_t strides[TFR_MAX_RANK];
} tfr__live_in;

typedef struct tfr__shape_input {
    tfr_value value;
    uint64_t bytes;
    void *data;          /* own copy */
    tfr_tensor *strings; /* instead of data if they are strings */
} tfr__shape_input;

/* A variable that the plan reads or updates where it lives. */
typedef struct tfr__plan_variable {
    uint32_t variable;    /* number */
    uint32_t now, beside; /* buffers: the state, and where a new one waits; UINT32_MAX = none */
    uint32_t written;     /* the step that writes the new state, UINT32_MAX = none */
    tfr__home home;
} tfr__plan_variable;

/* What a section gives to the frame. */
typedef struct tfr__live_out {
    tfr_value value;
    uint32_t buffer;   /* host; UINT32_MAX = known tensor */
    tfr_tensor *known; /* the value was known when planned */
    int64_t *dims;     /* dynamic output: where the kernel writes the true dims */
    tfr__type type;
    bool copy;  /* the buffer belongs to something else: copy out of it */
    bool grown; /* it lies where the live-in of the buffer does, and behind that */
    /* Only the graph's caller reads it: the run may do without it (plan_fetch.c), and, if it does,
     * without these steps, which nothing else needs. */
    bool on_demand, skipped;
    uint32_t first_step, end_step;
} tfr__live_out;

/* Where kernels of a backend write the true dims of their outputs: in its transfer space. */
typedef struct tfr__dims {
    tfr__backend *backend;
    void *address;
} tfr__dims;

enum {
    TFR__WATCH_QUEUES = 1,   /* bound has queues, which may be replaced */
    TFR__WATCH_SAMPLES = 2,  /* runs are timed: plan_sample.c */
    TFR__WATCH_MODES = 4,    /* the floating-point mode is looked at after each launch */
    TFR__WATCH_DEADLINE = 8, /* the clock is looked at before each step */
    TFR__WATCH_CAPTURES = 16 /* some steps may be replayed: capture.h */
};

/* What is asked for most comes first: what lies in the first 128 bytes takes less code. */
typedef struct tfr__plan {
    struct tfr__plan *next; /* in the subgraph's list, most recently used first */
    tfr__streams *streams;
    const tfr_graph *graph; /* whose nodes */
    uint32_t first, end;    /* nodes [first, end) */
    bool host;              /* one node that the core does itself; nothing below is set */
    bool stale;             /* uses a kernel that was quarantined since: make a new one */
    bool again;             /* was made from what another was made from */
    bool renewed;           /* was that of other shapes; its build has the values that it reads */
    bool used;              /* is in the session's list of those of the last run */
    bool slices_apart;      /* as its section */
    uint32_t n_live_ins, n_shape_inputs, n_live_outs, n_buffers, n_steps, n_patches, n_placed,
        n_known, n_moving, n_programs, n_variables, n_dims;
    tfr__buffer *buffers;
    tfr__step *steps;
    tfr__bound *bound; /* the same steps */
    tfr__live_in *live_ins;
    tfr__shape_input *shape_inputs;
    tfr__live_out *live_outs;
    tfr__where *where;   /* and what is said of them */
    uint64_t queues;     /* generation of the streams whose queues are in bound */
    uint64_t deadline;   /* of the run, by tfr__now_ns; 0 = none */
    uint64_t used_at;    /* when it was last found, by the session's count */
    uint8_t watch;       /* TFR__WATCH_...: what a walk has to look after, mostly nothing */
    uint32_t sampling;   /* runs that are still timed, step by step */
    uint64_t *sample_ns; /* by step, the least */
    tfr__patch *patches;
    uint32_t *moving; /* LIVE_IN and TENSOR buffers: their addresses change from run to run */
    tfr_arg *args;
    tfr__plan_variable *variables;
    tfr_random_state *random; /* of the run at hand, a buffer's; NULL = no launch draws */
    tfr__dims *dims;          /* by stream that has some */
    tfr__placed *placed;
    tfr_tensor **known; /* tensors that kernels may read until they are dropped */
    uint32_t n_kept;    /* of known: those since were known for shapes that it had before */
    tfr__program *programs;
    struct tfr__build *build; /* what it was made from; NULL = it is gone, or another plan has it */
    /* Arena per memory: [n_memories]. */
    struct tfr__arena *arenas;
    uint32_t n_arenas;
    uint32_t n_launches, n_copies, n_reorders, n_syncs, n_fallbacks;
    tfr__capture *captures;
    uint32_t n_captures, n_walks; /* that were not one by one for a reason */
    uint32_t most, made;          /* runs that the one at hand may stand for; does: 1, or even */
    bool replays;                 /* the bound steps are those of captures */
    uint64_t homes;               /* that variables had left when captures were made */
    uint32_t n_skipped; /* live-outs that the run at hand, or the last one, does without */
    uint32_t first_row,
        first_program; /* of the report on the last run: those of the plans before */
    uint64_t copy_bytes, arena_bytes, arena_lower_bound, plan_ns;
} tfr__plan;

/*
 * Makes the plan of a section, which is none of those that the core does itself. like: one of the
 * same section for other shapes, or NULL. If it still has what it was made from, only what these
 * change is found anew: nodes stay where they are, in the same programs. *out may be like itself.
 */
tfr_status tfr__plan_create(const tfr__plan_env *env, const tfr__section *section, tfr__plan *like,
                            tfr__plan **out, tfr_err *err);
/* While a queue is stuck, all that its work may use stays, for ever. */
void tfr__plan_destroy(tfr__plan *plan);
/* The plan retains a tensor, or NULL, too. */
void tfr__plan_keep(tfr__plan *plan, tfr_tensor *tensor);
/* How much there is to do, into the rows of its report, where they have not got it. */
void tfr__plan_count(const tfr__plan *plan);
/* values: as the section's. */
bool tfr__plan_fits(const tfr__plan *plan, tfr_tensor *const *values);

/* ---- plan_build.c ---------------------------------------------------------------------------- */

/* What is in `old`, a live-in, and more, where that lies; NULL: there is no room, or one with
 * another live-in in it. */
tfr_tensor *tfr__plan_grow(const tfr__plan *plan, tfr_tensor *const *values, tfr_value old,
                           const tfr__type *type);
/* Is there room for all that the plan appends to live-ins? b: for all that programs of this build
 * append, as its types have it; or NULL. */
bool tfr__plan_has_room(const tfr__plan *plan, tfr_tensor *const *values,
                        const struct tfr__build *b);
/* Has the tensor, which is of the same rank, the same strides? */
bool tfr__live_in_lies(const tfr__live_in *want, const tfr_tensor *t);

/* ---- plan_bound.c ---------------------------------------------------------------------------- */

/* The first of n numbers that no launch of this process has had as its id. */
uint64_t tfr__launch_ids(uint32_t n);
/* Fills in the bound steps of a plan that has arguments and addresses. */
tfr_status tfr__plan_bind(tfr__plan *plan, tfr_err *err);
/* The part of that which a replaced queue changes. */
void tfr__plan_rebind(tfr__plan *plan);
/* Puts the call of a step and its object, as it was planned, into a bound one that has its queue.
 */
void tfr__step_bind(tfr__plan *plan, uint32_t step, tfr__bound *bound);
/* Puts the addresses of LIVE_IN and TENSOR buffers into the launches. */
void tfr__plan_patch(tfr__plan *plan);
/* The last launch on the queue before a wait for it, or, if there is none, the wait. */
const tfr__step *tfr__plan_waited_for(const tfr__plan *plan, const tfr__step *wait);
/* The node of a step, of a program its first; or NULL. */
const tfr__node *tfr__plan_node(const tfr__plan *plan, const tfr__step *step);
/* One step of a walk that is slow anyway: announced, and checked afterwards. */
int32_t tfr__plan_step(tfr__plan *plan, uint32_t step, tfr_err *err);

/* ---- plan_fetch.c ---------------------------------------------------------------------------- */

/* Runs from now on do without the live-outs on demand whose place, by value, is false; NULL = with
 * all. */
void tfr__plan_fetch(tfr__plan *plan, const bool *wanted);
/* The steps of those become this. */
int32_t tfr__step_skipped(tfr_plugin_device *device, tfr_queue *queue, void *object,
                          const tfr_launch *launch, tfr_err *err);
/* After the steps are bound. */
void tfr__plan_bind_skipped(tfr__plan *plan);
/* Takes what a run does not do from the plan's counts of it. */
void tfr__plan_count_skipped(const tfr__plan *plan, uint32_t *n_copies, uint32_t *n_reorders,
                             uint64_t *copy_bytes);

/* ---- plan_sample.c --------------------------------------------------------------------------- */

/* How often a new plan is timed: the first run warms up, the least of the others counts. */
enum { TFR__SAMPLED_RUNS = 4 };

/* The plan's first runs will be timed, if it has unknown times and they may be kept. */
void tfr__sample_begin(tfr__plan *plan);
/* The last of them has been timed: keeps what they took. */
void tfr__sample_end(tfr__plan *plan);

/* ---- plan_infer.c ---------------------------------------------------------------------------- */

/* Checks a node on whole values against its row of the op table: which are there, of
 * which kind and type, and the attributes. inputs may hold NULL. again: it was
 * checked before, on values of these kinds and element types. plan_infer.c */
tfr_status tfr__infer_values(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_err *err);
/* Is it a Slice of whole bytes? */
bool tfr__may_slice(const tfr__node *node, int32_t dtype);
/* What such a Slice gives, of plain inputs: a view where that is as good as a copy. */
tfr_status tfr__slice_values(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_tensor **out, tfr_err *err);

#endif

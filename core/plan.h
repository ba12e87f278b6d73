/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: a graph compiled for fixed input types and shapes, and the session that keeps plans.
 *
 * A body is a graph (or subgraph) with its plans. A run walks the body's nodes in sections. A
 * section is either one node that the core does itself on whole values (sequences, optionals,
 * control flow), or a plan for the longest run of nodes whose shapes are known from the values that
 * are there when it begins. It ends where a shape depends on a value that is computed inside it;
 * the next section begins there, with that value known. A usual model is one section, so one plan.
 *
 * A plan is found again by what it was made for: type, shape and strides of each live-in, and the
 * bytes of those values that decided a shape ("consulted" values).
 */
#ifndef TFR_CORE_PLAN_H
#define TFR_CORE_PLAN_H

#include <tfrun/op.h>

#include "cost.h"
#include "graph.h"
#include "infer.h"
#include "place.h"
#include "tensor.h"

/* ---- what a plan consists of ----------------------------------------------------------------- */

typedef enum tfr__buffer_kind {
    TFR__BUFFER_LIVE_IN,  /* memory of a value of the run's environment, bound at each run */
    TFR__BUFFER_CONSTANT, /* tensor (host), or address (device copy, owned by the plan) */
    TFR__BUFFER_ARENA,    /* a slice of the plan's arena in its memory */
    TFR__BUFFER_TENSOR    /* a new tensor for each run: outputs of the section, strings */
} tfr__buffer_kind;

typedef struct tfr__buffer {
    int32_t kind; /* tfr__buffer_kind */
    uint32_t memory;
    uint64_t bytes;
    tfr_value value;      /* LIVE_IN: whose; TENSOR: the value that it becomes */
    int32_t dtype;        /* TENSOR */
    tfr_shape shape;      /* TENSOR */
    tfr_tensor *tensor;   /* CONSTANT on the host */
    void *address;        /* CONSTANT, ARENA: fixed; LIVE_IN, TENSOR: of this run */
    uint32_t first, last; /* ARENA: steps that use it */
    uint64_t offset;      /* ARENA */
    uint64_t slack;       /* ARENA: bytes that the lower bound does not count */
} tfr__buffer;

typedef enum tfr__step_kind {
    TFR__STEP_LAUNCH,
    TFR__STEP_COPY,
    TFR__STEP_REORDER,
    TFR__STEP_LAYOUT, /* from a layout of the backend to the plain one */
    TFR__STEP_SYNC
} tfr__step_kind;

/* Where an argument's address comes from at each run: LIVE_IN and TENSOR buffers. */
typedef struct tfr__patch {
    tfr_arg *arg;
    uint32_t buffer;
} tfr__patch;

/*
 * What a step calls: the launch of a kernel or of a program, or one of exec.c's own. Its object is
 * a tfr_kernel, a tfr_program, or the tfr__step. Pointers to objects are passed alike, so that one
 * type of function does for all.
 */
typedef int32_t tfr__launch_fn(tfr_plugin_device *device, tfr_queue *queue, void *object,
                               const tfr_launch *launch, tfr_err *err);

/* For who calls one: clang's -fsanitize=function does not know that. */
#ifdef __clang__
#define TFR__ANY_OBJECT __attribute__((no_sanitize("function")))
#else
#define TFR__ANY_OBJECT
#endif

/* A step as a run needs it, in one array that is walked from end to end. */
typedef struct tfr__bound {
    tfr__launch_fn *call;
    tfr_plugin_device *device;
    tfr_queue *queue;
    void *object;
    tfr_launch launch; /* args point into the plan's array */
} tfr__bound;

/* A step as it was planned: what made the bound one, and what messages say. */
typedef struct tfr__step {
    int32_t kind;          /* tfr__step_kind */
    int32_t node;          /* for messages, or -1 */
    tfr__backend *backend; /* LAUNCH, COPY, SYNC */
    uint32_t stream;       /* number of the backend's queue in the session */
    struct tfr__plan *plan;
    /* LAUNCH */
    tfr__launch_fn *call;
    tfr_kernel *kernel; /* object of the call, or NULL */
    int32_t program;    /* number of the program that it launches instead, or -1 */
    tfr_arg *args;
    uint32_t n_args;
    uint32_t workspace; /* buffer, or UINT32_MAX */
    /* COPY: into or out of the backend's memory. REORDER: on the host. */
    uint32_t dst, src;
    bool to_device;
    uint64_t bytes;
    uint32_t live_in; /* REORDER: whose strides count */
    uint64_t layout;  /* LAYOUT: of src */
} tfr__step;

/* What a section takes from the environment, as it must be for the plan to fit. */
typedef struct tfr__live_in {
    tfr_value value;
    int32_t dtype;
    bool plain, aligned;
    tfr_shape shape;
    int64_t strides[TFR_MAX_RANK];
} tfr__live_in;

typedef struct tfr__consulted {
    tfr_value value;
    uint64_t bytes;
    void *data;          /* own copy */
    tfr_tensor *strings; /* instead of data if they are strings */
} tfr__consulted;

/* What a section gives to the environment. */
typedef struct tfr__live_out {
    tfr_value value;
    uint32_t buffer;   /* host; UINT32_MAX = known tensor */
    tfr_tensor *known; /* the value was known when planned */
    int64_t *dims;     /* dynamic output: where the kernel writes the true dims */
    tfr__type type;
    bool copy; /* the buffer belongs to something else: copy out of it */
} tfr__live_out;

/* One row of the placement report; texts are owned. */
typedef struct tfr__placed {
    int32_t node;
    const char *device, *backend, *wanted; /* borrowed from the runtime */
    int32_t reason;
    bool fallback, random, math_mode;
    char *text; /* NULL = nothing to say */
    uint32_t n_copies;
    uint64_t copy_bytes;
    int32_t program;     /* -1 = none */
    char *alone;         /* why the node is in no program; NULL = nobody was asked */
    char *note;          /* of its backend; NULL = none */
    tfr__work work;      /* kernels only */
    uint64_t time_ns;    /* of one run, 0 = no kernel */
    bool measured;       /* else it is an estimate */
    tfr__tuning_key key; /* of its time */
} tfr__placed;

/* Nodes that one backend has compiled as a whole. */
typedef struct tfr__program {
    tfr__backend *backend;
    tfr_program *program;
    uint32_t n_nodes;
    int32_t node;                 /* the first one */
    uint32_t first_row, last_row; /* of the plan's placed: its nodes lie between */
    tfr_program_info info;
} tfr__program;

enum {
    TFR__WATCH_QUEUES = 1,  /* bound has queues, which may be replaced */
    TFR__WATCH_SAMPLES = 2, /* runs are timed: plan_sample.c */
    TFR__WATCH_MODES = 4    /* the floating-point mode is looked at after each launch */
};

typedef struct tfr__plan {
    struct tfr__plan *next; /* in the body's list, most recently used first */
    tfr__streams *streams;
    const tfr_graph *graph; /* whose nodes */
    uint32_t first, end;    /* nodes [first, end) */
    bool host;              /* one node that the core does itself; nothing below is set */
    bool stale;             /* uses a kernel that was quarantined since: make a new one */
    bool used;              /* is in the session's list of those of the last run */
    tfr__live_in *live_ins;
    tfr__consulted *consulted;
    tfr__live_out *live_outs;
    tfr__buffer *buffers;
    tfr__step *steps;
    tfr__bound *bound;   /* the same steps */
    tfr__where *where;   /* and what is said of them */
    uint64_t queues;     /* generation of the streams whose queues are in bound */
    uint8_t watch;       /* TFR__WATCH_...: what a walk has to look after, mostly nothing */
    uint32_t sampling;   /* runs that are still timed, step by step */
    uint64_t *sample_ns; /* by step, the least */
    tfr__patch *patches;
    uint32_t *moving; /* LIVE_IN and TENSOR buffers: their addresses change from run to run */
    tfr_arg *args;
    int64_t *dims; /* pool for true dims of dynamic outputs */
    tfr__placed *placed;
    tfr_tensor **known; /* tensors that kernels may read until they are dropped */
    tfr__program *programs;
    uint32_t n_live_ins, n_consulted, n_live_outs, n_buffers, n_steps, n_patches, n_placed, n_known,
        n_moving, n_programs;
    /* Arena per memory: [n_memories]. */
    struct tfr__arena *arenas;
    uint32_t n_arenas;
    uint32_t n_launches, n_copies, n_reorders, n_syncs, n_fallbacks;
    uint32_t first_row,
        first_program; /* of the report on the last run: those of the plans before */
    uint64_t copy_bytes, arena_bytes, arena_lower_bound, plan_ns;
} tfr__plan;

typedef struct tfr__arena {
    uint32_t memory;
    void *address;
    uint64_t bytes, lower_bound;
} tfr__arena;

/* ---- what a plan is made of and with --------------------------------------------------------- */

/* What a session's options say about plans. */
typedef struct tfr__plan_env {
    tfr__kernel_env kernel;
    int32_t fallback;  /* tfr_fallback, never DEFAULT */
    int32_t math_mode; /* tfr_math_mode */
    bool no_programs;
} tfr__plan_env;

/* Where a plan begins, and what is known there. All is borrowed. */
typedef struct tfr__section {
    const tfr_graph *graph;
    const int32_t *last_use; /* by value: the last node that uses it, n_nodes if the graph's caller
                                does, -1 */
    const tfr__pin *pins;    /* by node */
    tfr_tensor *const *values; /* by value: what is there, or NULL */
    uint32_t first;            /* node */
} tfr__section;

/* ---- bodies and sessions --------------------------------------------------------------------- */

typedef struct tfr__body {
    tfr_graph *graph;
    tfr__plan *plans;
    uint32_t n_plans;
    int32_t *
        last_use; /* by value: the last node that uses it, n_nodes if the graph's caller does, -1 */
    tfr__pin *pins;               /* by node */
    struct tfr__body ***children; /* by node: n_subgraphs of them, or NULL */
} tfr__body;

/* The environment of a run of a body: a tensor per value that is there, retained. */
typedef struct tfr__env {
    tfr__body *body;
    tfr_tensor **values; /* by value number; NULL = not there (yet); set by tfr__env_put alone */
    tfr_value *there;    /* those that are not NULL, so that a run costs nothing for the others */
    uint32_t n_there;
} tfr__env;

struct tfr_session {
    tfr_runtime *runtime;
    tfr_graph *graph;
    tfr__body *body;
    tfr__plan_env plans;
    bool log_placement, warned, loose_shapes, mode_warned;
    uint32_t max_plans;
    pthread_mutex_t lock;   /* one run at a time */
    tfr_tensor **variables; /* by number in graph->variables */
    bool updates;           /* some variable is updated by a run */
    tfr__env env;           /* of the run that holds the lock; empty between runs */
    tfr__streams streams;   /* a binding without the lock uses its own */
    tfr__plan **used;       /* plans of the last run, in order */
    uint32_t n_used, room_used;
    uint32_t n_rows, n_program_rows; /* of the report on the last run */
    uint64_t n_plans, plan_ns;
    struct tfr__pass_row *passes; /* one per pass, or NULL: none ran */
    atomic_bool is_traced;
    struct tfr__trace *trace; /* trace.c; stays when is_traced ends */
};

/* ---- the parts ------------------------------------------------------------------------------- */

/* body.c */
tfr_status tfr__body_create(tfr_session *session, tfr_graph *graph, tfr__body **out, tfr_err *err);
void tfr__body_destroy(tfr_session *session, tfr__body *body);
/*
 * Runs a body: env holds its inputs, variables and captures; outputs gets retained tensors. With
 * run false only the first section is planned.
 */
tfr_status tfr__body_run(tfr_session *session, tfr__env *env, tfr_tensor **outputs, bool run,
                         tfr_err *err);
/* Nothing has run: the list of used plans is empty. */
void tfr__body_forget_used(tfr_session *session);
/* session.c: checks inputs against the graph and puts them, and the variables, into env. */
tfr_status tfr__session_bind_inputs(tfr_session *session, tfr__env *env, tfr_tensor *const *inputs,
                                    uint32_t n_inputs, tfr_err *err);

/* frame.c */
tfr_status tfr__env_init(tfr__body *body, tfr__env *env, tfr_err *err);
/* The value becomes t, which env owns now, instead of what it was. */
void tfr__env_put(tfr__env *env, tfr_value v, tfr_tensor *t);
/* All values go; then the memory, too. */
void tfr__env_clear(tfr__env *env);
void tfr__env_finish(tfr__env *env);
/* A value that a section's own node reads: from the environment, or a constant. Borrowed. */
tfr_tensor *tfr__frame_get(const tfr__env *env, tfr_value v);

/* plan.c: makes the plan of a section; never a host section. */
tfr_status tfr__plan_create(const tfr__plan_env *env, const tfr__section *section, tfr__plan **out,
                            tfr_err *err);
void tfr__plan_destroy(tfr__plan *plan);
/* values: as the section's. */
bool tfr__plan_fits(const tfr__plan *plan, tfr_tensor *const *values);

/* plan_bound.c */
/* Fills in the bound steps of a plan that has arguments and addresses. */
tfr_status tfr__plan_bind(tfr__plan *plan, tfr_err *err);
/* The part of that which a replaced queue changes. */
void tfr__plan_rebind(tfr__plan *plan);
/* Puts the addresses of LIVE_IN and TENSOR buffers into the launches. */
void tfr__plan_patch(tfr__plan *plan);
/* One step of a walk that is slow anyway: announced, and checked afterwards. */
int32_t tfr__plan_step(tfr__plan *plan, uint32_t step, tfr_err *err);

/* exec.c */
tfr_status tfr__plan_run(tfr_session *session, tfr__plan *plan, tfr__env *env, tfr_err *err);
/* The steps alone, with everything in place; run numbers the run. An error names the node. */
tfr_status tfr__plan_walk(tfr_session *session, tfr__plan *plan, uint64_t run, tfr_err *err);

/* failure.c: what a walk does with a call that failed: settles the session, gives the error that
 * names it. */
tfr_status tfr__plan_failed(tfr_session *session, tfr__plan *plan, uint32_t step, int32_t status,
                            tfr_err *err);

/* plan_compile.c; the program may be gone already. */
void tfr__program_drop(tfr__program *program);

/* plan_bind.c: sets offset of every ARENA buffer of one memory; bytes needed and lower bound. */
tfr_status tfr__arena_plan(tfr__buffer *buffers, uint32_t n, uint32_t memory, uint64_t alignment,
                           uint64_t *bytes, uint64_t *lower_bound, tfr_err *err);

/* plan_infer.c: checks a node on whole values against its row of the op table: which are there, of
 * which kind and type, and the attributes. inputs may hold NULL. */
tfr_status tfr__infer_values(const tfr__node *node, tfr_tensor *const *inputs, tfr_err *err);

/* sequence_ops.c, control.c: a node on whole values. inputs may hold NULL; outputs gets retained
 * tensors. */
tfr_status tfr__sequence_run(const tfr__node *node, tfr_tensor *const *inputs, tfr_tensor **outputs,
                             tfr_err *err);
tfr_status tfr__control_run(tfr_session *session, tfr__env *env, uint32_t node,
                            tfr_tensor *const *inputs, tfr_tensor **outputs, tfr_err *err);

/*
 * join.c: a new tensor of the values one after the other along axis, or, with stack, along a new
 * axis. n is at least 1; negative axes count from the end. TFR_EMODEL if they do not fit together.
 */
tfr_status tfr__tensors_join(tfr_tensor *const *values, size_t n, int64_t axis, bool stack,
                             tfr_tensor **out, tfr_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/session.h: runs a graph. A session holds the graph's variables and a cache of plans, one
 * per set of input shapes: the first run with new shapes infers shapes, places every node and
 * prepares its kernel; later runs only walk the plan.
 *
 * Threads: runs of one session happen one at a time (a second caller waits); different sessions run
 * at the same time. What a session tells of its last run is asked while none is under way.
 */
#ifndef TFRUN_SESSION_H
#define TFRUN_SESSION_H

#include <tfrun/device.h>
#include <tfrun/graph.h>
#include <tfrun/optimize.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_session tfr_session;

/* What to do when a node cannot run where it was asked to. */
typedef enum tfr_fallback {
    TFR_FALLBACK_DEFAULT = 0, /* warn if a device was named, else allow */
    TFR_FALLBACK_ALLOW = 1,
    TFR_FALLBACK_WARN = 2, /* one line per session that sums up, and one per node at info level */
    TFR_FALLBACK_ERROR = 3 /* TFR_EFALLBACK with node, device, reason and what is available */
} tfr_fallback;

typedef struct tfr_session_options {
    uint32_t size;
    int32_t fallback;   /* tfr_fallback */
    const char *device; /* preferred device or backend for nodes without a pin; NULL = the best */
    uint32_t log_placement; /* not 0: logs where each node runs, and why, at info level */
    /*
     * Plans kept of each graph, least recently used goes first; 0 = 16. Of each section, which is
     * what lies between values whose dims only the run tells, one is kept in any case.
     */
    uint32_t max_plans;
    uint32_t loose_shapes; /* not 0: the graph's declared dims of inputs are hints, not checked */
    uint32_t no_programs;  /* not 0: every node is a kernel of its own, nothing is compiled */
    /*
     * Which passes may change the session's own copy of the graph: NULL or "all", "none",
     * "fold,cse" for those alone, "-cse" for all but that. TFR_EINVAL lists their names. On the
     * reference backend none changes a bit of a result; on others some change roundings.
     */
    const char *passes;
    /*
     * How far float32 products may be off: NULL or "strict", "f32x6", "f32x3", "tf32", "bf16"
     * (tfr_math_mode in plugin.h). TFR_EINVAL lists their names. A backend that cannot make use of
     * it computes strictly, which placements and a warning say.
     */
    const char *math_mode;
    uint64_t seed; /* of random numbers: runs n of sessions of one graph and seed draw the same */
    /*
     * Time that a run may take, bindings' runs too; 0 = any. After it the run fails with
     * TFR_ETIMEOUT, which names the node and the device that were waited for. It is looked at
     * between nodes, and while a device with queues is waited for; a kernel that runs on the
     * calling thread is not interrupted. Work that a device does not give up keeps its memory, and
     * the tensors that it uses stay retained; until it has ended, runs of the session fail with
     * TFR_EDEVICE. What has not ended when the session is destroyed is left to the process, with a
     * warning: the session is destroyed all the same, and the device is not closed.
     */
    uint64_t timeout_ns;
    /*
     * Not 0: run n of such a session gives the same bits in every process on this machine, for the
     * same inputs, seed, plugins and settings. Kernels that cannot promise it are not used, and
     * measured times decide nothing; both may make runs slower.
     */
    uint32_t deterministic;
    /*
     * Not 0: each run makes all its launches one by one. 0 = where a device can, the launches of a
     * plan's second run are captured, and put on its queue as a whole in later ones, which gives
     * the same numbers in less time of the host. tfr_placement says what is captured, and what is
     * not for which reason. Traced runs launch one by one.
     */
    uint32_t no_capture;
    /*
     * Parts of the samples that sums over them have (tfr_call in plugin_call.h), which makes bits
     * independent of the number of threads on backends that follow it; 0 = the backend's choice.
     */
    uint32_t shards;
} tfr_session_options;
#define TFR_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_session_options)                                              \
    }

/*
 * Retains runtime and graph, and freezes the graph. TFR_ENOTFOUND or TFR_EDEVICE for a device name
 * that is not there or not usable.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_create(tfr_runtime *runtime, tfr_graph *graph,
                                                     const tfr_session_options *options,
                                                     tfr_session **out, tfr_err *err);
TFR_API void tfr_session_destroy(tfr_session *session);

/*
 * Runs once. inputs are in the graph's order; they may be strided views. outputs gets new tensors,
 * which the caller releases. Expected errors: TFR_ESHAPE,
 * TFR_EDTYPE (an input does not fit), TFR_EMODEL (a node is wrong for these shapes), TFR_EFALLBACK,
 * TFR_EUNSUPPORTED (no backend has a kernel), TFR_ENOMEM.
 *
 * Variables live where the graph computes with them, in their device's memory if it has its own,
 * and new states are written over the old ones where nobody reads these any more. After an error
 * all variables are as before the run but those of which this had begun: they have no state, and
 * what needs it fails with TFR_ELOST until it is set again.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_run(tfr_session *session, tfr_tensor *const *inputs,
                                                  uint32_t n_inputs, tfr_tensor **outputs,
                                                  uint32_t n_outputs, tfr_err *err);

/*
 * The same, and gives only the n_fetch outputs whose numbers fetch has: outputs[i] is output
 * fetch[i]. 0 is fine: a step of a training whose loss nobody looks at. The others are computed,
 * but not brought to the host, and no memory is taken for them there; so a run copies what it takes
 * in and what it gives out (but for a variable that is an output itself: it stays on the host). All
 * choices share one plan, and may change from run to run for nothing. The run ends, as any does,
 * when all of its work has ended: what failed in it, it says. TFR_EINVAL for a number that is none
 * or comes twice.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_run_fetch(tfr_session *session,
                                                        tfr_tensor *const *inputs,
                                                        uint32_t n_inputs, const uint32_t *fetch,
                                                        uint32_t n_fetch, tfr_tensor **outputs,
                                                        tfr_err *err);

/*
 * n runs with the same inputs, one after the other, whose outputs nobody wants: of a graph whose
 * variables tell how far it is, such as steps of a training that count their batches. Bits are
 * those of n calls of tfr_session_run_fetch. Where all that a run launches is one capture, a device
 * that can takes many of them at once, and the host waits for the last one. After an error some of
 * the runs may have been made; variables are as after a run that fails. Errors and threads are
 * those of tfr_session_run; n may be 0.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_repeat(tfr_session *session,
                                                     tfr_tensor *const *inputs, uint32_t n_inputs,
                                                     uint32_t n, tfr_err *err);

/*
 * Output `output` has what input `input` has, and then more along one axis, as the present keys of
 * a decoder have the past ones. From now on, where the tensor of the input is a view
 * (tfr_tensor_view) of one that has room behind it along that axis, a run may write what is new
 * into that room, and give the output as another view of the same memory, so that the input is not
 * copied: if tfr_tensor_data of both is the same it has done so. A cache for `most` rows is a
 * tensor [heads, most, depth], its past the view [heads, rows, depth] with the strides of all.
 *
 * Elements of the input are never written, so after a run that fails they are what they were; the
 * room is the session's during a run, and what it holds afterwards belongs to the output. Of two
 * runs with the same past the second one writes over what the first one has appended. Where a
 * backend does not know how, where the room is too small, or has another input in it, the run makes
 * a new tensor as ever; bits are the same either way. Bindings do not append. TFR_EINVAL for no
 * such output or input, or one that was told another; TFR_ENOMEM.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_append(tfr_session *session, uint32_t output,
                                                     uint32_t input, tfr_err *err);

/* Plans for these inputs without running; values are looked at only where shapes depend on them. */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_prepare(tfr_session *session,
                                                      tfr_tensor *const *inputs, uint32_t n_inputs,
                                                      tfr_err *err);

/*
 * A run with everything fixed, for callers who count nanoseconds: the plan, and the tensors that it
 * reads and writes. Running it takes no memory but for strings, no lock and no system call on
 * devices without queues; it only walks the plan. Inputs are read, and outputs written, in place at
 * each run; values that decide shapes, and variables, are read once, when the binding is made. Both
 * sets of tensors are retained.
 *
 * Outputs must be plain and have the types and shapes that the inputs give, and share no memory
 * with inputs or each other (TFR_EINVAL); one of strings must own them, and none may be read-only
 * (TFR_EPERM).
 * TFR_EUNSUPPORTED, with the reason, for a graph with variables that are updated, sequences,
 * control flow, or shapes that only a run can tell.
 */
typedef struct tfr_binding tfr_binding;
TFR_API TFR_MUST_CHECK tfr_status tfr_binding_create(tfr_session *session,
                                                     tfr_tensor *const *inputs, uint32_t n_inputs,
                                                     tfr_tensor *const *outputs, uint32_t n_outputs,
                                                     tfr_binding **out, tfr_err *err);
/* One thread at a time for each binding. After an error the outputs hold nothing of use. */
TFR_API TFR_MUST_CHECK tfr_status tfr_binding_run(tfr_binding *binding, tfr_err *err);
/* As tfr_session_run_fetch: the tensors of the other outputs hold nothing of use after it. */
TFR_API TFR_MUST_CHECK tfr_status tfr_binding_run_fetch(tfr_binding *binding, const uint32_t *fetch,
                                                        uint32_t n_fetch, tfr_err *err);
/* NULL is fine. Before the session is destroyed. */
TFR_API void tfr_binding_destroy(tfr_binding *binding);

/*
 * What the next run draws random numbers from: the seed, and the runs before it. Kept with the
 * variables in a checkpoint and set in another session of the graph, they make the runs after it
 * draw as those of this one would have. Bindings go on from where the session was when they were
 * made. [any]
 */
TFR_API void tfr_session_get_random(tfr_session *session, uint64_t *seed, uint64_t *step);
TFR_API void tfr_session_set_random(tfr_session *session, uint64_t seed, uint64_t step);

/* A copy of a variable's state, or its new state (same type and shape). TFR_ENOTFOUND, TFR_ELOST
 * (after a run that failed, see there). */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_get_variable(tfr_session *session, const char *name,
                                                           tfr_tensor **out, tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_session_set_variable(tfr_session *session, const char *name,
                                                           const tfr_tensor *value, tfr_err *err);

/* ---- what passes did ------------------------------------------------------------------------- */

/* Passes that ran when the session was made, in their order. */
TFR_API uint32_t tfr_session_n_passes(const tfr_session *session);
TFR_API TFR_MUST_CHECK tfr_status tfr_session_pass(const tfr_session *session, uint32_t i,
                                                   tfr_pass *out, tfr_err *err);

/* ---- what the last plan says ----------------------------------------------------------------- */

/*
 * Where a node runs and why. The texts live until the next run or the session's end. Of a loop that
 * needed more plans than are kept the last ones are told.
 */
typedef struct tfr_placement {
    uint32_t size;
    int32_t reason;      /* tfr_reason why it is not the first choice; TFR_REASON_NONE = it is */
    const char *node;    /* the node's name */
    const char *op;      /* "Conv" */
    const char *device;  /* "CPU:0" */
    const char *backend; /* "onednn:0"; "core" for what needs no kernel */
    const char *wanted;  /* the backend or device asked first */
    const char *text;    /* every "no" on the way, as sentences; "" = none */
    uint32_t fallback;   /* 1 = runs elsewhere than asked or preferred */
    uint32_t n_copies;   /* between memories, per run, to bring its inputs here */
    uint64_t copy_bytes;
    uint32_t random;   /* 1 = draws random numbers: another backend gives other values */
    int32_t program;   /* number of the program that it is a part of, or -1 */
    const char *alone; /* why its backend wants it in no program; "" = unspecified, or not asked */
    uint64_t time_ns;  /* that it takes in a run; 0 = no kernel */
    uint32_t time_measured;    /* 1 = in earlier runs; 0 = it is an estimate */
    uint32_t math_mode;        /* 1 = in the session's math mode, which is not strict */
    const char *note;          /* what its backend says of how it computes it; "" = nothing */
    uint32_t nondeterministic; /* 1 = its backend says that two runs give different values */
    uint32_t captured;         /* 1 = runs launch it as a part of a capture */
    /* Why it is in none, or what ended the capture before its own; "" = nothing, or its backend
     * captures no launches. */
    const char *capture;
    uint32_t plan; /* number of the plan that it is a part of, in the order of their first use */
    const char *graph; /* the name of that plan's graph: the whole one, or the body of a node */
} tfr_placement;

TFR_API uint32_t tfr_session_n_placements(const tfr_session *session);
TFR_API TFR_MUST_CHECK tfr_status tfr_session_placement(const tfr_session *session, uint32_t i,
                                                        tfr_placement *out, tfr_err *err);

/* Nodes that a backend has compiled as a whole. The texts live as those of a placement. */
typedef struct tfr_program_desc {
    uint32_t size;
    uint32_t n_nodes;
    const char *backend; /* "onednn:0" */
    const char *node;    /* the name of its first node */
    const char *text;    /* what was fused, in the words of the backend; "" = unspecified */
    uint32_t n_kernels, n_reorders; /* that one launch runs; 0 = unspecified */
    uint64_t workspace_bytes;       /* of the plan's arena, during a launch */
    uint64_t lower_bound;           /* most of them that hold something at one time */
    uint64_t constant_bytes;        /* packed weights that it added */
    uint64_t time_ns;               /* of one launch, as the backend estimates; 0 = unspecified */
} tfr_program_desc;

TFR_API uint32_t tfr_session_n_programs(const tfr_session *session);
TFR_API TFR_MUST_CHECK tfr_status tfr_session_program(const tfr_session *session, uint32_t i,
                                                      tfr_program_desc *out, tfr_err *err);

/* Counts of the last plan and of the session so far. */
typedef struct tfr_session_stats {
    uint32_t size;
    uint32_t n_nodes, n_steps, n_launches, n_reorders; /* of the last run's plans, per run */
    uint32_t n_copies, n_waits, n_fallbacks;
    uint64_t copy_bytes;
    uint64_t arena_bytes;       /* sum over memories */
    uint64_t arena_lower_bound; /* bytes alive at once at the worst step, at least */
    uint64_t n_runs, n_plans;   /* since the session began */
    uint64_t plan_ns;           /* of the last run; runs are not timed, see trace.h */
    uint32_t n_programs;        /* of the last run's plans */
    uint32_t n_math_mode;       /* nodes that compute in the session's math mode, if not strict */
    /* States of variables brought to another memory or layout, since the session began. */
    uint64_t variable_moves;
    uint64_t n_plans_dropped; /* to give their memory to others, since the session began */
    uint32_t n_captures;      /* of the last run's plans: each is one launch of its queue, and */
    uint32_t n_captured;      /* stands for so many of n_launches together */
    /*
     * Of the last run, or of what was prepared: its plans, and nodes of the graph that are in none
     * of them. These are control flow and what works on sequences, which the core does itself, and,
     * before a run, what stands behind a value that decides shapes and that only a run tells.
     */
    uint32_t n_used_plans, n_unplanned;
} tfr_session_stats;

TFR_API TFR_MUST_CHECK tfr_status tfr_session_get_stats(const tfr_session *session,
                                                        tfr_session_stats *out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif

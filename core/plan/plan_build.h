/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_build.h: what the three passes that make a plan share: plan_infer.c (types, known values,
 * where the section ends), plan_place.c (which nodes are needed, a backend and a kernel for each),
 * plan_buffers.c and plan_steps.c (buffers and steps). All of it is freed when the plan stands.
 */
#ifndef TFR_CORE_PLAN_BUILD_H
#define TFR_CORE_PLAN_BUILD_H

#include "kernel/call.h"
#include "kernel/key.h"
#include "plan/plan.h"

#define TFR__NO_BUFFER UINT32_MAX
#define TFR__NO_TWIN   UINT32_MAX

typedef struct tfr__build_node {
    /* First what each plan of other shapes looks at, for all nodes. */
    bool needed;    /* makes a value that is wanted and not known */
    bool changed;   /* since the plan that this build is from: shapes, or what is known */
    bool is_copied; /* by the twin's, when types were inferred again */
    bool by_chance; /* and other shapes may make those of the twin others */
    bool varies;    /* its attributes are not those of the shapes before */
    bool measured;  /* time_ns; else it is an estimate */
    int32_t group;  /* its number in the build's groups, or -1 */
    int32_t label;
    uint32_t stream;
    tfr__backend *claim; /* wants it in the group that it calls label */
    tfr_kernel *kernel;
    /* Nodes before it, counted from 1, 0 = none: the last one that is called alike, and the one
     * whose outputs have its types, TFR__NO_TWIN = there is none (plan_twin.c). */
    uint32_t before, twin;
    uint64_t consumed;   /* bit i: the kernel has input i in a form of its own */
    uint64_t plain;      /* bit i: input i must be made plain (inputs over 63 always are) */
    tfr__backend *first; /* choice, before prices */
    char *alone;         /* why it is in no program */
    uint64_t time_ns;
    tfr__attr_list attrs; /* canonical */
    tfr__choice choice;   /* kernels only */
    tfr__work work;
    tfr__tuning_key key;    /* of its call, the backend aside */
    tfr__tuning_key priced; /* and with the chosen one, whose are */
} tfr__build_node;

/* Nodes that one backend wants to compile as a whole, and the program once it has. */
typedef struct tfr__group {
    tfr__backend *backend;
    int32_t label;        /* the backend's own number of it */
    uint32_t first, last; /* its members lie between, both included */
    bool changed;         /* they are nodes that other shapes change; else none of them is */
    uint32_t stream;
    int32_t like;    /* the group whose program it has for all shapes, or -1 */
    tfr_value *args; /* inputs, then outputs, of launches */
    uint32_t n_inputs, n_outputs;
    bool *in_place;       /* [output][input]: the program may write the one over the other; behind
                             args */
    tfr__program program; /* n_nodes 0: dissolved */
} tfr__group;

/* A value in a layout of the backend that makes it. */
typedef struct tfr__value_layout {
    uint64_t layout, bytes;
    bool appends; /* its program writes it behind an input */
} tfr__value_layout;

/* Where a buffer of an arena lay in plans of other shapes, with room to grow. */
typedef struct tfr__room {
    uint64_t bytes, offset;
    uint32_t memory, first, last; /* memory UINT32_MAX: it is in none */
} tfr__room;

/* What is asked for most comes first: what lies in the first 128 bytes takes less code. */
typedef struct tfr__build {
    const tfr__plan_env *env;
    const tfr__section *section; /* while a plan is made */
    bool stays; /* with its plan, so that one for other shapes can be made from it: plan_again.c */
    bool is_again;    /* it has been a plan of other shapes before */
    bool renews;      /* the plan is the one before, if it can be: plan_renew.c */
    bool from_inside; /* values from outside are not resolved at the moment */
    bool chance;      /* equal types were seen that other shapes may make unequal */
    bool is_late;     /* the work of its nodes is that of other shapes */
    tfr__streams *streams;
    const tfr_graph *graph;
    tfr__plan *plan;
    uint32_t first, end;
    uint32_t n_node_states, n_groups, n_order, n_rooms, n_arenas, n_looks;
    tfr__build_node *nodes; /* by node - first */
    tfr__type *types;       /* by value; kind ABSENT = not inferred (yet) */
    tfr_tensor **known;     /* by value: its value, plain, on the host */
    tfr__group *groups;
    uint32_t *order;            /* needed nodes as they run; of each group there is one member */
    tfr__value_layout *layouts; /* by value */
    bool *dynamic;              /* by value: shape known only after the launch */
    bool *wanted;               /* by value: a node that is needed reads it */
    tfr_value *root;            /* by value: the value whose bytes it has (views) */
    uint32_t *uses; /* by root: reads still to come, of needed nodes and of the section's caller */
    tfr_value
        *live_out; /* by root: a value of the class that leaves the section, or TFR_VALUE_NONE */
    bool *updates; /* by value: the new state of a variable, written where that lives */
    uint32_t *readers;  /* by value: needed nodes that read it, each counted once */
    uint32_t *live_in;  /* by value: its number in the plan's live-ins plus one, 0 = none */
    int32_t *number;    /* by value: -1, but while plan_compile.c numbers those of a group */
    tfr__room *rooms;   /* by buffer, as plans of other shapes had them last; or NULL */
    tfr__arena *arenas; /* what these take, by memory */
    /* By value: TFR_VALUE_NONE = as for the shapes before; else the one that it is equal to in
     * type, for all shapes, or itself. */
    tfr_value *follows;
    uint64_t decided_ns;        /* a guess of what its nodes took when they were placed */
    struct tfr__course *course; /* or NULL */
    uint32_t *seen;             /* by value: the last look (tfr__build_look) that has met it */
    int64_t grown_by; /* what all dims that move have grown by, from renewal to renewal; or 0 */
    uint32_t n_alike; /* renewals in a row for which that was the same */
    uint32_t n_append_changes; /* answers of compilers that differ in it from those before */
} tfr__build;

/* The value's tensor in the environment if it comes from outside the section, else NULL. */
static inline tfr_tensor *tfr__build_live_in(const tfr__build *b, tfr_value value)
{
    const tfr__value *v = &b->graph->values[value];
    if (v->role == TFR__ROLE_CONSTANT ||
        (v->role == TFR__ROLE_NODE && (uint32_t)v->node >= b->first))
        return NULL;
    return b->section->values[value];
}

/* A look at the operands of a node; then, for each: is it the first time in this look? */
static inline void tfr__build_look(tfr__build *b)
{
    b->n_looks++;
}

static inline bool tfr__build_meet(const tfr__build *b, tfr_value v)
{
    const bool first = b->seen[v] != b->n_looks;
    b->seen[v] = b->n_looks;
    return first;
}

static inline const tfr__node *tfr__build_node_at(const tfr__build *b, uint32_t i)
{
    return &b->graph->nodes[b->first + i];
}

/* The node of the section, counted from its first, that has to run before readers of v; or -1. */
static inline int64_t tfr__build_maker(const tfr__build *b, tfr_value v)
{
    if (v == TFR_VALUE_NONE || b->known[v] || b->graph->values[v].role != TFR__ROLE_NODE)
        return -1;
    return (int64_t)b->graph->values[v].node - b->first;
}

/* The variable, by number, whose state v is, if that lives where it is used; else -1. */
static inline int32_t tfr__build_variable(const tfr__build *b, tfr_value v)
{
    const tfr__variables *vars = b->section->variables;
    const int32_t n = vars && v != TFR_VALUE_NONE ? vars->number[v] : -1;
    return n < 0 || vars->items[n].host_only || b->known[v] ? -1 : n;
}

/* The variable whose next state v is, by number, or -1. */
static inline int32_t tfr__build_update_of(const tfr__build *b, tfr_value v)
{
    return b->section->variables ? b->section->variables->update_of[v] : -1;
}

/* Does launch itself write output k of the node, which is none of a program, on the host? */
static inline bool tfr__build_on_host(const tfr__build_node *state, uint32_t k)
{
    return k < 64 && state->choice.answer.host_outputs >> k & 1;
}

/* Is v given out as a tensor? New states are, unless the plan writes them where they live. */
static inline bool tfr__build_leaves(const tfr__build *b, tfr_value v)
{
    return b->section->last_use[v] >= (int32_t)b->end ||
           (tfr__build_update_of(b, v) >= 0 && !b->updates[v]);
}

/* Is v read by anybody after the section, or the new state of a variable? */
static inline bool tfr__build_remains(const tfr__build *b, tfr_value v)
{
    return b->updates[v] || tfr__build_leaves(b, v);
}

struct tfr__views;
tfr_status tfr__build_infer(tfr__build *b, tfr_err *err);
/* Node i, whose attributes are not there yet; *ends = the section ends before it. */
tfr_status tfr__build_infer_node(tfr__build *b, uint32_t i, bool *ends, tfr_err *err);
/* The value, borrowed from known, or NULL if it takes a launch (or memory) to know it. */
tfr_tensor *tfr__build_resolve(tfr__build *b, tfr_value value);
/* The plan depends on what this value from outside holds, which is t. */
tfr_status tfr__build_shape_input(tfr__build *b, tfr_value value, tfr_tensor *t);
tfr_status tfr__build_place(tfr__build *b, tfr_err *err);
/* The same for a build whose groups and choices stand, and some of whose nodes have changed; *same
 * = they can be kept. */
tfr_status tfr__build_place_again(tfr__build *b, bool *same, tfr_err *err);
tfr_status tfr__build_prepare(tfr__build *b, uint32_t i, tfr_err *err); /* the kernel of a node */
void tfr__kernel_drop(const tfr__streams *streams, tfr__backend *backend, tfr_kernel *kernel);
/* Ends both: prepares what is in no program, and says of all nodes where they are. */
tfr_status tfr__build_placed(tfr__build *b, tfr_err *err);
tfr_status tfr__build_steps(tfr__build *b, tfr_err *err);
/* plan.c: all that it has, and itself. */
void tfr__build_free(tfr__build *b);
/* plan_again.c: whether plans for other shapes may be wanted, and be made from this build. */
bool tfr__build_can_stay(const tfr__build *b);
/* What a section reads from outside of another shape than `like` had it: into the build, which
 * was like's, with all that follows for types and known values; *same = the rest of it holds. */
tfr_status tfr__build_infer_again(tfr__build *b, const tfr__plan *like, bool *same, tfr_err *err);
/* Node i alone, one of whose inputs has changed; anew: it has no twin. */
tfr_status tfr__build_infer_changed(tfr__build *b, uint32_t i, bool anew, bool *holds,
                                    tfr_err *err);
/* Is one of them another one than for the shapes before? */
bool tfr__build_reads_changed(const tfr__build *b, uint32_t i);
/* May a program take the node in other sizes without a word of its backend, which has the program's
 * compiler look at them? Or is it not launched at all? */
bool tfr__build_goes_along(const tfr__build *b, uint32_t i);
/* Asks anew about a node that has changed: *same = it is taken as it was. */
tfr_status tfr__build_choose_again(tfr__build *b, uint32_t i, bool *same, tfr_err *err);
/* How much there is to do in nodes that have changed, into the plan's rows, unless it is there, and
 * all types and values that renewals have left out; false: these cannot be had. */
bool tfr__build_count(tfr__build *b);
/* Is that between half and twice as much as when the nodes were placed? */
bool tfr__build_does_as_much(const tfr__build *b);
bool tfr__build_wants_to_be_asked(const tfr__build *b);
/* A group that has a program once more; a plan that is renewed has the arguments already. */
tfr_status tfr__group_compile_again(tfr__build *b, uint32_t group, struct tfr__views *seen,
                                    tfr_err *err);
/*
 * plan_renew.c: whether the plan may become that of the section. It lets go of what keeps it valid
 * for its own shapes, unless it only gives its build away.
 */
bool tfr__plan_may_renew(tfr__plan *p, const tfr__build *b, const tfr__section *section);
/* The plan of the build, whose shapes, values and programs are new, becomes theirs; false: it
 * cannot, and is as it was. */
bool tfr__plan_renew(tfr__build *b);
/* It is none for any shapes, but what its programs were given stays until they are dropped. */
void tfr__plan_retire(tfr__plan *p, const tfr__build *b);
/* plan_course.c: what renewals have in common; NULL where they may differ. It is the build's. */
typedef struct tfr__course tfr__course;
void tfr__course_learn(tfr__build *b); /* before the plan is renewed */
void tfr__course_free(tfr__build *b);
/* Notes whether what comes in has grown from that of `like` by as much as the last time. */
void tfr__build_note_growth(tfr__build *b, const tfr__plan *like);
/* Do the section's shapes differ from those of the plan as those did from the ones before? */
bool tfr__course_fits(tfr__build *b);
/* Types and values that the last renewals have left out. */
bool tfr__course_catch_up(tfr__build *b);
/* Types, values and programs for them; *same = all went as it did before. */
tfr_status tfr__course_take(tfr__build *b, bool *same, tfr_err *err);
/* Is it a constant of other shapes that is another one for these? */
static inline bool tfr__build_may_change(const tfr__build *b, const tfr__buffer *buffer)
{
    return buffer->kind == TFR__BUFFER_CONSTANT && buffer->value != TFR_VALUE_NONE &&
           b->graph->values[buffer->value].role == TFR__ROLE_NODE;
}
/* plan_variables.c: which new states of variables the plan writes where these live. */
void tfr__build_updates(tfr__build *b);
/* plan_program.c: groups of nodes for programs, the programs, and the order of everything. */
tfr_status tfr__build_programs(tfr__build *b, tfr_err *err);
/* The groups that stand, for other shapes; *same, which is true, = they can be kept. */
tfr_status tfr__build_programs_again(tfr__build *b, bool *same, tfr_err *err);
/* plan_compile.c */
/* Asks a backend which nodes it wants to compile; sets claim, label and alone of free ones. */
tfr_status tfr__group_propose(tfr__build *b, tfr__backend *backend, tfr_err *err);
/* Its nodes become kernels; why is kept for those that have no reason yet. */
void tfr__group_dissolve(tfr__build *b, uint32_t group, const char *why);
/* Compiles, or dissolves the group: then its n_nodes is 0. seen: groups that were compiled before,
 * or NULL; one that is equal but for the values it is given gets the same program. */
tfr_status tfr__group_compile(tfr__build *b, uint32_t group, struct tfr__views *seen, tfr_err *err);
/* A program of a group that has one, for types and values that it will have later: the group stays
 * as it is. False: there is none. */
bool tfr__group_compile_ahead(tfr__build *b, uint32_t group, tfr__program *out);
/* Makes room for the arguments of a group that has none. False: there is no memory. */
bool tfr__group_arguments(tfr__group *group, uint32_t n_inputs, uint32_t n_outputs);
/* The program, or what is left of it, and its arguments. */
void tfr__group_free(tfr__group *group);
/* p, which drops what it has, has the program of `from`, too. */
void tfr__program_take(tfr__program *p, const tfr__program *from);
/* plan_twin.c */
/* Finds, before the first look for twins, nodes that are called alike. */
tfr_status tfr__twins_begin(tfr__build *b, tfr_err *err);
/*
 * Whether an earlier node has inputs of the same types and, where they count, values as node i. Its
 * outputs have those of that one's then; values are borrowed for known[k] of outputs that were
 * known, which are NULL elsewhere.
 */
bool tfr__twin_types(tfr__build *b, uint32_t i, tfr_tensor *const *known);
/* The same bytes of the same type and shape, and no strings. */
bool tfr__same_bytes(const tfr_tensor *a, const tfr_tensor *b);
/* plan_blob.c: what save gave for an equal group once, if the backend has save; then put. */
typedef struct tfr__blob {
    tfr__tuning_key key;
    char *data; /* NULL = nothing is kept */
    uint32_t bytes;
} tfr__blob;
void tfr__blob_get(tfr_runtime *runtime, const tfr__backend *backend, const tfr_program_graph *g,
                   tfr__blob *blob);
/* Keeps what save gives now, if it is new; without a program only frees. The lock is the caller's.
 */
void tfr__blob_put(tfr_runtime *runtime, tfr__backend *backend, tfr_program *program,
                   tfr__blob *blob);
/* plan_build.c */
/* The call of a node; plain: without the strides of its inputs. */
tfr_status tfr__build_call(tfr__build *b, uint32_t i, bool plain, tfr__call *call, tfr_err *err);
/* Has the node an input that its kernel would see with strides? */
bool tfr__build_any_strided(const tfr__build *b, uint32_t i);
/* The strides that the kernel of a node sees for its input i; NULL = plain. */
const int64_t *tfr__build_strides(const tfr__build *b, const tfr__build_node *state, tfr_value v,
                                  uint32_t i);

/* The live-in that v, which a program makes, may be written behind, or TFR_VALUE_NONE. */
tfr_value tfr__build_appends(const tfr__build *b, tfr_value v);
/* Keeps a tensor alive as long as the plan. */
tfr_status tfr__build_keep(tfr__build *b, tfr_tensor *tensor, tfr_err *err);

#endif

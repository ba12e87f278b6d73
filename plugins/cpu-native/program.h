/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: how this backend compiles a group of nodes.
 *
 *   program_forms.c   which calls items do
 *   program_read.c    the group becomes a list of items over numbered values
 *   program_fuse.c    items take over activations, residual sums and pools that follow them
 *   program_layout.c  which values are blocked; items that reorder are put in between
 *   program_plan.c    items become steps with addresses in an arena, for a number of samples
 *   program_kit.c     what the makers of steps ask of it
 *   program_conv.c, program_window.c, program_flat.c, program_move.c, program_rows.c
 *                     the steps of each kind of item
 *   program_pack.c    packed constants of steps
 *   program_winograd.c, program_product.c
 *                     those of 3 x 3 convolutions with fewer products, and of large products
 *   program_attention.c the items of an attention become one, and its step
 *   program_measure.c which of the ways to share out is fastest
 *   program_run.c     shares the steps out among threads
 *   program.c         the facet: propose, compile, launch, drop, save
 *   program_kernel.c  the kernel of a single node, which is a program of one item
 *
 * Threads take whole samples through all steps (units of some samples), or share each step.
 */
#ifndef TFR_DNN_PROGRAM_H
#define TFR_DNN_PROGRAM_H

#include <pthread.h>

#include "gather.h"
#include "isa.h"
#include "kernel.h"

typedef struct tfr_dnn_value {
    int rank;
    int64_t dims[TFR_MAX_RANK];
    int32_t dtype;
    const void *known;
    const void *unaligned; /* known as the core gave it, if it lies so; NULL = known is aligned */
    int root;              /* whose bytes it has: its own number, or that of what it is a view of */
    int arg;               /* argument of launch, or -1 */
    bool output;           /* that argument is an output */
    bool batched;          /* dims[0] counts samples, one after the other in memory */
    bool blocked;
    int readers;
} tfr_dnn_value;

typedef enum tfr_dnn_item_kind {
    TFR_DNN_ITEM_NONE, /* taken over by another */
    TFR_DNN_ITEM_VIEW,
    TFR_DNN_ITEM_COPY,
    TFR_DNN_ITEM_REORDER, /* plain to blocked or back, as the values say */
    TFR_DNN_ITEM_PAD,     /* zeros around planes; plain */
    TFR_DNN_ITEM_CONV,
    TFR_DNN_ITEM_DEPTHWISE,
    TFR_DNN_ITEM_POOL,
    TFR_DNN_ITEM_MEAN, /* over all pixels */
    TFR_DNN_ITEM_ACT,
    TFR_DNN_ITEM_BINARY,
    TFR_DNN_ITEM_PRODUCT,         /* rows times a constant matrix */
    TFR_DNN_ITEM_BATCHED_PRODUCT, /* both sides are computed */
    TFR_DNN_ITEM_SOFTMAX,         /* over the last dim */
    TFR_DNN_ITEM_LAYER_NORM,      /* over the last dim */
    TFR_DNN_ITEM_TRANSPOSE,
    TFR_DNN_ITEM_CONCAT,
    TFR_DNN_ITEM_GATHER,
    TFR_DNN_ITEM_CAST,
    TFR_DNN_ITEM_ATTENTION
} tfr_dnn_item_kind;

enum { TFR_DNN_ITEM_INPUTS = 8 };

/* softmax(scale Q K' + mask) V, by heads. Steps in floats from sample, head, row to the next. */
typedef struct tfr_dnn_heads {
    int64_t heads, rows, keys, depth, width; /* width: of V and the result */
    int64_t q[3], k[3], v[3], to[3], mask[3];
    int64_t k_term; /* from number to number of a key: 1, or k[2] is */
} tfr_dnn_heads;

typedef struct tfr_dnn_item {
    tfr_dnn_item_kind kind;
    int node; /* of the graph, or -1 */
    int n_inputs;
    int inputs[TFR_DNN_ITEM_INPUTS]; /* -1 = absent */
    int output;
    int residual; /* a value that is added before act, or -1 */
    tfr_dnn_act act;
    /* CONV, DEPTHWISE, POOL */
    int64_t kernel[2], stride[2], dilation[2], pad[2]; /* padding at the beginning */
    bool average, count_padding;
    float count;
    bool plain_source; /* CONV: few channels, the source is plain and padded */
    bool pooled;       /* CONV: with a maximum over 2 x 2 */
    /* BATCH_NORM folded: constants of a scale and a shift for each output channel, or NULL */
    const float *scale, *shift;
    tfr_dnn_binary_kind binary;
    /* PRODUCT */
    bool transposed; /* weights are [N, K] */
    bool is_big;     /* by gemm.h: set when a plan is made */
    float alpha;
    float beta;             /* of input 2, which is absent where beta is 0 */
    float epsilon;          /* LAYER_NORM */
    int perm[TFR_MAX_RANK]; /* TRANSPOSE */
    int axis;               /* CONCAT, GATHER */
    tfr_dnn_heads heads;    /* ATTENTION: inputs Q, K, V, mask; alpha is the scale */
    const tfr_call *call;   /* of the node, if there is one */
} tfr_dnn_item;

typedef struct tfr_dnn_ir {
    const tfr_program_graph *graph;
    const tfr_compile_options *options; /* NULL in tests */
    tfr_plugin_device *device;
    tfr_dnn_value *values;
    int n_values, room_values;
    tfr_dnn_item *items;
    int n_items, room_items;
    int *twins;      /* of each value: the one in the other layout, or -1 */
    int64_t samples; /* dims[0] of every batched value is a multiple */
    bool separable;  /* samples do not meet */
    bool failed;     /* no memory */
    int n_fused, n_reorders;
} tfr_dnn_ir;

const tfr_program_node *tfr_dnn_graph_node(const tfr_program_graph *graph, int i);
const tfr_program_value *tfr_dnn_graph_value(const tfr_program_graph *graph, int i);

/* ---- program_forms.c ---- */

typedef struct tfr_dnn_form {
    const char *name; /* of the op */
    bool (*ok)(const tfr_call *call);
    tfr_dnn_item_kind kind;
    int sub;          /* of ACT and BINARY */
    const char *what; /* is done; NULL = everything of the types */
} tfr_dnn_form;

/* The row of an op; NULL = items do not know it. */
const tfr_dnn_form *tfr_dnn_form_of(const tfr_call *call);
/* NULL = no item does the call. */
const tfr_dnn_form *tfr_dnn_find_form(const tfr_call *call);
/* The same, on the processor of a device. */
bool tfr_dnn_is_native(const tfr_plugin_device *device, const tfr_call *call);
/* A known operand of one float32, which may lie anywhere. */
float tfr_dnn_known(const tfr_operand *o);
/* Whether a program can hold the node at all; else the answer's text says why not. */
bool tfr_dnn_can_hold(const tfr_call *call, const char **why);

/* ---- program_read.c ---- */

int32_t tfr_dnn_read(tfr_dnn_ir *ir, tfr_err *err);
void tfr_dnn_ir_end(tfr_dnn_ir *ir);
/* The number of a new value like another, or of a new item; 0 and ir->failed without memory. */
int tfr_dnn_new_value(tfr_dnn_ir *ir, const tfr_dnn_value *like);
tfr_dnn_item *tfr_dnn_new_item(tfr_dnn_ir *ir, tfr_dnn_item_kind kind);
int64_t tfr_dnn_elements(const tfr_dnn_value *v);
/* Sets readers of values, for those who fuse. */
void tfr_dnn_count_readers(tfr_dnn_ir *ir);

/* ---- program_fuse.c, program_layout.c ---- */

void tfr_dnn_fuse(tfr_dnn_ir *ir);
int32_t tfr_dnn_layout(tfr_dnn_ir *ir, tfr_err *err);

/* ---- program_attention.c ---- */

void tfr_dnn_fuse_attention(tfr_dnn_ir *ir);

/* ---- steps ---- */

/* Where something lies at launch: known, or in a base with an offset. */
typedef struct tfr_dnn_ref {
    const char *known;
    int64_t offset;
    int base;
} tfr_dnn_ref;

/*
 * What operands hold can be wrong, too: the first bad index of the earliest step. The other steps
 * go on, for nothing that they read makes them fail.
 */
typedef struct tfr_dnn_fault {
    pthread_mutex_t lock;
    bool there;
    int step;
    tfr_dnn_bad_index bad;
} tfr_dnn_fault;

typedef struct tfr_dnn_bases {
    char *const *base; /* 0 the arena, 1 + i argument i */
    char *scratch;     /* of the thread, for this step */
    tfr_dnn_fault *fault;
    int64_t unit; /* of samples */
    char *shared; /* memory of all threads, for the steps of an item */
} tfr_dnn_bases;

static inline float *tfr_dnn_at(const tfr_dnn_bases *bases, const tfr_dnn_ref *ref)
{
    const char *p = ref->known ? ref->known : bases->base[ref->base] + ref->offset;
    return (float *)(uintptr_t)p;
}

/* Work that can be cut anywhere between 0 and n. */
typedef struct tfr_dnn_run {
    void (*run)(const void *params, const tfr_dnn_bases *bases, int64_t begin, int64_t end);
    const void *params;
    int64_t n;
    double cost; /* ns on one thread, a guess */
    double flops, bytes;
    int node;                        /* of the graph, or -1 */
    const char *name;                /* of the kind */
    uint64_t scratch, scratch_bytes; /* of the first thread in the arena, and of each */
    uint64_t shared;                 /* in the arena */
    bool alone;                      /* too small to be shared out, or it cannot be cut */
} tfr_dnn_run;

/*
 * Where a step that is shared by threads is cut: into parts of places (rows, tiles of pixels), in
 * which all else is counted. Each thread takes about a part. If the steps around it are cut alike,
 * it finds most of what it reads in its own cache.
 */
typedef struct tfr_dnn_cut {
    int64_t first, n; /* places */
    int64_t rest;     /* of the number, inside of the part */
} tfr_dnn_cut;

/* Of a number, in parts of `all` places with each of `each` numbers. */
static inline tfr_dnn_cut tfr_dnn_cut_at(int64_t number, int64_t all, int64_t each, int parts)
{
    tfr_dnn_cut part = {0, all, number};
    int64_t k = 0;

    while (parts > 1 && (k + 1) * all / parts * each <= number)
        k++;
    part.first = k * all / parts;
    part.n = (k + 1) * all / parts - part.first;
    part.rest = number - part.first * each;
    return part;
}
/* A program for some number of samples. */
typedef struct tfr_dnn_plan {
    tfr_dnn_run *runs;
    int n_runs;
    int64_t samples;
    uint64_t arena_bytes, lower_bound;
    void **blocks; /* memory of params */
    int n_blocks;
    struct tfr_dnn_constant **constants;
    int n_constants;
} tfr_dnn_plan;

/* What the makers of steps share. Errors stick. */
typedef struct tfr_dnn_planner {
    tfr_dnn_ir *ir;
    const tfr_dnn_isa *isa;
    tfr_dnn_plan *plan;
    int64_t samples;         /* of this plan */
    int lanes;               /* threads that share a step, each with scratch memory */
    tfr_arena_block *blocks; /* of values, placed */
    uint32_t n_blocks;
    uint64_t scratch;  /* bytes that the item needs for a thread */
    uint64_t shared;   /* and for all of them */
    tfr_dnn_ref *refs; /* of each value */
    tfr_err *err;
    int32_t status;
    uint64_t constant_bytes;          /* that were added */
    const tfr_dnn_item *item;         /* whose steps are made */
    struct big_product *last_product; /* of program_product.c */
    struct tfr_dnn_filling *fillings; /* of program_pack.c */
    int n_fillings;
} tfr_dnn_planner;

/* lanes: how many threads may share a step. */
int32_t tfr_dnn_make_plan(tfr_dnn_ir *ir, int64_t samples, int lanes, tfr_dnn_plan *plan,
                          uint64_t *constant_bytes, tfr_err *err);
void tfr_dnn_drop_plan(tfr_plugin_device *device, tfr_dnn_plan *plan);

/* ---- program_kit.c ---- */

/* By kind, in records of what took time. */
extern const char *const tfr_dnn_item_names[];

enum { TFR_DNN_ALIGNMENT = 64 /* of everything in an arena */ };

static inline uint64_t tfr_dnn_aligned(uint64_t bytes)
{
    return (bytes + TFR_DNN_ALIGNMENT - 1) & ~(uint64_t)(TFR_DNN_ALIGNMENT - 1);
}

/* Zeroed memory that lives as long as the plan; NULL after an error. */
void *tfr_dnn_keep(tfr_dnn_planner *p, size_t bytes);
/* dims[0] for the samples of this plan. */
int64_t tfr_dnn_first_dim(const tfr_dnn_planner *p, const tfr_dnn_value *v);
int64_t tfr_dnn_count(const tfr_dnn_planner *p, const tfr_dnn_value *v);
tfr_dnn_ref tfr_dnn_ref_of(const tfr_dnn_planner *p, int value);
tfr_dnn_run *tfr_dnn_add_run(tfr_dnn_planner *p,
                             void (*run)(const void *, const tfr_dnn_bases *, int64_t, int64_t),
                             const void *params, int64_t n, double cost);
void tfr_dnn_need_scratch(tfr_dnn_planner *p, uint64_t bytes);
void tfr_dnn_need_shared(tfr_dnn_planner *p, uint64_t bytes);
/* How many parts a step over so many pixels is cut into; 1 = as its numbers lie. */
int tfr_dnn_parts(const tfr_dnn_planner *p, int64_t pixels);

/* ---- program_pack.c ---- */

/*
 * A packed constant: the one that was made with an equal key before, or a new one, which fill
 * writes over zeros. NULL after an error.
 */
typedef struct tfr_dnn_constant_key {
    const void *data[4];
    int64_t numbers[10];
} tfr_dnn_constant_key;
const float *tfr_dnn_pack(tfr_dnn_planner *p, const tfr_dnn_constant_key *key, uint64_t bytes,
                          void (*fill)(float *to, const void *user), const void *user);
/*
 * The same, but fill runs at the end of planning, on any thread, with a copy of user. from: the
 * floats of value, aligned.
 */
const float *tfr_dnn_pack_later(tfr_dnn_planner *p, const tfr_dnn_constant_key *key, uint64_t bytes,
                                void (*fill)(float *to, const float *from, const void *user),
                                const void *user, size_t user_bytes, int value);
/* Fills what waits, or after an error forgets it. */
void tfr_dnn_fill_packed(tfr_dnn_planner *p);
/* Aligned copies of the values whose readers want them so. */
void tfr_dnn_align_known(tfr_dnn_planner *p);

/* ---- makers of steps ---- */

/* program_conv.c */
void tfr_dnn_plan_conv(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_product(tfr_dnn_planner *p, const tfr_dnn_item *item);
/* program_product.c */
bool tfr_dnn_is_big_product(const tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_big_product(tfr_dnn_planner *p, const tfr_dnn_item *item);
/* program_winograd.c */
int tfr_dnn_winograd_form(const tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_winograd(tfr_dnn_planner *p, const tfr_dnn_item *item, int form);
/* program_window.c */
void tfr_dnn_plan_depthwise(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_pool(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_mean(tfr_dnn_planner *p, const tfr_dnn_item *item);
/* program_flat.c */
void tfr_dnn_plan_act(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_binary(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_copy(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_reorder(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_pad(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_concat(tfr_dnn_planner *p, const tfr_dnn_item *item);
/* program_move.c */
void tfr_dnn_plan_gather(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_cast(tfr_dnn_planner *p, const tfr_dnn_item *item);
/* program_rows.c */
void tfr_dnn_plan_rows(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_transpose(tfr_dnn_planner *p, const tfr_dnn_item *item);
void tfr_dnn_plan_batched_product(tfr_dnn_planner *p, const tfr_dnn_item *item);

/* program_attention.c */
void tfr_dnn_plan_attention(tfr_dnn_planner *p, const tfr_dnn_item *item);

/* ---- program_run.c ---- */

enum { TFR_DNN_PROGRAM_ARGS = 255 };

typedef struct tfr_dnn_sharing {
    tfr_plugin_device *device;
    const tfr_dnn_plan *plan;
    int64_t units; /* of samples, one after the other; 1 = threads share the steps */
    int n_args;
    const int64_t *unit_bytes; /* of each argument, from unit to unit */
    uint64_t lane_bytes;       /* of the arena of a thread that takes units */
    uint64_t workspace_bytes;
    uint64_t time_ns; /* that was measured, or 0 */
    bool share;       /* several threads */
} tfr_dnn_sharing;

/* id: of the launch, for records of what took time; 0 = none are wanted */
int32_t tfr_dnn_run_program(const tfr_dnn_sharing *l, void *workspace, char *const *args,
                            uint64_t id, tfr_err *err);

/* ---- program_measure.c ---- */

/* What was chosen, as save gives it. */
typedef struct tfr_dnn_choice {
    uint32_t magic, threads;
    int64_t samples; /* of a unit; 0 = threads share the steps */
} tfr_dnn_choice;

tfr_dnn_choice tfr_dnn_choice_of(const tfr_dnn_sharing *l);
/* unit_bytes has room for all arguments and lives as long as the launch. */
int32_t tfr_dnn_choose_plan(tfr_dnn_ir *ir, const tfr_compile_options *options, tfr_dnn_plan *plan,
                            tfr_dnn_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                            tfr_err *err);

/* Steps are shared by all threads, and nothing is measured. */
int32_t tfr_dnn_share_plan(tfr_dnn_ir *ir, tfr_dnn_plan *plan, tfr_dnn_sharing *l,
                           int64_t *unit_bytes, uint64_t *constant_bytes, tfr_err *err);

/* ---- program_kernel.c: for native calls ---- */

void tfr_dnn_item_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer);
void tfr_dnn_item_prepare(tfr_dnn_build *b, const tfr_call *call);

/* ---- program.c ---- */

extern const tfr_program_facet tfr_dnn_program_facet;

#endif

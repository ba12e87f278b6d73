/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: how this backend compiles a group of nodes. program_ir.h has the items,
 * program_steps.h the steps, program_stages.h those of training.
 *
 *   program_forms.c   which calls items do: the table
 *   program_forms_window.c, program_forms_sums.c, program_forms_elementwise.c
 *                     of convolutions and pools; of products, reductions, norms; of the others
 *   program_levels.c  which nodes go together where others stand between them
 *   program_lone.c    moves of half that no program needs
 *   program_ir.c      the lists of items and values
 *   program_read.c    the group becomes a list of items over numbered values
 *   program_read_split.c the nodes that become several items
 *   program_find.c    who makes and who reads a value
 *   program_images.c  transposes and pads around convolutions that need not be
 *   program_lift.c    windows over one or three axes become windows over two
 *   program_factors.c factors and terms of channels behind convolutions are in their weights
 *   program_branches.c convolutions of one image that are summed are one
 *   program_one_pixel.c transposed convolutions of one pixel are products
 *   program_fuse.c    items take over activations, residual sums and pools that follow them
 *   program_layout.c  which values are blocked; items that reorder are put in between
 *   program_layout_conv.c the same of convolutions, and what is put in front of them
 *   program_samples.c which values hold one sample after the other
 *   program_tokens.c  which images have the channels last, as transformers have them
 *   program_channels.c channels of blocked images that are cut out or put together
 *   program_front.c   convolutions of 1 x 1 as parts of depthwise ones
 *   program_plan.c    items become steps with addresses in an arena, for a number of samples
 *   program_kit.c     what the makers of steps ask of it
 *   program_conv.c, program_window.c, program_flat.c, program_concat.c, program_move.c,
 *   program_rows.c    the steps of each kind of item
 *   program_conv_groups.c convolutions in groups
 *   program_tile_table.c which pixels tiles of convolutions have, and where these find their taps
 *   program_pack.c    packed constants of steps
 *   program_few_outs.c convolutions with few outputs
 *   program_few_rows.c products whose weights are most of what they read
 *   program_winograd.c, program_product.c
 *                     those of 3 x 3 convolutions with fewer products, and of large products
 *   program_nbits.c   products with weights of 4 and 8 bits
 *   program_stages.h  steps of training: sums over samples, and what is computed from weights
 *   program_train.c   which items become one there
 *   program_reduce.c  the gradients of weights, and sums
 *   program_gradient.c the gradients that go by samples
 *   program_norm.c    batch normalization and its gradient
 *   program_winograd_grad.c the gradient of weights of 3 x 3, with fewer products
 *   program_pool_rows.c pools of plain images
 *   program_pooled.c, program_sparse.c
 *                     convolutions with a maximum after them, and their gradients
 *   program_chain.c   what goes over memory element by element, many functions at once
 *   program_affine.c  multiples and sums around an activation as a part of it
 *   program_attention.c the step of an attention
 *   program_attention_find.c the items of one become one
 *   program_attention_lie.c where the heads of its operands lie
 *   program_attention_read.c the op Attention as such an item
 *   program_append.c  new keys and values behind the past ones, where these lie
 *   program_mix.c     products of few heads or channels, where these are not the last axis
 *   program_columns.c Softmax along another axis than the last
 *   program_resize.c  Resize of the pixels of images
 *   program_einsum.c  Einsum as moves and a product
 *   program_pad.c     Pad
 *   program_strided.c what only moves elements is left out where its reader can read in steps
 *   program_strided_run.c the steps of what still moves, and of products that read in steps
 *   program_rows_grad.c the gradients of softmax and layer normalization, sums inside of samples
 *   program_elementwise.c numbers of any type that broadcast: comparisons, logic, choices
 *   program_quantized.c, program_quantized_run.c
 *                     values of 8 bits, and what goes between them and float32
 *   program_integer.h convolutions and products of such, and what stands around them, in integers
 *   program_half.c    groups of float16 and bfloat16 as those of float32 with casts
 *   program_wide.c    the few numbers of other types that a step counts with
 *   program_segments.c units whose items go over parts of their samples
 *   program_measure.c which of the ways to share out is fastest
 *   program_run.c     shares the steps out among threads
 *   program.c         the facet: propose, compile, launch, drop, save
 *   program_kernel.c  the kernel of a single node, which is a program of one item
 *
 * Threads take whole samples through all steps (units of some samples), or share each step.
 */
#ifndef NATIVE_PROGRAM_H
#define NATIVE_PROGRAM_H

#include <math.h>
#include <pthread.h>

#include "gather.h"
#include "isa.h"
#include "kernel.h"
#include "program_ir.h"
#include "program_stages.h"
#include "program_steps.h"

const tfr_program_node *native_graph_node(const tfr_program_graph *graph, int i);
const tfr_program_value *native_graph_value(const tfr_program_graph *graph, int i);

/* ---- program_levels.c ---- */

/* Numbers the groups of the nodes that are taken. */
void native_level_groups(const tfr_program_graph *graph, tfr_proposal *rows, uint32_t stride);

/* ---- program_lone.c ---- */

/* What only moves elements of half, and counts with none, is no part of a program. */
void native_leave_lone_moves(const tfr_program_graph *graph, tfr_proposal *rows, uint32_t stride);

/* ---- program_forms.c ---- */

typedef struct native_form {
    const char *name; /* of the op */
    bool (*ok)(const tfr_call *call);
    native_item_kind kind;
    int sub;          /* of ACT and BINARY */
    const char *what; /* is done; NULL = everything of the types */
} native_form;

/* The row of an op; NULL = items do not know it. */
const native_form *native_form_of(const tfr_call *call);
/* NULL = no item does the call. */
const native_form *native_find_form(const tfr_call *call);
/* The same, on the processor of a device. */
bool native_is_native(const tfr_plugin_device *device, const tfr_call *call);
/* Whether a program can hold the node at all; else the answer's text says why not. */
bool native_can_hold(const tfr_call *call, const char **why);

/* ---- program_forms_window.c, program_forms_elementwise.c ---- */

/*
 * Of a Conv whose window has taps that no output reads an element by: kernel and pad without them,
 * and the first tap that is left along each axis. False = each tap is read.
 */
bool native_trim_window(const tfr_call *call, int64_t *first, int64_t *kernel, int64_t *pad);
/* A known operand of one float32, which may lie anywhere. */
float native_known(const tfr_operand *o);

/* ---- program_read.c ---- */

int32_t native_read(native_ir *ir, tfr_err *err);

/* ---- program_ir.c ---- */

void native_ir_end(native_ir *ir);
/* The number of a new value like another, or of a new item; 0 and ir->failed without memory. */
int native_new_value(native_ir *ir, const native_value *like);
native_item *native_new_item(native_ir *ir, native_item_kind kind);
int64_t native_elements(const native_value *v);
/* The first of n new ones, which are all 0. */
int native_new_strided(native_ir *ir, int n);
/* What is below 0 becomes 0. */
static inline bool native_is_relu(const native_act *act)
{
    return act->kind == NATIVE_ACT_CLIP && act->a == 0.0f && act->b == INFINITY;
}
/* Sets readers of values, for those who fuse. */
void native_count_readers(native_ir *ir);

/* ---- program_find.c ---- */

/* NULL = no item does. The others also where readers have been counted and are not one, or the
 * value is an output. */
native_item *native_maker(const native_ir *ir, int value);
native_item *native_only_maker(const native_ir *ir, int value);
native_item *native_only_reader(const native_ir *ir, int value);
/* Whether it does, as one of its inputs or as what is added. */
bool native_reads(const native_item *item, int value);

/* ---- program_images.c ---- */

/* Before items are fused. */
void native_clean_images(native_ir *ir);
/* Is it a Transpose of channels from behind the samples to the end, or back? */
bool native_turns_channels(const native_ir *ir, const native_item *item, bool to_last);

/* ---- program_lift.c ---- */

void native_lift(native_ir *ir);

/* ---- program_fuse.c, program_layout.c ---- */

void native_fuse(native_ir *ir);
int32_t native_layout(native_ir *ir, tfr_err *err);
/* Once layouts are known. */
int32_t native_fuse_fronts(native_ir *ir, tfr_err *err);

/* ---- program_samples.c ---- */

/* Whether the item does for each sample the same without the others. */
bool native_is_separable(const native_ir *ir, const native_item *item);
/* Sets samples and separable of ir, and which values are batched. */
void native_find_samples(native_ir *ir);

/* ---- program_group_norm.c ---- */

bool native_group_norm_form(const tfr_call *call);
bool native_rms_form(const tfr_call *call);

/* ---- program_affine.c ---- */

/*
 * With a number that is known a sum, a difference, a product is a x + b, to the same bits; a
 * quotient is a product with the reciprocal, which is rounded once more and takes a fifth of the
 * time. *operand: the one that is no number.
 */
bool native_is_linear(const native_ir *ir, const native_item *item, native_act *act, int *operand);
/* One after the other as one; false: there is none for both. */
bool native_compose_acts(const native_act *first, const native_act *then, native_act *both);

/* ---- program_attention_find.c, program_attention_read.c ---- */

void native_fuse_attention(native_ir *ir);
/* Of the op Attention: whether it is done, and item `at`, which becomes that and items that put
 * past and new keys and values together. */
bool native_attention_form(const tfr_call *call);
void native_read_attention(native_ir *ir, int at, const tfr_program_node *node);

/* Heads that share keys, of one row each, become rows of one head. */
void native_merge_rows(native_heads *h);

/* ---- program_attention_lie.c ---- */

typedef enum native_lie_want {
    NATIVE_LIE_ROWS,
    NATIVE_LIE_KEYS,
    NATIVE_LIE_VALUES
} native_lie_want;

/* Where an operand of an attention lies: the steps of its four axes in a value, and what multiplies
 * the numbers there. */
typedef struct native_operand_lie {
    int base;
    int64_t offset, steps[4];
    int64_t group; /* how many heads in turn are the same */
    float scale;
} native_operand_lie;

/* As far back as it can be read in steps, through heads in groups where these may be. */
void native_find_lie(const native_ir *ir, int value, native_lie_want want, bool groups,
                     native_operand_lie *to);

/* ---- program_append.c ---- */

void native_append(native_ir *ir);

/* ---- program_pad.c ---- */

bool native_pad_form(const tfr_call *call);
/* Whether it pads or crops the first axis. */
bool native_pads_samples(const native_item *item);
/* Zeros around the planes of float32 images and behind their channels, which blocks can have. */
bool native_pads_images(const native_ir *ir, const native_item *item);
/* The same around the pixels of one or two axes alone, so many before them: windows may have them
 * as their own. */
bool native_pads_pixels(const native_ir *ir, const native_item *item, int64_t *before);

/* ---- program_channels.c ---- */

/* Whether the item cuts a block out of its input, of all samples: from at[d] on along axis d. */
bool native_cuts_block(const native_ir *ir, const native_item *item, int64_t *at);
/* The same out of a float32 image, which may be blocked. */
bool native_cuts_channels(const native_ir *ir, const native_item *item);
/* All pixels of channels from *first on, of any type. */
bool native_cuts_images(const native_ir *ir, const native_item *item, int64_t *first);
/* Of item `at`, which is DEPTHWISE: what it reads has as many channels as its weights. */
void native_repeat_channels(native_ir *ir, int at);
/* Whether the item does so, each channel *times. */
bool native_repeats_channels(const native_ir *ir, const native_item *item, int64_t *times);
/* Whether one of the n items that follow wants the value blocked, or hands it on to such. */
bool native_is_read_blocked(const native_ir *ir, const native_item *later, int n, int value);

/* ---- program_resize.c ---- */

struct native_resize_rule;
struct native_axis_map;
bool native_resize_form(const tfr_call *call);
/* The map of an axis in memory of the plan. */
void native_keep_axis_map(native_planner *p, const struct native_resize_rule *rule, int axis,
                          const tfr_call *call, struct native_axis_map *map);

/* ---- program_einsum.c ---- */

/* Of Einsum: whether it is done, and item `at`, which becomes moves and a product. */
bool native_einsum_form(const tfr_call *call);
void native_read_einsum(native_ir *ir, int at);

/* ---- program_tokens.c ---- */

/* Up to so many channels a convolution reads the plain image itself. */
enum { NATIVE_PLAIN_CHANNELS = 4 };

/* Do the steps read the image pixel by pixel, each with all of its channels? */
bool native_are_tokens(const native_value *image, const native_strided *s);
/* Marks images that convolutions read or write with the channels last. */
void native_find_last(native_ir *ir, const native_item *items, int n);

/* What becomes of an item that turns an image into rows of channels or back. */
typedef enum native_turn {
    NATIVE_TURN_NONE,   /* it is another item, or turns what is plain */
    NATIVE_TURN_VIEW,   /* the image has the channels last */
    NATIVE_TURN_REORDER /* the image is blocked */
} native_turn;

/* later: the n items that follow. Inputs are laid out. */
native_turn native_turn_of(const native_ir *ir, const native_item *item, const native_item *later,
                           int n);

/* ---- program_strided.c ---- */

void native_fuse_strided(native_ir *ir);
/* The value as it lies. */
void native_lies_plain(const native_value *v, native_strided *to);
/* With the dims of the result of a transposition. */
void native_lies_turned(const native_strided *from, const int *perm, native_strided *to);
/* Whether each sample of it lies inside of that of the value. */
bool native_keeps_samples(const native_value *of, const native_strided *s);

/* ---- program_nbits.c ---- */

/* MatMulNBits, and DequantizeLinear of weights, where products with packed ones do them. */
bool native_nbits_form(const tfr_call *call);
bool native_blocks_form(const tfr_call *call);
/* Whether only products read what node i, a DequantizeLinear, makes. */
bool native_feeds_products(const tfr_program_graph *graph, int i);
/* Products take over what makes their weights; false: some of it would have to be computed. */
bool native_fuse_nbits(native_ir *ir);

/* ---- program_elementwise.c ---- */

/* Of a call that a row of elementwise.h does, or NULL. */
const native_form *native_find_elementwise(const tfr_call *call);

/* ---- program_fold.c, program_arg.c, program_top_k.c ---- */

/* Of a call that reductions do, or NULL. */
const native_form *native_find_fold(const tfr_call *call);
/* The same for ArgMax and ArgMin. */
const native_form *native_find_arg(const tfr_call *call);
/* The attribute axis of a call, counted from the front. */
int native_axis(const tfr_call *call, int64_t otherwise);
const native_form *native_find_top_k(const tfr_call *call);
/* Softmax along an axis that is not the last (program_columns.c). */
const native_form *native_find_columns(const tfr_call *call);
/* program_range.c: is the Range at this node of a graph only compared with known values? */
bool native_is_range_compared(const tfr_program_graph *graph, int node);
/* The axes that a reduction takes together, as bits. */
uint32_t native_fold_axes(const tfr_call *call);

/* ---- program_train.c ---- */

void native_fuse_gradients(native_ir *ir);
/* The gradients of softmax, and factors: once the attention of inference is found. */
void native_fuse_rows(native_ir *ir);

/* ---- program_pooled.c, program_sparse.c ---- */

/* Convolutions with a maximum after them, and their gradients, by codes. */
void native_fuse_pooled(native_ir *ir);
void native_plan_pooled_conv(native_planner *p, const native_item *item);
void native_plan_sparse_grad_filter(native_planner *p, const native_item *item);
void native_plan_sparse_grad_input(native_planner *p, const native_item *item);

/* ---- program_chain.c ---- */

enum { NATIVE_CHAIN_OPS = 48, NATIVE_CHAIN_ENDS = 24 };

/* One function of registers, which hold a block of elements each. */
typedef struct native_chain_op {
    bool is_act;
    native_binary_kind binary;
    native_act act;
    int to, from[2]; /* inputs of the chain, its outputs, registers */
} native_chain_op;

typedef struct native_chain {
    native_chain_op ops[NATIVE_CHAIN_OPS];
    int n_ops, n_inputs, n_outputs, n_registers;
    int inputs[NATIVE_CHAIN_ENDS];   /* values, */
    bool numbers[NATIVE_CHAIN_ENDS]; /* of one element */
    int outputs[NATIVE_CHAIN_ENDS];
} native_chain;

/* Once stages are known. */
void native_make_chains(native_ir *ir);

/* ---- program_pack.c ---- */

/*
 * A packed constant: the one that was made with an equal key before, or a new one, which fill
 * writes over zeros. NULL after an error.
 */
typedef struct native_constant_key {
    const void *data[4];
    int64_t numbers[10];
} native_constant_key;
const float *native_pack(native_planner *p, const native_constant_key *key, uint64_t bytes,
                         void (*fill)(float *to, const void *user), const void *user);
/*
 * The same, but fill runs at the end of planning, on any thread, with a copy of user. from: the
 * floats of value, aligned.
 */
const float *native_pack_later(native_planner *p, const native_constant_key *key, uint64_t bytes,
                               void (*fill)(float *to, const float *from, const void *user),
                               const void *user, size_t user_bytes, int value);
/* Fills what waits, or after an error forgets it. */
void native_fill_packed(native_planner *p);
/* Aligned copies of the values whose readers want them so. */
void native_align_known(native_planner *p);

/* ---- makers of steps ---- */

/* program_conv.c */
void native_plan_conv(native_planner *p, const native_item *item);
void native_plan_product(native_planner *p, const native_item *item);
/* program_few_outs.c: once the layouts of what it reads are known. */
bool native_has_few_outs(const native_ir *ir, const native_item *item);
void native_plan_few_outs(native_planner *p, const native_item *item);
/* program_few_rows.c */
bool native_has_few_rows(const native_planner *p, const native_item *item);
void native_plan_few_rows(native_planner *p, const native_item *item);
/* program_product.c */
bool native_is_big_product(const native_planner *p, const native_item *item);
void native_plan_big_product(native_planner *p, const native_item *item);
/* Of an item, for gemm.h; false: it does not have the activation. */
bool native_read_epilogue(const native_item *item, native_epilogue *e);
/* One of those that gemm.h shares packed panels of the left side in; 0 rounds = nothing is shared,
 * all of it. */
typedef struct native_round {
    const void *product;
    int64_t number, rounds;
} native_round;
/* The steps of a product, in rounds of equal size: pack counts panels of rows, run counts tiles;
 * their params are rounds. */
void native_add_rounds(native_planner *p, const native_gemm *g, const void *product,
                       void (*pack)(const void *, const native_bases *, int64_t, int64_t),
                       void (*run)(const void *, const native_bases *, int64_t, int64_t),
                       double flops);
/* The activation over rows of n numbers. */
void native_plan_after(native_planner *p, const native_item *item, int64_t n);
/* program_nbits.c */
void native_plan_nbits(native_planner *p, const native_item *item);
/* program_winograd.c */
int native_winograd_form(const native_planner *p, const native_item *item);
void native_plan_winograd(native_planner *p, const native_item *item, int form);
/* program_window.c */
void native_plan_depthwise(native_planner *p, const native_item *item);
/* program_window_turned.c: a CONV_GRAD_INPUT of one input for each output. */
bool native_is_turned_depthwise(const native_planner *p, const native_item *item);
void native_plan_turned_depthwise(native_planner *p, const native_item *item);
void native_plan_pool(native_planner *p, const native_item *item);
/* program_pool_rows.c: a POOL that stays plain. */
void native_plan_pool_rows(native_planner *p, const native_item *item);
/* program_frames.c: another one. */
bool native_pools_frames(const native_ir *ir, const native_item *item);
void native_plan_frames(native_planner *p, const native_item *item);
void native_plan_mean(native_planner *p, const native_item *item);
/* program_flat.c */
void native_plan_act(native_planner *p, const native_item *item);
void native_plan_binary(native_planner *p, const native_item *item);
void native_plan_copy(native_planner *p, const native_item *item);
void native_plan_reorder(native_planner *p, const native_item *item);
void native_plan_pad(native_planner *p, const native_item *item);
/* program_concat.c */
void native_plan_concat(native_planner *p, const native_item *item);
/* program_tokens.c: from or to channels last */
void native_plan_turn(native_planner *p, const native_item *item);
/* program_channels.c: blocked images, also from one that STRIDED cuts */
void native_plan_channels(native_planner *p, const native_item *item);
/* program_resize.c */
void native_plan_resize(native_planner *p, const native_item *item);
/* program_move.c */
void native_plan_gather(native_planner *p, const native_item *item);
void native_plan_cast(native_planner *p, const native_item *item);
/* program_rows.c */
void native_plan_rows(native_planner *p, const native_item *item);

/* program_conv.c, too: by the weights of a convolution */
/* program_reduce.c */
void native_plan_conv_grad_filter(native_planner *p, const native_item *item);
void native_plan_product_grad(native_planner *p, const native_item *item);
void native_plan_sum(native_planner *p, const native_item *item);
/* program_gradient.c */
void native_plan_pool_grad(native_planner *p, const native_item *item);
void native_plan_scatter(native_planner *p, const native_item *item);
void native_plan_indices(native_planner *p, const native_item *item);
void native_plan_log_softmax(native_planner *p, const native_item *item);
void native_plan_loss(native_planner *p, const native_item *item);
void native_plan_loss_grad(native_planner *p, const native_item *item);
/* program_strided_run.c */
void native_plan_padded(native_planner *p, const native_item *item);
void native_plan_strided(native_planner *p, const native_item *item);
void native_plan_transpose(native_planner *p, const native_item *item);
void native_plan_batched_product(native_planner *p, const native_item *item);
/* program_rows_grad.c */
void native_plan_rows_grad(native_planner *p, const native_item *item);
void native_plan_layer_norm_sums(native_planner *p, const native_item *item);
void native_plan_fold(native_planner *p, const native_item *item);
/* program_wide.c */
void native_plan_elementwise(native_planner *p, const native_item *item);
void native_plan_arg(native_planner *p, const native_item *item);
/* program_mix.c: a product between two moves of its axis becomes an item MIX */
void native_fuse_mixes(native_ir *ir);
void native_plan_mix(native_planner *p, const native_item *item);
void native_plan_columns(native_planner *p, const native_item *item);
void native_plan_range(native_planner *p, const native_item *item);
void native_plan_group_norm(native_planner *p, const native_item *item);
void native_plan_top_k(native_planner *p, const native_item *item);
/* program_winograd_grad.c */
bool native_is_winograd_grad(const native_planner *p, const native_item *item);
void native_plan_winograd_grad(native_planner *p, const native_item *item);
/* program_norm.c */
void native_plan_moments(native_planner *p, const native_item *item);
void native_plan_batch_norm(native_planner *p, const native_item *item);
void native_plan_batch_norm_sums(native_planner *p, const native_item *item);
void native_plan_batch_norm_grad(native_planner *p, const native_item *item);
/* program_chain.c */
void native_plan_chain(native_planner *p, const native_item *item);

/* program_attention.c */
void native_plan_attention(native_planner *p, const native_item *item);

/* ---- program_run.c ---- */

enum { NATIVE_PROGRAM_ARGS = 1023 };

typedef struct native_sharing {
    tfr_plugin_device *device;
    const native_plan *plan;
    int64_t units; /* of samples, one after the other */
    bool by_units; /* each thread takes some of them; else threads share the steps of one */
    bool segmented;
    int n_args;
    const int64_t *unit_bytes; /* of each argument, from unit to unit; of a sample, with stages */
    uint64_t lane_bytes;       /* of the arena of a thread that takes units */
    uint64_t workspace_bytes;
    uint64_t time_ns; /* that was measured, or 0 */
    bool share;       /* several threads */
} native_sharing;

/* id: of the launch, for records of what took time; 0 = none are wanted */
int32_t native_run_program(const native_sharing *l, void *workspace, char *const *args, uint64_t id,
                           tfr_err *err);

/* ---- program_measure.c ---- */

/* samples of a unit, or 0: threads share the steps of all */
typedef struct native_way {
    int64_t samples;
    bool segmented;
} native_way;

/* What was chosen, as save gives it. */
typedef struct native_choice {
    uint32_t magic, threads;
    int64_t samples;   /* of a unit; 0 = threads share the steps */
    int64_t segmented; /* 1 = parts of these may go through the items */
} native_choice;

native_choice native_choice_of(const native_sharing *l);
/* unit_bytes has room for all arguments and lives as long as the launch. */
int32_t native_choose_plan(native_ir *ir, const tfr_compile_options *options, native_plan *plan,
                           native_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                           tfr_err *err);

/* Steps are shared by all threads, and nothing is measured. */
int32_t native_share_plan(native_ir *ir, native_plan *plan, native_sharing *l, int64_t *unit_bytes,
                          uint64_t *constant_bytes, tfr_err *err);

/* ---- program_kernel.c: for native calls ---- */

void native_item_supports(const tfr_plugin_device *device, const tfr_call *call,
                          tfr_answer *answer);
void native_item_prepare(native_build *b, const tfr_call *call);

/* ---- program.c ---- */

extern const tfr_program_facet native_program_facet;

#endif

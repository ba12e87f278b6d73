/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff.h: what the rules of differentiation share. A rule is called for a node once the
 * gradients of its outputs are complete; it gives each input that wants one its share, built with
 * the helpers below. After a failure, which the state remembers, helpers do nothing and return
 * TFR_VALUE_NONE, so rules need not look.
 */
#ifndef TFR_NN_AUTODIFF_H
#define TFR_NN_AUTODIFF_H

#include <stdbool.h>
#include <tfrun/autodiff.h>

/* What is known of a value without running. */
typedef struct tfr__diff_fact {
    int32_t dtype;              /* 0 = not known */
    int32_t rank;               /* -1 = not known */
    int64_t dims[TFR_MAX_RANK]; /* negative = not known */
} tfr__diff_fact;

struct tfr__diff_rule;

typedef struct tfr__diff {
    tfr_graph *graph;
    tfr_status status; /* the first failure */
    tfr_err *err;
    tfr_node_view node; /* whose rule runs */
    const struct tfr__diff_rule *rule;
    uint32_t n_values;      /* before anything was added; the arrays below are by value */
    tfr_value *gradients;   /* so far, TFR_VALUE_NONE = none */
    bool *flows;            /* depends on xs */
    tfr_graph_types *types; /* read with tfr__diff_fact_of; released by who made the state */
} tfr__diff;

/* g is the gradient of the only output that counts; of a rule for several it is absent. */
typedef void tfr__diff_rule_fn(tfr__diff *d, tfr_value g);

typedef struct tfr__diff_rule {
    const char *op;
    tfr__diff_rule_fn *run; /* NULL = constant almost everywhere, so nothing flows through it */
    const char *formula;    /* for the rules that read it, autodiff_formula.c */
    uint32_t outputs;       /* it takes the gradients of so many with tfr__diff_gradient; 0 = one */
    const char *why;        /* the op is refused for this reason; run is NULL */
} tfr__diff_rule;

/* autodiff_rules.c: the row of an op of domain "" or "tfrun", or NULL. */
const tfr__diff_rule *tfr__diff_find(const char *op);

/* Of a value that was there before anything was added; else nothing is known. */
tfr__diff_fact tfr__diff_fact_of(const tfr__diff *d, tfr_value v);

/*
 * autodiff.c: a differentiation is start, seeds, backwards, finish; graph, err and where they are
 * known types of d are given, all else is 0. Nodes before `first` are not looked at, nor those from
 * `end` on; the gradients are in d->gradients then.
 */
TFR_MUST_CHECK tfr_status tfr__diff_start(tfr__diff *d, uint32_t first, const tfr_value *xs,
                                          uint32_t n_xs);
/* Adds to the gradient of a value. */
void tfr__diff_seed(tfr__diff *d, tfr_value y, tfr_value g);
TFR_MUST_CHECK tfr_status tfr__diff_backwards(tfr__diff *d, uint32_t first, uint32_t end);
void tfr__diff_finish(tfr__diff *d);
/* Sets which values of the graph, or of one inside it, depend on those that are set. */
TFR_MUST_CHECK tfr_status tfr__diff_spread(const tfr__diff *d, const tfr_graph *graph,
                                           uint32_t first, bool *flows);
bool tfr__diff_discrete(const tfr__diff *d, const tfr_graph *graph, tfr_value v);
/* autodiff_control.c: the same for a node with graphs inside. */
TFR_MUST_CHECK tfr_status tfr__diff_spread_control(const tfr__diff *d, const tfr_graph *graph,
                                                   const tfr_node_view *node, bool *flows);

/* ---- autodiff_kit.c: for rules --------------------------------------------------------------- */

/* Operands of the node at hand, TFR_VALUE_NONE if absent. */
tfr_value tfr__diff_in(const tfr__diff *d, uint32_t i);
tfr_value tfr__diff_out(const tfr__diff *d);
/* The gradient of output k, TFR_VALUE_NONE if y does not depend on it; and zeros in its place. */
tfr_value tfr__diff_gradient(const tfr__diff *d, uint32_t k);
tfr_value tfr__diff_gradient_or_zeros(tfr__diff *d, uint32_t k);
/* The node is not differentiated, because of why: "its X". */
void tfr__diff_refuse(tfr__diff *d, const char *why);
/* Does input i depend on xs? Else its gradient need not be built. */
bool tfr__diff_wants(const tfr__diff *d, uint32_t i);
/* Adds a share to the gradient of input i. */
void tfr__diff_give(tfr__diff *d, uint32_t i, tfr_value share);
int64_t tfr__diff_int(const tfr__diff *d, const char *name, int64_t absent);
float tfr__diff_float(const tfr__diff *d, const char *name, float absent);
/* Does the attribute have this text? Absent, it has the text of absent. */
bool tfr__diff_is(const tfr__diff *d, const char *name, const char *absent, const char *text);
enum { TFR__DIFF_ATTRS = 24 };
/* The attributes of the node but that of one name, which may be NULL; their number. */
uint32_t tfr__diff_attrs(tfr__diff *d, const char *but, tfr_attr out[TFR__DIFF_ATTRS]);

/* Nodes. op is of domain "", or of "tfrun" if it is there only. n_outputs 1. */
tfr_value tfr__diff_node(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                         const tfr_attr *attrs, uint32_t n_attrs);
/* The same with more outputs. */
void tfr__diff_nodes(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                     const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs,
                     uint32_t n_outputs);
tfr_value tfr__diff_op1(tfr__diff *d, const char *op, tfr_value a);
tfr_value tfr__diff_op2(tfr__diff *d, const char *op, tfr_value a, tfr_value b);
tfr_value tfr__diff_op3(tfr__diff *d, const char *op, tfr_value a, tfr_value b, tfr_value c);

/* Constants: a scalar of the type of a value, an integer, a list of integers. */
/*
 * 1 / n of an output that is the mean of n elements of x, taken in double so that a great n does
 * not overflow float16.
 */
tfr_value tfr__diff_share_of_mean(tfr__diff *d, tfr_value x);
tfr_value tfr__diff_scalar(tfr__diff *d, double value, tfr_value like);
tfr_value tfr__diff_int_scalar(tfr__diff *d, int64_t value);
tfr_value tfr__diff_ints(tfr__diff *d, const int64_t *ints, int64_t n);

tfr_value tfr__diff_shape_of(tfr__diff *d, tfr_value v);
/* The dims from start up to end, 0 = all of them; the product of these as a list of one. */
tfr_value tfr__diff_dims(tfr__diff *d, tfr_value v, int64_t start, int64_t end);
tfr_value tfr__diff_dims_product(tfr__diff *d, tfr_value v, int64_t start, int64_t end);
tfr_value tfr__diff_reshape(tfr__diff *d, tfr_value v, tfr_value shape);
/* Lists one after the other. */
tfr_value tfr__diff_join(tfr__diff *d, const tfr_value *lists, uint32_t n);
tfr_value tfr__diff_sum_axes(tfr__diff *d, tfr_value v, const int64_t *axes, int64_t n, bool keep);
/* v, whose elements belong to axis 1 of like, as [C, 1...], so that it broadcasts to like. */
tfr_value tfr__diff_by_channel(tfr__diff *d, tfr_value v, tfr_value like);

/* v with the shape of like: summed where like was broadcast, or the same elements reshaped. */
tfr_value tfr__diff_sum_to(tfr__diff *d, tfr_value v, tfr_value like);
tfr_value tfr__diff_reshape_like(tfr__diff *d, tfr_value v, tfr_value like);
/* v, an output of a reduction or its gradient, repeated along what was reduced. */
tfr_value tfr__diff_repeated(tfr__diff *d, tfr_value v);
/* v repeated to the shape of like; a number repeated so, in its type. */
tfr_value tfr__diff_expand_like(tfr__diff *d, tfr_value v, tfr_value like);
tfr_value tfr__diff_filled_like(tfr__diff *d, double value, tfr_value like);

/*
 * autodiff_expand.c: what was added from node `first` on gives outputs[k] in place of the node's
 * output k, as far as that has a gradient; it is differentiated, and the node's inputs get that.
 */
void tfr__diff_through(tfr__diff *d, uint32_t first, const tfr_value *outputs);

/*
 * autodiff_body.c: the body of a Scan. Helpers above build in it with &b->in. open and scan, in any
 * case; scan adds the node to the graph of d, whose outputs a failure leaves unset.
 */
typedef struct tfr__diff_body {
    tfr__diff *outer, in;
} tfr__diff_body;
void tfr__diff_body_open(tfr__diff_body *b, tfr__diff *d);
tfr_value tfr__diff_body_input(tfr__diff_body *b);
/* A value of the outer graph. */
tfr_value tfr__diff_body_capture(tfr__diff_body *b, tfr_value v);
void tfr__diff_body_output(tfr__diff_body *b, tfr_value v);
void tfr__diff_body_scan(tfr__diff_body *b, const tfr_value *inputs, uint32_t n_inputs,
                         const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs,
                         uint32_t n_outputs);

/* ---- rules, by file -------------------------------------------------------------------------- */

/* autodiff_elementwise.c */
tfr__diff_rule_fn tfr__diff_cast, tfr__diff_clip, tfr__diff_gelu, tfr__diff_max, tfr__diff_pow,
    tfr__diff_sum, tfr__diff_where;
/* autodiff_formula.c: the formulas of the row; and the value of one. */
tfr__diff_rule_fn tfr__diff_formula;
tfr_value tfr__diff_evaluate(tfr__diff *d, tfr_value g, const char *text);
/* autodiff_attention.c */
tfr__diff_rule_fn tfr__diff_attention, tfr__diff_rotary;
/* autodiff_control.c, autodiff_loop.c */
tfr__diff_rule_fn tfr__diff_if, tfr__diff_loop;
/* autodiff_conv.c */
tfr__diff_rule_fn tfr__diff_average_pool, tfr__diff_average_pool_grad, tfr__diff_conv,
    tfr__diff_conv_grad_filter, tfr__diff_conv_grad_input, tfr__diff_conv_transpose,
    tfr__diff_global_average_pool, tfr__diff_global_max_pool, tfr__diff_lp_pool, tfr__diff_max_pool,
    tfr__diff_max_pool_grad;
/* autodiff_linear.c */
tfr__diff_rule_fn tfr__diff_affine_grid, tfr__diff_causal_conv, tfr__diff_col2im, tfr__diff_dft,
    tfr__diff_resize, tfr__diff_stft;
/* autodiff_resize.c: what the node, which keeps the aspect ratio, does to the elements of an axis,
 * as a matrix [n m]; entry i of its `entries` lists is of that axis. */
tfr_value tfr__diff_resize_weights(tfr__diff *d, int32_t i, int32_t entries, int32_t axis);
/* autodiff_linear_attention.c */
tfr__diff_rule_fn tfr__diff_linear_attention;
/* autodiff_norm.c */
tfr__diff_rule_fn tfr__diff_batch_norm, tfr__diff_dropout, tfr__diff_group_norm,
    tfr__diff_layer_norm, tfr__diff_lrn, tfr__diff_mvn, tfr__diff_nll_loss, tfr__diff_softmax_loss;
/* autodiff_move.c */
tfr__diff_rule_fn tfr__diff_again, tfr__diff_concat, tfr__diff_expand, tfr__diff_max_unpool,
    tfr__diff_moved, tfr__diff_reshaped, tfr__diff_scatter, tfr__diff_split,
    tfr__diff_tensor_scatter, tfr__diff_top_k, tfr__diff_transpose, tfr__diff_unique;
/* autodiff_parts.c; the first two are for those that give more than the usual rule of the op */
void tfr__diff_batch_norm_parts(tfr__diff *d);
void tfr__diff_loss_parts(tfr__diff *d);
tfr__diff_rule_fn tfr__diff_batch_norm_grad, tfr__diff_layer_norm_grad, tfr__diff_loss_grad;
/* autodiff_quantize.c */
tfr__diff_rule_fn tfr__diff_dequantize;
/* autodiff_recurrent.c */
tfr__diff_rule_fn tfr__diff_recurrent;
/* autodiff_reduce.c */
tfr__diff_rule_fn tfr__diff_cum_prod, tfr__diff_cum_sum, tfr__diff_log_softmax, tfr__diff_lp_norm,
    tfr__diff_reduce_max, tfr__diff_reduce_mean, tfr__diff_reduce_prod, tfr__diff_softmax,
    tfr__diff_summed;
/* autodiff_roi.c */
tfr__diff_rule_fn tfr__diff_max_roi_pool;
/* autodiff_sample.c */
tfr__diff_rule_fn tfr__diff_deform_conv, tfr__diff_grid_sample, tfr__diff_roi_align;
/* autodiff_matmul.c, autodiff_einsum.c */
tfr__diff_rule_fn tfr__diff_det, tfr__diff_einsum, tfr__diff_gemm, tfr__diff_inverse,
    tfr__diff_matmul, tfr__diff_solve;

#endif

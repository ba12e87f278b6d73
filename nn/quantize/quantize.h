/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.h: what the forms of quantization share: the graph that is copied, which nodes the user
 * wants, constants that become integers behind a DequantizeLinear, and notes.
 */
#ifndef TFR_NN_QUANTIZE_H
#define TFR_NN_QUANTIZE_H

#include <stdbool.h>
#include <tfrun/quantize.h>

#include "graph_copy.h"

enum {
    TFR__Q_INPUTS = 8, /* of a node that is quantized, at most, but for Concat */
    TFR__Q_NAME = 512,
    TFR__Q_LEAST_BLOCK = 16,
    TFR__Q_DEFAULT_BLOCK = 32
};

/* Of a form without channels: symmetric weights, or one that is added to activations. */
enum { TFR__Q_TENSOR = -1, TFR__Q_ACTIVATION = -2 };

#define TFR__Q_SUBGRAPHS "it has subgraphs, which stay as they are"

/* How a constant is made integers. */
typedef struct tfr__q_form {
    tfr_dtype dtype; /* I8, U8, I4, U4 */
    int32_t axis;    /* of the channels or the blocks, else as above */
    int64_t block;   /* 0 = none */
} tfr__q_form;

/* A constant that has been made integers, and the value that has its numbers in the new graph. */
typedef struct tfr__q_made {
    tfr_value constant, dequantized;
    tfr__q_form form;
    float *scales; /* one a channel, or one; NULL for blocks */
    int64_t n_scales;
    uint32_t before; /* number + 1 of another form of the same constant, 0 = none */
} tfr__q_made;

/* What dynamic products have made of a value of `from`, as what they multiply or as weights. */
typedef struct tfr__q_dynamic {
    tfr_value x[3]; /* integers, scale and zero point */
    tfr_value weights, scale;
    bool transposed;
} tfr__q_dynamic;

typedef struct tfr__quantizer {
    const tfr_quantize_options *options;
    tfr_graph *from;
    tfr_graph_types *types; /* of from */
    tfr__copy copy;
    tfr__q_made *made;
    uint32_t n_made, made_capacity;
    tfr__q_dynamic *dynamic; /* by value of from, for dynamic products; else NULL */
    uint32_t *last_made;     /* by value of from: number + 1 of its last form, 0 = none */
} tfr__quantizer;

/* The weights of a node. */
typedef struct tfr__q_weights {
    uint32_t input;       /* which */
    int32_t channel_axis; /* of the output channels */
    int32_t sum_axis;     /* that products are summed along; -1 = none that blocks can lie along */
    tfr_tensor *tensor;
} tfr__q_weights;

/* ---- common.c -------------------------------------------------------------------------------- */

/* Does the user want this node quantized? */
bool tfr__q_is_wanted(const tfr__quantizer *q, const tfr_node_view *view);
void tfr__q_note(const tfr__quantizer *q, const tfr_node_view *view, tfr_quantize_fate fate,
                 const char *text);
bool tfr__q_is_op(const tfr_node_view *view, const char *op);
/* The same among n names. */
bool tfr__q_is_among(const tfr_node_view *view, const char *const *ops, uint32_t n);
int64_t tfr__q_int_attr(const tfr_node_view *view, const char *name, int64_t otherwise);
float tfr__q_float_attr(const tfr_node_view *view, const char *name, float otherwise);
/* The tensor of a float32 constant, or NULL. */
tfr_tensor *tfr__q_constant(const tfr__quantizer *q, tfr_value v);
/* What is known of a value of `from`; nothing, after an error. */
tfr_value_type tfr__q_type(const tfr__quantizer *q, tfr_value v);
/* The elements of a plain form; *copy is to be released. NULL without memory. */
const float *tfr__q_floats(tfr_tensor *tensor, tfr_tensor **copy);
/*
 * Is it a node with weights, for this form? *why is NULL for a node that has none by its op, else a
 * sentence that says what is wrong with them.
 */
bool tfr__q_find_weights(const tfr__quantizer *q, const tfr_node_view *view, tfr__q_weights *out,
                         const char **why);
/* base and end, or with a number if that name is in use; TFR__Q_NAME bytes. */
const char *tfr__q_name(const tfr__quantizer *q, const char *base, const char *end, char *text);
/*
 * Adds the node as it is, but for inputs that are to be others: instead[i], of view->n_inputs, is a
 * value of the new graph or TFR_VALUE_NONE.
 */
TFR_MUST_CHECK tfr_status tfr__q_copy(tfr__quantizer *q, const tfr_node_view *view,
                                      const tfr_value *instead, tfr_err *err);
/* A QuantizeLinear or DequantizeLinear (axis -1 = a scale for all, block 0 = none), zero NONE = 0,
 * whose result is named base and end. */
TFR_MUST_CHECK tfr_status tfr__q_linear(tfr__quantizer *q, const char *op, const char *base,
                                        const char *end, tfr_value x, tfr_value scale,
                                        tfr_value zero, int32_t axis, int64_t block, tfr_value *out,
                                        tfr_err *err);
/* A constant named base and end. */
TFR_MUST_CHECK tfr_status tfr__q_add(tfr__quantizer *q, const char *base, const char *end,
                                     tfr_tensor *tensor, tfr_value *out, tfr_err *err);

/* ---- numbers.c ------------------------------------------------------------------------------- */

/* The greatest number of a type, of 7 bits for reduced int8. */
int32_t tfr__q_most(tfr_dtype dtype, bool reduced);
/* Scale and zero point that show [low, high] and 0. */
void tfr__q_affine(double low, double high, tfr_dtype dtype, float *scale, int32_t *zero);
/*
 * Integers, scales and, for unsigned ones, zero points of a constant that is finite; least are
 * scales that channels must have at least, or NULL. Each is to be released.
 */
TFR_MUST_CHECK tfr_status tfr__q_integers(tfr_tensor *tensor, tfr__q_form form, bool reduced,
                                          const float *least, tfr_tensor **integers,
                                          tfr_tensor **scales, tfr_tensor **zeros, tfr_err *err);
bool tfr__q_is_finite(tfr_tensor *tensor);
/* A plain tensor of n numbers; a scalar for rank 0. */
TFR_MUST_CHECK tfr_status tfr__q_vector(tfr_dtype dtype, int32_t rank, int64_t n, const void *data,
                                        tfr_tensor **out, tfr_err *err);

/* ---- weights.c: constants behind DequantizeLinear -------------------------------------------- */

/* The value that has the constant's numbers in this form; made once. */
TFR_MUST_CHECK tfr_status tfr__q_constant_as(tfr__quantizer *q, tfr_value constant,
                                             tfr__q_form form, const float *least,
                                             const tfr__q_made **out, tfr_err *err);
/* The form that options ask for. */
tfr__q_form tfr__q_weights_form(const tfr__quantizer *q, const tfr__q_weights *weights);
TFR_MUST_CHECK tfr_status tfr__q_weights_only(tfr__quantizer *q, tfr_err *err);

/* ---- dynamic.c: activations that become integers in each run --------------------------------- */

TFR_MUST_CHECK tfr_status tfr__q_begin_dynamic(tfr__quantizer *q, tfr_err *err);
/* Is it a product of this kind, with the weights that were found? */
bool tfr__q_is_dynamic(const tfr__quantizer *q, const tfr_node_view *view,
                       const tfr__q_weights *weights);
/* Adds what takes the node's place, and sets the map of its output. */
TFR_MUST_CHECK tfr_status tfr__q_add_dynamic(tfr__quantizer *q, const tfr_node_view *view,
                                             const tfr__q_weights *weights, tfr_err *err);

/* ---- qdq.c, half.c: the other forms ---------------------------------------------------------- */

TFR_MUST_CHECK tfr_status tfr__q_static(tfr__quantizer *q, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__q_half(tfr__quantizer *q, tfr_err *err);

#endif

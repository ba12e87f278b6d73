/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qdq.h: static quantization in two steps: qdq_plan.c decides which nodes compute with integers and
 * which values are rounded to 8 bits with which range, qdq_write.c makes the graph.
 */
#ifndef TFR_NN_QDQ_H
#define TFR_NN_QDQ_H

#include "quantize/quantize.h"

typedef struct tfr__qdq_value {
    bool quantized;     /* a pair of QuantizeLinear and DequantizeLinear stands behind it */
    bool kept;          /* an output of the graph, or read by a subgraph */
    uint32_t n_readers; /* operands that it is */
    int32_t maker;      /* node, -1 = none */
    tfr_value group;    /* another value that it has the range of, up to one that is its own */
    double low, high;   /* of the group, where it is its own */
    float scale;
    int32_t zero;
    /* In the new graph: */
    tfr_value scale_value, zero_value, dequantized;
} tfr__qdq_value;

typedef struct tfr__qdq_node {
    bool done;
    bool merged;      /* a Relu or Clip, whose maker writes its output */
    bool has_weights; /* as weights say */
    uint32_t data;    /* bit i: input i is an activation, or a constant like one */
    tfr__q_weights weights;
    const char *why; /* it is left alone; NULL = nothing is done for its op */
} tfr__qdq_node;

typedef struct tfr__qdq {
    tfr__quantizer *q;
    tfr_dtype activations;
    tfr__qdq_value *values; /* by value */
    tfr__qdq_node *nodes;   /* by node */
} tfr__qdq;

/* The value that has the range of v. */
tfr_value tfr__qdq_group(const tfr__qdq *s, tfr_value v);
TFR_MUST_CHECK tfr_status tfr__qdq_plan(tfr__qdq *s, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__qdq_write(tfr__qdq *s, tfr_err *err);

#endif

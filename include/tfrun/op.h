/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/op.h: the op table (which operators there are) and the immediate call of one of them.
 */
#ifndef TFRUN_OP_H
#define TFRUN_OP_H

#include <tfrun/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A row of the op table. Texts are static. The rows that plugins bring (tfrun/plugin_ops.h) stand
 * at the end; they are there once a runtime has been made whose plugin brings them, for good.
 */
typedef struct tfr_op_desc {
    uint32_t size;
    int32_t since_version;  /* of the form that tfrun knows, in its domain */
    int32_t compat_version; /* oldest version that means the same for every call it admits */
    uint32_t metadata;      /* 1 = the core does it on every device: Reshape, If, SequenceAt... */
    const char *domain;     /* "" = ONNX */
    const char *name;
    const char *inputs;  /* "X:T W:T B?:T" */
    const char *outputs; /* "Y:T" */
    const char *attrs;   /* "group:i=1 strides:is" */
    const char *types;   /* "T=f16|f32|f64" */
    uint64_t digest;
    const char *normal_form; /* what calls keep to besides, as tfrun/plugin_normal.h writes it */
    uint32_t normal_version; /* of that */
    const char *plugin;     /* that brings it; NULL = tfrun's own */
    /* bits: 1 = it has a function of what it is made of; 4 = calls are written out, each by a
     * function of its own, while a model is read, and it is no op of graphs otherwise */
    uint32_t decomposition;
    uint32_t gradient;      /* 1 = and one that differentiates it */
    uint32_t shape_inputs;  /* bit i: the value of input i decides the shape of an output */
} tfr_op_desc;

TFR_API uint32_t tfr_op_count(void);
TFR_API TFR_MUST_CHECK tfr_status tfr_op_describe(uint32_t i, tfr_op_desc *out, tfr_err *err);
/* The number of an op in the table, or -1. Domain NULL, "" and "ai.onnx" are the same. */
TFR_API int32_t tfr_op_find(const char *domain, const char *name);

/*
 * A function of an op that a plugin brings: which 0 = its decomposition, 1 = its gradient. An ONNX
 * FunctionProto, serialized, as tfrun/plugin_ops.h describes it, which lives as long as the
 * process; *n 0 = there is none. Loads the plugin.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_op_function(const char *domain, const char *name,
                                                  uint32_t which, const void **bytes, uint64_t *n,
                                                  tfr_err *err);
/*
 * What one call of an op with bit 4 in decomposition is made of: asks its plugin for a
 * FunctionProto of at most *n bytes, with the meaning of tfr_ops_facet.decompose.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_op_decompose(const tfr_call *call, void *out, uint64_t *n,
                                                   tfr_err *err);
/*
 * For libtfrun-nn, which gives the core what reads such a function: adds its nodes to the graph for
 * a call with domain, op, name and attributes of node, between these values.
 */
typedef tfr_status tfr_function_reader(tfr_graph *graph, const void *bytes, uint64_t n,
                                       const tfr_node_view *node, const tfr_value *inputs,
                                       uint32_t n_inputs, tfr_value *outputs, uint32_t n_outputs,
                                       tfr_err *err);
TFR_API void tfr_op_set_function_reader(tfr_function_reader *reader);

/*
 * Runs one op at once, on `device` (NULL = the best). Of node only domain, op, attrs and n_outputs
 * count. inputs may hold NULL for absent operands; outputs gets new tensors. Prepared kernels are
 * remembered in the runtime, so that a second call with equal types, shapes and attributes is
 * quick. TFR_ETIMEOUT after op_timeout_ns of the runtime's options; what the device does not give
 * up then is as with a session's timeout_ns, and calls like it fail with TFR_EDEVICE until it ends.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_op_run(tfr_runtime *runtime, const char *device,
                                             const tfr_node_desc *node, tfr_tensor *const *inputs,
                                             uint32_t n_inputs, tfr_tensor **outputs,
                                             uint32_t n_outputs, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif

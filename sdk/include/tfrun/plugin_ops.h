/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/plugin_ops.h: ops that a plugin brings, the facet tfr.ops/1; included by tfrun/plugin.h.
 *
 * An op of the plugin's own domain is a row of the op table: how it is called (a signature), which
 * shapes its outputs have (infer), and, if its author likes, what it is made of and how it is
 * differentiated (two ONNX functions). Kernels of it are claimed as those of all other ops, by any
 * plugin.
 *
 * The probe asks for the rows, and its answer is remembered, so that listings load nothing. The
 * rows of the plugins of a runtime are in the table of the process from then on, for good, and
 * before any model is read that needs them the runtime must have been made. The plugin is loaded
 * when the first shape has to be inferred or the first function be read.
 *
 * Two plugins may bring the same op: with equal signatures and versions (tfr_op_desc.digest) the
 * first one's row serves both. A different row of the same name is refused, and so are the claims
 * that its plugin makes for it; `tfrun plugins` says why.
 *
 * Limits: 256 rows a plugin, 1024 a process; names of 63 bytes, other texts of 1023; 32 inputs, 32
 * outputs and 32 attributes; functions of 65536 bytes.
 */
#ifndef TFRUN_PLUGIN_OPS_H
#define TFRUN_PLUGIN_OPS_H

#include <tfrun/plugin_call.h>

#define TFR_OPS_V1 "tfr.ops/1"

enum {
    TFR_OP_RANDOM = 1u << 0, /* two calls give different values: neither folded nor shared */
    /*
     * Calls become the nodes that tfr_ops_facet.decompose makes of them while a model is read, so
     * that passes and backends see ops that they know, and gradients follow. Nobody has kernels for
     * the op, and its inputs may be sequences of operands ("X...:T"). infer says no.
     */
    TFR_OP_WRITTEN = 1u << 1
};

/*
 * A row. The plugin sets size; texts and functions live until shutdown. The signature is written as
 * those of all ops (docs/notations.md, `tfrun ops --verbose`), of tensors alone, without graphs as
 * attributes. A row that is not right is refused, with the reason, and the others stay.
 */
typedef struct tfr_op_schema {
    uint32_t size;
    uint32_t flags; /* TFR_OP_... */
    /* of the plugin's domain: 1 or more, and what models that import a later version may call */
    int32_t since_version;
    int32_t compat_version; /* the oldest version with the same meaning; 0 = since_version */
    /* a name of a-z 0-9 . - _ with a dot: "org.example"; not "ai.onnx..." or "tfrun...". That of
     * its author, or of somebody whose ops it computes as they are defined there */
    const char *domain;
    const char *name;    /* a letter, then letters, digits and _ */
    const char *inputs;  /* "X:T scale?:f32" */
    const char *outputs; /* "Y:T" */
    const char *attrs;   /* "alpha:f=1 mode:s=a|b"; NULL = none */
    const char *types;   /* "T=f16|f32" */
    uint64_t shape_args; /* bit i: infer reads the value of input i (tfr_operand.data) */
    /*
     * A FunctionProto of ONNX, serialized, with the inputs, outputs and attributes of the op: what
     * computes it where no kernel takes a call. Attributes that have a default have it there, too
     * (attribute_proto). Its own name and domain mean nothing, it needs opset_import for the
     * domains of its nodes, and it has no graphs inside. NULL = there is none. Not for ops with a
     * variadic operand.
     */
    const void *decomposition;
    uint64_t decomposition_bytes;
    /*
     * The same for the gradient: its inputs are those of the op, then the op's outputs, then the
     * gradients of the outputs, and its outputs the gradients of the inputs. What is missing at the
     * end are inputs that nothing flows through.
     */
    const void *gradient;
    uint64_t gradient_bytes;
} tfr_op_schema;

/* A dim that only a run knows, and of which infer knows no more. */
#define TFR_DIM_UNKNOWN (-1)

/*
 * What infer says of an output. The core sets size and fills in what follows from the signature:
 * the type, if the inputs fix it, and rank -1, which is "not known" and stays an answer as long as
 * an input has dims that are not known.
 */
typedef struct tfr_inferred {
    uint32_t size;
    int32_t dtype;  /* 0 = not known */
    uint32_t flags; /* TFR_OPERAND_DYNAMIC: dims are upper bounds, launch writes the true ones */
    int32_t rank;
    int64_t dims[TFR_MAX_RANK];
} tfr_inferred;

typedef struct tfr_ops_facet {
    uint32_t size;
    uint32_t flags; /* none yet */
    /* required [any]. Fills up to *n rows, stride bytes apart, and sets *n to their number. The
     * same rows in the same order at each call. */
    int32_t (*schemas)(tfr_op_schema *out, uint32_t stride, uint32_t *n, tfr_err *err);
    /*
     * required [any]. The types of the outputs of a call of one of the rows: call->n_outputs of
     * them, stride bytes apart; what the node does not want (dtype 0 in call->outputs) is not
     * looked at. Pure and fast; no device is open. The core has checked inputs and attributes
     * against the signature; element types and ranks of all inputs are known. A dim that only a run
     * knows is less than TFR_DIM_UNKNOWN, and dims that are equal are so in each run; such a number
     * may be given to an output as it is. Then shape arguments may have data NULL, too. In a run
     * all dims are known, and those of outputs have to be.
     *
     * A failure says that the call is wrong, with TFR_ESHAPE, TFR_EDTYPE, TFR_EMODEL or
     * TFR_EUNSUPPORTED and a sentence. Anything else, and an answer that breaks these rules, fails
     * the model with TFR_EPLUGIN and the plugin's name.
     */
    int32_t (*infer)(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err);
    /*
     * For rows with TFR_OP_WRITTEN, required there [any]. Writes a FunctionProto of what this call
     * is made of into out, which has room for *n bytes, and sets *n to their number. It is as
     * decomposition of tfr_op_schema, but has attributes of its own in its nodes alone, and as many
     * outputs as the call. Nodes may be of rows with TFR_OP_WRITTEN, too.
     *
     * The call is what the model's text says: attributes are those that the model has, with the
     * types of the signature. Of an input what is known while the model is read: dtype
     * TFR_DTYPE_NONE is absent, less than that not known, as rank -1 is; a dim that is not known is
     * negative; data, if it is a constant of the model. An output that the node wants has a dtype,
     * which says no more than that. Failures are those of infer.
     */
    int32_t (*decompose)(const tfr_call *call, void *out, uint64_t *n, tfr_err *err);
} tfr_ops_facet;
#define TFR_OPS_MIN_SIZE ((uint32_t)(offsetof(tfr_ops_facet, infer) + sizeof(void *)))

/* Output i of infer. */
static inline tfr_inferred *tfr_inferred_at(tfr_inferred *out, uint32_t stride, uint32_t i)
{
    return (tfr_inferred *)(void *)((char *)out + (size_t)i * stride);
}

/* The output has type and dims of an operand. */
static inline void tfr_inferred_like(tfr_inferred *out, const tfr_operand *like)
{
    int32_t i;
    out->dtype = like->dtype;
    out->rank = like->rank;
    for (i = 0; i < like->rank; i++)
        out->dims[i] = like->dims[i];
}

#endif

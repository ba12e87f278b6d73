/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h: tensors as parts of models, and a model computed node by node on the reference: each node
 * becomes a model of its own, so that nothing of a session's planning is used.
 */
#ifndef TFR_FUZZ_EVAL_H
#define TFR_FUZZ_EVAL_H

#include <tfrun/tfrun.h>

#include "message.h"

/* A TensorProto of it without a name; not of sequences and optionals. */
fuzz_msg *fuzz_tensor_msg(const tfr_tensor *tensor, const char *name);
/* NULL if it is none that tfrun reads. The caller releases it. */
tfr_tensor *fuzz_tensor_read(const fuzz_msg *tensor);
/* A ValueInfoProto with the tensor's type; dims only if with_shape. */
fuzz_msg *fuzz_value_msg(const tfr_tensor *tensor, const char *name, bool with_shape);

/* Names and what they stand for. */
typedef struct fuzz_env {
    struct {
        char *name;
        tfr_tensor *tensor;
    } * items;
    size_t n, capacity;
} fuzz_env;

/* Retains the tensor; a later one of the same name hides the earlier one. */
void fuzz_env_set(fuzz_env *env, const char *name, tfr_tensor *tensor);
tfr_tensor *fuzz_env_get(const fuzz_env *env, const char *name);
/* Forgets all but the first n. */
void fuzz_env_cut(fuzz_env *env, size_t n);
void fuzz_env_finish(fuzz_env *env);

/*
 * Computes one node of `model`, whose opsets and functions count; all names that it or its
 * subgraphs use come from env. outputs gets one tensor for each output that has a name, NULL for
 * the others; there is room for FUZZ_MAX_OUTPUTS.
 */
enum { FUZZ_MAX_OUTPUTS = 64 };
tfr_status fuzz_eval_node(tfr_runtime *runtime, const fuzz_msg *model, const fuzz_msg *node,
                          const fuzz_env *env, tfr_tensor **outputs, tfr_err *err);

/* A graph in memory with the inputs that its file holds; where there are none, made up ones. */
typedef struct fuzz_case {
    const unsigned char *bytes;
    size_t n;
    tfr_graph *graph;
    tfr_tensor **inputs;
    uint32_t n_inputs, n_outputs;
} fuzz_case;

tfr_status fuzz_case_init(fuzz_case *c, const void *bytes, size_t n, tfr_err *err);
void fuzz_case_finish(fuzz_case *c);

#endif

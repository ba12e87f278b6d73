/* SPDX-License-Identifier: Apache-2.0 */
/* dnn.h: cuDNN's functions and descriptors, plans of convolutions (conv_plan.c). */
#ifndef CUDA_DNN_H
#define CUDA_DNN_H

#include "host.h"

#include "cudnn_abi.h"

/* All is NULL before the library is open. */
typedef struct cuda_dnn_table {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cudnn.def"
#undef X
} cuda_dnn_table;
extern cuda_dnn_table cuda_dnn;

/* The status as ours, with the library's texts. */
int32_t cuda_dnn_check(tfr_dnn_status status, const char *what, tfr_err *err);

/* ---- descriptors ---- */

enum { CUDA_DNN_DESCS = 32 };

/* Descriptors that are made one of the other; after a failure nothing more is done. */
typedef struct cuda_dnn_builder {
    tfr_dnn_desc *all[CUDA_DNN_DESCS];
    int n;
    int32_t status;
    const char *what; /* in messages */
    tfr_err *err;
} cuda_dnn_builder;

tfr_dnn_desc *cuda_dnn_create(cuda_dnn_builder *b, unsigned kind);
void cuda_dnn_set(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, unsigned type,
                  int64_t n, const void *elements);
void cuda_dnn_set_type(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, unsigned type);
void cuda_dnn_set_ints(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, int64_t n,
                       const int64_t *values);
void cuda_dnn_set_desc(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute,
                       tfr_dnn_desc *part);
tfr_dnn_desc *cuda_dnn_finish(cuda_dnn_builder *b, tfr_dnn_desc *desc);
/* Gives all of them back. */
void cuda_dnn_drop(cuda_dnn_builder *b);

/* ---- conv_plan.c ---- */

/* What the library knows the tensors of a convolution by. */
enum {
    CUDA_DNN_X = 1,
    CUDA_DNN_W,
    CUDA_DNN_Y,
    CUDA_DNN_BIAS,
    CUDA_DNN_ADDEND,
    CUDA_DNN_SUM /* and two more: what only the graph sees */
};

/* Where a plan is to run. */
typedef struct cuda_dnn_target {
    tfr_dnn_handle *handle; /* used by nobody else meanwhile */
    tfr_dnn_desc
        *properties; /* in place of a handle: of a chip that need not be there, for tests */
} cuda_dnn_target;

typedef struct cuda_dnn_plan {
    tfr_dnn_desc *plan, *config; /* the plan's */
    uint64_t workspace_bytes;
    unsigned notes; /* of its engine, bit n for note n */
    int64_t number; /* among all that the heuristics name */
    int64_t engine; /* the library's number of it, where it was asked for; -1 = it has none */
} cuda_dnn_plan;

enum { CUDA_DNN_PLANS = 8 };

/* Plans of the engines that will do, in the order of the heuristics. */
typedef struct cuda_dnn_plans {
    int64_t first;     /* the number from which on they are wanted */
    int64_t most;      /* so many at most */
    bool wants_engine; /* the engines' numbers, too */
    int64_t n;
    cuda_dnn_plan all[CUDA_DNN_PLANS];
} cuda_dnn_plans;

/* Fills in n and all. TFR_EUNSUPPORTED: the library has no engine that is exact enough. */
int32_t cuda_dnn_plans_make(const cuda_dnn_target *target, const cuda_convolution *convolution,
                            int32_t dtype, int32_t math_mode, cuda_dnn_plans *plans, tfr_err *err);
/* The first of them. */
int32_t cuda_dnn_plan_make(const cuda_dnn_target *target, const cuda_convolution *convolution,
                           int32_t dtype, int32_t math_mode, cuda_dnn_plan *out, tfr_err *err);
void cuda_dnn_plan_drop(cuda_dnn_plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: building a kernel, which is a list of oneDNN primitives over numbered tensors.
 *
 *   tfr_dnn_md_t d = tfr_dnn_plain(b, dnnl_f32, 2, dims);
 *   int x = tfr_dnn_input(b, 0, d), y = tfr_dnn_output(b, 0, d);
 *   tfr_dnn_add_eltwise(b, dnnl_eltwise_tanh, 0, 0, x, y);
 *
 * Errors stick: after the first one every call does nothing, and prepare returns it. Descriptors
 * live until the end of prepare, tensors and primitives until the kernel is dropped.
 */
#ifndef TFR_DNN_KERNEL_H
#define TFR_DNN_KERNEL_H

#include "onednn.h"

enum {
    TFR_DNN_MAX_TENSORS = 96, /* of a kernel */
    TFR_DNN_MAX_STEPS = 40,
    TFR_DNN_MAX_OUTPUTS = 4
};

typedef struct tfr_dnn_tensor {
    dnnl_memory_t memory;
    int arg;           /* whose address it takes at launch; -1 = none, it has its own */
    const void *known; /* the address if the launch gives none */
} tfr_dnn_tensor;

typedef struct tfr_dnn_step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t *args;
    int n_args;
} tfr_dnn_step;

struct tfr_kernel {
    dnnl_stream_t stream;
    const tfr_plugin_device
        *device; /* whose threads it runs on: the one that opened it or single */
    int n_tensors, n_steps, n_blocks;
    tfr_dnn_tensor *tensors; /* these arrays follow the struct in its own block */
    tfr_dnn_step *steps;
    void **blocks; /* memory of its own: temporaries, packed constants, scratchpads */
};

typedef struct tfr_dnn_build {
    tfr_kernel kernel; /* its arrays are the ones below until the build ends */
    tfr_dnn_tensor tensors[TFR_DNN_MAX_TENSORS];
    tfr_dnn_step steps[TFR_DNN_MAX_STEPS];
    void *blocks[TFR_DNN_MAX_TENSORS];
    const tfr_plugin_device *device;
    const tfr_call *call;
    tfr_err *err;
    int32_t status; /* the first error; nothing is done after it */
    int n_mds;
    tfr_dnn_md mds[TFR_DNN_MAX_TENSORS];
    void *wide[TFR_DNN_MAX_OUTPUTS]; /* outputs of 16 bits that are computed as float32 */
    dnnl_primitive_attr_t attr;      /* of every primitive: user scratchpad, strict arithmetic */
} tfr_dnn_build;

/* The kernel facet's prepare, launch and drop. */
int32_t tfr_dnn_prepare(tfr_plugin_device *device, const tfr_call *call, tfr_kernel **out,
                        tfr_err *err);
int32_t tfr_dnn_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                       const tfr_launch *launch, tfr_err *err);
void tfr_dnn_drop(tfr_plugin_device *device, tfr_kernel *kernel);

/* ---- descriptors; NULL after an error ---- */

tfr_dnn_cmd tfr_dnn_strided(tfr_dnn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims,
                            const int64_t *strides);
/* Dense, row-major. Rank 0 becomes one dimension of 1. */
tfr_dnn_cmd tfr_dnn_plain(tfr_dnn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims);
/* Dims and type of a tensor, in a layout that the library chooses. */
tfr_dnn_cmd tfr_dnn_any_like(tfr_dnn_build *b, int tensor);
/* A box of a parent with strides. */
tfr_dnn_cmd tfr_dnn_part(tfr_dnn_build *b, tfr_dnn_cmd parent, const int64_t *dims,
                         const int64_t *offsets);
tfr_dnn_cmd tfr_dnn_of(tfr_dnn_build *b, const tfr_operand *o);   /* the operand as it is */
tfr_dnn_cmd tfr_dnn_flat(tfr_dnn_build *b, const tfr_operand *o); /* as one dimension */
/* The same as float32. */
tfr_dnn_cmd tfr_dnn_wide(tfr_dnn_build *b, const tfr_operand *o);
tfr_dnn_cmd tfr_dnn_wide_flat(tfr_dnn_build *b, const tfr_operand *o);

/*
 * ---- tensors; the answer is their number, 0 after an error ----
 *
 * A descriptor of float32 for an operand of 16 bits gives a copy in float32: made before the first
 * step that reads it, or, for an output, rounded into the output after the last step. So a family
 * that knows float32 only does all floats, with one rounding.
 */

int tfr_dnn_input(tfr_dnn_build *b, uint32_t i, tfr_dnn_cmd md);
int tfr_dnn_output(tfr_dnn_build *b, uint32_t i, tfr_dnn_cmd md);
/* Memory of the kernel's own, uninitialised. */
int tfr_dnn_temporary(tfr_dnn_build *b, tfr_dnn_cmd md);
/* As temporary, for constants: *data is where to write them, NULL after an error. */
int tfr_dnn_constant(tfr_dnn_build *b, tfr_dnn_cmd md, void **data);

/* The memory of a temporary under another description. */
int tfr_dnn_view(tfr_dnn_build *b, int temporary, tfr_dnn_cmd md);

/* ---- steps ---- */

typedef struct tfr_dnn_use {
    int arg;    /* DNNL_ARG_... */
    int tensor; /* -1 = leave out */
} tfr_dnn_use;

/* The descriptor that a tensor has, however it came to it. */
tfr_dnn_cmd tfr_dnn_md_of(const tfr_dnn_build *b, int tensor);
/* What the makers of api.h take. */
tfr_dnn_make tfr_dnn_maker(const tfr_dnn_build *b);
/* Adds the primitive that a maker made with status, and its scratchpad; takes make->pd over. */
void tfr_dnn_add(tfr_dnn_build *b, dnnl_status_t status, tfr_dnn_make *make, const char *what,
                 const tfr_dnn_use *uses, int n_uses);
/*
 * The same tensor in the layout md: itself if it has it; packed now if its value is known; else
 * reordered at every launch. A NULL md gives the tensor itself. The memory of a constant is freed
 * when it is packed.
 */
int tfr_dnn_as(tfr_dnn_build *b, int tensor, tfr_dnn_cmd md);
/* Where to write a tensor in the layout md: itself if it has it, else a temporary to reorder from.
 */
int tfr_dnn_target(tfr_dnn_build *b, int tensor, tfr_dnn_cmd md);
/* Copies with a change of layout or type. */
void tfr_dnn_add_reorder(tfr_dnn_build *b, int from, int to);
void tfr_dnn_add_eltwise(tfr_dnn_build *b, dnnl_alg_kind_t alg, float alpha, float beta, int from,
                         int to);
void tfr_dnn_add_binary(tfr_dnn_build *b, dnnl_alg_kind_t alg, int x, int y, int to);
/* to = x * y, plain as they are. */
void tfr_dnn_add_matmul(tfr_dnn_build *b, int x, int y, int to);
void tfr_dnn_add_reduction(tfr_dnn_build *b, dnnl_alg_kind_t alg, int from, int to);

/* A failure of the build itself. */
void tfr_dnn_build_fail(tfr_dnn_build *b, tfr_status status, const char *what);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: building a kernel, which is a list of oneDNN primitives over numbered tensors.
 *
 *   onednn_md_t d = onednn_plain(b, dnnl_f32, 2, dims);
 *   int x = onednn_input(b, 0, d), y = onednn_output(b, 0, d);
 *   onednn_add_eltwise(b, dnnl_eltwise_tanh, 0, 0, x, y);
 *
 * Errors stick: after the first one every call does nothing, and prepare returns it. Descriptors
 * live until the end of prepare, tensors and primitives until the kernel is dropped.
 */
#ifndef ONEDNN_KERNEL_H
#define ONEDNN_KERNEL_H

#include "onednn.h"
#include "pool_lowest.h"

enum {
    ONEDNN_MAX_TENSORS = 96, /* of a kernel */
    ONEDNN_MAX_STEPS = 40,
    ONEDNN_MAX_OUTPUTS = 4
};

typedef struct onednn_tensor {
    dnnl_memory_t memory;
    int arg;           /* whose address it takes at launch; -1 = none, it has its own */
    const void *known; /* the address if the launch gives none */
} onednn_tensor;

typedef struct onednn_step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t *args;
    int n_args;
} onednn_step;

struct tfr_kernel {
    dnnl_stream_t stream;
    const tfr_plugin_device
        *device; /* whose threads it runs on: the one that opened it or single */
    int n_tensors, n_steps, n_blocks;
    onednn_tensor *tensors; /* these arrays follow the struct in its own block */
    onednn_step *steps;
    void **blocks;         /* memory of its own: temporaries, packed constants, scratchpads */
    onednn_lowest *lowest; /* of a maximum of floats: what to repair after the steps; else NULL */
};

typedef struct onednn_build {
    tfr_kernel kernel; /* its arrays are the ones below until the build ends */
    onednn_tensor tensors[ONEDNN_MAX_TENSORS];
    onednn_step steps[ONEDNN_MAX_STEPS];
    void *blocks[ONEDNN_MAX_TENSORS];
    const tfr_plugin_device *device;
    const tfr_call *call;
    tfr_err *err;
    int32_t status; /* the first error; nothing is done after it */
    int n_mds;
    onednn_md mds[ONEDNN_MAX_TENSORS];
    void *wide[ONEDNN_MAX_OUTPUTS]; /* outputs of 16 bits that are computed as float32 */
    dnnl_primitive_attr_t attr;     /* of every primitive: user scratchpad, strict arithmetic */
} onednn_build;

/* The kernel facet's prepare, launch and drop. */
int32_t onednn_prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *err);
int32_t onednn_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *launch, tfr_err *err);
void onednn_drop(tfr_plugin_device *device, tfr_kernel *kernel);

/* ---- descriptors; NULL after an error ---- */

onednn_cmd onednn_strided(onednn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims,
                          const int64_t *strides);
/* Dense, row-major. Rank 0 becomes one dimension of 1. */
onednn_cmd onednn_plain(onednn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims);
/* Dims and type of a tensor, in a layout that the library chooses. */
onednn_cmd onednn_any_like(onednn_build *b, int tensor);
/* A box of a parent with strides. */
onednn_cmd onednn_part(onednn_build *b, onednn_cmd parent, const int64_t *dims,
                       const int64_t *offsets);
onednn_cmd onednn_of(onednn_build *b, const tfr_operand *o);   /* the operand as it is */
onednn_cmd onednn_flat(onednn_build *b, const tfr_operand *o); /* as one dimension */
/* The same as float32. */
onednn_cmd onednn_wide(onednn_build *b, const tfr_operand *o);
onednn_cmd onednn_wide_flat(onednn_build *b, const tfr_operand *o);

/*
 * ---- tensors; the answer is their number, 0 after an error ----
 *
 * A descriptor of float32 for an operand of 16 bits gives a copy in float32: made before the first
 * step that reads it, or, for an output, rounded into the output after the last step. So a family
 * that knows float32 only does all floats, with one rounding.
 */

int onednn_input(onednn_build *b, uint32_t i, onednn_cmd md);
int onednn_output(onednn_build *b, uint32_t i, onednn_cmd md);
/* Memory of the kernel's own, uninitialised. */
int onednn_temporary(onednn_build *b, onednn_cmd md);
/* As temporary, for constants: *data is where to write them, NULL after an error. */
int onednn_constant(onednn_build *b, onednn_cmd md, void **data);

/* The memory of a temporary under another description. */
int onednn_view(onednn_build *b, int temporary, onednn_cmd md);

/* ---- steps ---- */

typedef struct onednn_use {
    int arg;    /* DNNL_ARG_... */
    int tensor; /* -1 = leave out */
} onednn_use;

/* The descriptor that a tensor has, however it came to it. */
onednn_cmd onednn_md_of(const onednn_build *b, int tensor);
/* What the makers of api.h take. */
onednn_make onednn_maker(const onednn_build *b);
/* Adds the primitive that a maker made with status, and its scratchpad; takes make->pd over. */
void onednn_add(onednn_build *b, dnnl_status_t status, onednn_make *make, const char *what,
                const onednn_use *uses, int n_uses);
/*
 * The same tensor in the layout md: itself if it has it; packed now if its value is known; else
 * reordered at every launch. A NULL md gives the tensor itself. The memory of a constant is freed
 * when it is packed.
 */
int onednn_as(onednn_build *b, int tensor, onednn_cmd md);
/* Where to write a tensor in the layout md: itself if it has it, else a temporary to reorder from.
 */
int onednn_target(onednn_build *b, int tensor, onednn_cmd md);
/* Copies with a change of layout or type. */
void onednn_add_reorder(onednn_build *b, int from, int to);
void onednn_add_eltwise(onednn_build *b, dnnl_alg_kind_t alg, float alpha, float beta, int from,
                        int to);
void onednn_add_binary(onednn_build *b, dnnl_alg_kind_t alg, int x, int y, int to);
/* to = x * y, plain as they are. */
void onednn_add_matmul(onednn_build *b, int x, int y, int to);
void onednn_add_reduction(onednn_build *b, dnnl_alg_kind_t alg, int from, int to);

/* A failure of the build itself. */
void onednn_build_fail(onednn_build *b, tfr_status status, const char *what);

#endif

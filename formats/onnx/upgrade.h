/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h: the rewrites that upgrade.c lists. Each turns a call of the form that ONNX
 * had up to some opset into the next form that differs. They see attributes that nobody has
 * checked, and leave the checking of what stays to the graph.
 */
#ifndef TFR_FORMATS_ONNX_UPGRADE_H
#define TFR_FORMATS_ONNX_UPGRADE_H

#include "onnx/call.h"

typedef tfr_status tfr__upgrade_fn(tfr__onnx_call *call, tfr_err *err);

/* upgrade_inputs.c: attributes that became inputs */
tfr__upgrade_fn tfr__upgrade_axes, tfr__upgrade_clip, tfr__upgrade_dft, tfr__upgrade_pad_1,
    tfr__upgrade_pad_2, tfr__upgrade_reduce, tfr__upgrade_reshape, tfr__upgrade_slice,
    tfr__upgrade_split_11, tfr__upgrade_split_13, tfr__upgrade_tile, tfr__upgrade_top_k;

/* upgrade_image.c: an op of a plugin in place of one that the core cannot infer */
tfr__upgrade_fn tfr__upgrade_image_decoder;

/* upgrade_attrs.c: attributes that changed their form, name or default */
tfr__upgrade_fn tfr__upgrade_cast, tfr__upgrade_concat, tfr__upgrade_drop_broadcast,
    tfr__upgrade_grid_sample, tfr__upgrade_integer_p, tfr__upgrade_recurrent,
    tfr__upgrade_roi_align, tfr__upgrade_scatter, tfr__upgrade_selu;

/* upgrade_broadcast.c: shapes that ONNX once treated in its own way */
tfr__upgrade_fn tfr__upgrade_binary, tfr__upgrade_prelu, tfr__upgrade_softmax;

/* upgrade_norm.c */
tfr__upgrade_fn tfr__upgrade_batch_norm, tfr__upgrade_dropout, tfr__upgrade_group_norm,
    tfr__upgrade_simplified_layer_norm;

/* upgrade_resize.c */
tfr__upgrade_fn tfr__upgrade_resize_10, tfr__upgrade_resize_half_pixel, tfr__upgrade_resize_empty,
    tfr__upgrade_upsample_1, tfr__upgrade_upsample_7, tfr__upgrade_upsample_9;

/* Is there an op of this name, now or in an older opset? */
bool tfr__onnx_knows(const char *domain, const char *op);

/*
 * unknown.c: "; all such: com.example.A (12), com.example.B (1)" with the numbers of nodes, in the
 * order of the model; empty where there is one such op only.
 */
void tfr__onnx_list_unknown(const tfr__onnx_model *model, char *out, size_t n);
/* Why an op that is not known is left out on purpose, as the end of a sentence, or NULL. */
const char *tfr__onnx_why_refused(const char *domain, const char *op);

#endif

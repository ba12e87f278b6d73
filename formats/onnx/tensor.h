/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h: reads TensorProto and the messages made of it, and writes TensorProto. Every size that
 * a message claims is compared with the bytes that are there before memory is taken.
 */
#ifndef TFR_FORMATS_ONNX_TENSOR_H
#define TFR_FORMATS_ONNX_TENSOR_H

#include <tfrun/tensor.h>

#include "onnx/external.h"
#include "onnx/fields.h"
#include "wire_out.h"

/* Where the bytes of a message are, and what may be done with them. */
typedef struct tfr__onnx_source {
    tfr__mapping *mapping;   /* of the file, for tensors that keep it; NULL = copy everything */
    tfr__external *external; /* NULL = external data are refused */
    uint64_t dense_bytes;    /* that sparse tensors may still unfold to */
    bool unaligned;          /* large tensors may lie at any address of the mapping */
} tfr__onnx_source;

/* Sparse tensors are the only ones whose size no bytes in the file stand for. */
#define TFR__DENSE_BYTES_MAX ((uint64_t)64 << 20)

/* wire stands at the start of the message. name may be NULL. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_tensor(tfr__onnx_source *source, tfr__wire wire,
                                                tfr__text *name, tfr_tensor **out, tfr_err *err);
/* As a dense tensor. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_sparse(tfr__onnx_source *source, tfr__wire wire,
                                                tfr__text *name, tfr_tensor **out, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_read_sequence(tfr__onnx_source *source, tfr__wire wire,
                                                  tfr_tensor **out, tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__onnx_read_optional(tfr__onnx_source *source, tfr__wire wire,
                                                  tfr_tensor **out, tfr_err *err);

/* The fields of a TensorProto; name may be NULL. tensor_file.c */
void tfr__onnx_put_tensor(tfr__wire_out *out, const char *name, const tfr_tensor *tensor);

/* The name alone, as far as it can be read; for messages. */
tfr__text tfr__onnx_tensor_name(tfr__wire wire);

#endif

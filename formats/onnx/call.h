/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h: what upgrades do to a call: look at attributes, take them away, add some, turn them
 * into constant inputs, put helper nodes before it. The call itself becomes the last node, so that
 * its outputs keep their names.
 */
#ifndef TFR_FORMATS_ONNX_CALL_H
#define TFR_FORMATS_ONNX_CALL_H

#include "onnx/import.h"

/* NULL if there is none of this name and type. */
const tfr_attr *tfr__call_attr(const tfr__onnx_call *call, const char *name, tfr_attr_type type);
int64_t tfr__call_int(const tfr__onnx_call *call, const char *name, int64_t absent);
/* Removes an attribute, whatever its type, and gives it; false if it is not there. */
bool tfr__call_take(tfr__onnx_call *call, const char *name, tfr_attr *out);
/* Removes it; absent if it is not there. TFR_EMODEL if it is not of type INT. */
TFR_MUST_CHECK tfr_status tfr__call_take_int(tfr__onnx_call *call, const char *name, int64_t absent,
                                             int64_t *out, tfr_err *err);
void tfr__call_drop(tfr__onnx_call *call, const char *name);

/* The name must live as long as the call. TFR_EMODEL if the call is full of attributes. */
TFR_MUST_CHECK tfr_status tfr__call_set_int(tfr__onnx_call *call, const char *name, int64_t value,
                                            tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__call_set_float(tfr__onnx_call *call, const char *name, float value,
                                              tfr_err *err);
TFR_MUST_CHECK tfr_status tfr__call_set_string(tfr__onnx_call *call, const char *name,
                                               const char *value, tfr_err *err);

/* Input i, or TFR_VALUE_NONE. */
tfr_value tfr__call_input(const tfr__onnx_call *call, uint32_t i);
/* Those between are absent. i is below the number of inputs of the file's node + 8. */
void tfr__call_set_input(tfr__onnx_call *call, uint32_t i, tfr_value value);

/* A constant int64[n], or a scalar for rank 0. */
TFR_MUST_CHECK tfr_status tfr__call_ints(tfr__onnx_call *call, int32_t rank, const int64_t *ints,
                                         uint64_t n, tfr_value *out, tfr_err *err);
/* A scalar of the type of another value; float32 if that is absent. */
TFR_MUST_CHECK tfr_status tfr__call_scalar_like(tfr__onnx_call *call, double scalar, tfr_value like,
                                                tfr_value *out, tfr_err *err);
/* An attribute of type INTS becomes the constant input i; nothing happens if it is not there. */
TFR_MUST_CHECK tfr_status tfr__call_ints_to_input(tfr__onnx_call *call, const char *name,
                                                  uint32_t i, tfr_err *err);

/* A helper node with one output. Inputs are n values; attrs may be NULL. */
TFR_MUST_CHECK tfr_status tfr__call_node(tfr__onnx_call *call, const char *op,
                                         const tfr_value *inputs, uint32_t n_inputs,
                                         const tfr_attr *attrs, uint32_t n_attrs, tfr_value *out,
                                         tfr_err *err);

/* The call becomes `op` of these inputs, without attributes. */
void tfr__call_become(tfr__onnx_call *call, const char *op, const tfr_value *inputs, uint32_t n);

/* Is output i there and wanted? */
bool tfr__call_wants(const tfr__onnx_call *call, uint32_t i);

#endif

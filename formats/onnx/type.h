/* SPDX-License-Identifier: Apache-2.0 */
/* type.h: TypeProto, what a model says of the type of a value. */
#ifndef TFR_FORMATS_ONNX_TYPE_H
#define TFR_FORMATS_ONNX_TYPE_H

#include <tfrun/graph.h>

#include "wire.h"
#include "wire_out.h"

/* wire stands at the start of a TypeProto. A dim that has a name, or is -1, is not known. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_type(tfr__wire wire, tfr_value_type *out, tfr_err *err);
/* The fields of a TypeProto. */
void tfr__onnx_put_type(tfr__wire_out *out, const tfr_value_type *type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* type.h: TypeProto, what a model says of the type of a value. */
#ifndef TFR_FORMATS_ONNX_TYPE_H
#define TFR_FORMATS_ONNX_TYPE_H

#include <tfrun/graph.h>

#include "wire.h"
#include "wire_out.h"

/* wire stands at the start of a TypeProto. A dim that has a name becomes a symbol of the graph, or
 * as one that is -1 not known if graph is NULL. */
TFR_MUST_CHECK tfr_status tfr__onnx_read_type(tfr__wire wire, tfr_graph *graph, tfr_value_type *out,
                                              tfr_err *err);
/* The fields of a TypeProto; graph has the names of dims, NULL = they have none. */
void tfr__onnx_put_type(tfr__wire_out *out, const tfr_graph *graph, const tfr_value_type *type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h: a tfr_call made of inferred types, as the plan builder and the evaluator hand it to
 * backends. It points into the types, attributes and strides that it was made from.
 */
#ifndef TFR_CORE_CALL_H
#define TFR_CORE_CALL_H

#include "graph/graph.h"
#include "op/infer.h"
#include "value/tensor.h"

enum { TFR__FEW = 4 };

/* Does not move: it points into itself. */
typedef struct tfr__call {
    tfr_call call;
    tfr_operand *operands;        /* inputs, then outputs; up to TFR__FEW are `few` */
    const tfr_tensor **unaligned; /* of inputs whose data are not aligned; NULL = all are */
    tfr_operand few[TFR__FEW];
} tfr__call;

/* An operand of this type; kind ABSENT gives an absent one. strides NULL = plain. */
void tfr__operand_set(tfr_operand *operand, const tfr__type *type, const int64_t *strides,
                      const void *data);

/* Room for the node's operands, all absent. */
tfr_status tfr__call_init(tfr__call *call, const tfr__node *node, const tfr__attr_list *attrs,
                          tfr_err *err);
void tfr__call_finish(tfr__call *call);

/* Input i has the elements of t where they lie, TFR_OPERAND_UNALIGNED if need be. */
tfr_status tfr__call_set_unaligned(tfr__call *call, uint32_t i, const tfr_tensor *t, tfr_err *err);
/* For a backend that takes no such operands: they are aligned copies from now on. */
tfr_status tfr__call_align(tfr__call *call, tfr_err *err);

#endif

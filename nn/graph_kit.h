/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_kit.h: adds nodes to a graph in few words. After a failure, which the kit remembers, its
 * functions do nothing and return TFR_VALUE_NONE, so that callers look at the status once.
 */
#ifndef TFR_NN_GRAPH_KIT_H
#define TFR_NN_GRAPH_KIT_H

#include <stdbool.h>
#include <tfrun/graph.h>

typedef struct tfr__kit {
    tfr_graph *graph;
    tfr_status status; /* the first failure */
    tfr_err *err;
    const char *scope;  /* of the names of nodes, "conv1"; NULL = none */
    const char *device; /* of the nodes, or NULL */
} tfr__kit;

/* n_outputs values; attrs may be NULL. The op is of domain "", or of "tfrun" if it is there only.
 */
void tfr__kit_nodes(tfr__kit *kit, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                    const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs,
                    uint32_t n_outputs);
tfr_value tfr__kit_node(tfr__kit *kit, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                        const tfr_attr *attrs, uint32_t n_attrs);
tfr_value tfr__kit_op1(tfr__kit *kit, const char *op, tfr_value a);
tfr_value tfr__kit_op2(tfr__kit *kit, const char *op, tfr_value a, tfr_value b);
tfr_value tfr__kit_op3(tfr__kit *kit, const char *op, tfr_value a, tfr_value b, tfr_value c);
tfr_value tfr__kit_cast(tfr__kit *kit, tfr_value v, tfr_dtype dtype);

/* n elements of type `from`, as a constant of another type. */
tfr_value tfr__kit_constant(tfr__kit *kit, tfr_dtype dtype, const tfr_shape *shape, tfr_dtype from,
                            const void *data, size_t n);
/* Of rank 0, rounded to the type. */
tfr_value tfr__kit_scalar(tfr__kit *kit, tfr_dtype dtype, double value);
/* A variable that starts as zeros of this type and shape, or as `value` everywhere. */
tfr_value tfr__kit_variable(tfr__kit *kit, const char *name, tfr_dtype dtype,
                            const tfr_shape *shape, double value);
void tfr__kit_update(tfr__kit *kit, tfr_value variable, tfr_value update);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen.h: a seed becomes a model that is valid by the op table, with inputs. Each node is computed
 * on the reference as soon as it is drawn (eval.h), and one that the reference refuses is dropped;
 * so the type, the shape and the elements of every value are known when the next node is drawn.
 *
 * Nodes come from four sources: the op cases of certify/cases (gen_case.c), the signatures of the
 * op table (gen_case.c), single ops over values that are there (gen_grow.c, gen_rows.c), and groups
 * of nodes as exporters write them, those that passes and programs look for among them
 * (gen_pattern.c, gen_control.c).
 */
#ifndef TFR_FUZZ_GEN_H
#define TFR_FUZZ_GEN_H

#include "certify/make.h"
#include "eval.h"

typedef struct fuzz_limits {
    int opset;           /* newest one allowed; 0 = any */
    bool standard_only;  /* nothing of domain tfrun */
    const char *only_op; /* for looking into one op: every graph has it; NULL = any */
} fuzz_limits;

enum { FUZZ_MAX_VALUES = 160 };

typedef struct fuzz_value {
    char name[16];
    tfr_tensor *tensor;
    bool constant; /* an initializer, or computed of nothing else */
    bool used;
} fuzz_value;

typedef struct fuzz_gen {
    ops_random random;
    tfr_runtime *runtime;
    fuzz_limits limits;
    int opset;
    fuzz_msg *model, *graph; /* graph: the one that nodes are added to now */
    fuzz_env env;
    fuzz_value values[FUZZ_MAX_VALUES]; /* visible now, those of outer graphs too */
    int n_values, n_names, n_nodes, depth;
    int scope; /* first value of the graph that nodes are added to */
    bool uses_domain[4];
    unsigned char *ops_reached; /* a byte for each op of the table, or NULL */
} fuzz_gen;

/* Appends the model's bytes to out. */
void fuzz_generate(tfr_runtime *runtime, uint64_t seed, const fuzz_limits *limits,
                   unsigned char *ops_reached, fuzz_bytes *out);

/* ---- for the sources (gen.c, gen_values.c) --------------------------------------------------- */

uint64_t fuzz_below(fuzz_gen *g, uint64_t n);
bool fuzz_chance(fuzz_gen *g, unsigned percent);

/* A value that has a place in the graph already; the tensor is taken over. */
int fuzz_register(fuzz_gen *g, const char *name, tfr_tensor *tensor, bool constant);
/* A new input or constant holding the tensor, which is taken over; -1 if there is no room. */
int fuzz_new_value(fuzz_gen *g, tfr_tensor *tensor, bool constant);
/* Of this type and shape; values as in case.h, NULL = small ones. */
int fuzz_new_input(fuzz_gen *g, tfr_dtype dtype, const tfr_shape *shape, const char *values);
int fuzz_new_constant(fuzz_gen *g, tfr_dtype dtype, const tfr_shape *shape, const char *values);
int fuzz_new_ints(fuzz_gen *g, const int64_t *ints, int n);
int fuzz_new_scalar(fuzz_gen *g, tfr_dtype dtype, double x);
/* Any value for which `fits` holds, later ones rather than earlier ones; -1 = none. */
int fuzz_pick(fuzz_gen *g, bool (*fits)(const tfr_tensor *t));
bool fuzz_is_float_tensor(const tfr_tensor *t); /* of f32, f64, f16, bf16, not huge */
bool fuzz_is_number_tensor(const tfr_tensor *t);

const tfr_shape *fuzz_shape(const fuzz_gen *g, int value);
tfr_dtype fuzz_dtype(const fuzz_gen *g, int value);

/*
 * Adds a node; inputs of -1 are absent. attrs is "axis:i=1 perm:is=0,2,1 mode:s=x", NULL = none.
 * The number of its first output, the others follow; -1 if the reference refused it or if it is not
 * for this opset.
 */
int fuzz_add(fuzz_gen *g, const char *op, const char *attrs, const int *inputs, int n_inputs,
             int n_outputs);
int fuzz_add1(fuzz_gen *g, const char *op, const char *attrs, int a);
int fuzz_add2(fuzz_gen *g, const char *op, const char *attrs, int a, int b);
/* The same for a node that has its op, inputs and attributes; takes it over. */
int fuzz_add_node(fuzz_gen *g, fuzz_msg *node, int n_outputs);
fuzz_msg *fuzz_new_node(fuzz_gen *g, const char *domain, const char *op, const int *inputs,
                        int n_inputs);
void fuzz_node_attrs(fuzz_msg *node, const char *attrs);

/* "perm:is=1,0,2" into text. */
const char *fuzz_list_attr(char *text, size_t capacity, const char *name, const int64_t *ints,
                           int n);
/* A shape that broadcasts with another one: dims of 1, leading dims gone or added. */
tfr_shape fuzz_broadcast_shape(fuzz_gen *g, const tfr_shape *shape);

/* ---- the sources: each adds some nodes, or none ---------------------------------------------- */

void fuzz_grow_case(fuzz_gen *g);
void fuzz_grow_signature(fuzz_gen *g);
void fuzz_grow_op(fuzz_gen *g);
void fuzz_grow_rows(fuzz_gen *g);
void fuzz_grow_pattern(fuzz_gen *g);
void fuzz_grow_control(fuzz_gen *g);
/* One node or pattern of any source. */
void fuzz_grow(fuzz_gen *g);
/* A value of the type and shape out of v, by moving elements; -1 if that is not possible. */
int fuzz_adapt(fuzz_gen *g, int v, tfr_dtype dtype, const tfr_shape *shape);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/dnnl_library.h: oneDNN opened at run time, 2.x and 3.x behind the same functions. They
 * differ in how descriptors are made: 2.x fills structs of the caller, 3.x hands out handles. In
 * both a descriptor is something that we only point to, so no header of oneDNN is needed.
 *
 * Functions that return int give oneDNN's status, 0 = well.
 */
#ifndef TFR_BENCH_DNNL_LIBRARY_H
#define TFR_BENCH_DNNL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of dnnl_types.h, equal in 2.x and 3.x. */
enum { DNNL_CPU = 1, DNNL_F32 = 3, DNNL_IN_ORDER = 1 };
enum { DNNL_TAG_ANY = 1, DNNL_TAG_A = 2, DNNL_TAG_AB = 3, DNNL_TAG_ABCD = 5 };
enum { DNNL_FORWARD_TRAINING = 64, DNNL_BACKWARD_DATA = 160, DNNL_BACKWARD_WEIGHTS = 192 };
enum {
    DNNL_SRC_MD = 129,
    DNNL_DIFF_SRC_MD,
    DNNL_WEIGHTS_MD,
    DNNL_DIFF_WEIGHTS_MD,
    DNNL_DST_MD,
    DNNL_DIFF_DST_MD,
    DNNL_WORKSPACE_MD
};
enum {
    DNNL_SRC = 1,
    DNNL_DST = 17,
    DNNL_WEIGHTS = 33,
    DNNL_BIAS = 41,
    DNNL_WORKSPACE = 64,
    DNNL_DIFF_SRC = 129,
    DNNL_DIFF_DST = 145,
    DNNL_DIFF_WEIGHTS = 161,
    DNNL_DIFF_BIAS = 169
};
#define DNNL_ALLOCATE ((void *)(uintptr_t)-1)

typedef struct dnnl_arg {
    int arg;
    void *memory;
} dnnl_arg;

/* X(name, arguments): in both versions; all return a status. */
#define DNNL_CALLS(X)                                                                              \
    X(engine_create, (void **out, int kind, size_t i))                                             \
    X(engine_destroy, (void *engine))                                                              \
    X(stream_create, (void **out, void *engine, unsigned flags))                                   \
    X(stream_destroy, (void *stream))                                                              \
    X(stream_wait, (void *stream))                                                                 \
    X(memory_create, (void **out, const void *desc, void *engine, void *data))                     \
    X(memory_get_data_handle, (const void *memory, void **out))                                    \
    X(memory_destroy, (void *memory))                                                              \
    X(primitive_create, (void **out, const void *desc))                                            \
    X(primitive_execute, (const void *primitive, void *stream, int n, const dnnl_arg *args))       \
    X(primitive_destroy, (void *primitive))                                                        \
    X(primitive_desc_destroy, (void *desc))                                                        \
    X(primitive_attr_create, (void **out))                                                         \
    X(primitive_attr_destroy, (void *attr))                                                        \
    X(primitive_attr_set_post_ops, (void *attr, const void *ops))                                  \
    X(post_ops_create, (void **out))                                                               \
    X(post_ops_destroy, (void *ops))                                                               \
    X(memory_desc_equal, (const void *a, const void *b))                                           \
    X(reorder_primitive_desc_create, (void **out, const void *from, void *from_engine,             \
                                      const void *to, void *to_engine, const void *attr))

typedef struct dnnl_library {
    int major, minor, patch;
#define DNNL_FIELD(name, arguments) int(*name) arguments;
    DNNL_CALLS(DNNL_FIELD)
#undef DNNL_FIELD
    const void *(*primitive_desc_query_md)(const void *desc, int what, int i);
    size_t (*memory_desc_get_size)(const void *desc);
    void (*omp_set_num_threads)(int n); /* NULL = built without OpenMP */
    void *symbols[24];                  /* of the makers below, which differ in their arguments */
} dnnl_library;

/* Names by which the dynamic linker may know it, ended by NULL. */
extern const char *const bench_dnnl_names[];

/* Takes the functions of a library that dlopen gave; false if it lacks one of 2.x or 3.x. */
bool bench_dnnl_take(void *library, dnnl_library *out);

/* A descriptor of float32; NULL when there is none. Free it with bench_dnnl_md_free. */
const void *bench_dnnl_md(const dnnl_library *l, int rank, const int64_t *dims, int tag);
void bench_dnnl_md_free(const dnnl_library *l, const void *md);

/* ---- descriptors of primitives, which the caller destroys ------------------------------------ */

/* The layer that a primitive is of. What a direction does not use is NULL; src, weights, bias and
 * dst are those of the gradients where the direction computes or takes gradients. */
typedef struct dnnl_layer {
    void *engine;
    int direction; /* DNNL_FORWARD_TRAINING ... */
    const void *src, *weights, *bias, *dst;
    const void *hint; /* descriptor of the forward primitive, for those that go backward */
    bool relu;        /* forward: max(0, y) in the same primitive */
} dnnl_layer;

/* No padding, stride 1. */
int bench_dnnl_convolution(const dnnl_library *l, const dnnl_layer *layer, void **out);
int bench_dnnl_inner_product(const dnnl_library *l, const dnnl_layer *layer, void **out);
/* The largest of windows of size x size without overlap. */
int bench_dnnl_max_pool(const dnnl_library *l, const dnnl_layer *layer, int64_t size, void **out);
/* Gradient of max(0, x) from its result; *hint is made on the way. */
int bench_dnnl_relu_backward(const dnnl_library *l, void *engine, const void *md, void **hint,
                             void **out);
int bench_dnnl_matmul(const dnnl_library *l, const dnnl_layer *layer, void **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* dnnl_library.c: see dnnl_library.h. */
#include "dnnl_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { CONVOLUTION_DIRECT = 1, POOLING_MAX = 511, RELU_2 = 31, RELU_3 = 32, RELU_BY_DST = 256 };

/* Debian 13 has 3.7 with the minor number of its interface in the name. */
const char *const bench_dnnl_names[] = {"libdnnl.so.3", "libdnnl.so.3.6", "libdnnl.so.2",
                                        "libdnnl.so", NULL};

/* 2.x fills operation descriptors, of which that of a convolution has 5976 bytes, and memory
 * descriptors of 696. */
enum { OP_DESC_BYTES = 16384, MD_BYTES = 1024 };

/*
 * The functions that differ: an enum of their places, their names in 2.x and in 3.x, and their
 * types, each used for the place that it is named after.
 */
enum {
    MD_INIT,
    MD_DESTROY,
    APPEND_ELTWISE,
    PD_CREATE,
    CONV_FORWARD,
    CONV_DATA,
    CONV_WEIGHTS,
    IP_FORWARD,
    IP_DATA,
    IP_WEIGHTS,
    POOL_FORWARD,
    POOL_BACKWARD,
    ELTWISE_FORWARD,
    ELTWISE_BACKWARD,
    MATMUL,
    N_MAKERS
};

static const char *const makers[N_MAKERS][2] = {
    [MD_INIT] = {"memory_desc_init_by_tag", "memory_desc_create_with_tag"},
    [MD_DESTROY] = {NULL, "memory_desc_destroy"},
    [APPEND_ELTWISE] = {"post_ops_append_eltwise", "post_ops_append_eltwise"},
    [PD_CREATE] = {"primitive_desc_create", NULL},
    [CONV_FORWARD] = {"convolution_forward_desc_init", "convolution_forward_primitive_desc_create"},
    [CONV_DATA] = {"convolution_backward_data_desc_init",
                   "convolution_backward_data_primitive_desc_create"},
    [CONV_WEIGHTS] = {"convolution_backward_weights_desc_init",
                      "convolution_backward_weights_primitive_desc_create"},
    [IP_FORWARD] = {"inner_product_forward_desc_init",
                    "inner_product_forward_primitive_desc_create"},
    [IP_DATA] = {"inner_product_backward_data_desc_init",
                 "inner_product_backward_data_primitive_desc_create"},
    [IP_WEIGHTS] = {"inner_product_backward_weights_desc_init",
                    "inner_product_backward_weights_primitive_desc_create"},
    [POOL_FORWARD] = {"pooling_forward_desc_init", "pooling_forward_primitive_desc_create"},
    [POOL_BACKWARD] = {"pooling_backward_desc_init", "pooling_backward_primitive_desc_create"},
    [ELTWISE_FORWARD] = {"eltwise_forward_desc_init", "eltwise_forward_primitive_desc_create"},
    [ELTWISE_BACKWARD] = {"eltwise_backward_desc_init", "eltwise_backward_primitive_desc_create"},
    [MATMUL] = {"matmul_desc_init", "matmul_primitive_desc_create"},
};

/* C has no conversion from void * to a pointer to a function. */
#define CALL(l, place, result, name, arguments)                                                    \
    result(*name) arguments;                                                                       \
    memcpy(&name, &(l)->symbols[place], sizeof name)

static void *symbol_of(void *library, const char *name)
{
    char whole[80] = "dnnl_";
    strncat(whole, name, sizeof whole - sizeof "dnnl_");
    return dlsym(library, whole);
}

bool bench_dnnl_take(void *library, dnnl_library *out)
{
    struct version {
        int major, minor, patch;
    };
    const struct version *(*version)(void);
    void *symbol = symbol_of(library, "version");
    bool complete = symbol != NULL;
    _Static_assert(N_MAKERS <= sizeof out->symbols / sizeof *out->symbols, "room for all");
    *out = (dnnl_library){0};
    if (!complete)
        return false;
    memcpy(&version, &symbol, sizeof version);
    out->major = version()->major;
    out->minor = version()->minor;
    out->patch = version()->patch;
#define DNNL_TAKE(name, arguments)                                                                 \
    symbol = symbol_of(library, #name);                                                            \
    complete = complete && symbol;                                                                 \
    memcpy(&out->name, &symbol, sizeof symbol);
    DNNL_CALLS(DNNL_TAKE)
#undef DNNL_TAKE
    symbol = symbol_of(library, "primitive_desc_query_md");
    complete = complete && symbol;
    memcpy(&out->primitive_desc_query_md, &symbol, sizeof symbol);
    symbol = symbol_of(library, "memory_desc_get_size");
    complete = complete && symbol;
    memcpy(&out->memory_desc_get_size, &symbol, sizeof symbol);
    for (int i = 0; i < N_MAKERS; i++) {
        const char *name = makers[i][out->major >= 3];
        if (name && !(out->symbols[i] = symbol_of(library, name)))
            complete = false;
    }
    symbol = dlsym(library, "omp_set_num_threads");
    memcpy(&out->omp_set_num_threads, &symbol, sizeof symbol);
    return complete;
}

const void *bench_dnnl_md(const dnnl_library *l, int rank, const int64_t *dims, int tag)
{
    void *md = NULL;
    if (l->major >= 3) {
        CALL(l, MD_INIT, int, create, (void **, int, const int64_t *, int, int));
        return create(&md, rank, dims, DNNL_F32, tag) ? NULL : md;
    }
    CALL(l, MD_INIT, int, init, (void *, int, const int64_t *, int, int));
    if ((md = calloc(1, MD_BYTES)) && init(md, rank, dims, DNNL_F32, tag)) {
        free(md);
        md = NULL;
    }
    return md;
}

void bench_dnnl_md_free(const dnnl_library *l, const void *md)
{
    void *whole = (void *)(uintptr_t)md;
    if (l->major < 3) {
        free(whole);
    } else if (md) {
        CALL(l, MD_DESTROY, int, destroy, (void *));
        (void)destroy(whole);
    }
}

/* ---- makers ---------------------------------------------------------------------------------- */

typedef struct op_desc {
    _Alignas(64) unsigned char bytes[OP_DESC_BYTES];
} op_desc;

/* 2.x: from a filled operation descriptor to that of a primitive. */
static int finish(const dnnl_library *l, int status, const op_desc *d, const void *attr,
                  void *engine, const void *hint, void **out)
{
    CALL(l, PD_CREATE, int, create, (void **, const void *, const void *, void *, const void *));
    return status ? status : create(out, d, attr, engine, hint);
}

/* *out = attributes with a ReLU behind, or NULL. */
static int attr_of(const dnnl_library *l, bool relu, void **out)
{
    void *ops = NULL;
    int bad;
    *out = NULL;
    if (!relu)
        return 0;
    if ((bad = l->post_ops_create(&ops)))
        return bad;
    if (l->major >= 3) {
        CALL(l, APPEND_ELTWISE, int, append, (void *, int, float, float));
        bad = append(ops, RELU_3, 0, 0);
    } else {
        CALL(l, APPEND_ELTWISE, int, append, (void *, float, int, float, float));
        bad = append(ops, 1, RELU_2, 0, 0);
    }
    if (!bad)
        bad = l->primitive_attr_create(out);
    if (!bad)
        bad = l->primitive_attr_set_post_ops(*out, ops);
    l->post_ops_destroy(ops);
    return bad;
}

static const int64_t ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[12];

static int convolution_2(const dnnl_library *l, const dnnl_layer *y, const void *attr, void **out)
{
    op_desc d;
    int bad;
    if (y->direction == DNNL_FORWARD_TRAINING) {
        CALL(l, CONV_FORWARD, int, init,
             (void *, int, int, const void *, const void *, const void *, const void *,
              const int64_t *, const int64_t *, const int64_t *));
        bad = init(&d, y->direction, CONVOLUTION_DIRECT, y->src, y->weights, y->bias, y->dst, ones,
                   zeros, zeros);
    } else if (y->direction == DNNL_BACKWARD_DATA) {
        CALL(l, CONV_DATA, int, init,
             (void *, int, const void *, const void *, const void *, const int64_t *,
              const int64_t *, const int64_t *));
        bad = init(&d, CONVOLUTION_DIRECT, y->src, y->weights, y->dst, ones, zeros, zeros);
    } else {
        CALL(l, CONV_WEIGHTS, int, init,
             (void *, int, const void *, const void *, const void *, const void *, const int64_t *,
              const int64_t *, const int64_t *));
        bad = init(&d, CONVOLUTION_DIRECT, y->src, y->weights, y->bias, y->dst, ones, zeros, zeros);
    }
    return finish(l, bad, &d, attr, y->engine, y->hint, out);
}

static int convolution_3(const dnnl_library *l, const dnnl_layer *y, const void *attr, void **out)
{
    if (y->direction == DNNL_FORWARD_TRAINING) {
        CALL(l, CONV_FORWARD, int, create,
             (void **, void *, int, int, const void *, const void *, const void *, const void *,
              const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *));
        return create(out, y->engine, y->direction, CONVOLUTION_DIRECT, y->src, y->weights, y->bias,
                      y->dst, ones, zeros, zeros, zeros, attr);
    }
    if (y->direction == DNNL_BACKWARD_DATA) {
        CALL(l, CONV_DATA, int, create,
             (void **, void *, int, const void *, const void *, const void *, const int64_t *,
              const int64_t *, const int64_t *, const int64_t *, const void *, const void *));
        return create(out, y->engine, CONVOLUTION_DIRECT, y->src, y->weights, y->dst, ones, zeros,
                      zeros, zeros, y->hint, attr);
    }
    CALL(l, CONV_WEIGHTS, int, create,
         (void **, void *, int, const void *, const void *, const void *, const void *,
          const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *,
          const void *));
    return create(out, y->engine, CONVOLUTION_DIRECT, y->src, y->weights, y->bias, y->dst, ones,
                  zeros, zeros, zeros, y->hint, attr);
}

static int inner_product_2(const dnnl_library *l, const dnnl_layer *y, const void *attr, void **out)
{
    op_desc d;
    int bad;
    if (y->direction == DNNL_FORWARD_TRAINING) {
        CALL(l, IP_FORWARD, int, init,
             (void *, int, const void *, const void *, const void *, const void *));
        bad = init(&d, y->direction, y->src, y->weights, y->bias, y->dst);
    } else if (y->direction == DNNL_BACKWARD_DATA) {
        CALL(l, IP_DATA, int, init, (void *, const void *, const void *, const void *));
        bad = init(&d, y->src, y->weights, y->dst);
    } else {
        CALL(l, IP_WEIGHTS, int, init,
             (void *, const void *, const void *, const void *, const void *));
        bad = init(&d, y->src, y->weights, y->bias, y->dst);
    }
    return finish(l, bad, &d, attr, y->engine, y->hint, out);
}

static int inner_product_3(const dnnl_library *l, const dnnl_layer *y, const void *attr, void **out)
{
    if (y->direction == DNNL_FORWARD_TRAINING) {
        CALL(l, IP_FORWARD, int, create,
             (void **, void *, int, const void *, const void *, const void *, const void *,
              const void *));
        return create(out, y->engine, y->direction, y->src, y->weights, y->bias, y->dst, attr);
    }
    if (y->direction == DNNL_BACKWARD_DATA) {
        CALL(l, IP_DATA, int, create,
             (void **, void *, const void *, const void *, const void *, const void *,
              const void *));
        return create(out, y->engine, y->src, y->weights, y->dst, y->hint, attr);
    }
    CALL(l, IP_WEIGHTS, int, create,
         (void **, void *, const void *, const void *, const void *, const void *, const void *,
          const void *));
    return create(out, y->engine, y->src, y->weights, y->bias, y->dst, y->hint, attr);
}

int bench_dnnl_convolution(const dnnl_library *l, const dnnl_layer *layer, void **out)
{
    void *attr;
    int bad = attr_of(l, layer->relu, &attr);
    if (!bad)
        bad = (l->major >= 3 ? convolution_3 : convolution_2)(l, layer, attr, out);
    if (attr)
        l->primitive_attr_destroy(attr);
    return bad;
}

int bench_dnnl_inner_product(const dnnl_library *l, const dnnl_layer *layer, void **out)
{
    void *attr;
    int bad = attr_of(l, layer->relu, &attr);
    if (!bad)
        bad = (l->major >= 3 ? inner_product_3 : inner_product_2)(l, layer, attr, out);
    if (attr)
        l->primitive_attr_destroy(attr);
    return bad;
}

int bench_dnnl_max_pool(const dnnl_library *l, const dnnl_layer *y, int64_t size, void **out)
{
    const int64_t window[12] = {size, size};
    bool forward = y->direction == DNNL_FORWARD_TRAINING;
    op_desc d;
    int bad;
    if (l->major >= 3 && forward) {
        CALL(l, POOL_FORWARD, int, create,
             (void **, void *, int, int, const void *, const void *, const int64_t *,
              const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *));
        return create(out, y->engine, y->direction, POOLING_MAX, y->src, y->dst, window, window,
                      zeros, zeros, zeros, NULL);
    }
    if (l->major >= 3) {
        CALL(l, POOL_BACKWARD, int, create,
             (void **, void *, int, const void *, const void *, const int64_t *, const int64_t *,
              const int64_t *, const int64_t *, const int64_t *, const void *, const void *));
        return create(out, y->engine, POOLING_MAX, y->src, y->dst, window, window, zeros, zeros,
                      zeros, y->hint, NULL);
    }
    if (forward) {
        CALL(l, POOL_FORWARD, int, init,
             (void *, int, int, const void *, const void *, const int64_t *, const int64_t *,
              const int64_t *, const int64_t *));
        bad = init(&d, y->direction, POOLING_MAX, y->src, y->dst, window, window, zeros, zeros);
    } else {
        CALL(l, POOL_BACKWARD, int, init,
             (void *, int, const void *, const void *, const int64_t *, const int64_t *,
              const int64_t *, const int64_t *));
        bad = init(&d, POOLING_MAX, y->src, y->dst, window, window, zeros, zeros);
    }
    return finish(l, bad, &d, NULL, y->engine, y->hint, out);
}

int bench_dnnl_relu_backward(const dnnl_library *l, void *engine, const void *md, void **hint,
                             void **out)
{
    op_desc d;
    int bad;
    if (l->major >= 3) {
        CALL(l, ELTWISE_FORWARD, int, forward,
             (void **, void *, int, int, const void *, const void *, float, float, const void *));
        CALL(l, ELTWISE_BACKWARD, int, backward,
             (void **, void *, int, const void *, const void *, const void *, float, float,
              const void *, const void *));
        bad = forward(hint, engine, DNNL_FORWARD_TRAINING, RELU_BY_DST, md, md, 0, 0, NULL);
        return bad ? bad : backward(out, engine, RELU_BY_DST, md, md, md, 0, 0, *hint, NULL);
    }
    CALL(l, ELTWISE_FORWARD, int, init, (void *, int, int, const void *, float, float));
    bad = init(&d, DNNL_FORWARD_TRAINING, RELU_BY_DST, md, 0, 0);
    bad = finish(l, bad, &d, NULL, engine, NULL, hint);
    if (bad)
        return bad;
    CALL(l, ELTWISE_BACKWARD, int, init_backward,
         (void *, int, const void *, const void *, float, float));
    bad = init_backward(&d, RELU_BY_DST, md, md, 0, 0);
    return finish(l, bad, &d, NULL, engine, *hint, out);
}

int bench_dnnl_matmul(const dnnl_library *l, const dnnl_layer *y, void **out)
{
    op_desc d;
    if (l->major >= 3) {
        CALL(l, MATMUL, int, create,
             (void **, void *, const void *, const void *, const void *, const void *,
              const void *));
        return create(out, y->engine, y->src, y->weights, y->bias, y->dst, NULL);
    }
    CALL(l, MATMUL, int, init, (void *, const void *, const void *, const void *, const void *));
    return finish(l, init(&d, y->src, y->weights, y->bias, y->dst), &d, NULL, y->engine, NULL, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_onednn.c: oneDNN called directly: one matmul primitive, made once, its weights in the layout
 * that oneDNN asks for if they are constant. Versions 2.x and 3.x differ in how descriptors are
 * made; in both a descriptor is something that we only point to.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "peer.h"

#define PEER "onednn"

/* Numbers of dnnl_types.h, equal in 2.x and 3.x. */
enum { DNNL_CPU = 1, DNNL_F32 = 3, DNNL_ANY = 1, DNNL_AB = 3, DNNL_IN_ORDER = 1 };
enum { DNNL_WEIGHTS_MD = 131, DNNL_SRC = 1, DNNL_DST = 17, DNNL_WEIGHTS = 33 };
#define DNNL_ALLOCATE ((void *)(uintptr_t)-1)

typedef struct dnnl_version {
    int major, minor, patch;
} dnnl_version;

typedef struct dnnl_arg {
    int arg;
    void *memory;
} dnnl_arg;

/* X(name, arguments, since 3.x: 3, until 2.x: 2, always: 0); all return a status, 0 = well. */
#define DNNL_CALLS(X)                                                                              \
    X(engine_create, (void **out, int kind, size_t i), 0)                                          \
    X(engine_destroy, (void *engine), 0)                                                           \
    X(stream_create, (void **out, void *engine, unsigned flags), 0)                                \
    X(stream_destroy, (void *stream), 0)                                                           \
    X(stream_wait, (void *stream), 0)                                                              \
    X(memory_create, (void **out, const void *desc, void *engine, void *data), 0)                  \
    X(memory_get_data_handle, (const void *memory, void **out), 0)                                 \
    X(memory_destroy, (void *memory), 0)                                                           \
    X(primitive_create, (void **out, const void *desc), 0)                                         \
    X(primitive_execute, (const void *primitive, void *stream, int n, const dnnl_arg *args), 0)    \
    X(primitive_destroy, (void *primitive), 0)                                                     \
    X(primitive_desc_destroy, (void *desc), 0)                                                     \
    X(reorder_primitive_desc_create,                                                               \
      (void **out, const void *from, void *from_engine, const void *to, void *to_engine,           \
       const void *attr),                                                                          \
      0)                                                                                           \
    X(memory_desc_create_with_tag,                                                                 \
      (void **out, int rank, const int64_t *dims, int dtype, int tag), 3)                          \
    X(memory_desc_destroy, (void *desc), 3)                                                        \
    X(matmul_primitive_desc_create,                                                                \
      (void **out, void *engine, const void *src, const void *weights, const void *bias,           \
       const void *dst, const void *attr),                                                         \
      3)                                                                                           \
    X(memory_desc_init_by_tag, (void *desc, int rank, const int64_t *dims, int dtype, int tag), 2) \
    X(matmul_desc_init,                                                                            \
      (void *desc, const void *src, const void *weights, const void *bias, const void *dst), 2)    \
    X(primitive_desc_create,                                                                       \
      (void **out, const void *desc, const void *attr, void *engine, const void *hint), 2)

typedef struct dnnl_calls {
#define DNNL_FIELD(name, arguments, since) int(*name) arguments;
    DNNL_CALLS(DNNL_FIELD)
#undef DNNL_FIELD
    const void *(*primitive_desc_query_md)(const void *desc, int what, int i);
    void (*omp_set_num_threads)(int n); /* NULL = built without OpenMP */
} dnnl_calls;

/* The structs of 2.x are about 700 and 2800 bytes. */
typedef struct dnnl_desc {
    void *handle; /* 3.x */
    _Alignas(64) unsigned char bytes[4096];
} dnnl_desc;

typedef struct dnnl_peer {
    dnnl_calls call;
    dnnl_version version;
    void *engine, *stream, *primitive, *desc;
    void *src, *weights, *packed, *dst;
    dnnl_arg args[3];
    int n_threads;
} dnnl_peer;

static bool load(void *library, dnnl_peer *p)
{
    const dnnl_version *(*version)(void);
    void *symbol = dlsym(library, "dnnl_version");
    if (!symbol)
        return false;
    memcpy(&version, &symbol, sizeof version);
    p->version = *version();
#define DNNL_LOAD(name, arguments, since)                                                          \
    symbol = dlsym(library, "dnnl_" #name);                                                        \
    memcpy(&p->call.name, &symbol, sizeof symbol);                                                 \
    if (!symbol && (since == 0 || since == (p->version.major >= 3 ? 3 : 2)))                       \
        return false;
    DNNL_CALLS(DNNL_LOAD)
#undef DNNL_LOAD
    symbol = dlsym(library, "omp_set_num_threads");
    memcpy(&p->call.omp_set_num_threads, &symbol, sizeof symbol);
    symbol = dlsym(library, "dnnl_primitive_desc_query_md");
    memcpy(&p->call.primitive_desc_query_md, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void onednn_destroy(void *user)
{
    dnnl_peer *p = user;
    void *memories[] = {p->src, p->weights, p->packed, p->dst};
    for (int i = 0; i < 4; i++)
        if (memories[i])
            p->call.memory_destroy(memories[i]);
    if (p->primitive)
        p->call.primitive_destroy(p->primitive);
    if (p->desc)
        p->call.primitive_desc_destroy(p->desc);
    if (p->stream)
        p->call.stream_destroy(p->stream);
    if (p->engine)
        p->call.engine_destroy(p->engine);
    free(p);
}

static tfr_status onednn_run(void *user, tfr_err *err)
{
    dnnl_peer *p = user;
    int bad;
    /* Somebody else in this process may have set another number for this thread. */
    if (p->call.omp_set_num_threads)
        p->call.omp_set_num_threads(p->n_threads);
    bad = p->call.primitive_execute(p->primitive, p->stream, 3, p->args);
    if (!bad)
        bad = p->call.stream_wait(p->stream);
    return bad ? tfr_fail(err, TFR_EUNSUPPORTED, "oneDNN's matmul fails with status %d", bad)
               : TFR_OK;
}

static const void *md(dnnl_peer *p, dnnl_desc *d, int64_t rows, int64_t columns, int tag)
{
    const int64_t dims[] = {rows, columns};
    if (p->version.major < 3)
        return p->call.memory_desc_init_by_tag(d->bytes, 2, dims, DNNL_F32, tag) ? NULL : d->bytes;
    return p->call.memory_desc_create_with_tag(&d->handle, 2, dims, DNNL_F32, tag) ? NULL
                                                                                   : d->handle;
}

static int make_desc(dnnl_peer *p, const void *src, const void *weights, const void *dst)
{
    dnnl_desc d;
    int bad;
    if (p->version.major >= 3)
        return p->call.matmul_primitive_desc_create(&p->desc, p->engine, src, weights, NULL, dst,
                                                    NULL);
    bad = p->call.matmul_desc_init(d.bytes, src, weights, NULL, dst);
    return bad ? bad : p->call.primitive_desc_create(&p->desc, d.bytes, NULL, p->engine, NULL);
}

/* Brings the weights into the layout that the primitive wants. */
static int pack(dnnl_peer *p, const void *plain)
{
    const void *wanted = p->call.primitive_desc_query_md(p->desc, DNNL_WEIGHTS_MD, 0);
    void *desc = NULL, *reorder = NULL;
    int bad = p->call.memory_create(&p->packed, wanted, p->engine, DNNL_ALLOCATE);
    if (!bad)
        bad =
            p->call.reorder_primitive_desc_create(&desc, plain, p->engine, wanted, p->engine, NULL);
    if (!bad)
        bad = p->call.primitive_create(&reorder, desc);
    if (!bad) {
        dnnl_arg args[] = {{DNNL_SRC, p->weights}, {DNNL_DST, p->packed}};
        bad = p->call.primitive_execute(reorder, p->stream, 2, args);
    }
    if (!bad)
        bad = p->call.stream_wait(p->stream);
    if (reorder)
        p->call.primitive_destroy(reorder);
    if (desc)
        p->call.primitive_desc_destroy(desc);
    return bad;
}

static int prepare(dnnl_peer *p, const bench_product *product)
{
    dnnl_desc descs[4] = {{0}};
    const void *src = md(p, &descs[0], product->m, product->k, DNNL_AB);
    const void *plain = md(p, &descs[1], product->k, product->n, DNNL_AB);
    const void *any = md(p, &descs[2], product->k, product->n, DNNL_ANY);
    const void *dst = md(p, &descs[3], product->m, product->n, DNNL_AB);
    int bad = !src || !plain || !any || !dst;
    if (!bad)
        bad = p->call.engine_create(&p->engine, DNNL_CPU, 0);
    if (!bad)
        bad = p->call.stream_create(&p->stream, p->engine, DNNL_IN_ORDER);
    if (!bad)
        bad = make_desc(p, src, product->constant ? any : plain, dst);
    if (!bad)
        bad = p->call.primitive_create(&p->primitive, p->desc);
    if (!bad)
        bad = p->call.memory_create(&p->src, src, p->engine, (void *)(uintptr_t)product->a);
    if (!bad)
        bad = p->call.memory_create(&p->weights, plain, p->engine, (void *)(uintptr_t)product->b);
    if (!bad)
        bad = p->call.memory_create(&p->dst, dst, p->engine, DNNL_ALLOCATE);
    if (!bad && product->constant)
        bad = pack(p, plain);
    for (int i = 0; i < 4; i++)
        if (descs[i].handle)
            p->call.memory_desc_destroy(descs[i].handle);
    p->args[0] = (dnnl_arg){DNNL_SRC, p->src};
    p->args[1] = (dnnl_arg){DNNL_WEIGHTS, p->packed ? p->packed : p->weights};
    p->args[2] = (dnnl_arg){DNNL_DST, p->dst};
    return bad;
}

void bench_add_onednn(bench_contest *contest, const bench_product *product)
{
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", NULL};
    tfr_err err = TFR_ERR_INIT;
    bench_contender *c;
    dnnl_peer *p;
    void *library, *result = NULL;
    int bad;
    if (!bench_wants(contest->options, PEER) || !(library = bench_peer_open(contest, PEER, names)))
        return;
    if (!(p = calloc(1, sizeof *p)))
        return;
    p->n_threads = (int)contest->options->n_threads;
    if (!load(library, p)) {
        bench_peer_skip(contest, PEER, "the library lacks functions of oneDNN 2.x or 3.x");
        free(p);
        return;
    }
    if (p->call.omp_set_num_threads)
        p->call.omp_set_num_threads(p->n_threads);
    if ((bad = prepare(p, product)))
        bench_peer_skip(contest, PEER, "its matmul cannot be made, status %d", bad);
    else if (onednn_run(p, &err) || p->call.memory_get_data_handle(p->dst, &result))
        bench_peer_skip(contest, PEER, "%s", err.text);
    if (!result || !(c = bench_contest_add(contest, PEER))) {
        onednn_destroy(p);
        return;
    }
    snprintf(c->note, sizeof c->note, "%d.%d.%d, %d threads%s", p->version.major, p->version.minor,
             p->version.patch, p->n_threads, product->constant ? ", weights packed" : "");
    c->run = onednn_run;
    c->destroy = onednn_destroy;
    c->user = p;
    c->error = bench_product_error(product, result);
}

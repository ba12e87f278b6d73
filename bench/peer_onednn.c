/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_onednn.c: oneDNN called directly: one matmul primitive, made once, its weights in the layout
 * that oneDNN asks for if they are constant.
 */
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "dnnl_library.h"
#include "peer.h"

#define PEER "onednn"

typedef struct dnnl_peer {
    dnnl_library call;
    void *engine, *stream, *primitive, *desc;
    void *src, *weights, *packed, *dst;
    dnnl_arg args[3];
    int n_threads;
} dnnl_peer;

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
    const int64_t a[] = {product->m, product->k}, b[] = {product->k, product->n};
    const int64_t c[] = {product->m, product->n};
    const void *src = bench_dnnl_md(&p->call, 2, a, DNNL_TAG_AB);
    const void *plain = bench_dnnl_md(&p->call, 2, b, DNNL_TAG_AB);
    const void *any = bench_dnnl_md(&p->call, 2, b, DNNL_TAG_ANY);
    const void *dst = bench_dnnl_md(&p->call, 2, c, DNNL_TAG_AB);
    const void *mds[] = {src, plain, any, dst};
    dnnl_layer layer = {.src = src, .weights = product->constant ? any : plain, .dst = dst};
    int bad = !src || !plain || !any || !dst;
    if (!bad)
        bad = p->call.engine_create(&p->engine, DNNL_CPU, 0);
    if (!bad)
        bad = p->call.stream_create(&p->stream, p->engine, DNNL_IN_ORDER);
    layer.engine = p->engine;
    if (!bad)
        bad = bench_dnnl_matmul(&p->call, &layer, &p->desc);
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
        bench_dnnl_md_free(&p->call, mds[i]);
    p->args[0] = (dnnl_arg){DNNL_SRC, p->src};
    p->args[1] = (dnnl_arg){DNNL_WEIGHTS, p->packed ? p->packed : p->weights};
    p->args[2] = (dnnl_arg){DNNL_DST, p->dst};
    return bad;
}

void bench_add_onednn(bench_contest *contest, const bench_product *product)
{
    tfr_err err = TFR_ERR_INIT;
    bench_contender *c;
    dnnl_peer *p;
    void *library, *result = NULL;
    int bad;
    if (!bench_wants(contest->options, PEER) ||
        !(library = bench_peer_open(contest, PEER, bench_dnnl_names)))
        return;
    if (!(p = calloc(1, sizeof *p)))
        return;
    p->n_threads = (int)contest->options->n_threads;
    if (!bench_dnnl_take(library, &p->call)) {
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
    snprintf(c->note, sizeof c->note, "%d.%d.%d, %d threads%s", p->call.major, p->call.minor,
             p->call.patch, p->n_threads, product->constant ? ", weights packed" : "");
    c->run = onednn_run;
    c->destroy = onednn_destroy;
    c->user = p;
    c->error = bench_product_error(product, result);
}

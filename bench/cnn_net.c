/* SPDX-License-Identifier: Apache-2.0 */
/* cnn_net.c: the weights of all lists of a training, in the layouts that the first list chose. */
#include <stdlib.h>
#include <string.h>

#include "cnn_list.h"

const void *cnn_plain_md(const dnnl_library *l, int param)
{
    /* A dense layer behind images is a convolution of its whole input: its weight has four dims. */
    static const int64_t dims[BENCH_CNN_PARAMS][4] = {{32, 1, 3, 3},  {32}, {64, 32, 3, 3}, {64},
                                                      {64, 64, 3, 3}, {64}, {64, 64, 3, 3}, {64},
                                                      {10, 64},       {10}};
    const int64_t *d = dims[param];
    int rank = d[3] ? 4 : d[1] ? 2 : 1;
    return bench_dnnl_md(l, rank, d,
                         rank == 4   ? DNNL_TAG_ABCD
                         : rank == 2 ? DNNL_TAG_AB
                                     : DNNL_TAG_A);
}

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Descriptors of their own, and memory in these layouts: those of the list go with it. */
static int settle_params(cnn_net *net)
{
    const dnnl_library *l = net->library;
    size_t at = 0;
    for (int i = 0; i < BENCH_CNN_PARAMS; i++) {
        cnn_param *p = &net->params[i];
        p->bytes = padded(l->memory_desc_get_size(p->md));
        p->gradient_bytes = l->memory_desc_get_size(p->gradient_md);
        p->same = l->memory_desc_equal(p->md, p->gradient_md);
        at += p->bytes / sizeof *net->values;
    }
    net->n_values = at;
    if (posix_memalign((void **)&net->values, 64, at * sizeof *net->values))
        return -1;
    memset(net->values, 0, at * sizeof *net->values);
    at = 0;
    for (int i = 0; i < BENCH_CNN_PARAMS; i++) {
        cnn_param *p = &net->params[i];
        p->value = p->backward = net->values + at;
        at += p->bytes / sizeof *net->values;
        if (!p->backward_md || l->memory_desc_equal(p->md, p->backward_md))
            continue;
        if (posix_memalign((void **)&p->backward, 64,
                           padded(l->memory_desc_get_size(p->backward_md)))) {
            p->backward = p->value;
            return -1;
        }
    }
    return 0;
}

int cnn_mover_init(cnn_mover *m, const cnn_net *net, const void *from_md, const void *from,
                   const void *to_md, void *to)
{
    const dnnl_library *l = net->library;
    int bad =
        l->reorder_primitive_desc_create(&m->pd, from_md, net->engine, to_md, net->engine, NULL);
    if (!bad)
        bad = l->primitive_create(&m->primitive, m->pd);
    if (!bad)
        bad = l->memory_create(&m->from, from_md, net->engine, (void *)(uintptr_t)from);
    if (!bad)
        bad = l->memory_create(&m->to, to_md, net->engine, to);
    return bad;
}

int cnn_mover_run(const cnn_mover *m, const cnn_net *net, void *stream)
{
    const dnnl_arg args[] = {{DNNL_SRC, m->from}, {DNNL_DST, m->to}};
    int bad = net->library->primitive_execute(m->primitive, stream, 2, args);
    return bad ? bad : net->library->stream_wait(stream);
}

void cnn_mover_finish(cnn_mover *m, const cnn_net *net)
{
    const dnnl_library *l = net->library;
    if (m->from)
        l->memory_destroy(m->from);
    if (m->to)
        l->memory_destroy(m->to);
    if (m->primitive)
        l->primitive_destroy(m->primitive);
    if (m->pd)
        l->primitive_desc_destroy(m->pd);
    *m = (cnn_mover){0};
}

int cnn_net_init(cnn_net *net, int64_t n_samples)
{
    int bad = cnn_list_create(net, n_samples, &net->scout);
    if (!bad)
        bad = settle_params(net);
    for (int i = 0; !bad && i < BENCH_CNN_LAYERS; i++) {
        const cnn_param *p = &net->params[2 * i];
        if (p->backward != p->value)
            bad =
                cnn_mover_init(&net->derive[i], net, p->md, p->value, p->backward_md, p->backward);
    }
    return bad;
}

int cnn_net_derive(cnn_net *net, void *stream, int i)
{
    return net->derive[i].primitive ? cnn_mover_run(&net->derive[i], net, stream) : 0;
}

static int set_param(cnn_net *net, void *stream, int i, const float *plain)
{
    const void *md = cnn_plain_md(net->library, i);
    cnn_mover mover = {0};
    int bad =
        !md ? -1 : cnn_mover_init(&mover, net, md, plain, net->params[i].md, net->params[i].value);
    if (!bad)
        bad = cnn_mover_run(&mover, net, stream);
    cnn_mover_finish(&mover, net);
    bench_dnnl_md_free(net->library, md);
    return bad;
}

int cnn_net_set(cnn_net *net, void *stream, float *const *weights)
{
    int bad = 0;
    for (int i = 0; !bad && i < BENCH_CNN_PARAMS; i++)
        bad = set_param(net, stream, i, weights[i]);
    for (int i = 0; !bad && i < BENCH_CNN_LAYERS; i++)
        bad = cnn_net_derive(net, stream, i);
    return bad;
}

void cnn_net_finish(cnn_net *net)
{
    for (int i = 0; i < BENCH_CNN_LAYERS; i++)
        cnn_mover_finish(&net->derive[i], net);
    for (int i = 0; i < BENCH_CNN_PARAMS; i++)
        if (net->params[i].backward != net->params[i].value)
            free(net->params[i].backward);
    free(net->values);
    cnn_list_destroy(net->scout);
    net->values = NULL;
    net->scout = NULL;
}

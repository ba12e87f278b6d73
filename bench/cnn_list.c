/* SPDX-License-Identifier: Apache-2.0 */
/* cnn_list.c: see cnn_list.h. */
#include "cnn_list.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 64, MOST_OWNED = 192, MOST_ARGS = 6, N_CONVS = 3 };

/* Filters, channels and side of the input of each convolution, and whether a pooling of 2 follows.
 */
static const struct {
    int64_t filters, channels, side;
    bool pool;
} convs[N_CONVS] = {{32, 1, 28, true}, {64, 32, 13, true}, {64, 64, 5, false}};

/* A tensor: where it is, and how it lies. */
typedef struct value {
    void *memory;
    const void *md;
} value;

typedef struct step {
    void *primitive;
    dnnl_arg args[MOST_ARGS];
    int n_args;
} step;

struct cnn_list {
    cnn_net *net;
    const dnnl_library *library;
    void *stream;
    int64_t n;
    step steps[MOST_STEPS];
    int n_steps, n_forward, n_reorders;
    /* Destroyed with the list, in reverse. */
    void *memories[MOST_OWNED], *pds[MOST_OWNED];
    const void *mds[MOST_OWNED];
    int n_memories, n_pds, n_mds;
    value gradients[BENCH_CNN_PARAMS];
    float *input, *scores, *score_gradient;
    int bad; /* the first status that is not 0: what follows does nothing */
};

/* ---- building -------------------------------------------------------------------------------- */

static const void *md_of(cnn_list *t, int rank, const int64_t *dims, int tag)
{
    const void *md = t->bad ? NULL : bench_dnnl_md(t->library, rank, dims, tag);
    if (!md && !t->bad)
        t->bad = -1;
    if (md)
        t->mds[t->n_mds++] = md;
    return md;
}

static value value_at(cnn_list *t, const void *md, void *data)
{
    value v = {NULL, md};
    if (!t->bad)
        t->bad = t->library->memory_create(&v.memory, md, t->net->engine, data);
    if (v.memory)
        t->memories[t->n_memories++] = v.memory;
    return v;
}

static value value_new(cnn_list *t, const void *md)
{
    return value_at(t, md, DNNL_ALLOCATE);
}

static const void *ask(cnn_list *t, const void *pd, int what)
{
    return t->bad ? NULL : t->library->primitive_desc_query_md(pd, what, 0);
}

static void *keep_pd(cnn_list *t, void *pd)
{
    if (pd)
        t->pds[t->n_pds++] = pd;
    return pd;
}

static step *add_step(cnn_list *t, const void *pd)
{
    step *s = &t->steps[t->n_steps];
    if (!t->bad)
        t->bad = t->library->primitive_create(&s->primitive, pd);
    t->n_steps += !t->bad;
    return s;
}

static void arg(step *s, int what, value v)
{
    if (s->n_args < MOST_ARGS) /* after an error calls meet here, and nothing runs */
        s->args[s->n_args++] = (dnnl_arg){what, v.memory};
}

/* The value in another layout, by a reorder if it is not in it. */
static value in_layout(cnn_list *t, value v, const void *md)
{
    value out = v;
    void *pd = NULL;
    step *s;
    if (t->bad || t->library->memory_desc_equal(v.md, md))
        return v;
    out = value_new(t, md);
    if (!t->bad)
        t->bad = t->library->reorder_primitive_desc_create(&pd, v.md, t->net->engine, md,
                                                           t->net->engine, NULL);
    s = add_step(t, keep_pd(t, pd));
    t->n_reorders++;
    arg(s, DNNL_SRC, v);
    arg(s, DNNL_DST, out);
    return out;
}

/* What is known of a layer after its forward primitive. */
typedef struct layer {
    int number;
    bool convolution;
    void *pd;
    const void *any_src, *any_weights, *any_dst, *bias;
    value src, dst; /* before and after it, ReLU included */
} layer;

static int make(cnn_list *t, const layer *y, dnnl_layer *d, void **pd)
{
    d->engine = t->net->engine;
    return y->convolution ? bench_dnnl_convolution(t->library, d, pd)
                          : bench_dnnl_inner_product(t->library, d, pd);
}

/* The layout that the first list chose, or, in the first, any. */
static const void *chosen(const void *md, const void *any)
{
    return md ? md : any;
}

static void choose(cnn_list *t, const void **md, const void *pd, int what)
{
    if (!*md)
        *md = ask(t, pd, what);
}

static value forward(cnn_list *t, layer *y, value src, bool relu)
{
    cnn_param *w = &t->net->params[2 * y->number], *b = w + 1;
    dnnl_layer d = {.direction = DNNL_FORWARD_TRAINING,
                    .src = y->any_src,
                    .weights = chosen(w->md, y->any_weights),
                    .dst = y->any_dst,
                    .relu = relu};
    step *s;
    if (!b->md)
        b->md = y->bias;
    d.bias = b->md;
    if (!t->bad)
        t->bad = make(t, y, &d, &y->pd);
    keep_pd(t, y->pd);
    choose(t, &w->md, y->pd, DNNL_WEIGHTS_MD);
    y->src = in_layout(t, src, ask(t, y->pd, DNNL_SRC_MD));
    y->dst = value_new(t, ask(t, y->pd, DNNL_DST_MD));
    s = add_step(t, y->pd);
    arg(s, DNNL_SRC, y->src);
    arg(s, DNNL_WEIGHTS, value_at(t, w->md, w->value ? w->value : DNNL_ALLOCATE));
    arg(s, DNNL_BIAS, value_at(t, b->md, b->value ? b->value : DNNL_ALLOCATE));
    arg(s, DNNL_DST, y->dst);
    return y->dst;
}

/* Adds what computes the gradients of the weights and, unless it is the first layer, of src. */
static value backward(cnn_list *t, layer *y, value dst)
{
    cnn_param *w = &t->net->params[2 * y->number], *b = w + 1;
    dnnl_layer d = {.direction = DNNL_BACKWARD_WEIGHTS,
                    .src = y->any_src,
                    .weights = chosen(w->gradient_md, y->any_weights),
                    .bias = b->md,
                    .dst = y->any_dst,
                    .hint = y->pd};
    void *pd = NULL;
    value src, g;
    step *s;
    if (!t->bad)
        t->bad = make(t, y, &d, &pd);
    keep_pd(t, pd);
    choose(t, &w->gradient_md, pd, DNNL_DIFF_WEIGHTS_MD);
    b->gradient_md = b->md;
    for (int i = 0; i < 2; i++)
        t->gradients[2 * y->number + i] = value_new(t, w[i].gradient_md);
    src = in_layout(t, y->src, ask(t, pd, DNNL_SRC_MD));
    g = in_layout(t, dst, ask(t, pd, DNNL_DIFF_DST_MD));
    s = add_step(t, pd);
    arg(s, DNNL_SRC, src);
    arg(s, DNNL_DIFF_DST, g);
    arg(s, DNNL_DIFF_WEIGHTS, t->gradients[2 * y->number]);
    arg(s, DNNL_DIFF_BIAS, t->gradients[2 * y->number + 1]);
    if (y->number == 0)
        return dst;
    d = (dnnl_layer){.direction = DNNL_BACKWARD_DATA,
                     .src = y->any_src,
                     .weights = chosen(w->backward_md, y->any_weights),
                     .dst = y->any_dst,
                     .hint = y->pd};
    pd = NULL;
    if (!t->bad)
        t->bad = make(t, y, &d, &pd);
    keep_pd(t, pd);
    choose(t, &w->backward_md, pd, DNNL_WEIGHTS_MD);
    g = in_layout(t, dst, ask(t, pd, DNNL_DIFF_DST_MD));
    src = value_new(t, ask(t, pd, DNNL_DIFF_SRC_MD));
    s = add_step(t, pd);
    arg(s, DNNL_DIFF_DST, g);
    arg(s, DNNL_WEIGHTS, value_at(t, w->backward_md, w->backward ? w->backward : DNNL_ALLOCATE));
    arg(s, DNNL_DIFF_SRC, src);
    return src;
}

/* Where y, which a ReLU made, is not above 0, the gradient becomes 0, in place. */
static value relu_backward(cnn_list *t, value y, value gradient)
{
    void *hint = NULL, *pd = NULL;
    value g = in_layout(t, gradient, y.md);
    step *s;
    if (!t->bad)
        t->bad = bench_dnnl_relu_backward(t->library, t->net->engine, y.md, &hint, &pd);
    keep_pd(t, hint);
    s = add_step(t, keep_pd(t, pd));
    arg(s, DNNL_DST, y);
    arg(s, DNNL_DIFF_DST, g);
    arg(s, DNNL_DIFF_SRC, g);
    return g;
}

typedef struct pool {
    void *pd;
    value src, dst, places;
} pool;

static value pool_forward(cnn_list *t, pool *p, value src, const void *any_dst)
{
    dnnl_layer d = {.engine = t->net->engine,
                    .direction = DNNL_FORWARD_TRAINING,
                    .src = src.md,
                    .dst = any_dst};
    step *s;
    if (!t->bad)
        t->bad = bench_dnnl_max_pool(t->library, &d, 2, &p->pd);
    keep_pd(t, p->pd);
    p->src = src;
    p->dst = value_new(t, ask(t, p->pd, DNNL_DST_MD));
    p->places = value_new(t, ask(t, p->pd, DNNL_WORKSPACE_MD));
    s = add_step(t, p->pd);
    arg(s, DNNL_SRC, src);
    arg(s, DNNL_DST, p->dst);
    arg(s, DNNL_WORKSPACE, p->places);
    return p->dst;
}

static value pool_backward(cnn_list *t, pool *p, value dst)
{
    dnnl_layer d = {.engine = t->net->engine,
                    .direction = DNNL_BACKWARD_DATA,
                    .src = p->src.md,
                    .dst = p->dst.md,
                    .hint = p->pd};
    void *pd = NULL;
    value g = in_layout(t, dst, p->dst.md), src = value_new(t, p->src.md);
    step *s;
    if (!t->bad)
        t->bad = bench_dnnl_max_pool(t->library, &d, 2, &pd);
    s = add_step(t, keep_pd(t, pd));
    arg(s, DNNL_DIFF_DST, g);
    arg(s, DNNL_WORKSPACE, p->places);
    arg(s, DNNL_DIFF_SRC, src);
    return src;
}

static void data_of(cnn_list *t, value v, float **out)
{
    void *data = NULL;
    if (!t->bad)
        t->bad = t->library->memory_get_data_handle(v.memory, &data);
    *out = data;
}

static layer conv_layer(cnn_list *t, int i)
{
    int64_t n = t->n, f = convs[i].filters, c = convs[i].channels, s = convs[i].side;
    const int64_t src[] = {n, c, s, s}, weights[] = {f, c, 3, 3}, dst[] = {n, f, s - 2, s - 2};
    return (layer){.number = i,
                   .convolution = true,
                   .any_src = md_of(t, 4, src, DNNL_TAG_ANY),
                   .any_weights = md_of(t, 4, weights, DNNL_TAG_ANY),
                   .any_dst = md_of(t, 4, dst, DNNL_TAG_ANY),
                   .bias = md_of(t, 1, &f, DNNL_TAG_A)};
}

static layer dense_layer(cnn_list *t, int i)
{
    const int64_t n = t->n;
    const int64_t src4[] = {n, 64, 3, 3}, src2[] = {n, 64}, dst1[] = {n, 64}, dst2[] = {n, 10};
    const int64_t weights4[] = {64, 64, 3, 3}, weights2[] = {10, 64};
    bool first = i == N_CONVS;
    return (layer){.number = i,
                   .any_src = md_of(t, first ? 4 : 2, first ? src4 : src2, DNNL_TAG_ANY),
                   .any_weights =
                       md_of(t, first ? 4 : 2, first ? weights4 : weights2, DNNL_TAG_ANY),
                   .any_dst = md_of(t, 2, first ? dst1 : dst2, DNNL_TAG_ANY),
                   .bias = md_of(t, 1, first ? dst1 + 1 : dst2 + 1, DNNL_TAG_A)};
}

static void build(cnn_list *t)
{
    const int64_t image[] = {t->n, 1, BENCH_SIDE, BENCH_SIDE}, scores[] = {t->n, BENCH_CLASSES};
    layer layers[BENCH_CNN_LAYERS];
    pool pools[N_CONVS] = {{0}};
    value v = value_new(t, md_of(t, 4, image, DNNL_TAG_ABCD));
    const void *plain = md_of(t, 2, scores, DNNL_TAG_AB);
    data_of(t, v, &t->input);
    for (int i = 0; i < N_CONVS; i++) {
        const int64_t side = (convs[i].side - 2) / 2,
                      pooled[] = {t->n, convs[i].filters, side, side};
        layers[i] = conv_layer(t, i);
        v = forward(t, &layers[i], v, true);
        if (convs[i].pool)
            v = pool_forward(t, &pools[i], v, md_of(t, 4, pooled, DNNL_TAG_ANY));
    }
    for (int i = N_CONVS; i < BENCH_CNN_LAYERS; i++) {
        layers[i] = dense_layer(t, i);
        v = forward(t, &layers[i], v, i + 1 < BENCH_CNN_LAYERS);
    }
    data_of(t, in_layout(t, v, plain), &t->scores);
    t->n_forward = t->n_steps;
    v = value_new(t, plain);
    data_of(t, v, &t->score_gradient);
    for (int i = BENCH_CNN_LAYERS; i-- > 0;) {
        bool pooled = i < N_CONVS && convs[i].pool;
        if (i + 1 < BENCH_CNN_LAYERS)
            v = relu_backward(t, pooled ? pools[i].dst : layers[i].dst, v);
        if (pooled)
            v = pool_backward(t, &pools[i], v);
        v = backward(t, &layers[i], v);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

int cnn_list_create(cnn_net *net, int64_t n_samples, cnn_list **out)
{
    cnn_list *t = calloc(1, sizeof *t);
    if (!t)
        return -1;
    t->net = net;
    t->library = net->library;
    t->n = n_samples;
    t->bad = net->library->stream_create(&t->stream, net->engine, DNNL_IN_ORDER);
    if (!t->bad)
        build(t);
    if (t->bad) {
        int bad = t->bad;
        cnn_list_destroy(t);
        return bad;
    }
    *out = t;
    return 0;
}

void cnn_list_destroy(cnn_list *t)
{
    const dnnl_library *l = t ? t->library : NULL;
    if (!t)
        return;
    for (int i = 0; i < t->n_steps; i++)
        l->primitive_destroy(t->steps[i].primitive);
    for (int i = 0; i < t->n_memories; i++)
        l->memory_destroy(t->memories[i]);
    for (int i = t->n_pds; i-- > 0;)
        l->primitive_desc_destroy(t->pds[i]);
    for (int i = 0; i < t->n_mds; i++)
        bench_dnnl_md_free(l, t->mds[i]);
    if (t->stream)
        l->stream_destroy(t->stream);
    free(t);
}

static int execute(const cnn_list *t, int from, int to)
{
    int bad = 0;
    for (int i = from; !bad && i < to; i++)
        bad = t->library->primitive_execute(t->steps[i].primitive, t->stream, t->steps[i].n_args,
                                            t->steps[i].args);
    return bad ? bad : t->library->stream_wait(t->stream);
}

float *cnn_list_input(cnn_list *t)
{
    return t->input;
}

float *cnn_list_gradient(cnn_list *t, int param)
{
    float *data = NULL;
    data_of(t, t->gradients[param], &data);
    return data;
}

int cnn_list_forward(cnn_list *t, const float **scores)
{
    *scores = t->scores;
    return execute(t, 0, t->n_forward);
}

float *cnn_list_score_gradient(cnn_list *t)
{
    return t->score_gradient;
}

int cnn_list_backward(cnn_list *t)
{
    return execute(t, t->n_forward, t->n_steps);
}

int cnn_list_reorders(const cnn_list *t)
{
    return t->n_reorders;
}

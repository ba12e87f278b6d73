/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_conv_bn.c: BatchNormalization of inference behind a convolution is a scale and a shift of
 * each channel, which the convolution's weights and bias can carry:
 *   s = scale / sqrt(var + epsilon)   W' = W s   B' = (B - mean) s + shift
 * computed in double and rounded once. A convolution whose output is read elsewhere, too, stays.
 */
#include <math.h>
#include <string.h>

#include "optimize/passes.h"
#include "base/port/pool.h"
#include "device/runtime.h"

#define BLOCK 16     /* a fixed length, which compilers take several at a time */
#define PART  131072 /* numbers that a thread takes at once */

#define LARGEST_SCALE 1e30 /* weights have some range left above it */

/* Weights as [groups][rows][channels][rest]; output channel g * channels + c. */
typedef struct layout {
    int64_t groups, rows, channels, rest;
} layout;

static bool layout_of(const tfr__node *conv, const tfr_tensor *w, layout *out)
{
    int64_t groups = tfr__attr_int(&conv->attrs, "group", 1);
    const int64_t *d = w->shape.dims;
    if (w->shape.rank < 2 || !w->n_elements || groups < 1)
        return false;
    if (tfr__rewrite_is(conv, "Conv"))
        *out = (layout){1, 1, d[0], w->n_elements / d[0]};
    else
        *out = (layout){groups, d[0] / groups, d[1], w->n_elements / (d[0] * d[1])};
    return out->groups * out->rows * out->channels * out->rest == w->n_elements;
}

/* A constant of n floats. */
static const float *floats(tfr__rewrite *rw, const tfr__node *node, uint32_t k, int64_t n)
{
    const tfr_tensor *t = tfr__rewrite_tensor(rw, tfr__rewrite_input(rw, node, k));
    return t && t->dtype == TFR_DTYPE_F32 && t->shape.rank == 1 && t->n_elements == n
               ? tfr__tensor_data(t)
               : NULL;
}

typedef struct scaling {
    const layout *l;
    const char *w; /* floats at any address */
    const float *scale, *var;
    double epsilon;
    float *out;
} scaling;

/* Numbers count what an output channel has of a row. */
static void scale_rows(void *user, int64_t begin, int64_t end)
{
    const scaling *a = user;
    const layout *l = a->l;
    float block[BLOCK];
    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % l->channels + i / (l->rows * l->channels) * l->channels;
        double s = a->scale[c] / sqrt(a->var[c] + a->epsilon);
        const char *from = a->w + i * l->rest * (int64_t)sizeof *block;
        float *to = a->out + i * l->rest;
        int64_t k = 0;
        for (; k + BLOCK <= l->rest; k += BLOCK) {
            memcpy(block, from + k * (int64_t)sizeof *block, sizeof block);
            for (int j = 0; j < BLOCK; j++)
                to[k + j] = (float)(block[j] * s);
        }
        for (; k < l->rest; k++) {
            memcpy(block, from + k * (int64_t)sizeof *block, sizeof *block);
            to[k] = (float)(block[0] * s);
        }
    }
}

/* By all threads: most of the time goes into the first touch of memory. */
static void scale_weights(const tfr__rewrite *rw, scaling *a)
{
    const layout *l = a->l;
    tfr__pool_run(tfr__pool_get(), tfr__kernel_threads(rw->env), scale_rows, a,
                  l->groups * l->rows * l->channels, PART / l->rest + 1);
}

/* A scale that takes float's range away would make infinities, and with zeros NaN, of weights. */
static bool are_usual(const float *const *p, int64_t n, double epsilon)
{
    for (int64_t c = 0; c < n; c++) {
        double scale = p[0][c] / sqrt(p[3][c] + epsilon);
        if (!(fabs(scale) < LARGEST_SCALE && fabs(p[1][c]) < LARGEST_SCALE &&
              fabs(p[2][c]) < LARGEST_SCALE))
            return false;
    }
    return true;
}

static uint32_t take_in(tfr__rewrite *rw, tfr__node *bn)
{
    tfr_value x = tfr__rewrite_input(rw, bn, 0), in[3];
    tfr__node *conv = tfr__rewrite_producer(rw, x);
    const tfr_tensor *w;
    const float *p[4], *bias = NULL;
    double epsilon = tfr__attr_float(&bn->attrs, "epsilon", 1e-5f);
    tfr_tensor *weights = NULL, *shift = NULL;
    tfr_shape shape;
    layout l;
    int64_t n;
    if (!conv || rw->uses[x] != 1 || tfr__rewrite_input(rw, conv, 0) == TFR_VALUE_NONE ||
        (!tfr__rewrite_is(conv, "Conv") && !tfr__rewrite_is(conv, "ConvTranspose")) ||
        !tfr__rewrite_claimed(rw, conv->op->name))
        return 0;
    w = tfr__rewrite_tensor(rw, tfr__rewrite_input(rw, conv, 1));
    if (!w || w->dtype != TFR_DTYPE_F32 || !layout_of(conv, w, &l))
        return 0;
    n = l.groups * l.channels;
    for (uint32_t k = 0; k < 4; k++)
        if (!(p[k] = floats(rw, bn, k + 1, n)))
            return 0;
    if (!are_usual(p, n, epsilon))
        return 0;
    if (tfr__rewrite_input(rw, conv, 2) != TFR_VALUE_NONE && !(bias = floats(rw, conv, 2, n)))
        return 0;
    shape = (tfr_shape){1, {n}};
    if (tfr__tensor_create_apart(TFR_DTYPE_F32, &w->shape, &weights, NULL) ||
        tfr_tensor_create(TFR_DTYPE_F32, &shape, &shift, NULL)) {
        tfr_tensor_release(weights);
        rw->status = TFR_ENOMEM;
        return 0;
    }
    scale_weights(rw, &(scaling){&l, w->data, p[0], p[3], epsilon, weights->data});
    tfr__tensor_rest(w);
    for (int64_t c = 0; c < n; c++)
        ((float *)shift->data)[c] =
            (float)(((bias ? bias[c] : 0.0) - p[2][c]) * (p[0][c] / sqrt(p[3][c] + epsilon)) +
                    p[1][c]);
    in[0] = tfr__rewrite_input(rw, conv, 0);
    in[1] = tfr__rewrite_constant(rw, conv->inputs[1], weights);
    in[2] = tfr__rewrite_constant(rw, tfr__rewrite_input(rw, bn, 2), shift);
    tfr__rewrite_become(rw, bn->outputs[0], conv, in, 3);
    return 1;
}

uint32_t tfr__pass_conv_bn(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (uint32_t i = 0; i < n_nodes && !rw->status; i++) {
        tfr__node *node = &rw->graph->nodes[i];
        if (tfr__rewrite_is(node, "BatchNormalization") && !node->device && node->n_inputs == 5 &&
            node->n_outputs && node->outputs[0] != TFR_VALUE_NONE &&
            !tfr__attr_int(&node->attrs, "training_mode", 0))
            n += take_in(rw, node);
    }
    return n;
}

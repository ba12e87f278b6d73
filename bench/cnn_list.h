/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/cnn_list.h: forward and backward of the CNN of training.h for so many samples, as a list of
 * prepared oneDNN primitives: all layouts as oneDNN asks for them, a ReLU in the same primitive as
 * the layer before it, the places of maxima kept by the pooling. The gradient of a ReLU that a
 * pooling follows is taken of the pooled values, which are a quarter: max and ReLU commute.
 */
#ifndef TFR_BENCH_CNN_LIST_H
#define TFR_BENCH_CNN_LIST_H

#include "dnnl_library.h"
#include "training.h"

/* A weight or bias of all lists: where it lies in which layout. */
typedef struct cnn_param {
    const void *md;          /* of the value, as forward wants it */
    const void *backward_md; /* as the gradient of the layer's input wants it; NULL = nobody does */
    const void *gradient_md; /* as the gradient is made */
    float *value, *backward; /* backward may be value */
    size_t bytes, gradient_bytes;
    bool same; /* value and gradient have one layout */
} cnn_param;

typedef struct cnn_list cnn_list;

/* Brings data from a layout to another one. */
typedef struct cnn_mover {
    void *pd, *primitive, *from, *to;
} cnn_mover;

typedef struct cnn_net {
    const dnnl_library *library;
    void *engine;
    cnn_param params[BENCH_CNN_PARAMS];
    cnn_mover derive[BENCH_CNN_LAYERS]; /* value to backward */
    cnn_list *scout;                    /* owns the layouts; it is never executed */
    float *values;                      /* all, one behind the other, padding is 0 */
    size_t n_values;
} cnn_net;

/* To be executed by the thread that made it, which has set the threads of oneDNN. */
int cnn_list_create(cnn_net *net, int64_t n_samples, cnn_list **out);
void cnn_list_destroy(cnn_list *list);

float *cnn_list_input(cnn_list *list);               /* [n, 1, 28, 28] */
float *cnn_list_gradient(cnn_list *list, int param); /* in gradient_md */
/* Scores [n, 10] of the input, until the next run. */
int cnn_list_forward(cnn_list *list, const float **scores);
/* From the gradient of the scores, which is written to where this points to, [n, 10]. */
float *cnn_list_score_gradient(cnn_list *list);
int cnn_list_backward(cnn_list *list);
/* Primitives of it that only change a layout. */
int cnn_list_reorders(const cnn_list *list);

int cnn_mover_init(cnn_mover *mover, const cnn_net *net, const void *from_md, const void *from,
                   const void *to_md, void *to);
int cnn_mover_run(const cnn_mover *mover, const cnn_net *net, void *stream);
void cnn_mover_finish(cnn_mover *mover, const cnn_net *net);

/* Finds the layouts for lists of n samples, and allocates the weights. library and engine are set.
 * cnn_net_finish in any case. */
int cnn_net_init(cnn_net *net, int64_t n_samples);
/* Remakes what backward wants of layer i from the values; does nothing where that is the same. */
int cnn_net_derive(cnn_net *net, void *stream, int i);
/* Takes weights in ONNX's layouts. */
int cnn_net_set(cnn_net *net, void *stream, float *const *weights);
/* The layout that ONNX has for a weight or bias; the caller frees it. */
const void *cnn_plain_md(const dnnl_library *l, int param);
void cnn_net_finish(cnn_net *net);

#endif

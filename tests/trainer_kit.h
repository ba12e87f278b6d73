/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer_kit.h: a dense layer and the mean of squares, in double and as a trainer. Included once
 * per test program.
 */
#ifndef TFR_TRAINER_KIT_H
#define TFR_TRAINER_KIT_H

#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

enum { N_IN = 3, N_OUT = 2, N_WEIGHTS = N_IN * N_OUT, N_ALL = N_WEIGHTS + N_OUT, BATCH = 4 };

/* ---- the layer in double --------------------------------------------------------------------- */

typedef struct layer {
    double p[N_ALL]; /* weight [N_OUT, N_IN], bias */
    double m[N_ALL], v[N_ALL];
} layer;

static inline double value_of(const layer *l, const float *x, int j)
{
    double y = l->p[N_WEIGHTS + j];
    for (int k = 0; k < N_IN; k++)
        y += l->p[j * N_IN + k] * (double)x[k];
    return y;
}

/* The mean of squares over n samples, and its gradient. */
static inline double loss_of(const layer *l, const float *x, const float *t, int n, double *g)
{
    double loss = 0;
    memset(g, 0, N_ALL * sizeof *g);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < N_OUT; j++) {
            double d = value_of(l, x + i * N_IN, j) - (double)t[i * N_OUT + j];
            loss += d * d / (n * N_OUT);
            g[N_WEIGHTS + j] += 2 * d / (n * N_OUT);
            for (int k = 0; k < N_IN; k++)
                g[j * N_IN + k] += 2 * d * (double)x[i * N_IN + k] / (n * N_OUT);
        }
    return loss;
}

/* ---- the same as a trainer ------------------------------------------------------------------- */

static inline tfr_graph *dense_graph(tfr_net_defaults defaults, uint64_t seed)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("dense", dims, 2, defaults, seed, &net, &err), &err);
    tfr_net_dense(net, N_OUT, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

static inline tfr_trainer *trainer_of(tfr_graph *graph, const tfr_train_options *options)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, options, &trainer, &err), &err);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
    return trainer;
}

static inline tfr_tensor *matrix(int64_t rows, int64_t columns, float *data)
{
    const tfr_shape shape = {2, {rows, columns}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &shape, NULL, data, NULL, NULL, &t, &err), &err);
    return t;
}

static inline void fill(float *data, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static inline void step(tfr_trainer *trainer, float *x, float *t, int n)
{
    tfr_tensor *in = matrix(n, N_IN, x), *target = matrix(n, N_OUT, t);
    REQUIRE_OK(tfr_trainer_step(trainer, in, target, &err), &err);
    tfr_tensor_release(in);
    tfr_tensor_release(target);
}

static inline void read_floats(tfr_trainer *trainer, const char *name, double *out, int n)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_session_get_variable(tfr_trainer_session(trainer), name, &t, &err), &err);
    REQUIRE_INT(n, (int)tfr_tensor_elements(t));
    for (int i = 0; i < n; i++)
        out[i] = (double)((const float *)tfr_tensor_data(t))[i];
    tfr_tensor_release(t);
}

static inline void read_layer(tfr_trainer *trainer, layer *l)
{
    memset(l, 0, sizeof *l);
    read_floats(trainer, "dense1.weight", l->p, N_WEIGHTS);
    read_floats(trainer, "dense1.bias", l->p + N_WEIGHTS, N_OUT);
}

#endif

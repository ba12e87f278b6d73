/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizer steps of domain ai.onnx.preview.training, version 1. For each tensor X, with its
 * gradient G; R the learning rate and T the number of the step; g = norm_coefficient * X + G:
 *
 *   Adagrad (Duchi et al., 2011)
 *     H' = H + g^2;  X' = X - R / (1 + T * decay_factor) * g / (sqrt(H') + epsilon)
 *   Adam (Kingma, Ba, arXiv:1412.6980)
 *     V' = alpha * V + (1 - alpha) * g;  H' = beta * H + (1 - beta) * g^2
 *     r = T > 0 ? R * sqrt(1 - beta^T) / (1 - alpha^T) : R
 *     X' = (1 - norm_coefficient_post) * (X - r * V' / (sqrt(H') + epsilon))
 *   Momentum (Sutskever et al., 2013)
 *     V' = alpha * V + (T > 0 ? beta : 1) * g
 *     X' = X - R * V', or with mode nesterov X - R * (g + alpha * V')
 *
 * Inputs R, T, then all X, all G, all V, all H (as the op has them); outputs all X', V', H'. In
 * double, each output rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

/* The values of one element: x, g and up to two of state. */
typedef struct element {
    double x, g, v, h;
} element;

/* What an op needs to know besides the tensors. */
typedef struct step {
    double R, T, norm, post, alpha, beta, epsilon, decay;
    bool nesterov;
} step;

static void adagrad(const step *s, element *e)
{
    double g = s->norm * e->x + e->g;

    e->v += g * g; /* H, the only state */
    e->x -= s->R / (1 + s->T * s->decay) * g / (sqrt(e->v) + s->epsilon);
}

static void adam(const step *s, element *e)
{
    double g = s->norm * e->x + e->g, rate = s->R;

    e->v = s->alpha * e->v + (1 - s->alpha) * g;
    e->h = s->beta * e->h + (1 - s->beta) * g * g;
    if (s->T > 0)
        rate *= sqrt(1 - pow(s->beta, s->T)) / (1 - pow(s->alpha, s->T));
    e->x = (1 - s->post) * (e->x - rate * e->v / (sqrt(e->h) + s->epsilon));
}

static void momentum(const step *s, element *e)
{
    double g = s->norm * e->x + e->g;

    e->v = s->alpha * e->v + (s->T > 0 ? s->beta : 1) * g;
    e->x -= s->R * (s->nesterov ? g + s->alpha * e->v : e->v);
}

/*
 * Runs f over all tensors, which have `states` tensors of state each. With one, h and new_h lie
 * behind the last operand, where there is nothing.
 */
static int32_t run_steps(const naive_kernel *k, const tfr_launch *launch, uint32_t states,
                         void (*f)(const step *, element *), tfr_err *err)
{
    const tfr_call *call = &k->call;
    naive_tensor R = naive_input(k, launch, 0), T = naive_input(k, launch, 1);
    uint32_t n = (call->n_inputs - 2) / (2 + states), t;
    step s = {.R = naive_read(&R, 0), .T = (double)naive_read_int(&T, 0)};
    int64_t i;

    (void)err;
    s.norm = tfr_call_float(call, "norm_coefficient", 0);
    s.post = tfr_call_float(call, "norm_coefficient_post", 0);
    s.alpha = tfr_call_float(call, "alpha", 0.9f);
    s.beta = tfr_call_float(call, "beta", 0.999f);
    s.epsilon = tfr_call_float(call, "epsilon", 1e-6f);
    s.decay = tfr_call_float(call, "decay_factor", 0);
    s.nesterov = strcmp(tfr_call_string(call, "mode", "standard"), "nesterov") == 0;
    for (t = 0; t < n; t++) {
        naive_tensor x = naive_input(k, launch, 2 + t), g = naive_input(k, launch, 2 + n + t),
                     v = naive_input(k, launch, 2 + 2 * n + t),
                     h = naive_input(k, launch, 2 + 3 * n + t), new_x = naive_output(k, launch, t),
                     new_v = naive_output(k, launch, n + t),
                     new_h = naive_output(k, launch, 2 * n + t);
        for (i = 0; i < x.n; i++) {
            element e = {naive_read(&x, i), naive_read(&g, i), naive_read(&v, i),
                         h.operand ? naive_read(&h, i) : 0};
            f(&s, &e);
            naive_write(&new_x, i, e.x);
            naive_write(&new_v, i, e.v);
            if (new_h.operand)
                naive_write(&new_h, i, e.h);
        }
    }
    return TFR_OK;
}

static int32_t run_adagrad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run_steps(k, launch, 1, adagrad, err);
}

static int32_t run_adam(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run_steps(k, launch, 2, adam, err);
}

static int32_t run_momentum(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run_steps(k, launch, 1, momentum, err);
}

#define PREVIEW_TRAINING "ai.onnx.preview.training"

const naive_op naive_preview_training_ops[] = {
    {.domain = PREVIEW_TRAINING, .name = "Adagrad", .since_version = 1, .run = run_adagrad},
    {.domain = PREVIEW_TRAINING, .name = "Adam", .since_version = 1, .run = run_adam},
    {.domain = PREVIEW_TRAINING, .name = "Momentum", .since_version = 1, .run = run_momentum},
    {.name = NULL},
};

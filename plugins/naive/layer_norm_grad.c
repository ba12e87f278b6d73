/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormGrad (domain tfrun, 1): the gradients of LayerNormalization and, with rms 1, of
 * RMSNormalization (layer_norm.c), over the dims from axis on (L elements, O such rows). With the
 * row's statistics, x^[o,l] = (X[o,l] - Mean[o]) * InvStdDev[o] and h = dY * Scale:
 *
 *   dX[o,l]  = InvStdDev[o] * (h[o,l] - mean of h[o,:] - x^[o,l] * mean of (h[o,:] * x^[o,:]))
 *   dScale   = sum of dY * x^ over what Scale repeats
 *
 * With rms 1 Mean is 0, InvStdDev[o] = 1 / sqrt(mean of X[o,:]^2 + epsilon), and the mean of h is
 * left out. Scale broadcasts to X. In double, rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

typedef struct layer_norm_grad {
    naive_tensor dy, x, scale, dx, dscale;
    naive_iter it; /* over X, with the element of Scale at slot 0 */
    double *sums;  /* dScale */
    double epsilon;
    int64_t L;
    bool center;
} layer_norm_grad;

static void row_statistics(const layer_norm_grad *g, int64_t begin, double *mean, double *inverse)
{
    double squares = 0;
    int64_t i;

    *mean = 0;
    for (i = 0; g->center && i < g->L; i++)
        *mean += naive_read(&g->x, begin + i) / (double)g->L;
    for (i = 0; i < g->L; i++)
        squares += (naive_read(&g->x, begin + i) - *mean) * (naive_read(&g->x, begin + i) - *mean);
    *inverse = 1 / sqrt(squares / (double)g->L + g->epsilon);
}

/* Moves on to the next row. */
static void row_grad(layer_norm_grad *g, int64_t begin)
{
    double mean, inverse, sum_h = 0, sum_hx = 0;
    naive_iter again = g->it;
    int64_t i;

    row_statistics(g, begin, &mean, &inverse);
    for (i = 0; i < g->L; i++, naive_iter_next(&g->it)) {
        double x = (naive_read(&g->x, begin + i) - mean) * inverse,
               dy = naive_read(&g->dy, begin + i), h = dy * naive_read(&g->scale, g->it.at[0]);
        g->sums[g->it.at[0]] += dy * x;
        sum_h += h;
        sum_hx += h * x;
    }
    sum_h = g->center ? sum_h / (double)g->L : 0;
    sum_hx /= (double)g->L;
    for (i = 0; i < g->L; i++, naive_iter_next(&again)) {
        double x = (naive_read(&g->x, begin + i) - mean) * inverse;
        double h = naive_read(&g->dy, begin + i) * naive_read(&g->scale, again.at[0]);
        naive_write(&g->dx, begin + i, inverse * (h - sum_h - x * sum_hx));
    }
}

static uint64_t layer_norm_grad_workspace(const tfr_call *call)
{
    return (uint64_t)tfr_operand_elements(tfr_call_input(call, 2)) * sizeof(double);
}

static int32_t run_layer_norm_grad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    layer_norm_grad g = {
        .dy = naive_input(k, launch, 0),
        .x = naive_input(k, launch, 1),
        .scale = naive_input(k, launch, 2),
        .dx = naive_output(k, launch, 0),
        .dscale = naive_output(k, launch, 1),
        .sums = launch->workspace,
        .epsilon = tfr_call_float(&k->call, "epsilon", 1e-5f),
        .center = !tfr_call_int(&k->call, "rms", 0),
    };
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", -1), g.x.rank);
    int64_t i;

    (void)err;
    g.L = naive_product(g.x.dims, axis, g.x.rank);
    for (i = 0; i < g.scale.n; i++)
        g.sums[i] = 0;
    naive_iter_init(&g.it, g.x.rank, g.x.dims);
    naive_iter_add(&g.it, g.scale.operand);
    for (i = 0; i < g.x.n; i += g.L)
        row_grad(&g, i);
    for (i = 0; g.dscale.operand && i < g.scale.n; i++)
        naive_write(&g.dscale, i, g.sums[i]);
    return TFR_OK;
}

const naive_op naive_layer_norm_grad_ops[] = {
    {"tfrun", "LayerNormGrad", 1, NULL, run_layer_norm_grad, layer_norm_grad_workspace, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

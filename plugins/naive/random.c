/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial (all ONNX 22):
 *   RandomNormal   mean + scale * z, z normal
 *   RandomUniform  low + (high - low) * u, u uniform in [0, 1)
 *   Bernoulli      1 if u < x, else 0
 *   Multinomial    the class whose share of sum(exp(x)) u falls in; x is [batch, class], the output
 *                  [batch, sample]
 * With attribute seed every run gives the same numbers, without it runs and nodes differ. Rounding
 * to a narrow output type may give high itself.
 */
#include "philox.h"

#include <math.h>
#include <string.h>

static double draw_normal(const naive_kernel *k, const naive_random *r, int64_t i)
{
    return tfr_call_float(&k->call, "mean", 0) +
           tfr_call_float(&k->call, "scale", 1) * naive_random_normal(r, i);
}

static double draw_uniform(const naive_kernel *k, const naive_random *r, int64_t i, int32_t dtype)
{
    double low = tfr_call_float(&k->call, "low", 0), high = tfr_call_float(&k->call, "high", 1);

    return low + (high - low) * naive_random_uniform(r, i, dtype);
}

static int32_t run_random(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    naive_random r = naive_random_start(k, launch, false);
    int64_t n = tfr_operand_elements(y), i;
    void *py = naive_out(k, launch, 0);

    (void)err;
    for (i = 0; i < n; i++)
        naive_set(y->dtype, py, i,
                  strncmp(k->op->name, "RandomNormal", 12) == 0 ? draw_normal(k, &r, i)
                                                                : draw_uniform(k, &r, i, y->dtype));
    return TFR_OK;
}

static int32_t run_bernoulli(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    naive_random r = naive_random_start(k, launch, false);
    int64_t n = tfr_operand_elements(y), i;

    (void)err;
    for (i = 0; i < n; i++)
        naive_set(y->dtype, py, i,
                  naive_random_uniform(&r, i, x->dtype) < naive_get(x->dtype, px, i));
    return TFR_OK;
}

/* Walks the classes until their shares pass u; the last class with a share takes what rounding
 * leaves. */
static int64_t pick_class(int32_t dtype, const void *px, int64_t at, int64_t classes, double u)
{
    double greatest = -INFINITY, sum = 0, target;
    int64_t c, last = 0;

    for (c = 0; c < classes; c++)
        greatest = fmax(greatest, naive_get(dtype, px, at + c));
    for (c = 0; c < classes; c++)
        sum += exp(naive_get(dtype, px, at + c) - greatest);
    target = u * sum;
    for (sum = 0, c = 0; c < classes; c++) {
        double share = exp(naive_get(dtype, px, at + c) - greatest);
        sum += share;
        if (share > 0)
            last = c;
        if (target < sum)
            return c;
    }
    return last;
}

static int32_t run_multinomial(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    naive_random r = naive_random_start(k, launch, false);
    int64_t samples = y->dims[1], n = tfr_operand_elements(y), i;

    (void)err;
    for (i = 0; i < n; i++)
        naive_set_int(y->dtype, py, i,
                      pick_class(x->dtype, px, i / samples * x->dims[1], x->dims[1],
                                 naive_random_uniform(&r, i, TFR_DTYPE_F64)));
    return TFR_OK;
}

#define ROW(name, run)                                                                             \
    {                                                                                              \
        "", name, 22, NULL, run, NULL, NAIVE_RANDOM, NULL                                          \
    }

const naive_op naive_random_ops[] = {
    ROW("Bernoulli", run_bernoulli),
    ROW("Multinomial", run_multinomial),
    ROW("RandomNormal", run_random),
    ROW("RandomNormalLike", run_random),
    ROW("RandomUniform", run_random),
    ROW("RandomUniformLike", run_random),
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization (ONNX 15; Ioffe, Szegedy, arXiv:1502.03167):
 *
 *   Y[n,c,i] = (X[n,c,i] - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + B[c]
 *
 * training_mode 0: mean and var are the inputs. training_mode 1: mean and var are those of X over n
 * and i (var divides by the number of elements), and
 *   running_mean = input_mean * momentum + mean * (1 - momentum), running_var likewise.
 *
 * BatchNormTrain (domain tfrun, 1) is the latter, with mean and inv_std = 1 / sqrt(var + epsilon)
 * as outputs, too; with unbiased 1 running_var takes the variance that divides by one less. Its
 * gradient BatchNormGrad has, over the M elements (n, i) of a channel and with
 * x^ = (X - mean) * inv_std,
 *   dB = sum dY;  dscale = sum dY * x^;  dX = scale * inv_std * (dY - dB / M - x^ * dscale / M)
 *
 * X, Y [N C i...]; a vector X is [N 1]; the others [C]. In double, rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

typedef struct channels {
    naive_tensor x;
    int64_t N, C, plane;
} channels;

static int64_t element(const channels *s, int64_t n, int64_t c, int64_t i)
{
    return (n * s->C + c) * s->plane + i;
}

/* Mean and population variance of channel c. */
static void statistics(const channels *s, int64_t c, double *mean, double *var)
{
    double count = (double)s->N * (double)s->plane, sum = 0, squares = 0;
    int64_t n, i;

    for (n = 0; n < s->N; n++)
        for (i = 0; i < s->plane; i++)
            sum += naive_read(&s->x, element(s, n, c, i));
    *mean = sum / count;
    for (n = 0; n < s->N; n++)
        for (i = 0; i < s->plane; i++) {
            double d = naive_read(&s->x, element(s, n, c, i)) - *mean;
            squares += d * d;
        }
    *var = squares / count;
}

/* Writes what the running value becomes, if the output is there. */
static void write_running(const naive_tensor *out, const naive_tensor *before, int64_t c, double v,
                          double momentum)
{
    if (out->operand)
        naive_write(out, c, naive_read(before, c) * momentum + v * (1 - momentum));
}

static channels channels_of(naive_tensor x)
{
    channels s = {x, 1, 1, 1};

    s.N = x.rank > 0 ? x.dims[0] : 1;
    s.C = x.rank > 1 ? x.dims[1] : 1;
    s.plane = x.rank > 2 ? naive_product(x.dims, 2, x.rank) : 1;
    return s;
}

/* The unbiased variance over the other one, or 1. */
static double unbias(const channels *s, const naive_kernel *k)
{
    double count = (double)s->N * (double)s->plane;

    return tfr_call_int(&k->call, "unbiased", 0) && count > 1 ? count / (count - 1) : 1;
}

static int32_t run_batch_norm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor scale = naive_input(k, launch, 1), bias = naive_input(k, launch, 2),
                 means = naive_input(k, launch, 3), vars = naive_input(k, launch, 4),
                 y = naive_output(k, launch, 0), running_mean = naive_output(k, launch, 1),
                 running_var = naive_output(k, launch, 2), out_mean = naive_output(k, launch, 3),
                 inv_std = naive_output(k, launch, 4);
    double epsilon = tfr_call_float(&k->call, "epsilon", 1e-5f),
           momentum = tfr_call_float(&k->call, "momentum", 0.9f);
    bool training = k->op->domain[0] || tfr_call_int(&k->call, "training_mode", 0) != 0;
    channels s = channels_of(naive_input(k, launch, 0));
    int64_t c, n, i;

    (void)err;
    for (c = 0; c < s.C; c++) {
        double mean = naive_read(&means, c), var = naive_read(&vars, c), factor;
        if (training) {
            statistics(&s, c, &mean, &var);
            write_running(&running_mean, &means, c, mean, momentum);
            write_running(&running_var, &vars, c, var * unbias(&s, k), momentum);
        }
        if (out_mean.operand)
            naive_write(&out_mean, c, mean);
        if (inv_std.operand)
            naive_write(&inv_std, c, 1 / sqrt(var + epsilon));
        factor = naive_read(&scale, c) / sqrt(var + epsilon);
        for (n = 0; n < s.N; n++)
            for (i = 0; y.operand && i < s.plane; i++)
                naive_write(&y, element(&s, n, c, i),
                            (naive_read(&s.x, element(&s, n, c, i)) - mean) * factor +
                                naive_read(&bias, c));
    }
    return TFR_OK;
}

static void channel_grad(const channels *s, const naive_tensor *dy, int64_t c, double mean,
                         double inv_std, double *dscale, double *db)
{
    int64_t n, i;

    *dscale = *db = 0;
    for (n = 0; n < s->N; n++)
        for (i = 0; i < s->plane; i++) {
            double g = naive_read(dy, element(s, n, c, i));
            *db += g;
            *dscale += g * (naive_read(&s->x, element(s, n, c, i)) - mean) * inv_std;
        }
}

static int32_t run_batch_norm_grad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor dy = naive_input(k, launch, 0), scale = naive_input(k, launch, 2),
                 means = naive_input(k, launch, 3), inverses = naive_input(k, launch, 4),
                 dx = naive_output(k, launch, 0), dscale = naive_output(k, launch, 1),
                 db = naive_output(k, launch, 2);
    channels s = channels_of(naive_input(k, launch, 1));
    double count = (double)s.N * (double)s.plane;
    int64_t c, n, i;

    (void)err;
    for (c = 0; c < s.C; c++) {
        double mean = naive_read(&means, c), inv_std = naive_read(&inverses, c), a, b;
        channel_grad(&s, &dy, c, mean, inv_std, &a, &b);
        naive_write(&dscale, c, a);
        naive_write(&db, c, b);
        for (n = 0; n < s.N; n++)
            for (i = 0; i < s.plane; i++) {
                int64_t at = element(&s, n, c, i);
                double x = (naive_read(&s.x, at) - mean) * inv_std;
                naive_write(&dx, at,
                            naive_read(&scale, c) * inv_std *
                                (naive_read(&dy, at) - b / count - x * a / count));
            }
    }
    return TFR_OK;
}

const naive_op naive_batch_norm_ops[] = {
    {.domain = "", .name = "BatchNormalization", .since_version = 15, .run = run_batch_norm},
    {.domain = "tfrun", .name = "BatchNormGrad", .since_version = 1, .run = run_batch_norm_grad},
    {.domain = "tfrun", .name = "BatchNormTrain", .since_version = 1, .run = run_batch_norm},
    {.name = NULL},
};

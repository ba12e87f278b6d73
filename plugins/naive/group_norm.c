/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GroupNormalization (ONNX 21; Wu, He, arXiv:1803.08494) and InstanceNormalization (ONNX 22;
 * Ulyanov et al., arXiv:1607.08022), which is the case of one channel a group:
 *
 *   y[n,c,i] = (x[n,c,i] - mean) / sqrt(var + epsilon) * scale[c] + bias[c]
 *
 * mean and var are those of x[n, c of the same group, all i]; var divides by their number.
 * X, Y [N C i...]; scale, bias [C]. In double, rounded once whatever stash_type says; NaN spreads.
 */
#include "tensor.h"

#include <math.h>

/* Normalizes n elements from begin on: channels of `plane` elements, the first one is number c. */
static void normalize(const naive_tensor *x, const naive_tensor *scale, const naive_tensor *bias,
                      const naive_tensor *y, int64_t begin, int64_t n, int64_t plane, int64_t c,
                      double epsilon)
{
    double sum = 0, squares = 0, mean, factor;
    int64_t i;

    for (i = 0; i < n; i++)
        sum += naive_read(x, begin + i);
    mean = sum / (double)n;
    for (i = 0; i < n; i++)
        squares += (naive_read(x, begin + i) - mean) * (naive_read(x, begin + i) - mean);
    factor = 1 / sqrt(squares / (double)n + epsilon);
    for (i = 0; i < n; i++)
        naive_write(y, begin + i,
                    (naive_read(x, begin + i) - mean) * factor * naive_read(scale, c + i / plane) +
                        naive_read(bias, c + i / plane));
}

static void run_groups(const naive_kernel *k, const tfr_launch *launch, int64_t groups)
{
    naive_tensor x = naive_input(k, launch, 0), scale = naive_input(k, launch, 1),
                 bias = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    double epsilon = tfr_call_float(&k->call, "epsilon", 1e-5f);
    int64_t C = x.dims[1], plane = naive_product(x.dims, 2, x.rank), n, g;

    if (x.n == 0)
        return;
    for (n = 0; n < x.dims[0]; n++)
        for (g = 0; g < groups; g++)
            normalize(&x, &scale, &bias, &y, (n * C + g * (C / groups)) * plane, C / groups * plane,
                      plane, g * (C / groups), epsilon);
}

static int32_t run_group_norm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)err;
    run_groups(k, launch, tfr_call_int(&k->call, "num_groups", 1));
    return TFR_OK;
}

static int32_t run_instance_norm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)err;
    run_groups(k, launch, tfr_call_input(&k->call, 0)->dims[1]);
    return TFR_OK;
}

const naive_op naive_group_norm_ops[] = {
    {.domain = "", .name = "GroupNormalization", .since_version = 21, .run = run_group_norm},
    {.domain = "", .name = "InstanceNormalization", .since_version = 22, .run = run_instance_norm},
    {.name = NULL},
};

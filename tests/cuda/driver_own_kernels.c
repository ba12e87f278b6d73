/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the tests of the driver stand-in launch: fake_driver.h describes them. */
#include <sched.h>

#include "driver.h"

/* Element 0 of an array of n floats, or NULL. */
static float *floats(const tfr_cpu_launch *launch, unsigned arg, int n)
{
    size_t bytes;
    float *p = launch->reach(launch->ctx, *(uint64_t *)launch->args[arg], &bytes);
    return p && (size_t)n * sizeof *p <= bytes ? p : NULL;
}

static unsigned add(const tfr_cpu_launch *launch)
{
    int n = *(int *)launch->args[2];
    float *y = floats(launch, 0, n);
    const float *x = floats(launch, 1, n);
    if (!y || !x)
        return TFR_CU_ILLEGAL_ADDRESS;
    for (int i = 0; i < n && (unsigned)i < launch->grid[0] * launch->block[0]; i++)
        y[i] += x[i];
    return TFR_CU_SUCCESS;
}

static unsigned scale(const tfr_cpu_launch *launch)
{
    float a = *(float *)launch->args[1];
    int n = *(int *)launch->args[2];
    float *y = floats(launch, 0, n);
    for (int i = 0; y && i < n; i++)
        y[i] *= a;
    return y ? TFR_CU_SUCCESS : TFR_CU_ILLEGAL_ADDRESS;
}

static unsigned wait(const tfr_cpu_launch *launch)
{
    size_t bytes;
    _Atomic int *go = launch->reach(launch->ctx, *(uint64_t *)launch->args[0], &bytes);
    if (!go || bytes < sizeof *go)
        return TFR_CU_ILLEGAL_ADDRESS;
    while (atomic_load(go) == 0)
        sched_yield();
    return TFR_CU_SUCCESS;
}

static const unsigned add_bytes[] = {8, 8, 4};
static const unsigned scale_bytes[] = {8, 4, 4};
static const unsigned wait_bytes[] = {8};

const tfr_cpu_kernel fake_own_kernels[] = {
    {"fake_add", add, 3, add_bytes, 0, 0},
    {"fake_scale", scale, 3, scale_bytes, 256, 1024},
    {"fake_wait", wait, 1, wait_bytes, 0, 0},
    {NULL, NULL, 0, NULL, 0, 0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AveragePoolGrad and MaxPoolGrad (domain tfrun, 1): the gradients of the pools (pool.c).
 *
 *   Average   dX[n,c,i] = sum over o with i in the window of o of dY[n,c,o] / D(o), D(o) the
 * divisor of AveragePool: the taps inside X, or with count_include_pad inside X and its pads Max
 * dX[n,c,i] = sum over o with Indices[n,c,o] = number of (n,c,i) in X of dY[n,c,o]
 *
 * X [N C i...], dY and Indices [N C o...]. An index of -1, which MaxPool gives for a window without
 * taps, adds nothing; one that lies outside of the plane of its n and c is an error. In double,
 * rounded once.
 */
#include "tensor.h"
#include "window.h"

typedef struct pool_grad {
    naive_tensor dy, dx;
    naive_window window;
    int64_t x_plane, y_plane, planes;
    bool include_pad;
    double *sums; /* one plane of dX */
} pool_grad;

static uint64_t pool_grad_workspace(const tfr_call *call)
{
    const tfr_operand *dx = tfr_call_output(call, 0);

    return (uint64_t)naive_product(dx->dims, 2, dx->rank) * sizeof(double);
}

static void pool_grad_init(pool_grad *p, const naive_kernel *k, const tfr_launch *launch)
{
    p->dy = naive_input(k, launch, 0);
    p->dx = naive_output(k, launch, 0);
    naive_window_read(&p->window, &k->call, p->dx.rank - 2, NULL);
    p->x_plane = naive_product(p->dx.dims, 2, p->dx.rank);
    p->y_plane = naive_product(p->dy.dims, 2, p->dy.rank);
    p->planes = naive_product(p->dx.dims, 0, 2);
    p->include_pad = tfr_call_int(&k->call, "count_include_pad", 0) != 0;
    p->sums = launch->workspace;
}

static void clear_sums(const pool_grad *p)
{
    int64_t i;

    for (i = 0; i < p->x_plane; i++)
        p->sums[i] = 0;
}

static void write_sums(const pool_grad *p, int64_t plane)
{
    int64_t i;

    for (i = 0; i < p->x_plane; i++)
        naive_write(&p->dx, plane * p->x_plane + i, p->sums[i]);
}

static int32_t run_average_pool_grad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_iter at, it;
    int64_t plane, o;
    pool_grad p;

    (void)err;
    pool_grad_init(&p, k, launch);
    for (plane = 0; p.x_plane && plane < p.planes; plane++) {
        clear_sums(&p);
        o = plane * p.y_plane;
        for (naive_iter_init(&at, p.window.rank, p.dy.dims + 2); at.left > 0;
             naive_iter_next(&at), o++) {
            int tap = naive_window_walk(&it, &p.window, p.dx.dims + 2, at.index);
            double count = p.include_pad
                               ? naive_window_padded_taps(&p.window, p.dx.dims + 2, at.index)
                               : (double)it.left;
            for (; it.left > 0; naive_iter_next(&it))
                p.sums[it.at[tap]] += naive_read(&p.dy, o) / count;
        }
        write_sums(&p, plane);
    }
    return TFR_OK;
}

static int32_t run_max_pool_grad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor indices = naive_input(k, launch, 1);
    int64_t plane, o, at;
    pool_grad p;

    pool_grad_init(&p, k, launch);
    for (plane = 0; plane < p.planes; plane++) {
        clear_sums(&p);
        for (o = plane * p.y_plane; o < (plane + 1) * p.y_plane; o++) {
            at = naive_read_int(&indices, o);
            if (at == -1)
                continue;
            if (at < plane * p.x_plane || at - plane * p.x_plane >= p.x_plane)
                return tfr_fail(err, TFR_EINVAL,
                                "Indices has %lld at %lld, outside of the plane of X, whose "
                                "elements are %lld to %lld",
                                (long long)at, (long long)o, (long long)(plane * p.x_plane),
                                (long long)((plane + 1) * p.x_plane - 1));
            p.sums[at - plane * p.x_plane] += naive_read(&p.dy, o);
        }
        write_sums(&p, plane);
    }
    return TFR_OK;
}

const naive_op naive_pool_grad_ops[] = {
    {"tfrun", "AveragePoolGrad", 1, NULL, run_average_pool_grad, pool_grad_workspace, 0, NULL},
    {"tfrun", "MaxPoolGrad", 1, NULL, run_max_pool_grad, pool_grad_workspace, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

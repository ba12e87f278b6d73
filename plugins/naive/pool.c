/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPool, AveragePool, LpPool and GlobalMaxPool, GlobalAveragePool, GlobalLpPool (all ONNX 22),
 * over R spatial axes. With T(o) the taps of the window at o that lie in x:
 *
 *   MaxPool      y[n,c,o] = max over T(o) of x;  Indices = where in x, the first of equal ones
 *   AveragePool  y[n,c,o] = (sum over T(o) of x) / D;  D = |T(o)|, or with count_include_pad the
 *                           taps that lie in x with its pads
 *   LpPool       y[n,c,o] = (sum over T(o) of |x|^p)^(1/p)
 *
 * X [N C i...], Y [N C o...]; a global pool's one window is the whole plane. In double, rounded
 * once. A NaN in the window is its maximum, as in PyTorch; elsewhere it spreads. A window without
 * taps gives the smallest value and index -1 (max) or 0, as ONNX Runtime's plain kernels do; ONNX's
 * reference divides 0 by 0 there. Indices count all of X; with storage_order 1 the spatial axes
 * count with the first fastest.
 */
#include "tensor.h"
#include "window.h"

#include <math.h>

typedef struct pool {
    naive_tensor x, y;
    naive_window window;
    int64_t x_plane;
} pool;

static void pool_init(pool *p, const naive_kernel *k, const tfr_launch *launch)
{
    p->x = naive_input(k, launch, 0);
    p->y = naive_output(k, launch, 0);
    naive_window_read(&p->window, &k->call, p->x.rank - 2, NULL);
    p->x_plane = naive_product(p->x.dims, 2, p->x.rank);
}

/* A global pool is a window of the size of the plane. */
static void global_init(pool *p, const naive_kernel *k, const tfr_launch *launch)
{
    int32_t d;

    pool_init(p, k, launch);
    for (d = 0; d < p->window.rank; d++) {
        p->window.kernel[d] = p->x.dims[d + 2];
        p->window.stride[d] = p->window.dilation[d] = 1;
        p->window.pad[d] = p->window.pad_end[d] = 0;
    }
}

/* The element of x where the plane of output element index at begins. */
static int64_t plane_begin(const pool *p, const int64_t *at)
{
    return (at[0] * p->x.dims[1] + at[1]) * p->x_plane;
}

/* The element of x with the largest value, or -1. */
static int64_t find_max(const pool *p, const int64_t *at)
{
    int64_t begin = plane_begin(p, at), best = -1;
    double max = 0;
    naive_iter it;
    int tap = naive_window_walk(&it, &p->window, p->x.dims + 2, at + 2);

    for (; it.left > 0; naive_iter_next(&it)) {
        int64_t i = it.at[tap];
        double v = naive_read(&p->x, begin + i);
        if (best < 0 || v > max || (isnan(v) && !isnan(max))) {
            best = begin + i;
            max = v;
        }
    }
    return best;
}

/* Element number i of x, counted with the first spatial axis fastest. */
static int64_t column_major(const pool *p, int64_t i)
{
    int64_t within = i % p->x_plane, step = p->x_plane, out = i - within;
    int32_t d;

    for (d = p->x.rank - 1; d >= 2; d--) {
        step /= p->x.dims[d];
        out += within % p->x.dims[d] * step;
        within /= p->x.dims[d];
    }
    return out;
}

static void write_max(const pool *p, const naive_tensor *indices, bool columns)
{
    naive_iter it;
    int64_t i = 0, best;

    for (naive_iter_init(&it, p->y.rank, p->y.dims); it.left > 0; naive_iter_next(&it), i++) {
        best = find_max(p, it.index);
        if (best >= 0)
            naive_copy(p->y.dtype, p->y.out, i, p->x.in, best);
        else if (naive_is_integer(p->y.dtype))
            naive_write_int(&p->y, i, naive_int_min(p->y.dtype));
        else
            naive_write(&p->y, i, -INFINITY);
        if (indices && indices->operand)
            naive_write_int(indices, i, best >= 0 && columns ? column_major(p, best) : best);
    }
}

static void write_average(const pool *p, bool include_pad)
{
    naive_iter at, it;
    int64_t i = 0;

    for (naive_iter_init(&at, p->y.rank, p->y.dims); at.left > 0; naive_iter_next(&at), i++) {
        int64_t begin = plane_begin(p, at.index);
        double sum = 0, count = 0;
        int tap = naive_window_walk(&it, &p->window, p->x.dims + 2, at.index + 2);
        for (; it.left > 0; naive_iter_next(&it), count++)
            sum += naive_read(&p->x, begin + it.at[tap]);
        if (include_pad)
            count = naive_window_padded_taps(&p->window, p->x.dims + 2, at.index + 2);
        naive_write(&p->y, i, count > 0 ? sum / count : 0);
    }
}

static void write_lp(const pool *p, double order)
{
    naive_iter at, it;
    int64_t i = 0;

    for (naive_iter_init(&at, p->y.rank, p->y.dims); at.left > 0; naive_iter_next(&at), i++) {
        int64_t begin = plane_begin(p, at.index);
        double sum = 0;
        int tap = naive_window_walk(&it, &p->window, p->x.dims + 2, at.index + 2);
        for (; it.left > 0; naive_iter_next(&it))
            sum += pow(fabs(naive_read(&p->x, begin + it.at[tap])), order);
        naive_write(&p->y, i, pow(sum, 1 / order));
    }
}

static int32_t run_max_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor indices = naive_output(k, launch, 1);
    pool p;

    (void)err;
    pool_init(&p, k, launch);
    write_max(&p, &indices, tfr_call_int(&k->call, "storage_order", 0) != 0);
    return TFR_OK;
}

static int32_t run_average_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    pool p;

    (void)err;
    pool_init(&p, k, launch);
    write_average(&p, tfr_call_int(&k->call, "count_include_pad", 0) != 0);
    return TFR_OK;
}

static int32_t run_lp_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    pool p;

    (void)err;
    pool_init(&p, k, launch);
    write_lp(&p, (double)tfr_call_int(&k->call, "p", 2));
    return TFR_OK;
}

static int32_t run_global_max_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    pool p;

    (void)err;
    global_init(&p, k, launch);
    write_max(&p, NULL, false);
    return TFR_OK;
}

static int32_t run_global_average_pool(const naive_kernel *k, const tfr_launch *launch,
                                       tfr_err *err)
{
    pool p;

    (void)err;
    global_init(&p, k, launch);
    write_average(&p, false);
    return TFR_OK;
}

static int32_t run_global_lp_pool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    pool p;

    (void)err;
    global_init(&p, k, launch);
    write_lp(&p, (double)tfr_call_int(&k->call, "p", 2));
    return TFR_OK;
}

const naive_op naive_pool_ops[] = {
    {.domain = "", .name = "AveragePool", .since_version = 22, .run = run_average_pool},
    {.domain = "",
     .name = "GlobalAveragePool",
     .since_version = 22,
     .run = run_global_average_pool},
    {.domain = "", .name = "GlobalLpPool", .since_version = 22, .run = run_global_lp_pool},
    {.domain = "", .name = "GlobalMaxPool", .since_version = 22, .run = run_global_max_pool},
    {.domain = "", .name = "LpPool", .since_version = 22, .run = run_lp_pool},
    {.domain = "", .name = "MaxPool", .since_version = 22, .run = run_max_pool},
    {.name = NULL},
};

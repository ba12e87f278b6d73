/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvGradInput and ConvGradFilter (domain tfrun, 1): the gradients of Conv (conv.c), from its
 * definition Y[n,m,o] = sum over c, k of X[n, g*C/G + c, o*stride + k*dilation - pad] * W[m,c,k]:
 *
 *   Input    dX[n, g*C/G + c, i] = sum over m of group g, and o, k with
 *            o*stride + k*dilation - pad = i, of dY[n,m,o] * W[m,c,k]
 *   Filter   dW[m,c,k] = sum over n, o of dY[n,m,o] * X[n, g*C/G + c, o*stride + k*dilation - pad],
 *            where that lies in X
 *
 * X [N C i...], W [M C/G k...], dY [N M o...]; g = m / (M/G). In double, rounded once; NaN spreads
 * to every sum it is in.
 */
#include "tensor.h"
#include "window.h"

typedef struct conv_grad {
    naive_tensor dy, other, made; /* other: W, or X for the filter's */
    naive_window window;
    int64_t C_group, M_group; /* channels of one group */
    int64_t taps, x_plane, y_plane;
} conv_grad;

static void conv_grad_init(conv_grad *c, const naive_kernel *k, const tfr_launch *launch,
                           bool filter)
{
    int64_t group = tfr_call_int(&k->call, "group", 1);
    const naive_tensor *w = filter ? &c->made : &c->other, *x = filter ? &c->other : &c->made;

    c->dy = naive_input(k, launch, 0);
    c->other = naive_input(k, launch, 1);
    c->made = naive_output(k, launch, 0);
    naive_window_read(&c->window, &k->call, w->rank - 2, w->dims + 2);
    c->C_group = w->dims[1];
    c->M_group = group > 0 ? w->dims[0] / group : 0;
    c->taps = naive_product(w->dims, 2, w->rank);
    c->x_plane = naive_product(x->dims, 2, x->rank);
    c->y_plane = naive_product(c->dy.dims, 2, c->dy.rank);
}

/* The sum for the element of dX at. */
static double input_sum(const conv_grad *c, const int64_t *at)
{
    int64_t m0 = at[1] / c->C_group * c->M_group, channel = at[1] % c->C_group, tap = 0, m, o;
    double sum = 0;
    naive_iter it;

    for (naive_iter_init(&it, c->window.rank, c->window.kernel); it.left > 0;
         naive_iter_next(&it), tap++) {
        o = naive_window_position(&c->window, c->dy.dims + 2, at + 2, it.index);
        for (m = m0; o >= 0 && m < m0 + c->M_group; m++)
            sum += naive_read(&c->dy, (at[0] * c->dy.dims[1] + m) * c->y_plane + o) *
                   naive_read(&c->other, (m * c->C_group + channel) * c->taps + tap);
    }
    return sum;
}

/* The sum for the element of dW at. */
static double filter_sum(const conv_grad *c, const int64_t *at)
{
    int64_t channel = at[0] / c->M_group * c->C_group + at[1], o = 0, n, i;
    double sum = 0;
    naive_iter it;

    for (naive_iter_init(&it, c->window.rank, c->dy.dims + 2); it.left > 0;
         naive_iter_next(&it), o++) {
        i = naive_window_tap(&c->window, c->other.dims + 2, it.index, at + 2);
        for (n = 0; i >= 0 && n < c->dy.dims[0]; n++)
            sum += naive_read(&c->dy, (n * c->dy.dims[1] + at[0]) * c->y_plane + o) *
                   naive_read(&c->other, (n * c->other.dims[1] + channel) * c->x_plane + i);
    }
    return sum;
}

static int32_t run_conv_grad_input(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_iter it;
    int64_t i = 0;
    conv_grad c;

    (void)err;
    conv_grad_init(&c, k, launch, false);
    for (naive_iter_init(&it, c.made.rank, c.made.dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write(&c.made, i, input_sum(&c, it.index));
    return TFR_OK;
}

static int32_t run_conv_grad_filter(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_iter it;
    int64_t i = 0;
    conv_grad c;

    (void)err;
    conv_grad_init(&c, k, launch, true);
    for (naive_iter_init(&it, c.made.rank, c.made.dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write(&c.made, i, filter_sum(&c, it.index));
    return TFR_OK;
}

const naive_op naive_conv_grad_ops[] = {
    {.domain = "tfrun", .name = "ConvGradFilter", .since_version = 1, .run = run_conv_grad_filter},
    {.domain = "tfrun", .name = "ConvGradInput", .since_version = 1, .run = run_conv_grad_input},
    {.name = NULL},
};

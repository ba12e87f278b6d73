/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv (ONNX 22), ConvInteger (ONNX 10), QLinearConv (ONNX 10), over R = 0 or more spatial axes.
 *
 *   S[n,m,o] = sum over c < C/G, k of  x[n, g*C/G + c, o*stride + k*dilation - pad] * w[m,c,k]
 *   Conv         y = S + b[m]
 *   ConvInteger  y = S, of x - x_zero_point and w - w_zero_point[m]
 *   QLinearConv  y = saturate(round(S * x_scale * w_scale[m] / y_scale) + y_zero_point), S as in
 *                ConvInteger plus the int32 b[m]
 *
 * X [N C i...], W [M C/G k...], B [M], Y [N M o...]; g = m / (M/G) is the group. Taps in the
 * padding add nothing (so quantized padding is the zero point). Conv adds in double and rounds
 * once; the integer ops add in 64 bits, ConvInteger keeps the low 32, QLinearConv rounds ties to
 * even. NaN spreads to every sum it is in.
 */
#include "tensor.h"
#include "window.h"

#include <math.h>

/* What the three ops have in common: operands, groups, window. */
typedef struct conv {
    naive_tensor x, w, y;
    naive_window window;
    int64_t C_group, M_group; /* channels of one group */
    int64_t x_plane, taps;    /* elements of one channel of x, of one channel of w */
} conv;

static void conv_init(conv *c, const naive_kernel *k, naive_tensor x, naive_tensor w,
                      naive_tensor y)
{
    int64_t group = tfr_call_int(&k->call, "group", 1);

    c->x = x;
    c->w = w;
    c->y = y;
    naive_window_read(&c->window, &k->call, x.rank - 2, w.dims + 2);
    c->C_group = w.dims[1];
    c->M_group = group > 0 ? w.dims[0] / group : 0;
    c->x_plane = naive_product(x.dims, 2, x.rank);
    c->taps = naive_product(w.dims, 2, w.rank);
}

/* Row of x: the element of channel 0 of the group of output channel m in image n. */
static int64_t x_begin(const conv *c, const int64_t *at)
{
    int64_t g = at[1] / c->M_group;

    return (at[0] * c->x.dims[1] + g * c->C_group) * c->x_plane;
}

static double sum_float(const conv *c, const int64_t *at)
{
    int64_t x0 = x_begin(c, at), w0 = at[1] * c->C_group * c->taps, tap = 0, ch;
    double sum = 0;
    naive_iter it;

    for (naive_iter_init(&it, c->window.rank, c->window.kernel); it.left > 0;
         naive_iter_next(&it), tap++) {
        int64_t i = naive_window_tap(&c->window, c->x.dims + 2, at + 2, it.index);
        if (i < 0)
            continue;
        for (ch = 0; ch < c->C_group; ch++)
            sum += naive_read(&c->x, x0 + ch * c->x_plane + i) *
                   naive_read(&c->w, w0 + ch * c->taps + tap);
    }
    return sum;
}

static int64_t sum_integer(const conv *c, const int64_t *at, int64_t x_zero, int64_t w_zero)
{
    int64_t x0 = x_begin(c, at), w0 = at[1] * c->C_group * c->taps, tap = 0, sum = 0, ch;
    naive_iter it;

    for (naive_iter_init(&it, c->window.rank, c->window.kernel); it.left > 0;
         naive_iter_next(&it), tap++) {
        int64_t i = naive_window_tap(&c->window, c->x.dims + 2, at + 2, it.index);
        if (i < 0)
            continue;
        for (ch = 0; ch < c->C_group; ch++)
            sum += (naive_read_int(&c->x, x0 + ch * c->x_plane + i) - x_zero) *
                   (naive_read_int(&c->w, w0 + ch * c->taps + tap) - w_zero);
    }
    return sum;
}

/* Value m of a zero point or scale that is one number or one for each output channel. */
static double per_channel(const naive_tensor *t, int64_t m, double absent)
{
    return t->n == 0 ? absent : naive_read(t, t->n == 1 ? 0 : m);
}

static int32_t run_conv(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor b = naive_input(k, launch, 2);
    naive_iter it;
    int64_t i = 0;
    conv c;

    (void)err;
    conv_init(&c, k, naive_input(k, launch, 0), naive_input(k, launch, 1),
              naive_output(k, launch, 0));
    for (naive_iter_init(&it, c.y.rank, c.y.dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write(&c.y, i, sum_float(&c, it.index) + per_channel(&b, it.index[1], 0));
    return TFR_OK;
}

static int32_t run_conv_integer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor xz = naive_input(k, launch, 2), wz = naive_input(k, launch, 3);
    naive_iter it;
    int64_t i = 0;
    conv c;

    (void)err;
    conv_init(&c, k, naive_input(k, launch, 0), naive_input(k, launch, 1),
              naive_output(k, launch, 0));
    for (naive_iter_init(&it, c.y.rank, c.y.dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write_int(&c.y, i,
                        sum_integer(&c, it.index, (int64_t)per_channel(&xz, 0, 0),
                                    (int64_t)per_channel(&wz, it.index[1], 0)));
    return TFR_OK;
}

static int32_t run_qlinear_conv(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor xs = naive_input(k, launch, 1), xz = naive_input(k, launch, 2),
                 ws = naive_input(k, launch, 4), wz = naive_input(k, launch, 5),
                 ys = naive_input(k, launch, 6), yz = naive_input(k, launch, 7),
                 b = naive_input(k, launch, 8);
    naive_iter it;
    int64_t i = 0;
    conv c;

    (void)err;
    conv_init(&c, k, naive_input(k, launch, 0), naive_input(k, launch, 3),
              naive_output(k, launch, 0));
    for (naive_iter_init(&it, c.y.rank, c.y.dims); it.left > 0; naive_iter_next(&it), i++) {
        int64_t m = it.index[1];
        double scale = per_channel(&xs, 0, 1) * per_channel(&ws, m, 1) / per_channel(&ys, 0, 1);
        double sum = (double)sum_integer(&c, it.index, (int64_t)per_channel(&xz, 0, 0),
                                         (int64_t)per_channel(&wz, m, 0)) +
                     per_channel(&b, m, 0);
        naive_write(&c.y, i, nearbyint(sum * scale) + per_channel(&yz, 0, 0));
    }
    return TFR_OK;
}

const naive_op naive_conv_ops[] = {
    {.domain = "", .name = "Conv", .since_version = 22, .run = run_conv},
    {.domain = "", .name = "ConvInteger", .since_version = 10, .run = run_conv_integer},
    {.domain = "", .name = "QLinearConv", .since_version = 10, .run = run_qlinear_conv},
    {.name = NULL},
};

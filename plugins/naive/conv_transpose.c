/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvTranspose (ONNX 22), over R = 0 or more spatial axes, as a sum per output element:
 *
 *   y[n, g*M/G + m, o] = b[g*M/G + m] + sum over c < C/G, k of
 *       x[n, g*C/G + c, i] * w[g*C/G + c, m, k]   where  o = i*stride + k*dilation - pad
 *
 * X [N C i...], W [C M/G k...], B [M], Y [N M o...]. A tap whose i is not a whole number or outside
 * x adds nothing. Only the pads in front matter: those behind and output_padding only change the
 * output's shape, which the core has inferred. Adds in double, rounds once; NaN spreads.
 */
#include "tensor.h"
#include "window.h"

/* The element of x that tap sends to output position out, or -1. */
static int64_t source(const naive_window *w, const int64_t *dims, const int64_t *out,
                      const int64_t *tap)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < w->rank; d++) {
        int64_t i = out[d] + w->pad[d] - tap[d] * w->dilation[d];
        if (i < 0 || i % w->stride[d] != 0 || i / w->stride[d] >= dims[d])
            return -1;
        at = at * dims[d] + i / w->stride[d];
    }
    return at;
}

static int32_t run_conv_transpose(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), w = naive_input(k, launch, 1),
                 b = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    int64_t C_group = x.dims[1] / tfr_call_int(&k->call, "group", 1), M_group = w.dims[1];
    int64_t x_plane = naive_product(x.dims, 2, x.rank), taps = naive_product(w.dims, 2, w.rank);
    int64_t i = 0, tap, c;
    naive_window window;
    naive_iter at, it;

    (void)err;
    naive_window_read(&window, &k->call, x.rank - 2, w.dims + 2);
    for (naive_iter_init(&at, y.rank, y.dims); at.left > 0; naive_iter_next(&at), i++) {
        int64_t g = at.index[1] / M_group, m = at.index[1] % M_group;
        double sum = b.n ? naive_read(&b, at.index[1]) : 0;
        tap = 0;
        for (naive_iter_init(&it, window.rank, window.kernel); it.left > 0;
             naive_iter_next(&it), tap++) {
            int64_t from = source(&window, x.dims + 2, at.index + 2, it.index);
            if (from < 0)
                continue;
            for (c = g * C_group; c < (g + 1) * C_group; c++)
                sum += naive_read(&x, (at.index[0] * x.dims[1] + c) * x_plane + from) *
                       naive_read(&w, (c * M_group + m) * taps + tap);
        }
        naive_write(&y, i, sum);
    }
    return TFR_OK;
}

const naive_op naive_conv_transpose_ops[] = {
    {.domain = "", .name = "ConvTranspose", .since_version = 22, .run = run_conv_transpose},
    {.name = NULL},
};

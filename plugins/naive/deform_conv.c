/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeformConv (ONNX 22; Dai et al., arXiv:1703.06211; Zhu et al., arXiv:1811.11168), over R spatial
 * axes:
 *
 *   y[n,m,o] = b[m] + sum over c < C/G, k of
 *       w[m,c,k] * mask[n,h,k,o] * sample(x[n, g*C/G + c], o*stride + k*dilation - pad + d)
 *   d[axis]  = offset[n,h,k,axis,o]
 *
 * X [N C i...], W [M C/G k...], offset [N H*K*R o...], mask [N H*K o...], Y [N M o...]; K taps, H
 * offset groups, h = (g*C/G + c) / (C/H). sample is R-linear interpolation; points outside x count
 * as 0. A position that is not a finite number samples 0. Adds in double, rounds once.
 */
#include "tensor.h"
#include "window.h"

#include <math.h>

typedef struct deform {
    naive_tensor x, w, offset, mask, y;
    naive_window window;
    int64_t x_plane, y_plane, taps, H;
} deform;

/* R-linear interpolation in the plane of x that starts at element x0. */
static double sample(const deform *c, int64_t x0, const double *at)
{
    int32_t R = c->window.rank, d;
    const int64_t *dims = c->x.dims + 2;
    int64_t low[TFR_MAX_RANK];
    double sum = 0;
    uint32_t corner;

    for (d = 0; d < R; d++) {
        if (!(at[d] > -1 && at[d] < (double)dims[d]))
            return 0;
        low[d] = (int64_t)floor(at[d]);
    }
    for (corner = 0; corner < 1u << R; corner++) {
        int64_t i = 0;
        double weight = 1;
        for (d = 0; d < R; d++) {
            int64_t p = low[d] + (int64_t)(corner >> d & 1);
            weight *= p < 0 || p >= dims[d] ? 0 : 1 - fabs(at[d] - (double)p);
            i = i * dims[d] + p;
        }
        if (weight > 0)
            sum += weight * naive_read(&c->x, x0 + i);
    }
    return sum;
}

/* What tap number `tap` at index `k` of channel `ch` of x adds for output position `out` of image
 * n. */
static double tap_value(const deform *c, int64_t n, int64_t ch, int64_t tap, const int64_t *k,
                        const int64_t *out, int64_t o)
{
    int32_t R = c->window.rank, d;
    int64_t h = ch / (c->x.dims[1] / c->H);
    int64_t t = (n * c->H + h) * c->taps + tap;
    double at[TFR_MAX_RANK];

    for (d = 0; d < R; d++)
        at[d] = (double)(out[d] * c->window.stride[d] + k[d] * c->window.dilation[d] -
                         c->window.pad[d]) +
                naive_read(&c->offset, (t * R + d) * c->y_plane + o);
    return sample(c, (n * c->x.dims[1] + ch) * c->x_plane, at) *
           (c->mask.n ? naive_read(&c->mask, t * c->y_plane + o) : 1);
}

static double sum_at(const deform *c, const int64_t *at, int64_t o, int64_t group)
{
    int64_t C_group = c->w.dims[1], g = at[1] / (c->w.dims[0] / group), tap = 0, ch;
    double sum = 0;
    naive_iter it;

    for (naive_iter_init(&it, c->window.rank, c->window.kernel); it.left > 0;
         naive_iter_next(&it), tap++)
        for (ch = 0; ch < C_group; ch++)
            sum += naive_read(&c->w, (at[1] * C_group + ch) * c->taps + tap) *
                   tap_value(c, at[0], g * C_group + ch, tap, it.index, at + 2, o);
    return sum;
}

static int32_t run_deform_conv(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor b = naive_input(k, launch, 3);
    int64_t group = tfr_call_int(&k->call, "group", 1), i = 0;
    naive_iter it;
    deform c;

    (void)err;
    c.x = naive_input(k, launch, 0);
    c.w = naive_input(k, launch, 1);
    c.offset = naive_input(k, launch, 2);
    c.mask = naive_input(k, launch, 4);
    c.y = naive_output(k, launch, 0);
    naive_window_read(&c.window, &k->call, c.x.rank - 2, c.w.dims + 2);
    c.x_plane = naive_product(c.x.dims, 2, c.x.rank);
    c.y_plane = naive_product(c.y.dims, 2, c.y.rank);
    c.taps = naive_product(c.w.dims, 2, c.w.rank);
    c.H = tfr_call_int(&k->call, "offset_group", 1);
    for (naive_iter_init(&it, c.y.rank, c.y.dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write(&c.y, i,
                    sum_at(&c, it.index, i % c.y_plane, group) +
                        (b.n ? naive_read(&b, it.index[1]) : 0));
    return TFR_OK;
}

const naive_op naive_deform_conv_ops[] = {
    {.domain = "", .name = "DeformConv", .since_version = 22, .run = run_deform_conv},
    {.name = NULL},
};

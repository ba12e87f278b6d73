/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_depthwise.h: rows of depthwise convolutions, a part of isa_kernels.h. Windows of 3 columns,
 * nearly all that there are, have loops of their own, in which neighbouring outputs share what they
 * load. Each output is the sum over rows, then columns, of its window, whatever loop it is in.
 */
#define UNROLL_FEW _Pragma("GCC unroll 4")

/* One output near a border. */
static inline vec depthwise_at(const native_row *r, int64_t x, int64_t y0, int64_t y1, vec bias)
{
    int64_t left = r->left + x * r->stride[1], x0, x1, i, j;

    inside(left, r->width, r->kernel[1], r->dilation[1], &x0, &x1);
    for (i = y0; i < y1; i++) {
        const float *line = r->source + (r->top + i * r->dilation[0]) * r->width * LANES;
        for (j = x0; j < x1; j++)
            bias = V_FMA(V_LOAD(line + (left + j * r->dilation[1]) * LANES),
                         V_LOAD(r->weights + (i * r->kernel[1] + j) * LANES), bias);
    }
    return bias;
}

/*
 * n outputs, 1 to 6, whose windows are inside. Where the numbers are constants, loops unroll and
 * neighbours share what they load.
 */
static inline __attribute__((always_inline)) void depthwise_few(const native_row *r, int64_t x,
                                                                int64_t y0, int64_t y1, int n,
                                                                int64_t taps, int64_t stride,
                                                                int64_t dilation)
{
    const vec bias = r->bias ? V_LOAD(r->bias) : V_ZERO();
    const int64_t step = stride * LANES;
    vec s0 = bias, s1 = bias, s2 = bias, s3 = bias, s4 = bias, s5 = bias;
    int64_t i, j;

    for (i = y0; i < y1; i++) {
        const float *p =
            r->source + ((r->top + i * r->dilation[0]) * r->width + r->left + x * stride) * LANES;
        const float *w = r->weights + i * taps * LANES;
        UNROLL_FEW
        for (j = 0; j < taps; j++, p += dilation * LANES) {
            vec k = V_LOAD(w + j * LANES);
            s0 = V_FMA(V_LOAD(p), k, s0);
            s1 = n > 1 ? V_FMA(V_LOAD(p + step), k, s1) : s1;
            s2 = n > 2 ? V_FMA(V_LOAD(p + 2 * step), k, s2) : s2;
            s3 = n > 3 ? V_FMA(V_LOAD(p + 3 * step), k, s3) : s3;
            s4 = n > 4 ? V_FMA(V_LOAD(p + 4 * step), k, s4) : s4;
            s5 = n > 5 ? V_FMA(V_LOAD(p + 5 * step), k, s5) : s5;
        }
    }
    V_STORE(r->to + x * LANES, end_row(r, s0, x));
    if (n > 1)
        V_STORE(r->to + (x + 1) * LANES, end_row(r, s1, x + 1));
    if (n > 2)
        V_STORE(r->to + (x + 2) * LANES, end_row(r, s2, x + 2));
    if (n > 3)
        V_STORE(r->to + (x + 3) * LANES, end_row(r, s3, x + 3));
    if (n > 4)
        V_STORE(r->to + (x + 4) * LANES, end_row(r, s4, x + 4));
    if (n > 5)
        V_STORE(r->to + (x + 5) * LANES, end_row(r, s5, x + 5));
}

/* Outputs [x, last). */
static inline __attribute__((always_inline)) void depthwise_inside(const native_row *r, int64_t x,
                                                                   int64_t last, int64_t y0,
                                                                   int64_t y1, int64_t taps,
                                                                   int64_t stride, int64_t dilation)
{
    for (; x + 6 <= last; x += 6)
        depthwise_few(r, x, y0, y1, 6, taps, stride, dilation);
    switch (last - x) {
    case 5:
        depthwise_few(r, x, y0, y1, 5, taps, stride, dilation);
        break;
    case 4:
        depthwise_few(r, x, y0, y1, 4, taps, stride, dilation);
        break;
    case 3:
        depthwise_few(r, x, y0, y1, 3, taps, stride, dilation);
        break;
    case 2:
        depthwise_few(r, x, y0, y1, 2, taps, stride, dilation);
        break;
    case 1:
        depthwise_few(r, x, y0, y1, 1, taps, stride, dilation);
        break;
    default:
        break;
    }
}

static void depthwise_row(const native_row *r)
{
    const int64_t reach = (r->kernel[1] - 1) * r->dilation[1];
    const bool usual = r->kernel[1] == 3 && r->dilation[1] == 1;
    vec bias = r->bias ? V_LOAD(r->bias) : V_ZERO();
    int64_t y0, y1, x = 0, last;

    inside(r->top, r->height, r->kernel[0], r->dilation[0], &y0, &y1);
    for (; x < r->out_width && r->left + x * r->stride[1] < 0; x++)
        V_STORE(r->to + x * LANES, end_row(r, depthwise_at(r, x, y0, y1, bias), x));
    /* the first x whose window leaves at the right */
    last = r->width - 1 - reach - r->left;
    last = last < 0 ? 0 : last / r->stride[1] + 1;
    if (last > r->out_width)
        last = r->out_width;
    if (last < x)
        last = x;
    if (usual && r->stride[1] == 1)
        depthwise_inside(r, x, last, y0, y1, 3, 1, 1);
    else if (usual && r->stride[1] == 2)
        depthwise_inside(r, x, last, y0, y1, 3, 2, 1);
    else
        depthwise_inside(r, x, last, y0, y1, r->kernel[1], r->stride[1], r->dilation[1]);
    for (x = last; x < r->out_width; x++)
        V_STORE(r->to + x * LANES, end_row(r, depthwise_at(r, x, y0, y1, bias), x));
    if (r->act.kind > NATIVE_ACT_CLIP)
        act_loop(&r->act, r->to, r->to, r->out_width * LANES);
}

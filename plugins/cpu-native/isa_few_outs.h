/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_few_outs.h: rows of convolutions with so few outputs that these would leave most lanes of a
 * vector empty, a part of isa_kernels.h. Lanes are inputs here: each output of each pixel has a
 * vector of sums, which grow by a vector of the source times one of the weights, and is added up
 * once, at the end. As many pixels go together as it takes to keep both multipliers busy, eight to
 * twelve sums, which leaves registers for weights and pixels.
 *
 * Each output is added up over blocks, then lines, then columns of its window.
 */

enum { FEW_OUTS_APART = 4 }; /* blocks with sums of their own, where there is one pixel */

/* `pixels` neighbours from x on, whose windows are inside; step: floats from one to the next. */
static inline __attribute__((always_inline)) void
few_outs_inside(const native_few_outs *r, int64_t x, int64_t step, const int outs, const int pixels)
{
    const float *first = r->source + (r->left + x * r->stride) * LANES;
    const int64_t dilation = r->dilation * LANES;
    vec sum[NATIVE_FEW_OUTS][8];
    int64_t block, line, j;
    int o, i;

    UNROLL for (o = 0; o < outs; o++) UNROLL for (i = 0; i < pixels; i++) sum[o][i] = V_ZERO();
    for (block = 0; block < r->blocks; block++) {
        for (line = 0; line < r->n_lines; line++) {
            const float *from = first + block * r->plane + r->lines[line].source;
            const float *w = r->weights + block * r->weights_block + r->lines[line].weights;
            for (j = 0; j < r->kernel; j++, from += dilation, w += outs * LANES) {
                UNROLL for (o = 0; o < outs; o++)
                {
                    const vec k = V_LOAD(w + o * LANES);
                    UNROLL for (i = 0; i < pixels; i++) sum[o][i] =
                        V_FMA(V_LOAD(from + i * step), k, sum[o][i]);
                }
            }
        }
    }
    UNROLL for (o = 0; o < outs; o++) UNROLL for (i = 0; i < pixels; i++)
        r->to[o * r->to_out + (x + i) * r->to_pixel] = V_SUM(sum[o][i]) + r->bias[o];
}

/* One pixel, of whose window columns [begin, end) are there. */
static inline __attribute__((always_inline)) void
few_outs_pixel(const native_few_outs *r, int64_t x, int64_t begin, int64_t end, const int outs)
{
    const float *first = r->source + (r->left + x * r->stride) * LANES;
    vec sum[NATIVE_FEW_OUTS][FEW_OUTS_APART];
    int64_t block, line, j;
    int o, i;

    UNROLL for (o = 0; o < outs; o++) UNROLL for (i = 0; i < FEW_OUTS_APART; i++) sum[o][i] =
        V_ZERO();
    for (block = 0; block < r->blocks; block += FEW_OUTS_APART) {
        const int64_t n = r->blocks - block;
        for (line = 0; line < r->n_lines; line++) {
            const float *from = first + block * r->plane + r->lines[line].source;
            const float *w = r->weights + block * r->weights_block + r->lines[line].weights;
            for (j = begin; j < end; j++) {
                UNROLL for (i = 0; i < FEW_OUTS_APART; i++)
                {
                    if (i < n) {
                        const vec v = V_LOAD(from + i * r->plane + j * r->dilation * LANES);
                        UNROLL for (o = 0; o < outs; o++) sum[o][i] =
                            V_FMA(v, V_LOAD(w + i * r->weights_block + (j * outs + o) * LANES),
                                  sum[o][i]);
                    }
                }
            }
        }
    }
    UNROLL for (o = 0; o < outs; o++) r->to[o * r->to_out + x * r->to_pixel] =
        V_SUM(V_ADD(V_ADD(sum[o][0], sum[o][1]), V_ADD(sum[o][2], sum[o][3]))) + r->bias[o];
}

/* The part of a window that is there. */
static inline __attribute__((always_inline)) void few_outs_edge(const native_few_outs *r, int64_t x,
                                                                const int outs)
{
    const int64_t left = r->left + x * r->stride;
    int64_t begin = 0, end = r->kernel;

    while (begin < end && left + begin * r->dilation < 0)
        begin++;
    while (end > begin && left + (end - 1) * r->dilation >= r->width)
        end--;
    few_outs_pixel(r, x, begin, end, outs);
}

/* The windows of pixels in [first, last) are inside; the last ones may be computed twice. */
static inline __attribute__((always_inline)) void few_outs_all(const native_few_outs *r,
                                                               const int outs, const int pixels)
{
    const int64_t reach = (r->kernel - 1) * r->dilation;
    int64_t x = 0, last = r->width - 1 - reach - r->left;

    last = last < 0 ? 0 : last / r->stride + 1;
    last = last < r->out_width ? last : r->out_width;
    for (; x < r->out_width && (r->left + x * r->stride < 0 || last - x < pixels); x++)
        few_outs_edge(r, x, outs);
    for (; x < last; x = x + pixels) {
        x = x + pixels > last ? last - pixels : x;
        if (r->stride == 1)
            few_outs_inside(r, x, LANES, outs, pixels);
        else
            few_outs_inside(r, x, r->stride * LANES, outs, pixels);
    }
    for (; x < r->out_width; x++)
        few_outs_edge(r, x, outs);
}

static void few_outs_row(const native_few_outs *r)
{
    switch (r->outs) {
    case 1:
        few_outs_all(r, 1, 8);
        break;
    case 2:
        few_outs_all(r, 2, 6);
        break;
    case 3:
        few_outs_all(r, 3, 4);
        break;
    default:
        few_outs_all(r, 4, 3);
    }
}

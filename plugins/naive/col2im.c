/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Col2Im (ONNX 18), over R spatial axes:
 *
 *   y[n,c,o] = sum over k, l with  o = l*stride + k*dilation - pad  of  x[n, c*K + k, l]
 *
 * X [N C*K L], K the taps of block_shape and L the positions of the block, both row-major;
 * Y [N C image_shape...]. Floats add in double and round once; integers wrap; other types are
 * declined. NaN spreads.
 */
#include "tensor.h"
#include "window.h"

static int32_t supports_col2im(const tfr_call *call, tfr_answer *answer)
{
    int32_t dtype = tfr_call_input(call, 0)->dtype;

    if (!naive_is_number(dtype))
        return tfr_decline(answer, TFR_REASON_DTYPE, "element type %d has no sum", dtype);
    return TFR_OK;
}

/* The number of the block position that puts tap on out, or -1. */
static int64_t position(const naive_window *w, const int64_t *blocks, const int64_t *out,
                        const int64_t *tap)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < w->rank; d++) {
        int64_t i = out[d] + w->pad[d] - tap[d] * w->dilation[d];
        if (i < 0 || i % w->stride[d] != 0 || i / w->stride[d] >= blocks[d])
            return -1;
        at = at * blocks[d] + i / w->stride[d];
    }
    return at;
}

static int32_t run_col2im(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), block = naive_input(k, launch, 2),
                 y = naive_output(k, launch, 0);
    int64_t kernel[TFR_MAX_RANK] = {0}, blocks[TFR_MAX_RANK] = {0}, L = 1, K = 1, i = 0, tap;
    int32_t R = y.rank - 2, d;
    naive_iter at, it;
    naive_window w;

    for (d = 0; d < R; d++)
        kernel[d] = naive_read_int(&block, d);
    naive_window_read(&w, &k->call, R, kernel);
    for (d = 0; d < R; d++) {
        blocks[d] =
            (y.dims[d + 2] + w.pad[d] + w.pad_end[d] - w.dilation[d] * (kernel[d] - 1) - 1) /
                w.stride[d] +
            1;
        L *= blocks[d];
        K *= kernel[d];
    }
    if (y.n > 0 && (L != x.dims[2] || K * y.dims[1] != x.dims[1]))
        return tfr_fail(err, TFR_ESHAPE, "%lld blocks of %lld do not make columns of %lld x %lld",
                        (long long)L, (long long)K, (long long)x.dims[1], (long long)x.dims[2]);
    for (naive_iter_init(&at, y.rank, y.dims); at.left > 0; naive_iter_next(&at), i++) {
        int64_t row = (at.index[0] * y.dims[1] + at.index[1]) * K, sum_int = 0;
        double sum = 0;
        tap = 0;
        for (naive_iter_init(&it, R, w.kernel); it.left > 0; naive_iter_next(&it), tap++) {
            int64_t l = position(&w, blocks, at.index + 2, it.index);
            if (l < 0)
                continue;
            if (naive_is_integer(y.dtype))
                sum_int = naive_wrap_add(sum_int, naive_read_int(&x, (row + tap) * L + l));
            else
                sum += naive_read(&x, (row + tap) * L + l);
        }
        if (naive_is_integer(y.dtype))
            naive_write_int(&y, i, sum_int);
        else
            naive_write(&y, i, sum);
    }
    return TFR_OK;
}

const naive_op naive_col2im_ops[] = {
    {.domain = "",
     .name = "Col2Im",
     .since_version = 18,
     .supports = supports_col2im,
     .run = run_col2im},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxUnpool (ONNX 22):  Y = 0, then Y[position of I[j]] = X[j] for every j in order
 *
 * I counts a tensor of dims [N, C, (i - 1) * stride + kernel - pads ...], row-major; its position
 * in there is the position in Y, which output_shape may have made larger behind. X, I [N C i...],
 * Y [N C o...]. Copies values; of equal indices the last wins.
 */
#include "tensor.h"
#include "window.h"

/* Splits position into an index of dims; false if it lies outside. */
static bool split_position(int64_t position, int32_t rank, const int64_t *dims, int64_t *index)
{
    int32_t d;

    if (position < 0)
        return false;
    for (d = rank - 1; d >= 0; d--) {
        if (dims[d] <= 0)
            return false;
        index[d] = position % dims[d];
        position /= dims[d];
    }
    return position == 0;
}

static int32_t run_max_unpool(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    int64_t dims[TFR_MAX_RANK] = {0}, index[TFR_MAX_RANK], i, at;
    naive_window w;
    int32_t d, status;

    naive_window_read(&w, &k->call, x.rank - 2, NULL);
    for (d = 0; d < x.rank; d++)
        dims[d] = d < 2 ? x.dims[d]
                        : (x.dims[d] - 1) * w.stride[d - 2] + w.kernel[d - 2] - w.pad[d - 2] -
                              w.pad_end[d - 2];
    for (i = 0; i < y.n; i++)
        if ((status = naive_clear(&y, i, err)) != TFR_OK)
            return status;
    for (i = 0; i < x.n; i++) {
        int64_t position = naive_read_int(&indices, i);
        bool inside = split_position(position, x.rank, dims, index);
        for (d = 0, at = 0; inside && d < y.rank; d++) {
            inside = index[d] < y.dims[d];
            at = at * y.dims[d] + index[d];
        }
        if (!inside)
            return tfr_fail(err, TFR_EINVAL,
                            "unpool index %lld at position %lld is outside the output",
                            (long long)position, (long long)i);
        naive_copy(y.dtype, y.out, at, x.in, i);
    }
    return TFR_OK;
}

const naive_op naive_max_unpool_ops[] = {
    {.domain = "", .name = "MaxUnpool", .since_version = 22, .run = run_max_unpool},
    {.name = NULL},
};

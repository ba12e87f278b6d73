/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ReverseSequence (ONNX 28), with time t and batch b among the first two axes:
 *
 *   y[t, b, ..] = x[len(b) - 1 - t, b, ..]  for t < len(b), else x[t, b, ..]
 *
 * A length outside [0, dim] is an error. Copies elements of any type.
 */
#include "tensor.h"

static int32_t run_reverse_sequence(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), lens = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    int32_t time = naive_axis(tfr_call_int(&k->call, "time_axis", 0), x.rank),
            batch = naive_axis(tfr_call_int(&k->call, "batch_axis", 1), x.rank), status = TFR_OK;
    int64_t strides[TFR_MAX_RANK], i = 0;
    naive_iter it;

    naive_dims_to_strides(x.rank, x.dims, strides);
    for (naive_iter_init(&it, y.rank, y.dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        int64_t length = naive_read_int(&lens, it.index[batch]), t = it.index[time];
        if (length < 0 || length > x.dims[time])
            return tfr_fail(err, TFR_EINVAL,
                            "sequence length %lld of batch %lld is outside [0, %lld]",
                            (long long)length, (long long)it.index[batch], (long long)x.dims[time]);
        status =
            naive_move(&y, i, &x, t < length ? i + (length - 1 - 2 * t) * strides[time] : i, err);
    }
    return status;
}

const naive_op naive_reverse_sequence_ops[] = {
    {.domain = "", .name = "ReverseSequence", .since_version = 28, .run = run_reverse_sequence},
    {.name = NULL},
};

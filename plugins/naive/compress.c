/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compress (ONNX 28): the slices along axis, or the elements of the flattened input, whose
 * condition is true. A condition shorter than the axis is false for the rest.
 */
#include "naive.h"

#include <string.h>

static int32_t run_compress(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *c = tfr_call_input(&k->call, 1);
    const tfr_attr *axis = tfr_call_attr(&k->call, "axis");
    const void *px = naive_in(k, launch, 0);
    const uint8_t *keep = naive_in(k, launch, 1);
    void *py = naive_out(k, launch, 0);
    int64_t *dims = naive_out_dims(k, launch, 0), at = 0, count = 0, o, i, j, n;
    naive_lanes l = {1, tfr_operand_elements(x), 1};
    int32_t status = TFR_OK;

    if (axis)
        l = naive_lanes_of(x, axis->ints[0] < 0 ? axis->ints[0] + x->rank : axis->ints[0]);
    n = c->dims[0] < l.n ? c->dims[0] : l.n;
    for (j = 0; j < n; j++)
        count += keep[j] != 0;
    for (o = 0; o < l.outer; o++)
        for (j = 0; j < n; j++)
            for (i = 0; i < l.inner && keep[j] && status == TFR_OK; i++)
                status = naive_copy_any(x->dtype, py, at++, px, (o * l.n + j) * l.inner + i, err);
    if (dims) {
        if (axis) {
            memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
            dims[axis->ints[0] < 0 ? axis->ints[0] + x->rank : axis->ints[0]] = count;
        } else {
            dims[0] = count;
        }
    }
    return status;
}

const naive_op naive_compress_ops[] = {
    {"", "Compress", 28, NULL, run_compress, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

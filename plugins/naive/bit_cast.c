/* SPDX-License-Identifier: Apache-2.0 */
/* BitCast (ONNX 26): the same bytes read as another type of equal width. */
#include "naive.h"

static int32_t run_bitcast(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    naive_iter it;

    if (tfr_dtype_bits(x->dtype) != tfr_dtype_bits(y->dtype))
        return tfr_fail(err, TFR_EDTYPE, "BitCast from %u bits to %u", tfr_dtype_bits(x->dtype),
                        tfr_dtype_bits(y->dtype));
    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0; naive_iter_next(&it))
        naive_copy(x->dtype, py, it.at[1], px, it.at[0]);
    return TFR_OK;
}

static int32_t supports_bitcast(const tfr_call *call, tfr_answer *answer)
{
    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_STRING ||
        tfr_call_output(call, 0)->dtype == TFR_DTYPE_STRING)
        return tfr_decline(answer, TFR_REASON_DTYPE, "strings have no bits to cast");
    return TFR_OK;
}

const naive_op naive_bit_cast_ops[] = {
    {"", "BitCast", 26, supports_bitcast, run_bitcast, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

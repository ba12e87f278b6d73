/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trilu (ONNX 14) of the last two dims: upper keeps x[i][j] with j >= i + k, lower those with
 * j <= i + k; all else is zero (an empty string). k is an attribute that the core
 * makes from input 1 (without it input 1 is read), or 0.
 */
#include "naive.h"

#include <string.h>

/* Zero has all bits zero in every type but these float8 types without zero, where it does not
 * matter: ONNX has no Trilu for them. */
static void set_zero(int32_t dtype, void *p, int64_t i)
{
    static const uint8_t zeros[16];

    naive_copy(dtype, p, i, zeros, 0);
}

static int32_t run_trilu(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *shift = tfr_call_input(&k->call, 1);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    bool upper = tfr_call_int(&k->call, "upper", 1) != 0;
    int64_t diagonal = tfr_call_int(&k->call, "k", 0);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1], n, at;
    int32_t status = TFR_OK;

    if (shift && !tfr_call_attr(&k->call, "k"))
        diagonal = naive_get_int(shift->dtype, naive_in(k, launch, 1), 0);
    n = tfr_operand_elements(x);
    for (at = 0; at < n && status == TFR_OK; at++) {
        int64_t i = at / columns % rows, j = at % columns;
        /* i and j are small, so that the border is compared without overflow of i + k. */
        bool keep = upper ? j - i >= diagonal : j - i <= diagonal;
        if (keep)
            status = naive_copy_any(x->dtype, py, at, px, at, err);
        else if (x->dtype == TFR_DTYPE_STRING)
            status = naive_set_string((tfr_string *)py + at, "", 0, err);
        else
            set_zero(x->dtype, py, at);
    }
    return status;
}

const naive_op naive_trilu_ops[] = {
    {"", "Trilu", 14, NULL, run_trilu, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

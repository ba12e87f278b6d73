/* SPDX-License-Identifier: Apache-2.0 */
/* StringConcat (ONNX 20): z = the bytes of x, then those of y, with numpy broadcasting. */
#include "naive.h"

#include <stdlib.h>
#include <string.h>

static int32_t concat(const tfr_string *x, const tfr_string *y, tfr_string *z, tfr_err *err)
{
    char *text = malloc((size_t)(x->bytes + y->bytes) + 1);
    int32_t status;

    if (!text)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                        (unsigned long long)(x->bytes + y->bytes));
    if (x->bytes)
        memcpy(text, x->data, (size_t)x->bytes);
    if (y->bytes)
        memcpy(text + x->bytes, y->data, (size_t)y->bytes);
    status = naive_set_string(z, text, x->bytes + y->bytes, err);
    free(text);
    return status;
}

static int32_t run_stringconcat(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *z = tfr_call_output(&k->call, 0);
    const tfr_string *px = naive_in(k, launch, 0), *py = naive_in(k, launch, 1);
    tfr_string *pz = naive_out(k, launch, 0);
    int32_t status = TFR_OK;
    naive_iter it;

    naive_iter_init(&it, z->rank, z->dims);
    naive_iter_add(&it, tfr_call_input(&k->call, 0));
    naive_iter_add(&it, tfr_call_input(&k->call, 1));
    naive_iter_add(&it, z);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it))
        status = concat(px + it.at[0], py + it.at[1], pz + it.at[2], err);
    return status;
}

const naive_op naive_string_concat_ops[] = {
    {"", "StringConcat", 20, NULL, run_stringconcat, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};

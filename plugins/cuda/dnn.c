/* SPDX-License-Identifier: Apache-2.0 */
/* dnn.c: see dnn.h. */
#include "dnn.h"

#include <stdio.h>

cuda_dnn_table cuda_dnn;

int32_t cuda_dnn_check(tfr_dnn_status status, const char *what, tfr_err *err)
{
    char text[288], detail[200] = "";

    if (status == TFR_DNN_SUCCESS)
        return TFR_OK;
    if (cuda_dnn.cudnnGetLastErrorString)
        cuda_dnn.cudnnGetLastErrorString(detail, sizeof detail);
    snprintf(text, sizeof text, "%s%s%s", cuda_dnn.cudnnGetErrorString(status), *detail ? ": " : "",
             detail);
    return cuda_fail_cudnn(err, (int)status, text, what);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

tfr_dnn_desc *cuda_dnn_create(cuda_dnn_builder *b, unsigned kind)
{
    tfr_dnn_desc *desc = NULL;

    if (b->status == TFR_OK && b->n == CUDA_DNN_DESCS)
        b->status = tfr_fail(b->err, TFR_EINTERNAL, "%s takes too many descriptors", b->what);
    if (b->status == TFR_OK)
        b->status =
            cuda_dnn_check(cuda_dnn.cudnnBackendCreateDescriptor(kind, &desc), b->what, b->err);
    if (b->status != TFR_OK)
        return NULL;
    b->all[b->n++] = desc;
    return desc;
}

void cuda_dnn_set(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, unsigned type,
                  int64_t n, const void *elements)
{
    if (b->status == TFR_OK)
        b->status = cuda_dnn_check(
            cuda_dnn.cudnnBackendSetAttribute(desc, attribute, type, n, elements), b->what, b->err);
}

void cuda_dnn_set_type(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, unsigned type)
{
    cuda_dnn_set(b, desc, attribute, TFR_DNN_TYPE_DATA_TYPE, 1, &type);
}

void cuda_dnn_set_ints(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute, int64_t n,
                       const int64_t *values)
{
    cuda_dnn_set(b, desc, attribute, TFR_DNN_TYPE_INT64, n, values);
}

void cuda_dnn_set_desc(cuda_dnn_builder *b, tfr_dnn_desc *desc, unsigned attribute,
                       tfr_dnn_desc *part)
{
    cuda_dnn_set(b, desc, attribute, TFR_DNN_TYPE_DESCRIPTOR, 1, &part);
}

tfr_dnn_desc *cuda_dnn_finish(cuda_dnn_builder *b, tfr_dnn_desc *desc)
{
    if (b->status == TFR_OK)
        b->status = cuda_dnn_check(cuda_dnn.cudnnBackendFinalize(desc), b->what, b->err);
    return desc;
}

void cuda_dnn_drop(cuda_dnn_builder *b)
{
    while (b->n > 0)
        (void)cuda_dnn.cudnnBackendDestroyDescriptor(b->all[--b->n]);
}

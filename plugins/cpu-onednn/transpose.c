/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c: Transpose of any type of whole bytes, as one reorder of oneDNN. */
#include <string.h>

#include "families.h"

/* The output's dims with the input's strides; neighbours that stay together are merged. */
typedef struct moved {
    int rank;
    int64_t dims[TFR_MAX_RANK + 1], strides[TFR_MAX_RANK + 1];
    dnnl_data_type_t type;
} moved;

static void merge(const tfr_call *call, moved *m)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t *perm = tfr_call_ints(call, "perm", (uint64_t)x->rank);
    int64_t bytes = tfr_dtype_bits(x->dtype) / 8, unit = bytes % 4 == 0 ? 4 : 1,
            strides[TFR_MAX_RANK];
    int64_t n = bytes / unit;
    int i;

    for (i = x->rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= x->dims[i];
    }
    m->type = unit == 4 ? dnnl_f32 : dnnl_u8;
    m->rank = 0;
    for (i = 0; i <= x->rank; i++) {
        /* One element of several units is a last dimension of its own. */
        int from = i == x->rank ? -1 : perm ? (int)perm[i] : x->rank - 1 - i;
        int64_t dim = from < 0 ? bytes / unit : x->dims[from];
        int64_t stride = from < 0 ? 1 : strides[from];
        int last = m->rank - 1;
        if (dim == 1)
            continue;
        if (last >= 0 && m->strides[last] == stride * dim) {
            m->dims[last] *= dim;
            m->strides[last] = stride;
            continue;
        }
        m->dims[m->rank] = dim;
        m->strides[m->rank++] = stride;
    }
    if (m->rank == 0) {
        m->rank = 1;
        m->dims[0] = m->strides[0] = 1;
    }
}

void onednn_transpose_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    moved m;

    (void)device;
    if (x->dtype == TFR_DTYPE_STRING || tfr_dtype_bits(x->dtype) % 8 != 0) {
        tfr_decline(answer, TFR_REASON_DTYPE, "elements of %u bits or strings are not done here",
                    tfr_dtype_bits(x->dtype));
        return;
    }
    merge(call, &m);
    if (m.rank > 6)
        tfr_decline(answer, TFR_REASON_RANK, "%d dims move apart, 6 are done here", m.rank);
}

void onednn_transpose_prepare(onednn_build *b, const tfr_call *call)
{
    moved m;
    int from, to;

    merge(call, &m);
    from = onednn_input(b, 0, onednn_strided(b, m.type, m.rank, m.dims, m.strides));
    to = onednn_output(b, 0, onednn_plain(b, m.type, m.rank, m.dims));
    onednn_add_reorder(b, from, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorScatter (ONNX 24): present_cache is past_cache, of which sample b got update from position
 * write_indices[b] (0 without them) of dim axis on; mode circular goes on at 0 behind the end. Any
 * dtype, nothing is computed. An index below 0, or for mode linear one that leaves update no room,
 * is TFR_EINVAL.
 */
#include "tensor.h"

#include <string.h>

static int32_t read_start(const naive_tensor *indices, int64_t b, int64_t length, int64_t room,
                          bool circular, int64_t *out, tfr_err *err)
{
    *out = indices->operand ? naive_read_int(indices, b) : 0;
    if (*out < 0 || (!circular && *out > room - length))
        return tfr_fail(err, TFR_EINVAL,
                        "write_indices[%lld] is %lld, an update of %lld positions in a cache of "
                        "%lld wants %s",
                        (long long)b, (long long)*out, (long long)length, (long long)room,
                        circular ? "0 or more" : "one with room behind it");
    return TFR_OK;
}

static int32_t run_tensor_scatter(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor past = naive_input(k, launch, 0), update = naive_input(k, launch, 1),
                 indices = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    bool circular = strcmp(tfr_call_string(&k->call, "mode", "linear"), "circular") == 0;
    naive_lanes to = naive_lanes_of(y.operand, tfr_call_int(&k->call, "axis", 1));
    int64_t length = update.dims[naive_axis(tfr_call_int(&k->call, "axis", 1), update.rank)];
    int64_t per_sample = y.dims[0] ? to.outer / y.dims[0] : 0, o, j, i, start;
    int32_t status = TFR_OK;

    for (i = 0; i < y.n && !status; i++)
        status = naive_move(&y, i, &past, i, err);
    for (o = 0; o < to.outer && update.n > 0 && !status; o++) {
        status = read_start(&indices, o / per_sample, length, to.n, circular, &start, err);
        for (j = 0; j < length && !status; j++) {
            int64_t at = circular ? (start % to.n + j) % to.n : start + j;
            for (i = 0; i < to.inner && !status; i++)
                status = naive_move(&y, (o * to.n + at) * to.inner + i, &update,
                                    (o * length + j) * to.inner + i, err);
        }
    }
    return status;
}

const naive_op naive_tensor_scatter_ops[] = {
    {.domain = "", .name = "TensorScatter", .since_version = 24, .run = run_tensor_scatter},
    {.name = NULL},
};

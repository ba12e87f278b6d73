/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DepthToSpace (ONNX 28) and SpaceToDepth (ONNX 28), the reverse, with blocks of B x B:
 *
 *   DCR  wide[n, c, h*B + i, w*B + j] = deep[n, (i*B + j) * C + c, h, w]
 *   CRD  wide[n, c, h*B + i, w*B + j] = deep[n, (c*B + i) * B + j, h, w]
 *
 * wide [N C H*B W*B], deep [N C*B*B H W]. Both copy elements of any type.
 */
#include "tensor.h"

#include <string.h>

/* The element of deep that belongs to index of wide. */
static int64_t deep_element(const naive_tensor *deep, const naive_tensor *wide,
                            const int64_t *index, int64_t B, bool depth_first)
{
    int64_t C = wide->dims[1], i = index[2] % B, j = index[3] % B;
    int64_t channel = depth_first ? (i * B + j) * C + index[1] : (index[1] * B + i) * B + j;

    return ((index[0] * deep->dims[1] + channel) * deep->dims[2] + index[2] / B) * deep->dims[3] +
           index[3] / B;
}

static int32_t run(const naive_kernel *k, const tfr_launch *launch, bool to_space, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    const naive_tensor *deep = to_space ? &x : &y, *wide = to_space ? &y : &x;
    bool depth_first = strcmp(tfr_call_string(&k->call, "mode", "DCR"), "CRD") != 0;
    int64_t B = tfr_call_int(&k->call, "blocksize", 1), i = 0;
    int32_t status = TFR_OK;
    naive_iter it;

    for (naive_iter_init(&it, wide->rank, wide->dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        int64_t at = deep_element(deep, wide, it.index, B, depth_first);
        status = to_space ? naive_move(&y, i, &x, at, err) : naive_move(&y, at, &x, i, err);
    }
    return status;
}

static int32_t run_depth_to_space(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run(k, launch, true, err);
}

static int32_t run_space_to_depth(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    return run(k, launch, false, err);
}

const naive_op naive_depth_ops[] = {
    {.domain = "", .name = "DepthToSpace", .since_version = 28, .run = run_depth_to_space},
    {.domain = "", .name = "SpaceToDepth", .since_version = 28, .run = run_space_to_depth},
    {.name = NULL},
};

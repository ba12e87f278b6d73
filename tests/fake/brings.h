/* SPDX-License-Identifier: Apache-2.0 */
/* brings.h: a fake that brings ops of its own; the file that includes it has rows and inference. */
#include <tfrun/fail.h>

#define ROW(op, ...)                                                                               \
    {                                                                                              \
        .size = sizeof(tfr_op_schema), .since_version = 1, .domain = "test.brings", .name = op,    \
        .inputs = "X:T", .outputs = "Y:T", .types = "T=f32|f64", __VA_ARGS__                       \
    }
#define FUNCTION(which, bytes) .which = bytes, .which##_bytes = sizeof(bytes) - 1

static int32_t brings_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err);
static const tfr_op_schema *brings_rows(uint32_t *n);

static int32_t brings_schemas(tfr_op_schema *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    uint32_t n_rows;
    const tfr_op_schema *rows = brings_rows(&n_rows);
    (void)err;
    for (uint32_t i = 0; i < n_rows; i++)
        tfr_list_put(out, stride, *n, i, &rows[i], sizeof rows[i]);
    *n = n_rows;
    return TFR_OK;
}

#ifndef FAKE_DECOMPOSE
#define FAKE_DECOMPOSE NULL
#endif
static const tfr_ops_facet brings_ops = {.size = sizeof brings_ops,
                                         .schemas = brings_schemas,
                                         .infer = brings_infer,
                                         .decompose = FAKE_DECOMPOSE};

#define FAKE_ON_FACET                                                                              \
    if (strcmp(id, TFR_OPS_V1) == 0)                                                               \
        return &brings_ops;
#include "fake.h"

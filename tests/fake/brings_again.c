/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the op Plain as brings.c does, Times with another signature, and claims kernels of both.
 */
#define FAKE_NAME "brings-again"
#define FAKE_ON_OPS                                                                                \
    static const tfr_op_claim claims[] = {                                                         \
        {.size = sizeof claims[0], .since_version = 1, .domain = "test.brings", .name = "Plain"},  \
        {.size = sizeof claims[0], .since_version = 1, .domain = "test.brings", .name = "Times"}}; \
    for (uint32_t i = 0; i < 2; i++)                                                               \
        tfr_list_put(out, stride, *n, i, &claims[i], sizeof claims[i]);                            \
    *n = 2;                                                                                        \
    return TFR_OK;
#include "brings.h"

static const tfr_op_schema *brings_rows(uint32_t *n)
{
    static const tfr_op_schema rows[] = {ROW("Plain", .attrs = NULL),
                                         ROW("Times", .attrs = "k:i=2")};
    *n = 2;
    return rows;
}

static int32_t brings_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err)
{
    (void)stride, (void)err;
    tfr_inferred_like(out, tfr_call_input(call, 0));
    return TFR_OK;
}

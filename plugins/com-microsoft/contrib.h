/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrib.h: the ops of the domain com.microsoft, which ONNX Runtime's optimizers and quantizers
 * write into models. Their meaning is that of its documentation and of what it computes. Each file
 * has a table of ops; contrib.c is the plugin that stands on them.
 */
#ifndef CONTRIB_H
#define CONTRIB_H

#include <stdbool.h>
#include <tfrun/fail.h>
#include <tfrun/plugin.h>

#define CONTRIB_DOMAIN "com.microsoft"

typedef struct contrib_outputs {
    tfr_inferred *first;
    uint32_t stride;
} contrib_outputs;

/* What a kernel keeps of its call. */
typedef struct contrib_params {
    int64_t numbers[16];
    int32_t types[8];
} contrib_params;

/* An op with a kernel, of at most CONTRIB_MOST_INPUTS dense inputs and one output. */
enum { CONTRIB_MOST_INPUTS = 8 };

typedef struct contrib_kernel {
    tfr_op_schema row;
    int32_t (*infer)(const tfr_call *call, contrib_outputs out, tfr_err *err);
    /* The call is as infer has let it pass. */
    void (*prepare)(const tfr_call *call, contrib_params *out);
    /* Absent inputs are NULL. */
    int32_t (*run)(const contrib_params *p, const void *const *in, void *out, tfr_err *err);
} contrib_kernel;

extern const contrib_kernel contrib_nbits, contrib_gather_block;

/* ---- elements ---- */

/* Element i of floats of type f32, f16 or bf16. */
double contrib_load(const void *data, int32_t dtype, int64_t i);
void contrib_store(void *data, int32_t dtype, int64_t i, double value);
/* Element i of a dense row of fields of so many bits, a divisor of 8, the low ones first. */
static inline int32_t contrib_field(const void *data, int64_t i, int32_t bits)
{
    const int64_t per_byte = 8 / bits;
    const uint8_t byte = ((const uint8_t *)data)[i / per_byte];
    return byte >> (i % per_byte * bits) & ((1 << bits) - 1);
}

/* ---- dims, where less than 0 is one that is not known ---- */

static inline bool contrib_differ(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 && a != b;
}

static inline int64_t contrib_ceil(int64_t n, int64_t by)
{
    return n / by + (n % by != 0);
}

#endif

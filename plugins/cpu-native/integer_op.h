/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integer_op.h: what MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv share: which operand
 * is what, and their zero points, scales and bias as int8_product.h wants them.
 */
#ifndef NATIVE_INTEGER_OP_H
#define NATIVE_INTEGER_OP_H

#include "int8_product.h"
#include "kernel.h"

void native_int8_matmul_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer);
void native_int8_matmul_prepare(native_build *b, const tfr_call *call);
void native_int8_conv_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_int8_conv_prepare(native_build *b, const tfr_call *call);

typedef enum native_int8_role {
    NATIVE_INT8_A,
    NATIVE_INT8_A_SCALE,
    NATIVE_INT8_A_ZERO,
    NATIVE_INT8_B,
    NATIVE_INT8_B_SCALE,
    NATIVE_INT8_B_ZERO,
    NATIVE_INT8_Y_SCALE,
    NATIVE_INT8_Y_ZERO,
    NATIVE_INT8_BIAS,
    NATIVE_INT8_ROLES
} native_int8_role;

typedef struct native_int8_operands {
    int at[NATIVE_INT8_ROLES];            /* numbers of inputs, -1 = it is not there */
    const void *known[NATIVE_INT8_ROLES]; /* what prepare has seen, or NULL */
    int64_t count[NATIVE_INT8_ROLES];
    bool a_signed, b_signed, y_signed, quantized;
    int output;
    int64_t k, n;
} native_int8_operands;

/* b's columns are n, each the sum of k terms. */
native_int8_operands native_int8_find_operands(const tfr_call *call, int64_t k, int64_t n);
/* Declines unless zero points and scales are one, or one for each column of B. */
bool native_int8_check_operands(const native_int8_operands *o, const tfr_call *call, int64_t rows,
                                tfr_answer *answer);

/* Zero points and scales, read from where they lie: memory of the size that params_bytes says. */
size_t native_int8_params_bytes(const native_int8_operands *o);
/* Sets all of args but a, packed and c. launch NULL = all are known. */
void native_int8_read_params(const native_int8_operands *o, const tfr_launch *launch, void *memory,
                             native_int8_args *args);
/* The zero points of B alone, where they are known; memory as above. */
void native_int8_read_zeros_of_b(const native_int8_operands *o, void *memory,
                                 native_int8_args *args);
/* Where an operand is in this launch. */
const void *native_int8_operand(const native_int8_operands *o, const tfr_launch *launch,
                                native_int8_role role);

/* More than one thread pays from here on. */
int native_int8_threads(const tfr_plugin_device *device, double products);

static inline size_t native_int8_line(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

#endif

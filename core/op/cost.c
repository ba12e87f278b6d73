/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.c: work by op family. The formulas are those of the direct method with every operand read
 * once: what a backend saves by Winograd's or a cache-aware method is its own gain, so a share of
 * the roof may exceed 100 %. Views and ops that only move data have no flops.
 */
#include "op/cost.h"

#include <string.h>

#include "op/op.h"
#include "value/bits.h"

/* Sums of products of dims: exact below 2^53, and they do not overflow. */
static double elements(const tfr_operand *o)
{
    return o ? (double)tfr_operand_elements(o) : 0;
}

static double dim(const tfr_operand *o, int32_t i)
{
    i += i < 0 ? o->rank : 0;
    return i >= 0 && i < o->rank ? (double)o->dims[i] : 1;
}

/* Filters [M, C / group, k...]: each of the M takes elements / M products for one output. */
static double conv(const tfr_operand *out, const tfr_operand *filters)
{
    return filters && dim(filters, 0) > 0 ? 2 * elements(out) * elements(filters) / dim(filters, 0)
                                          : 0;
}

/* Q K^T and its product with V; the keys may have grown by those of the past. */
static double attention(const tfr_call *call, const tfr_operand *q, const tfr_operand *y)
{
    const tfr_operand *k =
        tfr_call_output(call, 1) ? tfr_call_output(call, 1) : tfr_call_input(call, 1);
    const tfr_operand *past = tfr_call_input(call, 4);
    double keys = k ? dim(k, -2) : 0;
    if (past && k == tfr_call_input(call, 1))
        keys += dim(past, -2);
    return 2 * keys * (elements(q) + elements(y));
}

/* All combinations of the letters; a product and a sum for each. */
static double einsum(const tfr_call *call)
{
    const char *at = tfr_call_string(call, "equation", "");
    double sizes[128] = {0}, n = 1;
    uint32_t i = 0;
    for (int32_t axis = 0; *at && *at != '-'; at++) {
        const tfr_operand *o = tfr_call_input(call, i);
        unsigned char letter = (unsigned char)*at;
        if (letter == ',') {
            i++;
            axis = 0;
        } else if (o && letter < sizeof sizes / sizeof *sizes) {
            double size = dim(o, axis++);
            sizes[letter] = size > sizes[letter] ? size : sizes[letter];
        }
    }
    for (size_t letter = 'A'; letter <= 'z'; letter++)
        n *= sizes[letter] > 0 ? sizes[letter] : 1;
    return n * (i + 1);
}

static double pool(const tfr_call *call, const tfr_operand *out)
{
    const tfr_attr *kernel = tfr_call_attr(call, "kernel_shape");
    double n = elements(out);
    for (uint64_t i = 0; kernel && i < kernel->n; i++)
        n *= (double)kernel->ints[i];
    return n;
}

static double count(const tfr_call *call, const tfr__op *op)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *w = tfr_call_input(call, 1), *r = tfr_call_input(call, 2);
    if (!x)
        return 0;
    switch ((tfr__cost_rule)op->cost.rule) {
    case TFR__COST_NONE:
        return 0;
    case TFR__COST_OUTPUT:
        return op->cost.weight * elements(y);
    case TFR__COST_INPUT:
        return op->cost.weight * elements(x);
    case TFR__COST_CONV:
        return conv(y, tfr_call_input(call, op->cost.weight));
    case TFR__COST_CONV_TRANSPOSE:
        return conv(x, op->cost.weight ? y : w);
    case TFR__COST_MATMUL:
        return 2 * elements(y) * dim(x, -1);
    case TFR__COST_GEMM:
        return 2 * elements(y) * dim(x, tfr_call_int(call, "transA", 0) ? 0 : 1);
    case TFR__COST_ATTENTION:
        return attention(call, x, y);
    case TFR__COST_POOL:
        return pool(call, y);
    case TFR__COST_EINSUM:
        return einsum(call);
    case TFR__COST_RNN: /* both matrices, for each element of the sequences */
        return 2 * (elements(w) + elements(r)) * dim(x, 0) * dim(x, 1);
    }
    return 0;
}

static double operand_bytes(const tfr_operand *o)
{
    return o ? elements(o) * tfr__dtype_bits(o->dtype) / 8 : 0;
}

static uint64_t whole(double x)
{
    return x < 9.2e18 ? (uint64_t)(x + 0.5) : INT64_MAX;
}

tfr__work tfr__cost(const tfr_call *call)
{
    const tfr__op *op = tfr__op_find(call->domain, call->name);
    const bool reads_part = op && op->traits & TFR__TRAIT_READS_PART;
    double bytes = 0;
    for (uint32_t i = 0; i < call->n_outputs; i++)
        bytes += operand_bytes(tfr_call_output(call, i));
    bytes *= reads_part ? 2 : 1;
    for (uint32_t i = reads_part; i < call->n_inputs; i++)
        bytes += operand_bytes(tfr_call_input(call, i));
    return (tfr__work){op ? whole(count(call, op)) : 0, whole(bytes)};
}

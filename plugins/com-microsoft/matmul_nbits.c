/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_nbits.c: MatMulNBits, a product with weights of 2, 4 or 8 bits, in blocks along K that
 * have a scale and a zero point each.
 *
 *   Y[m,n] = bias[n] + sum over k of A[m,k] * (B[n,k] - zero[n,b]) * scale[n,b]
 *   b      = g_idx[k], or k / block_size without g_idx
 *
 * A [... K], B u8 [N blocks block_size*bits/8], low bits first; scales [N blocks] or [N*blocks];
 * zero_points u8 [N, blocks in fields of bits, padded to bytes] or floats as scales; 2^(bits-1)
 * where there are none. The sum is one of doubles, whatever accuracy_level allows.
 */
#include <stdlib.h>

#include "contrib.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

static int64_t blocks_of(const tfr_call *call)
{
    return contrib_ceil(tfr_call_int(call, "K", 1), tfr_call_int(call, "block_size", 16));
}

static int32_t check_attrs(const tfr_call *call, tfr_err *err)
{
    const int64_t bits = tfr_call_int(call, "bits", 4), size = tfr_call_int(call, "block_size", 0),
                  k = tfr_call_int(call, "K", 0), n = tfr_call_int(call, "N", 0);
    if (bits != 2 && bits != 4 && bits != 8)
        return tfr_fail(err, TFR_EUNSUPPORTED, "bits is %lld, want 2, 4 or 8", (long long)bits);
    if (size < 16 || size > 1 << 20 || (size & (size - 1)))
        return tfr_fail(err, TFR_EMODEL, "block_size is %lld, want a power of 2 from 16 on",
                        (long long)size);
    if (k < 1 || n < 1 || k > INT32_MAX || n > INT32_MAX)
        return tfr_fail(err, TFR_EMODEL, "K and N are %lld and %lld, want 1 to %d", (long long)k,
                        (long long)n, INT32_MAX);
    if (tfr_call_int(call, "weight_prepacked", 0))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "weight_prepacked is %lld: B is in the order of one GPU's kernels; export "
                        "the model without prepacking",
                        (long long)tfr_call_int(call, "weight_prepacked", 0));
    return TFR_OK;
}

/* Of an input that may also be flat: [n, per] or [n * per]. */
static int32_t check_rows(const tfr_call *call, uint32_t i, const char *name, int64_t n,
                          int64_t per, tfr_err *err)
{
    const tfr_operand *o = tfr_call_input(call, i);
    if (!o)
        return TFR_OK;
    if (o->rank == 1
            ? contrib_differ(o->dims[0], n * per)
            : o->rank < 1 || contrib_differ(o->dims[0], n) || contrib_differ(o->dims[1], per) ||
                  (o->rank > 2 && contrib_differ(o->dims[2], 1)) || o->rank > 3)
        return tfr_fail(err, TFR_ESHAPE, "%s has not the shape [%lld,%lld]", name, (long long)n,
                        (long long)per);
    return TFR_OK;
}

static int32_t check_inputs(const tfr_call *call, tfr_err *err)
{
    const int64_t bits = tfr_call_int(call, "bits", 4), size = tfr_call_int(call, "block_size", 16),
                  k = tfr_call_int(call, "K", 1), n = tfr_call_int(call, "N", 1),
                  blocks = blocks_of(call);
    const tfr_operand *a = tfr_call_input(call, A), *b = tfr_call_input(call, B),
                      *zeros = tfr_call_input(call, ZEROS), *groups = tfr_call_input(call, GROUPS);
    const bool packed = zeros && zeros->dtype == TFR_DTYPE_U8;
    int32_t status;
    if (a->rank < 1 || contrib_differ(a->dims[a->rank - 1], k))
        return tfr_fail(err, TFR_ESHAPE, "the last dim of A is not K, %lld", (long long)k);
    if (b->rank != 3 || contrib_differ(b->dims[0], n) || contrib_differ(b->dims[1], blocks) ||
        contrib_differ(b->dims[2], size * bits / 8))
        return tfr_fail(err, TFR_ESHAPE, "B has not the shape [%lld,%lld,%lld]", (long long)n,
                        (long long)blocks, (long long)(size * bits / 8));
    if (groups && (groups->rank != 1 || (groups->dims[0] >= 0 && groups->dims[0] < k)))
        return tfr_fail(err, TFR_ESHAPE, "g_idx has not %lld elements or more", (long long)k);
    if ((status = check_rows(call, SCALES, "scales", n, blocks, err)) ||
        (status = check_rows(call, ZEROS, "zero_points", n,
                             packed ? contrib_ceil(blocks * bits, 8) : blocks, err)))
        return status;
    return check_rows(call, BIAS, "bias", n, 1, err);
}

static int32_t infer(const tfr_call *call, contrib_outputs out, tfr_err *err)
{
    const tfr_operand *a = tfr_call_input(call, A);
    int32_t status = check_attrs(call, err);
    if (!status)
        status = check_inputs(call, err);
    if (status)
        return status;
    tfr_inferred_like(out.first, a);
    out.first->dims[a->rank - 1] = tfr_call_int(call, "N", 1);
    return TFR_OK;
}

enum { ROWS, COLUMNS, DEPTH, BITS, BLOCK, BLOCKS };

static void prepare(const tfr_call *call, contrib_params *p)
{
    const tfr_operand *a = tfr_call_input(call, A);
    p->numbers[ROWS] = tfr_operand_span(a, 0, a->rank - 1);
    p->numbers[COLUMNS] = tfr_call_int(call, "N", 1);
    p->numbers[DEPTH] = tfr_call_int(call, "K", 1);
    p->numbers[BITS] = tfr_call_int(call, "bits", 4);
    p->numbers[BLOCK] = tfr_call_int(call, "block_size", 16);
    p->numbers[BLOCKS] = blocks_of(call);
    for (uint32_t i = A; i <= BIAS; i++)
        p->types[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->dtype : TFR_DTYPE_NONE;
}

static double zero_of(const contrib_params *p, const void *zeros, int64_t column, int64_t block)
{
    const int32_t bits = (int32_t)p->numbers[BITS];
    const int64_t blocks = p->numbers[BLOCKS];
    if (!p->types[ZEROS])
        return 1 << (bits - 1);
    if (p->types[ZEROS] != TFR_DTYPE_U8)
        return contrib_load(zeros, p->types[ZEROS], column * blocks + block);
    return contrib_field((const uint8_t *)zeros + column * contrib_ceil(blocks * bits, 8), block,
                         bits);
}

/* The weight at (k, column). */
static double weight(const contrib_params *p, const void *const *in, int64_t column, int64_t k)
{
    const int64_t blocks = p->numbers[BLOCKS], size = p->numbers[BLOCK];
    const int32_t *groups = in[GROUPS];
    const int64_t block = p->types[GROUPS] ? groups[k] : k / size;
    const int32_t q = contrib_field(in[B], column * blocks * size + k, (int32_t)p->numbers[BITS]);
    return (q - zero_of(p, in[ZEROS], column, block)) *
           contrib_load(in[SCALES], p->types[SCALES], column * blocks + block);
}

static int32_t check_groups(const contrib_params *p, const void *const *in, tfr_err *err)
{
    const int32_t *groups = in[GROUPS];
    for (int64_t k = 0; p->types[GROUPS] && k < p->numbers[DEPTH]; k++)
        if (groups[k] < 0 || groups[k] >= p->numbers[BLOCKS])
            return tfr_fail(err, TFR_EINVAL, "g_idx[%lld] is %d, there are %lld blocks",
                            (long long)k, (int)groups[k], (long long)p->numbers[BLOCKS]);
    return TFR_OK;
}

static int32_t run(const contrib_params *p, const void *const *in, void *out, tfr_err *err)
{
    const int64_t n = p->numbers[COLUMNS], depth = p->numbers[DEPTH];
    double *column = malloc((size_t)depth * sizeof(*column));
    int32_t status =
        column ? check_groups(p, in, err)
               : tfr_fail(err, TFR_ENOMEM, "no memory for %lld weights", (long long)depth);
    for (int64_t j = 0; !status && j < n; j++) {
        for (int64_t k = 0; k < depth; k++)
            column[k] = weight(p, in, j, k);
        for (int64_t i = 0; i < p->numbers[ROWS]; i++) {
            double sum = p->types[BIAS] ? contrib_load(in[BIAS], p->types[BIAS], j) : 0;
            for (int64_t k = 0; k < depth; k++)
                sum += contrib_load(in[A], p->types[A], i * depth + k) * column[k];
            contrib_store(out, p->types[A], i * n + j, sum);
        }
    }
    free(column);
    return status;
}

const contrib_kernel contrib_nbits = {
    .row = {.size = sizeof(tfr_op_schema),
            .since_version = 1,
            .domain = CONTRIB_DOMAIN,
            .name = "MatMulNBits",
            .inputs = "A:T1 B:T2 scales:T1 zero_points?:T3 g_idx?:T4 bias?:T1",
            .outputs = "Y:T1",
            .attrs = "K:i! N:i! accuracy_level:i=0 bits:i=4 block_size:i! weight_prepacked:i=0",
            .types = "T1=f16|f32|bf16 T2=u8 T3=u8|f16|f32|bf16 T4=i32"},
    .infer = infer,
    .prepare = prepare,
    .run = run,
};

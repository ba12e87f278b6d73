/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather_block_quantized.c: GatherBlockQuantized, rows of a table of 2, 4 or 8 bits that has a
 * scale and a zero point for each block along one axis.
 *
 *   Y[..., i..., ...] = (data[..., indices[i...], ...] - zero) * scale
 *
 * data and scales agree in all dims but that of quantize_axis, where scales have one for each
 * block_size elements. i4 and u4 are the elements themselves, with zero point 0; u8 holds 8 / bits
 * of them along the last axis, the low ones first, with zero point 2^(bits-1), and so do its
 * zero_points. An index that is out of range gives zeros, which is ONNX Runtime's way, not
 * Gather's.
 */
#include "contrib.h"

enum { DATA, INDICES, SCALES, ZEROS };

static int64_t axis_of(const tfr_call *call, const char *name, int64_t absent)
{
    const int32_t rank = tfr_call_input(call, DATA)->rank;
    const int64_t axis = tfr_call_int(call, name, absent);
    return axis < 0 ? axis + rank : axis;
}

/* Elements in one of data: only bytes hold several. */
static int64_t fields_of(const tfr_call *call)
{
    return tfr_call_input(call, DATA)->dtype == TFR_DTYPE_U8 ? 8 / tfr_call_int(call, "bits", 4)
                                                             : 1;
}

static int32_t check_attrs(const tfr_call *call, tfr_err *err)
{
    const tfr_operand *data = tfr_call_input(call, DATA);
    const int64_t bits = tfr_call_int(call, "bits", 4),
                  size = tfr_call_int(call, "block_size", 128),
                  gather = axis_of(call, "gather_axis", 0),
                  quantize = axis_of(call, "quantize_axis", 1);
    const bool bytes = data->dtype == TFR_DTYPE_U8;
    if (bits != 4 && !(bytes && (bits == 2 || bits == 8)))
        return tfr_fail(err, TFR_EUNSUPPORTED, "bits is %lld, want 4, or 2 or 8 for u8",
                        (long long)bits);
    if (size < 16 || size > 1 << 20 || (size & (size - 1)))
        return tfr_fail(err, TFR_EMODEL, "block_size is %lld, want a power of 2 from 16 on",
                        (long long)size);
    if (gather < 0 || gather >= data->rank || quantize < 0 || quantize >= data->rank)
        return tfr_fail(err, TFR_ESHAPE,
                        "gather_axis or quantize_axis is not an axis of data of rank %d",
                        (int)data->rank);
    if (bytes && (gather != 0 || quantize != data->rank - 1 || data->rank < 2))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "data of type u8 want gather_axis 0 and the last axis as quantize_axis");
    return TFR_OK;
}

static int32_t check_scales(const tfr_call *call, tfr_err *err)
{
    const tfr_operand *data = tfr_call_input(call, DATA), *scales = tfr_call_input(call, SCALES),
                      *zeros = tfr_call_input(call, ZEROS);
    const int64_t size = tfr_call_int(call, "block_size", 128), fields = fields_of(call),
                  quantize = axis_of(call, "quantize_axis", 1);
    if (scales->rank != data->rank || (zeros && zeros->rank != data->rank))
        return tfr_fail(err, TFR_ESHAPE, "data, scales and zero_points have not the same rank");
    for (int32_t i = 0; i < data->rank; i++) {
        const bool here = i == quantize;
        const int64_t dim = data->dims[i],
                      blocks = here && dim >= 0 ? contrib_ceil(dim * fields, size) : dim;
        if (contrib_differ(scales->dims[i], blocks))
            return tfr_fail(err, TFR_ESHAPE, "dim %d of scales is %lld, want %lld", (int)i,
                            (long long)scales->dims[i], (long long)blocks);
        if (zeros && contrib_differ(zeros->dims[i],
                                    here && blocks >= 0 ? contrib_ceil(blocks, fields) : blocks))
            return tfr_fail(err, TFR_ESHAPE, "dim %d of zero_points does not fit scales", (int)i);
    }
    return TFR_OK;
}

static int32_t infer(const tfr_call *call, contrib_outputs out, tfr_err *err)
{
    const tfr_operand *data = tfr_call_input(call, DATA), *indices = tfr_call_input(call, INDICES);
    int32_t status = check_attrs(call, err);
    int64_t gather;
    if (!status)
        status = check_scales(call, err);
    if (status)
        return status;
    if (data->rank - 1 + indices->rank > TFR_MAX_RANK)
        return tfr_fail(err, TFR_ESHAPE, "the output has rank %d, at most %d are possible",
                        (int)(data->rank - 1 + indices->rank), TFR_MAX_RANK);
    gather = axis_of(call, "gather_axis", 0);
    out.first->dtype = tfr_call_input(call, SCALES)->dtype;
    out.first->rank = 0;
    for (int32_t i = 0; i < data->rank; i++) {
        int64_t dim = data->dims[i];
        for (int32_t k = 0; i == gather && k < indices->rank; k++)
            out.first->dims[out.first->rank++] = indices->dims[k];
        if (i == data->rank - 1 && fields_of(call) > 1)
            dim = dim >= 0 ? dim * fields_of(call) : TFR_DIM_UNKNOWN;
        if (i != gather)
            out.first->dims[out.first->rank++] = dim;
    }
    return TFR_OK;
}

/* Elements before, on and behind the axes; blocks on the quantized one. */
enum { OUTER, COUNT, TABLE, INNER, LENGTH, BEHIND, BLOCK, BLOCKS, BITS };

static void prepare(const tfr_call *call, contrib_params *p)
{
    const tfr_operand *data = tfr_call_input(call, DATA), *zeros = tfr_call_input(call, ZEROS);
    const int32_t gather = (int32_t)axis_of(call, "gather_axis", 0),
                  quantize = (int32_t)axis_of(call, "quantize_axis", 1);
    const int64_t fields = fields_of(call);
    p->numbers[OUTER] = tfr_operand_span(data, 0, gather);
    p->numbers[COUNT] = tfr_operand_elements(tfr_call_input(call, INDICES));
    p->numbers[TABLE] = data->dims[gather];
    p->numbers[INNER] = tfr_operand_span(data, gather + 1, data->rank) * fields;
    p->numbers[LENGTH] = data->dims[quantize] * fields;
    p->numbers[BEHIND] = tfr_operand_span(data, quantize + 1, data->rank);
    p->numbers[BLOCK] = tfr_call_int(call, "block_size", 128);
    p->numbers[BLOCKS] = contrib_ceil(p->numbers[LENGTH], p->numbers[BLOCK]);
    p->numbers[BITS] = tfr_call_int(call, "bits", 4);
    p->types[DATA] = data->dtype;
    p->types[INDICES] = tfr_call_input(call, INDICES)->dtype;
    p->types[SCALES] = tfr_call_input(call, SCALES)->dtype;
    p->types[ZEROS] = zeros ? zeros->dtype : TFR_DTYPE_NONE;
}

/* Element i of data or zero points. */
static int32_t element(const contrib_params *p, const void *data, int64_t i)
{
    const int32_t q = contrib_field(data, i, (int32_t)p->numbers[BITS]);
    return p->types[DATA] == TFR_DTYPE_I4 && q > 7 ? q - 16 : q;
}

static double value(const contrib_params *p, const void *const *in, int64_t i)
{
    const int64_t length = p->numbers[LENGTH], behind = p->numbers[BEHIND],
                  blocks = p->numbers[BLOCKS], row = i / (length * behind),
                  block = i / behind % length / p->numbers[BLOCK],
                  scale = (row * blocks + block) * behind + i % behind;
    const bool bytes = p->types[DATA] == TFR_DTYPE_U8;
    const int64_t per_byte = 8 / p->numbers[BITS];
    int32_t zero = bytes ? 1 << (p->numbers[BITS] - 1) : 0;
    if (p->types[ZEROS]) /* rows of bytes are padded */
        zero = element(p, in[ZEROS],
                       bytes ? row * contrib_ceil(blocks, per_byte) * per_byte + block : scale);
    return (element(p, in[DATA], i) - zero) * contrib_load(in[SCALES], p->types[SCALES], scale);
}

static int32_t run(const contrib_params *p, const void *const *in, void *out, tfr_err *err)
{
    const int64_t count = p->numbers[COUNT], table = p->numbers[TABLE], inner = p->numbers[INNER];
    int64_t at = 0;
    (void)err;
    for (int64_t o = 0; o < p->numbers[OUTER]; o++) {
        for (int64_t n = 0; n < count; n++) {
            int64_t index = p->types[INDICES] == TFR_DTYPE_I64 ? ((const int64_t *)in[INDICES])[n]
                                                               : ((const int32_t *)in[INDICES])[n];
            const bool there = index >= -table && index < table;
            index += index < 0 ? table : 0;
            for (int64_t i = 0; i < inner; i++, at++)
                contrib_store(out, p->types[SCALES], at,
                              there ? value(p, in, (o * table + index) * inner + i) : 0);
        }
    }
    return TFR_OK;
}

const contrib_kernel contrib_gather_block = {
    .row = {.size = sizeof(tfr_op_schema),
            .since_version = 1,
            .domain = CONTRIB_DOMAIN,
            .name = "GatherBlockQuantized",
            .inputs = "data:T1 indices:Tind scales:T2 zero_points?:T1",
            .outputs = "output:T2",
            .attrs = "bits:i=4 block_size:i=128 gather_axis:i=0 quantize_axis:i=1",
            .types = "T1=u8|u4|i4 T2=f16|f32|bf16 Tind=i32|i64"},
    .infer = infer,
    .prepare = prepare,
    .run = run,
};

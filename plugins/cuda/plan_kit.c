/* SPDX-License-Identifier: Apache-2.0 */
/* plan_kit.c: see plan_kit.h. */
#include "plan_kit.h"

#include <string.h>

enum { MAX_ELEMENTS = 1 << 30 };

bool cuda_call_fits(const tfr_call *call, tfr_answer *answer)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = i < call->n_inputs ? tfr_call_input(call, i)
                                                  : tfr_call_output(call, i - call->n_inputs);
        if (o && tfr_operand_elements(o) > MAX_ELEMENTS) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                        "operand %u has %lld elements, kernels count %d", i,
                        (long long)tfr_operand_elements(o), MAX_ELEMENTS);
            return false;
        }
    }
    return true;
}

const char *cuda_pick(cuda_names names, const tfr_operand *operand, uint32_t number,
                      tfr_answer *answer)
{
    const int32_t dtype = operand->dtype;
    const char *name = dtype > 0 && dtype < TFR_DTYPE_END ? names[dtype] : NULL;

    if (!name)
        tfr_decline(answer, TFR_REASON_DTYPE, "no kernel for operand %u of element type %d", number,
                    dtype);
    return name;
}

const char *cuda_pick_input(cuda_names names, const tfr_call *call, tfr_answer *answer)
{
    return cuda_call_fits(call, answer) ? cuda_pick(names, tfr_call_input(call, 0), 0, answer)
                                        : NULL;
}

bool cuda_same_types(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    uint32_t i;

    for (i = 1; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && o->dtype != x->dtype) {
            tfr_decline(answer, TFR_REASON_DTYPE, "input %u has type %d, input 0 type %d", i,
                        o->dtype, x->dtype);
            return false;
        }
    }
    return true;
}

int cuda_size_index(const tfr_operand *operand, tfr_answer *answer)
{
    switch (tfr_dtype_bits(operand->dtype)) {
    case 8:
        return 0;
    case 16:
        return 1;
    case 32:
        return 2;
    case 64:
        return 3;
    default:
        tfr_decline(answer, TFR_REASON_DTYPE, "elements of type %d are not of 1, 2, 4 or 8 bytes",
                    operand->dtype);
        return -1;
    }
}

int cuda_movable(const tfr_call *call, tfr_answer *answer)
{
    return cuda_call_fits(call, answer) ? cuda_size_index(tfr_call_input(call, 0), answer) : -1;
}

/* shift = bits of d - 1; multiplier = 2^32 (2^shift - d) / d + 1. Exact for x < 2^31. */
void cuda_dims_to_strides(int32_t rank, const int64_t *dims, int64_t *strides)
{
    int64_t stride = 1;
    int32_t d;

    for (d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= dims[d];
    }
}

void cuda_broadcast(const tfr_operand *operand, int32_t rank, int64_t *strides)
{
    const int32_t missing = rank - operand->rank;
    int64_t stride = 1;
    int32_t d;

    for (d = rank - 1; d >= 0; d--) {
        const int64_t dim = d >= missing ? operand->dims[d - missing] : 1;
        strides[d] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

/* Whether dim d continues dim d - 1 for every operand. */
static bool continues(const tfr_walk *w, int32_t last, int64_t dim, int32_t n_operands,
                      const int64_t (*strides)[TFR_MAX_RANK], int32_t d)
{
    int32_t k;

    for (k = 0; k < n_operands; k++)
        if (w->strides[k][last] != strides[k][d] * dim)
            return false;
    return true;
}

bool cuda_walk(int32_t rank, const int64_t *dims, int32_t n_operands,
               const int64_t (*strides)[TFR_MAX_RANK], const int64_t *offsets, tfr_walk *out,
               tfr_answer *answer)
{
    int64_t n = 1, sizes[TFR_WALK_DIMS];
    int32_t d, k;

    memset(out, 0, sizeof *out);
    for (d = 0; d < rank; d++) {
        n *= dims[d];
        if (dims[d] == 1)
            continue;
        if (out->rank && continues(out, out->rank - 1, dims[d], n_operands, strides, d)) {
            sizes[out->rank - 1] *= dims[d];
        } else if (out->rank == TFR_WALK_DIMS) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "more than %d dims that do not lie together",
                        TFR_WALK_DIMS);
            return false;
        } else {
            sizes[out->rank++] = dims[d];
        }
        for (k = 0; k < n_operands; k++)
            out->strides[k][out->rank - 1] = (int32_t)strides[k][d];
    }
    out->n = (int32_t)n;
    for (d = 0; d < out->rank; d++)
        out->dims[d] = cuda_divisor(sizes[d]);
    for (k = 0; offsets && k < n_operands; k++)
        out->offset[k] = (int32_t)offsets[k];
    if (out->rank == 0) { /* one element: a dim of 1, so that offsets count */
        out->rank = 1;
        out->dims[0] = cuda_divisor(1);
    }
    for (k = 0; k < n_operands; k++)
        if (out->rank != 1 || out->strides[k][0] != 1 || out->offset[k])
            return true;
    out->rank = 0; /* every operand at i itself */
    return true;
}

uint64_t cuda_blocks(const cuda_chip *chip, int64_t n, int64_t each)
{
    const uint64_t most = (uint64_t)(chip->multiprocessors > 0 ? chip->multiprocessors : 1) * 16;
    const uint64_t blocks = (uint64_t)((n + each - 1) / each);

    return blocks < most ? blocks : most;
}

const int64_t *cuda_ints(const tfr_call *call, const char *name, uint64_t *n)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    *n = a && a->type == TFR_ATTR_INTS ? a->n : 0;
    return *n ? a->ints : NULL;
}

tfr_lanes cuda_lanes(const tfr_operand *operand, int64_t axis)
{
    tfr_lanes l = {1, 1, 1};

    if (operand->rank > 0) {
        l.outer = (int32_t)tfr_operand_span(operand, 0, (int32_t)axis);
        l.n = (int32_t)operand->dims[axis];
        l.inner = (int32_t)tfr_operand_span(operand, (int32_t)axis + 1, operand->rank);
    }
    return l;
}

void cuda_may_share(tfr_answer *answer, int16_t input, int16_t output)
{
    if (answer->n_in_place < 4) {
        answer->in_place[answer->n_in_place].input = input;
        answer->in_place[answer->n_in_place].output = output;
        answer->n_in_place++;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Strides and the walk over N-d index spaces. No element is touched here. */
#include "naive.h"

#include <string.h>

void naive_dims_to_strides(int32_t rank, const int64_t *dims, int64_t *strides)
{
    int64_t step = 1;
    int32_t d;

    /* Unsigned steps: with a dim of 0 the product of the others may wrap, and nobody uses it. */
    for (d = rank - 1; d >= 0; d--) {
        strides[d] = step;
        step = naive_wrap_mul(step, dims[d]);
    }
}

void naive_strides(const tfr_operand *operand, int64_t *strides)
{
    if (operand->strides)
        memcpy(strides, operand->strides, (size_t)operand->rank * sizeof(*strides));
    else
        naive_dims_to_strides(operand->rank, operand->dims, strides);
}

bool naive_is_plain(const tfr_operand *operand)
{
    int64_t plain[TFR_MAX_RANK];
    int32_t d;

    if (!operand->strides || naive_product(operand->dims, 0, operand->rank) == 0)
        return true;
    naive_dims_to_strides(operand->rank, operand->dims, plain);
    for (d = 0; d < operand->rank; d++)
        if (operand->dims[d] != 1 && operand->strides[d] != plain[d])
            return false;
    return true;
}

int64_t naive_product(const int64_t *dims, int32_t begin, int32_t end)
{
    int64_t n = 1;
    int32_t d;

    for (d = begin; d < end; d++)
        if (dims[d] == 0)
            return 0;
    for (d = begin; d < end; d++)
        n = naive_wrap_mul(n, dims[d]);
    return n;
}

naive_lanes naive_lanes_of(const tfr_operand *operand, int64_t axis)
{
    naive_lanes lanes;

    lanes.outer = naive_product(operand->dims, 0, (int32_t)axis);
    lanes.n = operand->dims[axis];
    lanes.inner = naive_product(operand->dims, (int32_t)axis + 1, operand->rank);
    return lanes;
}

void naive_iter_init(naive_iter *it, int32_t rank, const int64_t *dims)
{
    memset(it, 0, sizeof(*it));
    it->rank = rank;
    if (rank > 0)
        memcpy(it->dims, dims, (size_t)rank * sizeof(*dims));
    it->left = naive_product(dims, 0, rank);
}

int naive_iter_add_strides(naive_iter *it, const int64_t *strides, int64_t offset)
{
    int slot = it->n++;

    if (it->rank > 0)
        memcpy(it->strides[slot], strides, (size_t)it->rank * sizeof(*strides));
    it->at[slot] = offset;
    return slot;
}

int naive_iter_add(naive_iter *it, const tfr_operand *operand)
{
    int64_t own[TFR_MAX_RANK], strides[TFR_MAX_RANK] = {0};
    int32_t shift = it->rank - operand->rank, d;

    naive_strides(operand, own);
    for (d = 0; d < operand->rank; d++)
        if (d + shift >= 0)
            strides[d + shift] = operand->dims[d] == 1 ? 0 : own[d];
    return naive_iter_add_strides(it, strides, 0);
}

void naive_iter_next(naive_iter *it)
{
    int32_t d, t;

    if (--it->left <= 0)
        return;
    for (d = it->rank - 1; d >= 0; d--) {
        bool carry = ++it->index[d] == it->dims[d];
        int64_t steps = carry ? 1 - it->dims[d] : 1;
        for (t = 0; t < it->n; t++)
            it->at[t] += steps * it->strides[t][d];
        if (!carry)
            return;
        it->index[d] = 0;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* type.c: the size of what a tfr__type describes (infer.h). */
#include "op/infer.h"
#include "value/bits.h"

int64_t tfr__type_elements(const tfr__type *type)
{
    uint32_t bits = tfr__dtype_bits(type->dtype);
    uint64_t product = 1, most;
    bool empty = false;
    if (!bits || type->rank < 0 || type->rank > TFR_MAX_RANK)
        return -1;
    most = (uint64_t)INT64_MAX / bits;
    /* A zero counts as one, so that partial products in any order fit, too. */
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0)
            return -1;
        empty |= type->dims[i] == 0;
        if (__builtin_mul_overflow(product, type->dims[i] ? (uint64_t)type->dims[i] : 1,
                                   &product) ||
            product > most)
            return -1;
    }
    return empty ? 0 : (int64_t)product;
}

int64_t tfr__type_bytes(const tfr__type *type)
{
    int64_t n = tfr__type_elements(type);
    return n < 0 ? -1 : (int64_t)(((uint64_t)n * tfr__dtype_bits(type->dtype) + 7) / 8);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* select.h: ops that pick elements: Compress, Unique. */
#ifndef NATIVE_SELECT_H
#define NATIVE_SELECT_H

#include "move.h"

/* Slices along an axis, or the elements of all of x without one; inner is in bytes. */
static inline void native_select_lanes(const tfr_operand *x, const tfr_attr *axis, int64_t *outer,
                                       int64_t *n, int64_t *inner)
{
    int32_t d;

    *outer = 1;
    *inner = (int64_t)tfr_dtype_bits(x->dtype) / 8;
    *n = axis ? x->dims[axis->ints[0]] : tfr_operand_elements(x);
    for (d = 0; axis && d < x->rank; d++)
        *(d < axis->ints[0] ? outer : inner) *= d == axis->ints[0] ? 1 : x->dims[d];
}

void native_compress_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_compress_prepare(native_build *b, const tfr_call *call);
void native_unique_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_unique_prepare(native_build *b, const tfr_call *call);

#endif

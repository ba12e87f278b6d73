/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: rows by their numbers, for kernels and for compiled programs. */
#ifndef NATIVE_GATHER_H
#define NATIVE_GATHER_H

#include "kernel.h"

/* y[o, i, :] = x[o, indices[i], :], moved as bytes. */
typedef struct native_gather {
    int64_t dim;       /* of x at the axis */
    int64_t n_indices; /* for each outer index */
    int64_t inner;     /* bytes behind the axis */
    bool wide;         /* indices are int64, else int32 */
} native_gather;

/* The first index that is out of range; nothing is read for it. */
typedef struct native_bad_index {
    int64_t index, position, dim;
} native_bad_index;

/* Whether indices, elements and axis of a call of Gather are such as can be done. */
bool native_gather_fits(const tfr_call *call);
/* The axis, counted from the first dim. */
int native_gather_axis(const tfr_call *call);
/* Rows [begin, end) of outer * n_indices; false and *bad = an index is out of range. */
bool native_gather_rows(const native_gather *g, const void *x, const void *indices, void *y,
                        int64_t begin, int64_t end, native_bad_index *bad);
int32_t native_gather_fail(const native_bad_index *bad, tfr_err *err);

void native_gather_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_gather_prepare(native_build *b, const tfr_call *call);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: rows by their numbers, for kernels and for compiled programs. */
#ifndef TFR_DNN_GATHER_H
#define TFR_DNN_GATHER_H

#include "kernel.h"

/* y[o, i, :] = x[o, indices[i], :], moved as bytes. */
typedef struct tfr_dnn_gather {
    int64_t dim;       /* of x at the axis */
    int64_t n_indices; /* for each outer index */
    int64_t inner;     /* bytes behind the axis */
    bool wide;         /* indices are int64, else int32 */
} tfr_dnn_gather;

/* The first index that is out of range; nothing is read for it. */
typedef struct tfr_dnn_bad_index {
    int64_t index, position, dim;
} tfr_dnn_bad_index;

/* Whether indices, elements and axis of a call of Gather are such as can be done. */
bool tfr_dnn_gather_fits(const tfr_call *call);
/* The axis, counted from the first dim. */
int tfr_dnn_gather_axis(const tfr_call *call);
/* Rows [begin, end) of outer * n_indices; false and *bad = an index is out of range. */
bool tfr_dnn_gather_rows(const tfr_dnn_gather *g, const void *x, const void *indices, void *y,
                         int64_t begin, int64_t end, tfr_dnn_bad_index *bad);
int32_t tfr_dnn_gather_fail(const tfr_dnn_bad_index *bad, tfr_err *err);

void tfr_dnn_gather_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void tfr_dnn_gather_prepare(tfr_dnn_build *b, const tfr_call *call);

#endif

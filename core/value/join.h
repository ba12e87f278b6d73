/* SPDX-License-Identifier: Apache-2.0 */
/* join.h: tensors one after the other. */
#ifndef TFR_CORE_JOIN_H
#define TFR_CORE_JOIN_H

#include "value/tensor.h"

/*
 * A new tensor of the values one after the other along axis, or, with stack, along a new
 * axis. n is at least 1; negative axes count from the end. TFR_EMODEL if they do not fit together.
 */
tfr_status tfr__tensors_join(tfr_tensor *const *values, size_t n, int64_t axis, bool stack,
                             tfr_tensor **out, tfr_err *err);

#endif

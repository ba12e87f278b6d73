/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h: one kernel on known tensors at once: shape arithmetic, constants. The host's reference
 * backend is asked first, so that no value depends on when, or for which device, it is computed.
 */
#ifndef TFR_CORE_EVAL_H
#define TFR_CORE_EVAL_H

#include "kernel/place.h"

/* results: n_outputs of the node, new tensors of these types. */
tfr_status tfr__eval(const tfr__kernel_env *env, const tfr__node *node, const tfr__attr_list *attrs,
                     tfr_tensor *const *inputs, const tfr__type *outputs, tfr_tensor **results,
                     tfr_err *err);

#endif

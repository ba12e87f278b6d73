/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_ops.h: nodes that the core does itself on whole values: sequence_ops.c, control.c. inputs
 * may hold NULL; outputs gets retained tensors. again: as
 * tfr__infer_values.
 */
#ifndef TFR_CORE_HOST_OPS_H
#define TFR_CORE_HOST_OPS_H

#include "run/frame.h"

tfr_status tfr__sequence_run(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_tensor **outputs, tfr_err *err);
tfr_status tfr__control_run(tfr_session *session, tfr__frame *frame, uint32_t node,
                            tfr_tensor *const *inputs, tfr_tensor **outputs, tfr_err *err);

#endif

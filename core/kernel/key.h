/* SPDX-License-Identifier: Apache-2.0 */
/* key.h: a call as a key of the store of times and compiled programs (tuning.h). */
#ifndef TFR_CORE_KEY_H
#define TFR_CORE_KEY_H

#include <tfrun/plugin.h>

#include "device/tuning.h"

/* All that the work of a call depends on; that without its operands; an operand alone, NULL =
 * absent. */
void tfr__key_add_call(tfr__tuning_key *key, const tfr_call *call);
void tfr__key_add_op(tfr__tuning_key *key, const tfr_call *call);
void tfr__key_add_operand(tfr__tuning_key *key, const tfr_operand *operand);

#endif

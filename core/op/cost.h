/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h: an estimate of the work in a call, for traces and for placement. */
#ifndef TFR_CORE_COST_H
#define TFR_CORE_COST_H

#include <tfrun/plugin.h>

typedef struct tfr__work {
    uint64_t flops; /* additions and multiplications of the direct formula; 0 = not known */
    uint64_t bytes; /* of operands read and written once */
} tfr__work;

/*
 * [any]. Pure. The rule of an op is in its row of ops.def. A multiply-add counts as two, a function
 * such as exp as one, integer products as if they were flops. Dims of dynamic outputs are their
 * bounds. Saturates.
 */
tfr__work tfr__cost(const tfr_call *call);

#endif

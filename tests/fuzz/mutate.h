/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.h: changes of a model's messages that keep it a file, but seldom a right one. */
#ifndef TFR_FUZZ_MUTATE_H
#define TFR_FUZZ_MUTATE_H

#include "certify/pattern.h"
#include "message.h"

/* Changes the model in n places. */
void fuzz_mutate(fuzz_msg *model, int n, ops_random *random);

#endif

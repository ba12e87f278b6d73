/* SPDX-License-Identifier: Apache-2.0 */
/* fill.h: the elements of an operand: draws, exact lists, special values, strings. */
#ifndef OPS_FILL_H
#define OPS_FILL_H

#include <tfrun/tfrun.h>

#include "pattern.h"

/* Fills a plain tensor. values and special are ops_operand's; j is the copy's number. */
void ops_fill(ops_letters *letters, tfr_tensor *tensor, const char *values, int j,
              const char *special);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* program_integer_groups.h: convolutions in groups of program_integer_run.c. */
#ifndef NATIVE_PROGRAM_INTEGER_GROUPS_H
#define NATIVE_PROGRAM_INTEGER_GROUPS_H

#include "int8_product.h"
#include "program_integer.h"

/* Parts of the channels, each a product of its own. */
typedef struct native_integer_groups {
    native_int8_product product, last; /* last: of the outputs that the last part has */
    int64_t parts, n_units;
    int64_t ins, outs;         /* of a part */
    int64_t all_ins, all_outs; /* of the convolution */
    int64_t taps;
    const uint8_t *weights; /* of all parts, [all_outs][ins][taps]; while they are packed */
    const char *packed;
} native_integer_groups;

/* shape: of all outputs, with the terms of one group. NULL = no memory. */
const native_integer_groups *native_plan_integer_groups(native_planner *p, const native_item *item,
                                                        const native_int8_shape *shape);
/* Units [begin, end). args: of the whole convolution. */
void native_run_integer_groups(const native_integer_groups *g, const native_int8_args *args,
                               void *scratch, int64_t begin, int64_t end);

#endif

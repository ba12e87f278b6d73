/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c: the loop of a cast among the rows of isa_cast.h. */
#include "cast.h"

#include <string.h>

native_span_fn native_find_cast(const native_isa *isa, int32_t from, int32_t to)
{
    const native_elementwise *row = isa->elementwise;

    while (row->op && !(row->inputs == from && row->output == to && strcmp(row->op, "Cast") == 0))
        row++;
    return row->run;
}

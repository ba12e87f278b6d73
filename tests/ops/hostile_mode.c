/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_mode.c: hostile calls of all that the backend claims, and of what the core does itself.
 */
#include <string.h>

#include "guard.h"
#include "certify/hostile.h"
#include "modes.h"

static void hostile_table(ops_run *run)
{
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc desc = {.size = sizeof desc};
        tfr_err err = TFR_ERR_INIT;
        ops_must(tfr_op_describe(i, &desc, &err), &err, "the op table");
        bool mine = desc.metadata ||
                    tfr_runtime_claims(run->runtime, run->device, (uint32_t)run->backend_index, i);
        if (mine && (!run->only || strcmp(run->only, desc.name) == 0))
            ops_hostile_op(run, &desc);
    }
}

void ops_mode_hostile(ops_run *run)
{
    const ops_case *description;
    uint64_t n_before = run->n_passed + run->n_failed;
    ops_guard_init();
    if (!run->only)
        ops_hostile_shapes(run);
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;)
        if (ops_wanted(run, description) && ops_claimed(run, description))
            ops_hostile_description(run, description);
    hostile_table(run);
    printf("%s: %llu hostile calls\n", run->backend,
           (unsigned long long)(run->n_passed + run->n_failed - n_before));
}

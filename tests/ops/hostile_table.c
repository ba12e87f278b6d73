/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_table.c: calls made up from the signatures of the op table, for every op there is, with a
 * description or without.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

enum { N_CALLS = 2 }; /* for each seed */

static void hostile_op(ops_run *run, const tfr_op_desc *desc)
{
    for (uint64_t s = 0; s < run->n_seeds * N_CALLS; s++) {
        uint64_t seed = run->first_seed + s / N_CALLS;
        uint64_t state = desc->digest + seed * 7919 + s % N_CALLS;
        ops_random random = {~state};
        static ops_call call;
        ops_call_of_signature(desc, state, &call);
        call.seed = seed;
        ops_judge_hostile(run, &call, "made up from its signature", false, &random);
        ops_call_finish(&call);
    }
}

void ops_hostile_table(ops_run *run)
{
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc desc = {.size = sizeof desc};
        tfr_err err = TFR_ERR_INIT;
        ops_must(tfr_op_describe(i, &desc, &err), &err, "the op table");
        bool mine = desc.metadata ||
                    tfr_runtime_claims(run->runtime, run->device, (uint32_t)run->backend_index, i);
        if (mine && (!run->only || strcmp(run->only, desc.name) == 0))
            hostile_op(run, &desc);
    }
}

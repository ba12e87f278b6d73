/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_table.c: calls made up from the signature of an op in the op table, which may have a
 * description or none.
 */
#include "hostile.h"

enum { N_CALLS = 2 }; /* for each seed */

void ops_hostile_op(ops_run *run, const tfr_op_desc *desc)
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

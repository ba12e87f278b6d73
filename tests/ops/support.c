/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.c: the table of what a backend takes: a row for each description and type of the first
 * operand, with how many of the calls got a yes, and the reason of the first no.
 */
#include "modes.h"

#include <string.h>

enum { N_TRIES = 6 };

typedef struct row {
    int n_yes, n_no;
    char reason[512];
} row;

/* Of the core's sentence only what the backend said is kept. */
static void try_call(ops_run *run, const ops_case *description, int type, uint64_t seed, row *out)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    ops_call call;
    ops_make(description, seed, type, NULL, &call);
    ops_verdict verdict = ops_prepare_call(run, run->backend, &call, OPS_PLAIN, &status, &err);
    ops_call_finish(&call);
    if (verdict == OPS_RAN) {
        out->n_yes++;
        return;
    }
    if (out->n_no++ > 0)
        return;
    char says[80];
    snprintf(says, sizeof says, "%s says ", run->backend);
    const char *text = strstr(err.text, says);
    text = text ? text + strlen(says) : err.text;
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)strcspn(text, ";"), text);
}

static void print_row(const ops_case *description, int type, const row *r)
{
    char name[16];
    ops_type_name(description, type, name, sizeof name);
    printf("%-34s %-10s %-5s %s\n", description->name, name,
           r->n_no == 0    ? "yes"
           : r->n_yes == 0 ? "no"
                           : "some",
           r->reason);
}

static void print_unclaimed(const ops_run *run)
{
    printf("\nnot claimed by %s:", run->backend);
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc desc = {.size = sizeof desc};
        tfr_err err = TFR_ERR_INIT;
        ops_must(tfr_op_describe(i, &desc, &err), &err, "the op table");
        if (!desc.metadata &&
            !tfr_runtime_claims(run->runtime, run->device, (uint32_t)run->backend_index, i))
            printf(" %s%s%s", desc.domain, desc.domain[0] ? "." : "", desc.name);
    }
    printf("\n");
}

void ops_mode_support(ops_run *run)
{
    const ops_case *description;
    printf("%-34s %-10s %-5s %s\n", "case", "type", "takes", "reason of the first no");
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;) {
        int n = ops_n_types(description);
        if (!ops_wanted(run, description) || !ops_claimed(run, description))
            continue;
        for (int type = 0; type < (n ? n : 1); type++) {
            row r = {0};
            for (uint64_t seed = 1; seed <= N_TRIES; seed++)
                try_call(run, description, n ? type : -1, seed, &r);
            print_row(description, type, &r);
        }
    }
    if (!run->only)
        print_unclaimed(run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.c: the element types that a backend claims for an op are those of the calls that it takes:
 * each type of operand 0 of this folder's descriptions gets a yes for some call if it is claimed,
 * and for none if it is not. A claimed type that no description has is a failure, too, but on the
 * reference, which claims all that the op table admits; its number is printed.
 */
#include "modes.h"

#include <string.h>

enum { N_TRIES = 24 };

typedef struct seen {
    uint32_t tried, taken;
} seen;

/* Of operand 0, or of what an op without inputs makes. */
static uint32_t type_bit(const ops_call *call)
{
    uint32_t i;

    if (call->plain[0])
        return 1u << tfr_tensor_dtype(call->plain[0]);
    for (i = 0; call->n_inputs == 0 && i < call->n_attrs; i++)
        if (strcmp(call->attrs[i].name, "dtype") == 0)
            return 1u << call->attrs[i].ints[0];
    return call->n_inputs == 0 ? 1u << TFR_DTYPE_F32 : 0;
}

static void try_type(ops_run *run, const ops_case *description, int type, seen *out)
{
    for (uint64_t seed = 1; seed <= 2 * N_TRIES; seed++) {
        tfr_err err = TFR_ERR_INIT;
        tfr_status status;
        ops_call call;
        ops_make(description, seed, type, NULL, &call);
        uint32_t bit = type_bit(&call);
        /* Known operands make some calls possible. */
        ops_how how = seed % 2 ? OPS_PLAIN : OPS_CONSTANTS;
        if (!(out->taken & bit) &&
            ops_prepare_call(run, run->backend, &call, how, &status, &err) == OPS_RAN)
            out->taken |= bit;
        out->tried |= bit;
        ops_call_finish(&call);
    }
}

/* All descriptions of the op. */
static seen try_op(ops_run *run, const char *domain, const char *op)
{
    const ops_case *description;
    seen s = {0, 0};
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;) {
        size_t n = strcspn(description->name, "/");
        if (strcmp(description->domain ? description->domain : "", domain) != 0 ||
            strlen(op) != n || strncmp(description->name, op, n) != 0)
            continue;
        for (int type = 0; type < ops_n_types(description); type++)
            try_type(run, description, type, &s);
        if (ops_n_types(description) == 0)
            try_type(run, description, -1, &s);
    }
    return s;
}

static void names_of(uint32_t types, char *text, size_t n)
{
    *text = 0;
    for (int t = 1; t < TFR_DTYPE_END; t++)
        if (types >> t & 1 && strlen(text) + 24 < n)
            snprintf(text + strlen(text), n - strlen(text), " %s", tfr_dtype_name((tfr_dtype)t));
}

static void judge(ops_run *run, const char *op, uint32_t types, const char *what)
{
    char text[400];
    names_of(types, text, sizeof text);
    if (types)
        printf("FAIL %s: %s%s\n", op, what, text);
    else
        run->n_passed++;
    run->n_failed += types != 0;
}

void ops_mode_claims(ops_run *run)
{
    uint32_t n_untried = 0;
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc desc = {.size = sizeof desc};
        tfr_err err = TFR_ERR_INIT;
        uint64_t here = 0, conditional = 0;
        ops_must(tfr_op_describe(i, &desc, &err), &err, "the op table");
        if (run->only && strcmp(run->only, desc.name) != 0)
            continue;
        if (!tfr_runtime_claim_types(run->runtime, run->device, (uint32_t)run->backend_index, i,
                                     &here, &conditional))
            continue;
        seen s = try_op(run, desc.domain, desc.name);
        judge(run, desc.name, s.taken & ~here, "takes a call with a type that it does not claim:");
        if (!s.taken && ops_list_find(OPS_DEPENDS, desc.name, 0))
            continue;
        judge(run, desc.name, here & s.tried & ~s.taken,
              "claims a type and declines all its calls:");
        if (!run->is_reference)
            judge(run, desc.name, here & ~s.tried, "claims a type that no description has:");
        else
            for (uint32_t rest = here & ~s.tried; rest; rest &= rest - 1)
                n_untried++;
    }
    if (n_untried)
        printf("%u claimed types of operand 0 have no description\n", (unsigned)n_untried);
}

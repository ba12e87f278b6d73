/* SPDX-License-Identifier: Apache-2.0 */
/* plan_last.c: which operands of images our kernels take with the channels last. */
#include "plan_kit.h"

#include <string.h>

static const struct {
    const char *domain, *name;
    uint32_t inputs, outputs; /* bit k: number k is an image */
    uint32_t lack;            /* parameters that may be NULL */
    bool together;
} rows[] = {
    {"", "AveragePool", 1, 1, 0, false},       {"", "BatchNormalization", 1, 1, 0, true},
    {"", "GlobalAveragePool", 1, 0, 0, false}, {"", "GlobalMaxPool", 1, 0, 0, false},
    {"", "MaxPool", 1, 3, 1u << 2, false},     {"", "ReduceMean", 1, 0, 0, false},
    {"", "ReduceSum", 1, 0, 0, false},         {"tfrun", "AveragePoolGrad", 1, 1, 0, false},
    {"tfrun", "BatchNormGrad", 3, 1, 0, true}, {"tfrun", "BatchNormTrain", 1, 1, 31u << 5, true},
    {"tfrun", "MaxPoolGrad", 3, 1, 0, false},  {"tfrun", "SumTo", 1, 0, 0, false},
};

static size_t find_row(const tfr_call *call)
{
    size_t i = 0;

    while (i < sizeof rows / sizeof *rows &&
           (strcmp(rows[i].name, call->name) != 0 || strcmp(rows[i].domain, call->domain) != 0))
        i++;
    return i;
}

/* What a sum leaves of an image is in the same order then: both axes of the plane are 1. */
static bool keeps_plane(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint64_t n = 0, axes = 0;
    const int64_t *given = cuda_ints(call, "axes", &n);

    if (strcmp(call->name, "SumTo") == 0)
        return (y->rank >= 1 && y->dims[y->rank - 1] != 1) ||
               (y->rank >= 2 && y->dims[y->rank - 2] != 1);
    if (strncmp(call->name, "Reduce", 6) != 0)
        return false;
    for (uint64_t i = 0; i < n; i++)
        axes |= (uint64_t)1 << given[i];
    return (axes & 12) != 12;
}

uint32_t cuda_may_last(const tfr_call *call, bool *together)
{
    const size_t i = find_row(call);
    const bool is_known = i < sizeof rows / sizeof *rows && !keeps_plane(call);
    uint32_t bits = is_known ? rows[i].inputs | rows[i].outputs << call->n_inputs : 0;

    *together = is_known && rows[i].together;
    for (uint32_t k = 0; bits && k < call->n_inputs + call->n_outputs; k++) {
        const tfr_operand *o = k < call->n_inputs ? tfr_call_input(call, k)
                                                  : tfr_call_output(call, k - call->n_inputs);
        if (bits >> k & 1 && !o)
            bits &= ~((uint32_t)1 << k);
        else if (bits >> k & 1 && o->rank != 4)
            return 0;
    }
    return bits;
}

bool cuda_may_lack(const tfr_call *call, uint32_t parameter)
{
    const size_t i = find_row(call);

    return i < sizeof rows / sizeof *rows && rows[i].lack >> parameter & 1;
}

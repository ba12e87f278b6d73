/* SPDX-License-Identifier: Apache-2.0 */
/* program_fold_kinds.c: the reductions that program_fold.c does: their kinds, types and axes. */
#include "program_fold.h"

#include <string.h>

/* Einsum's of one operand have no axes by name, but those of their items. */
static const native_reduction kinds[] = {
    {"Einsum", NATIVE_FOLD_SUM, false, false, false},
    {"GlobalAveragePool", NATIVE_FOLD_SUM, false, false, true},
    {"GlobalMaxPool", NATIVE_FOLD_GREATEST, false, false, false},
    {"ReduceL1", NATIVE_FOLD_ABS, false, false, false},
    {"ReduceL2", NATIVE_FOLD_SQUARE, true, false, false},
    {"ReduceLogSum", NATIVE_FOLD_SUM, false, true, false},
    {"ReduceLogSumExp", NATIVE_FOLD_EXP, false, true, false},
    {"ReduceMax", NATIVE_FOLD_GREATEST, false, false, false},
    {"ReduceMean", NATIVE_FOLD_SUM, false, false, true},
    {"ReduceMin", NATIVE_FOLD_LEAST, false, false, false},
    {"ReduceProd", NATIVE_FOLD_PRODUCT, false, false, false},
    {"ReduceSum", NATIVE_FOLD_SUM, false, false, false},
    {"ReduceSumSquare", NATIVE_FOLD_SQUARE, false, false, false},
};

const native_reduction *native_reduction_of(const tfr_call *call)
{
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].name[0] == call->name[0] && strcmp(kinds[i].name, call->name) == 0)
            return &kinds[i];
    }
    return NULL;
}

int native_fold_type_of(int32_t dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
        return NATIVE_FOLD_F32;
    case TFR_DTYPE_F64:
        return NATIVE_FOLD_F64;
    case TFR_DTYPE_I32:
        return NATIVE_FOLD_I32;
    case TFR_DTYPE_I64:
        return NATIVE_FOLD_I64;
    case TFR_DTYPE_U8:
        return NATIVE_FOLD_U8;
    case TFR_DTYPE_I8:
        return NATIVE_FOLD_I8;
    default:
        return -1;
    }
}

bool native_fold_keeps(native_fold_kind kind)
{
    return kind == NATIVE_FOLD_GREATEST || kind == NATIVE_FOLD_LEAST;
}

native_fold_type native_fold_sums(native_fold_kind kind, native_fold_type type)
{
    if (native_fold_keeps(kind))
        return type;
    return type == NATIVE_FOLD_F32 || type == NATIVE_FOLD_F64 ? NATIVE_FOLD_F64 : NATIVE_FOLD_I64;
}

/* Those of global pools are the spatial ones. */
uint32_t native_fold_axes(const tfr_call *call)
{
    const int rank = tfr_call_input(call, 0)->rank;
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    uint32_t bits = 0;
    uint64_t i;

    if (call->name[0] == 'G')
        return rank > 2 ? ((1u << rank) - 1) & ~3u : 0;
    for (i = 0; axes && i < axes->n; i++)
        bits |= 1u << axes->ints[i];
    return bits;
}

static bool all_axes(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    uint64_t i;

    for (i = 0; axes && i < axes->n; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= x->rank)
            return false;
    }
    return (axes || (call->name[0] == 'G' && x->rank > 2)) && tfr_operand_elements(x) > 0;
}

const native_form *native_find_fold(const tfr_call *call)
{
    static const native_form form = {"", NULL, NATIVE_ITEM_FOLD, 0, NULL};
    const native_reduction *kind = native_reduction_of(call);
    int type;

    if (!kind || call->domain[0] || call->n_inputs < 1)
        return NULL;
    type = native_fold_type_of(tfr_call_input(call, 0)->dtype);
    if (type < 0 || !native_portable.folds->rows[kind->fold][type] || !all_axes(call) ||
        (kind->logarithm &&
         native_fold_sums(NATIVE_FOLD_SUM, (native_fold_type)type) != NATIVE_FOLD_F64))
        return NULL;
    return &form;
}

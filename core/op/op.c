/* SPDX-License-Identifier: Apache-2.0 */
/* op.c: the op table made from ops.def, and look-up. */
#include "op/op.h"

#include <stdlib.h>
#include <string.h>

#include "op/infer_rows.h"
#include "op/op_foreign.h"

static const tfr__op ops[] = {
#define tfr__infer_none NULL
#define OP(domain_, name_, since_, compat_, kind_, shape_args_, infer_, traits_, cost_, inputs_,   \
           outputs_, attrs_, types_)                                                               \
    {.domain = domain_,                                                                            \
     .name = #name_,                                                                               \
     .since_version = since_,                                                                      \
     .compat_version = compat_,                                                                    \
     .kind = TFR__OP_##kind_,                                                                      \
     .shape_args = shape_args_,                                                                    \
     .infer = tfr__infer_##infer_,                                                                 \
     .traits = traits_,                                                                            \
     .cost = cost_,                                                                                \
     .inputs = inputs_,                                                                            \
     .outputs = outputs_,                                                                          \
     .attrs = attrs_,                                                                              \
     .types = types_},
#include "op/ops.def"
};

enum { N_BUILT_IN = sizeof(ops) / sizeof(ops[0]) };

uint32_t tfr__op_count(void)
{
    return N_BUILT_IN + tfr__op_n_foreign();
}

const tfr__op *tfr__op_at(uint32_t i)
{
    return i < N_BUILT_IN ? &ops[i] : tfr__op_foreign_at(i - N_BUILT_IN);
}

const tfr__op_foreign *tfr__op_foreign_of(const tfr__op *op)
{
    return op->traits & TFR__TRAIT_FOREIGN ? (const tfr__op_foreign *)(const void *)op : NULL;
}

uint32_t tfr__op_number(const tfr__op *op)
{
    const tfr__op_foreign *foreign = tfr__op_foreign_of(op);
    return foreign ? foreign->number : (uint32_t)(op - ops);
}

static int compare_key(const void *key, const void *row)
{
    const char *const *k = key;
    const tfr__op *op = row;
    int by_domain = strcmp(k[0], op->domain);
    return by_domain ? by_domain : strcmp(k[1], op->name);
}

const tfr__op *tfr__op_find(const char *domain, const char *name)
{
    if (!name)
        return NULL;
    if (!domain || strcmp(domain, "ai.onnx") == 0)
        domain = "";
    const char *key[2] = {domain, name};
    const tfr__op *op = bsearch(key, ops, N_BUILT_IN, sizeof(ops[0]), compare_key);
    return op || !*domain ? op : tfr__op_foreign_find(domain, name);
}

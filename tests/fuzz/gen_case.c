/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_case.c: nodes from descriptions: those of certify/cases, which are right by ONNX, and the op
 * table's signatures, of which the reference takes one in some. Their operands become new inputs
 * and constants, or are made of values that are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/engine.h"
#include "certify/hostile.h"
#include "gen.h"
#include "way.h"

static void add_call_attrs(fuzz_msg *node, const ops_call *call)
{
    for (uint32_t k = 0; k < call->n_attrs; k++) {
        const tfr_attr *a = &call->attrs[k];
        fuzz_msg *attr = fuzz_add_msg(node, FUZZ_NODE_ATTR, FUZZ_ATTR);
        fuzz_add_text(attr, FUZZ_ATTR_NAME, a->name);
        fuzz_add_int(attr, FUZZ_ATTR_TYPE, a->type);
        for (uint64_t i = 0; i < a->n; i++)
            switch (a->type) {
            case TFR_ATTR_INT:
            case TFR_ATTR_INTS:
                fuzz_add_int(attr, a->type == TFR_ATTR_INT ? FUZZ_ATTR_INT : FUZZ_ATTR_INTS,
                             a->ints[i]);
                break;
            case TFR_ATTR_FLOAT:
            case TFR_ATTR_FLOATS:
                fuzz_add_float(attr, a->type == TFR_ATTR_FLOAT ? FUZZ_ATTR_FLOAT : FUZZ_ATTR_FLOATS,
                               a->floats[i]);
                break;
            default:
                fuzz_add_bytes(attr,
                               a->type == TFR_ATTR_STRING ? FUZZ_ATTR_STRING : FUZZ_ATTR_STRINGS,
                               a->strings[i].data, (size_t)a->strings[i].bytes);
            }
    }
}

/* May any elements stand for these? Lists of numbers and draws of positions must stay. */
static bool is_free(const ops_operand *operand, tfr_dtype dtype)
{
    if (!operand || !operand->values)
        return true;
    return operand->values[0] != '=' && tfr_dtype_is_float(dtype);
}

static const ops_operand *operand_of(const ops_case *description, uint32_t i)
{
    uint32_t n = 0;
    while (n < OPS_MAX_INPUTS && description->in[n].types)
        n++;
    return n ? &description->in[i < n ? i : n - 1] : NULL;
}

static int reuse(fuzz_gen *g, tfr_tensor *t)
{
    int found[FUZZ_MAX_VALUES], n = 0;
    for (int i = 0; i < g->n_values; i++)
        if (tfr_tensor_kind(g->values[i].tensor) == TFR_KIND_TENSOR &&
            fuzz_dtype(g, i) == tfr_tensor_dtype(t) &&
            tfr_shape_equal(fuzz_shape(g, i), tfr_tensor_shape(t)))
            found[n++] = i;
    if (n > 0 && fuzz_chance(g, 80))
        return found[fuzz_below(g, (uint64_t)n)];
    if (!fuzz_chance(g, 60) || !fuzz_is_number_tensor(t))
        return -1;
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    return v < 0 ? -1 : fuzz_adapt(g, v, tfr_tensor_dtype(t), tfr_tensor_shape(t));
}

/* What a flag means that is neither 0 nor 1 is nobody's business. */
static bool has_odd_flag(const ops_call *call)
{
    static const char *const flags[] = {"keepdims",
                                        "noop_with_empty_axes",
                                        "select_last_index",
                                        "training_mode",
                                        "ceil_mode",
                                        "count_include_pad",
                                        "align_corners",
                                        "exclusive",
                                        "reverse",
                                        "largest",
                                        "sorted",
                                        "transA",
                                        "transB",
                                        "fmod",
                                        "allowzero"};
    for (uint32_t k = 0; k < call->n_attrs; k++)
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
            if (strcmp(call->attrs[k].name, flags[i]) == 0 && call->attrs[k].n == 1 &&
                call->attrs[k].ints[0] & ~(int64_t)1)
                return true;
    return false;
}

static void add_call(fuzz_gen *g, const ops_call *call)
{
    int inputs[OPS_MAX_OPERANDS];
    if (g->limits.standard_only && has_odd_flag(call))
        return;
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        tfr_tensor *t = call->plain[i];
        const ops_operand *operand = call->description ? operand_of(call->description, i) : NULL;
        inputs[i] = -1;
        if (!t)
            continue;
        if (is_free(operand, tfr_tensor_dtype(t)))
            inputs[i] = reuse(g, t);
        if (inputs[i] < 0)
            inputs[i] = fuzz_new_value(g, tfr_tensor_retain(t), fuzz_chance(g, i == 0 ? 15 : 60));
    }
    fuzz_msg *node = fuzz_new_node(g, call->domain, call->op, inputs, (int)call->n_inputs);
    add_call_attrs(node, call);
    fuzz_add_node(g, node, (int)call->n_outputs);
}

static const ops_case *draw_case(fuzz_gen *g)
{
    static uint32_t n;
    uint32_t cursor = 0, k = 0;
    const ops_case *c;
    if (n == 0)
        while (ops_next_case(&cursor))
            n++;
    if (g->limits.only_op && fuzz_chance(g, 60)) {
        const ops_case *found = NULL;
        for (cursor = 0; (c = ops_next_case(&cursor)) != NULL;)
            if (strncmp(c->name, g->limits.only_op, strlen(g->limits.only_op)) == 0 &&
                strcspn(c->name, "/") == strlen(g->limits.only_op) && fuzz_below(g, ++k) == 0)
                found = c;
        if (found)
            return found;
    }
    cursor = (uint32_t)fuzz_below(g, n);
    return ops_next_case(&cursor);
}

void fuzz_grow_case(fuzz_gen *g)
{
    static ops_call call;
    const ops_case *description = draw_case(g);
    if (g->limits.standard_only && description->domain && *description->domain)
        return;
    ops_make(description, fuzz_below(g, 1u << 30), -1, NULL, &call);
    add_call(g, &call);
    ops_call_finish(&call);
}

/* A size, say: making it is much work, which mutants do. */
static bool has_large_number(const ops_call *call)
{
    bool found = false;
    for (uint32_t i = 0; i < call->n_inputs && !found; i++) {
        const tfr_tensor *t = call->plain[i];
        int64_t n;
        if (!t || !tfr_dtype_is_integer(tfr_tensor_dtype(t)))
            continue;
        double *x = fuzz_numbers(t, &n);
        for (int64_t k = 0; x && k < n; k++)
            found = found || x[k] > 4096;
        free(x);
    }
    return found;
}

void fuzz_grow_signature(fuzz_gen *g)
{
    static ops_call call;
    tfr_op_desc desc = {.size = sizeof desc};
    if (tfr_op_describe((uint32_t)fuzz_below(g, tfr_op_count()), &desc, NULL))
        return;
    /* Most of these are refused, so some are tried; the values of those stay as dead ones. */
    for (int i = 0, before = g->n_nodes; i < 4 && g->n_nodes == before; i++) {
        ops_call_of_signature(&desc, fuzz_below(g, 1u << 30), &call);
        if (!has_large_number(&call))
            add_call(g, &call);
        ops_call_finish(&call);
    }
}

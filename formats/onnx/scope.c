/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.c: the names of one graph or function body, and the value that each stands for. A name
 * that a graph does not make itself is captured from the graphs around it.
 */
#include <stdlib.h>

#include "onnx/import.h"
#include "onnx/type.h"
#include "prefix.h"

/* What value_info says is advice; what cannot be read there says nothing. */
static void read_infos(tfr__onnx_scope *scope)
{
    for (uint32_t i = 0; i < scope->graph->n_infos; i++) {
        const tfr__onnx_value *info = &scope->graph->infos[i];
        uint32_t label = tfr__labels_find(&scope->graph->labels, info->name);
        if (label != TFR__LABEL_NONE && info->has_type)
            scope->infos[label] = i + 1;
    }
}

bool tfr__onnx_is_inlined(const tfr__onnx_scope *scope)
{
    return scope->outer ? scope->outer->builder == scope->builder : scope->frame != NULL;
}

tfr_status tfr__onnx_scope_start(tfr__onnx_scope *scope, tfr_err *err)
{
    uint32_t n = scope->graph->labels.n;

    scope->values = calloc((size_t)n + 1, sizeof *scope->values);
    scope->infos = calloc((size_t)n + 1, sizeof *scope->infos);
    if (!scope->values || !scope->infos)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u names", n);
    for (uint32_t i = 0; i < n; i++)
        scope->values[i] = TFR_VALUE_NONE;
    read_infos(scope);
    return TFR_OK;
}

void tfr__onnx_scope_finish(tfr__onnx_scope *scope)
{
    free(scope->values);
    free(scope->infos);
    free(scope->captures);
    tfr__labels_finish(&scope->captured);
}

tfr_status tfr__onnx_define(tfr__onnx_scope *scope, tfr__text name, tfr_value value, tfr_err *err)
{
    uint32_t label = tfr__labels_find(&scope->graph->labels, name);
    const tfr_value_type *declared = tfr_graph_value_type(scope->builder->graph, value);
    tfr_value_type type;

    scope->values[label] = value;
    if (!scope->infos[label] || !declared || (declared->dtype && declared->rank_known) ||
        tfr__onnx_read_type(scope->graph->infos[scope->infos[label] - 1].type, NULL, &type, NULL) ||
        type.kind != TFR_KIND_TENSOR)
        return TFR_OK;
    /* The rank counts, and not the dims: many models are wrong there. */
    for (int32_t i = 0; i < type.rank; i++)
        type.dims[i] = -1;
    if (declared->dtype)
        type.dtype = declared->dtype;
    return tfr__onnx_set_type(scope->builder, value, &type, err);
}

/* The name as one of the enclosing graphs has it, brought in through every graph between. */
static tfr_status capture(tfr__onnx_scope *scope, tfr__text name, tfr_value *out, tfr_err *err)
{
    tfr__onnx_scope *outer = scope->outer;
    tfr_value outside;
    uint32_t label;
    bool is_new;
    tfr_status status = tfr__labels_add(&scope->captured, name, &label, &is_new, err);

    if (status)
        return status;
    if (!is_new && label < scope->captures_capacity && scope->captures[label] != TFR_VALUE_NONE) {
        *out = scope->captures[label];
        return TFR_OK;
    }
    if (label >= scope->captures_capacity) {
        uint32_t capacity = scope->captures_capacity ? 2 * scope->captures_capacity : 16;
        tfr_value *grown = realloc(scope->captures, capacity * sizeof *grown);
        if (!grown)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for %u captured values", capacity);
        for (uint32_t i = scope->captures_capacity; i < capacity; i++)
            grown[i] = TFR_VALUE_NONE;
        scope->captures = grown;
        scope->captures_capacity = capacity;
    }
    status = tfr__onnx_resolve(outer, name, &outside, err);
    if (status)
        return status;
    if (outside == TFR_VALUE_NONE) { /* an input that the caller of a function left out */
        *out = outside;
        return TFR_OK;
    }
    status = tfr_graph_add_capture(scope->builder->graph, outside, &scope->captures[label], err);
    if (status)
        return status;
    *out = scope->captures[label];
    return TFR_OK;
}

tfr_status tfr__onnx_resolve(tfr__onnx_scope *scope, tfr__text name, tfr_value *out, tfr_err *err)
{
    uint32_t label = tfr__labels_find(&scope->graph->labels, name);
    char quoted[TFR__QUOTE_BYTES];

    if (label != TFR__LABEL_NONE) {
        *out = scope->values[label];
        if (*out == TFR_VALUE_NONE && scope->graph->makers[label].origin != TFR__ONNX_INPUT)
            return tfr_fail(err, TFR_EMODEL, "value %s is used before it is made",
                            tfr__text_quote(name, quoted, sizeof quoted));
        return TFR_OK;
    }
    if (scope->outer && scope->outer->builder == scope->builder)
        return tfr__onnx_resolve(scope->outer, name, out, err);
    if (scope->outer)
        return capture(scope, name, out, err);
    return tfr_fail(err, TFR_EMODEL, "value %s is not made by any node, input or initializer",
                    tfr__text_quote(name, quoted, sizeof quoted));
}

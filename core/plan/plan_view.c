/* SPDX-License-Identifier: Apache-2.0 */
/* plan_view.c: makes what plan_view.h describes. */
#include "plan/plan_view.h"

#include <string.h>

#include "base/alloc.h"

void tfr__view_finish(tfr__view *w)
{
    for (uint32_t i = 0; w->calls && i < w->pub.n_nodes; i++)
        tfr__call_finish(&w->calls[i]);
    for (uint32_t v = 0; w->number && v < w->pub.n_values; v++)
        w->number[w->value_of[v]] = -1;
    tfr__free(w->values); /* the block of all */
}

/* What the core knows of v goes along; known without elements is known, too. */
static void view_value(tfr__view *w, const tfr__build *b, const tfr__backend *backend, tfr_value v)
{
    static const char nothing[16];
    uint32_t n = w->pub.n_values++;
    tfr_program_value *value = &w->values[n];
    int64_t maker = tfr__build_maker(b, v);
    const tfr_tensor *known = b->known[v];
    bool unaligned = known && !tfr__tensor_is_aligned(known) &&
                     (backend->kernel.flags & TFR_KERNEL_TAKES_UNALIGNED);
    const void *data = unaligned ? known->data : known ? tfr__tensor_data(known) : NULL;
    tfr__operand_set(&w->types[n], &b->types[v], NULL, known && !data ? nothing : data);
    if (unaligned)
        w->types[n].flags |= TFR_OPERAND_UNALIGNED;
    w->number[v] = (int32_t)n;
    w->value_of[n] = v;
    memset(value, 0, sizeof *value);
    value->size = sizeof *value;
    value->operand = &w->types[n];
    value->node = value->variable = -1;
    value->flags = TFR_VALUE_INPUT;
    if (maker >= 0 && b->nodes[maker].group >= 0 && b->layouts[v].layout &&
        b->groups[b->nodes[maker].group].backend == backend) {
        value->layout = b->layouts[v].layout;
        value->flags |= TFR_VALUE_ANY_LAYOUT;
    }
}

/* Numbers the values of a node; inputs counts each reader once. */
static void view_operands(tfr__view *w, tfr__build *b, const tfr__backend *backend, uint32_t i,
                          int32_t **next)
{
    const tfr__node *node = tfr__build_node_at(b, w->which[i]);
    tfr_program_node *out = &w->nodes[i];
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->name = node->name;
    out->call = &w->calls[i].call;
    out->inputs = *next;
    out->outputs = *next + node->n_inputs;
    tfr__build_look(b);
    for (uint32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        bool made = k >= node->n_inputs;
        tfr_value v = made ? node->outputs[k - node->n_inputs] : node->inputs[k];
        *(*next) = -1;
        if (v != TFR_VALUE_NONE) {
            if (w->number[v] < 0)
                view_value(w, b, backend, v);
            *(*next) = w->number[v];
            w->values[w->number[v]].n_readers += !made && tfr__build_meet(b, v);
            if (made && !b->known[v]) {
                w->values[w->number[v]].node = (int32_t)i;
                w->values[w->number[v]].flags = 0;
            }
        }
        ++*next;
    }
}

static bool is_part(const tfr__build *b, uint32_t i, int32_t group)
{
    return b->nodes[i].needed && (group < 0 || b->nodes[i].group == group);
}

tfr_status tfr__view_init(tfr__view *w, tfr__build *b, int32_t group, const tfr__backend *backend,
                          tfr_err *err)
{
    uint32_t first = group < 0 ? 0 : b->groups[group].first, n = 0;
    uint32_t last = group < 0 ? b->end - b->first - 1 : b->groups[group].last;
    size_t n_operands = 1;
    int32_t *next;
    memset(w, 0, sizeof *w);
    for (uint32_t i = first; i <= last; i++)
        if (is_part(b, i, group)) {
            n_operands += tfr__build_node_at(b, i)->n_inputs + tfr__build_node_at(b, i)->n_outputs;
            n++;
        }
    w->values = tfr__alloc(n_operands * (sizeof *w->values + sizeof *w->types + 3 * sizeof *next) +
                           n * (sizeof *w->nodes + sizeof *w->calls + sizeof *w->which));
    if (!w->values)
        return tfr__no_memory(err);
    w->types = (tfr_operand *)(w->values + n_operands);
    w->nodes = (tfr_program_node *)(w->types + n_operands);
    w->calls = (tfr__call *)(w->nodes + n);
    w->operands = next = (int32_t *)(w->calls + n);
    w->value_of = w->operands + n_operands;
    w->args = w->value_of + n_operands;
    w->which = (uint32_t *)(w->args + n_operands);
    w->number = b->number;
    for (uint32_t i = first, k = 0; i <= last; i++)
        if (is_part(b, i, group))
            w->which[k++] = i;
    for (uint32_t i = 0; i < n; i++) {
        tfr_status status = tfr__build_call(b, w->which[i], true, &w->calls[i], err);
        if (status)
            return status;
        w->pub.n_nodes = i + 1;
        if (!(backend->kernel.flags & TFR_KERNEL_TAKES_UNALIGNED))
            status = tfr__call_align(&w->calls[i], err);
        if (status)
            return status;
        view_operands(w, b, backend, i, &next);
    }
    w->pub.size = sizeof w->pub;
    w->pub.node_stride = sizeof *w->nodes;
    w->pub.value_stride = sizeof *w->values;
    w->pub.nodes = w->nodes;
    w->pub.values = w->values;
    w->pub.inputs = w->args;
    return TFR_OK;
}

/* May v leave the program in a layout of the backend, and does a program of it read v? */
static bool any_layout(const tfr__build *b, const tfr__backend *backend, tfr_value v)
{
    if (!backend->has_layout || tfr__build_remains(b, v))
        return false;
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        int32_t group = b->nodes[i].group, maker = b->graph->values[v].node - (int32_t)b->first;
        if (!b->nodes[i].needed || group < 0 || b->groups[group].backend != backend ||
            group == b->nodes[maker].group)
            continue;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == v)
                return true;
    }
    return false;
}

/* Value v is the new state of a variable: is the old one here, and does nobody else read it? */
static void mark_update(tfr__view *w, const tfr__build *b, uint32_t v)
{
    const tfr_value old = b->graph->variables[tfr__build_update_of(b, w->value_of[v])];
    const int32_t n = w->number[old];
    if (n < 0 || w->types[n].data)
        return;
    w->values[v].variable = n;
    if (b->readers[old] == w->values[n].n_readers)
        w->values[v].flags |= TFR_VALUE_UPDATE;
}

/* Value v may be written behind the input that it has all of. */
static void mark_append(tfr__view *w, const tfr__build *b, uint32_t v)
{
    const tfr_value old = tfr__build_appends(b, w->value_of[v]);
    const int32_t n = old == TFR_VALUE_NONE ? -1 : w->number[old];
    if (n < 0)
        return;
    w->values[v].variable = n;
    w->values[v].flags |= TFR_VALUE_APPEND;
    w->values[n].flags |= TFR_VALUE_APPEND;
    w->values[v].strides = w->values[n].strides = b->section->values[old]->strides;
}

void tfr__view_border(tfr__view *w, const tfr__build *b, const tfr__backend *backend, bool on_host)
{
    int32_t *args = w->args;
    for (uint32_t v = 0; v < w->pub.n_values; v++)
        if ((w->values[v].flags & TFR_VALUE_INPUT) && !w->types[v].data)
            args[w->pub.n_inputs++] = (int32_t)v;
    args += w->pub.n_inputs;
    w->pub.outputs = args;
    for (uint32_t v = 0; v < w->pub.n_values; v++) {
        tfr_value value = w->value_of[v];
        if ((w->values[v].flags & TFR_VALUE_INPUT) ||
            (!tfr__build_remains(b, value) && b->readers[value] == w->values[v].n_readers))
            continue;
        w->values[v].flags |= TFR_VALUE_OUTPUT;
        if (any_layout(b, backend, value))
            w->values[v].flags |= TFR_VALUE_ANY_LAYOUT;
        if (b->updates[value])
            mark_update(w, b, v);
        else if (on_host)
            mark_append(w, b, v);
        args[w->pub.n_outputs++] = (int32_t)v;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gen.c: the model under construction, and what its sources of nodes share. See gen.h. */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const domains[] = {"", "ai.onnx.ml", "ai.onnx.preview.training", "tfrun"};
static const int domain_versions[] = {0, 5, 1, 1};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* One item of attrs. */
static void add_attr(fuzz_msg *node, const char *item)
{
    fuzz_msg *attr = fuzz_add_msg(node, FUZZ_NODE_ATTR, FUZZ_ATTR);
    size_t name = strcspn(item, ":");
    const char *type = item + name + 1, *at = strchr(item, '=') + 1;
    bool list = type[1] == 's';
    uint32_t field = *type == 'i'   ? (list ? FUZZ_ATTR_INTS : FUZZ_ATTR_INT)
                     : *type == 'f' ? (list ? FUZZ_ATTR_FLOATS : FUZZ_ATTR_FLOAT)
                                    : (list ? FUZZ_ATTR_STRINGS : FUZZ_ATTR_STRING);
    fuzz_add_bytes(attr, FUZZ_ATTR_NAME, item, name);
    fuzz_add_int(attr, FUZZ_ATTR_TYPE, (*type == 'f' ? 1 : *type == 'i' ? 2 : 3) + (list ? 5 : 0));
    while (*at && *at != ' ') {
        size_t n = strcspn(at, " ,");
        if (*type == 'i')
            fuzz_add_int(attr, field, strtoll(at, NULL, 10));
        else if (*type == 'f')
            fuzz_add_float(attr, field, strtof(at, NULL));
        else
            fuzz_add_bytes(attr, field, at, n);
        at += n;
        at += *at == ',';
    }
}

void fuzz_node_attrs(fuzz_msg *node, const char *attrs)
{
    while (attrs && *attrs) {
        add_attr(node, attrs);
        attrs += strcspn(attrs, " ");
        attrs += *attrs == ' ';
    }
}

fuzz_msg *fuzz_new_node(fuzz_gen *g, const char *domain, const char *op, const int *inputs,
                        int n_inputs)
{
    fuzz_msg *node = fuzz_msg_create(FUZZ_NODE);
    for (int i = 0; i < n_inputs; i++)
        fuzz_add_text(node, FUZZ_NODE_INPUT, inputs[i] < 0 ? "" : g->values[inputs[i]].name);
    fuzz_add_text(node, FUZZ_NODE_OP, op);
    if (domain && *domain)
        fuzz_add_text(node, FUZZ_NODE_DOMAIN, domain);
    return node;
}

/* Is the op's form of today the form of this opset? */
static bool allowed(fuzz_gen *g, const char *domain, const char *op)
{
    int32_t number = tfr_op_find(domain, op);
    tfr_op_desc desc = {.size = sizeof desc};
    if (number < 0 || tfr_op_describe((uint32_t)number, &desc, NULL))
        return false;
    if (g->limits.standard_only && strcmp(domain, "tfrun") == 0)
        return false;
    return *domain || desc.compat_version <= g->opset;
}

static void reached(fuzz_gen *g, const char *domain, const char *op)
{
    int32_t number = tfr_op_find(domain, op);
    if (g->ops_reached && number >= 0)
        g->ops_reached[number] = 1;
    for (size_t d = 0; d < sizeof domains / sizeof domains[0]; d++)
        if (strcmp(domains[d], domain) == 0)
            g->uses_domain[d] = true;
}

/* All inputs are constants. */
static bool all_constant(const fuzz_gen *g, const fuzz_msg *node)
{
    for (size_t i = 0; i < node->n; i++) {
        if (node->fields[i].number != FUZZ_NODE_INPUT || !node->fields[i].data)
            continue;
        for (int v = 0; v < g->n_values; v++)
            if (!g->values[v].constant &&
                strcmp(g->values[v].name, (const char *)node->fields[i].data) == 0)
                return false;
    }
    return true;
}

static void mark_used(fuzz_gen *g, const fuzz_msg *node)
{
    for (size_t i = 0; i < node->n; i++) {
        const fuzz_field *f = &node->fields[i];
        if (node->type == FUZZ_NODE && f->number == FUZZ_NODE_INPUT && f->data) {
            for (int v = 0; v < g->n_values; v++)
                if (strcmp(g->values[v].name, (const char *)f->data) == 0)
                    g->values[v].used = true;
        } else if (f->msg) {
            mark_used(g, f->msg);
        }
    }
}

/* The total of elements, so that a graph stays small. */
static bool too_large(tfr_tensor **outputs, int n)
{
    size_t total = 0;
    for (int i = 0; i < n; i++)
        if (outputs[i] && tfr_tensor_kind(outputs[i]) == TFR_KIND_TENSOR)
            total += tfr_tensor_bytes(outputs[i]);
    return total > 1 << 18;
}

int fuzz_add_node(fuzz_gen *g, fuzz_msg *node, int n_outputs)
{
    tfr_tensor *outputs[FUZZ_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    char name[16];
    const char *domain = fuzz_text(node, FUZZ_NODE_DOMAIN), *op = fuzz_text(node, FUZZ_NODE_OP);
    int first = -1;
    /* Training overwrites its inputs in ONNX Runtime if they are graph inputs used twice. */
    if ((g->limits.standard_only && fuzz_attr(node, "training_mode")) || !allowed(g, domain, op) ||
        g->n_values + n_outputs > FUZZ_MAX_VALUES || n_outputs > FUZZ_MAX_OUTPUTS) {
        fuzz_msg_destroy(node);
        return -1;
    }
    for (int i = 0; i < n_outputs; i++) {
        snprintf(name, sizeof name, "v%d", g->n_names++);
        fuzz_add_text(node, FUZZ_NODE_OUTPUT, name);
    }
    tfr_status status = fuzz_eval_node(g->runtime, g->model, node, &g->env, outputs, &err);
    if (status || too_large(outputs, n_outputs)) {
        fuzz_msg_destroy(node);
    } else {
        bool constant = all_constant(g, node);
        mark_used(g, node);
        reached(g, domain, op);
        for (int i = 0; i < n_outputs; i++) {
            int v =
                fuzz_register(g, (const char *)fuzz_find(node, FUZZ_NODE_OUTPUT, (size_t)i)->data,
                              tfr_tensor_retain(outputs[i]), constant);
            first = i == 0 ? v : first;
        }
        fuzz_add_child(g->graph, FUZZ_GRAPH_NODE, node);
        g->n_nodes++;
    }
    for (int i = 0; i < n_outputs; i++)
        tfr_tensor_release(outputs[i]);
    return first;
}

int fuzz_add(fuzz_gen *g, const char *op, const char *attrs, const int *inputs, int n_inputs,
             int n_outputs)
{
    fuzz_msg *node = fuzz_new_node(g, "", op, inputs, n_inputs);
    fuzz_node_attrs(node, attrs);
    return fuzz_add_node(g, node, n_outputs);
}

int fuzz_add1(fuzz_gen *g, const char *op, const char *attrs, int a)
{
    return a < 0 ? -1 : fuzz_add(g, op, attrs, &a, 1, 1);
}

int fuzz_add2(fuzz_gen *g, const char *op, const char *attrs, int a, int b)
{
    int in[] = {a, b};
    return a < 0 || b < 0 ? -1 : fuzz_add(g, op, attrs, in, 2, 1);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void fuzz_grow(fuzz_gen *g)
{
    uint64_t dice = fuzz_below(g, 100);
    if (dice < 30)
        fuzz_grow_case(g);
    else if (dice < 60)
        fuzz_grow_op(g);
    else if (dice < 80)
        fuzz_grow_pattern(g);
    else if (dice < 90)
        fuzz_grow_signature(g);
    else
        fuzz_grow_control(g);
}

/* Some dims of a declared type become names, or all are left out. */
static void loosen(fuzz_gen *g, fuzz_msg *value)
{
    fuzz_msg *type = fuzz_child(value, FUZZ_VALUE_TYPE);
    fuzz_msg *tensor = type ? fuzz_child(type, 1) : NULL;
    fuzz_msg *shape = tensor ? fuzz_child(tensor, 2) : NULL;
    if (!shape || fuzz_chance(g, 60))
        return;
    if (fuzz_chance(g, 15)) {
        fuzz_remove(tensor, tensor->n - 1);
        return;
    }
    for (size_t i = 0; i < shape->n; i++) {
        if (!fuzz_chance(g, 40))
            continue;
        int64_t dim = (int64_t)fuzz_find(shape->fields[i].msg, 1, 0)->value;
        char name[24];
        fuzz_remove(shape->fields[i].msg, 0);
        snprintf(name, sizeof name, "d%lld", (long long)dim);
        if (fuzz_chance(g, 70))
            fuzz_add_text(shape->fields[i].msg, 2, name);
    }
}

static void declare_inputs(fuzz_gen *g)
{
    for (size_t i = 0; i < g->model->n; i++) {
        const fuzz_field *f = &g->model->fields[i];
        if (f->number != FUZZ_MODEL_RUN_INPUT)
            continue;
        const char *name = fuzz_text(f->msg, FUZZ_TENSOR_NAME);
        fuzz_msg *value = fuzz_value_msg(fuzz_env_get(&g->env, name), name, true);
        loosen(g, value);
        fuzz_add_child(g->graph, FUZZ_GRAPH_INPUT, value);
    }
}

/* What nobody reads becomes an output, but for some, which are dead; and some of the rest. */
static void declare_outputs(fuzz_gen *g)
{
    int n = 0;
    unsigned unused = fuzz_chance(g, 70) ? 100 : 70, others = fuzz_chance(g, 15) ? 100 : 8;
    for (int i = g->n_values; i-- > 0;) {
        const fuzz_value *v = &g->values[i];
        if (v->name[0] != 'v' && n > 0 && !fuzz_chance(g, 2))
            continue;
        if (n > 0 && !fuzz_chance(g, v->used ? others : unused))
            continue;
        fuzz_msg *value = fuzz_value_msg(v->tensor, v->name, fuzz_chance(g, 60));
        loosen(g, value);
        fuzz_add_child(g->graph, FUZZ_GRAPH_OUTPUT, value);
        n++;
    }
}

static void declare_domains(fuzz_gen *g)
{
    for (size_t i = 0; i < g->model->n;) {
        const fuzz_field *f = &g->model->fields[i];
        bool used = f->number != FUZZ_MODEL_OPSET;
        for (size_t d = 0; d < sizeof domains / sizeof domains[0] && !used; d++)
            used = (d == 0 || g->uses_domain[d]) &&
                   strcmp(fuzz_text(f->msg, FUZZ_OPSET_DOMAIN), domains[d]) == 0;
        if (used)
            i++;
        else
            fuzz_remove(g->model, i);
    }
}

static void begin(fuzz_gen *g)
{
    static const int usual[] = {13, 17, 18, 19, 20, 21, 22, 23};
    int newest = 28;
    if (g->limits.opset && g->limits.opset < newest)
        newest = g->limits.opset;
    g->opset = newest;
    if (fuzz_chance(g, 30))
        g->opset = usual[fuzz_below(g, 8)];
    else if (fuzz_chance(g, 10))
        g->opset = 8 + (int)fuzz_below(g, 14);
    if (g->opset > newest)
        g->opset = newest;
    g->model = fuzz_msg_create(FUZZ_MODEL);
    fuzz_add_int(g->model, FUZZ_MODEL_IR, 8);
    for (size_t d = 0; d < sizeof domains / sizeof domains[0]; d++) {
        fuzz_msg *set = fuzz_add_msg(g->model, FUZZ_MODEL_OPSET, FUZZ_OPSET);
        fuzz_add_text(set, FUZZ_OPSET_DOMAIN, domains[d]);
        fuzz_add_int(set, FUZZ_OPSET_VERSION, d ? domain_versions[d] : g->opset);
    }
    g->graph = fuzz_add_msg(g->model, FUZZ_MODEL_GRAPH, FUZZ_GRAPH);
    fuzz_add_text(g->graph, FUZZ_GRAPH_NAME, "fuzz");
}

void fuzz_generate(tfr_runtime *runtime, uint64_t seed, const fuzz_limits *limits,
                   unsigned char *ops_reached, fuzz_bytes *out)
{
    static fuzz_gen gen;
    fuzz_gen *g = &gen;
    memset(g, 0, sizeof *g);
    g->random.state = seed * 0x2545f4914f6cdd1du + 0x9e3779b97f4a7c15u;
    g->runtime = runtime;
    g->limits = limits ? *limits : (fuzz_limits){0};
    g->ops_reached = ops_reached;
    begin(g);
    int wanted = 1 + (int)fuzz_below(g, fuzz_chance(g, 15) ? 40 : 9);
    for (int tries = 0; g->n_nodes < wanted && tries < wanted * 3; tries++) {
        if (tries == 0 && g->limits.only_op)
            for (int i = 0; i < 50 && g->n_nodes == 0; i++)
                fuzz_grow_case(g);
        else
            fuzz_grow(g);
    }
    while (g->n_nodes == 0)
        fuzz_grow_op(g);
    declare_inputs(g);
    declare_outputs(g);
    declare_domains(g);
    fuzz_msg_write(g->model, out);
    fuzz_msg_destroy(g->model);
    for (int i = 0; i < g->n_values; i++)
        tfr_tensor_release(g->values[i].tensor);
    fuzz_env_finish(&g->env);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c: see eval.h. */
#include "eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "out of memory for the values of a model\n");
        exit(99);
    }
    return memory;
}

/* ---- tensors and types ----------------------------------------------------------------------- */

fuzz_msg *fuzz_tensor_msg(const tfr_tensor *tensor, const char *name)
{
    fuzz_msg *m = fuzz_msg_create(FUZZ_TENSOR);
    const tfr_shape *shape = tfr_tensor_shape(tensor);
    for (int32_t d = 0; d < shape->rank; d++)
        fuzz_add_int(m, FUZZ_TENSOR_DIM, shape->dims[d]);
    fuzz_add_int(m, FUZZ_TENSOR_DTYPE, (int64_t)tfr_tensor_dtype(tensor));
    if (name)
        fuzz_add_text(m, FUZZ_TENSOR_NAME, name);
    if (tfr_tensor_dtype(tensor) != TFR_DTYPE_STRING) {
        fuzz_add_bytes(m, FUZZ_TENSOR_RAW, tfr_tensor_data(tensor), tfr_tensor_bytes(tensor));
        return m;
    }
    for (int64_t i = 0; i < tfr_tensor_elements(tensor); i++) {
        size_t n;
        const char *text = tfr_tensor_get_string(tensor, i, &n);
        fuzz_add_bytes(m, FUZZ_TENSOR_STRINGS, text, n);
    }
    return m;
}

tfr_tensor *fuzz_tensor_read(const fuzz_msg *tensor)
{
    fuzz_bytes bytes = {0};
    tfr_tensor *t = NULL;
    fuzz_msg_write(tensor, &bytes);
    if (tfr_onnx_parse_tensor(bytes.data, bytes.n, TFR_KIND_TENSOR, &t, NULL))
        t = NULL;
    free(bytes.data);
    return t;
}

static void add_type(fuzz_msg *type, const tfr_tensor *t, bool with_shape)
{
    tfr_kind kind = tfr_tensor_kind(t);
    if (kind != TFR_KIND_TENSOR) {
        fuzz_msg *list = fuzz_add_msg(type, kind == TFR_KIND_SEQUENCE ? 4 : 9, FUZZ_LIST_TYPE);
        fuzz_msg *inner = fuzz_add_msg(list, 1, FUZZ_TYPE);
        const tfr_tensor *item = tfr_sequence_at(t, 0);
        if (item && tfr_tensor_kind(item) != TFR_KIND_TENSOR)
            add_type(inner, item, false);
        else
            fuzz_add_int(fuzz_add_msg(inner, 1, FUZZ_TENSOR_TYPE), 1, (int64_t)tfr_tensor_dtype(t));
        return;
    }
    fuzz_msg *tensor = fuzz_add_msg(type, 1, FUZZ_TENSOR_TYPE);
    fuzz_add_int(tensor, 1, (int64_t)tfr_tensor_dtype(t));
    if (!with_shape)
        return;
    fuzz_msg *shape = fuzz_add_msg(tensor, 2, FUZZ_SHAPE);
    for (int32_t d = 0; d < tfr_tensor_shape(t)->rank; d++)
        fuzz_add_int(fuzz_add_msg(shape, 1, FUZZ_DIM), 1, tfr_tensor_shape(t)->dims[d]);
}

fuzz_msg *fuzz_value_msg(const tfr_tensor *tensor, const char *name, bool with_shape)
{
    fuzz_msg *value = fuzz_msg_create(FUZZ_VALUE);
    fuzz_add_text(value, FUZZ_VALUE_NAME, name);
    if (tensor)
        add_type(fuzz_add_msg(value, FUZZ_VALUE_TYPE, FUZZ_TYPE), tensor, with_shape);
    return value;
}

/* ---- names ----------------------------------------------------------------------------------- */

void fuzz_env_set(fuzz_env *env, const char *name, tfr_tensor *tensor)
{
    if (env->n == env->capacity) {
        env->capacity = env->capacity * 2 + 16;
        env->items = need(realloc(env->items, env->capacity * sizeof *env->items));
    }
    env->items[env->n].name = need(strdup(name));
    env->items[env->n++].tensor = tfr_tensor_retain(tensor);
}

tfr_tensor *fuzz_env_get(const fuzz_env *env, const char *name)
{
    for (size_t i = env->n; i-- > 0;)
        if (strcmp(env->items[i].name, name) == 0)
            return env->items[i].tensor;
    return NULL;
}

void fuzz_env_cut(fuzz_env *env, size_t n)
{
    while (env->n > n) {
        env->n--;
        free(env->items[env->n].name);
        tfr_tensor_release(env->items[env->n].tensor);
    }
}

void fuzz_env_finish(fuzz_env *env)
{
    fuzz_env_cut(env, 0);
    free(env->items);
    *env = (fuzz_env){0};
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Names in env that the node or a graph inside it uses, each once, as inputs of graph. */
static void add_used(const fuzz_msg *node, const fuzz_env *env, fuzz_msg *graph, fuzz_env *used)
{
    for (size_t i = 0; i < node->n; i++) {
        const fuzz_field *f = &node->fields[i];
        if (node->type == FUZZ_NODE && f->number == FUZZ_NODE_INPUT && f->data && f->n) {
            const char *name = (const char *)f->data;
            tfr_tensor *t = fuzz_env_get(env, name);
            if (!t || fuzz_env_get(used, name))
                continue;
            fuzz_env_set(used, name, t);
            fuzz_add_child(graph, FUZZ_GRAPH_INPUT, fuzz_value_msg(t, name, true));
        } else if (f->msg) {
            /* Outputs of a subgraph may be values of the outer graph. */
            if (node->type == FUZZ_GRAPH && f->number == FUZZ_GRAPH_OUTPUT) {
                const char *name = fuzz_text(f->msg, FUZZ_VALUE_NAME);
                tfr_tensor *t = fuzz_env_get(env, name);
                if (t && !fuzz_env_get(used, name)) {
                    fuzz_env_set(used, name, t);
                    fuzz_add_child(graph, FUZZ_GRAPH_INPUT, fuzz_value_msg(t, name, true));
                }
            }
            add_used(f->msg, env, graph, used);
        }
    }
}

static tfr_status run_graph(tfr_runtime *runtime, tfr_graph *graph, const fuzz_env *used,
                            tfr_tensor **outputs, uint32_t n, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor **inputs = need(calloc(used->n + 1, sizeof(tfr_tensor *)));
    for (size_t i = 0; i < used->n; i++)
        inputs[i] = used->items[i].tensor;
    options.device = "naive:0";
    options.passes = "none";
    options.no_programs = 1;
    tfr_status status = tfr_session_create(runtime, graph, &options, &session, err);
    if (!status)
        status = tfr_session_run(session, inputs, (uint32_t)used->n, outputs, n, err);
    tfr_session_destroy(session);
    free(inputs);
    return status;
}

tfr_status fuzz_eval_node(tfr_runtime *runtime, const fuzz_msg *model, const fuzz_msg *node,
                          const fuzz_env *env, tfr_tensor **outputs, tfr_err *err)
{
    fuzz_msg *m = fuzz_msg_create(FUZZ_MODEL);
    fuzz_env used = {0};
    fuzz_bytes bytes = {0};
    tfr_graph *graph = NULL;
    tfr_tensor *given[FUZZ_MAX_OUTPUTS] = {NULL};
    uint32_t n = 0, k = 0;
    for (size_t i = 0; i < model->n; i++)
        if (model->fields[i].number == FUZZ_MODEL_OPSET ||
            model->fields[i].number == FUZZ_MODEL_FUNCTION) {
            if (model->fields[i].msg)
                fuzz_add_child(m, model->fields[i].number, fuzz_msg_copy(model->fields[i].msg));
        }
    fuzz_add_int(m, FUZZ_MODEL_IR, 8);
    fuzz_msg *g = fuzz_add_msg(m, FUZZ_MODEL_GRAPH, FUZZ_GRAPH);
    fuzz_add_child(g, FUZZ_GRAPH_NODE, fuzz_msg_copy(node));
    add_used(node, env, g, &used);
    for (size_t i = 0; i < node->n && k < FUZZ_MAX_OUTPUTS; i++)
        if (node->fields[i].number == FUZZ_NODE_OUTPUT && node->fields[i].data) {
            outputs[k++] = NULL;
            if (!node->fields[i].n)
                continue;
            const char *name = (const char *)node->fields[i].data;
            fuzz_add_child(g, FUZZ_GRAPH_OUTPUT, fuzz_value_msg(NULL, name, false));
            n++;
        }
    fuzz_msg_write(m, &bytes);
    tfr_status status = tfr_onnx_parse(bytes.data, bytes.n, &graph, err);
    if (!status)
        status = run_graph(runtime, graph, &used, given, n, err);
    k = 0;
    n = 0;
    for (size_t i = 0; i < node->n && k < FUZZ_MAX_OUTPUTS; i++)
        if (node->fields[i].number == FUZZ_NODE_OUTPUT && node->fields[i].data)
            outputs[k++] = node->fields[i].n && !status ? given[n++] : NULL;
    tfr_graph_release(graph);
    free(bytes.data);
    fuzz_env_finish(&used);
    fuzz_msg_destroy(m);
    return status;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* For a model without inputs of its own: ones of the declared type, unknown dims being 2. */
static tfr_tensor *made_up(const tfr_value_type *type, tfr_err *err)
{
    tfr_shape shape = {0};
    tfr_tensor *t = NULL;
    tfr_dtype dtype = type->dtype ? (tfr_dtype)type->dtype : TFR_DTYPE_F32;
    shape.rank = type->rank_known ? type->rank : 1;
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = type->rank_known && type->dims[d] >= 0 ? type->dims[d] : 2;
    int64_t n = 0;
    if (tfr_shape_elements(&shape, &n, NULL) || n > 1 << 20)
        shape = (tfr_shape){.rank = 1, .dims = {2}};
    if (tfr_tensor_create(dtype, &shape, &t, err))
        return NULL;
    for (int64_t i = 0; i < tfr_tensor_elements(t) && tfr_dtype_bits(dtype) % 8 == 0; i++) {
        const double x = (double)(i % 3);
        char *at = (char *)tfr_tensor_data(t) + i * (tfr_dtype_bits(dtype) / 8);
        if (dtype == TFR_DTYPE_STRING || tfr_dtype_convert(dtype, at, TFR_DTYPE_F64, &x, 1, NULL))
            break;
    }
    return t;
}

tfr_status fuzz_case_init(fuzz_case *c, const void *bytes, size_t n, tfr_err *err)
{
    *c = (fuzz_case){.bytes = bytes, .n = n};
    tfr_status status = tfr_onnx_parse(bytes, n, &c->graph, err);
    if (status)
        return status;
    c->n_inputs = tfr_graph_n_inputs(c->graph);
    c->n_outputs = tfr_graph_n_outputs(c->graph);
    c->inputs = need(calloc(c->n_inputs + 1, sizeof(tfr_tensor *)));
    fuzz_msg *model = fuzz_msg_read(bytes, n, FUZZ_MODEL);
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        tfr_value value = tfr_graph_input(c->graph, i);
        const char *name = tfr_graph_value_name(c->graph, value);
        for (size_t k = 0; model && k < model->n && !c->inputs[i]; k++) {
            const fuzz_field *f = &model->fields[k];
            if (f->number == FUZZ_MODEL_RUN_INPUT && f->msg &&
                strcmp(fuzz_text(f->msg, FUZZ_TENSOR_NAME), name) == 0)
                c->inputs[i] = fuzz_tensor_read(f->msg);
        }
        if (!c->inputs[i])
            c->inputs[i] = made_up(tfr_graph_value_type(c->graph, value), err);
        if (!c->inputs[i])
            status = TFR_EINVAL;
    }
    fuzz_msg_destroy(model);
    return status;
}

void fuzz_case_finish(fuzz_case *c)
{
    for (uint32_t i = 0; c->inputs && i < c->n_inputs; i++)
        tfr_tensor_release(c->inputs[i]);
    free(c->inputs);
    tfr_graph_release(c->graph);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_control.c: nodes with subgraphs, which are grown like the outer graph and read its values,
 * and sequences and optionals.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

/* What is put aside while a subgraph is grown. */
typedef struct outer {
    fuzz_msg *graph;
    int n_values, scope;
    size_t n_env;
} outer;

static outer enter(fuzz_gen *g, fuzz_msg *graph)
{
    outer o = {g->graph, g->n_values, g->scope, g->env.n};
    g->graph = graph;
    g->scope = g->n_values;
    g->depth++;
    return o;
}

static void leave(fuzz_gen *g, const outer *o)
{
    while (g->n_values > o->n_values)
        tfr_tensor_release(g->values[--g->n_values].tensor);
    fuzz_env_cut(&g->env, o->n_env);
    g->graph = o->graph;
    g->scope = o->scope;
    g->depth--;
}

/* A formal input of the subgraph. */
static int formal(fuzz_gen *g, tfr_tensor *tensor, bool with_shape)
{
    int v = g->n_values;
    if (v == FUZZ_MAX_VALUES)
        return -1;
    fuzz_value *value = &g->values[g->n_values++];
    *value = (fuzz_value){.tensor = tfr_tensor_retain(tensor)};
    snprintf(value->name, sizeof value->name, "f%d", g->n_names++);
    fuzz_env_set(&g->env, value->name, tensor);
    fuzz_add_child(g->graph, FUZZ_GRAPH_INPUT, fuzz_value_msg(tensor, value->name, with_shape));
    return v;
}

static void result(fuzz_gen *g, int v)
{
    fuzz_add_child(g->graph, FUZZ_GRAPH_OUTPUT,
                   fuzz_value_msg(g->values[v].tensor, g->values[v].name, false));
}

static void grow_some(fuzz_gen *g)
{
    int before = g->n_nodes, n = 1 + (int)fuzz_below(g, 3);
    for (int tries = 0; tries < 6 && g->n_nodes - before < n; tries++)
        fuzz_grow(g);
}

/* Not a formal input, unless nobody minds that ONNX Runtime changes the iteration's number in place
 * after a body gave it out. */
static bool is_result(const fuzz_gen *g, int v)
{
    return g->values[v].name[0] != 'f' || !g->limits.standard_only;
}

/* A value of the subgraph with the type and shape of like; -1 if none can be had. */
static int same_as(fuzz_gen *g, int like)
{
    const tfr_shape shape = *fuzz_shape(g, like);
    tfr_dtype dtype = fuzz_dtype(g, like);
    int found[FUZZ_MAX_VALUES], n = 0;
    for (int i = g->scope; i < g->n_values; i++)
        if (tfr_tensor_kind(g->values[i].tensor) == TFR_KIND_TENSOR && fuzz_dtype(g, i) == dtype &&
            tfr_shape_equal(fuzz_shape(g, i), &shape) && is_result(g, i))
            found[n++] = i;
    if (n > 0)
        return found[n - 1 - (int)fuzz_below(g, (uint64_t)(n < 3 ? n : 3))];
    return fuzz_add1(g, "Identity", NULL, like);
}

static fuzz_msg *graph_attr(fuzz_msg *node, const char *name)
{
    fuzz_msg *attr = fuzz_add_msg(node, FUZZ_NODE_ATTR, FUZZ_ATTR);
    fuzz_add_text(attr, FUZZ_ATTR_NAME, name);
    fuzz_add_int(attr, FUZZ_ATTR_TYPE, 5);
    fuzz_msg *graph = fuzz_add_msg(attr, FUZZ_ATTR_GRAPH, FUZZ_GRAPH);
    fuzz_add_text(graph, FUZZ_GRAPH_NAME, name);
    return graph;
}

/* Both branches give a value like `like`; a third of them of a shape of their own. */
static void branch(fuzz_gen *g, fuzz_msg *graph, int like)
{
    outer o = enter(g, graph);
    grow_some(g);
    int v = same_as(g, like);
    if (v < 0)
        v = like;
    result(g, v);
    leave(g, &o);
}

static void grow_if(fuzz_gen *g)
{
    tfr_shape scalar = {0};
    int like = fuzz_pick(g, fuzz_is_number_tensor);
    int cond = fuzz_chance(g, 70) ? fuzz_new_input(g, TFR_DTYPE_BOOL, &scalar, NULL)
                                  : fuzz_new_constant(g, TFR_DTYPE_BOOL, &scalar, NULL);
    if (like < 0 || cond < 0)
        return;
    fuzz_msg *node = fuzz_new_node(g, "", "If", &cond, 1);
    branch(g, graph_attr(node, "then_branch"), like);
    branch(g, graph_attr(node, "else_branch"), like);
    fuzz_add_node(g, node, 1);
}

static void grow_loop(fuzz_gen *g)
{
    tfr_shape scalar = {0};
    int in[4] = {-1, -1, -1, -1}, carried = 1 + fuzz_chance(g, 40), scans = fuzz_chance(g, 50);
    in[0] = fuzz_new_scalar(g, TFR_DTYPE_I64, (double)fuzz_below(g, 5));
    if (fuzz_chance(g, 50))
        in[1] = fuzz_new_constant(g, TFR_DTYPE_BOOL, &scalar, "1|1|1|0");
    for (int i = 0; i < carried; i++)
        in[2 + i] = fuzz_pick(g, fuzz_is_number_tensor);
    if (in[0] < 0 || in[2] < 0 || (carried > 1 && in[3] < 0))
        return;
    fuzz_msg *node = fuzz_new_node(g, "", "Loop", in, 2 + carried);
    outer o = enter(g, graph_attr(node, "body"));
    int state[2] = {-1, -1};
    tfr_tensor *number = NULL, *yes = NULL;
    tfr_err err = TFR_ERR_INIT;
    ops_must(tfr_tensor_create(TFR_DTYPE_I64, &scalar, &number, &err), &err, "a number");
    ops_must(tfr_tensor_create(TFR_DTYPE_BOOL, &scalar, &yes, &err), &err, "a condition");
    *(int64_t *)tfr_tensor_data(number) = 1;
    *(bool *)tfr_tensor_data(yes) = true;
    formal(g, number, true);
    int cond = formal(g, yes, true);
    tfr_tensor_release(number);
    tfr_tensor_release(yes);
    for (int i = 0; i < carried; i++)
        state[i] = formal(g, g->values[in[2 + i]].tensor, fuzz_chance(g, 80));
    grow_some(g);
    int go_on = cond < 0 ? -1 : fuzz_add1(g, "Identity", NULL, cond);
    if (go_on >= 0)
        result(g, go_on);
    for (int i = 0; i < carried && state[i] >= 0; i++) {
        int v = same_as(g, state[i]);
        if (v >= 0)
            result(g, v);
    }
    int scanned = scans && state[0] >= 0 ? same_as(g, state[0]) : -1;
    if (scanned >= 0)
        result(g, scanned);
    leave(g, &o);
    fuzz_add_node(g, node, carried + scans);
}

static bool is_list(const tfr_tensor *t)
{
    return fuzz_is_float_tensor(t) && tfr_tensor_shape(t)->rank >= 1 &&
           tfr_tensor_shape(t)->dims[0] > 0 && tfr_tensor_shape(t)->dims[0] < 9;
}

/* One state and one scanned input along axis 0. */
static void grow_scan(fuzz_gen *g)
{
    int in[2] = {fuzz_pick(g, fuzz_is_number_tensor), fuzz_pick(g, is_list)};
    if (in[0] < 0 || in[1] < 0)
        return;
    tfr_shape slice = *fuzz_shape(g, in[1]);
    tfr_tensor *one = NULL;
    tfr_err err = TFR_ERR_INIT;
    memmove(slice.dims, slice.dims + 1, (size_t)(slice.rank - 1) * sizeof *slice.dims);
    slice.rank--;
    ops_must(tfr_tensor_create(fuzz_dtype(g, in[1]), &slice, &one, &err), &err, "a slice");
    fuzz_msg *node = fuzz_new_node(g, "", "Scan", in, 2);
    fuzz_node_attrs(node, fuzz_chance(g, 70) ? "num_scan_inputs:i=1"
                                             : "num_scan_inputs:i=1 scan_input_directions:is=1");
    outer o = enter(g, graph_attr(node, "body"));
    int state = formal(g, g->values[in[0]].tensor, true), item = formal(g, one, true);
    tfr_tensor_release(one);
    grow_some(g);
    int v = state < 0 ? -1 : same_as(g, state), w = item < 0 ? -1 : same_as(g, item);
    if (v == w && v >= 0) /* ONNX Runtime loses one of two results that are the same value */
        w = fuzz_add1(g, "Identity", NULL, v);
    if (v >= 0 && w >= 0) {
        result(g, v);
        result(g, w);
    }
    leave(g, &o);
    fuzz_add_node(g, node, 2);
}

/* ---- sequences and optionals ----------------------------------------------------------------- */

static bool is_sequence(const tfr_tensor *t)
{
    return tfr_tensor_kind(t) == TFR_KIND_SEQUENCE;
}

static void make_sequence(fuzz_gen *g)
{
    int in[3], n = 1 + (int)fuzz_below(g, 3);
    in[0] = fuzz_pick(g, fuzz_is_number_tensor);
    if (in[0] < 0)
        return;
    if (fuzz_chance(g, 30) && fuzz_shape(g, in[0])->rank > 0) {
        fuzz_add(g, "SplitToSequence", fuzz_chance(g, 50) ? "keepdims:i=0" : NULL, in, 1, 1);
        return;
    }
    for (int i = 1; i < n; i++)
        in[i] = fuzz_chance(g, 60) ? in[0] : fuzz_pick(g, fuzz_is_number_tensor);
    fuzz_add(g, "SequenceConstruct", NULL, in, n, 1);
}

static void use_sequence(fuzz_gen *g)
{
    int s = fuzz_pick(g, is_sequence), in[3] = {s, -1, -1};
    if (s < 0) {
        make_sequence(g);
        return;
    }
    int64_t n = (int64_t)tfr_sequence_length(g->values[s].tensor), at;
    at = (int64_t)fuzz_below(g, (uint64_t)(2 * n + 1)) - n;
    switch (fuzz_below(g, 6)) {
    case 0:
        fuzz_add2(g, "SequenceAt", NULL, s, fuzz_new_scalar(g, TFR_DTYPE_I64, (double)at));
        break;
    case 1:
        fuzz_add2(g, "SequenceErase", NULL, s, fuzz_new_scalar(g, TFR_DTYPE_I64, (double)at));
        break;
    case 2:
        in[1] = fuzz_pick(g, fuzz_is_number_tensor);
        in[2] = fuzz_new_scalar(g, TFR_DTYPE_I64, (double)at);
        fuzz_add(g, "SequenceInsert", NULL, in, 3, 1);
        break;
    case 3:
        fuzz_add1(g, "SequenceLength", NULL, s);
        break;
    default:
        fuzz_add1(g, "ConcatFromSequence",
                  fuzz_chance(g, 60) ? "axis:i=0" : "axis:i=0 new_axis:i=1", s);
    }
}

static void optional(fuzz_gen *g)
{
    int v = fuzz_add1(g, "Optional", NULL, fuzz_pick(g, fuzz_is_number_tensor));
    if (v >= 0)
        fuzz_add1(g, fuzz_chance(g, 50) ? "OptionalGetElement" : "OptionalHasElement", NULL, v);
}

void fuzz_grow_control(fuzz_gen *g)
{
    static void (*const sources[])(fuzz_gen *) = {grow_if,      grow_if,      grow_loop,
                                                  grow_loop,    grow_scan,    make_sequence,
                                                  use_sequence, use_sequence, optional};
    if (g->depth > 2)
        return;
    sources[fuzz_below(g, sizeof sources / sizeof sources[0])](g);
}

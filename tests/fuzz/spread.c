/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c: a model computed node by node on the reference, with an error on each element of each
 * node's output. Half of the runs push all elements of an output the same way, which is what finds
 * decisions on a knife's edge; the others draw each element's error alone, which is what finds
 * cancellation.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/pattern.h"
#include "way.h"

/* Of roundings that an output may be off by; sums of many terms are off by more. */
static double error_of(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_F64:
        return 32 * DBL_EPSILON;
    case TFR_DTYPE_F32:
        return 8 * FLT_EPSILON;
    case TFR_DTYPE_F16:
        return 1.5 * 0x1p-10;
    case TFR_DTYPE_BF16:
        return 1.5 * 0x1p-7;
    default:
        return 0;
    }
}

static double largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs(x[i]) > most)
            most = fabs(x[i]);
    return most;
}

/* ONNX Runtime approximates functions, and computes much of float64 in float32. */
static double peer_scale(unsigned peer, const tfr_tensor *t)
{
    return peer != FUZZ_PEER_ORT                  ? 1
           : tfr_tensor_dtype(t) == TFR_DTYPE_F64 ? FLT_EPSILON / DBL_EPSILON
                                                  : 16;
}

/* A copy with errors. Small elements beside large ones, or of inputs as large as `inner`, get the
 * error of a sum that cancels. */
static tfr_tensor *with_errors(tfr_tensor *t, double scale, double inner, bool integer_too,
                               ops_random *random)
{
    const tfr_dtype dtype = tfr_tensor_dtype(t);
    const int64_t n = tfr_tensor_elements(t);
    const double error = scale * error_of(dtype);
    tfr_tensor *copy = NULL;
    if (tfr_tensor_kind(t) != TFR_KIND_TENSOR || n == 0 || (error == 0 && !integer_too) ||
        tfr_tensor_copy(t, &copy, NULL))
        return tfr_tensor_retain(t);
    double *x = calloc((size_t)n, sizeof *x);
    uint64_t way = ops_random_below(random, 4);
    if (x && !tfr_dtype_convert(TFR_DTYPE_F64, x, dtype, tfr_tensor_data(t), n, NULL)) {
        double floor = fmax(largest(x, n), inner) * error / 16;
        for (int64_t i = 0; i < n; i++) {
            double u = way == 0 ? 1 : way == 1 ? -1 : 2 * ops_random_unit(random) - 1;
            if (integer_too)
                x[i] += (double)ops_random_below(random, 3) - 1;
            else if (fabs(x[i]) <= fmax(floor, dtype == TFR_DTYPE_F32 ? FLT_MIN : 0) &&
                     (way == 1 || ops_random_below(random, 4) == 0))
                x[i] = copysign(0, x[i]); /* subnormal, or all of it cancels */
            else if (isfinite(x[i]) && x[i] != 0)
                x[i] += u * (error * fabs(x[i]) + (way > 1 ? floor : 0));
        }
        if (tfr_dtype_convert(dtype, tfr_tensor_data(copy), TFR_DTYPE_F64, x, n, NULL)) {
            tfr_tensor_release(copy);
            copy = tfr_tensor_retain(t);
        }
    }
    free(x);
    return copy;
}

/* Names that a known difference reaches. */
typedef struct taint {
    fuzz_env names; /* their tensors do not matter */
} taint;

static bool reads_tainted(const taint *t, const fuzz_msg *msg)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_INPUT && f->data && f->n &&
            fuzz_env_get(&t->names, (const char *)f->data))
            return true;
        if (f->msg && reads_tainted(t, f->msg))
            return true;
    }
    return false;
}

/*
 * How much more than one rounding a node's results are off, if they are sums: by a part of the
 * number of terms. That is how many elements of the first input make one of the output, and for
 * products the length of their rows.
 */
static double sum_scale(const fuzz_msg *node, const fuzz_env *env, tfr_tensor *const *outputs)
{
    const fuzz_field *in = fuzz_find(node, FUZZ_NODE_INPUT, 0);
    const tfr_tensor *x = in && in->data ? fuzz_env_get(env, (const char *)in->data) : NULL;
    double terms = 1;
    if (!x || tfr_tensor_kind(x) != TFR_KIND_TENSOR || !outputs[0] ||
        tfr_tensor_kind(outputs[0]) != TFR_KIND_TENSOR)
        return 1;
    const tfr_shape *shape = tfr_tensor_shape(x);
    for (int32_t d = 1; d < shape->rank; d++) /* rows, or windows with all channels */
        terms *= (double)shape->dims[d];
    if (tfr_tensor_elements(outputs[0]) > 0)
        terms =
            fmax(terms, (double)tfr_tensor_elements(x) / (double)tfr_tensor_elements(outputs[0]));
    return 1 + terms / 64;
}

/* What a function of input 0 goes through may be as large as that, up to 1: 1 + erf(x), say. */
static double inner_size(const fuzz_msg *node, const fuzz_env *env)
{
    const fuzz_field *in = fuzz_find(node, FUZZ_NODE_INPUT, 0);
    const tfr_tensor *t = in && in->data ? fuzz_env_get(env, (const char *)in->data) : NULL;
    int64_t n;
    double *x = t ? fuzz_numbers(t, &n) : NULL, size = x ? fmin(1, largest(x, n)) : 0;
    free(x);
    return size;
}

/* QLinear ops may differ by one (docs/differences.md). */
static bool is_quantized_op(const fuzz_msg *node)
{
    return strncmp(fuzz_text(node, FUZZ_NODE_OP), "QLinear", 7) == 0;
}

static bool run_node(fuzz_context *context, const fuzz_msg *model, const fuzz_msg *node,
                     unsigned peer, fuzz_env *env, taint *tainted, ops_random *random)
{
    tfr_tensor *outputs[FUZZ_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    if (fuzz_eval_node(context->runtime, model, node, env, outputs, &err))
        return false;
    bool bad = reads_tainted(tainted, node) || fuzz_known_node(peer, node, env, outputs);
    const double scale = sum_scale(node, env, outputs), inner = inner_size(node, env);
    size_t k = 0;
    for (size_t i = 0; i < node->n && k < FUZZ_MAX_OUTPUTS; i++) {
        const fuzz_field *f = &node->fields[i];
        if (f->number != FUZZ_NODE_OUTPUT || !f->data)
            continue;
        tfr_tensor *t = outputs[k++];
        if (!t)
            continue;
        tfr_tensor *off = random ? with_errors(t, scale * peer_scale(peer, t), inner,
                                               is_quantized_op(node), random)
                                 : tfr_tensor_retain(t);
        fuzz_env_set(env, (const char *)f->data, off);
        if (bad)
            fuzz_env_set(&tainted->names, (const char *)f->data, off);
        tfr_tensor_release(off);
        tfr_tensor_release(t);
    }
    return true;
}

static void begin_with(fuzz_env *env, const char *name, tfr_tensor *t, ops_random *random)
{
    tfr_tensor *off = random ? with_errors(t, 0.25, 0, false, random) : tfr_tensor_retain(t);
    fuzz_env_set(env, name, off);
    tfr_tensor_release(off);
}

static void begin_env(const fuzz_case *c, const fuzz_msg *graph, fuzz_env *env, ops_random *random)
{
    for (size_t i = 0; i < graph->n; i++) {
        const fuzz_field *f = &graph->fields[i];
        if (f->number != FUZZ_GRAPH_INITIALIZER || !f->msg)
            continue;
        tfr_tensor *t = fuzz_tensor_read(f->msg);
        if (t)
            begin_with(env, fuzz_text(f->msg, FUZZ_TENSOR_NAME), t, random);
        tfr_tensor_release(t);
    }
    for (uint32_t i = 0; i < c->n_inputs; i++)
        begin_with(env, tfr_graph_value_name(c->graph, tfr_graph_input(c->graph, i)), c->inputs[i],
                   random);
}

static void widen(fuzz_spread *s, uint32_t i, const tfr_tensor *t)
{
    int64_t n;
    double *x = fuzz_numbers(t, &n);
    if (!x || (s->low[i] && s->n_elements[i] != n)) {
        /* A shape that depends on roundings, say: nothing can be compared. */
        s->anything[i] = s->anything[i] || x;
        free(x);
        return;
    }
    if (!s->low[i]) {
        s->low[i] = x;
        s->high[i] = calloc((size_t)n + 1, sizeof *x);
        s->n_elements[i] = n;
        if (!s->high[i])
            exit(99);
        memcpy(s->high[i], x, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        if (isnan(x[k]) || isnan(s->low[i][k])) {
            s->low[i][k] = s->high[i][k] = NAN;
            continue;
        }
        s->low[i][k] = fmin(s->low[i][k], x[k]);
        s->high[i][k] = fmax(s->high[i][k], x[k]);
    }
    free(x);
}

static bool run_once(fuzz_context *context, const fuzz_case *c, const fuzz_msg *model,
                     unsigned peer, ops_random *random, fuzz_spread *s)
{
    const fuzz_msg *graph = fuzz_child(model, FUZZ_MODEL_GRAPH);
    fuzz_env env = {0};
    taint tainted = {{0}};
    bool good = graph != NULL;
    if (good)
        begin_env(c, graph, &env, random);
    for (size_t i = 0; good && i < graph->n; i++)
        if (graph->fields[i].number == FUZZ_GRAPH_NODE && graph->fields[i].msg)
            good = run_node(context, model, graph->fields[i].msg, peer, &env, &tainted, random);
    for (uint32_t i = 0; good && i < c->n_outputs; i++) {
        const char *name = tfr_graph_output_name(c->graph, i);
        tfr_tensor *t = fuzz_env_get(&env, name);
        s->anything[i] = s->anything[i] || fuzz_env_get(&tainted.names, name);
        if (t)
            widen(s, i, t);
    }
    fuzz_env_finish(&env);
    fuzz_env_finish(&tainted.names);
    return good;
}

bool fuzz_spread_init(fuzz_context *context, const fuzz_case *c, unsigned peer, int n,
                      fuzz_spread *out)
{
    fuzz_msg *model = fuzz_msg_read(c->bytes, c->n, FUZZ_MODEL);
    ops_random random = {12345};
    *out = (fuzz_spread){.n_outputs = c->n_outputs};
    out->low = calloc(c->n_outputs + 1, sizeof *out->low);
    out->high = calloc(c->n_outputs + 1, sizeof *out->high);
    out->anything = calloc(c->n_outputs + 1, sizeof *out->anything);
    out->n_elements = calloc(c->n_outputs + 1, sizeof *out->n_elements);
    if (!out->low || !out->high || !out->anything || !out->n_elements)
        exit(99);
    fuzz_stage(context, "spread");
    /* The first run has no errors. One that an error ends, a shape say, tells nothing. */
    bool good = model && run_once(context, c, model, peer, NULL, out);
    for (int i = 1; i < n && good; i++)
        if (!run_once(context, c, model, peer, &random, out))
            for (uint32_t k = 0; k < c->n_outputs; k++)
                out->anything[k] = true;
    fuzz_msg_destroy(model);
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.c: a graph that computes in float16. Each float32 value of the old graph may be there in
 * either type, or in both with a Cast between them; a node takes float16 where its op has it and
 * its numbers fit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "quantize/quantize.h"

#define GREATEST     65504.0 /* of float16 */
#define LEAST        6e-8    /* what float16 tells from 0, nearly */
#define LEAST_NORMAL 6.2e-5  /* below it float16 loses digits */
#define ROOM         0.9     /* of the greatest that samples may take: other data may have more */

/*
 * Ops whose results go far beyond their operands, as sums and powers, and those whose operands must
 * be exact.
 */
static const char *const kept[] = {"Bernoulli",
                                   "CumSum",
                                   "DFT",
                                   "DequantizeLinear",
                                   "DynamicQuantizeLinear",
                                   "Exp",
                                   "Multinomial",
                                   "NonMaxSuppression",
                                   "Pow",
                                   "QuantizeLinear",
                                   "Range",
                                   "ReduceL1",
                                   "ReduceL2",
                                   "ReduceLogSum",
                                   "ReduceLogSumExp",
                                   "ReduceMean",
                                   "ReduceProd",
                                   "ReduceSum",
                                   "ReduceSumSquare",
                                   "RoiAlign",
                                   "STFT"};

typedef struct half {
    tfr__quantizer *q;
    tfr_value *half;        /* by value of `from`: in float16, or TFR_VALUE_NONE */
    tfr_graph_types *types; /* of the new graph */
} half;

static bool is_float(const half *h, tfr_value v)
{
    const tfr_value_type type = tfr__q_type(h->q, v);
    return type.kind <= TFR_KIND_TENSOR && type.dtype == TFR_DTYPE_F32;
}

/* ---- what an op has -------------------------------------------------------------------------- */

static bool has_word(const char *list, size_t n, const char *word)
{
    const size_t n_word = strlen(word);
    for (size_t i = 0; i + n_word <= n; i++)
        if (strncmp(list + i, word, n_word) == 0 && (i == 0 || list[i - 1] == '|') &&
            (i + n_word == n || list[i + n_word] == '|'))
            return true;
    return false;
}

/* Operand i of "X:T W:T data...:T": the text of its type, or NULL. */
static const char *type_of_operand(const char *list, uint32_t i, size_t *n)
{
    for (const char *at = list; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        const char *colon = memchr(at, ':', length);
        const bool many = strstr(at, "...") && strstr(at, "...") < at + length;
        if (colon && (i == 0 || many)) {
            *n = (size_t)(at + length - colon) - 1;
            return colon + 1;
        }
        i--;
        at += length;
    }
    return NULL;
}

/* May input i be float16? */
static bool takes_half(const tfr_op_desc *op, uint32_t i)
{
    size_t n;
    const char *type = type_of_operand(op->inputs, i, &n);
    if (!type)
        return false;
    for (const char *at = op->types; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        if (length > n && strncmp(at, type, n) == 0 && at[n] == '=')
            return has_word(at + n + 1, length - n - 1, "f16");
        at += length;
    }
    return has_word(type, n, "f16");
}

/* ---- what a node may ------------------------------------------------------------------------- */

/* The greatest magnitude that samples had; 1 where it is not known. */
static double magnitude_of(const half *h, tfr_value v)
{
    double low, high;
    if (!h->q->options->calibration || !is_float(h, v) ||
        tfr_calibration_range(h->q->options->calibration, v, TFR_RANGE_MIN_MAX, &low, &high, NULL))
        return 1;
    return fmax(fabs(low), fabs(high));
}

static const char *look_at_values(const half *h, const tfr_node_view *view)
{
    for (uint32_t i = 0; i < view->n_inputs + view->n_outputs; i++) {
        const tfr_value v =
            i < view->n_inputs ? view->inputs[i] : view->outputs[i - view->n_inputs];
        if (v == TFR_VALUE_NONE)
            continue;
        if (tfr__q_type(h->q, v).kind > TFR_KIND_TENSOR)
            return "it has sequences or optionals";
        if (magnitude_of(h, v) > ROOM * GREATEST)
            return "its values are beyond float16";
        if (magnitude_of(h, v) > 0 && magnitude_of(h, v) < LEAST_NORMAL)
            return "its values are too small for float16";
    }
    return NULL;
}

/* Does it compute in float16? *why is NULL if it does, or has no float32 operands. */
static bool may_be_half(const half *h, const tfr_node_view *view, tfr_op_desc *op, const char **why)
{
    uint32_t n_floats = 0;
    *why = TFR__Q_SUBGRAPHS;
    if (view->n_subgraphs)
        return false;
    *why = NULL;
    for (uint32_t i = 0; i < view->n_inputs; i++)
        n_floats += is_float(h, view->inputs[i]);
    if (!n_floats)
        return false;
    *why = "its name or op was left out";
    if (!tfr__q_is_wanted(h->q, view))
        return false;
    *why = "its op goes beyond float16 easily, or needs exact numbers";
    if (tfr__q_is_among(view, kept, sizeof kept / sizeof *kept))
        return false;
    *why = look_at_values(h, view);
    if (*why)
        return false;
    *why = "its op has no float16";
    if (tfr_op_describe((uint32_t)tfr_op_find(view->domain, view->op), op, NULL))
        return false;
    for (uint32_t i = 0; i < view->n_inputs; i++)
        if (is_float(h, view->inputs[i]) && takes_half(op, i)) {
            *why = NULL;
            return true;
        }
    return false;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void note_clamped(const half *h, tfr_value v, int64_t n, double greatest)
{
    char text[120];
    tfr_quantize_note note = {sizeof note, TFR_QUANTIZE_CLAMPED,
                              tfr_graph_value_name(h->q->from, v), "", text};
    if (greatest > GREATEST)
        snprintf(text, sizeof text,
                 "%lld of its numbers are beyond float16, up to %.4g, and become 65504",
                 (long long)n, greatest);
    else
        snprintf(text, sizeof text, "it is %.4g, which float16 rounds to 0, and becomes 6e-08",
                 greatest);
    if (n && h->q->options->note)
        h->q->options->note(h->q->options->user, &note);
}

/* Numbers that float16 has: infinities and NaN stay. A single number that is not 0, such as an
 * epsilon, does not become 0. */
static int64_t clamp_numbers(float *x, int64_t n, double *greatest)
{
    int64_t clamped = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs((double)x[i]) > GREATEST) {
            *greatest = fmax(*greatest, fabs((double)x[i]));
            x[i] = x[i] > 0 ? (float)GREATEST : (float)-GREATEST;
            clamped++;
        }
    if (n == 1 && x[0] != 0 && fabs((double)x[0]) < LEAST / 2) {
        *greatest = (double)x[0];
        x[0] = x[0] > 0 ? (float)LEAST : (float)-LEAST;
        clamped = 1;
    }
    return clamped;
}

static tfr_status half_constant(half *h, tfr_value v, tfr_tensor *tensor, tfr_err *err)
{
    const int64_t n = tfr_tensor_elements(tensor);
    tfr_tensor *copy = NULL, *made = NULL;
    double greatest = 0;
    int64_t clamped = 0;
    tfr_status status = tfr_tensor_copy(tensor, &copy, err);
    if (!status && n) {
        clamped = clamp_numbers(tfr_tensor_data(copy), n, &greatest);
        note_clamped(h, v, clamped, greatest);
    }
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F16, tfr_tensor_shape(tensor), &made, err);
    if (!status && n)
        status = tfr_dtype_convert(TFR_DTYPE_F16, tfr_tensor_data(made), TFR_DTYPE_F32,
                                   tfr_tensor_data(copy), n, err);
    if (!status)
        status = tfr__q_add(h->q, tfr_graph_value_name(h->q->from, v), "_float16", made,
                            &h->half[v], err);
    tfr_tensor_release(copy);
    tfr_tensor_release(made);
    return status;
}

/* ---- values in either type ------------------------------------------------------------------- */

static tfr_status add_cast(half *h, tfr_value v, tfr_value x, tfr_dtype dtype, tfr_value *out,
                           tfr_err *err)
{
    char name[TFR__Q_NAME], node[TFR__Q_NAME];
    const char *base = tfr_graph_value_name(h->q->from, v);
    const char *names[] = {
        tfr__q_name(h->q, base, dtype == TFR_DTYPE_F16 ? "_float16" : "_float32", name)};
    const tfr_attr attrs[] = {TFR_SET_INT("to", dtype)};
    const tfr_node_desc desc = {.size = sizeof desc,
                                .op = "Cast",
                                .name = node,
                                .inputs = &x,
                                .n_inputs = 1,
                                .output_names = names,
                                .n_outputs = 1,
                                .attrs = attrs,
                                .n_attrs = 1};
    snprintf(node, sizeof node, "%.*s_Cast", TFR__Q_NAME - 64, names[0]);
    return tfr_graph_add_node(h->q->copy.to, &desc, out, err);
}

/* The value in float16 or float32, which may have to be made. */
static tfr_status get(half *h, tfr_value v, bool in_half, tfr_value *out, tfr_err *err)
{
    tfr_value *wanted = in_half ? &h->half[v] : &h->q->copy.map[v];
    tfr_tensor *constant = in_half ? tfr__q_constant(h->q, v) : NULL;
    tfr_status status = TFR_OK;
    if (*wanted == TFR_VALUE_NONE && constant)
        status = half_constant(h, v, constant, err);
    else if (*wanted == TFR_VALUE_NONE)
        status = add_cast(h, v, in_half ? h->q->copy.map[v] : h->half[v],
                          in_half ? TFR_DTYPE_F16 : TFR_DTYPE_F32, wanted, err);
    *out = *wanted;
    return status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tfr_status sort_outputs(half *h, const tfr_node_view *view, tfr_err *err)
{
    tfr_status status = tfr_graph_types_update(h->types, err);
    for (uint32_t i = 0; !status && i < view->n_outputs; i++) {
        const tfr_value v = view->outputs[i];
        tfr_value_type type = {.size = sizeof type};
        if (v == TFR_VALUE_NONE || !is_float(h, v))
            continue;
        status = tfr_graph_types_get(h->types, NULL, h->q->copy.map[v], &type, err);
        if (status || type.dtype != TFR_DTYPE_F16)
            continue;
        h->half[v] = h->q->copy.map[v];
        h->q->copy.map[v] = TFR_VALUE_NONE;
    }
    return status;
}

static tfr_status set_operands(half *h, const tfr_node_view *view, const tfr_op_desc *op,
                               bool in_half, tfr_value *instead, tfr_err *err)
{
    tfr_status status = TFR_OK;
    tfr_value unused;
    for (uint32_t i = 0; !status && i < view->n_inputs; i++) {
        instead[i] = TFR_VALUE_NONE;
        if (is_float(h, view->inputs[i]))
            status = get(h, view->inputs[i], in_half && takes_half(op, i), &instead[i], err);
    }
    for (uint32_t i = 0; !status && i < view->n_captures; i++)
        if (is_float(h, view->captures[i]))
            status = get(h, view->captures[i], false, &unused, err);
    return status;
}

static tfr_status write_node(half *h, const tfr_node_view *view, tfr_err *err)
{
    tfr_op_desc op = {.size = sizeof op};
    const char *why;
    const bool in_half = may_be_half(h, view, &op, &why);
    tfr_value *instead = malloc(((size_t)view->n_inputs + 1) * sizeof *instead);
    tfr_status status =
        instead ? set_operands(h, view, &op, in_half, instead, err)
                : tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    if (!status)
        status = tfr__q_copy(h->q, view, instead, err);
    if (!status && in_half)
        status = sort_outputs(h, view, err);
    if (!status)
        tfr__q_note(h->q, view,
                    in_half ? TFR_QUANTIZE_DONE
                    : why   ? TFR_QUANTIZE_LEFT
                            : TFR_QUANTIZE_OTHER,
                    in_half ? "computed in float16"
                    : why   ? why
                            : "it has no float32 operands");
    free(instead);
    return status;
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* An input of the same name, whose dims have the same names. */
static tfr_status add_input(half *h, uint32_t i, tfr_err *err)
{
    const tfr_graph *from = h->q->from;
    const tfr_value v = tfr_graph_input(from, i);
    const char *name = tfr_graph_value_name(from, v);
    tfr_value_type type;
    const bool in_half = h->q->options->float16_io && is_float(h, v);
    tfr_status status = tfr__copy_type(&h->q->copy, tfr_graph_value_type(from, v), &type, err);
    if (in_half)
        type.dtype = TFR_DTYPE_F16;
    return status ? status
                  : tfr_graph_add_input(h->q->copy.to, name, &type,
                                        in_half ? &h->half[v] : &h->q->copy.map[v], err);
}

static tfr_status add_output(half *h, uint32_t i, tfr_err *err)
{
    const tfr_value v = tfr_graph_output(h->q->from, i);
    tfr_value out = h->q->copy.map[v];
    tfr_status status = TFR_OK;
    if (is_float(h, v))
        status = get(h, v, h->q->options->float16_io != 0, &out, err);
    return status ? status
                  : tfr_graph_add_output(h->q->copy.to, out, tfr_graph_output_name(h->q->from, i),
                                         err);
}

static tfr_status write_graph(half *h, tfr_err *err)
{
    tfr_graph *from = h->q->from;
    tfr_status status = tfr_graph_create(tfr_graph_name(from), &h->q->copy.to, err);
    if (!status)
        status = tfr__copy_enter(&h->q->copy, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(from); i++)
        status = add_input(h, i, err);
    if (!status)
        status = tfr_graph_types_create(h->q->copy.to, &h->types, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(from); i++) {
        tfr_node_view view = {.size = sizeof view};
        status = tfr_graph_node(from, i, &view, err);
        if (!status)
            status = write_node(h, &view, err);
    }
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(from); i++)
        status = add_output(h, i, err);
    return status;
}

tfr_status tfr__q_half(tfr__quantizer *q, tfr_err *err)
{
    const size_t n = tfr_graph_n_values(q->from);
    half h = {.q = q, .half = malloc((n + 1) * sizeof *h.half)};
    tfr_status status;
    if (!h.half)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %zu values", n);
    for (size_t i = 0; i < n; i++)
        h.half[i] = TFR_VALUE_NONE;
    status = write_graph(&h, err);
    tfr_graph_types_release(h.types);
    free(h.half);
    return status;
}

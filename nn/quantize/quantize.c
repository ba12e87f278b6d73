/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c: see tfrun/quantize.h: checks what is asked for, and copies the graph in that form. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/dtype.h>
#include <tfrun/fail.h>

#include "quantize/calibration.h"
#include "quantize/quantize.h"

static tfr_status check_options(const tfr_quantize_options *o, const tfr_graph *graph, tfr_err *err)
{
    if (o->form < TFR_QUANTIZE_INT8 || o->form > TFR_QUANTIZE_F16)
        return tfr_fail(err, TFR_EINVAL, "%d is no form of quantization", (int)o->form);
    if (o->range_method != TFR_RANGE_MIN_MAX && o->range_method != TFR_RANGE_MSE)
        return tfr_fail(err, TFR_EINVAL, "%d is no method for ranges", (int)o->range_method);
    if (o->activations && o->activations != TFR_DTYPE_I8 && o->activations != TFR_DTYPE_U8)
        return tfr_fail(err, TFR_EINVAL, "activations are int8 or uint8, not %s",
                        tfr_dtype_name((tfr_dtype)o->activations));
    if (o->dynamic && (o->form != TFR_QUANTIZE_INT8 || o->calibration))
        return tfr_fail(err, TFR_EINVAL, "only int8 without a calibration can be dynamic");
    if (o->block_size && (o->block_size < TFR__Q_LEAST_BLOCK || o->block_size > 1 << 20 ||
                          (o->block_size & (o->block_size - 1))))
        return tfr_fail(err, TFR_EINVAL,
                        "a block of %lld weights is not possible; give a power of two from %d on",
                        (long long)o->block_size, TFR__Q_LEAST_BLOCK);
    if (o->calibration && tfr__calibration_graph(o->calibration) != graph)
        return tfr_fail(err, TFR_EINVAL, "the calibration is one of another graph");
    return TFR_OK;
}

/* The state of a training has no place in a file that keeps nothing between runs. */
static tfr_status check_graph(const tfr_graph *graph, tfr_err *err)
{
    for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++) {
        tfr_value_view view = {.size = sizeof view};
        tfr_status status = tfr_graph_value(graph, (tfr_value)v, &view, err);
        if (!status && view.role == TFR_ROLE_VARIABLE && view.update != TFR_VALUE_NONE)
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "variable \"%s\" changes from run to run; quantize the graph that is "
                              "exported after training",
                              tfr_graph_value_name(graph, (tfr_value)v));
        if (status)
            return status;
    }
    return TFR_OK;
}

static tfr_status add_outputs(tfr__quantizer *q, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(q->from); i++)
        status = tfr_graph_add_output(q->copy.to, q->copy.map[tfr_graph_output(q->from, i)],
                                      tfr_graph_output_name(q->from, i), err);
    return status;
}

/* A mistake here must not become a file that no runtime takes. */
static tfr_status check_result(tfr_graph *graph, tfr_err *err)
{
    tfr_graph_types *types = NULL;
    tfr_status status = tfr_graph_infer(graph, &types, err);
    tfr_graph_types_release(types);
    return status;
}

static void finish(tfr__quantizer *q, tfr_graph **out)
{
    tfr__copy_finish(&q->copy, out);
    tfr_graph_types_release(q->types);
    for (uint32_t i = 0; i < q->n_made; i++)
        free(q->made[i].scales);
    free(q->made);
    free(q->last_made);
    free(q->dynamic);
}

static tfr_status run(tfr__quantizer *q, tfr_err *err)
{
    tfr_status status;
    if (q->options->form == TFR_QUANTIZE_F16)
        return tfr__q_half(q, err);
    status = tfr__copy_begin(&q->copy, err);
    if (!status)
        status = tfr__q_begin_dynamic(q, err);
    if (!status)
        status = q->options->form == TFR_QUANTIZE_INT8 && q->options->calibration
                     ? tfr__q_static(q, err)
                     : tfr__q_weights_only(q, err);
    return status ? status : add_outputs(q, err);
}

tfr_status tfr_graph_quantize(tfr_graph *graph, const tfr_quantize_options *given, tfr_graph **out,
                              tfr_err *err)
{
    tfr_quantize_options options = TFR_QUANTIZE_OPTIONS_INIT(0);
    tfr__quantizer q = {.options = &options, .from = graph};
    tfr_graph *made = NULL;
    tfr_status status;
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    q.copy.from = graph;
    q.copy.user = &q;
    status = check_options(&options, graph, err);
    if (!status)
        status = check_graph(graph, err);
    q.last_made = calloc((size_t)tfr_graph_n_values(graph) + 1, sizeof *q.last_made);
    if (!status && !q.last_made)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for graph \"%s\"", tfr_graph_name(graph));
    if (!status)
        status = tfr_graph_infer(graph, &q.types, err);
    if (!status)
        status = run(&q, err);
    finish(&q, status ? NULL : &made);
    if (!status)
        status = check_result(made, err);
    if (status)
        tfr_graph_release(made);
    else
        *out = made;
    return status;
}

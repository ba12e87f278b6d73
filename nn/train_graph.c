/* SPDX-License-Identifier: Apache-2.0 */
/* train_graph.c: see train_graph.h. */
#include "train_graph.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/autodiff.h>
#include <tfrun/fail.h>

/* What the copies share. */
typedef struct making {
    const tfr__train_model *model;
    bool trains;           /* nodes are in training mode */
    bool unbiased;         /* running variances, as PyTorch has them */
    bool *flows;           /* by value of `from`, in training: a weight is behind it */
    tfr_session *session;  /* whose variables are constants here, or NULL */
    tfr_value *statistics; /* of `to`: running statistic, what it becomes, and so on */
    uint32_t n_statistics;
} making;

/* ---- the model, copied ----------------------------------------------------------------------- */

/* A part becomes a variable, or the constant that the session's variable is now. */
static tfr_status take_value(tfr__copy *copy, tfr_value v, const tfr_value_view *view,
                             tfr_value *out, tfr_err *err)
{
    const making *m = copy->user;
    const char *name = tfr_graph_value_name(copy->from, v);
    tfr_tensor *now = NULL;
    tfr_status status;
    if (m->model->parts[v] == TFR__PART_FIXED)
        return TFR_OK;
    if (!m->session)
        return tfr_graph_add_variable(copy->to, name, view->tensor, out, err);
    status = tfr_session_get_variable(m->session, name, &now, err);
    if (!status)
        status = tfr_graph_add_constant(copy->to, name, now, out, err);
    tfr_tensor_release(now);
    return status;
}

static tfr_value mapped(const tfr__copy *copy, const tfr_node_view *node, uint32_t i)
{
    return i < node->n_inputs && node->inputs[i] != TFR_VALUE_NONE ? copy->map[node->inputs[i]]
                                                                   : TFR_VALUE_NONE;
}

/* BatchNormTrain: y, the running mean and variance as they become, and what the gradient reads. */
static tfr_status add_batch_norm(tfr__copy *copy, const tfr_node_view *node, tfr_err *err)
{
    making *m = copy->user;
    const tfr_attr *epsilon = tfr_node_attr(node, "epsilon");
    const tfr_attr *momentum = tfr_node_attr(node, "momentum");
    tfr_node_view trains = *node;
    tfr_attr attrs[3] = {TFR_SET_INT("unbiased", m->unbiased)};
    tfr_value in[5], out[5];
    uint32_t n = 1;
    tfr_status status;
    if (epsilon)
        attrs[n++] = *epsilon;
    if (momentum)
        attrs[n++] = *momentum;
    for (uint32_t i = 0; i < 5; i++)
        in[i] = mapped(copy, node, i);
    trains.domain = "tfrun";
    trains.op = "BatchNormTrain";
    status = tfr__copy_node(copy, &trains, in, 5, attrs, n, out, 5, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != TFR_VALUE_NONE)
            copy->map[node->outputs[i]] = out[i];
    for (uint32_t i = 0; i < 2; i++)
        if (m->model->parts[node->inputs[3 + i]] == TFR__PART_RUNNING) {
            m->statistics[m->n_statistics++] = in[3 + i];
            m->statistics[m->n_statistics++] = out[1 + i];
        }
    return TFR_OK;
}

static tfr_status add_dropout(tfr__copy *copy, const tfr_node_view *node, tfr_err *err)
{
    tfr__kit kit = {.graph = copy->to, .err = err};
    tfr_value in[3] = {mapped(copy, node, 0), mapped(copy, node, 1),
                       tfr__kit_scalar(&kit, TFR_DTYPE_BOOL, 1)};
    const tfr_attr *seed = tfr_node_attr(node, "seed");
    tfr_value out[2]; /* the gradient reads the mask */
    tfr_status status = kit.status;
    if (!status)
        status = tfr__copy_node(copy, node, in, 3, seed, seed ? 1 : 0, out, 2, err);
    for (uint32_t i = 0; !status && i < node->n_outputs; i++)
        if (node->outputs[i] != TFR_VALUE_NONE)
            copy->map[node->outputs[i]] = out[i];
    return status;
}

/* Is the gradient of the node wanted? */
static bool flows_through(making *m, const tfr_node_view *node)
{
    bool flows = false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tfr_value v = node->inputs[i];
        flows = flows ||
                (v != TFR_VALUE_NONE && (m->flows[v] || m->model->parts[v] == TFR__PART_WEIGHT));
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != TFR_VALUE_NONE)
            m->flows[node->outputs[i]] = flows;
    return flows;
}

static tfr_status take_node(tfr__copy *copy, uint32_t i, const tfr_node_view *node, bool *done,
                            tfr_err *err)
{
    making *m = copy->user;
    const bool flows = m->trains && flows_through(m, node);
    (void)i;
    *done = true;
    if (m->trains && !node->domain[0] && strcmp(node->op, "BatchNormalization") == 0)
        return add_batch_norm(copy, node, err);
    if (m->trains && !node->domain[0] && strcmp(node->op, "Dropout") == 0)
        return add_dropout(copy, node, err);
    /* The gradient reads the Indices in the order of memory. */
    if (flows && !node->domain[0] && strcmp(node->op, "MaxPool") == 0 && node->n_outputs == 1 &&
        !tfr_node_attr(node, "storage_order"))
        return tfr__copy_plain(copy, node, 2, err);
    *done = false;
    return TFR_OK;
}

static tfr_status copy_model(tfr__copy *copy, making *m, tfr_err *err)
{
    tfr_status status;
    *copy = (tfr__copy){.from = m->model->graph, .value = take_value, .node = take_node, .user = m};
    if (m->trains) {
        m->statistics =
            calloc((size_t)4 * tfr_graph_n_nodes(m->model->graph) + 1, sizeof *m->statistics);
        m->flows = calloc((size_t)tfr_graph_n_values(m->model->graph) + 1, sizeof *m->flows);
        if (!m->statistics || !m->flows)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for a step of graph \"%s\"",
                            tfr_graph_name(m->model->graph));
    }
    status = tfr__copy_begin(copy, err);
    return status ? status : tfr__copy_nodes(copy, err);
}

/* ---- the graphs ------------------------------------------------------------------------------ */

static tfr_value add_targets(tfr__kit *kit, const tfr__train_model *m)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_value_type type = m->targets;
    const tfr_value_type *input = tfr_graph_value_type(kit->graph, tfr_graph_input(kit->graph, 0));
    if (type.rank_known && input->rank_known && input->rank)
        type.dims[0] = input->dims[0]; /* the same batch */
    if (!kit->status)
        kit->status = tfr_graph_add_input(kit->graph, "target", &type, &out, kit->err);
    return out;
}

static void add_output(tfr__kit *kit, tfr_value v, const char *name)
{
    if (!kit->status)
        kit->status = tfr_graph_add_output(kit->graph, v, name, kit->err);
}

static void add_updates(tfr__kit *kit, const tfr__copy *copy, const making *m,
                        const tfr__optimizer *optimizer, tfr_value loss)
{
    const uint32_t n_values = tfr_graph_n_values(copy->from);
    tfr_value *weights = malloc(2 * ((size_t)n_values + 1) * sizeof *weights);
    tfr_value *gradients = weights ? weights + n_values : NULL;
    tfr_value scale = tfr__loss_scale(kit, optimizer), when;
    uint32_t n = 0;
    if (scale != TFR_VALUE_NONE)
        loss = tfr__kit_op2(kit, "Mul", loss, scale);
    if (!weights && !kit->status)
        kit->status = tfr_fail(kit->err, TFR_ENOMEM, "out of memory for the weights of a step");
    for (uint32_t v = 0; !kit->status && v < n_values; v++)
        if (m->model->parts[v] == TFR__PART_WEIGHT)
            weights[n++] = copy->map[v];
    if (!kit->status)
        kit->status = tfr_graph_gradient(kit->graph, loss, weights, n, gradients, kit->err);
    if (!kit->status) {
        when = tfr__accumulate(kit, optimizer, scale, weights, gradients, n);
        tfr__optimizer_add(kit, optimizer, when, weights, gradients, n);
    }
    for (uint32_t i = 0; i < m->n_statistics; i += 2)
        tfr__kit_update(kit, m->statistics[i], m->statistics[i + 1]);
    free(weights);
}

tfr_status tfr__train_step_graph(const tfr__train_model *model, const tfr__optimizer *optimizer,
                                 tfr_graph **out, tfr_err *err)
{
    making m = {.model = model, .trains = true, .unbiased = optimizer->torch};
    tfr__copy copy = {.to = NULL};
    tfr__kit kit = {.err = err};
    tfr_value scores, targets, loss;
    kit.status = copy_model(&copy, &m, err);
    kit.graph = copy.to;
    if (!kit.status) {
        scores = copy.map[model->scores];
        targets = add_targets(&kit, model);
        loss = tfr__train_add_loss(&kit, model, true, scores, targets);
        tfr__train_add_metrics(&kit, model, loss, scores, targets);
        add_output(&kit, loss, "loss");
        add_updates(&kit, &copy, &m, optimizer, loss);
    }
    tfr__copy_finish(&copy, kit.status ? NULL : out);
    free(m.statistics);
    free(m.flows);
    return kit.status;
}

tfr_status tfr__train_evaluation_graph(const tfr__train_model *model, tfr_graph **out, tfr_err *err)
{
    making m = {.model = model};
    tfr__copy copy = {.to = NULL};
    tfr__kit kit = {.err = err};
    tfr_value scores, targets;
    kit.status = copy_model(&copy, &m, err);
    kit.graph = copy.to;
    if (!kit.status) {
        scores = copy.map[model->scores];
        targets = add_targets(&kit, model);
        add_output(&kit, tfr__train_add_loss(&kit, model, false, scores, targets), "loss");
        if (model->loss == TFR__LOSS_SOFTMAX)
            add_output(&kit, tfr__train_add_accuracy(&kit, scores, targets), "accuracy");
    }
    tfr__copy_finish(&copy, kit.status ? NULL : out);
    return kit.status;
}

tfr_status tfr__train_trained_graph(const tfr__train_model *model, tfr_session *session,
                                    tfr_graph **out, tfr_err *err)
{
    making m = {.model = model, .session = session};
    tfr__copy copy = {.to = NULL};
    tfr_status status = copy_model(&copy, &m, err);
    tfr_value output = tfr_graph_output(model->graph, 0);
    if (!status)
        status = tfr_graph_add_output(copy.to, copy.map[output],
                                      tfr_graph_output_name(model->graph, 0), err);
    tfr__copy_finish(&copy, status ? NULL : out);
    return status;
}

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

/* y, and the running mean and variance as they become. */
static tfr_status add_batch_norm(tfr__copy *copy, const tfr_node_view *node, tfr_err *err)
{
    making *m = copy->user;
    const tfr_attr *epsilon = tfr_node_attr(node, "epsilon");
    const tfr_attr *momentum = tfr_node_attr(node, "momentum");
    tfr_attr attrs[3] = {TFR_SET_INT("training_mode", 1)};
    tfr_value in[5], out[3];
    uint32_t n = 1;
    tfr_status status;
    if (epsilon)
        attrs[n++] = *epsilon;
    if (momentum)
        attrs[n++] = *momentum;
    for (uint32_t i = 0; i < 5; i++)
        in[i] = mapped(copy, node, i);
    status = tfr__copy_node(copy, node, in, 5, attrs, n, out, 3, err);
    if (status)
        return status;
    copy->map[node->outputs[0]] = out[0];
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

static tfr_status take_node(tfr__copy *copy, uint32_t i, const tfr_node_view *node, bool *done,
                            tfr_err *err)
{
    const making *m = copy->user;
    (void)i;
    if (!m->trains || node->domain[0])
        return TFR_OK;
    if (strcmp(node->op, "BatchNormalization") == 0) {
        *done = true;
        return add_batch_norm(copy, node, err);
    }
    if (strcmp(node->op, "Dropout") == 0) {
        *done = true;
        return add_dropout(copy, node, err);
    }
    return TFR_OK;
}

static tfr_status copy_model(tfr__copy *copy, making *m, tfr_err *err)
{
    tfr_status status;
    *copy = (tfr__copy){.from = m->model->graph, .value = take_value, .node = take_node, .user = m};
    if (m->trains) {
        m->statistics =
            calloc((size_t)4 * tfr_graph_n_nodes(m->model->graph) + 1, sizeof *m->statistics);
        if (!m->statistics)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for a step of graph \"%s\"",
                            tfr_graph_name(m->model->graph));
    }
    status = tfr__copy_begin(copy, err);
    return status ? status : tfr__copy_nodes(copy, err);
}

/* ---- loss and metrics ------------------------------------------------------------------------ */

static tfr_value add_loss(tfr__kit *kit, const tfr__train_model *m, tfr_value scores,
                          tfr_value targets)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value each;
    kit->scope = "loss";
    switch (m->loss) {
    case TFR__LOSS_SOFTMAX:
        return tfr__kit_op2(kit, "SoftmaxCrossEntropyLoss", scores, targets);
    case TFR__LOSS_SIGMOID: /* -y log s(x) - (1 - y) log(1 - s(x)) = softplus(x) - x y */
        each = tfr__kit_op2(kit, "Sub", tfr__kit_op1(kit, "Softplus", scores),
                            tfr__kit_op2(kit, "Mul", scores, targets));
        return tfr__kit_node(kit, "ReduceMean", &each, 1, attrs, 1);
    default:
        each = tfr__kit_op2(kit, "Sub", scores, targets);
        each = tfr__kit_op2(kit, "Mul", each, each);
        return tfr__kit_node(kit, "ReduceMean", &each, 1, attrs, 1);
    }
}

/* Of how many of the targets, as a part of 1, the highest score is that of their class. */
static tfr_value add_accuracy(tfr__kit *kit, tfr_value scores, tfr_value targets)
{
    const tfr_attr arg_max[] = {TFR_SET_INT("axis", 1), TFR_SET_INT("keepdims", 0)};
    const tfr_attr mean[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value best = tfr__kit_node(kit, "ArgMax", &scores, 1, arg_max, 2);
    tfr_value right = tfr__kit_cast(kit, tfr__kit_op2(kit, "Equal", best, targets), TFR_DTYPE_F64);
    return tfr__kit_node(kit, "ReduceMean", &right, 1, mean, 1);
}

static void add_to(tfr__kit *kit, const char *name, tfr_dtype dtype, tfr_value share)
{
    tfr_value sum = tfr__kit_variable(kit, name, dtype, &(tfr_shape){.rank = 0}, 0);
    tfr__kit_update(kit, sum, tfr__kit_op2(kit, "Add", sum, share));
}

/* Sums over samples, in state. */
static void add_metrics(tfr__kit *kit, const tfr__train_model *m, tfr_value loss, tfr_value scores,
                        tfr_value targets)
{
    const tfr_attr first[] = {TFR_SET_INT("start", 0), TFR_SET_INT("end", 1)};
    const tfr_attr sum[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value n, samples;
    kit->scope = "metrics";
    n = tfr__kit_node(kit, "Shape", &targets, 1, first, 2);
    n = tfr__kit_node(kit, "ReduceSum", &n, 1, sum, 1); /* of rank 0 */
    samples = tfr__kit_cast(kit, n, TFR_DTYPE_F64);
    add_to(kit, TFR__LOSS_SUM, TFR_DTYPE_F64,
           tfr__kit_op2(kit, "Mul", tfr__kit_cast(kit, loss, TFR_DTYPE_F64), samples));
    add_to(kit, TFR__N_SAMPLES, TFR_DTYPE_I64, n);
    if (m->loss == TFR__LOSS_SOFTMAX)
        add_to(kit, TFR__ACCURACY_SUM, TFR_DTYPE_F64,
               tfr__kit_op2(kit, "Mul", add_accuracy(kit, scores, targets), samples));
}

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

/* ---- the graphs ------------------------------------------------------------------------------ */

static void add_updates(tfr__kit *kit, const tfr__copy *copy, const making *m,
                        const tfr__optimizer *optimizer, tfr_value loss)
{
    const uint32_t n_values = tfr_graph_n_values(copy->from);
    tfr_value *weights = malloc(2 * ((size_t)n_values + 1) * sizeof *weights);
    tfr_value *gradients = weights ? weights + n_values : NULL;
    uint32_t n = 0;
    if (!weights && !kit->status)
        kit->status = tfr_fail(kit->err, TFR_ENOMEM, "out of memory for the weights of a step");
    for (uint32_t v = 0; !kit->status && v < n_values; v++)
        if (m->model->parts[v] == TFR__PART_WEIGHT)
            weights[n++] = copy->map[v];
    if (!kit->status)
        kit->status = tfr_graph_gradient(kit->graph, loss, weights, n, gradients, kit->err);
    if (!kit->status)
        tfr__optimizer_add(kit, optimizer, weights, gradients, n);
    for (uint32_t i = 0; i < m->n_statistics; i += 2)
        tfr__kit_update(kit, m->statistics[i], m->statistics[i + 1]);
    free(weights);
}

tfr_status tfr__train_step_graph(const tfr__train_model *model, const tfr__optimizer *optimizer,
                                 tfr_graph **out, tfr_err *err)
{
    making m = {.model = model, .trains = true};
    tfr__copy copy = {.to = NULL};
    tfr__kit kit = {.err = err};
    tfr_value scores, targets, loss;
    kit.status = copy_model(&copy, &m, err);
    kit.graph = copy.to;
    if (!kit.status) {
        scores = copy.map[model->scores];
        targets = add_targets(&kit, model);
        loss = add_loss(&kit, model, scores, targets);
        add_metrics(&kit, model, loss, scores, targets);
        add_output(&kit, loss, "loss");
        add_updates(&kit, &copy, &m, optimizer, loss);
    }
    tfr__copy_finish(&copy, kit.status ? NULL : out);
    free(m.statistics);
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
        add_output(&kit, add_loss(&kit, model, scores, targets), "loss");
        if (model->loss == TFR__LOSS_SOFTMAX)
            add_output(&kit, add_accuracy(&kit, scores, targets), "accuracy");
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

/* SPDX-License-Identifier: Apache-2.0 */
/* train_loss.c: losses and metrics of the graphs of a trainer. */
#include "train_graph.h"

static tfr_value mean(tfr__kit *kit, tfr_value v)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", 0)};
    return tfr__kit_node(kit, "ReduceMean", &v, 1, attrs, 1);
}

static tfr_value times(tfr__kit *kit, tfr_value v, double factor)
{
    return tfr__kit_op2(kit, "Mul", v, tfr__kit_scalar(kit, TFR_DTYPE_F32, factor));
}

/* The same with -w[class] log p[class]. */
static tfr_value weighted_entropy(tfr__kit *kit, const tfr__train_model *m, tfr_value scores,
                                  tfr_value targets)
{
    const tfr_attr none[] = {TFR_SET_STRING("reduction", "none")};
    tfr_value in[] = {scores, targets, TFR_VALUE_NONE}, out[2];
    if (!kit->status)
        kit->status =
            tfr_graph_add_constant(kit->graph, "loss.weights", m->weights, &in[2], kit->err);
    tfr__kit_nodes(kit, "SoftmaxCrossEntropyLoss", in, 3, none, m->by_weights ? 0 : 1, out, 2);
    return m->by_weights ? out[0] : mean(kit, out[0]);
}

/* The mean of -log p[class], and with s of smoothing (1 - s) of it and s times that of all classes;
 * the gradient reads log_prob. */
static tfr_value cross_entropy(tfr__kit *kit, double smoothing, bool trains, tfr_value scores,
                               tfr_value targets)
{
    tfr_value out[2];
    tfr__kit_nodes(kit, "SoftmaxCrossEntropyLoss", (const tfr_value[]){scores, targets}, 2, NULL, 0,
                   out, trains || smoothing > 0 ? 2 : 1);
    if (smoothing == 0)
        return out[0];
    return tfr__kit_op2(kit, "Sub", times(kit, out[0], 1 - smoothing),
                        times(kit, mean(kit, out[1]), smoothing));
}

tfr_value tfr__train_add_loss(tfr__kit *kit, const tfr__train_model *m, bool trains,
                              tfr_value scores, tfr_value targets)
{
    tfr_value each;
    kit->scope = "loss";
    switch (m->loss) {
    case TFR__LOSS_SOFTMAX:
        if (trains && m->weights)
            return weighted_entropy(kit, m, scores, targets);
        return cross_entropy(kit, m->smoothing, trains, scores, targets);
    case TFR__LOSS_SIGMOID: /* -y log s(x) - (1 - y) log(1 - s(x)) = softplus(x) - x y */
        if (m->smoothing > 0)
            targets = tfr__kit_op2(kit, "Add", times(kit, targets, 1 - m->smoothing),
                                   tfr__kit_scalar(kit, TFR_DTYPE_F32, m->smoothing / 2));
        each = tfr__kit_op2(kit, "Sub", tfr__kit_op1(kit, "Softplus", scores),
                            tfr__kit_op2(kit, "Mul", scores, targets));
        return mean(kit, each);
    default:
        each = tfr__kit_op2(kit, "Sub", scores, targets);
        return mean(kit, tfr__kit_op2(kit, "Mul", each, each));
    }
}

/* 1 where the highest score is that of the target's class, else 0. */
static tfr_value add_hits(tfr__kit *kit, tfr_value scores, tfr_value targets)
{
    const tfr_attr attrs[] = {TFR_SET_INT("axis", 1), TFR_SET_INT("keepdims", 0)};
    tfr_value best = tfr__kit_node(kit, "ArgMax", &scores, 1, attrs, 2);
    return tfr__kit_cast(kit, tfr__kit_op2(kit, "Equal", best, targets), TFR_DTYPE_F64);
}

tfr_value tfr__train_add_accuracy(tfr__kit *kit, tfr_value scores, tfr_value targets)
{
    return mean(kit, add_hits(kit, scores, targets));
}

static void add_to(tfr__kit *kit, const char *name, tfr_dtype dtype, tfr_value share)
{
    tfr_value sum = tfr__kit_variable(kit, name, dtype, &(tfr_shape){.rank = 0}, 0);
    tfr__kit_update(kit, sum, tfr__kit_op2(kit, "Add", sum, share));
}

/* The number of samples whose class has the highest score; with several targets a sample, each is
 * a part of one. */
static tfr_value add_right(tfr__kit *kit, const tfr__train_model *m, tfr_value n, tfr_value scores,
                           tfr_value targets)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value hits;
    if (!m->targets.rank_known || m->targets.rank != 1)
        return tfr__kit_op2(kit, "Mul", tfr__train_add_accuracy(kit, scores, targets), n);
    hits = add_hits(kit, scores, targets);
    return tfr__kit_node(kit, "ReduceSum", &hits, 1, attrs, 1);
}

void tfr__train_add_metrics(tfr__kit *kit, const tfr__train_model *m, tfr_value loss,
                            tfr_value scores, tfr_value targets)
{
    const tfr_attr first[] = {TFR_SET_INT("start", 0), TFR_SET_INT("end", 1)};
    tfr_value n, samples;
    kit->scope = "metrics";
    samples = tfr__kit_node(kit, "Shape", &targets, 1, first, 2);
    samples = tfr__kit_op1(kit, "Squeeze", samples);
    n = tfr__kit_cast(kit, samples, TFR_DTYPE_F64);
    add_to(kit, TFR__LOSS_SUM, TFR_DTYPE_F64,
           tfr__kit_op2(kit, "Mul", tfr__kit_cast(kit, loss, TFR_DTYPE_F64), n));
    add_to(kit, TFR__N_SAMPLES, TFR_DTYPE_I64, samples);
    if (m->loss == TFR__LOSS_SOFTMAX)
        add_to(kit, TFR__ACCURACY_SUM, TFR_DTYPE_F64, add_right(kit, m, n, scores, targets));
}

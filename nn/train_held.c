/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_held.c: the step of a training whose samples are constants of its graph. What it gets for
 * some batches is the numbers of samples, and it gathers them itself, bytes of images divided by
 * 255 as tfr_dataset_gather does. So a device that has memory of its own has the samples there, and
 * neither the host nor the way to the device is in a step.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "data/dataset.h"
#include "train_graph.h"

static void let_go(void *user)
{
    tfr_dataset_release(user);
}

/* `each` of n samples that lie behind each other; the constant keeps the data set. */
static tfr_value add_samples(tfr__kit *kit, tfr_dataset *d, const char *name, tfr_dtype dtype,
                             const tfr_shape *each, const void *data)
{
    tfr_shape shape = {.rank = each->rank + 1, .dims = {d->count}};
    tfr_value out = TFR_VALUE_NONE;
    tfr_tensor *tensor = NULL;

    for (int32_t i = 0; i < each->rank; i++)
        shape.dims[i + 1] = each->dims[i];
    if (kit->status)
        return out;
    kit->status = tfr_tensor_wrap_bytes(dtype, &shape, data, NULL, let_go, tfr_dataset_retain(d),
                                        &tensor, kit->err);
    if (kit->status)
        tfr_dataset_release(d);
    else
        kit->status = tfr_graph_add_constant(kit->graph, name, tensor, &out, kit->err);
    tfr_tensor_release(tensor);
    return out;
}

/* A node whose value has a name: those that were made up are the copy's, as random numbers go by
 * them. */
static tfr_value add_node(tfr__kit *kit, const char *name, const char *op, tfr_value a, tfr_value b,
                          tfr_dtype to)
{
    const tfr_value in[] = {a, b};
    const tfr_attr attrs[] = {TFR_SET_INT("to", to)};
    const tfr_node_desc desc = {.size = sizeof desc,
                                .op = op,
                                .inputs = in,
                                .n_inputs = b == TFR_VALUE_NONE ? 1 : 2,
                                .n_outputs = 1,
                                .output_names = &name,
                                .attrs = attrs,
                                .n_attrs = to != TFR_DTYPE_NONE};
    tfr_value out = TFR_VALUE_NONE;

    if (!kit->status)
        kit->status = tfr_graph_add_node(kit->graph, &desc, &out, kit->err);
    return out;
}

/* Of rank 0, with a name for the same reason. */
static tfr_value add_scalar(tfr__kit *kit, const char *name, tfr_dtype dtype, const void *value)
{
    tfr_tensor *tensor = NULL;
    tfr_value out = TFR_VALUE_NONE;

    if (kit->status)
        return out;
    kit->status = tfr_tensor_create(dtype, &(tfr_shape){.rank = 0}, &tensor, kit->err);
    if (!kit->status) {
        memcpy(tfr_tensor_data(tensor), value, tfr_tensor_bytes(tensor));
        kit->status = tfr_graph_add_constant(kit->graph, name, tensor, &out, kit->err);
    }
    tfr_tensor_release(tensor);
    return out;
}

/* The row of numbers whose turn it is. */
static tfr_value add_row(tfr__kit *kit, tfr_value rows)
{
    const int64_t one = 1, last = TFR__HELD_ROWS - 1;
    tfr_value at = tfr__kit_variable(kit, TFR__HELD_AT, TFR_DTYPE_I64, &(tfr_shape){.rank = 0}, 0),
              next;

    next = add_node(kit, "data.behind", "Add", at, add_scalar(kit, "data.one", TFR_DTYPE_I64, &one),
                    TFR_DTYPE_NONE);
    next = add_node(kit, "data.next", "BitwiseAnd", next,
                    add_scalar(kit, "data.last", TFR_DTYPE_I64, &last), TFR_DTYPE_NONE);
    tfr__kit_update(kit, at, next);
    return add_node(kit, "data.row", "Gather", rows, at, TFR_DTYPE_NONE);
}

static tfr_value add_input(tfr__kit *kit, tfr_dataset *d, tfr_value numbers)
{
    const float most = 255;
    tfr_value samples = add_samples(kit, d, "data.inputs", d->bytes ? TFR_DTYPE_U8 : TFR_DTYPE_F32,
                                    &d->sample, d->bytes ? (const void *)d->bytes : d->floats);

    samples = add_node(kit, "data.batch", "Gather", samples, numbers, TFR_DTYPE_NONE);
    if (!d->bytes || kit->status)
        return samples;
    samples = add_node(kit, "data.floats", "Cast", samples, TFR_VALUE_NONE, TFR_DTYPE_F32);
    return add_node(kit, "data.input", "Div", samples,
                    add_scalar(kit, "data.most", TFR_DTYPE_F32, &most), TFR_DTYPE_NONE);
}

/* The labels in the type that the loss takes, so that no step casts those of its batch. */
static tfr_value add_labels(tfr__kit *kit, const tfr_dataset *d)
{
    const tfr_shape shape = {.rank = 1, .dims = {d->count}};
    tfr_tensor *tensor = NULL;
    tfr_value out = TFR_VALUE_NONE;

    if (kit->status)
        return out;
    kit->status = tfr_tensor_create(TFR_DTYPE_I64, &shape, &tensor, kit->err);
    for (int64_t i = 0; !kit->status && i < d->count; i++)
        ((int64_t *)tfr_tensor_data(tensor))[i] = d->labels[i];
    if (!kit->status)
        kit->status = tfr_graph_add_constant(kit->graph, "data.labels", tensor, &out, kit->err);
    tfr_tensor_release(tensor);
    return out;
}

static tfr_value add_target(tfr__kit *kit, tfr_dataset *d, tfr_value numbers)
{
    tfr_value targets =
        d->labels ? add_labels(kit, d)
                  : add_samples(kit, d, "data.targets", TFR_DTYPE_F32, &d->target, d->targets);

    return add_node(kit, "data.target", "Gather", targets, numbers, TFR_DTYPE_NONE);
}

/* Outputs and updates of the step, which the copy has not. */
static void finish_step(tfr__kit *kit, const tfr__copy *copy)
{
    for (uint32_t i = 0; !kit->status && i < tfr_graph_n_outputs(copy->from); i++)
        kit->status = tfr_graph_add_output(kit->graph, copy->map[tfr_graph_output(copy->from, i)],
                                           tfr_graph_output_name(copy->from, i), kit->err);
    for (uint32_t v = 0; !kit->status && v < tfr_graph_n_values(copy->from); v++) {
        tfr_value_view view = {.size = sizeof view};
        kit->status = tfr_graph_value(copy->from, (tfr_value)v, &view, kit->err);
        if (!kit->status && view.role == TFR_ROLE_VARIABLE && view.update != TFR_VALUE_NONE)
            tfr__kit_update(kit, copy->map[v], copy->map[view.update]);
    }
}

tfr_status tfr__train_held_graph(const tfr_graph *step, tfr_dataset *dataset, tfr_graph **out,
                                 tfr_err *err)
{
    const tfr_value_type type = {.size = sizeof type,
                                 .dtype = TFR_DTYPE_I64,
                                 .rank_known = 1,
                                 .rank = 2,
                                 .dims = {TFR__HELD_ROWS, -1}};
    tfr_value numbers = TFR_VALUE_NONE;
    tfr__copy copy = {.from = step, .all_names = true};
    tfr__kit kit = {.err = err};

    kit.status = tfr_graph_create(tfr_graph_name(step), &copy.to, err);
    if (kit.status)
        return kit.status;
    kit.graph = copy.to;
    kit.status = tfr_graph_add_input(copy.to, "data.numbers", &type, &numbers, err);
    if (!kit.status)
        kit.status = tfr__copy_enter(&copy, err);
    if (!kit.status) {
        numbers = add_row(&kit, numbers);
        copy.map[tfr_graph_input(step, 0)] = add_input(&kit, dataset, numbers);
        copy.map[tfr_graph_input(step, 1)] = add_target(&kit, dataset, numbers);
    }
    if (!kit.status)
        kit.status = tfr__copy_nodes(&copy, err);
    finish_step(&kit, &copy);
    if (kit.status)
        tfr_graph_release(copy.to);
    else
        *out = copy.to;
    tfr__copy_leave(&copy);
    return kit.status;
}

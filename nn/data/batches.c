/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c: tfr_batches of tfrun/dataset.h. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "dataset.h"
#include "order.h"

/* A batch in memory of its own, which is used again. */
typedef struct slot {
    tfr_tensor *input, *target;           /* of the whole size */
    tfr_tensor *part_input, *part_target; /* views of them, where fewer samples are left */
} slot;

struct tfr_batches {
    tfr_dataset *dataset;
    tfr_batch_options options;
    int64_t epoch, position;
    int64_t *order;
    slot slot;
};

/* ---- slots ----------------------------------------------------------------------------------- */

static void slot_cut(slot *s)
{
    tfr_tensor_release(s->part_input);
    tfr_tensor_release(s->part_target);
    s->part_input = s->part_target = NULL;
}

static void slot_destroy(slot *s)
{
    slot_cut(s);
    tfr_tensor_release(s->input);
    tfr_tensor_release(s->target);
}

static tfr_status first_rows(tfr_tensor *whole, int64_t n, tfr_tensor **out, tfr_err *err)
{
    tfr_shape shape = *tfr_tensor_shape(whole);
    shape.dims[0] = n;
    return tfr_tensor_view(whole, 0, &shape, tfr_tensor_strides(whole), out, err);
}

/* The first n samples of what is in the slot. */
static tfr_status slot_give(slot *s, int64_t n, tfr_tensor **input, tfr_tensor **target,
                            tfr_err *err)
{
    tfr_status status = TFR_OK;
    slot_cut(s);
    if (n == tfr_tensor_shape(s->input)->dims[0]) {
        *input = s->input;
        *target = s->target;
        return TFR_OK;
    }
    status = first_rows(s->input, n, &s->part_input, err);
    if (!status)
        status = first_rows(s->target, n, &s->part_target, err);
    if (!status) {
        *input = s->part_input;
        *target = s->part_target;
    }
    return status;
}

/* ---- batches --------------------------------------------------------------------------------- */

static tfr_status read_options(const tfr_batch_options *given, tfr_batch_options *o, tfr_err *err)
{
    const tfr_batch_options defaults = TFR_BATCH_OPTIONS_INIT;
    *o = defaults;
    if (given)
        memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    if (!o->batch)
        return tfr_fail(err, TFR_EINVAL, "batches of no samples; at least 1 is needed");
    if (o->augment)
        return tfr_fail(err, TFR_EUNSUPPORTED, "augment is not in this version");
    return TFR_OK;
}

tfr_status tfr_batches_create(tfr_dataset *dataset, const tfr_batch_options *options,
                              tfr_batches **out, tfr_err *err)
{
    tfr_batch_options o;
    tfr_batches *b;
    tfr_status status = read_options(options, &o, err);
    if (status)
        return status;
    if (o.batch > dataset->count)
        o.batch = (uint32_t)dataset->count;
    b = calloc(1, sizeof *b);
    if (!b)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory", dataset->name);
    b->dataset = tfr_dataset_retain(dataset);
    b->options = o;
    b->order = malloc((size_t)dataset->count * sizeof *b->order);
    if (!b->order)
        status = tfr_fail(err, TFR_ENOMEM, "%s: out of memory for the order of %lld samples",
                          dataset->name, (long long)dataset->count);
    if (!status)
        status = tfr__dataset_create_rows(dataset, o.batch, &b->slot.input, &b->slot.target, err);
    if (!status)
        status = tfr_batches_start(b, 0, 0, err);
    if (status)
        tfr_batches_destroy(b);
    else
        *out = b;
    return status;
}

void tfr_batches_destroy(tfr_batches *batches)
{
    if (!batches)
        return;
    slot_destroy(&batches->slot);
    free(batches->order);
    tfr_dataset_release(batches->dataset);
    free(batches);
}

tfr_status tfr_batches_start(tfr_batches *batches, int64_t epoch, int64_t position, tfr_err *err)
{
    const int64_t n = batches->dataset->count;
    if (epoch < 0 || position < 0 || position > n)
        return tfr_fail(
            err, TFR_EINVAL, "%s: there is no position %lld of epoch %lld, but 0 to %lld",
            batches->dataset->name, (long long)position, (long long)epoch, (long long)n);
    batches->epoch = epoch;
    batches->position = position;
    if (batches->options.shuffle)
        tfr__data_order(batches->options.seed, (uint64_t)epoch, n, batches->order);
    else
        for (int64_t i = 0; i < n; i++)
            batches->order[i] = i;
    return TFR_OK;
}

tfr_status tfr_batches_next(tfr_batches *b, tfr_tensor **input, tfr_tensor **target, tfr_err *err)
{
    const int64_t left = b->dataset->count - b->position;
    const int64_t n = left < b->options.batch ? left : b->options.batch;
    tfr_status status;

    if (!n) {
        *input = *target = NULL;
        return TFR_OK;
    }
    status =
        tfr__dataset_fill(b->dataset, b->order + b->position, (uint32_t)n,
                          tfr_tensor_data(b->slot.input), tfr_tensor_data(b->slot.target), err);
    if (!status)
        status = slot_give(&b->slot, n, input, target, err);
    if (!status)
        b->position += n;
    return status;
}

int64_t tfr_batches_epoch(const tfr_batches *batches)
{
    return batches->epoch;
}

int64_t tfr_batches_position(const tfr_batches *batches)
{
    return batches->position;
}

int64_t tfr_batches_per_epoch(const tfr_batches *batches)
{
    return (batches->dataset->count + batches->options.batch - 1) / batches->options.batch;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c: tfr_batches of tfrun/dataset.h. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "augment.h"
#include "dataset.h"
#include "order.h"
#include "prefetch.h"

/* A batch in memory of its own, which is used again. */
typedef struct slot {
    tfr_tensor *input, *target;           /* of the whole size */
    tfr_tensor *part_input, *part_target; /* views of them, where fewer samples are left */
} slot;

enum { PREFETCH_MOST = 64 };

struct tfr_batches {
    tfr_dataset *dataset;
    tfr_batch_options options;
    int64_t epoch, position;
    int64_t first; /* position of batch 0, where the epoch was started */
    int64_t taken; /* batches since then */
    int64_t *order;
    tfr_tensor *numbers;     /* of the samples that were given out, in order */
    float *scratch;          /* of a channel, for augmentation */
    tfr__prefetch *prefetch; /* NULL before the first batch, and without */
    uint32_t n_slots;        /* the one that was given out, and those ahead of it */
    slot slots[];
};

/* ---- slots ----------------------------------------------------------------------------------- */

static void slot_unite(slot *s)
{
    tfr_tensor_release(s->part_input);
    tfr_tensor_release(s->part_target);
    s->part_input = s->part_target = NULL;
}

static void slot_destroy(slot *s)
{
    slot_unite(s);
    tfr_tensor_release(s->input);
    tfr_tensor_release(s->target);
}

static tfr_status first_rows(tfr_tensor *whole, int64_t n, tfr_tensor **out, tfr_err *err)
{
    tfr_shape shape = *tfr_tensor_shape(whole);
    shape.dims[0] = n;
    return tfr_tensor_view(whole, 0, &shape, tfr_tensor_strides(whole), out, err);
}

/* The slot's first n samples, whatever is or will be in it. */
static tfr_status slot_cut(slot *s, int64_t n, tfr_tensor **input, tfr_tensor **target,
                           tfr_err *err)
{
    tfr_status status = TFR_OK;
    slot_unite(s);
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

static tfr_status read_options(const tfr_dataset *dataset, const tfr_batch_options *given,
                               tfr_batch_options *o, tfr_err *err)
{
    const tfr_batch_options defaults = TFR_BATCH_OPTIONS_INIT;
    char shape[96];
    *o = defaults;
    if (given)
        memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    if (!o->batch)
        return tfr_fail(err, TFR_EINVAL, "batches of no samples; at least 1 is needed");
    if (o->batch > dataset->count)
        o->batch = (uint32_t)dataset->count;
    if (o->prefetch > PREFETCH_MOST)
        return tfr_fail(err, TFR_EINVAL, "prefetch is %u batches, at most %d can be", o->prefetch,
                        PREFETCH_MOST);
    if (o->augment && (dataset->sample.rank != 3 || dataset->sample.dims[1] > TFR__AUGMENT_SIDE ||
                       dataset->sample.dims[2] > TFR__AUGMENT_SIDE))
        return tfr_fail(err, TFR_EINVAL,
                        "%s: augment is for images [C, H, W] of at most %d x %d, and these samples "
                        "are %s",
                        dataset->name, TFR__AUGMENT_SIDE, TFR__AUGMENT_SIDE,
                        tfr_shape_format(&dataset->sample, shape, sizeof shape));
    return TFR_OK;
}

static tfr_status allocate(tfr_batches *b, tfr_err *err)
{
    const tfr_dataset *d = b->dataset;
    tfr_status status = TFR_OK;
    b->order = malloc((size_t)d->count * sizeof *b->order);
    if (b->options.augment)
        b->scratch = malloc((size_t)(d->sample.dims[1] * d->sample.dims[2]) * sizeof *b->scratch);
    if (!b->order || (b->options.augment && !b->scratch))
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for the order of %lld samples", d->name,
                        (long long)d->count);
    for (uint32_t i = 0; !status && i < b->n_slots; i++)
        status = tfr__dataset_create_rows(d, b->options.batch, &b->slots[i].input,
                                          &b->slots[i].target, err);
    return status;
}

tfr_status tfr_batches_create(tfr_dataset *dataset, const tfr_batch_options *options,
                              tfr_batches **out, tfr_err *err)
{
    tfr_batch_options o;
    tfr_batches *b;
    tfr_status status = read_options(dataset, options, &o, err);
    if (status)
        return status;
    b = calloc(1, sizeof *b + (o.prefetch + 1) * sizeof *b->slots);
    if (!b)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory", dataset->name);
    b->dataset = tfr_dataset_retain(dataset);
    b->options = o;
    b->n_slots = o.prefetch + 1;
    status = allocate(b, err);
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
    tfr__prefetch_destroy(batches->prefetch);
    for (uint32_t i = 0; i < batches->n_slots; i++)
        slot_destroy(&batches->slots[i]);
    tfr_tensor_release(batches->numbers);
    free(batches->scratch);
    free(batches->order);
    tfr_dataset_release(batches->dataset);
    free(batches);
}

static int64_t batches_left(const tfr_batches *b)
{
    const int64_t left = b->dataset->count - b->first;
    return (left + b->options.batch - 1) / b->options.batch;
}

tfr_status tfr_batches_start(tfr_batches *batches, int64_t epoch, int64_t position, tfr_err *err)
{
    const int64_t n = batches->dataset->count;
    if (epoch < 0 || position < 0 || position > n)
        return tfr_fail(
            err, TFR_EINVAL, "%s: there is no position %lld of epoch %lld, but 0 to %lld",
            batches->dataset->name, (long long)position, (long long)epoch, (long long)n);
    if (batches->prefetch)
        tfr__prefetch_stop(batches->prefetch);
    batches->epoch = epoch;
    batches->position = batches->first = position;
    batches->taken = 0;
    if (batches->options.shuffle)
        tfr__data_order(batches->options.seed, (uint64_t)epoch, n, batches->order);
    else
        for (int64_t i = 0; i < n; i++)
            batches->order[i] = i;
    if (batches->prefetch)
        tfr__prefetch_begin(batches->prefetch, batches_left(batches));
    return TFR_OK;
}

static int64_t samples_of(const tfr_batches *b, int64_t number)
{
    const int64_t left = b->dataset->count - b->first - number * b->options.batch;
    return left < b->options.batch ? left : b->options.batch;
}

/* Fills the slot of a batch that there is, on the thread of prefetch or on the caller's. */
static tfr_status fill(void *user, int64_t number, tfr_err *err)
{
    tfr_batches *b = user;
    const tfr_dataset *d = b->dataset;
    const slot *s = &b->slots[number % b->n_slots];
    const int64_t *indices = b->order + b->first + number * b->options.batch;
    const int64_t n = samples_of(b, number);
    float *input = tfr_tensor_data(s->input);
    tfr_status status =
        tfr__dataset_fill(d, indices, (uint32_t)n, input, tfr_tensor_data(s->target), err);

    if (status || !b->options.augment)
        return status;
    for (int64_t i = 0; i < n; i++)
        tfr__augment(b->options.seed, (uint64_t)b->epoch, (uint64_t)indices[i], d->sample.dims[0],
                     d->sample.dims[1], d->sample.dims[2], input + i * tfr__dataset_inputs(d),
                     b->scratch);
    return TFR_OK;
}

tfr_status tfr_batches_next(tfr_batches *b, tfr_tensor **input, tfr_tensor **target, tfr_err *err)
{
    const int64_t n = samples_of(b, b->taken);
    tfr_tensor *x, *y;
    tfr_status status;

    if (n <= 0) {
        *input = *target = NULL;
        return TFR_OK;
    }
    if (b->options.prefetch && !b->prefetch && !b->taken) {
        b->prefetch = tfr__prefetch_create(b->options.prefetch, fill, b);
        if (b->prefetch)
            tfr__prefetch_begin(b->prefetch, batches_left(b));
    }
    /* What can fail comes first: a batch that was taken cannot be given back. */
    status = slot_cut(&b->slots[b->taken % b->n_slots], n, &x, &y, err);
    if (!status)
        status = b->prefetch ? tfr__prefetch_take(b->prefetch, err) : fill(b, b->taken, err);
    if (status)
        return status;
    b->taken++;
    b->position += n;
    *input = x;
    *target = y;
    return TFR_OK;
}

tfr_status tfr__batches_next_rows(tfr_batches *b, int64_t n_batches, tfr_tensor **samples,
                                  tfr_err *err)
{
    const int64_t n = samples_of(b, b->taken);
    const tfr_shape one = {1, {n}}, several = {2, {n_batches, n}};
    const tfr_shape *shape = n_batches > 1 ? &several : &one;
    tfr_tensor *numbers = NULL;
    tfr_status status;

    *samples = NULL;
    if (b->options.augment)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s: augmented samples have no numbers",
                        b->dataset->name);
    if (n <= 0)
        return TFR_OK;
    status = tfr_tensor_wrap(TFR_DTYPE_I64, shape, NULL,
                             b->order + b->first + b->taken * b->options.batch, NULL, NULL,
                             &numbers, err);
    if (status)
        return status;
    tfr_tensor_release(b->numbers);
    b->numbers = *samples = numbers;
    b->taken += n_batches;
    b->position += n_batches * n;
    return TFR_OK;
}

tfr_status tfr_batches_next_numbers(tfr_batches *b, tfr_tensor **samples, tfr_err *err)
{
    return tfr__batches_next_rows(b, 1, samples, err);
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

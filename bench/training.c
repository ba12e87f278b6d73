/* SPDX-License-Identifier: Apache-2.0 */
/* training.c: see training.h. */
#include "training.h"

#include <math.h>
#include <stdlib.h>

#include <tfrun/dataset.h>
#include <tfrun/fail.h>

enum { LOAD_SAMPLES = 1000 };

const int64_t bench_cnn_sizes[BENCH_CNN_PARAMS] = {288, 32,    18432, 64,  36864,
                                                   64,  36864, 64,    640, 10};
const char *const bench_cnn_names[BENCH_CNN_PARAMS] = {
    "conv1.weight", "conv1.bias",    "conv2.weight", "conv2.bias",    "conv3.weight",
    "conv3.bias",   "dense1.weight", "dense1.bias",  "dense2.weight", "dense2.bias"};

/* ---- the data -------------------------------------------------------------------------------- */

/* Samples of a part of the data set, as the bytes that its files have. */
static tfr_status load_part(tfr_dataset *set, uint8_t *images, uint8_t *labels, tfr_err *err)
{
    int64_t order[LOAD_SAMPLES], n = tfr_dataset_count(set);
    tfr_status status = TFR_OK;
    for (int64_t at = 0; !status && at < n; at += LOAD_SAMPLES) {
        uint32_t k = n - at < LOAD_SAMPLES ? (uint32_t)(n - at) : LOAD_SAMPLES;
        tfr_tensor *input = NULL, *target = NULL;
        for (uint32_t i = 0; i < k; i++)
            order[i] = at + i;
        if ((status = tfr_dataset_gather(set, order, k, &input, &target, err)))
            break;
        for (int64_t i = 0; i < (int64_t)k * BENCH_PIXELS; i++)
            images[at * BENCH_PIXELS + i] =
                (uint8_t)lrintf(((const float *)tfr_tensor_data(input))[i] * 255);
        for (uint32_t i = 0; i < k; i++)
            labels[at + i] = (uint8_t)((const int64_t *)tfr_tensor_data(target))[i];
        tfr_tensor_release(input);
        tfr_tensor_release(target);
    }
    return status;
}

static tfr_status check_part(tfr_dataset *set, tfr_err *err)
{
    const tfr_shape *s = set ? tfr_dataset_sample_shape(set) : NULL;
    if (s && s->rank == 3 && s->dims[0] == 1 && s->dims[1] == BENCH_SIDE &&
        s->dims[2] == BENCH_SIDE && tfr_dataset_classes(set) == BENCH_CLASSES)
        return TFR_OK;
    return tfr_fail(err, TFR_EINVAL,
                    "bench train needs samples to train and to test with, images of 28 x 28 in 10 "
                    "classes%s%s",
                    set ? ", which these are not: " : "", set ? tfr_dataset_name(set) : "");
}

tfr_status bench_training_load(bench_training *t, const bench_options *options, tfr_err *err)
{
    /* Fewer digits do for steps; epochs are those of the real set. */
    const char *source = options->data       ? options->data
                         : options->n_epochs ? "synthetic"
                                             : "synthetic?train=8192&test=1000";
    tfr_dataset *train = NULL, *test = NULL;
    tfr_status status = tfr_dataset_open(source, &train, &test, err);
    if (!status)
        status = check_part(train, err);
    if (!status)
        status = check_part(test, err);
    if (!status) {
        t->n_train = tfr_dataset_count(train);
        t->n_test = tfr_dataset_count(test);
        t->images = malloc((size_t)(t->n_train + t->n_test) * BENCH_PIXELS);
        t->labels = malloc((size_t)(t->n_train + t->n_test));
        if (!t->images || !t->labels)
            status = tfr_fail(err, TFR_ENOMEM, "no memory for %lld images",
                              (long long)(t->n_train + t->n_test));
    }
    if (!status)
        status = load_part(train, t->images, t->labels, err);
    if (!status)
        status =
            load_part(test, t->images + t->n_train * BENCH_PIXELS, t->labels + t->n_train, err);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    return status;
}

uint64_t bench_training_bytes(const bench_training *t)
{
    return (uint64_t)(t->n_train + t->n_test) * (BENCH_PIXELS + 1);
}

void bench_training_finish(bench_training *t)
{
    free(t->images);
    free(t->labels);
    for (int i = 0; i < BENCH_CNN_PARAMS; i++)
        free(t->weights[i]);
}

/* ---- the order of samples -------------------------------------------------------------------- */

tfr_status bench_cursor_init(bench_cursor *cursor, const bench_training *training, tfr_err *err)
{
    *cursor = (bench_cursor){.training = training, .epoch = -1, .position = training->n_train};
    cursor->order = malloc((size_t)training->n_train * sizeof *cursor->order);
    return cursor->order ? TFR_OK
                         : tfr_fail(err, TFR_ENOMEM, "no memory for the order of %lld samples",
                                    (long long)training->n_train);
}

/* Fisher and Yates, by SplitMix64 of seed and epoch. */
static void shuffle(int64_t *order, int64_t n, uint64_t seed, int64_t epoch)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + (uint64_t)epoch * 0xD1B54A32D192ED03u + 1;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        int64_t k, kept = order[i];
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        k = (int64_t)((z ^ (z >> 31)) >> 32) % (i + 1);
        order[i] = order[k];
        order[k] = kept;
    }
}

const int64_t *bench_cursor_next(bench_cursor *cursor, uint32_t *n)
{
    const bench_training *t = cursor->training;
    const int64_t *first;
    if (cursor->position == t->n_train) {
        shuffle(cursor->order, t->n_train, t->seed, ++cursor->epoch);
        cursor->position = 0;
    }
    *n = t->n_train - cursor->position < t->batch ? (uint32_t)(t->n_train - cursor->position)
                                                  : t->batch;
    first = cursor->order + cursor->position;
    cursor->position += *n;
    return first;
}

void bench_cursor_finish(bench_cursor *cursor)
{
    free(cursor->order);
    cursor->order = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic.c: the source "synthetic", digits.h's images, drawn when it is opened. */
#include <stdlib.h>
#include <tfrun/fail.h>

#include "dataset.h"
#include "digits.h"
#include "parallel.h"

enum { TRAIN_COUNT = 60000, TEST_COUNT = 10000, MOST_COUNT = 10000000, SEED = 1 };

typedef struct drawing {
    uint64_t seed;
    uint32_t split;
    uint8_t *images;
    int32_t *labels;
} drawing;

static void draw(void *user, int64_t begin, int64_t end)
{
    const drawing *d = user;
    for (int64_t i = begin; i < end; i++) {
        tfr__digit_draw(d->seed, d->split, (uint64_t)i, d->images + i * TFR__DIGIT_PIXELS);
        d->labels[i] = tfr__digit_label(d->seed, d->split, (uint64_t)i);
    }
}

static tfr_status open_part(const char *name, const char *part, uint64_t seed, uint32_t split,
                            uint64_t count, tfr_dataset **out, tfr_err *err)
{
    tfr_dataset *dataset = tfr__dataset_new(name, part, err);
    drawing d = {.seed = seed, .split = split};
    if (!dataset)
        return TFR_ENOMEM;
    *out = dataset;
    dataset->count = (int64_t)count;
    dataset->classes = 10;
    dataset->sample = (tfr_shape){3, {1, TFR__DIGIT_SIDE, TFR__DIGIT_SIDE}};
    dataset->memory = d.images = malloc((size_t)count * TFR__DIGIT_PIXELS);
    dataset->labels = d.labels = malloc((size_t)count * sizeof *d.labels);
    if (!d.images || !d.labels)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for %llu images of %d bytes", name,
                        (unsigned long long)count, TFR__DIGIT_PIXELS);
    dataset->bytes = d.images;
    tfr__data_parallel(dataset->count, draw, &d);
    return TFR_OK;
}

tfr_status tfr__synthetic_open(tfr__source *source, tfr_dataset **train, tfr_dataset **test,
                               tfr_err *err)
{
    uint64_t seed = SEED, n_train = TRAIN_COUNT, n_test = TEST_COUNT;
    tfr_status status = tfr__source_number(source, "seed", 0, UINT64_MAX, &seed, err);
    if (!status)
        status = tfr__source_number(source, "train", 1, MOST_COUNT, &n_train, err);
    if (!status)
        status = tfr__source_number(source, "test", 0, MOST_COUNT, &n_test, err);
    if (!status)
        status = tfr__source_end(source, "seed, train and test", err);
    if (!status && *source->path)
        status =
            tfr_fail(err, TFR_EINVAL, "%s: no path is expected behind synthetic", source->text);
    if (!status)
        status = open_part(source->text, "train", seed, 0, n_train, train, err);
    if (!status && test && n_test)
        status = open_part(source->text, "test", seed, 1, n_test, test, err);
    return status;
}

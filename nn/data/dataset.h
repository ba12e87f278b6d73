/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.h: what a data set is inside. All samples lie in memory, or in a mapped file, as bytes of
 * images or as floats; the readers of the formats fill one of these, and after that it never
 * changes.
 */
#ifndef TFR_NN_DATA_DATASET_H
#define TFR_NN_DATA_DATASET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <tfrun/dataset.h>

#include <formats/file.h>

struct tfr_dataset {
    atomic_uint refs;
    int64_t count;
    int64_t classes;       /* 0 = targets instead of labels */
    tfr_shape sample;      /* of an input */
    tfr_shape target;      /* of a target, without classes */
    const uint8_t *bytes;  /* inputs, one after the other; or NULL and */
    const float *floats;   /* these */
    int32_t *labels;       /* count of them, malloc'ed; or NULL and */
    float *targets;        /* these */
    tfr__mapping *mapping; /* that bytes lie in, or NULL */
    void *memory;          /* that bytes or floats lie in, malloc'ed, or NULL */
    tfr_tensor *values;    /* or that bytes lie in, or NULL */
    char name[];
};

/* "NAME (PART)", empty yet; NULL and TFR_ENOMEM in *err. */
tfr_dataset *tfr__dataset_new(const char *name, const char *part, tfr_err *err);

/* Elements of an input, and of a target. */
int64_t tfr__dataset_inputs(const tfr_dataset *dataset);
int64_t tfr__dataset_targets(const tfr_dataset *dataset);

/* As tfr_batches_next_numbers, of n whole batches, which there are: [n, batch], or [batch] of one.
 */
TFR_MUST_CHECK tfr_status tfr__batches_next_rows(tfr_batches *batches, int64_t n,
                                                 tfr_tensor **samples, tfr_err *err);

/* Of all samples, as they are kept. */
uint64_t tfr__dataset_bytes(const tfr_dataset *dataset);

/* Tensors for n samples. */
TFR_MUST_CHECK tfr_status tfr__dataset_create_rows(const tfr_dataset *dataset, uint32_t n,
                                                   tfr_tensor **input, tfr_tensor **target,
                                                   tfr_err *err);
/*
 * Writes what tfr_dataset_gather gives to where there is room for it; target is of int64_t or
 * float. The indices are in range.
 */
TFR_MUST_CHECK tfr_status tfr__dataset_fill(const tfr_dataset *dataset, const int64_t *indices,
                                            uint32_t n, float *input, void *target, tfr_err *err);

/* ---- sources --------------------------------------------------------------------------------- */

/* "scheme:path?key=value&key=value"; each reader takes the values that it knows. */
enum { TFR__SOURCE_OPTIONS = 8 };
typedef struct tfr__source {
    const char *text; /* the whole */
    char *path;       /* malloc'ed, with the keys and values behind it */
    uint32_t n;
    struct {
        const char *key, *value;
        bool taken;
    } options[TFR__SOURCE_OPTIONS];
} tfr__source;

/* The number of a key, from least to most; value stays as it is where the key is not there. */
TFR_MUST_CHECK tfr_status tfr__source_number(tfr__source *source, const char *key, uint64_t least,
                                             uint64_t most, uint64_t *value, tfr_err *err);
/* TFR_EINVAL for a key that nobody took; known is a list of those that there are. */
TFR_MUST_CHECK tfr_status tfr__source_end(const tfr__source *source, const char *known,
                                          tfr_err *err);

/* Each opens both parts, *test only if test is not NULL. */
typedef tfr_status tfr__source_open_fn(tfr__source *source, tfr_dataset **train, tfr_dataset **test,
                                       tfr_err *err);
tfr__source_open_fn tfr__synthetic_open;
tfr__source_open_fn tfr__idx_open;
tfr__source_open_fn tfr__npz_open;
tfr__source_open_fn tfr__images_open;

/* Whether the folder has files that a reader knows. */
bool tfr__idx_is_there(const char *folder);
bool tfr__images_are_there(const char *folder);

/* TFR_EMODEL unless both parts have samples and targets of one shape. */
TFR_MUST_CHECK tfr_status tfr__dataset_check_parts(const tfr_dataset *train,
                                                   const tfr_dataset *test, tfr_err *err);

#endif

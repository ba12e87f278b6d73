/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/dataset.h (libtfrun-nn): samples to train with, and batches of them.
 *
 *   tfr_dataset *train, *test;
 *   tfr_batches *batches;
 *   tfr_tensor *input, *target;
 *   tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
 *   CHECK(tfr_dataset_open("idx:data", &train, &test, &err));
 *   CHECK(tfr_batches_create(train, &o, &batches, &err));
 *   for (int64_t epoch = 0; epoch < 5; epoch++) {
 *       CHECK(tfr_batches_start(batches, epoch, 0, &err));
 *       for (;;) {
 *           CHECK(tfr_batches_next(batches, &input, &target, &err));
 *           if (!input)
 *               break;
 *           CHECK(tfr_trainer_step(trainer, input, target, &err));
 *       }
 *   }
 *
 * Threads: a data set may be used by any number at once, batches by one at a time.
 */
#ifndef TFRUN_DATASET_H
#define TFRUN_DATASET_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_dataset tfr_dataset;
typedef struct tfr_batches tfr_batches;

/*
 * Opens the samples to train with and, unless test is NULL, those to test with; *test gets NULL
 * where the source has none. The source is one of these, or a path, which is looked at:
 *
 *   "synthetic"   labelled digits of 28 x 28 that nobody wrote, the same ones on every machine;
 *                 "synthetic?seed=1&train=60000&test=10000" has other ones, or fewer
 *   "idx:DIR"     the four files of MNIST and of those made like it, train-images-idx3-ubyte,
 *                 train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, with a
 *                 dot in place of the second hyphen or without, plain or with .gz behind;
 *                 "idx:DIR?classes=26" if there are not 10
 *   "npz:FILE"    arrays x_train, y_train, x_test and y_test as in Keras' mnist.npz, or x and y.
 *                 Inputs of bytes are images, [n, H, W], [n, C, H, W] or [n, H, W, C] with 1, 3 or
 *                 4 channels; other numbers become f32 and keep their shape. Targets of integers
 *                 are classes, as many as the largest of training asks for or "?classes=N" says;
 *                 of f32 and f64 they are numbers, and [n] becomes [n, 1]
 *   "images:DIR"  a folder of images for each class, DIR/cat/1.png, or DIR/train and DIR/test with
 *                 these folders: PNG, JPEG, JPEG 2000, WebP, TIFF, BMP and PNM by their endings.
 *                 Classes are in the order of their names, and images of one size, grey or in
 *                 colours as the first one, or as "?channels=3" says. All are kept in memory
 *
 * TFR_ENOTFOUND and TFR_EIO for files that are not there or cannot be read, TFR_EMODEL for files
 * that are damaged or do not belong together, TFR_EUNSUPPORTED where a library is missing, with the
 * name of its package (zlib for gzip and npz, one for each format of images), TFR_EINVAL for a
 * source that there is not. Large plain files are mapped: nobody must change them while they are in
 * use.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_dataset_open(const char *source, tfr_dataset **train,
                                                   tfr_dataset **test, tfr_err *err);
/* Returns dataset. */
TFR_API tfr_dataset *tfr_dataset_retain(tfr_dataset *dataset);
/* NULL is fine. */
TFR_API void tfr_dataset_release(tfr_dataset *dataset);

/* What it was opened as, and which part: "idx:data (train)". Lives as long as the data set. */
TFR_API const char *tfr_dataset_name(const tfr_dataset *dataset);
TFR_API int64_t tfr_dataset_count(const tfr_dataset *dataset);
/* Targets are classes from 0 to this less 1; 0 = targets are numbers. */
TFR_API int64_t tfr_dataset_classes(const tfr_dataset *dataset);
/* Of one input: [C, H, W] of images. Lives as long as the data set. */
TFR_API const tfr_shape *tfr_dataset_sample_shape(const tfr_dataset *dataset);

/*
 * A batch of the samples with these indices, which may repeat. The input is [n, C, H, W] of f32,
 * each byte of an image divided by 255; the target is [n] of i64, or f32 where there are no
 * classes. The caller owns both. TFR_EINVAL for an index that there is not; TFR_EIO if a file was
 * changed.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_dataset_gather(tfr_dataset *dataset, const int64_t *indices,
                                                     uint32_t n, tfr_tensor **input,
                                                     tfr_tensor **target, tfr_err *err);

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct tfr_batch_options {
    uint32_t size;
    uint32_t batch;    /* samples */
    uint32_t shuffle;  /* 0 = in order; else by a permutation of (seed, epoch) */
    uint32_t augment;  /* not 0: images are rotated by up to 10 degrees and shifted by up to 7 % of
                          their size, by (seed, epoch, index) */
    uint32_t prefetch; /* batches that a thread prepares ahead, 0 = none, at most 64 */
    uint32_t reserved;
    uint64_t seed;
} tfr_batch_options;
#define TFR_BATCH_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_batch_options), .batch = 64, .shuffle = 1, .prefetch = 2      \
    }

/*
 * Retains dataset; options may be NULL. It stands at the start of epoch 0. What a batch has depends
 * on the options, the epoch and the position alone, so that a training goes on from these.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_batches_create(tfr_dataset *dataset,
                                                     const tfr_batch_options *options,
                                                     tfr_batches **out, tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_batches_destroy(tfr_batches *batches);

/* Goes to where `position` samples of the epoch have been taken: 0 = all are left. */
TFR_API TFR_MUST_CHECK tfr_status tfr_batches_start(tfr_batches *batches, int64_t epoch,
                                                    int64_t position, tfr_err *err);
/*
 * The next batch of the epoch, the last one with as many samples as are left; then NULL for both.
 * They are borrowed, and hold until the next call for these batches. After an error the same batch
 * is tried again.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_batches_next(tfr_batches *batches, tfr_tensor **input,
                                                   tfr_tensor **target, tfr_err *err);
/*
 * In place of it: only the numbers of the samples of the next batch, [n] of i64, for
 * tfr_trainer_step_held; then NULL. TFR_EUNSUPPORTED with augment.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_batches_next_numbers(tfr_batches *batches,
                                                           tfr_tensor **samples, tfr_err *err);
TFR_API int64_t tfr_batches_epoch(const tfr_batches *batches);
/* Samples of the epoch that were in batches so far, for tfr_batches_start. */
TFR_API int64_t tfr_batches_position(const tfr_batches *batches);
/* Batches of an epoch from its start. */
TFR_API int64_t tfr_batches_per_epoch(const tfr_batches *batches);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/checkpoint.h (libtfrun-nn): keeps the state of a trainer in files, so that a training goes
 * on bit by bit where it was, on the same backend, instruction set and number of threads.
 *
 * A checkpoint is one safetensors file, "step-00001876.safetensors" in a folder, with all variables
 * of the trainer by their names, and what it draws random numbers from, a position that the caller
 * gives, and a checksum in its metadata. It is written under another name, synced, renamed, and the
 * folder synced, so that at any moment, power failures included, each file of such a name is whole.
 * A file of the other name, ".tfrun-" and 16 digits, that a killed process has left in the folder
 * is removed by the next one that saves there or resumes from there.
 */
#ifndef TFRUN_CHECKPOINT_H
#define TFRUN_CHECKPOINT_H

#include <tfrun/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a checkpoint knows beside the trainer's state. */
typedef struct tfr_checkpoint_info {
    uint32_t size;
    int64_t steps; /* of the trainer; save sees for itself */
    /* The caller's: where in the data the training is, and how good the model was. */
    int64_t epoch, position, batches;
    uint64_t shuffle_seed;
    double best;        /* NAN = not known */
    int64_t best_steps; /* of the checkpoint that was so good, which stays; 0 = none */
    /* On what the bits of the next steps depend, a line each: "threads 2". */
    char conditions[2048];
} tfr_checkpoint_info;

/* The newest one's steps, by the names of files alone. TFR_ENOTFOUND if there is none. */
TFR_API TFR_MUST_CHECK tfr_status tfr_checkpoint_newest(const char *folder, int64_t *steps,
                                                        tfr_err *err);

/*
 * Writes the trainer's state into the folder, which is made if it is not there, under the number of
 * its steps. Then removes older checkpoints but `keep` of the newest and the best, 0 = all stay.
 * path gets the file's, cut to n bytes; NULL = no matter. After an error all earlier ones are
 * there. TFR_EIO (no space, no permission), TFR_ELOST.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_checkpoint_save(tfr_trainer *trainer, const char *folder,
                                                      const tfr_checkpoint_info *info,
                                                      uint32_t keep, char *path, size_t n,
                                                      tfr_err *err);
/*
 * Puts a checkpoint's state into the trainer. TFR_EMODEL: it is no checkpoint, torn (its checksum
 * is another one), or of another model, naming the first variable that is not the same; nothing has
 * changed then.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_checkpoint_load(tfr_trainer *trainer, const char *path,
                                                      tfr_checkpoint_info *info, tfr_err *err);
/*
 * The newest checkpoint of the folder that can be loaded. What is wrong with newer ones is told to
 * refused(user, path, err). TFR_ENOTFOUND if there is none.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_checkpoint_resume(
    tfr_trainer *trainer, const char *folder, tfr_checkpoint_info *info,
    void (*refused)(void *user, const char *path, const tfr_err *err), void *user, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif

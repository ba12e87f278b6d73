/* SPDX-License-Identifier: Apache-2.0 */
/* idx_files.h: the four IDX files of a data set in a folder of the test. */
#ifndef TFR_IDX_FILES_H
#define TFR_IDX_FILES_H

#include <tfrun/dataset.h>

#include "idx_kit.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static bytes file, packed;

enum { TRAIN = 23, TEST_COUNT = 7, H = 3, W = 4 };

static const char *const names[] = {
    "train-images-idx3-ubyte",    "train-labels-idx1-ubyte",    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",     "train-images.idx3-ubyte",    "train-labels.idx1-ubyte",
    "t10k-images.idx3-ubyte",     "t10k-labels.idx1-ubyte",     "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",  "t10k-labels-idx1-ubyte.gz",
    "train-images.idx3-ubyte.gz", "train-labels.idx1-ubyte.gz", "t10k-images.idx3-ubyte.gz",
    "t10k-labels.idx1-ubyte.gz"};
enum { PLAIN = 0, DOTTED = 4, PACKED = 8, DOTTED_PACKED = 12, N_NAMES = 16 };

static inline void drop_all(void)
{
    for (int i = 0; i < N_NAMES; i++)
        unlink(temp_path(names[i]));
    rmdir(temp_folder());
}

static inline void write_idx(const char *name, bool gzip)
{
    packed.n = 0;
    if (gzip)
        put_gzip(&packed, &file);
    write_bytes(name, gzip ? &packed : &file);
}

/* All four files of a spelling. */
static inline void write_all(int spelling)
{
    drop_all();
    for (int i = 0; i < 4; i++) {
        file.n = 0;
        if (i % 2 == 0)
            put_images(&file, i < 2 ? TRAIN : TEST_COUNT, H, W);
        else
            put_labels(&file, i < 2 ? TRAIN : TEST_COUNT);
        write_idx(names[spelling + i], spelling >= PACKED);
    }
}

static inline tfr_status open_idx(tfr_dataset **train, tfr_dataset **test)
{
    char source[256];
    snprintf(source, sizeof source, "idx:%s", temp_folder());
    return tfr_dataset_open(source, train, test, &err);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h: cuts a model down while the same is wrong with it. */
#ifndef TFR_FUZZ_REDUCE_H
#define TFR_FUZZ_REDUCE_H

#include "message.h"

typedef struct fuzz_reduction {
    /* Is the same wrong with these bytes? */
    bool (*persists)(void *user, const fuzz_bytes *bytes);
    /* The values of all names, as initializers of a graph, or NULL. The caller destroys it. */
    fuzz_msg *(*values)(void *user, const fuzz_bytes *bytes);
    void *user;
    double seconds;
} fuzz_reduction;

/* Replaces bytes by fewer ones. Returns how many candidates were tried. */
int fuzz_reduce(const fuzz_reduction *reduction, fuzz_bytes *bytes);

#endif

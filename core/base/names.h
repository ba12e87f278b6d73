/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: texts that lie one behind the other, and a map from the names of a graph's values to
 * their numbers. Names are borrowed and must outlive the map. Open addressing, FNV-1a; never more
 * than half full.
 */
#ifndef TFR_CORE_NAMES_H
#define TFR_CORE_NAMES_H

#include <stdint.h>
#include <tfrun/status.h>

/* The text behind n others. A table of texts without their addresses has half the size. */
const char *tfr__texts_skip(const char *texts, uint32_t n);

typedef struct tfr__names {
    const char **keys; /* NULL = free */
    int32_t *numbers;
    uint32_t n, capacity; /* capacity is 0 or a power of two */
} tfr__names;

void tfr__names_finish(tfr__names *names);
/* The number of name, or -1. */
int32_t tfr__names_find(const tfr__names *names, const char *name);
/* A name that is there already changes its number, and that cannot fail; else TFR_ENOMEM. */
tfr_status tfr__names_set(tfr__names *names, const char *name, int32_t number, tfr_err *err);

#endif

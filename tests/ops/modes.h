/* SPDX-License-Identifier: Apache-2.0 */
/* modes.h: the modes of the op tests, and the lists of what a backend is known not to do. */
#ifndef OPS_MODES_H
#define OPS_MODES_H

#include "certify/engine.h"

void ops_mode_value(ops_run *run);
void ops_mode_support(ops_run *run);
void ops_mode_claims(ops_run *run);
void ops_mode_hostile(ops_run *run);
void ops_mode_bench(ops_run *run);

/* ---- lists (list.c) -------------------------------------------------------------------------- */

typedef struct ops_known {
    enum { OPS_UNSUPPORTED, OPS_DEPENDS, OPS_XFAIL } kind;
    char name[64];
    uint64_t seed; /* 0 = all of the description */
    bool used;
} ops_known;

/* False with a message if the file cannot be read. There is one list in a run of the program. */
bool ops_list_read(const char *path);
/* The line about a description, or about one seed of it; NULL = none. */
ops_known *ops_list_find(int kind, const char *name, uint64_t seed);
/* Lines of descriptions that there are not, counted as failures. */
void ops_list_check_names(ops_run *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: for calls that may do anything: says which one crashed the program or did not end, and
 * keeps memory that a shape asks for from being the machine's.
 */
#ifndef OPS_GUARD_H
#define OPS_GUARD_H

#include <stdint.h>

/* Once, before the first call. */
void ops_guard_init(void);
/* Names the next call and gives it time; NULL = no call. */
void ops_guard_call(void *user, const char *name, uint64_t seed, const char *what);

#endif

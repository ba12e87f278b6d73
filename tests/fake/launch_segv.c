/* SPDX-License-Identifier: Apache-2.0 */
/* Reads memory that it may not read, in launch. */
#include <sys/mman.h>
#define FAKE_NAME "launch-segv"
#define FAKE_ON_LAUNCH                                                                             \
    volatile char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);       \
    (void)*closed;
#include "fake.h"

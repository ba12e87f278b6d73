/* SPDX-License-Identifier: Apache-2.0 */
/* Takes all the memory that it can get while it is loaded, and ends the process then. */
#include <stdlib.h>
#include <string.h>
#define FAKE_NAME "ctor-eats-exits"
#define FAKE_ON_LOAD                                                                               \
    for (char *more; (more = malloc(1 << 20));)                                                    \
        memset(more, 1, 1 << 20);                                                                  \
    exit(1);
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory at each launch and never gives it back. */
#define FAKE_NAME "launch-forgets"
#define FAKE_ON_LAUNCH                                                                             \
    static void *volatile last;                                                                    \
    last = malloc(64);                                                                             \
    (void)last;
#include "fake.h"

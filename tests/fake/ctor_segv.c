/* SPDX-License-Identifier: Apache-2.0 */
/* Reads address 8 while it is loaded. */
#define FAKE_NAME "ctor-segv"
#define FAKE_ON_LOAD                                                                               \
    char *volatile nowhere = (char *)8;                                                            \
    (void)*(volatile char *)nowhere;
#include "fake.h"

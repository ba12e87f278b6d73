/* SPDX-License-Identifier: Apache-2.0 */
/* Takes all the memory that it can get while it is loaded, and does not look when there is none. */
#include <stdlib.h>
#include <string.h>
#define FAKE_NAME "ctor-eats"
#define FAKE_ON_LOAD                                                                               \
    for (int i = 0; i < 1 << 16; i++)                                                              \
        *(volatile char *)memset(malloc(1 << 20), 1, 1 << 20);
#include "fake.h"

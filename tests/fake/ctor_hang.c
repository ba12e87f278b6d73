/* SPDX-License-Identifier: Apache-2.0 */
/* Never comes back from being loaded. */
#define FAKE_NAME "ctor-hang"
#define FAKE_ON_LOAD                                                                               \
    for (;;)                                                                                       \
        pause();
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Never comes back from looking for devices. */
#define FAKE_NAME "hang-enumerate"
#define FAKE_ON_ENUMERATE                                                                          \
    for (;;)                                                                                       \
        pause();
#include "fake.h"

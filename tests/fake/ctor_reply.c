/* SPDX-License-Identifier: Apache-2.0 */
/* Writes garbage where the probe's answer belongs. */
#define FAKE_NAME "ctor-reply"
#define FAKE_ON_LOAD                                                                               \
    if (write(3, "nonsense nonsense nonsense nonsense", 35) < 0)                                   \
        _exit(4);
#include "fake.h"

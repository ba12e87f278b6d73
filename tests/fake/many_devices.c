/* SPDX-License-Identifier: Apache-2.0 */
/* Says that there are four billion devices. */
#define FAKE_NAME "many-devices"
#define FAKE_ON_ENUMERATE                                                                          \
    *n = 4000000000u;                                                                              \
    return TFR_OK;
#include "fake.h"

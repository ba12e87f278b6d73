/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a driver that it cannot work with. */
#define FAKE_NAME "old-driver"
#define FAKE_ON_ENUMERATE                                                                          \
    return tfr_fail(err, TFR_EDEVICE, "driver 470 is older than 535, install a newer one");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds no device, and says why. */
#define FAKE_NAME         "no-device"
#define FAKE_N_DEVICES    0
#define FAKE_ON_ENUMERATE tfr_fail(err, TFR_OK, "no board answers on bus 7");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Cannot say whether it has a kernel, which it must. */
#define FAKE_NAME        "supports-fails"
#define FAKE_ON_SUPPORTS return tfr_fail(err, TFR_EDEVICE, "no idea");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Has a device that cannot be opened. */
#define FAKE_NAME    "open-fails"
#define FAKE_ON_OPEN return tfr_fail(err, TFR_EBUSY, "process 4711 has it");
#include "fake.h"

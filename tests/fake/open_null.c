/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a device and gives none. */
#define FAKE_NAME    "open-null"
#define FAKE_ON_OPEN return TFR_OK;
#include "fake.h"

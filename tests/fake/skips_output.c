/* SPDX-License-Identifier: Apache-2.0 */
/* Launches nothing, and says that all is well. */
#define FAKE_NAME      "skips-output"
#define FAKE_ON_LAUNCH return TFR_OK;
#include "fake.h"

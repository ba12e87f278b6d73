/* SPDX-License-Identifier: Apache-2.0 */
/* Launches and does not come back. */
#define FAKE_NAME      "launch-hangs"
#define FAKE_ON_LAUNCH for (;;) pause();
#include "fake.h"

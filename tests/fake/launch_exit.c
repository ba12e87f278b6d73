/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process as if all were well, in launch. */
#define FAKE_NAME      "launch-exit"
#define FAKE_ON_LAUNCH exit(0);
#include "fake.h"

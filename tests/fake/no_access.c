/* SPDX-License-Identifier: Apache-2.0 */
/* Has a memory space that its own kernels cannot use, which shows on opening only. */
#define FAKE_NAME        "no-access"
#define FAKE_TYPE        "NPU" /* which the probe does not open */
#define FAKE_IDENTITY    "board:1"
#define FAKE_SPACE_FLAGS TFR_SPACE_HOST_ACCESS
#include "fake.h"

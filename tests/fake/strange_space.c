/* SPDX-License-Identifier: Apache-2.0 */
/* Its memory has a flag that changes what the rest means, and that no core knows. */
#define FAKE_NAME        "strange-space"
#define FAKE_TYPE        "NPU" /* which the probe does not open */
#define FAKE_IDENTITY    "board:2"
#define FAKE_SPACE_FLAGS (TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS | 1u << 31)
#include "fake.h"

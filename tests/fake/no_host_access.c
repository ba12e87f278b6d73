/* SPDX-License-Identifier: Apache-2.0 */
/* Says that it is the host's processor, and that the host cannot read its memory. */
#define FAKE_NAME        "no-host-access"
#define FAKE_SPACE_FLAGS TFR_SPACE_DEVICE_ACCESS
#include "fake.h"

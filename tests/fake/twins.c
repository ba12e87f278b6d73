/* SPDX-License-Identifier: Apache-2.0 */
/* Has two devices and says that they are one. */
#define FAKE_NAME      "twins"
#define FAKE_TYPE      "NPU"
#define FAKE_IDENTITY  "board:7"
#define FAKE_N_DEVICES 2
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Says that kernels write what the host reads in its memory, which has no addresses. */
#define FAKE_NAME     "strange-role"
#define FAKE_TYPE     "NPU" /* which the probe does not open */
#define FAKE_IDENTITY "board:3"
#define FAKE_SPACE_FLAGS                                                                           \
    (TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS | TFR_SPACE_TRANSFER | TFR_SPACE_HANDLES)
#include "fake.h"

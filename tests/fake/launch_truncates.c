/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the file w.bin, which the model has its weights in, shorter before it reads them. */
#include <unistd.h>
#define FAKE_NAME "launch-truncates"
#define FAKE_ON_LAUNCH                                                                             \
    if (truncate("w.bin", 0))                                                                      \
        return tfr_fail(err, TFR_EIO, "there is no w.bin");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes into the workspace of the launch before, which is somebody else's by now. */
#define FAKE_NAME   "keeps-workspace"
#define FAKE_ON_YES answer->workspace_bytes = 64;
#define FAKE_ON_LAUNCH                                                                             \
    if (kernel->kept)                                                                              \
        kernel->kept[0] = 1;                                                                       \
    kernel->kept = launch->workspace;
#include "fake.h"

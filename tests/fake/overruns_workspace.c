/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for a workspace and writes behind it. */
#define FAKE_NAME      "overruns-workspace"
#define FAKE_ON_YES    answer->workspace_bytes = 64;
#define FAKE_ON_LAUNCH ((char *)launch->workspace)[64] = 1;
#include "fake.h"

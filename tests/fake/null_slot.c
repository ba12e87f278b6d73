/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a required slot empty. */
#define FAKE_NAME        "null-slot"
#define FAKE_LAUNCH_SLOT NULL
#include "fake.h"

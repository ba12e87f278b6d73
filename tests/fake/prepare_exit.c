/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process as if all were well, past all handlers, in prepare. */
#define FAKE_NAME       "prepare-exit"
#define FAKE_ON_PREPARE _exit(0);
#include "fake.h"

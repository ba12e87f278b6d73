/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process with success while it is loaded. */
#define FAKE_NAME    "ctor-exit0"
#define FAKE_ON_LOAD _exit(0);
#include "fake.h"

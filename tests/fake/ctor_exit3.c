/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process with status 3 while it is loaded. */
#define FAKE_NAME    "ctor-exit3"
#define FAKE_ON_LOAD exit(3);
#include "fake.h"

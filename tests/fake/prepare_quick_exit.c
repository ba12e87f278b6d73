/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process as if all were well, past the handlers of exit, in prepare. */
#define FAKE_NAME       "prepare-quick-exit"
#define FAKE_ON_PREPARE quick_exit(0);
#include "fake.h"

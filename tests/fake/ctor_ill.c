/* SPDX-License-Identifier: Apache-2.0 */
/* Ends as with an instruction that the processor does not have, while it is loaded. */
#include <signal.h>
#define FAKE_NAME    "ctor-ill"
#define FAKE_ON_LOAD raise(SIGILL);
#include "fake.h"

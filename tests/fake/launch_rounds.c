/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the rounding mode changed after launch. */
#include <fenv.h>
#define FAKE_NAME      "launch-rounds"
#define FAKE_ON_LAUNCH fesetround(FE_UPWARD);
#include "fake.h"

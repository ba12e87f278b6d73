/* SPDX-License-Identifier: Apache-2.0 */
/* Says yes, prepares, and then does not run. */
#define FAKE_NAME      "launch-fails"
#define FAKE_PRIORITY  900
#define FAKE_ON_LAUNCH return tfr_fail(err, TFR_EINTERNAL, "the kernel fell over");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Says yes and then cannot. */
#define FAKE_NAME       "prepare-fails"
#define FAKE_PRIORITY   900
#define FAKE_ON_PREPARE return tfr_fail(err, TFR_EINTERNAL, "on second thoughts, no");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses to start. */
#define FAKE_NAME     "entry-error"
#define FAKE_ON_ENTRY return tfr_fail(err, TFR_EINTERNAL, "the flux of 88 is over 42");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Has a note and no entry. */
#define FAKE_NAME "no-entry"
#define FAKE_NO_ENTRY
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Has an entry and no note. */
#define FAKE_NAME "no-note"
#define FAKE_NO_NOTE
#include "fake.h"

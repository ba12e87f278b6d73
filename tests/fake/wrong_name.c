/* SPDX-License-Identifier: Apache-2.0 */
/* Has one name in its note and another in its table. */
#define FAKE_NAME       "wrong-name"
#define FAKE_TABLE_NAME "other-name"
#include "fake.h"

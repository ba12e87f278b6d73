/* SPDX-License-Identifier: Apache-2.0 */
/* Has a table that is shorter than the first version of it. */
#define FAKE_NAME        "short-struct"
#define FAKE_PLUGIN_SIZE 40
#include "fake.h"

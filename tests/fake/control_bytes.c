/* SPDX-License-Identifier: Apache-2.0 */
/* Has a version that would clear the terminal. */
#define FAKE_NAME    "control-bytes"
#define FAKE_VERSION "1.0\033[2J"
#include "fake.h"

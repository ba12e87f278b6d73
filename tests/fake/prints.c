/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to standard output. */
#define FAKE_NAME     "prints"
#define FAKE_ON_ENTRY puts("hello world");
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Aborts while it is loaded. */
#define FAKE_NAME    "ctor-abort"
#define FAKE_ON_LOAD abort();
#include "fake.h"

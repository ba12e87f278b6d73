/* SPDX-License-Identifier: Apache-2.0 */
/* Aborts in prepare. */
#define FAKE_NAME       "prepare-abort"
#define FAKE_ON_PREPARE abort();
#include "fake.h"

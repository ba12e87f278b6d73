/* SPDX-License-Identifier: Apache-2.0 */
/* Takes most of a second to prepare. */
#define FAKE_NAME       "prepare-slow"
#define FAKE_ON_PREPARE usleep(800000);
#include "fake.h"

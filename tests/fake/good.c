/* SPDX-License-Identifier: Apache-2.0 */
/* Does everything right. */
#define FAKE_NAME "good"
#include "fake.h"

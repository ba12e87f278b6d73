/* SPDX-License-Identifier: Apache-2.0 */
/* Claims an op of a time long past. */
#define FAKE_NAME          "wrong-version"
#define FAKE_SINCE_VERSION 1
#include "fake.h"

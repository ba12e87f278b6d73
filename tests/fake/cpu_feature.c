/* SPDX-License-Identifier: Apache-2.0 */
/* Needs what no processor has. */
#define FAKE_NAME         "cpu-feature"
#define FAKE_CPU_FEATURES "amx_nonexistent"
#include "fake.h"

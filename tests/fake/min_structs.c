/* SPDX-License-Identifier: Apache-2.0 */
/* Was built with the first header: every table ends with its last required slot. */
#define FAKE_NAME        "min-structs"
#define FAKE_PLUGIN_SIZE TFR_PLUGIN_MIN_SIZE
#define FAKE_MEMORY_SIZE TFR_MEMORY_MIN_SIZE
#define FAKE_KERNEL_SIZE TFR_KERNEL_MIN_SIZE
#include "fake.h"

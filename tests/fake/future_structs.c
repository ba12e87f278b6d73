/* SPDX-License-Identifier: Apache-2.0 */
/* Was built with a later header: every table has fields that this core does not know. */
#define FAKE_NAME        "future-structs"
#define FAKE_PLUGIN_SIZE (sizeof(tfr_plugin) + 64)
#define FAKE_MEMORY_SIZE (sizeof(tfr_memory_facet) + 64)
#define FAKE_KERNEL_SIZE (sizeof(tfr_kernel_facet) + 64)
#include "fake.h"

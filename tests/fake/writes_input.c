/* SPDX-License-Identifier: Apache-2.0 */
/* Computes in the input's memory without having said so. */
#define FAKE_NAME "writes-input"
#define FAKE_ON_LAUNCH                                                                             \
    for (i = 0; i < kernel->n; i++)                                                                \
        if (x[i] < 0)                                                                              \
            ((float *)launch->args[0].address)[i] = 0;
#include "fake.h"

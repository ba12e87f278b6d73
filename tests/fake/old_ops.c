/* SPDX-License-Identifier: Apache-2.0 */
/* Claims versions of ops that are older than any that the core takes. */
#define FAKE_NAME "old-ops"
#define FAKE_ON_OPS                                                                                \
    static const char *const names[] = {"Relu", "Add", "Mul"};                                     \
    for (uint32_t i = 0; i < *n && i < 3; i++) {                                                   \
        out[i].since_version = 1;                                                                  \
        out[i].domain = "";                                                                        \
        out[i].name = names[i];                                                                    \
    }                                                                                              \
    *n = 3;                                                                                        \
    return TFR_OK;
#include "fake.h"

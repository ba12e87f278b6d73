/* SPDX-License-Identifier: Apache-2.0 */
/* Claims versions of ops that are older than any that the core takes, one of which it takes some
 * calls for, and one that was written for other calls. */
#define FAKE_NAME "old-ops"
#define FAKE_ON_OPS                                                                                \
    static const char *const names[] = {"Relu", "Add", "ScatterND", "ScatterElements"};            \
    for (uint32_t i = 0; i < *n && i < 4; i++) {                                                   \
        out[i].since_version = i < 2 ? 1 : 11;                                                     \
        out[i].domain = "";                                                                        \
        out[i].name = names[i];                                                                    \
        out[i].digest = i == 3 ? 5 : 0;                                                            \
    }                                                                                              \
    *n = 4;                                                                                        \
    return TFR_OK;
#include "fake.h"

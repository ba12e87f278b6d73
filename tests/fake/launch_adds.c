/* SPDX-License-Identifier: Apache-2.0 */
/* Gives wrong values and tells nobody. */
#define FAKE_NAME "launch-adds"
#define FAKE_ON_LAUNCH                                                                             \
    for (i = 0; i < kernel->n; i++)                                                                \
        y[i] = x[i] > 0 ? x[i] + 1 : 0;                                                            \
    return TFR_OK;
#include "fake.h"

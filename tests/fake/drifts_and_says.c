/* SPDX-License-Identifier: Apache-2.0 */
/* Gives other values each time, a little, and says so; for Relu they are wrong all the same. */
#define FAKE_NAME         "drifts-and-says"
#define FAKE_ANSWER_FLAGS TFR_ANSWER_NONDETERMINISTIC
#define FAKE_ON_LAUNCH                                                                             \
    static unsigned n;                                                                             \
    for (i = 0; i < kernel->n; i++)                                                                \
        y[i] = x[i] > 0 ? x[i] * (n % 4 ? 1.0f : 1.0000001f) : 0;                                  \
    n++;                                                                                           \
    return TFR_OK;
#include "fake.h"

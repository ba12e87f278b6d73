/* SPDX-License-Identifier: Apache-2.0 */
/* Says that the output may have the input's memory, and writes zeros before it reads. */
#define FAKE_NAME "not-in-place"
#define FAKE_ON_YES                                                                                \
    answer->in_place[0].input = answer->in_place[0].output = 0;                                    \
    answer->n_in_place = 1;
#define FAKE_ON_LAUNCH                                                                             \
    for (i = 0; i < kernel->n; i++)                                                                \
        y[i] = 0;
#include "fake.h"

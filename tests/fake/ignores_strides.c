/* SPDX-License-Identifier: Apache-2.0 */
/* Says yes to strided inputs, and reads them as if they were plain. */
#define FAKE_NAME "ignores-strides"
#define FAKE_ON_SUPPORTS                                                                           \
    if (x && x->dtype == TFR_DTYPE_F32) {                                                          \
        answer->verdict = TFR_VERDICT_YES;                                                         \
        return TFR_OK;                                                                             \
    }
#include "fake.h"

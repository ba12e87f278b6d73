/* SPDX-License-Identifier: Apache-2.0 */
/* Needs a function that nobody has. */
#define FAKE_NAME "undefined-symbol"
int tfr_test_no_such_function(void);
#define FAKE_ON_ENTRY                                                                              \
    if (tfr_test_no_such_function())                                                               \
        return TFR_EINTERNAL;
#include "fake.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, when it is probed, that the library which it would open later does not work. */
#define FAKE_NAME "opens-broken"
#define FAKE_ON_ENTRY                                                                              \
    if (host->facet(TFR_HOST_PROBE_V1))                                                            \
        return tfr_fail(err, TFR_EUNSUPPORTED, "libtfr-old.so is of 1987, install a newer one");
#include "fake.h"

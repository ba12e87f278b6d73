/* SPDX-License-Identifier: Apache-2.0 */
/* Has a facet of collectives without its slots. */
#define FAKE_NAME "bad-comm"
#define FAKE_ON_FACET                                                                              \
    if (strcmp(id, TFR_COMM_V1) == 0)                                                              \
        return &empty;
#include <tfrun/plugin.h>
static const tfr_comm_facet empty = {.size = sizeof empty};
#include "fake.h"

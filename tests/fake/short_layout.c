/* SPDX-License-Identifier: Apache-2.0 */
/* Has a table of layouts that is shorter than the first version of it. */
#include <tfrun/plugin.h>

static const tfr_layout_facet layout = {.size = 16};

#define FAKE_NAME "short-layout"
#define FAKE_ON_FACET                                                                              \
    if (strcmp(id, TFR_LAYOUT_V1) == 0)                                                            \
        return &layout;
#include "fake.h"

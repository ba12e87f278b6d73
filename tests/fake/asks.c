/* SPDX-License-Identifier: Apache-2.0 */
/* Has a device if a variable is set and a file is there, and its notes say so. */
#define FAKE_NAME "asks"
#define FAKE_ON_ENUMERATE                                                                          \
    const char *on = getenv("ASKS_ON"), *folder = getenv("ASKS_FOLDER");                           \
    char path[512];                                                                                \
    snprintf(path, sizeof path, "%s/vendor.icd", folder ? folder : "/nowhere");                    \
    if (!on || access(path, R_OK) != 0) {                                                          \
        *n = 0;                                                                                    \
        tfr_fail(err, TFR_OK, "ASKS_ON is not set, or there is no %s", path);                      \
        return TFR_OK;                                                                             \
    }
#include "fake.h"

TFR_PLUGIN_ASKS_VARIABLE("ASKS_ON");
TFR_PLUGIN_ASKS_FILE("$ASKS_FOLDER");

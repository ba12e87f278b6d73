/* SPDX-License-Identifier: Apache-2.0 */
/* status.c: names and sentences of statuses and reasons, from the lists of the contract. */
#include <tfrun/status.h>

/* configure defines it; a build by hand has no version to speak of. */
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

const char *tfr_status_name(tfr_status status)
{
    switch ((int)status) {
#define STATUS_NAME(name, number, text)                                                            \
    case number:                                                                                   \
        return "TFR_" #name;
        TFR_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown status";
}

const char *tfr_status_text(tfr_status status)
{
    switch ((int)status) {
#define STATUS_TEXT(name, number, text)                                                            \
    case number:                                                                                   \
        return text;
        TFR_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *tfr_reason_name(tfr_reason reason)
{
    switch ((int)reason) {
#define REASON_NAME(name, number, text)                                                            \
    case number:                                                                                   \
        return text;
        TFR_REASON_LIST(REASON_NAME)
#undef REASON_NAME
    }
    return "unknown reason";
}

const char *tfr_version(void)
{
    return PACKAGE_VERSION;
}

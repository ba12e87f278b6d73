/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c: names and sentences of statuses and reasons, from the lists of the contract, and the
 * copy of tfr_fail that libtfrun's files share.
 */
#include <tfrun/status.h>

#include <tfrun/fail.h>

/* Declared without inline, so that C gives these an address here. */
size_t tfr__text_bytes(uint32_t size, size_t offset, size_t known);
tfr_status tfr_fail(tfr_err *err, tfr_status code, const char *format, ...);
tfr_status tfr_decline(tfr_answer *answer, tfr_reason reason, const char *format, ...);

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

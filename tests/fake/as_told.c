/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers what its options say, so that a test can stand on either side of a limit: devices and ops
 * (how many), ops-status and open-status (what these slots return), unusable (a reason for the
 * devices from number "first" on), silent (they give no sentence), nameless (the first op has no
 * name). The last of the ops is Relu, the others are known to nobody.
 */
#include <stdlib.h>
#include <tfrun/plugin.h>

static const tfr_host *told_host;

static int told(const char *key, int otherwise)
{
    char text[16];
    if (!told_host || told_host->option("as-told", key, text, sizeof text) <= 0)
        return otherwise;
    return (int)strtol(text, NULL, 10);
}

#define FAKE_NAME      "as-told"
#define FAKE_TYPE      "NPU"
#define FAKE_IDENTITY  "board:%u", i
#define FAKE_N_DEVICES (uint32_t) told("devices", 1)
#define FAKE_ON_ENTRY  told_host = host;
#define FAKE_ON_DEVICE                                                                             \
    if (told("host", 0))                                                                           \
        snprintf(info->identity, sizeof info->identity, "host");                                   \
    if (i >= (uint32_t)told("first", 1) && told("unusable", 0)) {                                  \
        info->unusable = told("unusable", 0);                                                      \
        snprintf(info->why, sizeof info->why, "%s", told("silent", 0) ? "" : "it is told so");     \
    }
#define FAKE_ON_OPEN                                                                               \
    if (told("open-status", 0))                                                                    \
        return tfr_fail(err, told("open-status", 0), "it shall not open");                         \
    if (info->unusable)                                                                            \
        abort();
#define FAKE_ON_OPS                                                                                \
    uint32_t capacity = *n, i;                                                                     \
    *n = (uint32_t)told("ops", 1);                                                                 \
    if (told("ops-status", 0))                                                                     \
        return tfr_fail(err, told("ops-status", 0), "it forgot its ops");                          \
    for (i = 0; i < *n && i < capacity; i++) {                                                     \
        tfr_op_claim *claim = (tfr_op_claim *)(void *)((char *)out + (size_t)i * stride);          \
        claim->since_version = 14;                                                                 \
        claim->name = i + 1 == *n ? "Relu" : !i && told("nameless", 0) ? NULL : "Unheard";         \
    }                                                                                              \
    return TFR_OK;
#include "fake.h"

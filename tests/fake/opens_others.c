/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens libraries later, of which the required one is here under its second name and those that it
 * can do without are not; said in one note with spaces, escapes and keys that nobody knows.
 */
#define FAKE_NAME "opens-others"
#include "fake.h"

#define JSON                                                                                       \
    "[ {\"soname\": [\"libtfr-absent.so.8\", \"libgcc_s.so.1\"],\n  \"priority\": \"required\","   \
    " \"since\": {\"a\": 1}, \"feature\": \"a \\\"}\\\" b\"},"                                     \
    " {\"priority\":\"recommended\",\"soname\":[\"libtfr-absent.so.9\"]}, {\"soname\":"            \
    "[\"libtfr-absent.so.10\"]} ]"

__attribute__((section(".note.dlopen"), used, aligned(4))) static const struct {
    uint32_t namesz, descsz, type;
    char owner[4];
    char text[(sizeof(JSON) + 3) / 4 * 4];
} note = {4, sizeof(JSON), TFR_DLOPEN_NOTE_TYPE, TFR_DLOPEN_NOTE_OWNER, JSON};

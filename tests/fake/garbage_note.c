/* SPDX-License-Identifier: Apache-2.0 */
/* Has a note that says it is longer than it is. */
#define FAKE_NAME "garbage-note"
#define FAKE_NO_NOTE
#include "fake.h"

__attribute__((section(".note.tfrun"), used, aligned(4))) static const struct {
    uint32_t namesz, descsz, type;
    char owner[8];
    uint32_t desc[5];
} note = {sizeof(TFR_NOTE_OWNER),
          20,
          TFR_NOTE_TYPE,
          TFR_NOTE_OWNER,
          {4000, TFR_ABI_MAJOR, TFR_ABI_MINOR, 7, 7}};

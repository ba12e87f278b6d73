/* SPDX-License-Identifier: Apache-2.0 */
/* Says that it was built with a sanitizer that the core never has. */
#define FAKE_NAME "wrong-sanitizer"
#define FAKE_NO_NOTE
#include "fake.h"

__attribute__((section(".note.tfrun"), used, aligned(4))) static const tfr_note_record note = {
    sizeof(TFR_NOTE_OWNER),
    sizeof(tfr_note),
    TFR_NOTE_TYPE,
    TFR_NOTE_OWNER,
    {sizeof(tfr_note), TFR_ABI_MAJOR, TFR_ABI_MINOR, TFR_PLUGIN_BACKEND, 1, TFR_SANITIZER_MEMORY,
     FAKE_NAME, ""}};

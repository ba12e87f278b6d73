/* SPDX-License-Identifier: Apache-2.0 */
/* Was built for the next minor version of the plugin ABI. */
#define FAKE_NAME "wrong-minor"
#define FAKE_NO_NOTE
#include "fake.h"

__attribute__((section(".note.tfrun"), used, aligned(4))) static const tfr_note_record note = {
    sizeof(TFR_NOTE_OWNER),
    sizeof(tfr_note),
    TFR_NOTE_TYPE,
    TFR_NOTE_OWNER,
    {sizeof(tfr_note), TFR_ABI_MAJOR, TFR_ABI_MINOR + 1, TFR_PLUGIN_BACKEND, 1, TFR_SANITIZERS,
     FAKE_NAME, ""}};

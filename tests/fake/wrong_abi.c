/* SPDX-License-Identifier: Apache-2.0 */
/* Needs plugin ABI 2.0. */
#define FAKE_NAME "wrong-abi"
#define FAKE_NO_NOTE
#include "fake.h"

__attribute__((section(".note.tfrun"), used, aligned(4))) static const tfr_note_record note = {
    sizeof(TFR_NOTE_OWNER),
    sizeof(tfr_note),
    TFR_NOTE_TYPE,
    TFR_NOTE_OWNER,
    {sizeof(tfr_note), 2, 0, TFR_PLUGIN_BACKEND, 1, TFR_SANITIZERS, FAKE_NAME, ""}};

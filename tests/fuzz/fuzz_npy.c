/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_npy.c: libFuzzer's target for an .npy file. Any bytes give a
 * value or an error with a sentence. HACKING.md says how to run it; test_hostile replays seeds.
 */
#include <tfrun/npy.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *tensor = NULL;
    if (tfr_npy_parse(data, n, &tensor, &err) == TFR_OK)
        tfr_tensor_release(tensor);
    else if (!*err.text || err.code == TFR_EINTERNAL)
        __builtin_trap();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tensor.c: libFuzzer's target for a TensorProto, SequenceProto or OptionalProto; the first
 * byte says which. Any bytes give a value or an error with a sentence. HACKING.md says how to run
 * it; test_hostile replays seeds.
 */
#include <tfrun/onnx.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *tensor = NULL;
    if (n == 0)
        return 0;
    if (tfr_onnx_parse_tensor(data + 1, n - 1, (tfr_kind)(data[0] % 4), &tensor, &err) == TFR_OK)
        tfr_tensor_release(tensor);
    else if (!*err.text || err.code == TFR_EINTERNAL)
        __builtin_trap();
    return 0;
}

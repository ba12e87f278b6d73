/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_onnx.c: libFuzzer's target for a model. Any bytes give a
 * value or an error with a sentence. HACKING.md says how to run it; test_hostile replays seeds.
 */
#include <tfrun/onnx.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_graph *graph = NULL;
    if (tfr_onnx_parse(data, n, &graph, &err) == TFR_OK)
        tfr_graph_release(graph);
    else if (!*err.text || err.code == TFR_EINTERNAL)
        __builtin_trap();
    return 0;
}

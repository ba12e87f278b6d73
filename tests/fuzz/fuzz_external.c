/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_external.c: libFuzzer's target for external data. The first byte says how long the data file
 * is, then come its bytes; what is left is a TensorProto that may point to it. The tensor's bytes
 * are all read, so that a range that reaches out of the file shows. HACKING.md says how to run it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char folder[] = "/tmp/tfrun-fuzz-XXXXXX";

static void remove_all(void)
{
    if (chdir(folder) == 0) {
        unlink("w.bin");
        unlink("t.pb");
    }
    rmdir(folder);
}

static void put(const char *name, const uint8_t *data, size_t n)
{
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, n, file) != n)
        __builtin_trap();
    fclose(file);
}

static void read_all(const tfr_tensor *tensor)
{
    volatile uint8_t sum = 0;
    const uint8_t *bytes = tfr_tensor_data(tensor);
    for (size_t i = 0; i < tfr_tensor_bytes(tensor); i++)
        sum = (uint8_t)(sum + bytes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int started;
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *tensor = NULL;
    size_t n_file = n ? data[0] : 0;
    if (!started) {
        started = 1;
        if (!mkdtemp(folder) || chdir(folder) != 0)
            __builtin_trap();
        atexit(remove_all);
    }
    if (n < 1 + n_file)
        return 0;
    put("w.bin", data + 1, n_file);
    put("t.pb", data + 1 + n_file, n - 1 - n_file);
    if (tfr_onnx_load_tensor("t.pb", TFR_KIND_TENSOR, &tensor, &err) == TFR_OK) {
        read_all(tensor);
        tfr_tensor_release(tensor);
    } else if (!*err.text || err.code == TFR_EINTERNAL) {
        __builtin_trap();
    }
    return 0;
}

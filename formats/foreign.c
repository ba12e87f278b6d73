/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c: signatures of files that people give by mistake. */
#include <string.h>

#include "foreign.h"

static const struct {
    const char *name;
    size_t offset, bytes;
    const char *signature;
} signatures[] = {
    {"a PNG image", 0, 8, "\x89PNG\r\n\x1a\n"},
    {"a JPEG image", 0, 3, "\xff\xd8\xff"},
    {"a PDF document", 0, 5, "%PDF-"},
    {"a zip archive (as .npz files and PyTorch's .pt files are)", 0, 4, "PK\x03\x04"},
    {"a gzip file", 0, 2, "\x1f\x8b"},
    {"an xz file", 0, 6,
     "\xfd"
     "7zXZ\0"},
    {"a Zstandard file", 0, 4, "\x28\xb5\x2f\xfd"},
    {"an ELF file", 0, 4,
     "\x7f"
     "ELF"},
    {"an HDF5 file", 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a NumPy .npy file", 0, 6, "\x93NUMPY"},
    {"a GGUF file", 0, 4, "GGUF"},
    {"a TensorFlow Lite model", 4, 4, "TFL3"},
    {"an ONNX Runtime .ort model", 4, 4, "ORTM"},
    {"a Git LFS pointer, the file itself was not downloaded", 0, 12, "version http"},
    {"an HTML page", 0, 9, "<!DOCTYPE"},
};

const char *tfr__foreign_name(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    size_t look = n < 64 ? n : 64, printable = 0;

    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (n >= signatures[i].offset + signatures[i].bytes &&
            memcmp(at + signatures[i].offset, signatures[i].signature, signatures[i].bytes) == 0)
            return signatures[i].name;
    for (size_t i = 0; i < look; i++)
        printable +=
            (at[i] >= 0x20 && at[i] < 0x7f) || at[i] == '\n' || at[i] == '\t' || at[i] == '\r';
    return look && printable == look ? "text" : NULL;
}

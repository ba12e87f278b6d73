/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_kernels.c: what nvcc made of kernels/STEM.cu, for each X(STEM, kernels) of CUDA_UNITS, a
 * list that make writes. The assembler reads the files: as arrays in C they would be several times
 * as long.
 */
#include "blob.h"

#define X(stem, kernels)                                                                           \
    extern const unsigned char cuda_blob_##stem[] __attribute__((visibility("hidden")));           \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".globl cuda_blob_" #stem "\n"                                                         \
            ".hidden cuda_blob_" #stem "\n"                                                        \
            "cuda_blob_" #stem ":\n"                                                               \
            ".incbin \"plugins/cuda/kernels/" #stem ".fatbin\"\n"                                  \
            ".popsection");
#include CUDA_UNITS
#undef X

cuda_blob cuda_blobs[] = {
#define X(stem, kernels) {#stem, kernels, cuda_blob_##stem, NULL},
#include CUDA_UNITS
#undef X
    {NULL}};

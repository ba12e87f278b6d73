/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h: the fat binaries of the kernels as nvcc made them, or a word that says that there was no
 * nvcc. module.c loads them. */
#ifndef CUDA_BLOB_H
#define CUDA_BLOB_H

#include "cuda_abi.h"

typedef struct cuda_blob {
    const char *stem;    /* of the .cu; NULL ends the list */
    const char *kernels; /* " name name ", or "": unknown */
    const unsigned char *bytes;
    tfr_cu_library *library; /* NULL: the driver has not been given it; with module.c's lock */
} cuda_blob;

extern cuda_blob cuda_blobs[];

#endif

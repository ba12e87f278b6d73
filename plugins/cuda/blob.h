/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h: the module of all kernels as nvcc made it, or a word that says that there was no nvcc. */
#ifndef CUDA_BLOB_H
#define CUDA_BLOB_H

extern const unsigned char tfr_cuda_blob[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: stands for the kernels where no nvcc was: the driver refuses it, tests do without it. */
#include "blob.h"

cuda_blob cuda_blobs[] = {{"kernels", "", (const unsigned char *)"tfrun: built without nvcc", NULL},
                          {NULL}};

/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: stands for the module where no nvcc was: the driver refuses it, tests do without it. */
#include "blob.h"

const unsigned char tfr_cuda_blob[] = "tfrun: built without nvcc";

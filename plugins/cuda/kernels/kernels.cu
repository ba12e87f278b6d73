/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu: all kernels, as one unit: nvcc makes one fat binary of it, g++ the table of
 * cpu_table.h. */
#include "batch_norm.cu"
#include "binary.cu"
#include "cast.cu"
#include "conv.cu"
#include "gather.cu"
#include "layer_norm.cu"
#include "loss.cu"
#include "matmul.cu"
#include "pool.cu"
#include "preview_training.cu"
#include "random.cu"
#include "reduce.cu"
#include "softmax.cu"
#include "transpose.cu"
#include "unary.cu"
#include "where.cu"

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_read.h: what program_read.c asks of program_read_split.c. Item `at` is the last one, and
 * has its operands.
 */
#ifndef NATIVE_PROGRAM_READ_H
#define NATIVE_PROGRAM_READ_H

#include "program.h"

void native_read_strided(native_ir *ir, native_item *item, const tfr_call *call);
void native_read_split(native_ir *ir, int at, const tfr_program_node *node);
void native_read_index(native_ir *ir, int at);
/* output: the one that has the gradient of the scale, or -1; of a pool the one with the indices. */
void native_read_layer_norm_grad(native_ir *ir, int at, int output);
void native_read_indices(native_ir *ir, int at, int output);
/* log_prob: the output that has the logarithms, or -1. */
void native_read_loss(native_ir *ir, int at, int log_prob);
void native_read_batch_norm(native_ir *ir, int at, const tfr_program_node *node);
void native_read_batch_norm_grad(native_ir *ir, int at, const tfr_program_node *node);

#endif

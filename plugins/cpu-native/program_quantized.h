/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_quantized.h: values of 8 bits in programs: QuantizeLinear and DequantizeLinear as items,
 * and the items that compute in integers what stands between them.
 */
#ifndef NATIVE_PROGRAM_QUANTIZED_H
#define NATIVE_PROGRAM_QUANTIZED_H

#include "constants.h"
#include "program.h"

/* ---- program_quantized.c ---- */

bool native_quantize_form(const tfr_call *call);
bool native_dequantize_form(const tfr_call *call);
void native_read_quantized(const native_ir *ir, native_item *item);
/* The pair of a scale and a zero point among the inputs, from input `at` on; of integers as in o.
 */
bool native_known_quant(const tfr_call *call, uint32_t at, const tfr_operand *o, int64_t n);
float native_quant_scale(const native_quant *q, int64_t i);
int32_t native_quant_zero(const native_quant *q, int64_t i);

/* Constants that are made of others once, as long as the program lives. */
typedef struct native_unpacked {
    struct native_constant **constants;
    int n;
} native_unpacked;

/* What DequantizeLinear makes of constants is known, if somebody reads it still. */
int32_t native_unpack_known(native_ir *ir, native_unpacked *unpacked, uint64_t *constant_bytes,
                            tfr_err *err);
/*
 * One more of them, of n numbers. *made: it was not there, so its numbers are to be filled, and its
 * bytes are counted in *constant_bytes. NULL = no memory.
 */
float *native_keep_unpacked(native_ir *ir, native_unpacked *to, const native_constant_key *key,
                            int64_t n, uint64_t *constant_bytes, bool *made);
void native_drop_unpacked(tfr_plugin_device *device, native_unpacked *unpacked);

/* ---- program_known.c ---- */

/* Large products of constants, and what follows them and reads constants alone, become known. */
void native_compute_known(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes);
/* Whether the product has no bias, or a known one that is a number for each column. */
bool native_has_row(const native_ir *ir, const native_item *product);

/* ---- program_one_hot.c ---- */

/* Rows of ones and zeros times a known matrix become rows of the matrix. */
void native_pick_rows(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes);

/* ---- program_factors.c ---- */

void native_fold_factors(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes);
/* Of a batch normalization by known numbers: the factor and the term of each channel. */
bool native_norm_constants(native_ir *ir, const native_item *norm, native_unpacked *kept,
                           const float **factors, const float **terms, uint64_t *constant_bytes);

/* ---- program_branches.c ---- */

/* Whether it has merged any: what follows them may have become theirs. */
bool native_merge_branches(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes);

/* ---- program_one_pixel.c ---- */

void native_multiply_pixels(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes);

/* ---- program_quantized_run.c ---- */

void native_plan_quantize(native_planner *p, const native_item *item);
/* From plain to channels last and back. */
void native_plan_reorder_bytes(native_planner *p, const native_item *item);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.h: what the 8-bit products (matmul_integer.c, conv_integer.c) share: checks of
 * zero points and scales, weights as int8, and the attributes of a quantized primitive.
 *
 * ONNX multiplies (x - zero_x) * (w - zero_w) where each of x and w is int8 or uint8. oneDNN wants
 * w as int8, adds in 32 bits, and subtracts one zero point of x and, in a matrix product, one of w.
 */
#ifndef ONEDNN_QUANTIZED_H
#define ONEDNN_QUANTIZED_H

#include "kernel.h"

/* ---- for supports; false = declined ---- */

/* The processor adds products of 8 bits in 32 bits, and input i is int8 or uint8. */
bool onednn_want_int8(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                      uint32_t i);
/* Input i, if it is there, is constant, float32 if scale, and has 1 or n elements. */
bool onednn_want_constant(const tfr_call *call, tfr_answer *answer, uint32_t i, int64_t n,
                          bool scale);
/* Input i, if it is there, has one element. */
bool onednn_want_one(const tfr_call *call, tfr_answer *answer, uint32_t i);
/* As weights_data below must be able to write it; the number that does not fit is said. */
bool onednn_want_weights(const tfr_call *call, tfr_answer *answer, uint32_t w, uint32_t zero,
                         int64_t n, int64_t inner);

/* ---- for prepare ---- */

/* Element i of a known operand of 8 or 32 bits; 0 of an absent one. */
int32_t onednn_known_int(const tfr_operand *o, int64_t i);
/*
 * out = w - zero, all known. zero has 1 element or n, of which element (i / inner) % n belongs to
 * element i of w.
 */
void onednn_weights_data(int8_t *out, const tfr_operand *w, const tfr_operand *zero, int64_t n,
                         int64_t inner);

/* The attributes and further arguments of one primitive. */
typedef struct onednn_quant {
    dnnl_primitive_attr_t attr;
    onednn_use uses[8];
    int n_uses; /* the primitive's own come first */
} onednn_quant;

void onednn_quant_begin(onednn_build *b, onednn_quant *q);
void onednn_quant_end(onednn_quant *q);
void onednn_quant_use(onednn_quant *q, int arg, int tensor);
/* The argument's zero point is input i, less a number if it is known; nothing if it is absent. */
void onednn_quant_zero(onednn_build *b, onednn_quant *q, int arg, uint32_t i, int32_t less);
/* The argument's zero point is a number. */
void onednn_quant_number(onednn_build *b, onednn_quant *q, int arg, int32_t zero);
/* The masks of onednn_scales count if n > 1. */
void onednn_quant_scales(onednn_build *b, onednn_quant *q, int64_t n, int dst_mask,
                         int weights_mask, const float *scales);

#endif

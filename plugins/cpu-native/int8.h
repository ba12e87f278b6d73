/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8.h: the inner loops of quantized ops, as a table for each instruction set. int8_avx512.c,
 * int8_avx2.c and int8_portable.c fill one each from the same text, int8_loops.h; int8.c chooses by
 * the processor.
 */
#ifndef NATIVE_INT8_H
#define NATIVE_INT8_H

#include <stdbool.h>
#include <stdint.h>

/* n elements beside each other, with one scale and zero point for all, or one for each. */
typedef struct native_quantized_span {
    const float *scale, *zero;
    bool each;
    float low, high; /* of the type of 8 bits */
    int64_t n;
} native_quantized_span;

/*
 * Bytes to bytes: the nearest integer to (x ^ flip) * factor + term, limited, plus zero. One factor
 * and term for all, or one for each. low and high are less zero.
 */
typedef struct native_byte_scale {
    const float *factor, *term;
    bool each;
    float low, high;
    int32_t zero;
    uint8_t flip;
    int64_t n;
} native_byte_scale;

/* Rows of bytes: the sum of weights[i] * ((x[i] ^ flip) - from) for each of n. */
typedef struct native_line_sum {
    const uint8_t *const *lines;
    const float *weights;
    int n_lines;
    float from;
    uint8_t flip;
    int64_t n;
} native_line_sum;

/*
 * Of a row of pixels of n numbers, m pixels of bytes: pixel i is the nearest integers to the sum of
 * weights[t] times the pixel at[t], of `taps` taps from i * taps on, times factors[i], limited,
 * plus zero. low and high are less zero.
 */
typedef struct native_pixel_sum {
    const int32_t *at;
    const float *weights, *factors;
    int taps;
    float low, high;
    int32_t zero;
    int64_t n, m;
} native_pixel_sum;

/*
 * Rows of integers, whose sum becomes float32, limit(sum * scale + addend), or bytes, limit(round(
 * (sum + bias) * scale)) + zero. low and high of bytes are less zero.
 */
typedef struct native_row_sum {
    const int32_t *bias;         /* n; of bytes */
    const float *scale, *addend; /* n; addend: of float32 */
    float low, high;
    int32_t zero;
    bool to_float;
    int64_t n;
} native_row_sum;

typedef struct native_int8_isa {
    const char *name;
    void (*quantize)(const native_quantized_span *span, const float *x, uint8_t *to);
    void (*dequantize_u8)(const native_quantized_span *span, const uint8_t *x, float *to);
    void (*dequantize_i8)(const native_quantized_span *span, const int8_t *x, float *to);
    void (*scale_bytes)(const native_byte_scale *scale, const uint8_t *x, uint8_t *to);
    /* What the table has for each of n bytes. */
    void (*look_up)(const uint8_t *table, const uint8_t *x, uint8_t *to, int64_t n);
    /* The greatest of n_taps (at least one) for n channels, as bytes of which `flip` is turned
     * around. */
    void (*maxima)(const uint8_t *const *taps, int n_taps, int64_t n, uint8_t flip, uint8_t *to);
    /* Sums of bytes below each other, and then beside each other. */
    void (*add_lines)(const native_line_sum *sum, float *to);
    void (*add_pixels)(const native_pixel_sum *sum, const float *row, uint8_t *to);
    /* Sums of n_from rows of integers. */
    void (*add_rows)(const native_row_sum *sum, const int32_t *const *from, int n_from, void *to);
    /* Of 0 and the elements that are numbers. */
    void (*range)(const float *x, int64_t n, float *low, float *high);
} native_int8_isa;

extern const native_int8_isa native_int8_avx512, native_int8_avx2, native_int8_portable;
/* The best that the processor has and the user allows. */
const native_int8_isa *native_choose_int8(const char *features);

#endif

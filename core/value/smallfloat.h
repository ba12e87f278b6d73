/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smallfloat.h: floating-point formats of at most 16 bits, and their conversion to and from double,
 * which holds all their values exactly. Private to dtype.c.
 */
#ifndef TFR_CORE_SMALLFLOAT_H
#define TFR_CORE_SMALLFLOAT_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/dtype.h>

/* A pattern is sign, exponent and mantissa; its magnitude is the pattern without the sign. */
typedef struct tfr__small_float {
    int bits;
    int man_bits;
    int bias;
    uint32_t max_finite; /* magnitude of the largest finite value */
    uint32_t overflow;   /* magnitude that a finite value over it becomes */
    uint32_t infinity;   /* magnitude that an infinite value becomes */
    uint32_t nan;        /* magnitude of a NaN; for fnuz the whole pattern */
    bool has_infinity;   /* IEEE 754: magnitudes over infinity are NaN, with a payload */
    bool has_nan;
    bool is_fnuz; /* no negative zero: its pattern is the one NaN */
} tfr__small_float;

/* The format of a type, or NULL for a type that is none; e8m0 is not among them. */
const tfr__small_float *tfr__small_float_of(tfr_dtype dtype);

uint32_t tfr__small_from_double(const tfr__small_float *format, double x);
double tfr__small_to_double(const tfr__small_float *format, uint32_t pattern);

/* 8 bits of exponent and nothing else: powers of two, and a NaN. */
uint8_t tfr__e8m0_from_double(double x);
double tfr__e8m0_to_double(uint8_t pattern);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits.h: images of handwritten digits that nobody wrote, for machines without a data set. An
 * image is a pure function of (seed, split, index), with the same bytes on every machine: only
 * + - * / and square roots of float, no contraction and no function of the C library.
 */
#ifndef TFR_NN_DATA_DIGITS_H
#define TFR_NN_DATA_DIGITS_H

#include <stdint.h>

enum { TFR__DIGIT_SIDE = 28, TFR__DIGIT_PIXELS = TFR__DIGIT_SIDE * TFR__DIGIT_SIDE };

/* 0 to 9, without drawing. */
int32_t tfr__digit_label(uint64_t seed, uint32_t split, uint64_t index);

/* Rows from above, 255 = ink. */
void tfr__digit_draw(uint64_t seed, uint32_t split, uint64_t index, uint8_t out[TFR__DIGIT_PIXELS]);

/* ---- glyphs.c: how people write digits ------------------------------------------------------- */

enum { TFR__GLYPH_STROKES = 3, TFR__GLYPH_POINTS = 13 };

/*
 * A line through points of a grid of 24 x 24, y down: a Catmull-Rom spline, which is a row of cubic
 * Bezier curves. It is closed where the first point is the last one, too.
 */
typedef struct tfr__stroke {
    uint8_t n; /* 0 = behind the last stroke */
    uint8_t at[TFR__GLYPH_POINTS][2];
} tfr__stroke;

typedef struct tfr__glyph {
    tfr__stroke strokes[TFR__GLYPH_STROKES];
} tfr__glyph;

/* The ways to write a digit, *n of them. */
const tfr__glyph *tfr__glyphs_of(int32_t digit, uint32_t *n);

#endif

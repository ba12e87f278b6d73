/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h: how the files of this folder describe calls of ops, as data. A description is a recipe:
 * the engine draws the letters, then the shapes, attributes and values that are written with them,
 * so that each seed gives another call that is right by ONNX. No file here names a backend.
 *
 * Strings are in a small language (pattern.c reads it):
 *   number    an expression of numbers, letters, + - * / % ( ) ?: == != < <= > >=, min(a,b),
 *             max(a,b), floor(a), inf, the short names of element types (f32, i64) as their ONNX
 * numbers, `i` the position in a repetition and `j` the number of the copy of a repeated operand
 *   letter    A..Z: drawn once per call; a..z but i, j: drawn once per call and position: `d` is
 *             d[i], and d[A] reaches another one
 *   draw      "1|3|lo..hi|perm(n)": one of the alternatives, evenly; 0 from a range is rare
 *   list      numbers with commas; "x^n" repeats x for i = 0...n-1
 */
#ifndef OPS_CASE_H
#define OPS_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPS_MAX_INPUTS = 10, OPS_MAX_OPERANDS = 16, OPS_MAX_OUTPUTS = 8, OPS_MAX_ATTRS = 16 };

/* Sets of types that the families share; the first is what most backends know. */
#define OPS_FLOATS   "f32|f64|f16|bf16"
#define OPS_INTEGERS "i8|i16|i32|i64|u8|u16|u32|u64"
#define OPS_ANY      OPS_FLOATS "|" OPS_INTEGERS "|bool|string|c64|c128"

typedef enum ops_tolerance {
    OPS_EXACT = 0, /* the same values: moves, comparisons, integers */
    OPS_ROUND,     /* one rounding, done anyhow: an ulp or two */
    OPS_MATH,      /* a libm function, single precision: some ulps */
    OPS_SUM,       /* many terms in any order */
    OPS_NORM       /* and divided by a deviation that may be as small as the square root of 0.001 */
} ops_tolerance;

/* What seeds ending in special values sprinkle over an operand; letters of `special`. */
/*   n = NaN   i = infinities   z = both zeros and denormals   h = largest finite, and extremes */

typedef struct ops_operand {
    const char *types;  /* "f32|f64": one is drawn; "=0": as operand 0 */
    const char *shape;  /* a list; "~list" = any shape that broadcasts to it; NULL = scalar */
    const char *values; /* a draw for each element; "=list" = these; NULL = -3..3, texts, bits */
    const char *special;
    const char *count; /* a draw: 0 = absent, of the last one also how many; NULL = 1 */
} ops_operand;

typedef struct ops_case {
    const char *name; /* "Conv", or "Conv/what is special" */
    const char *domain;
    const char *vars;  /* "R=0..5 d=0..7" */
    const char *attrs; /* "axis:i=A mode:s=x|y kernel_shape:is=k^R"; "name?:..." = given at times,
                          "name?EXPR:..." = given if EXPR is not 0; t and tb are tensors of one
                          dim, of float32 and uint8 */
    ops_operand in[OPS_MAX_INPUTS];
    bool varies;         /* runs of one session differ on purpose */
    const char *outputs; /* how many are asked for, a draw; NULL = 1 */
    ops_tolerance tolerance;
    const char *bench; /* letters that make a call worth timing; NULL = not timed */
} ops_case;

/*
 * A file's descriptions, ended by one without a name, are called ops_FILE_cases. families.def is
 * found by scripts/list-sources.
 */
#define X(stem) extern const ops_case ops_##stem##_cases[];
#include "families.def"
#undef X

#endif

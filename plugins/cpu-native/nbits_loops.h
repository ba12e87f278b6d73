/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_loops.h: the loops of nbits.h, written once for every vector length. An ISA's file includes
 * its vec_X.h, defines what is said below, and includes this. nbits_digits.h is a part of it.
 *
 *   ivec                   LANES integers of 32 bits
 *   I_ZERO() I_LOAD(p)     I_SPLAT(p): the 4 bytes there in each
 *   I_LOW(w) I_HIGH(w)     the low and the high halves of bytes
 *   I_FLOATS(v)            its floats
 *   I_BYTES(p)             LANES signed bytes as integers
 *   DOT(s, w, x)           s + sums of w, bytes from 0 to 15, times x, signed bytes
 *   DOT_END(total, s)      total + s
 *   PART(w, i)             bits 4 i to 4 i + 3
 *   eight_digits(x, factor, parts, to, sums)
 *                          8 numbers times the factor as digits: for each 4 k the bytes of part 0,
 *                          of part 1..., of 4 parts where there are 3; their sums are added
 */
#include <math.h>
#include <string.h>

#include "nbits.h"

#define NV (NATIVE_NBITS_COLUMNS / LANES)

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LINE_BYTES = 64, GROUP = 4, AHEAD = 1024 /* bytes that are fetched before their use */ };

/* The zeros of vector v of a block. */
INLINE vec zero_of(const native_nbits *q, const char *block, const int v)
{
    if (q->zero_kind == NATIVE_NBITS_CODE_ZEROS)
        return I_FLOATS(I_BYTES(block + q->zeros_at + v * LANES));
    if (q->zero_kind == NATIVE_NBITS_FLOAT_ZEROS)
        return V_LOAD((const float *)(const void *)(block + q->zeros_at) + v * LANES);
    return V_ALL(q->zero);
}

INLINE vec scale_of(const char *block, const int v)
{
    return V_LOAD((const float *)(const void *)block + v * LANES);
}

static const char *codes_of(const char *block)
{
    return block + NATIVE_NBITS_COLUMNS * sizeof(float);
}

#include "nbits_digits.h"

/* ---- few rows, in float32 ---- */

/* s += row k of a block, whose codes are in w, times k of each row. */
INLINE void add_row(const int rows, const vec w[NV], const float *x, int64_t ldx,
                    vec s[NATIVE_NBITS_ROWS][NV])
{
    int r, v;

    UNROLL
    for (r = 0; r < rows; r++) {
        const vec a = V_ALL(x[r * ldx]);
        UNROLL
        for (v = 0; v < NV; v++)
            s[r][v] = V_FMA(a, w[v], s[r][v]);
    }
}

/* zeros: there are some that are not 0. */
INLINE void rows_block_8(const int rows, const bool zeros, const char *codes, int64_t n,
                         const vec zero[NV], const float *x, int64_t ldx,
                         vec s[NATIVE_NBITS_ROWS][NV])
{
    int64_t k;
    int v;

    for (k = 0; k < n; k++, codes += NATIVE_NBITS_COLUMNS) {
        vec w[NV];
        __builtin_prefetch(codes + AHEAD, 0, 3);
        UNROLL
        for (v = 0; v < NV; v++) {
            w[v] = I_FLOATS(I_BYTES(codes + v * LANES));
            if (zeros)
                w[v] = V_SUB(w[v], zero[v]);
        }
        add_row(rows, w, x + k, ldx, s);
    }
}

INLINE void rows_block_4(const int rows, const char *codes, int64_t n, const vec zero[NV],
                         const float *x, int64_t ldx, vec s[NATIVE_NBITS_ROWS][NV])
{
    int64_t k;
    int v, i;

    for (k = 0; k < n; k += NATIVE_NBITS_LINE, codes += LINE_BYTES) {
        ivec line[NV];
        __builtin_prefetch(codes + AHEAD, 0, 3);
        UNROLL
        for (v = 0; v < NV; v++)
            line[v] = I_LOAD(codes + v * 4 * LANES);
        UNROLL
        for (i = 0; i < NATIVE_NBITS_LINE; i++) {
            vec w[NV];
            if (k + i >= n)
                break;
            UNROLL
            for (v = 0; v < NV; v++)
                w[v] = V_SUB(I_FLOATS(PART(line[v], i % 4 * 2 + i / 4)), zero[v]);
            add_row(rows, w, x + k + i, ldx, s);
        }
    }
}

INLINE void rows_of(const int rows, const int bits, const native_nbits *q, const char *panel,
                    const float *x, int64_t ldx, float *to)
{
    vec sum[NATIVE_NBITS_ROWS][NV], s[NATIVE_NBITS_ROWS][NV], zero[NV];
    int64_t i;
    int v, r;

    UNROLL
    for (r = 0; r < rows; r++) {
        UNROLL
        for (v = 0; v < NV; v++)
            sum[r][v] = V_ZERO();
    }
    for (i = 0; i < q->n_blocks; i++, panel += q->block_bytes) {
        const int64_t k = i * q->block, n = q->k - k < q->block ? q->k - k : q->block;
        UNROLL
        for (v = 0; v < NV; v++)
            zero[v] = zero_of(q, panel, v);
        UNROLL
        for (r = 0; r < rows; r++) {
            UNROLL
            for (v = 0; v < NV; v++)
                s[r][v] = V_ZERO();
        }
        if (bits == 4)
            rows_block_4(rows, codes_of(panel), n, zero, x + k, ldx, s);
        else if (q->zero_kind == NATIVE_NBITS_NO_ZEROS && q->zero == 0.0f)
            rows_block_8(rows, false, codes_of(panel), n, zero, x + k, ldx, s);
        else
            rows_block_8(rows, true, codes_of(panel), n, zero, x + k, ldx, s);
        UNROLL
        for (r = 0; r < rows; r++) {
            UNROLL
            for (v = 0; v < NV; v++)
                sum[r][v] = V_FMA(s[r][v], scale_of(panel, v), sum[r][v]);
        }
    }
    UNROLL
    for (r = 0; r < rows; r++) {
        UNROLL
        for (v = 0; v < NV; v++)
            V_STORE(to + r * NATIVE_NBITS_COLUMNS + v * LANES, sum[r][v]);
    }
}

#define ROWS(n, bits)                                                                              \
    static void rows_##n##_##bits(const native_nbits *q, const char *panel, const float *x,        \
                                  int64_t ldx, float *to)                                          \
    {                                                                                              \
        rows_of(n, bits, q, panel, x, ldx, to);                                                    \
    }
ROWS(1, 4)
ROWS(2, 4)
ROWS(3, 4)
ROWS(4, 4)
ROWS(1, 8)
ROWS(2, 8)
ROWS(3, 8)
ROWS(4, 8)

static void rows(const native_nbits *q, const char *panel, const float *x, int64_t ldx, int n_rows,
                 float *to)
{
    static void (*const all[2][NATIVE_NBITS_ROWS])(const native_nbits *, const char *,
                                                   const float *, int64_t, float *) = {
        {rows_1_4, rows_2_4, rows_3_4, rows_4_4}, {rows_1_8, rows_2_8, rows_3_8, rows_4_8}};

    all[q->bits == 8][n_rows - 1](q, panel, x, ldx, to);
}

/* ---- as floats ---- */

/* Whole lines of a block. */
INLINE void unpack_lines(const native_nbits *q, const char *block, const char *codes, int64_t n,
                         float *to, int64_t step)
{
    vec scale[NV], zero[NV];
    int64_t k;
    int v, i;

    UNROLL
    for (v = 0; v < NV; v++) {
        scale[v] = scale_of(block, v);
        zero[v] = zero_of(q, block, v);
    }
    for (k = 0; k < n; k += NATIVE_NBITS_LINE, codes += LINE_BYTES) {
        UNROLL
        for (v = 0; v < NV; v++) {
            const ivec w = I_LOAD(codes + v * 4 * LANES);
            UNROLL
            for (i = 0; i < NATIVE_NBITS_LINE; i++)
                V_STORE(to + (k + i) * step + v * LANES,
                        V_MUL(V_SUB(I_FLOATS(PART(w, i % 4 * 2 + i / 4)), zero[v]), scale[v]));
        }
    }
}

static void unpack_4(const native_nbits *q, const char *block, int64_t from, int64_t n, float *to,
                     int64_t step)
{
    const char *codes = codes_of(block) + from / NATIVE_NBITS_LINE * LINE_BYTES;
    const int64_t whole = n / NATIVE_NBITS_LINE * NATIVE_NBITS_LINE;
    float last[NATIVE_NBITS_LINE * NATIVE_NBITS_COLUMNS];
    int64_t k;

    unpack_lines(q, block, codes, whole, to, step);
    if (whole == n)
        return;
    unpack_lines(q, block, codes + whole / NATIVE_NBITS_LINE * LINE_BYTES, 1, last,
                 NATIVE_NBITS_COLUMNS);
    for (k = whole; k < n; k++)
        memcpy(to + k * step, last + (k - whole) * NATIVE_NBITS_COLUMNS,
               NATIVE_NBITS_COLUMNS * sizeof *to);
}

static void unpack(const native_nbits *q, const char *block, int64_t from, int64_t n, float *to,
                   int64_t step)
{
    const char *codes = codes_of(block) + from * NATIVE_NBITS_COLUMNS;
    int64_t k;
    int v;

    if (q->bits == 4) {
        unpack_4(q, block, from, n, to, step);
        return;
    }
    UNROLL
    for (v = 0; v < NV; v++) {
        const vec scale = scale_of(block, v), zero = zero_of(q, block, v);
        for (k = 0; k < n; k++)
            V_STORE(
                to + k * step + v * LANES,
                V_MUL(V_SUB(I_FLOATS(I_BYTES(codes + k * NATIVE_NBITS_COLUMNS + v * LANES)), zero),
                      scale));
    }
}

const native_nbits_isa ISA_TABLE = {
    .name = ISA_NAME,
    .digits = digits,
    .dot = dot,
    .rows = rows,
    .unpack = unpack,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits.c: the packed form of a right side of 4 or 8 bits.
 *
 * A panel has 16 columns and all of K, block after block, so that whoever multiplies reads memory
 * once from the beginning to the end. A block is
 *
 *   16 scales
 *   codes    4 bits: for each 8 k a line of 64 bytes, 4 for each column, whose low halves are k to
 *            k + 3 and whose high halves are k + 4 to k + 7; from 0 to 15
 *            8 bits: 16 signed bytes for each k
 *   16 zeros if they differ, signed bytes or floats
 *
 * It is the same on every processor. Columns behind the last have scales of 0; codes behind K meet
 * digits of 0, or nobody reads them.
 */
#include "nbits.h"

#include <string.h>

#include "level.h"
#include "program_ir.h"

enum { LONG_BLOCK = 128 };

/* ---- the source ---- */

static int code_at(const native_nbits_source *s, const void *codes, int64_t i)
{
    const uint8_t *bytes = codes;
    int code;

    if (s->bits == 8) /* as a signed byte */
        return s->is_signed ? (int8_t)bytes[i] : bytes[i] - 128;
    code = i % 2 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15;
    return s->is_signed ? code ^ 8 : code; /* from 0 to 15 */
}

/* What packed codes have more than those of the model. */
static int shift_of(const native_nbits_source *s)
{
    return s->bits == 8 ? s->is_signed ? 0 : -128 : s->is_signed ? 8 : 0;
}

static float zero_at(const native_nbits_source *s, int64_t block, int64_t n)
{
    const int64_t i = block * s->zero_k + n * s->zero_n;

    if (s->zero_kind == NATIVE_NBITS_CODE_ZEROS)
        return (float)code_at(s, s->zeros, i);
    if (s->zero_kind == NATIVE_NBITS_FLOAT_ZEROS)
        return native_float_at(s->zeros, i) + (float)shift_of(s);
    return s->zero + (float)shift_of(s);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

const char *native_nbits_refuses(const native_nbits_source *s)
{
    if (s->k < 1 || s->n < 1 || s->block < 1)
        return "empty matrices are not done here";
    if (s->block < s->k && (s->block % NATIVE_NBITS_LINE != 0 ||
                            (s->block > NATIVE_NBITS_BLOCK && s->block % LONG_BLOCK != 0)))
        return "blocks of multiples of 8, and above 256 of 128, are done here";
    return NULL;
}

/* ---- the packed form ---- */

static bool zeros_differ(const native_nbits_source *s)
{
    const int64_t blocks = ceil_div(s->k, s->block);
    int64_t i, n;

    for (i = 0; i < blocks; i++)
        for (n = 0; n < s->n; n++)
            if (zero_at(s, i, n) != zero_at(s, 0, 0))
                return true;
    return false;
}

void native_nbits_plan(native_nbits *q, const native_nbits_source *s)
{
    memset(q, 0, sizeof *q);
    q->k = s->k;
    q->n = s->n;
    q->bits = s->bits;
    q->block = s->block;
    if (s->block > NATIVE_NBITS_BLOCK || s->block % NATIVE_NBITS_LINE != 0)
        q->block = LONG_BLOCK; /* of several that have the same scales */
    if (s->block >= s->k && s->k < LONG_BLOCK && q->block > s->k)
        q->block = ceil_div(s->k, NATIVE_NBITS_LINE) * NATIVE_NBITS_LINE;
    q->n_blocks = ceil_div(s->k, q->block);
    q->n_panels = ceil_div(s->n, NATIVE_NBITS_COLUMNS);
    if (zeros_differ(s))
        q->zero_kind = s->zero_kind;
    q->zero = zero_at(s, 0, 0);
    q->zeros_at = NATIVE_NBITS_COLUMNS * ((int64_t)sizeof(float) + q->block * q->bits / 8);
    q->block_bytes = q->zeros_at;
    if (q->zero_kind == NATIVE_NBITS_CODE_ZEROS)
        q->block_bytes += NATIVE_NBITS_COLUMNS;
    if (q->zero_kind == NATIVE_NBITS_FLOAT_ZEROS)
        q->block_bytes += NATIVE_NBITS_COLUMNS * (int64_t)sizeof(float);
    q->panel_bytes = q->n_blocks * q->block_bytes;
    q->bytes = (size_t)(q->n_panels * q->panel_bytes);
}

/* 8 codes of a column, which begin a byte, as 4 bytes of a line: halves k and k + 4 together. */
static void pack_eight(const uint8_t *from, bool is_signed, uint8_t *to)
{
    int i;

    for (i = 0; i < 4; i++) {
        const int shift = i % 2 * 4;
        const int code = (from[i / 2] >> shift & 15) | (from[i / 2 + 2] >> shift & 15) << 4;
        to[i] = (uint8_t)(is_signed ? code ^ 0x88 : code);
    }
}

/* Column j of a block of codes. */
static void pack_codes(const native_nbits *q, const native_nbits_source *s, int64_t k0, int64_t n,
                       int j, uint8_t *to)
{
    const int64_t left = q->k - k0 < q->block ? q->k - k0 : q->block;
    int64_t at = k0 * s->code_k + n * s->code_n, k = 0;

    if (s->bits == 4 && s->code_k == 1 && at % 2 == 0)
        for (; k + 8 <= left; k += 8, at += 8)
            pack_eight((const uint8_t *)s->codes + at / 2, s->is_signed, to + k * 8 + j * 4);
    for (; k < left; k++, at += s->code_k) {
        const int code = code_at(s, s->codes, at);
        if (s->bits == 8)
            to[k * NATIVE_NBITS_COLUMNS + j] = (uint8_t)code;
        else
            to[k / 8 * 64 + j * 4 + k % 4] |= (uint8_t)(k % 8 < 4 ? code : code << 4);
    }
}

static void pack_block(const native_nbits *q, const native_nbits_source *s, int64_t block,
                       int64_t column, char *to)
{
    const int64_t k0 = block * q->block, from = k0 / s->block;
    float scales[NATIVE_NBITS_COLUMNS] = {0}, zeros[NATIVE_NBITS_COLUMNS] = {0};
    int8_t bytes[NATIVE_NBITS_COLUMNS];
    int j;

    memset(to, 0, (size_t)q->block_bytes);
    for (j = 0; j < NATIVE_NBITS_COLUMNS && column + j < q->n; j++) {
        scales[j] = native_float_at(s->scales, from * s->scale_k + (column + j) * s->scale_n);
        zeros[j] = zero_at(s, from, column + j);
        pack_codes(q, s, k0, column + j, j, (uint8_t *)to + sizeof scales);
    }
    memcpy(to, scales, sizeof scales);
    for (j = 0; j < NATIVE_NBITS_COLUMNS; j++)
        bytes[j] = (int8_t)zeros[j];
    if (q->zero_kind == NATIVE_NBITS_CODE_ZEROS)
        memcpy(to + q->zeros_at, bytes, sizeof bytes);
    if (q->zero_kind == NATIVE_NBITS_FLOAT_ZEROS)
        memcpy(to + q->zeros_at, zeros, sizeof zeros);
}

void native_nbits_pack(const native_nbits *q, const native_nbits_source *s, void *packed,
                       int64_t begin, int64_t end)
{
    int64_t i, block;

    for (i = begin; i < end; i++)
        for (block = 0; block < q->n_blocks; block++)
            pack_block(q, s, block, i * NATIVE_NBITS_COLUMNS,
                       (char *)packed + i * q->panel_bytes + block * q->block_bytes);
}

size_t native_nbits_digits_bytes(const native_nbits *q, int parts)
{
    return (size_t)q->n_blocks * (sizeof(native_nbits_x) + (size_t)(q->block * parts));
}

/* ---- blocks for gemm.h ---- */

/* Columns of a panel from k0 on, as rows of 16 that many floats apart. */
static void fill_rows(const native_nbits *q, const native_nbits_isa *isa, const char *panel,
                      int64_t k0, int64_t n_k, float *to, int64_t step)
{
    int64_t k, n;

    for (k = 0; k < n_k; k += n) {
        const int64_t block = (k0 + k) / q->block, from = (k0 + k) % q->block;
        n = q->block - from < n_k - k ? q->block - from : n_k - k;
        isa->unpack(q, panel + block * q->block_bytes, from, n, to + k * step, step);
    }
}

/* The part of a panel that narrower ones take. */
static void fill_part(const native_nbits *q, const native_nbits_isa *isa, const char *panel,
                      int64_t from, int64_t k0, int64_t n_k, int nr, float *to)
{
    float rows[NATIVE_NBITS_BLOCK * NATIVE_NBITS_COLUMNS];
    int64_t k, i, some;

    for (k = 0; k < n_k; k += some) {
        some = n_k - k < NATIVE_NBITS_BLOCK ? n_k - k : NATIVE_NBITS_BLOCK;
        fill_rows(q, isa, panel, k0 + k, some, rows, NATIVE_NBITS_COLUMNS);
        for (i = 0; i < some; i++)
            memcpy(to + (k + i) * nr, rows + i * NATIVE_NBITS_COLUMNS + from,
                   (size_t)nr * sizeof *to);
    }
}

static void fill_zeros(int64_t n_k, int nr, float *to)
{
    int64_t k;

    for (k = 0; k < n_k; k++)
        memset(to + k * nr, 0, NATIVE_NBITS_COLUMNS * sizeof *to);
}

void native_nbits_fill(const native_nbits *q, const native_nbits_isa *isa, const void *packed,
                       int64_t column, int64_t n, int64_t k0, int64_t n_k, int nr, float *to)
{
    int64_t end = column + n;
    int j;

    for (; column < end; column += nr, to += n_k * nr) {
        const int64_t first = column / NATIVE_NBITS_COLUMNS;
        const char *panel = (const char *)packed + first * q->panel_bytes;
        if (nr < NATIVE_NBITS_COLUMNS)
            fill_part(q, isa, panel, column % NATIVE_NBITS_COLUMNS, k0, n_k, nr, to);
        for (j = 0; j * NATIVE_NBITS_COLUMNS < nr && nr >= NATIVE_NBITS_COLUMNS; j++) {
            float *at = to + j * NATIVE_NBITS_COLUMNS;
            if (first + j < q->n_panels)
                fill_rows(q, isa, panel + j * q->panel_bytes, k0, n_k, at, nr);
            else
                fill_zeros(n_k, nr, at);
        }
    }
}

/* ---- the processor ---- */

const native_nbits_isa *native_choose_nbits(const char *features)
{
    switch (native_find_level(features)) {
#if defined(__x86_64__)
    case NATIVE_LEVEL_AMX:
    case NATIVE_LEVEL_AVX512:
        return native_has_vnni(features) ? &native_nbits_vnni : &native_nbits_avx512;
    case NATIVE_LEVEL_AVX2:
        return &native_nbits_avx2;
#endif
    default:
        return &native_nbits_portable;
    }
}

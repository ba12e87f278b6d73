/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_digits.h: a part of nbits_loops.h: the product of one row with weights of 4 bits.
 *
 * It would be bound by the conversion of codes to floats: 4 or 5 instructions for each vector of 8,
 * and Zen 3 begins 4 a cycle, while memory brings 9 codes in that time. So the row becomes
 * integers: in a block the numbers are x = d f, with d of 24 bits, cut to 3 signed bytes. Codes and
 * bytes are multiplied in vectors of 32, and sums of a block are exact. What is lost of a number is
 * at most 2^-24 of the largest one of its block, by which float32 rounds sums with that one, too.
 * If it is much larger than the others (OUTSTANDING times their mean), the block has 31 bits in 4
 * bytes.
 *
 * D[p], the sums of parts, become floats without rounding, as does D[p] - zero sum of x[p], and the
 * block is
 *
 *   scale (D[0] f[0] + D[1] f[1] + D[2] f[2] (+ D[3] f[3])),   f[p] = 2^(8 p) f
 *
 * With one part, of 7 bits and a sign, this is the product of integers of 8 bits by block that
 * models may ask for.
 */
#define DIGIT        127.0f
#define THREE_DIGITS 8355704.0f /* below 127 in each, whatever roundings do */
#define OUTSTANDING  16.0f      /* times the mean */
#define LEAST        0x1p-100f  /* below it reciprocals would be no numbers */

/* ---- rows as digits ---- */

/* 2^n, n from -126 to 127 */
static float power_of_two(int n)
{
    const uint32_t bits = (uint32_t)(n + 127) << 23;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * How the block becomes integers. Where its largest number stands out, all others would lose bits
 * in three parts: they would be right beside that one, but its weight may be zero.
 */
static float choose_factor(native_nbits_x *head, int parts, float largest, float sum, int64_t n)
{
    float factor;
    uint32_t bits;
    int p;

    head->parts = parts;
    if (parts == 1) {
        head->factor[0] = largest / DIGIT;
        return largest > LEAST ? DIGIT / largest : 0.0f;
    }
    if (largest > LEAST && largest * (float)n <= OUTSTANDING * sum) {
        head->parts = 3;
        factor = THREE_DIGITS / largest;
        head->factor[0] = largest / THREE_DIGITS;
    } else {
        memcpy(&bits, &largest, sizeof bits);
        p = 156 - (int)(bits >> 23); /* the largest becomes 2^29 or more */
        factor = power_of_two(p > 126 ? 126 : p);
        head->factor[0] = 1.0f / factor;
    }
    for (p = 1; p < NATIVE_NBITS_PARTS; p++)
        head->factor[p] = head->factor[p - 1] * 256.0f;
    return factor;
}

/* n numbers, which a block begins with; behind them are zeros. */
static void digits_of_block(const float *x, int64_t n, int64_t block, int parts, char *to)
{
    const int64_t step = parts == 1 ? 1 : NATIVE_NBITS_PARTS;
    float padded[NATIVE_NBITS_BLOCK + LANES], factor, sum;
    native_nbits_x head = {.parts = parts};
    int32_t sums[NATIVE_NBITS_PARTS] = {0};
    vec most = V_ZERO(), all = V_ZERO();
    int64_t i;
    int p;

    if (n < block || block % LANES != 0) {
        memset(padded, 0, sizeof padded);
        memcpy(padded, x, (size_t)n * sizeof *x);
        x = padded;
    }
    for (i = 0; i < block; i += LANES) {
        const vec v = V_ABS(V_LOAD(x + i));
        most = V_MAX(v, most);
        all = V_ADD(v, all);
    }
    sum = V_SUM(all);
    head.plain = !(sum < (float)INFINITY);
    if (head.plain) {
        memset(to + sizeof head, 0, (size_t)(block * step));
    } else {
        factor = choose_factor(&head, parts, V_GREATEST(most), sum, n);
        for (i = 0; i < block; i += 8)
            eight_digits(x + i, factor, head.parts, to + sizeof head + i * step, sums);
        for (p = 0; p < parts; p++)
            head.sum[p] = (float)sums[p];
    }
    memcpy(to, &head, sizeof head);
}

static void digits(const native_nbits *q, int parts, const float *x, void *to, int64_t begin,
                   int64_t end)
{
    const int64_t step = (int64_t)sizeof(native_nbits_x) + q->block * parts;
    int64_t i;

    for (i = begin; i < end; i++) {
        const int64_t k = i * q->block, n = q->k - k < q->block ? q->k - k : q->block;
        digits_of_block(x + k, n, q->block, parts, (char *)to + i * step);
    }
}

/* ---- 4 bits, one row ---- */

/* n lines: total += the sums of each part. */
INLINE void dot_lines(const int n, const int parts, const char *codes, const char *x,
                      ivec total[NV][NATIVE_NBITS_PARTS])
{
    const int step = parts == 1 ? 1 : NATIVE_NBITS_PARTS; /* words of x for 4 k */
    ivec s[NV][NATIVE_NBITS_PARTS], low[NV], high[NV];
    int i, p, v;

    UNROLL
    for (v = 0; v < NV; v++) {
        UNROLL
        for (p = 0; p < parts; p++)
            s[v][p] = I_ZERO();
    }
    UNROLL
    for (i = 0; i < n; i++) {
        UNROLL
        for (v = 0; v < NV; v++) {
            const ivec w = I_LOAD(codes + i * LINE_BYTES + v * 4 * LANES);
            low[v] = I_LOW(w);
            high[v] = I_HIGH(w);
        }
        __builtin_prefetch(codes + i * LINE_BYTES + AHEAD, 0, 3);
        UNROLL
        for (p = 0; p < parts; p++) {
            const ivec a = I_SPLAT(x + 4 * (2 * i * step + p));
            const ivec b = I_SPLAT(x + 4 * ((2 * i + 1) * step + p));
            UNROLL
            for (v = 0; v < NV; v++) {
                s[v][p] = DOT(s[v][p], low[v], a);
                s[v][p] = DOT(s[v][p], high[v], b);
            }
        }
    }
    UNROLL
    for (v = 0; v < NV; v++) {
        UNROLL
        for (p = 0; p < parts; p++)
            total[v][p] = DOT_END(total[v][p], s[v][p]);
    }
}

/* The sum of a block with Inf or NaN, in float32. */
static void plain_block(const native_nbits *q, const char *block, const float *x, int64_t n,
                        float *to)
{
    float w[NATIVE_NBITS_LINE * NATIVE_NBITS_COLUMNS];
    int64_t k, i;

    for (k = 0; k < n; k += NATIVE_NBITS_LINE) {
        const int64_t some = n - k < NATIVE_NBITS_LINE ? n - k : NATIVE_NBITS_LINE;
        ISA_TABLE.unpack(q, block, k, some, w, NATIVE_NBITS_COLUMNS);
        for (i = 0; i < some * NATIVE_NBITS_COLUMNS; i++)
            to[i % NATIVE_NBITS_COLUMNS] += w[i] * x[k + i / NATIVE_NBITS_COLUMNS];
    }
}

/* sum += a block with digits of so many parts, of one group of lines or of any. */
INLINE void dot_block(const int parts, const bool group, const native_nbits *q, const char *block,
                      const native_nbits_x *head, vec sum[NV])
{
    const int64_t lines = q->block / NATIVE_NBITS_LINE, step = parts == 1 ? 8 : 32;
    const char *codes = codes_of(block), *d = (const char *)(head + 1);
    ivec total[NV][NATIVE_NBITS_PARTS];
    int64_t line;
    int v, p;

    UNROLL
    for (v = 0; v < NV; v++) {
        UNROLL
        for (p = 0; p < parts; p++)
            total[v][p] = I_ZERO();
    }
    if (group) {
        dot_lines(GROUP, parts, codes, d, total);
    } else {
        for (line = 0; line + GROUP <= lines; line += GROUP)
            dot_lines(GROUP, parts, codes + line * LINE_BYTES, d + line * step, total);
        for (; line < lines; line++)
            dot_lines(1, parts, codes + line * LINE_BYTES, d + line * step, total);
    }
    UNROLL
    for (v = 0; v < NV; v++) {
        const vec zero = zero_of(q, block, v);
        vec f = V_ZERO();
        UNROLL
        for (p = 0; p < parts; p++)
            f = V_FMA(V_FNMA(zero, V_ALL(head->sum[p]), I_FLOATS(total[v][p])),
                      V_ALL(head->factor[p]), f);
        sum[v] = V_FMA(f, scale_of(block, v), sum[v]);
    }
}

/* Blocks of a row with so many parts, of which some may have one more. */
INLINE void dot_of(const int parts, const bool group, const native_nbits *q, const char *panel,
                   const char *digits, const float *x, float *to)
{
    const int64_t step = (int64_t)sizeof(native_nbits_x) + q->block * (parts == 1 ? 1 : 4);
    vec sum[NV];
    int64_t i;
    int v;

    UNROLL
    for (v = 0; v < NV; v++)
        sum[v] = V_ZERO();
    for (i = 0; i < q->n_blocks; i++, digits += step, panel += q->block_bytes) {
        const native_nbits_x *head = (const void *)digits;
        if (head->plain) {
            const int64_t k = i * q->block;
            UNROLL
            for (v = 0; v < NV; v++)
                V_STORE(to + v * LANES, sum[v]);
            plain_block(q, panel, x + k, q->k - k < q->block ? q->k - k : q->block, to);
            UNROLL
            for (v = 0; v < NV; v++)
                sum[v] = V_LOAD(to + v * LANES);
        } else if (parts > 1 && head->parts > parts) {
            dot_block(NATIVE_NBITS_PARTS, false, q, panel, head, sum);
        } else {
            dot_block(parts, group, q, panel, head, sum);
        }
    }
    UNROLL
    for (v = 0; v < NV; v++)
        V_STORE(to + v * LANES, sum[v]);
}

static void dot(const native_nbits *q, int parts, const char *panel, const void *digits,
                const float *x, float *to)
{
    const bool group = q->block == GROUP * NATIVE_NBITS_LINE;

    if (parts == 1 && group)
        dot_of(1, true, q, panel, digits, x, to);
    else if (parts == 1)
        dot_of(1, false, q, panel, digits, x, to);
    else if (group)
        dot_of(3, true, q, panel, digits, x, to);
    else
        dot_of(3, false, q, panel, digits, x, to);
}

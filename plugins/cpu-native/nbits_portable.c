/* SPDX-License-Identifier: Apache-2.0 */
/* nbits_portable.c: nbits_loops.h in vectors of four, byte after byte, for every architecture. */
#include <math.h>

#include "nbits.h"

#include "vec_portable.h"

typedef int32_t ivec __attribute__((vector_size(16)));
typedef uint32_t uvec __attribute__((vector_size(16)));
#define I_ZERO()                                                                                   \
    (ivec)                                                                                         \
    {                                                                                              \
        0                                                                                          \
    }
#define I_LOAD(p)     load_codes(p)
#define I_SPLAT(p)    splat(p)
#define I_LOW(w)      ((w)&0x0f0f0f0f)
#define I_HIGH(w)     ((ivec)((uvec)(w) >> 4) & 0x0f0f0f0f)
#define I_FLOATS(v)   __builtin_convertvector(v, vec)
#define I_BYTES(p)    load_bytes(p)
#define DOT(s, w, x)  dot_bytes(s, w, x)
#define DOT_END(t, s) ((t) + (s))
#define PART(w, i)    ((ivec)((uvec)(w) >> (4 * (i))) & 15)

/* The first of four bytes is the low one of a word, whatever the processor's order is. */
static inline int32_t word(const void *p)
{
    const uint8_t *b = p;
    return (int32_t)(b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
}

static inline ivec load_codes(const char *p)
{
    return (ivec){word(p), word(p + 4), word(p + 8), word(p + 12)};
}

static inline ivec splat(const void *p)
{
    const int32_t x = word(p);
    return (ivec){x, x, x, x};
}

static inline ivec load_bytes(const void *p)
{
    const int8_t *b = p;
    return (ivec){b[0], b[1], b[2], b[3]};
}

static inline ivec dot_bytes(ivec s, ivec w, ivec x)
{
    int i;

    for (i = 0; i < 4; i++)
        s += ((w >> (8 * i)) & 255) * ((ivec)((uvec)x << (24 - 8 * i)) >> 24);
    return s;
}

static inline void eight_digits(const float *x, float factor, int parts, char *to, int32_t *sums)
{
    int32_t d;
    int i, p;

    for (i = 0; i < 8; i++) {
        d = (int32_t)lrintf(x[i] * factor);
        for (p = 0; p < parts; p++) {
            const int32_t digit = (int8_t)(d & 255);
            to[(i / 4 * (parts == 1 ? 1 : 4) + p) * 4 + i % 4] = (char)digit;
            sums[p] += digit;
            d = (d - digit) / 256;
        }
    }
}

#define ISA_TABLE native_nbits_portable
#define ISA_NAME  "portable"

#include "nbits_loops.h"

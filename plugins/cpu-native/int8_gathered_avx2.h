/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_gathered_avx2.h: products of 16 bits of rows whose terms are not beside each other, for
 * int8_narrow.c: the last 8 of 16 columns have terms of their own.
 */

static inline __attribute__((always_inline)) void gathered_of(const int rows,
                                                              const native_int8_gathered *t)
{
    const int16_t *b = t->b;
    __m256i s[NATIVE_INT8_NARROW_ROWS][2];

    EVERY(int i = 0; i < rows; i++)
    {
        s[i][0] = s[i][1] = _mm256_setzero_si256();
    }
    for (int64_t g = 0; g < t->groups; g++, b += 2 * NR) {
        const int64_t first = t->offsets[g], last = first + t->half;
        const __m256i low = _mm256_load_si256((const __m256i *)(const void *)b);
        const __m256i high = _mm256_load_si256((const __m256i *)(const void *)(b + NR));
        EVERY(int i = 0; i < rows; i++)
        {
            s[i][0] = I_DOT(s[i][0], all_of(t->rows[i] + first), low);
            s[i][1] = I_DOT(s[i][1], all_of(t->rows[i] + last), high);
        }
    }
    EVERY(int i = 0; i < rows; i++)
    {
        I_STORE(t->sums + i * NR, s[i][0]);
        I_STORE(t->sums + i * NR + 8, s[i][1]);
    }
}

static void gathered(const native_int8_gathered *t)
{
    switch (t->n) {
    case 1:
        gathered_of(1, t);
        break;
    case 2:
        gathered_of(2, t);
        break;
    case 3:
        gathered_of(3, t);
        break;
    case 4:
        gathered_of(4, t);
        break;
    case 5:
        gathered_of(5, t);
        break;
    default:
        gathered_of(6, t);
    }
}

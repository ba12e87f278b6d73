/* SPDX-License-Identifier: Apache-2.0 */
/* nbits_x86.h: what nbits_loops.h wants of AVX2, which AVX-512 has, too. */
static inline __m256i digits_of(const float *x, float factor, int bias)
{
    const __m256i d = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(factor)));

    return _mm256_xor_si256(_mm256_add_epi32(d, _mm256_set1_epi32(bias)), _mm256_set1_epi32(bias));
}

/* Bytes of d + 0x808080 less 128 each are signed digits of d. */
static inline void eight_digits(const float *x, float factor, int parts, char *to, int32_t *sums)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i d = digits_of(x, factor,
                                parts == 1   ? 0
                                : parts == 3 ? 0x808080
                                             : (int)0x80808080);
    const __m256i bytes = _mm256_shuffle_epi8(d, order);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
    const __m256i words = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    const __m128i both =
        _mm_add_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i old = _mm_loadu_si128((const __m128i *)(const void *)sums);
    int32_t word;

    _mm_storeu_si128((__m128i *)(void *)sums, _mm_add_epi32(old, both));
    if (parts > 1) {
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
        return;
    }
    word = _mm256_extract_epi32(bytes, 0);
    __builtin_memcpy(to, &word, sizeof word);
    word = _mm256_extract_epi32(bytes, 4);
    __builtin_memcpy(to + 4, &word, sizeof word);
}

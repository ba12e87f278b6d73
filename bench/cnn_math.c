/* SPDX-License-Identifier: Apache-2.0 */
/* cnn_math.c: see cnn_math.h. */
#include "cnn_math.h"

#include <math.h>

#include "training.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#include "cpu_has.h"
#define X86 1
#endif

/* ---- for 16 elements, 8, or one -------------------------------------------------------------- */

static void gather_row(float *out, const uint8_t *image)
{
    for (int k = 0; k < BENCH_PIXELS; k++)
        out[k] = (float)image[k] / 255;
}

static void add_row(float *out, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static void adam_row(const cnn_adam *a, float *p, float *m, float *v, const float *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        m[i] += (g[i] - m[i]) * (1 - a->beta_1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - a->beta_2);
        p[i] -= a->rate * m[i] / (sqrtf(v[i]) + a->epsilon);
    }
}

#ifdef X86
#define AVX512 __attribute__((target("avx512f")))
#define AVX2   __attribute__((target("avx2,fma")))

AVX512 static void gather_row_avx512(float *out, const uint8_t *image)
{
    const __m512 most = _mm512_set1_ps(255);
    for (int k = 0; k < BENCH_PIXELS; k += 16) {
        __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(image + k)));
        _mm512_storeu_ps(out + k, _mm512_div_ps(_mm512_cvtepi32_ps(bytes), most));
    }
}

AVX2 static void gather_row_avx2(float *out, const uint8_t *image)
{
    const __m256 most = _mm256_set1_ps(255);
    for (int k = 0; k < BENCH_PIXELS; k += 8) {
        __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(image + k)));
        _mm256_storeu_ps(out + k, _mm256_div_ps(_mm256_cvtepi32_ps(bytes), most));
    }
}

AVX512 static void add_row_avx512(float *out, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)));
    add_row(out + i, a + i, b + i, n - i);
}

AVX2 static void add_row_avx2(float *out, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
    add_row(out + i, a + i, b + i, n - i);
}

AVX512 static void adam_row_avx512(const cnn_adam *a, float *p, float *m, float *v, const float *g,
                                   size_t n)
{
    const __m512 b1 = _mm512_set1_ps(1 - a->beta_1), b2 = _mm512_set1_ps(1 - a->beta_2);
    const __m512 rate = _mm512_set1_ps(a->rate), epsilon = _mm512_set1_ps(a->epsilon);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 x = _mm512_loadu_ps(g + i), y = _mm512_loadu_ps(m + i), z = _mm512_loadu_ps(v + i);
        y = _mm512_fmadd_ps(_mm512_sub_ps(x, y), b1, y);
        z = _mm512_fmadd_ps(_mm512_fmsub_ps(x, x, z), b2, z);
        x = _mm512_div_ps(_mm512_mul_ps(rate, y), _mm512_add_ps(_mm512_sqrt_ps(z), epsilon));
        _mm512_storeu_ps(m + i, y);
        _mm512_storeu_ps(v + i, z);
        _mm512_storeu_ps(p + i, _mm512_sub_ps(_mm512_loadu_ps(p + i), x));
    }
    adam_row(a, p + i, m + i, v + i, g + i, n - i);
}

AVX2 static void adam_row_avx2(const cnn_adam *a, float *p, float *m, float *v, const float *g,
                               size_t n)
{
    const __m256 b1 = _mm256_set1_ps(1 - a->beta_1), b2 = _mm256_set1_ps(1 - a->beta_2);
    const __m256 rate = _mm256_set1_ps(a->rate), epsilon = _mm256_set1_ps(a->epsilon);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(g + i), y = _mm256_loadu_ps(m + i), z = _mm256_loadu_ps(v + i);
        y = _mm256_fmadd_ps(_mm256_sub_ps(x, y), b1, y);
        z = _mm256_fmadd_ps(_mm256_fmsub_ps(x, x, z), b2, z);
        x = _mm256_div_ps(_mm256_mul_ps(rate, y), _mm256_add_ps(_mm256_sqrt_ps(z), epsilon));
        _mm256_storeu_ps(m + i, y);
        _mm256_storeu_ps(v + i, z);
        _mm256_storeu_ps(p + i, _mm256_sub_ps(_mm256_loadu_ps(p + i), x));
    }
    adam_row(a, p + i, m + i, v + i, g + i, n - i);
}

#define CHOOSE(name)                                                                               \
    (CPU_HAS(AVX512F, "avx512f")                    ? name##_avx512                                \
     : CPU_HAS(AVX2, "avx2") && CPU_HAS(FMA, "fma") ? name##_avx2                                  \
                                                    : name)
#else
#define CHOOSE(name) name
#endif

/* ---- what the step calls --------------------------------------------------------------------- */

void cnn_gather(float *out, const uint8_t *images, const int64_t *order, uint32_t n)
{
    void (*row)(float *, const uint8_t *) = CHOOSE(gather_row);
    for (uint32_t i = 0; i < n; i++)
        row(out + (size_t)i * BENCH_PIXELS, images + order[i] * BENCH_PIXELS);
}

void cnn_accumulate(float *sum, const float *more, size_t n)
{
    CHOOSE(add_row)(sum, sum, more, n);
}

/* A block's sum stays in the first-level cache until Adam reads it. */
void cnn_update(const cnn_adam *a, float *p, float *m, float *v, const float *const *parts,
                uint32_t n_parts, size_t from, size_t n)
{
    enum { BLOCK = 512 };
    float sum[BLOCK];
    for (size_t at = from; at < from + n; at += BLOCK) {
        size_t k = from + n - at < BLOCK ? from + n - at : BLOCK;
        const float *g = parts[0] + at;
        for (uint32_t part = 1; part < n_parts; part++) {
            CHOOSE(add_row)(sum, g, parts[part] + at, k);
            g = sum;
        }
        CHOOSE(adam_row)(a, p + at, m + at, v + at, g, k);
    }
}

cnn_adam cnn_adam_at(int64_t update)
{
    const double beta_1 = 0.9, beta_2 = 0.999;
    double rate = 0.001 * sqrt(1 - pow(beta_2, (double)update)) / (1 - pow(beta_1, (double)update));
    return (cnn_adam){(float)beta_1, (float)beta_2, (float)rate, 1e-7F};
}

void cnn_loss(const float *scores, const uint8_t *labels, const int64_t *order, uint32_t n,
              uint32_t n_batch, float *gradient, double *loss)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *s = scores + i * BENCH_CLASSES;
        float *g = gradient + i * BENCH_CLASSES, most = s[0], sum = 0;
        uint8_t label = labels[order[i]];
        for (int c = 1; c < BENCH_CLASSES; c++)
            most = s[c] > most ? s[c] : most;
        for (int c = 0; c < BENCH_CLASSES; c++)
            sum += g[c] = expf(s[c] - most);
        *loss += (double)(most - s[label] + logf(sum));
        for (int c = 0; c < BENCH_CLASSES; c++)
            g[c] = (g[c] / sum - (float)(c == label)) / (float)n_batch;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* roof.c: kernels that do nothing but compute or read, on a team of threads; see roof.h. */
#include "roof.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "contest.h"

#if defined(__x86_64__) || defined(__i386__)
#define ROOF_X86 1
#include <immintrin.h>

#include "cpu_has.h"
#endif

#define MOST_THREADS 256
#define FMA_ROUNDS   200000u            /* about 0.4 ms */
#define FAR_BYTES    ((size_t)64 << 20) /* a thread reads so much of memory */

/* ---- multiply and add ------------------------------------------------------------------------ */

/*
 * n rounds over independent sums, enough of them to hide the latency of an FMA (4 cycles, two a
 * cycle). The empty asm keeps the compiler from swapping the loops. The answer depends on all.
 */
typedef float (*fma_fn)(uint64_t n);
/* Sums up what it reads; bytes is a multiple of 512. */
typedef float (*read_fn)(const char *at, size_t bytes);

#define SUMS 12

#ifdef ROOF_X86
__attribute__((target("avx512f"))) static float fma_avx512(uint64_t n)
{
    __m512 s[SUMS], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f), sum;
    for (int i = 0; i < SUMS; i++)
        s[i] = _mm512_set1_ps((float)i);
    for (uint64_t k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++)
            s[i] = _mm512_fmadd_ps(s[i], x, y);
        __asm__ volatile("" : "+v"(x));
    }
    sum = s[0];
    for (int i = 1; i < SUMS; i++)
        sum = _mm512_add_ps(sum, s[i]);
    return _mm512_reduce_add_ps(sum);
}

__attribute__((target("avx512f"))) static float read_avx512(const char *at, size_t bytes)
{
    __m512i s[8];
    for (int i = 0; i < 8; i++)
        s[i] = _mm512_setzero_si512();
    for (const char *end = at + bytes; at < end; at += 512) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            s[i] = _mm512_add_epi64(s[i], _mm512_loadu_si512(at + 64 * i));
    }
    for (int i = 1; i < 8; i++)
        s[0] = _mm512_add_epi64(s[0], s[i]);
    return (float)_mm512_reduce_add_epi64(s[0]);
}

__attribute__((target("avx2,fma"))) static float fma_avx2(uint64_t n)
{
    __m256 s[SUMS], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f), sum;
    float parts[8];
    for (int i = 0; i < SUMS; i++)
        s[i] = _mm256_set1_ps((float)i);
    for (uint64_t k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++)
            s[i] = _mm256_fmadd_ps(s[i], x, y);
        __asm__ volatile("" : "+x"(x));
    }
    sum = s[0];
    for (int i = 1; i < SUMS; i++)
        sum = _mm256_add_ps(sum, s[i]);
    _mm256_storeu_ps(parts, sum);
    return parts[0] + parts[3] + parts[7];
}

__attribute__((target("avx2"))) static float read_avx2(const char *at, size_t bytes)
{
    __m256i s[8];
    int64_t parts[4];
    for (int i = 0; i < 8; i++)
        s[i] = _mm256_setzero_si256();
    for (const char *end = at + bytes; at < end; at += 256) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            s[i] =
                _mm256_add_epi64(s[i], _mm256_loadu_si256((const __m256i *)(const void *)at + i));
    }
    for (int i = 1; i < 8; i++)
        s[0] = _mm256_add_epi64(s[0], s[i]);
    _mm256_storeu_si256((__m256i *)(void *)parts, s[0]);
    return (float)(parts[0] + parts[1] + parts[2] + parts[3]);
}
#endif

/* For the vector unit that the compiler was told of. */
#define PORTABLE_SUMS 64
static float fma_portable(uint64_t n)
{
    float s[PORTABLE_SUMS], x = 0.999f, sum = 0;
    for (int i = 0; i < PORTABLE_SUMS; i++)
        s[i] = (float)i;
    for (uint64_t k = 0; k < n; k++) {
        for (int i = 0; i < PORTABLE_SUMS; i++)
            s[i] = s[i] * x + 0.001f;
        __asm__ volatile("" : "+m"(x));
    }
    for (int i = 0; i < PORTABLE_SUMS; i++)
        sum += s[i];
    return sum;
}

static float read_portable(const char *at, size_t bytes)
{
    const uint64_t *words = (const void *)at;
    uint64_t sums[8] = {0}, sum = 0;
    for (size_t i = 0; i < bytes / sizeof *words; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += words[i + k];
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    return (float)sum;
}

typedef struct kernels {
    const char *name;
    double flops; /* of a round */
    fma_fn fma;
    read_fn read;
} kernels;

static kernels choose(void)
{
#ifdef ROOF_X86
    if (CPU_HAS(AVX512F, "avx512f"))
        return (kernels){"avx512", 2.0 * 16 * SUMS, fma_avx512, read_avx512};
    if (CPU_HAS(AVX2, "avx2") && CPU_HAS(FMA, "fma"))
        return (kernels){"avx2", 2.0 * 8 * SUMS, fma_avx2, read_avx2};
#endif
    return (kernels){"portable", 2.0 * PORTABLE_SUMS, fma_portable, read_portable};
}

/* ---- on several threads ---------------------------------------------------------------------- */

typedef struct team {
    atomic_uint n_waiting;
    kernels kernels;
    size_t bytes; /* 0 = multiply and add */
    uint64_t n;
} team;

typedef struct member {
    team *team;
    char *bytes;
    double seconds;
    float result;
    pthread_t thread;
} member;

static volatile float sink;

enum { SPINS = 100000 };

/* Under a real-time policy the others may need the processor that spins here. */
static void await_all(const atomic_uint *n_waiting)
{
    const struct timespec nap = {0, 50000};
    for (uint32_t i = 0; atomic_load(n_waiting); i++)
        if (i >= SPINS)
            nanosleep(&nap, NULL);
}

static void *member_main(void *user)
{
    member *m = user;
    team *t = m->team;
    double began;
    if (m->bytes)
        memset(m->bytes, 1, t->bytes); /* pages of this thread's own */
    atomic_fetch_sub(&t->n_waiting, 1);
    await_all(&t->n_waiting);
    began = bench_now();
    if (t->bytes) {
        for (uint64_t i = 0; i < t->n; i++) {
            m->result += t->kernels.read(m->bytes, t->bytes);
            __asm__ volatile("" ::: "memory");
        }
    } else {
        m->result = t->kernels.fma(t->n);
    }
    m->seconds = bench_now() - began;
    return NULL;
}

static double run_team(team *t, uint32_t n_threads)
{
    uint32_t n = n_threads > MOST_THREADS ? MOST_THREADS : n_threads, started = 1;
    member *members = calloc(n, sizeof *members);
    double longest = 0;
    bool bad = !members;
    atomic_store(&t->n_waiting, n);
    for (uint32_t i = 0; !bad && i < n; i++) {
        members[i].team = t;
        members[i].bytes = t->bytes ? aligned_alloc(64, t->bytes) : NULL;
        bad = t->bytes && !members[i].bytes;
    }
    for (; !bad && started < n; started++)
        if (pthread_create(&members[started].thread, NULL, member_main, &members[started]))
            break;
    if (!bad) {
        atomic_fetch_sub(&t->n_waiting, n - started); /* who did not start is not waited for */
        member_main(&members[0]);
        for (uint32_t i = 1; i < started; i++)
            pthread_join(members[i].thread, NULL);
    }
    for (uint32_t i = 0; members && i < n; i++) {
        longest = members[i].seconds > longest ? members[i].seconds : longest;
        sink += members[i].result;
        free(members[i].bytes);
    }
    free(members);
    return bad || started < n ? NAN : longest;
}

double bench_roof_fma(uint32_t n_threads, uint64_t rounds, double *flops, const char **kernel)
{
    team t = {.kernels = choose(), .n = rounds};
    *flops = t.kernels.flops * (double)rounds * n_threads;
    *kernel = t.kernels.name;
    return run_team(&t, n_threads);
}

double bench_roof_read(uint32_t n_threads, size_t bytes, uint64_t times)
{
    team t = {.kernels = choose(), .n = times};
    t.bytes = (bytes + 511) & ~(size_t)511;
    return run_team(&t, n_threads);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static double best_fma(uint32_t n_threads, const char **kernel)
{
    double best = NAN, flops = 0;
    for (int i = 0; i < 3; i++)
        best = fmin(best, bench_roof_fma(n_threads, 20 * FMA_ROUNDS, &flops, kernel));
    return flops / best;
}

static double best_read(uint32_t n_threads, size_t bytes)
{
    const double wanted = 200e6; /* bytes of a thread and a try: some ms */
    uint64_t times = (uint64_t)(wanted / (double)bytes) + 1;
    double best = NAN;
    for (int i = 0; i < 3; i++)
        best = fmin(best, bench_roof_read(n_threads, bytes, times));
    return (double)bytes * (double)times * n_threads / best;
}

static size_t cache_bytes(int name, size_t otherwise)
{
    long bytes = name ? sysconf(name) : 0;
    return bytes > 0 ? (size_t)bytes : otherwise;
}

void bench_roofs_measure(uint32_t n_threads, bench_roofs *out)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
#else
    const int names[] = {0, 0, 0};
#endif
    size_t l1 = cache_bytes(names[0], (size_t)32 << 10);
    size_t l2 = cache_bytes(names[1], (size_t)1 << 20);
    size_t l3 = cache_bytes(names[2], (size_t)16 << 20);
    size_t share = l3 / n_threads / 2;
    memset(out, 0, sizeof *out);
    out->n_threads = n_threads;
    out->flops_one = best_fma(1, &out->kernel);
    out->flops = n_threads > 1 ? best_fma(n_threads, &out->kernel) : out->flops_one;
    /* Sizes well inside of one level and well outside of the one before. */
    share = share < 4 * l2 ? share : 4 * l2;
    out->levels[0].name = "L1";
    out->levels[0].bytes = (uint64_t)l1 * n_threads;
    out->levels[0].read = best_read(n_threads, l1 / 2);
    out->levels[1].name = "L2";
    out->levels[1].bytes = (uint64_t)l2 * n_threads;
    out->levels[1].read = best_read(n_threads, l2 / 2);
    out->levels[2].name = "L3";
    out->levels[2].bytes = l3;
    out->levels[2].read = best_read(n_threads, share > l2 ? share : 2 * l2);
    out->levels[3].name = "memory";
    out->levels[3].bytes = UINT64_MAX;
    out->levels[3].read = best_read(n_threads, FAR_BYTES);
}

uint32_t bench_roofs_level(const bench_roofs *roofs, uint64_t bytes)
{
    uint32_t level = 0;
    while (level + 1 < BENCH_ROOF_LEVELS && bytes > roofs->levels[level].bytes)
        level++;
    return level;
}

/* ---- in a contest ---------------------------------------------------------------------------- */

static tfr_status fma_burst(void *user, uint64_t n, double *seconds, tfr_err *err)
{
    const uint32_t *n_threads = user;
    const char *kernel;
    double flops;
    *seconds = bench_roof_fma(*n_threads, n * FMA_ROUNDS, &flops, &kernel);
    return isnan(*seconds) ? tfr_fail(err, TFR_ENOMEM, "no memory for %u threads", *n_threads)
                           : TFR_OK;
}

void bench_add_fma_roof(bench_contest *contest)
{
    uint32_t *n_threads = malloc(sizeof *n_threads);
    bench_contender *c = n_threads ? bench_contest_add(contest, "roof") : NULL;
    const char *kernel;
    if (!c) {
        free(n_threads);
        return;
    }
    *n_threads = contest->options->n_threads;
    (void)bench_roof_fma(*n_threads, FMA_ROUNDS, &c->flops, &kernel);
    c->burst = fma_burst;
    c->destroy = free;
    c->user = n_threads;
    c->is_roof = true;
}

void bench_measure_roofs(bench_report *report)
{
    const uint64_t n_reads = 2;
    double flops = 0, best = NAN;
    for (int i = 0; i < 3; i++)
        best = fmin(
            best, bench_roof_fma(report->n_threads, 20 * FMA_ROUNDS, &flops, &report->fma_kernel));
    report->fma_roof = flops / best;
    best = NAN;
    for (int i = 0; i < 2; i++)
        best = fmin(best, bench_roof_read(report->n_threads, FAR_BYTES, n_reads));
    report->read_roof = (double)FAR_BYTES * (double)n_reads * report->n_threads / best;
}

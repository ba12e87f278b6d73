/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roof.c: what this machine can do at most on n threads: multiply-adds of float32 in registers, and
 * reading of memory. The kernels are chosen by the processor found at run time.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"

#if defined(__x86_64__) || defined(__i386__)
#define BENCH_X86 1
#include <immintrin.h>
#endif

#define MOST_THREADS 256
#define READ_BYTES   (64u << 20) /* a thread reads so much: more than its share of the caches */

/* ---- multiply and add ------------------------------------------------------------------------ */

/* Does n rounds over independent sums, enough of them to hide the latency of an FMA (4 cycles, two
 * a cycle); returns something that depends on all. */
typedef float (*fma_fn)(uint64_t n);

#ifdef BENCH_X86
#define SUMS_512 12
__attribute__((target("avx512f"))) static float fma_avx512(uint64_t n)
{
    __m512 s[SUMS_512], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f), sum;
    for (int i = 0; i < SUMS_512; i++)
        s[i] = _mm512_set1_ps((float)i);
    for (uint64_t k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS_512; i++)
            s[i] = _mm512_fmadd_ps(s[i], x, y);
        /* Or the compiler would find that the loops may be swapped. */
        __asm__ volatile("" : "+v"(x));
    }
    sum = s[0];
    for (int i = 1; i < SUMS_512; i++)
        sum = _mm512_add_ps(sum, s[i]);
    return _mm512_reduce_add_ps(sum);
}

#define SUMS_256 12
__attribute__((target("avx2,fma"))) static float fma_avx2(uint64_t n)
{
    __m256 s[SUMS_256], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f), sum;
    float parts[8];
    for (int i = 0; i < SUMS_256; i++)
        s[i] = _mm256_set1_ps((float)i);
    for (uint64_t k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS_256; i++)
            s[i] = _mm256_fmadd_ps(s[i], x, y);
        __asm__ volatile("" : "+x"(x));
    }
    sum = s[0];
    for (int i = 1; i < SUMS_256; i++)
        sum = _mm256_add_ps(sum, s[i]);
    _mm256_storeu_ps(parts, sum);
    return parts[0] + parts[3] + parts[7];
}
#endif

/* For the vector unit that the compiler was told of: 16 sums of 4. */
#define SUMS 64
static float fma_portable(uint64_t n)
{
    float s[SUMS], x = 0.999f, sum = 0;
    for (int i = 0; i < SUMS; i++)
        s[i] = (float)i;
    for (uint64_t k = 0; k < n; k++) {
        for (int i = 0; i < SUMS; i++)
            s[i] = s[i] * x + 0.001f;
        __asm__ volatile("" : "+m"(x));
    }
    for (int i = 0; i < SUMS; i++)
        sum += s[i];
    return sum;
}

/* The best kernel, its name, and the operations of one of its rounds. */
static fma_fn choose(const char **name, double *flops)
{
#ifdef BENCH_X86
    if (__builtin_cpu_supports("avx512f")) {
        *name = "avx512";
        *flops = 2.0 * 16 * SUMS_512;
        return fma_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "avx2";
        *flops = 2.0 * 8 * SUMS_256;
        return fma_avx2;
    }
#endif
    *name = "portable";
    *flops = 2.0 * SUMS;
    return fma_portable;
}

/* ---- on several threads ---------------------------------------------------------------------- */

typedef struct team {
    atomic_uint n_waiting;
    atomic_uint n_threads;
    fma_fn fma; /* NULL = read */
    uint64_t n;
} team;

typedef struct member {
    team *team;
    double seconds;
    char *bytes; /* to read */
    float result;
    pthread_t thread;
} member;

static uint64_t read_all(const char *bytes)
{
    uint64_t sums[8] = {0}, sum = 0;
    const uint64_t *words = (const void *)bytes;
    for (size_t i = 0; i < READ_BYTES / sizeof *words; i += 8)
        for (int k = 0; k < 8; k++)
            sums[k] += words[i + (size_t)k];
    for (int k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

static void *member_main(void *user)
{
    member *m = user;
    team *t = m->team;
    double began;
    if (m->bytes)
        memset(m->bytes, 1, READ_BYTES); /* pages of this thread's own */
    atomic_fetch_sub(&t->n_waiting, 1);
    while (atomic_load(&t->n_waiting))
        ;
    began = bench_now();
    if (t->fma) {
        m->result = t->fma(t->n);
    } else {
        for (uint64_t i = 0; i < t->n; i++)
            m->result += (float)read_all(m->bytes);
    }
    m->seconds = bench_now() - began;
    return NULL;
}

/* Runs the team; returns the longest time, or NaN. */
static double run_team(team *t, uint32_t n_threads, volatile float *sink)
{
    static member members[MOST_THREADS];
    uint32_t n = n_threads > MOST_THREADS ? MOST_THREADS : n_threads, started = 1;
    double longest = 0;
    bool bad = false;
    atomic_store(&t->n_waiting, n);
    for (uint32_t i = 0; i < n; i++)
        members[i] = (member){.team = t, .bytes = t->fma ? NULL : malloc(READ_BYTES)};
    for (uint32_t i = 0; i < n; i++)
        bad = bad || (!t->fma && !members[i].bytes);
    for (; !bad && started < n; started++)
        if (pthread_create(&members[started].thread, NULL, member_main, &members[started]))
            break;
    /* Those who could not be started are not waited for. */
    if (!bad) {
        atomic_fetch_sub(&t->n_waiting, n - started);
        member_main(&members[0]);
        for (uint32_t i = 1; i < started; i++)
            pthread_join(members[i].thread, NULL);
    }
    for (uint32_t i = 0; i < n; i++) {
        longest = members[i].seconds > longest ? members[i].seconds : longest;
        *sink += members[i].result;
        free(members[i].bytes);
    }
    return bad || started < n ? NAN : longest;
}

/* ---- as a contender -------------------------------------------------------------------------- */

#define FMA_ROUNDS 200000u /* of one run: about 0.4 ms */

typedef struct roof {
    uint32_t n_threads;
    fma_fn fma;
    volatile float sink;
} roof;

static tfr_status fma_burst(void *user, uint64_t n, double *seconds, tfr_err *err)
{
    roof *r = user;
    team t = {.fma = r->fma, .n = n * FMA_ROUNDS};
    (void)err;
    *seconds = run_team(&t, r->n_threads, &r->sink);
    return TFR_OK;
}

void bench_add_fma_roof(bench_contest *contest)
{
    const char *name;
    double flops;
    roof *r = calloc(1, sizeof *r);
    bench_contender *c = r ? bench_contest_add(contest, "roof") : NULL;
    if (!c) {
        free(r);
        return;
    }
    r->n_threads = contest->options->n_threads;
    r->fma = choose(&name, &flops);
    c->flops = flops * FMA_ROUNDS * r->n_threads;
    c->burst = fma_burst;
    c->destroy = free;
    c->user = r;
    c->is_roof = true;
}

void bench_measure_roofs(bench_report *report)
{
    double flops, best = NAN;
    volatile float sink = 0;
    team t = {.n = 20 * FMA_ROUNDS};
    t.fma = choose(&report->fma_kernel, &flops);
    for (int i = 0; i < 3; i++)
        best = fmin(best, run_team(&t, report->n_threads, &sink));
    report->fma_roof = flops * (double)t.n * report->n_threads / best;
    t.fma = NULL;
    t.n = 2;
    best = NAN;
    for (int i = 0; i < 2; i++)
        best = fmin(best, run_team(&t, report->n_threads, &sink));
    report->read_roof = (double)READ_BYTES * (double)t.n * report->n_threads / best;
}

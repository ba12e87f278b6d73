/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contest.c: measures contenders in turns. A round gives each one burst: a run that does not count,
 * which brings caches, clocks and threads to its side, then as many runs as take 20 ms. Between two
 * bursts we wait until nobody computes any more: pools that spin after their work would otherwise
 * take the processors from the next one. Every other round goes backwards, so that nobody profits
 * from his place.
 */
#include "contest.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#define BURST_SECONDS  0.02
#define ROW_SECONDS    8.0 /* what a row may take when the user names no number of rounds */
#define LEAST_ROUNDS   5
#define MOST_ROUNDS    41
#define SETTLE_SECONDS 0.1 /* libgomp, OpenBLAS and ONNX Runtime spin for 15 to 30 ms */

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_seconds(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now))
        return 0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * Waits until the threads of the process of this clock sleep, or for SETTLE_SECONDS. The kernel
 * adds the time of a thread that runs elsewhere to this clock at its ticks only, each 1 to 10 ms.
 */
static void settle(clockid_t clock)
{
    const struct timespec nap = {0, 12000000};
    for (double began = bench_now(), now = began; now - began < SETTLE_SECONDS;) {
        double used = cpu_seconds(clock), then;
        nanosleep(&nap, NULL);
        then = bench_now();
        if (cpu_seconds(clock) - used < 0.2 * (then - now))
            return;
        now = then;
    }
}

bench_contender *bench_contest_add(bench_contest *contest, const char *who)
{
    bench_contender *c;
    if (contest->n == BENCH_MAX_CONTENDERS)
        return NULL;
    c = &contest->list[contest->n++];
    *c = (bench_contender){.error = NAN};
    snprintf(c->who, sizeof c->who, "%s", who);
    return c;
}

static void destroy(bench_contender *c)
{
    if (!c->destroy)
        return;
    if (!c->ours)
        bench_begin_peer(c->who);
    c->destroy(c->user);
    bench_end_peer();
}

void bench_contest_remove(bench_contest *contest, uint32_t i)
{
    destroy(&contest->list[i]);
    contest->n--;
    memmove(&contest->list[i], &contest->list[i + 1], (contest->n - i) * sizeof *contest->list);
}

void bench_contest_finish(bench_contest *contest)
{
    for (uint32_t i = 0; i < contest->n; i++)
        destroy(&contest->list[i]);
    contest->n = 0;
}

bool bench_wants(const bench_options *options, const char *peer)
{
    size_t n = strlen(peer);
    const char *at = options->peers;
    if (!at)
        return true;
    for (; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && memcmp(at, peer, n) == 0)
            return true;
    return false;
}

void bench_fill_random(float *values, int64_t n, uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int64_t i = 0; i < n; i++) {
        /* Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 (SplitMix64). */
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
        values[i] = (float)(int32_t)(z >> 40) * 0x1p-23f - 1;
    }
}

/* ---- cores ----------------------------------------------------------------------------------- */

static cpu_set_t all_cores, our_cores;
static bool know_cores, lent;
static _Atomic(const char *) at_work;

void bench_remember_cores(void)
{
    know_cores = sched_getaffinity(0, sizeof all_cores, &all_cores) == 0;
}

void bench_begin_peer(const char *who)
{
    atomic_store(&at_work, who);
    if (lent)
        return;
    lent = know_cores && sched_getaffinity(0, sizeof our_cores, &our_cores) == 0 &&
           sched_setaffinity(0, sizeof all_cores, &all_cores) == 0;
}

void bench_end_peer(void)
{
    atomic_store(&at_work, NULL);
    if (lent)
        (void)sched_setaffinity(0, sizeof our_cores, &our_cores);
    lent = false;
}

const char *bench_peer_at_work(void)
{
    return atomic_load(&at_work);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct measured {
    uint64_t n_runs; /* in a burst */
    double *seconds; /* of one run, for each round */
    bool out;        /* failed: no more bursts */
} measured;

/* Seconds of n runs, after one that does not count. */
static tfr_status burst(const bench_contender *c, uint64_t n, double *seconds, tfr_err *err)
{
    tfr_status status;
    double began;
    if (!c->ours)
        bench_begin_peer(c->who);
    if (c->burst) {
        status = c->burst(c->user, n, seconds, err);
    } else {
        status = c->run(c->user, err);
        began = bench_now();
        for (uint64_t i = 0; !status && i < n; i++)
            status = c->run(c->user, err);
        *seconds = bench_now() - began;
    }
    if (!c->ours)
        bench_end_peer();
    return status;
}

/* How many runs take BURST_SECONDS, from a first guess and a second look. */
static tfr_status calibrate(const bench_contender *c, measured *m, double *cost, tfr_err *err)
{
    double seconds = 0;
    m->n_runs = c->n_runs ? c->n_runs : 1;
    if (c->n_runs)
        return TFR_OK;
    for (int look = 0; look < 3; look++) {
        double wanted;
        tfr_status status = burst(c, m->n_runs, &seconds, err);
        if (status)
            return status;
        wanted = seconds > 0 ? BURST_SECONDS / seconds * (double)m->n_runs : 1e6;
        if (seconds > BURST_SECONDS / 2)
            break;
        m->n_runs = wanted < 1 ? 1 : wanted > 1e7 ? (uint64_t)1e7 : (uint64_t)wanted;
    }
    *cost = seconds * (1 + 1 / (double)m->n_runs) + 0.01;
    return TFR_OK;
}

static tfr_status fail_or_skip(bench_contest *contest, uint32_t i, measured *m, tfr_status status,
                               const tfr_err *err)
{
    m[i].out = true;
    if (contest->list[i].ours || status == TFR_ENOMEM)
        return status;
    bench_add_skip(contest->report, contest->row, contest->list[i].who, err->text);
    return TFR_OK;
}

static tfr_status measure(bench_contest *contest, measured *m, uint64_t *n_rounds, tfr_err *err)
{
    const bench_options *options = contest->options;
    double round_cost = 0;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < contest->n; i++) {
        double cost = 0;
        bench_contender *c = &contest->list[i];
        status = calibrate(c, &m[i], &cost, err);
        if (status)
            status = fail_or_skip(contest, i, m, status, err);
        settle(c->cpu ? c->cpu : CLOCK_PROCESS_CPUTIME_ID);
        round_cost += cost;
    }
    *n_rounds = options->n_pairs                          ? options->n_pairs
                : ROW_SECONDS / round_cost > MOST_ROUNDS  ? MOST_ROUNDS
                : ROW_SECONDS / round_cost < LEAST_ROUNDS ? LEAST_ROUNDS
                                                          : (uint64_t)(ROW_SECONDS / round_cost);
    for (uint32_t i = 0; i < contest->n; i++)
        if (!(m[i].seconds = calloc(*n_rounds, sizeof *m[i].seconds)))
            return tfr_fail(err, TFR_ENOMEM, "no memory for %llu times",
                            (unsigned long long)*n_rounds);
    for (uint64_t r = 0; r < *n_rounds; r++) {
        for (uint32_t k = 0; !status && k < contest->n; k++) {
            uint32_t i = r % 2 ? contest->n - 1 - k : k;
            bench_contender *c = &contest->list[i];
            double seconds = 0;
            if (m[i].out)
                continue;
            status = burst(c, m[i].n_runs, &seconds, err);
            if (status)
                status = fail_or_skip(contest, i, m, status, err);
            m[i].seconds[r] = seconds / (double)m[i].n_runs / (double)(c->n_inner ? c->n_inner : 1);
            settle(c->cpu ? c->cpu : CLOCK_PROCESS_CPUTIME_ID);
        }
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Spread of a[r] / b[r] * factor; scratch has room for n. */
static bench_spread spread_of_quotient(const double *a, const double *b, double factor, uint64_t n,
                                       double *scratch)
{
    for (uint64_t r = 0; r < n; r++)
        scratch[r] = b[r] > 0 ? a[r] / b[r] * factor : NAN;
    return bench_spread_of(scratch, n);
}

static void report(bench_contest *contest, const measured *m, uint64_t n, double *scratch)
{
    uint32_t ours = UINT32_MAX, roof = UINT32_MAX;
    for (uint32_t i = contest->n; i-- > 0;) {
        ours = contest->list[i].ours ? i : ours;
        roof = contest->list[i].is_roof && !m[i].out ? i : roof;
    }
    for (uint32_t i = 0; i < contest->n; i++) {
        const bench_contender *c = &contest->list[i];
        bench_side *side;
        if (m[i].out || c->is_roof || !(side = bench_add_side(contest->report, contest->row)))
            continue;
        snprintf(side->who, sizeof side->who, "%s", c->who);
        snprintf(side->note, sizeof side->note, "%s", c->note);
        side->n = n;
        side->error = c->error;
        side->samples = c->samples > 0 ? c->samples : NAN;
        if (i != ours && ours != UINT32_MAX)
            side->ratio = spread_of_quotient(m[i].seconds, m[ours].seconds, 1, n, scratch);
        if (roof != UINT32_MAX && c->flops > 0 && !c->elsewhere)
            side->roof_share = spread_of_quotient(m[roof].seconds, m[i].seconds,
                                                  c->flops / contest->list[roof].flops, n, scratch)
                                   .median;
        memcpy(scratch, m[i].seconds, n * sizeof *scratch);
        side->seconds = bench_spread_of(scratch, n);
        if (c->flops > 0)
            side->rate = c->flops / side->seconds.median;
    }
}

tfr_status bench_contest_run(bench_contest *contest, tfr_err *err)
{
    measured m[BENCH_MAX_CONTENDERS] = {{0}};
    uint64_t n_rounds = 0;
    double *scratch = NULL;
    tfr_status status = measure(contest, m, &n_rounds, err);
    if (!status && !(scratch = calloc(n_rounds, sizeof *scratch)))
        status =
            tfr_fail(err, TFR_ENOMEM, "no memory for %llu ratios", (unsigned long long)n_rounds);
    if (!status)
        report(contest, m, n_rounds, scratch);
    free(scratch);
    for (uint32_t i = 0; i < contest->n; i++)
        free(m[i].seconds);
    return status;
}

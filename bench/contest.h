/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/contest.h: contenders measured in turns, A B C C B A ..., in one process; and the roofs of
 * the machine, which are contenders too. bench/README.md says why it is done so.
 */
#ifndef TFR_BENCH_CONTEST_H
#define TFR_BENCH_CONTEST_H

#include <time.h>

#include "bench.h"

#define BENCH_MAX_CONTENDERS 16

typedef struct bench_contender {
    char who[48], note[160];
    /* One run; or, if that is NULL, n runs after one that does not count, altogether in *seconds.
     */
    tfr_status (*run)(void *user, tfr_err *err);
    tfr_status (*burst)(void *user, uint64_t n, double *seconds, tfr_err *err);
    void (*destroy)(void *user); /* optional */
    void *user;
    clockid_t cpu;    /* of the process that computes; 0 = ours (see settle in contest.c) */
    double flops;     /* of one run; 0 = not counted */
    double error;     /* NaN = not known */
    bool is_roof;     /* what it reaches is the 100 percent of the others */
    bool elsewhere;   /* on a device that is no processor of the host: the roof is not its own */
    bool ours;        /* the one that ratios are against; the first in the list */
    uint64_t n_inner; /* runs that one call of `run` makes; 0 = 1 */
    uint64_t n_runs;  /* of a burst; 0 = as many as take 20 ms */
    /* Of those that learn, one run being a step of training; each is optional. */
    double samples; /* of one run; 0 = it does not learn */
    /* Mean of the samples since the last call, each before its update. */
    tfr_status (*loss)(void *user, double *out, tfr_err *err);
    /* Share of the test samples that it takes for what they are. */
    tfr_status (*accuracy)(void *user, double *out, tfr_err *err);
    /* Peak resident bytes of its process, if it has one; its data set included. */
    uint64_t (*peak)(void *user);
    /* Adam's means of the gradients, as training.h lists weights. */
    tfr_status (*moments)(void *user, float *const *out, tfr_err *err);
} bench_contender;

/* A list of contenders, with what it takes to build one. */
typedef struct bench_contest {
    const bench_options *options;
    bench_report *report;
    bench_row *row;
    bench_contender list[BENCH_MAX_CONTENDERS];
    uint32_t n;
    bool quantized; /* the model rounds to few values, by which peers differ among themselves */
} bench_contest;

/* The next place, zeroed but for error, or NULL when all are taken. */
bench_contender *bench_contest_add(bench_contest *contest, const char *who);

/*
 * Measures all and adds a side for each to the row, roofs aside. A peer that fails becomes a skip
 * with its sentence; a failure of a contender that is ours is returned.
 */
TFR_MUST_CHECK tfr_status bench_contest_run(bench_contest *contest, tfr_err *err);
/* Takes contender i out again. */
void bench_contest_remove(bench_contest *contest, uint32_t i);
/* Calls destroy of all. */
void bench_contest_finish(bench_contest *contest);

/*
 * Gives this thread the cores back that the process began with: a pool of ours may have pinned it,
 * and threads that peers start would inherit that. bench_remember_cores comes first of all. A
 * contest does it at each turn of a peer. From now to bench_end_peer a crash is told to be that of
 * this peer, whose name is kept by its address.
 */
void bench_begin_peer(const char *who);
void bench_end_peer(void);

/* Seconds of a clock that never jumps. */
double bench_now(void);

/* ---- the roofs (roof.c) ---------------------------------------------------------------------- */

/* Adds a contender that does nothing but multiply and add in registers on n_threads. */
void bench_add_fma_roof(bench_contest *contest);
/* Measures both roofs once and puts them into the report, for its head. */
void bench_measure_roofs(bench_report *report);

/* ---- data ------------------------------------------------------------------------------------ */

/* Fills with values from [-1, 1), the same on every machine. */
void bench_fill_random(float *values, int64_t n, uint64_t seed);

#endif

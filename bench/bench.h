/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench.h: the benchmarks of `tfrun bench`: what they are told, and the report that they
 * make. Nothing here prints; cli/cmd_bench.c does. bench/README.md says how it is measured.
 *
 * Layer: public headers of tfrun, the C library and dlopen. Other people's libraries ("peers") are
 * opened at run time; one that is not there is a sentence in the report and never an error.
 */
#ifndef TFR_BENCH_BENCH_H
#define TFR_BENCH_BENCH_H

#include <stdbool.h>
#include <tfrun/tfrun.h>

/* ---- what is wanted -------------------------------------------------------------------------- */

typedef struct bench_options {
    tfr_runtime *runtime; /* NULL for those that make their own: dispatch, startup, memory */
    const char *device;   /* NULL = the best */
    uint32_t n_threads;   /* of everybody; at least 1 */
    uint32_t n_pairs;     /* 0 = as many as fit into a few seconds */
    const char *peers;    /* names with commas between; NULL = all, "none" */
    const char *const *libraries; /* "NAME=FILE": where a peer's library lies */
    uint32_t n_libraries;
    const int64_t *sizes; /* of matrices, or numbers of nodes; n_sizes 0 = the benchmark's own */
    uint32_t n_sizes;
    uint64_t seed;
    const char *math_mode; /* of our products (session.h); NULL = strict */
    uint64_t timeout_ns;   /* of each of our runs (session.h); 0 = none */
    bool constant;         /* matmul: the right operand is a constant, which may be packed */
    uint32_t batch;        /* train: samples of a step; 0 = 64 */
    uint32_t n_epochs;     /* train: whole epochs in turns; 0 = bursts of steps */
    const char *data;      /* train: of what tfr_dataset_open takes; NULL = synthetic digits */
} bench_options;

/* ---- what is found --------------------------------------------------------------------------- */

typedef struct bench_spread {
    double least, p10, median, p90, most;
} bench_spread;

/* One contender in one row. A number that does not apply is NaN. */
typedef struct bench_side {
    char who[48];         /* "tfrun", "onnxruntime" */
    char note[160];       /* version and settings */
    uint64_t n;           /* samples, one a round */
    bench_spread seconds; /* of one run */
    bench_spread ratio;   /* its time / tfrun's in the same round: > 1 = tfrun is faster */
    double rate;          /* floating-point operations per second at the median */
    double roof_share;    /* rate / the FMA roof of the same round, median */
    double error;         /* as bench_report.error_is says */
    uint64_t bytes;       /* peak resident memory; 0 = not asked */
    double samples;       /* of one run, which is a step of training */
    double accuracy;      /* share of test samples, after all */
} bench_side;

/* A figure that belongs to a row or the whole report and to no contender. */
typedef struct bench_figure {
    char name[40]; /* "arena_bytes" */
    char text[80]; /* for people: "arena" */
    char unit[12]; /* "ns", "B", "" */
    double value;
} bench_figure;

typedef struct bench_skip {
    char who[48];
    char why[400];
} bench_skip;

typedef struct bench_row {
    char what[80]; /* "1024 x 1024 x 1024" */
    int64_t size;  /* the number in it that grows */
    bench_side *sides;
    bench_figure *figures;
    bench_skip *skips;
    uint32_t n_sides, n_figures, n_skips;
} bench_row;

typedef struct bench_report {
    const char *name;     /* "matmul" */
    const char *error_is; /* "largest error against float64"; NULL = there is none */
    char cpu[112];
    uint32_t n_threads;
    double load;      /* average of the minute before: what others do here; NaN = not known */
    double fma_roof;  /* operations per second on n_threads; NaN = not measured */
    double read_roof; /* bytes per second from memory */
    const char *fma_kernel;
    bench_row *rows;
    bench_figure *figures;
    bench_skip *skips; /* peers that no row has */
    uint32_t n_rows, n_figures, n_skips;
    bool lost; /* memory was short: something is missing */
} bench_report;

/* Zeroes it and fills in the machine; runtime may be NULL. */
void bench_report_init(bench_report *report, const char *name, const bench_options *options);
void bench_report_finish(bench_report *report);

/* These give NULL, and set `lost`, when memory is short. What they give moves at the next call. */
bench_row *bench_add_row(bench_report *report, int64_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bench_side *bench_add_side(bench_report *report, bench_row *row);
void bench_add_figure(bench_report *report, bench_row *row, const char *name, const char *text,
                      const char *unit, double value);
/* Remembers why a peer is not there; row NULL = for the whole report. The same twice is once. */
void bench_add_skip(bench_report *report, bench_row *row, const char *who, const char *why);

/* Whether the user wants this peer (--peers). */
bool bench_wants(const bench_options *options, const char *peer);

/* Sorts values[0...n), n >= 1. */
bench_spread bench_spread_of(double *values, uint64_t n);

/* Call before a runtime is made: which cores this process has, see bench_begin_peer. */
void bench_remember_cores(void);
/* The peer whose code this process runs, or NULL. A signal handler may ask. */
const char *bench_peer_at_work(void);

/* ---- the benchmarks -------------------------------------------------------------------------- */

/* report was initialised; on an error it holds what was measured before. */
TFR_MUST_CHECK tfr_status bench_dispatch(const bench_options *options, bench_report *report,
                                         tfr_err *err);
TFR_MUST_CHECK tfr_status bench_matmul(const bench_options *options, bench_report *report,
                                       tfr_err *err);
/* One row: this graph, which was read from path, on these inputs. */
TFR_MUST_CHECK tfr_status bench_model(const bench_options *options, const char *path,
                                      tfr_graph *graph, tfr_tensor *const *inputs,
                                      uint32_t n_inputs, int64_t batch, bench_report *report,
                                      tfr_err *err);
/* Steps of training of the CNN of the TensorFlow guides for MNIST. */
TFR_MUST_CHECK tfr_status bench_train(const bench_options *options, bench_report *report,
                                      tfr_err *err);
TFR_MUST_CHECK tfr_status bench_startup(const bench_options *options, bench_report *report,
                                        tfr_err *err);
TFR_MUST_CHECK tfr_status bench_memory(const bench_options *options, bench_report *report,
                                       tfr_err *err);

/* The process that startup and memory start: does one product of n x n with `who` and tells of it
 * on standard output. */
TFR_MUST_CHECK tfr_status bench_child(const bench_options *options, const char *who, int64_t n,
                                      tfr_err *err);

/* The same process for "train-" and a contender of bench_train: the peak memory of some steps of
 * training with a batch of n, without the data set; and its parent's question for it. */
TFR_MUST_CHECK tfr_status bench_train_child(const bench_options *options, const char *who,
                                            uint32_t n, uint64_t *peak, tfr_err *err);
TFR_MUST_CHECK tfr_status bench_child_peak(const bench_options *options, const char *who, int64_t n,
                                           uint64_t *out, tfr_err *err);

/* Runs argv, found on PATH, to its end, and gives all that it writes to standard output, a string
 * to free, and the signal that ended it or 0. One that takes longer is ended: TFR_ETIMEOUT. */
TFR_MUST_CHECK tfr_status bench_process_output(const char *const *argv, int seconds, char **out,
                                               int *signal, tfr_err *err);

/* Draws rate against size of all rows as a plot with logarithmic axes (svg.c). */
TFR_MUST_CHECK tfr_status bench_svg_write(const bench_report *report, const char *path,
                                          tfr_err *err);

#endif

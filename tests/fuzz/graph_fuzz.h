/* SPDX-License-Identifier: Apache-2.0 */
/* graph_fuzz.h: the parts of the program graph_fuzz: its options, its cases, what becomes of
 * findings. */
#ifndef TFR_FUZZ_GRAPH_FUZZ_H
#define TFR_FUZZ_GRAPH_FUZZ_H

#include "child.h"
#include "gen.h"

typedef struct fuzz_options {
    const fuzz_way *way;
    uint64_t seed, count; /* count 0 = until the time is over */
    double seconds;       /* 0 = until the count is reached */
    const char *save;     /* folder for findings; NULL = they are not kept */
    const char *hidden;   /* processor features; NULL = a level drawn by the seed */
    const char *only_op;
    const char *corpus; /* packed by --pack, or replayed */
    unsigned max_findings;
    double reduce_seconds;
    bool verbose;
} fuzz_options;

/* What all of a run share. */
typedef struct fuzz_run_state {
    const fuzz_options *options;
    fuzz_report *report;
    uint64_t n_findings, n_repeated, n_unsure, n_long;
    char (*seen)[640]; /* signatures of findings */
    double end;        /* of the monotonic clock */
    char level[64];
} fuzz_run_state;

double fuzz_now(void);

/* A runtime for this process, with features hidden. Ends the process on failure. */
tfr_runtime *fuzz_runtime(const char *hidden);

/* Makes the case of a seed; false if it is not to be tried (too large). */
bool fuzz_make_case(fuzz_context *context, const fuzz_options *options, uint64_t seed,
                    fuzz_bytes *out);

/* Confirms, reduces, prints and saves what is in the report. */
void fuzz_finding(fuzz_run_state *state);

/* Looks at these bytes in a child; true if something is wrong, which the report says. */
bool fuzz_look(fuzz_run_state *state, const fuzz_bytes *bytes);

/* Files and corpora of them (replay_graphs.c). Number of those with findings, or -1. */
int fuzz_replay(fuzz_run_state *state, char **paths, int n, uint64_t *n_cases);
int fuzz_pack(const char *corpus, char **paths, int n);
bool fuzz_read_file(const char *path, fuzz_bytes *out);
bool fuzz_write_file(const char *path, const void *bytes, size_t n);

#endif

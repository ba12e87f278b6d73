/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way.h: a way looks at one file with a model and the inputs of a run, and says what is wrong. It
 * runs in a child process, because what is wrong may be a crash.
 */
#ifndef TFR_FUZZ_WAY_H
#define TFR_FUZZ_WAY_H

#include <stdio.h>

#include "eval.h"

enum { FUZZ_MAX_BYTES = 4 << 20, FUZZ_N_COUNTS = 8 };

/* Between the child and its parent, in memory that they share. */
typedef struct fuzz_report {
    uint64_t seed;                  /* of the case under way */
    uint64_t n_cases;               /* begun */
    uint64_t counts[FUZZ_N_COUNTS]; /* what the way counts; its names are the way's */
    char stage[64];                 /* what it does now, for a crash */
    char kind[160];                 /* of the finding, the same for the same defect; "" = none */
    char text[1024];                /* about it */
    bool crashed;                   /* the child did not live to say it */
    int n_cuts;                     /* tried while reducing */
    unsigned char ops_reached[512];
    size_t n_bytes; /* of the case, 0 while it is made */
    unsigned char bytes[FUZZ_MAX_BYTES];
} fuzz_report;

typedef struct fuzz_context {
    tfr_runtime *runtime;
    const char *hidden; /* processor features, "" = none */
    fuzz_report *report;
    bool sure;          /* spend more to tell a defect from bad luck */
    const char *wanted; /* the kind that is looked for, so that others need no look; NULL = any */
    bool verbose;
} fuzz_context;

typedef struct fuzz_way {
    const char *name;
    const char *counts[FUZZ_N_COUNTS];
    int n_mutations;    /* at most, in each case; 0 = valid models only */
    bool always_mutate; /* else half of the cases */
    bool standard_only;
    int opset; /* newest, 0 = any */
    /* Once in the child; false = this way cannot be had here, and the report's text says why. */
    bool (*begin)(fuzz_context *context);
    /* False with kind and text in the report. */
    bool (*check)(fuzz_context *context, const unsigned char *bytes, size_t n);
} fuzz_way;

extern const fuzz_way fuzz_way_memory, fuzz_way_mutant, fuzz_way_diff, fuzz_way_ort;

/* Sets kind and text; false. kind is printed with what follows it. */
bool fuzz_fail(fuzz_context *context, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void fuzz_stage(fuzz_context *context, const char *stage);
/* Does a node of the model draw random numbers? Two runs of such a one differ. */
bool fuzz_varies(const fuzz_msg *model);

/* ---- settings of a session that differ (session.c) ------------------------------------------- */

typedef struct fuzz_setting {
    const char *name, *device, *passes;
    uint32_t no_programs;
} fuzz_setting;

/* Outputs are released by the caller with fuzz_release; they are NULL after an error. */
tfr_status fuzz_run(fuzz_context *context, const fuzz_case *c, const fuzz_setting *setting,
                    tfr_tensor **outputs, tfr_err *err);
void fuzz_release(tfr_tensor **outputs, uint32_t n);

/* ---- how far results may lie apart (compare.c, spread.c) ------------------------------------- */

/* Tight limits, which most results of backends that compute in another order keep. */
bool fuzz_close(const tfr_tensor *expected, const tfr_tensor *obtained, char *text, size_t n);
/* Elements as doubles, of a sequence those of all its values in turn; the caller frees them. NULL
 * for strings and complex numbers. */
double *fuzz_numbers(const tfr_tensor *t, int64_t *n);
bool fuzz_same_bits(const tfr_tensor *expected, const tfr_tensor *obtained, char *text, size_t n);

/*
 * What the results become when every float of every node's output is off by some roundings: the
 * model is computed node by node, n times, with other errors each time, in its inputs, too. What
 * the spread covers is bad conditioning or a decision on a knife's edge, not a defect.
 */
typedef struct fuzz_spread {
    uint32_t n_outputs;
    double **low, **high; /* of each output's elements; NULL = nothing is known */
    bool *anything;       /* the output may be anything: a known difference reaches it */
    int64_t *n_elements;
} fuzz_spread;

/* `peer` is whose rows of known.def count. False if it cannot be computed. */
bool fuzz_spread_init(fuzz_context *context, const fuzz_case *c, unsigned peer, int n,
                      fuzz_spread *out);
void fuzz_spread_finish(fuzz_spread *spread);
bool fuzz_spread_covers(const fuzz_spread *spread, uint32_t i, const tfr_tensor *expected,
                        const tfr_tensor *obtained, char *text, size_t n);

/* ---- known differences (known.c, known.def) -------------------------------------------------- */

enum { FUZZ_PEER_ONEDNN = 1, FUZZ_PEER_ORT = 2 };

/* Does a row speak of this node with these inputs and outputs? env and outputs NULL = not known. */
bool fuzz_known_node(unsigned peer, const fuzz_msg *node, const fuzz_env *env,
                     tfr_tensor *const *outputs);

#endif

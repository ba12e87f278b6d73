/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h: running one call on one backend and nowhere else, comparing, and the counts.
 */
#ifndef OPS_ENGINE_H
#define OPS_ENGINE_H

#include <stdio.h>

#include "make.h"

/* ---- a run -------------------------------------------------------------------- */

typedef struct ops_run {
    tfr_runtime *runtime;
    const char *backend; /* "onednn:0" */
    uint32_t device;
    int32_t backend_index;
    bool is_reference; /* the backend is naive itself */
    bool verbose;
    bool no_programs; /* calls run as kernels */
    /* Ops of one float that each output goes through, so that a call is more than one node. A
     * binary one gets the value twice. */
    const char *const *chain;
    uint32_t n_chain;
    uint64_t first_seed, n_seeds;
    const char *only; /* a description's or an op's name, NULL = all */
    uint64_t n_passed, n_failed, n_declined;
    bool is_nondeterministic; /* the last call that ran: its backend said so */
    char talk[512];           /* the last warning of the library, "" = none since it was cleared */
    FILE *out;                /* where hostile calls that went wrong are told of */
    /* Told before each hostile call, and with a name of NULL after it; NULL = nobody is. */
    void (*watch)(void *user, const char *name, uint64_t seed, const char *what);
    void *watch_user;
} ops_run;

/* Whether --case allows this description. */
bool ops_wanted(const ops_run *run, const ops_case *description);
/* Whether the backend claims the description's op. */
bool ops_claimed(const ops_run *run, const ops_case *description);
/* The next description of all families; start with *cursor = 0; NULL at the end. */
const ops_case *ops_next_case(uint32_t *cursor);

/* ---- one call -------------------------------------------------------------------------------- */

typedef enum ops_verdict {
    OPS_RAN,
    OPS_DECLINED,  /* the backend said no; the text says why */
    OPS_REFUSED,   /* a status before any backend was asked, or from the kernel */
    OPS_ELSEWHERE, /* the plan says that another backend ran it: a defect */
    OPS_BROKEN     /* the library warned: the backend said yes and could not, say */
} ops_verdict;

typedef enum ops_how {
    OPS_PLAIN,     /* all inputs plain */
    OPS_VIEWS,     /* all inputs as views */
    OPS_CONSTANTS, /* inputs but the first as constants of the graph */
    OPS_AGAIN,     /* plain once more, in the same session */
    OPS_UNALIGNED  /* all inputs dense, at addresses that are aligned to an element only */
} ops_how;

extern const char *const ops_how_names[];

/* Has the call inputs that OPS_CONSTANTS makes constants of? */
bool ops_has_constants(const ops_call *call);

/* The description's name; the op's for a call without one. */
const char *ops_call_name(const ops_call *call);

/* outputs holds call->n_outputs tensors if OPS_RAN. */
ops_verdict ops_run_call(ops_run *run, const char *backend, const ops_call *call, ops_how how,
                         tfr_tensor **outputs, tfr_status *status, tfr_err *err);
/* Shapes, placement and kernels, but no run. */
ops_verdict ops_prepare_call(ops_run *run, const char *backend, const ops_call *call, ops_how how,
                             tfr_status *status, tfr_err *err);
void ops_release_outputs(tfr_tensor **outputs, uint32_t n);

/* What became of a call in one way of giving its inputs. */
typedef struct ops_outcome {
    ops_verdict verdict;
    tfr_status status;
    bool good;
    char text[640]; /* why not, or why the backend declined */
} ops_outcome;

/* Runs the call and compares its results with those of the reference. */
void ops_try_call(ops_run *run, const ops_call *call, ops_how how, tfr_tensor **expected,
                  ops_outcome *out);

/* Times of runs of a call with constants, and the outputs of the last one. */
typedef struct ops_timing {
    double (*now)(void);
    double *times;
    tfr_tensor *outputs[OPS_MAX_OUTPUTS];
} ops_timing;
bool ops_time_call(ops_run *run, const ops_call *call, int n_warm, int n_timed, ops_timing *timing,
                   tfr_err *err);

/* ---- comparing (compare.c) ------------------------------------------------------------------- */

/* False with a sentence in text. */
bool ops_compare(ops_tolerance tolerance, tfr_tensor *expected, tfr_tensor *obtained, char *text,
                 size_t n);
/* Bit by bit. */
bool ops_compare_bits(tfr_tensor *expected, tfr_tensor *obtained, char *text, size_t n);

#endif

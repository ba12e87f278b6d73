/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: which backend gets a call, asked one after the other, with the reasons of those that
 * said no. */
#ifndef TFR_CORE_PLACE_H
#define TFR_CORE_PLACE_H

#include "kernel/call.h"
#include "graph/graph.h"
#include "device/stream.h"

/* A device, or one backend of it, that a node is pinned to; device -1 = free. */
typedef struct tfr__pin {
    int32_t device, backend;
} tfr__pin;

/* Where calls may run, and for which run. */
typedef struct tfr__kernel_env {
    tfr__streams *streams;   /* and, in them, the runtime */
    tfr__pin preferred;      /* device -1 = none named */
    uint64_t run;            /* number of the run at hand */
    tfr_random_state random; /* of the launches at hand */
    bool strict;             /* nothing else may be run than what was asked for */
    int32_t opset; /* not 0: nothing runs here, but where ONNX is known up to this opset */
} tfr__kernel_env;

/* A kernel for a call. */
typedef struct tfr__choice {
    tfr__backend *backend;
    tfr__device *device;
    tfr_answer answer;
    bool fallback;
    int32_t reason;     /* of the first no */
    const char *wanted; /* name of what was asked first */
    char *text;         /* owned; NULL = nobody said no */
} tfr__choice;

/* Asks one backend whether it takes a call of op, by number. Only TFR_ENOMEM fails. */
tfr_status tfr__ask(tfr_runtime *runtime, tfr__backend *backend, uint32_t op, tfr__call *call,
                    tfr_answer *answer, tfr_err *err);
/* strict: a fallback is an error. */
tfr_status tfr__place(const tfr__kernel_env *env, const tfr__node *node, tfr__pin pin, bool strict,
                      tfr__call *call, tfr__choice *out, tfr_err *err);
#define TFR__UNSTEADY "it is nondeterministic, and the call demands that it is not"
/* Does a kernel or program, by the flags of its answer, break what calls with these flags demand?
 */
static inline bool tfr__is_unsteady(uint32_t call_flags, uint32_t answer_flags)
{
    return (call_flags & TFR_CALL_DETERMINISTIC) &&
           (answer_flags & (TFR_ANSWER_NONDETERMINISTIC | TFR_ANSWER_RANDOM)) ==
               TFR_ANSWER_NONDETERMINISTIC;
}

/* Threads of the first device, for what the host computes itself. */
static inline uint32_t tfr__kernel_threads(const tfr__kernel_env *env)
{
    const tfr_runtime *runtime = env->streams->runtime;
    return runtime && runtime->n_devices ? runtime->devices[0].n_threads : 1;
}

/*
 * Does a backend above the reference, of the device that is asked first, claim the op, by number?
 * With an opset: does whoever runs the graph have it?
 */
bool tfr__kernel_claimed(const tfr__kernel_env *env, uint32_t op);

#endif

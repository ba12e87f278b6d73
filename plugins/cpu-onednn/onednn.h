/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn.h: what the files of the oneDNN backend share: the open device, the table of ops, and the
 * checks with which supports answers.
 *
 * An op family is one file with a supports and a prepare function for each op, named in ops.c. What
 * prepare builds with is in kernel.h. The families hold no launch code: every kernel is a list of
 * oneDNN primitives that kernel.c runs.
 */
#ifndef ONEDNN_ONEDNN_H
#define ONEDNN_ONEDNN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/fail.h>
#include <tfrun/plugin.h>

#include "api.h"

struct tfr_plugin_device {
    const tfr_host *host;
    const tfr_host_pool *pool; /* NULL = the host has none */
    int threads;               /* for each launch; 0 = as OpenMP likes */
    /* what the processor and this version of the library compute with */
    bool bf16, f16;
    bool int8;                      /* there is VNNI; whether the library uses it, it says */
    atomic_bool profiling;          /* somebody wants records of launches */
    struct onednn_records *records; /* records.c; NULL = nobody ever wanted any */
    tfr_plugin_device *single;      /* the same with one thread, for small kernels */
};

struct onednn_build;

/*
 * A row of ops.c. supports says no with tfr_decline and returns, or leaves the YES that it finds.
 * It may take every operand as plain, of at most DNNL_MAX_NDIMS dims, input 0 and the outputs not
 * empty: onednn_supports has looked. prepare adds steps to the build; errors stick to it.
 */
typedef struct onednn_op {
    const char *domain, *name;
    int32_t since_version;
    void (*supports)(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
    void (*prepare)(struct onednn_build *build, const tfr_call *call);
    uint32_t types, types_if; /* of operand 0: everywhere, and where the device has them */
} onednn_op;

/* Those of a set of types that the device has; float32 stands for its casts to 16 bits. */
uint32_t onednn_types_here(const tfr_plugin_device *device, uint32_t types);
/* The same while no device is open. */
uint32_t onednn_types_claimed(const tfr_host *host, uint32_t types);

extern const onednn_op onednn_op_rows[];
extern const uint32_t onednn_n_op_rows;
/* NULL = no such row. */
const onednn_op *onednn_find_op(const tfr_call *call);

/* ---- device.c ---- */

int32_t onednn_device_open(const tfr_host *host, const tfr_device_info *info,
                           const tfr_open_options *options, tfr_plugin_device **out, tfr_err *err);
void onednn_device_close(tfr_plugin_device *device);
/* Whether the user allows less than the processor has; then *limit is the most that is allowed. */
bool onednn_isa_limit(const char *features, dnnl_cpu_isa_t *limit);
/*
 * Makes the OpenMP threads of the calling thread those of the device; the answer goes to
 * onednn_threads_leave. Both cost a few loads when nothing changes. Only with an open library.
 */
int onednn_threads_enter(const tfr_plugin_device *device);
void onednn_threads_leave(const tfr_plugin_device *device, int before);

/* Whether a call is done sooner by one thread than threads are woken for it. */
bool onednn_is_small(const tfr_call *call);

/* ---- error.c ---- */

/* oneDNN's status as ours, with a sentence: "what: out of memory (oneDNN status 1)". */
tfr_status onednn_fail(tfr_err *err, dnnl_status_t status, const char *what);

/* ---- answer.c: checks that end in a decline; false = declined ---- */

/* supports of the facet: the checks that hold for every op, then the op's own. */
int32_t onednn_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err);
/* Every present operand but those of the mask `other_inputs` is float32, or of 16 bits if half_ok.
 */
bool onednn_want_float(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                       uint64_t other_inputs, bool half_ok);
/* input i is present, or absent; its rank lies in [low, high]. */
bool onednn_want_rank(const tfr_call *call, tfr_answer *answer, uint32_t i, int low, int high);
/* Only output 0 is asked for. */
bool onednn_want_one_output(const tfr_call *call, tfr_answer *answer);
/* No number of the window over n axes is so large that the library refuses it. */
bool onednn_want_window_ints(const onednn_window *w, int n, tfr_answer *answer);
/* output 0 may take the memory of the input. */
void onednn_in_place(tfr_answer *answer, int input);
/* oneDNN's type for tensors that are computed with; dnnl_data_type_undef = it has none. */
dnnl_data_type_t onednn_type(int32_t dtype);
/* Value i of a known operand of floats. */
float onednn_known(const tfr_operand *o, int64_t i);

#endif

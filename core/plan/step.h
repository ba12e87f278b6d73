/* SPDX-License-Identifier: Apache-2.0 */
/* step.h: what a plan does, one thing after the other: launches, copies, reorders, waits. */
#ifndef TFR_CORE_STEP_H
#define TFR_CORE_STEP_H

#include "device/runtime.h"

typedef enum tfr__step_kind {
    TFR__STEP_LAUNCH,
    TFR__STEP_COPY,
    TFR__STEP_REORDER,
    TFR__STEP_LAYOUT, /* from a layout of the backend to the plain one */
    TFR__STEP_SYNC,   /* the host waits for the queue */
    TFR__STEP_ORDER   /* the queue waits for another one */
} tfr__step_kind;

/* Where an argument's address comes from at each run: LIVE_IN and TENSOR buffers. */
typedef struct tfr__patch {
    tfr_arg *arg;
    uint32_t buffer;
} tfr__patch;

/*
 * What a step calls: the launch of a kernel or of a program, or one of exec.c's own. Its object is
 * a tfr_kernel, a tfr_program, or the tfr__step. Pointers to objects are passed alike, so that one
 * type of function does for all.
 */
typedef int32_t tfr__launch_fn(tfr_plugin_device *device, tfr_queue *queue, void *object,
                               const tfr_launch *launch, tfr_err *err);

/* For who calls one: clang's -fsanitize=function does not know that. */
#ifdef __clang__
#define TFR__ANY_OBJECT __attribute__((no_sanitize("function")))
#else
#define TFR__ANY_OBJECT
#endif

/* A step as a run needs it, in one array that is walked from end to end. */
typedef struct tfr__bound {
    tfr__launch_fn *call;
    tfr_plugin_device *device;
    tfr_queue *queue;
    void *object;
    tfr_launch launch; /* args point into the plan's array */
} tfr__bound;

/* A step as it was planned: what made the bound one, and what messages say. */
typedef struct tfr__step {
    int32_t kind;          /* tfr__step_kind */
    int32_t node;          /* for messages, or -1 */
    tfr__backend *backend; /* all but REORDER */
    uint32_t stream;       /* number of the backend's queue in the session */
    struct tfr__plan *plan;
    /* LAUNCH */
    tfr__launch_fn *call;
    tfr_kernel *kernel; /* object of the call, or NULL */
    int32_t program;    /* number of the program that it launches instead, or -1 */
    tfr_arg *args;
    uint32_t n_args;
    uint32_t workspace; /* buffer, or UINT32_MAX */
    uint32_t random;    /* buffer of the tfr_random_state, or UINT32_MAX */
    /* COPY: into or out of the backend's memory. REORDER: on the host. */
    uint32_t dst, src;
    bool to_device;
    uint32_t from; /* ORDER: the stream to wait for; COPY: whose memory src is in; or UINT32_MAX */
    uint64_t bytes;
    uint32_t live_in; /* REORDER: whose strides count */
    uint64_t layout;  /* LAYOUT: of src */
} tfr__step;

#endif

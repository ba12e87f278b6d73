/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/trace.h: what a session's runs spend their time on. Between start and stop every step of a
 * run leaves an event with its times: kernels, programs, copies, reorders, waits, planning. Devices
 * with queues, and programs, add what their plugin records (facet tfr.profile/1). A session that is
 * not traced pays one branch a run.
 *
 * Times are CLOCK_MONOTONIC, in ns. Events of one lane nest or follow one another.
 */
#ifndef TFRUN_TRACE_H
#define TFRUN_TRACE_H

#include <tfrun/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tfr_trace_kind {
    TFR_TRACE_RUN = 1,     /* a whole run, with everything below in it */
    TFR_TRACE_PLAN = 2,    /* planning a section: shapes, placement, kernels */
    TFR_TRACE_NODE = 3,    /* a node that the core does itself: control flow, sequences */
    TFR_TRACE_KERNEL = 4,  /* the launch of a node's kernel */
    TFR_TRACE_PROGRAM = 5, /* the launch of a program of several nodes */
    TFR_TRACE_COPY = 6,    /* between memories */
    TFR_TRACE_REORDER = 7, /* a strided input is made plain, or a layout is changed, by the core */
    TFR_TRACE_WAIT = 8,    /* the host waits for a queue */
    TFR_TRACE_ENQUEUE = 9, /* the host puts a kernel, a copy or a wait on a queue */
    TFR_TRACE_RECORD = 10  /* something inside a launch, as the plugin says */
} tfr_trace_kind;

typedef struct tfr_trace_event {
    uint32_t size;
    int32_t kind;   /* tfr_trace_kind */
    int32_t record; /* RECORD: tfr_profile_kind */
    uint32_t queue; /* 1 + number of the queue that did it; 0 = a thread of the host */
    uint32_t lane;  /* number of the host's thread; RECORD: of the device's thread or queue */
    int32_t node; /* number in its graph; RECORD of a program: of the node; -1 = several or none */
    uint32_t parent;              /* RECORD: number of the launch's event; else UINT32_MAX */
    uint64_t run;                 /* number of the session's run, from 0 */
    uint64_t begin_ns, end_ns;    /* on a queue without records: put there; the next wait's end */
    uint64_t flops, bytes;        /* estimates for the shapes; 0 = not known */
    const char *name;             /* of node or value */
    const char *text;             /* RECORD: what ran, as the plugin calls it; else "" */
    const char *op;               /* "Conv"; "" = none */
    const char *device, *backend; /* "CPU:0", "onednn:0"; "" = the core */
} tfr_trace_event;

/*
 * Records all runs from now on. At most max_events are kept, 0 = 65536; later ones are counted
 * only. What an earlier trace left is dropped. TFR_EINVAL if one is running.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trace_start(tfr_session *session, uint32_t max_events,
                                                  tfr_err *err);
/* Ends it; the events stay until the next start or the session's end. Not during a binding's run.
 */
TFR_API void tfr_trace_stop(tfr_session *session);

/* How many events there are, and, if n_dropped is not NULL, how many did not fit. */
TFR_API uint32_t tfr_trace_count(const tfr_session *session, uint64_t *n_dropped);
/* Event i; its texts live until the next start or the session's end. Not while a run is under way.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trace_get(const tfr_session *session, uint32_t i,
                                                tfr_trace_event *out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h: a session's hold on the backends that it uses: one queue and one fence each where the
 * backend has queues, and the number of the memory that its kernels work in. Host devices share
 * memory 0. Whoever runs holds the session's lock; the array never moves, so that the stream of a
 * binding can be used without it.
 */
#ifndef TFR_CORE_STREAM_H
#define TFR_CORE_STREAM_H

#include "device/runtime.h"

/* Memory 0 is the host's; 1... belong to backends of devices with memory of their own. */
#define TFR__MEMORY_HOST 0

typedef struct tfr__staging tfr__staging;

/* A backend's queue, opened when first needed. */
typedef struct tfr__stream {
    tfr__backend *backend;
    uint32_t memory;  /* TFR__MEMORY_HOST for a host device */
    tfr_queue *queue; /* NULL = synchronous */
    tfr_fence *fence;
    uint64_t fence_value;
    tfr__staging *staging;      /* of copies, or NULL: staging.h */
    tfr_queue *stuck;           /* the queue, that is none now: it did not end its work in time */
    const char *device;         /* its name */
    const uint64_t *deadline;   /* the streams' */
    bool trace_asked, recorded; /* the backend was asked for records; it gives them to us */
    bool failed;                /* while queues are settled: it carries a failure */
    bool is_native;             /* the queue is made of the user's */
    bool rests;                 /* the backend has the queue */
    char native_kind[40];
    void *native;
} tfr__stream;

typedef struct tfr__streams {
    tfr_runtime *runtime;
    tfr__stream *items; /* with room for all backends */
    uint32_t n, n_memories;
    uint64_t generation; /* changes when a queue is replaced, which plans have in their steps */
    uint64_t deadline;   /* of the run, by tfr__now_ns; 0 = none */
    uint32_t n_stuck;
    bool rest; /* some do; tfr__streams_wake */
    /* Frees some of a memory that could be used later; false = there is nothing to free. */
    bool (*make_room)(void *user, uint32_t memory);
    void *user;
} tfr__streams;

void tfr__streams_init(tfr__streams *streams, tfr_runtime *runtime);
/* Waits for all queues and closes them. */
void tfr__streams_finish(tfr__streams *streams);
/*
 * After an error: waits until nothing runs, and replaces queues that carry a failure. After the
 * deadline the wait is short: what runs on then is stuck. stream_stop.c, as all on stuck ones.
 */
void tfr__streams_settle(tfr__streams *streams);
/* Takes back stuck streams that have ended meanwhile; TFR_EDEVICE names one that has not. */
tfr_status tfr__streams_recover(tfr__streams *streams, tfr_err *err);
/* Is it stuck, or another device of its plugin, which may copy from it, or one that shares its
 * memory? What such a one may use is not to be freed. */
bool tfr__stream_is_stuck(const tfr__streams *streams, const tfr__backend *backend);
/* A stuck one at the end of its session. */
void tfr__stream_leave(tfr__streams *streams, tfr__stream *stream);

/* Gives the queues back to the backends until the next tfr__streams_wake, after which it takes any.
 * Nothing runs. stream_rest.c */
void tfr__streams_rest(tfr__streams *streams);
tfr_status tfr__streams_wake(tfr__streams *streams, tfr_err *err);

/* The number of the backend's stream, which is opened if need be. */
tfr_status tfr__stream_get(tfr__streams *streams, tfr__device *device, tfr__backend *backend,
                           uint32_t *out, tfr_err *err);
/*
 * Memory for a use (TFR_ALLOC_...); for 0 bytes it is NULL. The error says for what of whom:
 * "intermediate values of graph", "g". stream_memory.c
 */
tfr_status tfr__stream_alloc(tfr__streams *streams, uint32_t memory, uint64_t bytes, uint32_t use,
                             const char *what, const char *whose, void **out, tfr_err *err);
void tfr__stream_free(tfr__streams *streams, uint32_t memory, void *address);
/* Without making room, in a space of the backend, or, for TFR_SPACE_HOST, in ordinary memory.
 * backend_memory.c */
tfr_status tfr__backend_alloc(tfr__backend *backend, uint32_t space, uint64_t bytes, uint32_t use,
                              void **out, tfr_err *err);
void tfr__backend_free(tfr__backend *backend, uint32_t space, void *address);
/* Whether what alloc gives in this memory is a handle, with offsets apart. */
bool tfr__stream_has_handles(const tfr__streams *streams, uint32_t memory);
/* dst and src are places in memory, without dims. */
tfr_status tfr__stream_copy(tfr__stream *stream, bool to_device, tfr_arg dst, tfr_arg src,
                            uint64_t bytes, tfr_err *err);
/* The host waits for all that was put on the queue so far; TFR_ETIMEOUT after the deadline. */
tfr_status tfr__stream_sync(tfr__stream *stream, tfr_err *err);

/* ---- for stream_*.c, staging.c --------------------------------------------------------------- */

tfr_status tfr__stream_open(tfr__stream *stream, tfr_err *err);
void tfr__stream_close(tfr__backend *backend, tfr_queue *queue, tfr_fence *fence);
/* The error of a stream that has none. */
tfr_status tfr__stream_gone(const tfr__backend *backend, tfr_err *err);
/* Another queue, made of the user's, or, with kind NULL, not. On an error all stays as it was. */
tfr_status tfr__stream_reopen(tfr__streams *streams, tfr__stream *stream, const char *kind,
                              void *native, tfr_err *err);
/* Puts one copy on the queue, as it is. */
tfr_status tfr__stream_enqueue(tfr__stream *stream, const tfr_copy *copy, tfr_err *err);
/* The queue makes the fence fence_value, which is one more than before. */
tfr_status tfr__stream_signal(tfr__stream *stream, tfr_err *err);
/* Until the fence has a value that was signalled; deadline 0 = for ever. */
tfr_status tfr__stream_wait(tfr__stream *stream, uint64_t value, uint64_t deadline, tfr_err *err);
tfr__stream *tfr__memory_stream(const tfr__streams *streams, uint32_t memory);

/* ---- peer.c ---------------------------------------------------------------------------------- */

/* How data get into the memory of a backend, from another one of its plugin or, with NULL, from the
 * host. False, and zeros: it does not say. */
bool tfr__backend_link(tfr__backend *to, tfr__backend *from, tfr_link *out);
/* Whether one copy does it, from another device of the same plugin. */
bool tfr__backend_reaches(tfr__backend *to, tfr__backend *from, tfr_link *out);
/* Is what one has allocated in space 0 the other's, too? Of open backends. */
bool tfr__backend_shares(const tfr__backend *a, const tfr__backend *b);
/* What is put on later's queue from now on waits for all that is on earlier's. Of one plugin. */
tfr_status tfr__stream_order(tfr__stream *later, tfr__stream *earlier, tfr_err *err);
/* As tfr__stream_copy, from the memory of a stream of the same plugin; on the first one's queue. */
tfr_status tfr__stream_copy_peer(tfr__stream *stream, const tfr__stream *from, tfr_arg dst,
                                 tfr_arg src, uint64_t bytes, tfr_err *err);

#endif

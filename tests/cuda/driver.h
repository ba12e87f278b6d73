/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h: what the files of the driver stand-in share. One lock covers all state; streams run
 * operations without it. Functions that begin with fake_ and do not take the lock are called with
 * it held, unless said otherwise.
 *
 * An exported function NAME is written as
 *
 *     tfr_cu_result API(NAME)(parameters)
 *     {
 *         BEGIN(NAME, needs);     counts the call, takes the lock; returns what was ordered by
 * switches
 *         ...
 *         END(result);            logs, gives the lock back
 *     }
 */
#ifndef FAKE_DRIVER_INTERNAL_H
#define FAKE_DRIVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda_abi.h"
#include "fake_driver.h"
#include "kernels/cpu_table.h"

#define API(name)                     fake_##name
#define X(name, required, since, who) tfr_##name##_fn API(name);
#include "driver.def"
#undef X

enum {
#define X(name, required, since, who) CALL_##name,
#include "driver.def"
#undef X
    N_CALLS
};

enum { MAX_DEVICES = 4, MAX_DEPS = 256 };

/* What a call needs. */
enum {
    NEEDS_NOTHING = 0,
    NEEDS_INIT = 1,
    NEEDS_CONTEXT = 2, /* a current context that is not lost */
    IS_UNSAFE = 4,     /* refused while this thread captures, unless relaxed */
    SURVIVES_LOSS = 8, /* makes sense, and works, after the context was lost */
};

typedef struct fake_block fake_block;
typedef struct fake_op fake_op;
typedef struct fake_capture fake_capture;
typedef struct fake_program fake_program;

/* Indexes of nodes in the graph that is being captured. */
typedef struct fake_deps {
    size_t at[MAX_DEPS];
    unsigned n;
} fake_deps;

struct tfr_cu_context {
    int device;
    unsigned n_retained;
    tfr_cu_result lost; /* the fatal error, or 0 */
    bool told;          /* and a call has returned it */
    bool peer[MAX_DEVICES];
    tfr_cu_stream *legacy; /* the stream NULL */
};

/* Memory of a device. */
struct fake_block {
    fake_block *next;
    uint64_t address;
    size_t bytes;
    unsigned char *data; /* where it really is; malloc'ed, so that ASan sees its end */
    int device;
    tfr_cu_pool *pool;
    bool live;    /* allocation has been reached in stream order */
    bool freeing; /* cuMemFreeAsync has been called */
};

/* Pinned memory of the host. */
typedef struct fake_pinned {
    struct fake_pinned *next;
    unsigned char *data;
    size_t bytes;
    bool registered; /* it is the program's own */
} fake_pinned;

struct tfr_cu_pool {
    tfr_cu_pool *next;
    int device;
    size_t max_bytes, used, used_high, reserved, reserved_high;
    uint64_t threshold;
    int reuse[3];
    bool access[MAX_DEVICES];
    bool destroyed;
    unsigned n_blocks;
};

struct tfr_cu_stream {
    tfr_cu_stream *next;
    tfr_cu_context *ctx;
    unsigned flags;
    int priority, id;
    bool destroyed;
    bool dropped;           /* with all that is queued */
    fake_op *first, **last; /* the queue */
    uint64_t submitted, completed, wanted;
    bool started, ended; /* its thread */
    unsigned n_waiters;  /* threads, and operations of other streams */
    /* While it is captured: */
    fake_capture *capture;
    fake_deps deps; /* what its next node depends on */
    tfr_cu_graph_node *shown[MAX_DEPS];
};

struct tfr_cu_event {
    tfr_cu_event *next;
    tfr_cu_context *ctx;
    unsigned flags;
    bool destroyed, recorded;
    unsigned n_records; /* that streams have not reached */
    tfr_cu_stream
        *stream; /* where it was recorded last; NULL: reached long ago, or never recorded */
    uint64_t ticket;
    double when_ms;        /* when the record was reached */
    fake_capture *capture; /* it was recorded in a capture, which may be over */
    fake_deps deps;
};

/* A stream's work. A node of a graph has one, too, and graphs run copies of its pointer only. */
typedef enum fake_op_kind {
    OP_COPY,
    OP_SET,
    OP_KERNEL,
    OP_RECORD,
    OP_WAIT,
    OP_ALLOC,
    OP_FREE,
    OP_GRAPH,
    OP_NOTHING,
} fake_op_kind;

struct fake_op {
    fake_op *next;
    fake_op_kind kind;
    union {
        struct {
            uint64_t dst, src; /* of the device or the host */
            bool dst_host, src_host;
            size_t dst_pitch, src_pitch, width, height;
        } copy;
        struct {
            uint64_t dst;
            uint32_t value;
            unsigned size; /* of an element: 1 or 4 bytes */
            size_t n;
        } set;
        struct {
            const tfr_cpu_kernel *row;
            unsigned grid[3], block[3];
            size_t shared_bytes;
            unsigned char *bytes; /* the arguments, one after the other, each aligned to 16 */
        } kernel;
        struct {
            tfr_cu_event *event;
            uint64_t ticket;
        } record;
        struct {
            tfr_cu_stream *stream;
            uint64_t ticket;
        } wait;
        fake_block *block;
        fake_program *program;
    } u;
};

struct tfr_cu_graph_node {
    fake_op op;
    fake_deps deps;
};

struct tfr_cu_graph {
    tfr_cu_graph *next;
    bool captured; /* to its end, so that somebody has it */
    tfr_cu_graph_node **nodes;
    size_t n, room;
};

/* What an executable graph runs. An update gives it another one; launches keep theirs. */
struct fake_program {
    unsigned n_refs;
    tfr_cu_graph_node *nodes; /* own copies, dependencies as indexes only */
    size_t n;
    size_t *order; /* how they run: as far from the order of capture as their dependencies allow */
};

struct tfr_cu_graph_exec {
    tfr_cu_graph_exec *next;
    fake_program *program;
};

struct fake_capture {
    fake_capture *next;
    tfr_cu_stream *origin;
    pthread_t thread;
    unsigned mode;
    bool invalid, over;
    tfr_cu_graph *graph;
};

struct tfr_cu_library {
    tfr_cu_library *next;
    tfr_cu_kernel *kernels;
};

struct tfr_cu_kernel {
    tfr_cu_kernel *next;
    const tfr_cpu_kernel *row;
    size_t max_dynamic_shared;
    bool loaded[MAX_DEVICES];
};

/* Settings of TFRUN_FAKE_CUDA. */
typedef struct fake_order { /* fail=NAME:N:CODE */
    int call;
    unsigned nth;
    tfr_cu_result code;
} fake_order;

typedef struct fake_settings {
    int n_devices, capability, version;
    int multiprocessors; /* 0: as many as the largest of its capability has */
    bool no_device, peers, exclusive, prohibited, lazy, log, work_time;
    size_t memory_bytes;
    fake_order orders[16];
    unsigned n_orders;
    tfr_cu_result sticky_code;
    unsigned sticky_launch;
    char log_file[256];
} fake_settings;

typedef struct fake_state {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* broadcast whenever a stream has got on or is to */
    fake_settings set;
    int pid;                  /* that called cuInit; 0: nobody */
    int visible[MAX_DEVICES]; /* ordinal -> device */
    int n_visible;
    unsigned counts[N_CALLS];
    unsigned n_launches;
    double spent_ms; /* by kernels, as they say */
    int n_pushed;    /* contexts, on the stacks of all threads */
    unsigned n_after_loss;
    int first_after_loss;
    tfr_cu_context contexts[MAX_DEVICES];
    uint64_t base[MAX_DEVICES], top[MAX_DEVICES]; /* addresses, and the next free one */
    size_t used[MAX_DEVICES];                     /* bytes, with what pools have reserved */
    fake_block *blocks;
    fake_pinned *pinned;
    tfr_cu_pool *pools;
    tfr_cu_stream *streams;
    tfr_cu_event *events;
    tfr_cu_library *libraries;
    tfr_cu_graph *graphs;
    tfr_cu_graph_exec *execs;
    fake_capture *captures;
    int next_stream_id;
    char *log;
    size_t log_bytes;
} fake_state;

/* What one thread has. */
typedef struct fake_thread {
    tfr_cu_context *stack[16];
    unsigned depth;
    unsigned capture_mode;
    char note[160]; /* what END adds to the line of the log */
} fake_thread;

extern fake_state fake;
extern _Thread_local fake_thread fake_self;

/* ---- driver_call.c: the way in and out ---- */
tfr_cu_result fake_begin(int call, unsigned needs);
tfr_cu_result fake_end(int call, tfr_cu_result result);
void fake_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *fake_error_name(tfr_cu_result result);
bool fake_is_fatal(tfr_cu_result result);
#define BEGIN(name, needs)                                                                         \
    const int call_ = CALL_##name;                                                                 \
    tfr_cu_result ordered_ = fake_begin(call_, (needs));                                           \
    if (ordered_)                                                                                  \
    return fake_end(call_, ordered_)
#define END(result) return fake_end(call_, (result))

/* ---- driver_switch.c ---- */
void fake_read_switches(const char *text);
/* Looks at the environment itself, so that it answers before everything else is there. */
bool fake_is_absent(const char *name, int since);

/* ---- driver_device.c ---- */
/* Of all devices but for what differs between them. */
int fake_attribute(unsigned attr);
/* The current context, or NULL. */
tfr_cu_context *fake_current(void);
void fake_lose(tfr_cu_context *ctx, tfr_cu_result code);

/* ---- driver_memory.c ---- */
/* Where an address can be read and written, seen from a device; NULL if it cannot. */
void *fake_reach(int device, uint64_t address, size_t *bytes);
bool fake_is_pinned(const void *p, size_t bytes);
fake_block *fake_block_at(uint64_t address);
void fake_block_ready(fake_block *block);
void fake_block_release(fake_block *block);
void fake_pinned_release(fake_pinned **at);
/* Unless a block of it is still there. */
void fake_pool_release(tfr_cu_pool *pool);
/* Pools give back what is above their threshold. */
void fake_pools_settle(void);

/* ---- driver_stream.c ---- */
/* The stream behind a handle, or NULL if that is none. */
tfr_cu_stream *fake_stream(tfr_cu_stream *handle);
/* Takes the operation, copies it, and adds it to the stream or to the graph it is captured into.
 * The operation owns what it points at. */
tfr_cu_result fake_submit(tfr_cu_stream *stream, const fake_op *op);
/* Until this much is done, or the context is lost. The lock is released while it waits. */
tfr_cu_result fake_wait(tfr_cu_stream *stream, uint64_t ticket);
tfr_cu_result fake_wait_context(tfr_cu_context *ctx);
/* Ends all streams; what is queued is not carried out. */
void fake_streams_drop(void);
void fake_stream_release(tfr_cu_stream *stream);
void fake_event_release(tfr_cu_event *event);
/* Lets a lazy stream run up to here. */
void fake_want(tfr_cu_stream *stream, uint64_t ticket);

/* ---- driver_run.c ---- */
/* Without the lock: carries an operation out. */
tfr_cu_result fake_run(tfr_cu_context *ctx, const fake_op *op);

/* ---- driver_graph.c ---- */
void fake_op_copy(fake_op *to, const fake_op *from);
/* Releases what the operation owns, not the operation. */
void fake_op_finish(fake_op *op);
tfr_cu_graph *fake_graph_create(void);
/* Returns the index of the new node, which owns what op owns. */
size_t fake_graph_add(tfr_cu_graph *graph, const fake_op *op, const fake_deps *deps);
/* Node "of" runs after node "node" in any case, or is it. */
bool fake_graph_find(const tfr_cu_graph *graph, tfr_cu_graph_node *const *nodes, size_t n,
                     fake_deps *out);
bool fake_graph_reaches(const tfr_cu_graph *graph, size_t node, size_t of);
void fake_graph_release(tfr_cu_graph *graph);
void fake_exec_release(tfr_cu_graph_exec *exec);
void fake_program_release(fake_program *program);

/* ---- driver_capture.c ---- */
/* What a call that CUDA calls unsafe gets from this thread: 0 or 900. */
tfr_cu_result fake_capture_unsafe(void);
tfr_cu_result fake_capture_add(tfr_cu_stream *stream, const fake_op *op);
tfr_cu_result fake_capture_wait(tfr_cu_stream *stream, tfr_cu_event *event);
tfr_cu_result fake_capture_record(tfr_cu_event *event, tfr_cu_stream *stream);
tfr_cu_result fake_capture_break(fake_capture *capture, tfr_cu_result result);
void fake_capture_end(fake_capture *capture);
/* A blocking stream of the context is captured. */
fake_capture *fake_capture_of_blocking(const tfr_cu_context *ctx);

/* ---- driver_kernel.c ---- */
void fake_library_release(tfr_cu_library *library);

/* ---- driver_own_kernels.c ---- */
extern const tfr_cpu_kernel fake_own_kernels[];

#endif

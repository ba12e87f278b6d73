/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h: what the files of the CUDA backend's host half share: the open device, errors, and the
 * tables of the facets.
 *
 * A slot that calls the driver for a device begins with cuda_enter, which makes the device's
 * context the current one, and ends with cuda_leave, which brings back the caller's. What the
 * driver answers goes through cuda_check, which marks the device lost when its context is: no call
 * is made for it any more, its handles are leaked, and the process goes on without it. The primary
 * context is shared with other libraries and never reset.
 */
#ifndef CUDA_HOST_H
#define CUDA_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/fail.h>
#include <tfrun/plugin.h>

#include "library.h"
#include "plan.h"

extern const tfr_host *cuda_host;

__attribute__((format(printf, 2, 3))) void cuda_log(int32_t level, const char *format, ...);

/* ---- error.c ---- */

/* Why work failed, as fences carry it. */
typedef struct cuda_failure {
    int32_t code; /* 0 = none */
    int64_t native;
    uint64_t launch; /* whose, 0 = unknown */
    char text[384];
} cuda_failure;

/* The driver's result as our status, with the driver's text and the next step. */
__attribute__((format(printf, 3, 4))) int32_t cuda_fail(tfr_err *err, tfr_cu_result result,
                                                        const char *format, ...);
/* The same before the table of the driver is ready. */
int32_t cuda_fail_starting(tfr_err *err, tfr_cu_result result, const cuda_driver_table *table,
                           const char *what);
/* Of cuBLASLt and cuDNN, whose texts the caller has asked for. */
int32_t cuda_fail_cublas(tfr_err *err, int result, const char *text, const char *what);
int32_t cuda_fail_cudnn(tfr_err *err, int result, const char *text, const char *what);
int32_t cuda_fail_cusolver(tfr_err *err, int result, const char *what);
/* Whether the context is unusable from then on. */
bool cuda_is_fatal(tfr_cu_result result);
/* err as a failure that is kept, and back. */
void cuda_failure_keep(cuda_failure *failure, int32_t code, const tfr_err *err, uint64_t launch);
int32_t cuda_failure_tell(const cuda_failure *failure, tfr_err *err);

/* ---- device.c, open.c ---- */

typedef struct cuda_findings cuda_findings;
typedef struct cuda_notes cuda_notes;
typedef struct cuda_recorded cuda_recorded; /* notes of a graph */

typedef struct cuda_facts {
    tfr_cu_device device;
    char uuid[48]; /* 8-4-4-4-12 */
    char pci[16];  /* "0000:3b:00.0", "" = unknown */
    char name[96];
    cuda_chip chip;
    uint64_t memory_total, memory_bandwidth; /* bytes, bytes per second */
    uint32_t clock_khz;
    int32_t numa_node;
    bool is_mig, has_pools;
    int32_t compute_mode;
} cuda_facts;

/* Records of profile.c. */
typedef struct cuda_profile {
    atomic_bool is_on;
    pthread_mutex_t lock; /* of what follows */
    tfr_cu_event *base;   /* happened at base_ns of CLOCK_MONOTONIC */
    uint64_t base_ns;
    struct cuda_span *spans;
    size_t n, n_drained;
} cuda_profile;

/* Choices of tune.c. */
typedef struct cuda_choice cuda_choice;
typedef struct cuda_tuner {
    bool is_on;
    uint64_t fill_bytes;         /* that are filled in front of each run */
    atomic_int_fast64_t left_ns; /* for running candidates */
    pthread_mutex_t lock;        /* held while they run, taken before all others; of what follows */
    cuda_choice *choices;
} cuda_tuner;

struct tfr_plugin_device {
    tfr_plugin_device *next; /* of those that are open */
    cuda_facts facts;
    tfr_cu_context *context;
    tfr_cu_stream *stream; /* for what is done on return */
    /* memory */
    uint64_t limit, in_use;    /* bytes; limit 0 = none */
    tfr_cu_pool *pool;         /* NULL = the device has none */
    struct cuda_block *blocks; /* with the lock held, as in_use */
    /* events that no fence uses */
    pthread_mutex_t lock;
    tfr_cu_event **events;
    size_t n_events, capacity;
    /* of finding.c: all that there are, and those that wait to be used */
    cuda_notes *notes;
    struct note *free_notes;
    /* of libraries, for engine.c; made with the lock held */
    pthread_mutex_t engine_lock;
    struct tfr_lt_handle *lt;
    struct tfr_dnn_handle *dnn; /* used with the lock held, too, and so is the next */
    struct tfr_solver_handle *solver;
    /* that programs read, with their lock held */
    pthread_mutex_t constants_lock;
    struct cuda_constant *constants;
    /* of layout.c, by the size of elements: found once, as a capture could not bear a search */
    _Atomic(tfr_cu_function *) swaps[4];
    cuda_profile profile;
    cuda_tuner tuner;
    bool overlaps; /* captured launches, see order.h */
    atomic_uint n_queues; /* that were made */
    /* for tests; -1 = never */
    int64_t fail_after, lose_after;
    atomic_int_fast64_t n_launches;
    /* is_lost is set when failure has been written, and never again */
    atomic_bool is_lost;
    atomic_bool is_dead; /* the driver says so, too: nothing of it may be touched */
    cuda_failure failure;
};

int32_t cuda_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err);
/* Looks up one device of the driver's. */
int32_t cuda_find_facts(tfr_cu_device device, cuda_facts *facts, tfr_err *err);
/* A number of the plugin's configuration, before a device is open. */
int64_t cuda_option(const char *key, int64_t absent);

int32_t cuda_open(const tfr_device_info *info, const tfr_open_options *options,
                  tfr_plugin_device **out, tfr_err *err);
void cuda_close(tfr_plugin_device *device);
/* TFR_ELOST on a lost device; else the context is current until cuda_leave. */
int32_t cuda_enter(tfr_plugin_device *device, tfr_err *err);
void cuda_leave(tfr_plugin_device *device);
/* TFR_OK, or what went wrong with it, of which launch, if that is known; a fatal result loses the
 * device. */
__attribute__((format(printf, 5, 6))) int32_t cuda_check_launch(tfr_plugin_device *device,
                                                                tfr_cu_result result,
                                                                uint64_t launch, tfr_err *err,
                                                                const char *format, ...);
#define cuda_check(device, result, err, ...) cuda_check_launch(device, result, 0, err, __VA_ARGS__)
/* is_dead: the driver said so. The first call decides. */
void cuda_lose(tfr_plugin_device *device, const cuda_failure *failure, bool is_dead);
int32_t cuda_tell_lost(const tfr_plugin_device *device, tfr_err *err);

extern const tfr_memory_facet cuda_memory_facet;
extern const tfr_queue_facet cuda_queue_facet;
extern const tfr_native_facet cuda_native_facet;
extern const tfr_kernel_facet cuda_kernel_facet;
extern const tfr_capture_facet cuda_capture_facet;
extern const tfr_program_facet cuda_program_facet;
extern const tfr_profile_facet cuda_profile_facet;
extern const tfr_layout_facet cuda_layout_facet;

enum { CUDA_LAYOUT_LAST = 1 }; /* of images: the channels last */

/* ---- module.c: each open device holds the kernels that are loaded ---- */

void cuda_module_hold(void);
void cuda_module_release(bool is_dead);

/* ---- of engine.c: give handles of libraries back; not called for a dead device ---- */

void cuda_engines_close(tfr_plugin_device *device);
void cuda_convolution_close(tfr_plugin_device *device);
void cuda_gemm_close(tfr_plugin_device *device);
void cuda_solve_close(tfr_plugin_device *device);

/* ---- capture.c ---- */

/* Whether the calling thread has begun to capture, and not ended. */
bool cuda_is_capturing(void);

/* ---- finding.c ---- */

/* No queue is left. */
void cuda_notes_close(tfr_plugin_device *device);

/* ---- profile.c ---- */

void cuda_profile_close(tfr_plugin_device *device);

/* ---- constants.c ---- */

typedef struct cuda_constant cuda_constant;

/* The copy on the device of an operand whose data are known, until it is dropped. */
int32_t cuda_constant_hold(tfr_plugin_device *device, const tfr_operand *operand,
                           cuda_constant **out, tfr_err *err);
void cuda_constant_drop(tfr_plugin_device *device, cuda_constant *constant);
void *cuda_constant_address(const cuda_constant *constant);
uint64_t cuda_constant_bytes(const cuda_constant *constant);

/* ---- memory.c, pool.c ---- */

/* Lets go of all that is allocated; on a dead device only of what the host has. */
void cuda_memory_close(tfr_plugin_device *device);
int32_t cuda_pool_open(tfr_plugin_device *device, tfr_err *err);
void cuda_pool_close(tfr_plugin_device *device);
tfr_cu_result cuda_pool_alloc(tfr_plugin_device *device, uint64_t bytes, tfr_cu_ptr *out);
tfr_cu_result cuda_pool_free(tfr_plugin_device *device, tfr_cu_ptr address);
void cuda_pool_trim(tfr_plugin_device *device);

/* ---- queue.c ---- */

enum { CUDA_MAX_PEERS = 15 };

struct tfr_queue {
    tfr_plugin_device *device;
    tfr_cu_stream *stream;
    uint32_t lane; /* its number, for records */
    bool is_imported, is_capturing;
    struct cuda_order *order; /* of the capture; NULL: one launch behind the other */
    pthread_mutex_t lock;
    cuda_failure failure; /* later work is skipped; with the lock held */
    atomic_bool has_failed;
    uint64_t last_launch;    /* the newest one */
    uint32_t n_since;        /* launches since the last signal */
    cuda_findings *findings; /* NULL before the first */
    uint64_t n_findings;
    struct note *recorded; /* of the capture */
    /* devices whose fences it waits for; with the lock held */
    uint32_t n_peers;
    tfr_plugin_device *peers[CUDA_MAX_PEERS];
};

void cuda_queue_fail(tfr_queue *queue, const cuda_failure *failure);
/* The failure of the queue, or TFR_OK. */
int32_t cuda_queue_tell(tfr_queue *queue, tfr_err *err);
void cuda_events_close(tfr_plugin_device *device);

#endif

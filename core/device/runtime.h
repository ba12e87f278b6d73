/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h: what the rest of the core sees of plugins and devices: a runtime has devices, a device
 * has backends in the order in which they are asked, a backend is one plugin driving one device.
 * Loading, probing and configuration are behind it, in plugin_*.c.
 */
#ifndef TFR_CORE_RUNTIME_H
#define TFR_CORE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <tfrun/device.h>

#include "device/slot.h"
#include "device/tuning.h"

typedef struct tfr__plugin tfr__plugin;

/* Does a backend claim an op, by the op's number in the op table? */
typedef enum tfr__claim {
    TFR__CLAIM_NONE = 0, /* it never mentioned it: reason unknown_op */
    TFR__CLAIM_YES = 1,
    TFR__CLAIM_VERSION = 2, /* claims another version of it: reason op_version */
    TFR__CLAIM_DIGEST = 3,  /* same version, other digest: reason digest */
    TFR__CLAIM_OLDER = 4    /* an older version, which takes some calls: op/older.c says which */
} tfr__claim;

/* tfr_op_claim's, as it says them; what the op's row does not admit goes when somebody asks. */
typedef struct tfr__claim_types {
    uint64_t here, conditional;
} tfr__claim_types;

enum { TFR__MOST_RESTING = 4, TFR__CONSTANT_LISTS = 64 };

typedef struct tfr__resting {
    tfr_queue *queue;
    tfr_fence *fence;
    uint64_t value;
} tfr__resting;

/* One plugin driving one device. Facets are copied and zero-filled to this core's size. What is
 * asked for most comes first: what lies in the first 128 bytes takes less code. */
typedef struct tfr__backend {
    tfr__plugin *plugin;
    const char *plugin_name;
    tfr_plugin_device *device; /* once it is open, as what is below "memory" */
    uint32_t n_table; /* rows that the op table had: more may come, which it does not claim */
    uint8_t *claims;  /* tfr__claim by op number; known before the plugin is loaded */
    int32_t *claim_versions;       /* since_version and digest of the claim, to be put into calls */
    tfr__claim_types *claim_types; /* by op number; 0 = not said */
    uint32_t n_ops;
    int32_t priority;
    bool priority_set; /* by the configuration */
    /* valid after tfr__backend_open only */
    atomic_bool is_open;
    bool has_queue, has_program, has_layout, has_profile, has_native, has_comm, has_capture;
    atomic_bool program_off; /* a program of it failed: its nodes are kernels from then on */
    atomic_bool quarantined; /* failed after a yes or broke the contract: not asked again */
    atomic_bool left;        /* work on it has not ended when its session did: it is not closed */
    _Atomic(char *) failed;  /* how, or NULL: not known */
    /* by op number: NULL, or how its kernel failed, which stays until the backend is gone */
    _Atomic(char *) *op_quarantined;
    pthread_mutex_t lock; /* serializes [device] calls */
    char name[48];        /* "naive:0" */
    /* with that role, or TFR_SPACE_HOST */
    uint32_t transfer_space, pinned_space;
    tfr_device_info info; /* as enumerated */
    /* Below: valid after tfr__backend_open only. */
    tfr_memory_facet memory;
    tfr_kernel_facet kernel;
    tfr_queue_facet queue; /* all NULL: synchronous */
    tfr_program_facet program;
    tfr_layout_facet layout;
    tfr_profile_facet profile;
    tfr_native_facet native;
    tfr_capture_facet capture;
    tfr_comm_facet comm;
    const void *tracer;   /* the session that takes its records, or NULL; under lock */
    tfr_space_info space; /* space 0 */
    /* Queues that nobody uses now, under lock: stream_rest.c. */
    tfr__resting resting[TFR__MOST_RESTING];
    uint32_t n_resting;
    /* What plans have of constants in space 0, by tensor; under lock: constant.h. */
    struct tfr__constant *constants[TFR__CONSTANT_LISTS];
} tfr__backend;

/* Of any op. */
static inline tfr__claim tfr__backend_claim(const tfr__backend *backend, uint32_t op)
{
    return backend->claims && op < backend->n_table ? (tfr__claim)backend->claims[op]
                                                    : TFR__CLAIM_NONE;
}

typedef struct tfr__device {
    char name[24]; /* "CPU:0" */
    char type[16];
    tfr__backend *backends; /* by priority, highest first, then name */
    uint32_t n_backends;
    uint32_t n_threads;
    bool is_visible; /* while devices are made: the user named it */
    bool is_host;    /* identity "host": its space 0 is ordinary memory */
    char description[160];
    tfr_device_info info; /* what the backends know of it, put together */
} tfr__device;

struct tfr_runtime {
    atomic_uint refs;
    tfr__device *devices; /* CPU:0 first, then by type and number */
    uint32_t n_devices;
    struct tfr__loader *loader; /* plugins, configuration: private to plugin_*.c */
    int32_t log_level;
    tfr_log_fn log;
    void *log_user;
    pthread_mutex_t log_lock;
    /* of the options */
    const struct tfr_plugin *(*wrap)(void *user, const char *path, const struct tfr_plugin *table);
    void *wrap_user;
    uint64_t op_timeout_ns;
    bool checks_launches;          /* what tfr__slot_leave checks, after each launch, too */
    struct tfr__call_cache *calls; /* prepared immediate calls: private to immediate.c */
    pthread_mutex_t calls_lock;
    void (*calls_destroy)(struct tfr__call_cache *); /* set with calls; before devices go */
    tfr__tuning tuning;
};

/* The part of a key that says which kernels on which device, as far as their speed goes. */
tfr__tuning_key tfr__backend_key(const tfr_runtime *runtime, const tfr__backend *backend);

tfr_runtime *tfr__runtime_retain(tfr_runtime *runtime);

/* Loads the plugin if need be and opens its device, once; later calls cost one atomic read. */
tfr_status tfr__backend_open(tfr_runtime *runtime, tfr__backend *backend, tfr_err *err);

/*
 * Around prepare, and around compile and save: as around any [device] slot, unless the plugin says
 * that these are [any]. What they give belongs to the caller alone, so nothing else needs the lock.
 */
static inline void tfr__lock_unless(tfr__backend *backend, bool is_any)
{
    if (!is_any)
        pthread_mutex_lock(&backend->lock);
}

static inline void tfr__unlock_unless(tfr__backend *backend, bool is_any)
{
    if (!is_any)
        pthread_mutex_unlock(&backend->lock);
}

/*
 * The backend broke a promise and is not asked any more: about one op, by its number, at all for op
 * -1, or for programs. The plugin's row says so, with text as the reason. The log is the caller's.
 */
#define TFR__PROGRAMS (-2)
extern atomic_uint tfr__n_quarantines; /* in this process, so far */
void tfr__backend_quarantine(tfr__backend *backend, int32_t op, const char *text);

/* What a plugin says of a failure: its text may have no end, or no beginning. */
const char *tfr__said(tfr_err *err);
/* A status of a plugin, or, for a number that is none, TFR_EPLUGIN, which err says. */
tfr_status tfr__plugin_status(int32_t status, tfr_err *err);

/* printf-style talk; drops what is below the runtime's level; strips control bytes. */
void tfr__log(tfr_runtime *runtime, tfr_log_level level, const char *who, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

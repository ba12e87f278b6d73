/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_host.h: what the core does for a plugin; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_HOST_H
#define TFRUN_PLUGIN_HOST_H

#include <tfrun/plugin_types.h>

typedef enum tfr_log_level {
    TFR_LOG_ERROR = 1,
    TFR_LOG_WARNING = 2,
    TFR_LOG_INFO = 3,
    TFR_LOG_DEBUG = 4
} tfr_log_level;

/* Runs over [begin, end) of the loop; called on several threads at once. */
typedef void (*tfr_range_fn)(void *user, int64_t begin, int64_t end);

/* Lives for ever: a plugin may keep the pointer. All slots are [any]. */
typedef struct tfr_host {
    uint32_t size;
    uint32_t abi_minor;
    /* One line of talk, without a line end. Control bytes are stripped; a plugin never prints
     * itself. */
    void (*log)(int32_t level, const char *who, const char *text);
    /*
     * for (i = 0; i < n; i += grain) fn(user, i, min(i + grain, n)), in any order on the threads of
     * the core's pool, the caller's among them; returns when all have run. grain 0 = the core
     * chooses. A nested call runs on the calling thread.
     */
    void (*parallel_for)(tfr_range_fn fn, void *user, int64_t n, int64_t grain);
    /*
     * The value of a configuration key of this plugin ("math-mode", without the plugin's name),
     * already filtered for privileged processes. Writes at most n bytes with a final zero. Returns
     * the value's length, or -1 if the key is not set. Plugins do not read the environment. For the
     * entry and enumerate, which belong to no runtime: where a process has several, the newest one
     * answers. Settings of a device come with open.
     */
    int32_t (*option)(const char *plugin, const char *key, char *out, uint32_t n);
    /* A host extension by id, or NULL: TFR_HOST_..._V1 below. */
    const void *(*facet)(const char *id);
} tfr_host;

/* The processor and the threads that a CPU backend may use. */
#define TFR_HOST_CPU_V1 "tfr.host.cpu/1"
typedef struct tfr_host_cpu {
    uint32_t size;
    /* of the core's pool; a logical device may be given fewer (option "threads") */
    uint32_t n_threads;
    const char *name; /* model name as the system reports it */
    /* what the user allows, Linux names, separated by blanks: "avx2 avx512f amx_bf16" */
    const char *features;
} tfr_host_cpu;

/* Elements of string outputs are set through the host, which owns and later frees the bytes. */
#define TFR_HOST_STRING_V1 "tfr.host.string/1"
typedef struct tfr_host_string {
    uint32_t size;
    uint32_t reserved;
    /* Copies bytes into element, which is zero or was set before. TFR_ENOMEM is the only error. */
    int32_t (*set)(tfr_string *element, const char *data, uint64_t bytes);
} tfr_host_string;

/* Which thread of a loop runs this range: for scratch memory of each thread. */
#define TFR_HOST_POOL_V1 "tfr.host.pool/1"
typedef struct tfr_host_pool {
    uint32_t size;
    uint32_t reserved;
    /*
     * [any]. Number of the calling thread in the loop of parallel_for that it runs a range of: less
     * than tfr_host_cpu's n_threads, and no two threads of one loop have the same at a time. 0
     * outside of loops. A nested loop keeps the number.
     */
    uint32_t (*lane)(void);
} tfr_host_pool;

/* The core's planner of arenas, for plugins that lay out memory of their own. */
#define TFR_HOST_ARENA_V1 "tfr.host.arena/1"
typedef struct tfr_arena_block {
    uint64_t bytes;
    uint32_t first, last; /* the steps at which it lives, both included */
    uint64_t offset;      /* answer */
} tfr_arena_block;

typedef struct tfr_host_arena {
    uint32_t size;
    uint32_t reserved;
    /*
     * [any]. blocks lie stride bytes apart. Gives each an offset, a multiple of alignment (a power
     * of two), so that blocks that live at the same step do not overlap. *bytes is what all need
     * together, *lower_bound the most bytes alive at one step. The same blocks get the same
     * offsets. TFR_ENOMEM.
     */
    int32_t (*plan)(tfr_arena_block *blocks, uint32_t stride, uint32_t n, uint64_t alignment,
                    uint64_t *bytes, uint64_t *lower_bound, tfr_err *err);
} tfr_host_arena;

/*
 * What a plugin keeps from process to process, compiled kernels above all: bytes by a key of bytes,
 * in files of the user's cache. For each build of a plugin apart, so that another version finds
 * nothing, and so does the same one after it was installed again; on what else the data depend (the
 * driver's version, the device, options of the compiler) has to be in the key. Keys are compared,
 * not their hashes alone. Several processes may use it at once; an entry is there as a whole or not
 * at all. It may be off, and an entry may be gone at any time: the least recently used go where all
 * entries of all plugins together take more than the user allows (TFRUN_STORE_MB, 256 MB).
 */
#define TFR_HOST_STORE_V1 "tfr.host.store/1"
typedef struct tfr_host_store {
    uint32_t size;
    uint32_t reserved;
    uint64_t max_key_bytes; /* 65536 */
    uint64_t max_bytes;     /* of one entry's data, 16 MiB */
    /*
     * [any]. plugin is the plugin's own name. *n is the room in out and becomes the bytes there
     * are; if these are more, nothing was written: come again. TFR_ENOTFOUND = there is no such
     * entry; a damaged one is none. The data were in a file of the user's: a sum over them was
     * right, and nobody else can write the file.
     */
    int32_t (*get)(const char *plugin, const void *key, uint64_t key_bytes, void *out, uint64_t *n,
                   tfr_err *err);
    /*
     * [any]. Takes the place of what was there. TFR_EUNSUPPORTED = it is off, as while plugins are
     * probed; TFR_ELIMIT, TFR_EIO, TFR_EPERM, TFR_ENOMEM: nothing is kept, and nothing depends on
     * it, so there is no need to tell anybody.
     */
    int32_t (*put)(const char *plugin, const void *key, uint64_t key_bytes, const void *data,
                   uint64_t n, tfr_err *err);
} tfr_host_store;

/*
 * There (not NULL) in a process that only asks whether the plugin can be used. Load now what you
 * would otherwise load when it is first needed: a library that is broken or too old is then found
 * here, once, and its version can be told in build_info, which is read here only.
 */
#define TFR_HOST_PROBE_V1 "tfr.host.probe/1"
typedef struct tfr_host_probe {
    uint32_t size;
    uint32_t reserved;
} tfr_host_probe;

#endif

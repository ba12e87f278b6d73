/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/runtime.h: the runtime: which plugins there are, and what became of each.
 *
 * Making a runtime looks into plugin files without running them, asks new ones in a child process
 * (tfrun-probe) and remembers the answers; a plugin is loaded into this process only when one of
 * its devices is used. A broken plugin never makes tfr_runtime_create fail: it becomes a row with a
 * state, a sentence and a next step.
 */
#ifndef TFRUN_RUNTIME_H
#define TFRUN_RUNTIME_H

#include <stdbool.h>
#include <tfrun/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_runtime tfr_runtime;

/* Gets one line of talk. Called from any thread, one call at a time. */
typedef void (*tfr_log_fn)(void *user, tfr_log_level level, const char *who, const char *text);

/* Which plugins are asked anew, although their answers are remembered. */
typedef enum tfr_refresh {
    TFR_REFRESH_NONE = 0,
    TFR_REFRESH_FAILED =
        1, /* those with a fault that may be repaired without changing their file */
    TFR_REFRESH_ALL = 2
} tfr_refresh;

/* Zero is the default everywhere; TFR_RUNTIME_OPTIONS_INIT sets the size. */
typedef struct tfr_runtime_options {
    uint32_t size;
    uint32_t n_plugin_dirs, n_plugin_files, n_options;
    const char *const *plugin_dirs; /* searched before TFRUN_PLUGIN_PATH and the installed folder */
    const char *const *plugin_files; /* added by file name, before all folders */
    /*
     * Configuration, key "threads", "onednn.priority", "acme.memory_limit": beats the environment,
     * which beats configuration files; of two equal keys the later one counts. An option of a
     * plugin that is not there is TFR_ENOTFOUND, except for its priority.
     */
    const tfr_option *options;
    /*
     * "CPU:0,GPU:1"; NULL = TFRUN_VISIBLE_DEVICES, else all. The others are hidden and the names
     * stay as they are; the first CPU stays in any case, for the core works on it. A name that is
     * none is a warning.
     */
    const char *visible_devices;
    uint32_t n_threads;    /* of the core's pool; 0 = the processors this process may use */
    uint32_t logical_cpus; /* split the CPU's threads into so many devices; 0 = one */
    int32_t log_level;     /* 0 = TFRUN_LOG, key log of the configuration, log_default */
    tfr_log_fn log;        /* NULL = standard error */
    void *log_user;
    /* the level where log_level is 0 and neither TFRUN_LOG nor a configuration file says one; 0 =
     * TFR_LOG_WARNING */
    int32_t log_default;
    uint32_t refresh; /* tfr_refresh */
    uint32_t reserved;
    /*
     * For tools that watch plugins, else NULL: gets the table that a plugin's entry gave, once in a
     * process for each file, and returns the one to use, which lives as long as the process.
     */
    const struct tfr_plugin *(*wrap)(void *user, const char *path, const struct tfr_plugin *table);
    void *wrap_user;
    uint64_t op_timeout_ns; /* of each tfr_op_run, as timeout_ns of a session; 0 = none */
} tfr_runtime_options;
#define TFR_RUNTIME_OPTIONS_INIT                                                                   \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_runtime_options)                                              \
    }

/* options may be NULL. Blocks for at most one probe deadline, and only for plugins never seen
 * before. */
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_create(const tfr_runtime_options *options,
                                                     tfr_runtime **out, tfr_err *err);

/* Releases it; sessions keep their runtime alive. NULL is fine. */
TFR_API void tfr_runtime_release(tfr_runtime *runtime);

/* ---- plugins --------------------------------------------------------------------------------- */

/* X(NAME, text): what became of a plugin file. */
#define TFR_PLUGIN_STATE_LIST(X)                                                                   \
    X(FOUND, "found")                                                                              \
    X(SHADOWED, "shadowed")                                                                        \
    X(DISABLED, "disabled")                                                                        \
    X(NOT_A_PLUGIN, "not_a_plugin")                                                                \
    X(FOREIGN_ARCH, "foreign_arch")                                                                \
    X(CPU_FEATURES, "cpu_features")                                                                \
    X(ABI, "abi")                                                                                  \
    X(SANITIZER, "sanitizer")                                                                      \
    X(UNSAFE_PATH, "unsafe_path")                                                                  \
    X(MISSING_LIBRARY, "missing_library")                                                          \
    X(PROBE_CRASH, "probe_crash")                                                                  \
    X(PROBE_TIMEOUT, "probe_timeout")                                                              \
    X(PROBE_EXIT, "probe_exit")                                                                    \
    X(PROBE_MEMORY, "probe_memory")                                                                \
    X(BAD_REPLY, "bad_reply")                                                                      \
    X(NO_DEVICE, "no_device")                                                                      \
    X(INCOMPATIBLE_DRIVER, "incompatible_driver")                                                  \
    X(USABLE, "usable")                                                                            \
    X(LOADED, "loaded")                                                                            \
    X(QUARANTINED, "quarantined")

typedef enum tfr_plugin_state {
#define TFR_PLUGIN_STATE_ENUM(name, text) TFR_PLUGIN_##name,
    TFR_PLUGIN_STATE_LIST(TFR_PLUGIN_STATE_ENUM)
#undef TFR_PLUGIN_STATE_ENUM
        TFR_PLUGIN_N_STATES
} tfr_plugin_state;

/* "missing_library"; static text. */
TFR_API const char *tfr_plugin_state_name(tfr_plugin_state state);

/* A row about one plugin file. The texts live as long as the runtime. "" = not known. */
typedef struct tfr_plugin_desc {
    uint32_t size;
    /* tfr_plugin_state; FOUND is passed through only, USABLE = well, not loaded yet */
    int32_t state;
    const char *name; /* from the note; the file's name when there is none */
    const char *path;
    const char *version, *vendor, *build_info;
    const char *reason;    /* one sentence: what is wrong, with numbers and names */
    const char *next_step; /* one sentence: what the user can do */
    int32_t priority;
    uint32_t kind; /* TFR_PLUGIN_BACKEND... */
    uint32_t abi_major, abi_minor;
    uint32_t n_devices; /* physical devices that it can drive */
    uint32_t n_ops;     /* op claims that meet the op table */
} tfr_plugin_desc;

TFR_API uint32_t tfr_runtime_n_plugins(const tfr_runtime *runtime);
/* TFR_EINVAL if there is no plugin i. out->size is set by the caller, as everywhere. */
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_plugin(const tfr_runtime *runtime, uint32_t i,
                                                     tfr_plugin_desc *out, tfr_err *err);

/* ---- configuration --------------------------------------------------------------------------- */

/*
 * What a key of the configuration has come to, and where the value is from:
 * "/etc/tfrun/tfrun.conf:3", the name of a variable, "an option of the program". Texts live as long
 * as the runtime. False: nobody set it.
 */
TFR_API bool tfr_runtime_setting(const tfr_runtime *runtime, const char *key, const char **value,
                                 const char **origin);

#ifdef __cplusplus
}
#endif

#endif

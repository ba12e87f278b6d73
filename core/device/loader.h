/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h: private to plugin_*.c, device*.c, runtime.c and probe_main.c: how a plugin file becomes
 * a row with a state, and a usable one becomes backends of devices.
 *
 *   plugin_config.c  what the user wants         plugin_probe.c  asks new ones in a child process
 *   plugin_path.c    is a file safe to load      plugin_reply.c  the child's answer, hostile
 *   plugin_scan.c    which files there are       plugin_cache.c  remembers answers
 *   plugin_note.c    facts without code          plugin_state.c  what is said about each state
 *   plugin_libs.c    missing libraries           plugin_import.c tables across the border
 *   plugin_load.c    dlopen and open devices  plugin_asks.c   what answers depend on
 *   plugin_ops.c     rows of the op table that plugins bring
 */
#ifndef TFR_CORE_LOADER_H
#define TFR_CORE_LOADER_H

#include "base/region.h"
#include "device/plugin_elf.h"
#include "device/runtime.h"
#include "device/store.h"

#include <sys/types.h>
#include <time.h>

/* ---- configuration (plugin_config.c) ---- */

/* The origin of what the runtime was made with. */
#define TFR__CONFIG_PROGRAM "an option of the program"

typedef struct tfr__setting {
    const char *key, *value;
    const char *origin; /* "/etc/tfrun/tfrun.conf:12", "TFRUN_DISABLE" */
} tfr__setting;

typedef struct tfr__config {
    tfr__region region;
    tfr__setting *settings; /* weakest first */
    uint32_t n, capacity;
} tfr__config;

tfr_status tfr__config_add(tfr__config *config, const char *key, const char *value,
                           const char *origin);
/* Files, environment, options. Faults in files are warnings. TFR_ENOMEM is the only error. */
tfr_status tfr__config_load(tfr__config *config, tfr_runtime *runtime,
                            const tfr_runtime_options *options, tfr_err *err);
/* Reads "key = value" lines of text; name and line numbers go into warnings. */
tfr_status tfr__config_parse(tfr__config *config, tfr_runtime *runtime, const char *name,
                             const char *text);
/* The strongest setting of "key", or of "plugin.key"; NULL = none. */
const tfr__setting *tfr__config_find(const tfr__config *config, const char *plugin,
                                     const char *key);
/* The settings of one plugin, keys without its name, strongest alone; out has config->n. */
uint32_t tfr__config_of(const tfr__config *config, const char *plugin, tfr_option *out);
/* A number in [least, most], or absent; a bad one is a warning. */
int64_t tfr__config_number(const tfr__config *config, tfr_runtime *runtime, const char *plugin,
                           const char *key, int64_t absent, int64_t least, int64_t most);
/* The setting that disables the plugin, or NULL. */
const tfr__setting *tfr__config_disables(const tfr__config *config, const char *plugin);
/* Bytes of the plugin's name in "NAME.SOMETHING"; 0 = the key is none of a plugin. */
size_t tfr__config_key_plugin(const char *key);
void tfr__config_finish(tfr__config *config);

/* ---- the child's answer (plugin_reply.c) ---- */

/* How far the child came; what does not fit OK has code and text. */
typedef enum tfr__outcome {
    TFR__OUTCOME_OK = 0,
    TFR__OUTCOME_LINK = 1,    /* the dynamic linker refused it */
    TFR__OUTCOME_ENTRY = 2,   /* no entry */
    TFR__OUTCOME_REFUSED = 3, /* the entry returned an error */
    TFR__OUTCOME_LOOKING = 4, /* enumerate returned an error */
    TFR__OUTCOME_BREACH = 5,  /* it broke the contract */
    TFR__OUTCOME_MEMORY = 6   /* it took all memory that a probe may have */
} tfr__outcome;

typedef struct tfr__reply_claim {
    const char *domain, *name;
    struct {
        uint64_t dtypes, dtypes_if, digest;
        int32_t since_version;
        uint32_t reserved; /* 0, not a hole: it is sent, too */
    } numbers;
} tfr__reply_claim;

/* A row of the op table. */
typedef enum tfr__reply_op_text {
    TFR__REPLY_OP_DOMAIN,
    TFR__REPLY_OP_NAME,
    TFR__REPLY_OP_INPUTS,
    TFR__REPLY_OP_OUTPUTS,
    TFR__REPLY_OP_ATTRS,
    TFR__REPLY_OP_TYPES,
    TFR__REPLY_OP_WRONG, /* why it is refused, "" = it is right */
    TFR__REPLY_OP_TEXTS
} tfr__reply_op_text;

typedef struct tfr__reply_op {
    const char *texts[TFR__REPLY_OP_TEXTS];
    struct {
        int32_t since_version, compat_version;
        uint32_t flags;     /* TFR_OP_... */
        uint32_t functions; /* bit TFR__OP_DECOMPOSITION, bit TFR__OP_GRADIENT */
        uint64_t shape_args;
    } numbers;
} tfr__reply_op;

typedef struct tfr__reply_device {
    tfr_device_info info;
    tfr__reply_claim *claims;
    uint32_t n_claims;
} tfr__reply_device;

typedef struct tfr__reply {
    int32_t outcome; /* tfr__outcome */
    int32_t code;    /* tfr_status */
    uint32_t abi_minor;
    const char *text; /* a sentence, also with outcome OK and no devices */
    const char *name, *version, *vendor, *build_info; /* "" = not said */
    tfr__reply_device *devices;
    uint32_t n_devices;
    tfr__reply_op *ops;
    uint32_t n_ops;
} tfr__reply;

#define TFR__REPLY_MAX_BYTES   (4u << 20)
#define TFR__REPLY_MAX_DEVICES 256u
#define TFR__REPLY_MAX_CLAIMS  4096u
#define TFR__REPLY_MAX_OPS     256u
#define TFR__REPLY_HEAD_BYTES  24u

/* The bytes of a reply, to be freed with tfr__free; NULL = out of memory or over the limit. */
void *tfr__reply_write(const tfr__reply *reply, size_t *bytes);
/* Bytes of the whole reply from its first TFR__REPLY_HEAD_BYTES; 0 = no reply of this core. */
size_t tfr__reply_bytes(const void *head);
/* Texts stay in a copy in region. TFR_EPLUGIN with a sentence if anything is wrong; TFR_ENOMEM. */
tfr_status tfr__reply_read(const void *bytes, size_t n, tfr__region *region, tfr__reply *out,
                           tfr_err *err);

/* ---- plugins ---- */

/* A file that does not change under its name keeps all of these. */
typedef struct tfr__file_id {
    uint64_t device, inode, bytes;
    int64_t mtime_s, mtime_ns;
} tfr__file_id;

struct tfr__plugin {
    struct tfr__loader *loader;
    const char *path; /* links resolved; as given if that is not possible */
    bool asked_for;   /* named by the user, not found in a folder */
    const char *name;
    int32_t state;                  /* these three: under the loader's lock once it is made */
    const char *reason, *next_step; /* "" = nothing to say */
    int32_t priority;
    bool has_note;
    tfr_note note;
    tfr__file_id file;
    uint64_t build_hash; /* of the build id, or of the headers */
    uint64_t libs_hash;  /* of the libraries that it needs */
    /* of the variables and files that its answers depend on, by its notes; 0 = of none */
    uint64_t variables_hash, files_hash;
    bool has_reply, from_cache;
    tfr__reply reply;
    uint64_t stdout_bytes; /* that it wrote to standard output in the child */
    uint32_t n_ops;
    struct tfr__library *library; /* loaded by this runtime, or NULL */
    atomic_bool mode_told;        /* that it changes the floating-point mode */
};

typedef struct tfr__loader {
    tfr_runtime *runtime;
    tfr__config config;
    pthread_mutex_t lock; /* states, texts and region */
    tfr__region region;
    tfr__plugin **plugins;
    uint32_t n_plugins, capacity;
    uint64_t world;     /* what answers depend on besides the plugin and its options */
    uint32_t n_threads; /* for computing, of the core's pool */
    bool pin_threads;   /* to processors of their own */
    uint32_t refresh;   /* tfr_refresh */
    tfr__store store;
    struct tfr__loader *next_older; /* in the host's list */
} tfr__loader;

tfr_status tfr__loader_create(tfr_runtime *runtime, const tfr_runtime_options *options,
                              tfr__loader **out, tfr_err *err);
void tfr__loader_destroy(tfr__loader *loader);

/* plugin_state.c. Sets the state with its sentence; adds the next step. Cannot fail. */
void tfr__plugin_set(tfr__plugin *plugin, tfr_plugin_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A plugin that works did something it must not: its row says so, the state stays. */
void tfr__plugin_note(tfr__plugin *plugin, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Turns a reply, or what came instead, into a state. */
void tfr__plugin_judge(tfr__plugin *plugin);

/* plugin_path.c. True if only root, the user and their groups can write the file and all folders
 * above it; else why names the part and its mode. path is absolute and has no links in it. */
bool tfr__path_is_safe(const char *path, char *why, size_t n);

/* plugin_scan.c: appends the rows. */
tfr_status tfr__plugins_scan(tfr__loader *loader, const tfr_runtime_options *options, tfr_err *err);

/* plugin_note.c: name, facts and the states that follow from them. */
tfr_status tfr__plugin_read_facts(tfr__plugin *plugin, tfr_err *err);

/* plugin_asks.c: adds what a note says that answers depend on, as it is now. */
void tfr__plugin_add_asked(tfr__plugin *plugin, uint32_t type, const char *text);

/* plugin_libs.c: finds out which libraries are missing; state MISSING_LIBRARY names them all. */
tfr_status tfr__plugin_find_libs(tfr__plugin *plugin, tfr_err *err);
/* Changes when libraries are installed or removed. */
uint64_t tfr__libs_world(void);

/* plugin_cache.c: true if an answer was remembered; it is judged then. */
bool tfr__cache_load(tfr__plugin *plugin);
/* A hash of this core, processor, boot, set of libraries and limits of probes. */
uint64_t tfr__cache_world(const tfr__config *config);
void tfr__cache_store(tfr__plugin *plugin, const void *reply, size_t bytes);

/* plugin_probe.c: asks all plugins that are still FOUND, side by side. */
tfr_status tfr__plugins_probe(tfr__loader *loader, tfr_err *err);
/* Children started by this process so far, for tests. */
uint64_t tfr__probe_count(void);
#define TFR__PROBE_FD 3 /* where the child writes its reply */

/* ---- tables across the border (plugin_import.c), for the child, too ---- */

typedef struct tfr__tables {
    tfr_plugin plugin;
    tfr_memory_facet memory;
    tfr_kernel_facet kernel;
    tfr_queue_facet queue;
    tfr_program_facet program;
    tfr_layout_facet layout;
    tfr_profile_facet profile;
    tfr_native_facet native;
    tfr_capture_facet capture;
    tfr_comm_facet comm;
    tfr_ops_facet ops;
    bool has_queue, has_program, has_layout, has_profile, has_native, has_comm, has_ops,
        has_capture;
    char off[160]; /* what is wrong with an optional facet, which is off therefore; "" = nothing */
} tfr__tables;

/* Copies what fits, zeroes the rest, checks required slots. name and kind are the note's. A broken
 * optional facet of a backend that can do without is taken as absent. */
tfr_status tfr__tables_import(const tfr_plugin *given, const char *name, uint32_t kind,
                              tfr__tables *out, tfr_err *err);

/* The rules of spaces that the core relies on; name is for the sentence. */
tfr_status tfr__spaces_check(const tfr_space_info *spaces, uint32_t n,
                             const tfr_memory_facet *memory, const tfr_device_info *device,
                             const char *name, tfr_err *err);

/* ---- loading (plugin_load.c) ---- */

/* The tables of the plugin's library, loaded if need be, which stay as long as the process. */
tfr_status tfr__plugin_tables(tfr__plugin *plugin, const tfr__tables **out, tfr_err *err);
/* Drops the runtime's hold on the libraries that it loaded. */
void tfr__plugin_unload(tfr__plugin *plugin);
void tfr__backend_close(tfr__backend *backend);

/* ---- the host table (host.c) ---- */

const tfr_host *tfr__host(void);
/* From now on plugins are told that this process only asks (TFR_HOST_PROBE_V1). */
void tfr__host_begin_probe(void);
/* The newest attached runtime hears plugins' talk, and its configuration answers their options. */
void tfr__host_attach(tfr__loader *loader);
void tfr__host_detach(tfr__loader *loader);
/* Processor features that plugins may use: the system's less the hidden ones. */
const char *tfr__host_features(void);
/* Takes effect before the first use only: plugins keep the pointer to the text. */
void tfr__host_hide_features(const char *words);

/* ---- rows of the op table (plugin_ops.c) ---- */

/* Asks the slot schemas for rows, which are of the region. */
tfr_status tfr__ops_ask(const tfr_ops_facet *facet, tfr__region *region, tfr_op_schema **out,
                        uint32_t *n, tfr_err *err);
/* Adds those of the loader's plugins to the op table. What is refused, the plugin's row says. */
tfr_status tfr__ops_add(tfr__loader *loader, tfr_err *err);

/* ---- devices (device.c) ---- */

tfr_status tfr__devices_create(tfr_runtime *runtime, tfr_err *err);
void tfr__devices_destroy(tfr_runtime *runtime);
/* The claims of a reply's device against the op table: states, versions, types by op number. */
uint32_t tfr__claims_match(const tfr__reply_device *device, uint32_t n_table, uint8_t *claims,
                           int32_t *versions, tfr__claim_types *types);
/* device_name.c: numbers of the device and of the backend, or -1; false = no such name. */
bool tfr__device_parse(const tfr_runtime *runtime, const char *name, uint32_t *device,
                       int32_t *backend);
/* "CPU:0 GPU:0 acme:0 naive:0", cut to n bytes. */
const char *tfr__device_names(const tfr_runtime *runtime, char *text, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/plugin.h: the contract between the tfrun core and a plugin, and its only definition.
 *
 * A plugin is a shared object that exports one function, tfrun_plugin_v1, and carries one ELF note,
 * written by TFR_PLUGIN_NOTE. It includes this header and nothing else of tfrun, and it links
 * nothing of tfrun: what the core does for it arrives in the tfr_host table. The header is C99 and
 * C++11 and needs only <stddef.h> and <stdint.h>.
 *
 * Start by copying sdk/template, a whole plugin of one page. The life of a plugin:
 *
 *   note read -> probed in a child process -> dlopen -> tfrun_plugin_v1(host) -> enumerate()
 *     -> open(device) -> supports(call) -> prepare(call) -> launch() ... -> drop(kernel)
 *     -> close(device) -> shutdown() -> (never dlclose'd)
 *
 * Rules that hold everywhere:
 * - Every struct that crosses the border starts with its size, set by whoever fills it. Fields are
 * only appended. The reader copies min(own size, given size) bytes and takes the rest as zero.
 * Arrays of structs travel with a stride; step through them with it, never with sizeof.
 * - Zero, NULL and an absent field mean "default", "none" or "unknown". A NULL slot is legal unless
 * its comment says "required".
 * - A function that can fail returns a tfr_status: 0 or a negative code, and fills the caller's
 * tfr_err (which may be NULL). Outputs are written only on success.
 * - Whoever allocates frees. Strings returned by a plugin live until shutdown, strings and arrays
 * passed to a plugin live until the call returns, unless a comment says otherwise.
 * - No C++ exception, longjmp, abort, exit, write to standard output, signal handler, or change of
 *   locale or floating-point mode crosses the border. No call enters a plugin after shutdown.
 * - The floating-point mode (rounding, flushing to zero, trapping) may be changed inside of a slot
 *   or of a range of parallel_for and is set back before it returns. The core compares it, sets it
 *   back otherwise, and says which plugin it was.
 * - Thread rules: [any] from any thread at any time; [device] one thread at a time per device, the
 * core serializes; [queue] one thread at a time per queue.
 */
#ifndef TFRUN_PLUGIN_H
#define TFRUN_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major version is part of the entry's name. The minor counts appended fields and new facets.
 */
#define TFR_ABI_MAJOR 1
#define TFR_ABI_MINOR 0

/* ---- status and errors ---- */

/* X(NAME, number, sentence). Numbers never change; new ones are appended. */
#define TFR_STATUS_LIST(X)                                                                         \
    X(OK, 0, "done")                                                                               \
    X(EINVAL, -1, "an argument is not valid")                                                      \
    X(ENOMEM, -2, "out of memory")                                                                 \
    X(EUNSUPPORTED, -3, "not supported here")                                                      \
    X(ENOTFOUND, -4, "not found")                                                                  \
    X(ESHAPE, -5, "shapes do not fit")                                                             \
    X(EDTYPE, -6, "element types do not fit")                                                      \
    X(EMODEL, -7, "the model or the data is not valid")                                            \
    X(EIO, -8, "I/O error")                                                                        \
    X(EDEVICE, -9, "the device is not usable")                                                     \
    X(ELOST, -10, "the device is lost")                                                            \
    X(EFALLBACK, -11, "a fallback was needed and is not allowed")                                  \
    X(ETIMEOUT, -12, "timed out")                                                                  \
    X(EPLUGIN, -13, "the plugin broke the contract")                                               \
    X(ELIMIT, -14, "a limit is exceeded")                                                          \
    X(EPERM, -15, "not permitted")                                                                 \
    X(EBUSY, -16, "in use")                                                                        \
    X(EINTERNAL, -17, "a defect of tfrun itself")

typedef enum tfr_status {
#define TFR_STATUS_ENUM(name, number, text) TFR_##name = number,
    TFR_STATUS_LIST(TFR_STATUS_ENUM)
#undef TFR_STATUS_ENUM
} tfr_status;

/* Details of a failure. The caller owns it and sets size; TFR_ERR_INIT does. */
typedef struct tfr_err {
    uint32_t size;
    int32_t code;   /* the tfr_status that was returned */
    int64_t native; /* errno, or the vendor library's own code; 0 = none */
    char text[512]; /* one sentence: object, cause with its numbers, next step */
} tfr_err;

#define TFR_ERR_INIT                                                                               \
    {                                                                                              \
        (uint32_t)sizeof(tfr_err), 0, 0,                                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Why a plugin does not take a call, or a node did not get the kernel it asked for. */
#define TFR_REASON_LIST(X)                                                                         \
    X(NONE, 0, "none")                                                                             \
    X(UNKNOWN_OP, 1, "unknown_op")                                                                 \
    X(OP_VERSION, 2, "op_version")                                                                 \
    X(DIGEST, 3, "digest")                                                                         \
    X(DTYPE, 4, "dtype")                                                                           \
    X(RANK, 5, "rank")                                                                             \
    X(SIZE_LIMIT, 6, "size_limit")                                                                 \
    X(LAYOUT, 7, "layout")                                                                         \
    X(ATTRIBUTE, 8, "attribute")                                                                   \
    X(ALIGNMENT, 9, "alignment")                                                                   \
    X(DYNAMIC_SHAPE, 10, "dynamic_shape")                                                          \
    X(DEVICE_FEATURE, 11, "device_feature")                                                        \
    X(LIBRARY_MISSING, 12, "library_missing")                                                      \
    X(MEMORY, 13, "memory")                                                                        \
    X(NONDETERMINISTIC, 14, "nondeterministic")                                                    \
    X(POLICY, 15, "policy")                                                                        \
    X(QUARANTINED, 16, "quarantined")

typedef enum tfr_reason {
#define TFR_REASON_ENUM(name, number, text) TFR_REASON_##name = number,
    TFR_REASON_LIST(TFR_REASON_ENUM)
#undef TFR_REASON_ENUM
} tfr_reason;

/* ---- element types ---- */

/*
 * X(NAME, number, bits, name). The numbers are ONNX's (TensorProto.DataType). Types under 8 bits
 * are packed, the first element in the low bits; the bytes of a tensor are (elements * bits + 7)
 * / 8. STRING elements are tfr_string.
 */
#define TFR_DTYPE_LIST(X)                                                                          \
    X(F32, 1, 32, "float32")                                                                       \
    X(U8, 2, 8, "uint8")                                                                           \
    X(I8, 3, 8, "int8")                                                                            \
    X(U16, 4, 16, "uint16")                                                                        \
    X(I16, 5, 16, "int16")                                                                         \
    X(I32, 6, 32, "int32")                                                                         \
    X(I64, 7, 64, "int64")                                                                         \
    X(STRING, 8, 128, "string")                                                                    \
    X(BOOL, 9, 8, "bool")                                                                          \
    X(F16, 10, 16, "float16")                                                                      \
    X(F64, 11, 64, "float64")                                                                      \
    X(U32, 12, 32, "uint32")                                                                       \
    X(U64, 13, 64, "uint64")                                                                       \
    X(C64, 14, 64, "complex64")                                                                    \
    X(C128, 15, 128, "complex128")                                                                 \
    X(BF16, 16, 16, "bfloat16")                                                                    \
    X(F8E4M3FN, 17, 8, "float8e4m3fn")                                                             \
    X(F8E4M3FNUZ, 18, 8, "float8e4m3fnuz")                                                         \
    X(F8E5M2, 19, 8, "float8e5m2")                                                                 \
    X(F8E5M2FNUZ, 20, 8, "float8e5m2fnuz")                                                         \
    X(U4, 21, 4, "uint4")                                                                          \
    X(I4, 22, 4, "int4")                                                                           \
    X(F4E2M1, 23, 4, "float4e2m1")                                                                 \
    X(F8E8M0, 24, 8, "float8e8m0")                                                                 \
    X(U2, 25, 2, "uint2")                                                                          \
    X(I2, 26, 2, "int2")

typedef enum tfr_dtype {
    TFR_DTYPE_NONE = 0, /* absent: an optional operand that is not there */
#define TFR_DTYPE_ENUM(name, number, bits, text) TFR_DTYPE_##name = number,
    TFR_DTYPE_LIST(TFR_DTYPE_ENUM)
#undef TFR_DTYPE_ENUM
        TFR_DTYPE_END
} tfr_dtype;

/* One element of a string tensor. The bytes need not be UTF-8 and are not terminated by a zero. */
typedef struct tfr_string {
    const char *data;
    uint64_t bytes;
} tfr_string;

/* No tensor has more dimensions; the core refuses them before any plugin sees them. */
#define TFR_MAX_RANK 16

/* ---- the host's services ---- */

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
     * the value's length, or -1 if the key is not set. Plugins do not read the environment.
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
     * [any]. Gives each block an offset, a multiple of alignment (a power of two), so that blocks
     * that live at the same step do not overlap. *bytes is what all need together, *lower_bound the
     * most bytes alive at one step. The same blocks get the same offsets. TFR_ENOMEM.
     */
    int32_t (*plan)(tfr_arena_block *blocks, uint32_t n, uint64_t alignment, uint64_t *bytes,
                    uint64_t *lower_bound, tfr_err *err);
} tfr_host_arena;

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

/* ---- the plugin ---- */

typedef struct tfr_option {
    const char *key;
    const char *value;
} tfr_option;

/* A device as a plugin finds it. The caller owns the struct; the plugin fills the arrays. */
typedef struct tfr_device_info {
    uint32_t size;
    uint32_t ordinal;  /* the plugin's own number of it */
    char type[16];     /* "CPU", "GPU", "NPU": upper case, becomes the name CPU:0 */
    char identity[64]; /* equal text = same physical device: "host", "pci:0000:3b:00.0", "uuid:..."
                        */
    char name[96];     /* "NVIDIA H100 PCIe"; empty for "host", which the core describes */
    char driver[64];   /* "535.104", empty = none */
    char properties[256];  /* "key=value" lines: "compute_capability=9.0\npci=0000:3b:00.0" */
    uint64_t memory_total; /* bytes, 0 = unknown */
    uint64_t memory_free;  /* bytes, 0 = unknown */
    uint32_t clock_khz;    /* 0 = unknown */
    int32_t numa_node;     /* -1 = unknown */
    int32_t unusable;      /* a tfr_reason when the device is there but cannot be opened, else 0 */
    char why[256];         /* sentence for unusable, with the next step */
} tfr_device_info;

/* The plugin's own open device. */
typedef struct tfr_plugin_device tfr_plugin_device;

typedef struct tfr_plugin {
    uint32_t size;
    uint32_t abi_minor;
    const char *name;       /* required: as in the note, [a-z][a-z0-9-]* */
    const char *version;    /* required: the plugin's own version */
    const char *vendor;     /* NULL = unspecified */
    const char *build_info; /* "key=value" lines: libraries it was built with and has loaded */
    /*
     * required [any]. Fills up to *n infos, stride bytes apart (each with size set by the caller),
     * and sets *n to the number of devices there are, which may be more than fitted. 0 devices is
     * an answer, not an error; err then may hold a sentence that says why. Opens nothing, loads no
     * vendor math library.
     */
    int32_t (*enumerate)(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err);
    /*
     * required [any]. Opens the device that info describes. The same device may be opened more than
     * once (logical devices). Options known to the core: "threads" (CPU: how many it may use),
     * "memory_limit" (bytes). Unknown options are ignored.
     */
    int32_t (*open)(const tfr_device_info *info, const tfr_option *options, uint32_t n_options,
                    tfr_plugin_device **out, tfr_err *err);
    /* required [device]. All kernels are dropped and all queues destroyed before. */
    void (*close)(tfr_plugin_device *device);
    /* required [any]. The table of a facet by id, which lives until shutdown, or NULL. */
    const void *(*facet)(const char *id);
    /* optional [any]. The last call; every device is closed. */
    void (*shutdown)(void);
} tfr_plugin;

/* The bytes of tfr_plugin up to and with facet: what a plugin must fill, for ever. */
#define TFR_PLUGIN_MIN_SIZE ((uint32_t)(offsetof(tfr_plugin, facet) + sizeof(void *)))

/* The entry. Touches no device, starts no thread. *out lives until shutdown. */
typedef int32_t (*tfr_plugin_entry_fn)(const tfr_host *host, const tfr_plugin **out, tfr_err *err);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int32_t
tfrun_plugin_v1(const tfr_host *host, const tfr_plugin **out, tfr_err *err);

/* ---- facet tfr.memory/1 (required) ---- */

#define TFR_MEMORY_V1 "tfr.memory/1"

/* Ordinary host memory, in tfr_copy; every device's own spaces count from 0. */
#define TFR_SPACE_HOST UINT32_MAX

enum {
    TFR_SPACE_HOST_ACCESS = 1u << 0,  /* the host may read and write it like its own */
    TFR_SPACE_DEVICE_ACCESS = 1u << 1 /* kernels of the device may use it */
};

typedef struct tfr_space_info {
    uint32_t size;
    uint32_t flags;     /* TFR_SPACE_... */
    char name[16];      /* "host", "device", "pinned" */
    uint64_t alignment; /* bytes, a power of two; arena slices start at multiples of it */
    uint64_t total;     /* bytes, 0 = unknown */
    uint64_t max_alloc; /* bytes in one alloc, 0 = no limit */
} tfr_space_info;

/* What to copy, rows of bytes each; pitches are from row to row. One row: pitches do not count. */
typedef struct tfr_copy {
    uint32_t dst_space, src_space; /* a space of the device, or TFR_SPACE_HOST */
    void *dst;
    const void *src;
    uint64_t bytes;
    uint64_t rows; /* 0 = 1 */
    uint64_t dst_pitch, src_pitch;
    /* The device that src_space belongs to: another one of the same plugin, or NULL = this one. */
    tfr_plugin_device *src_device;
} tfr_copy;

typedef struct tfr_memory_stats {
    uint32_t size;
    uint32_t reserved;
    uint64_t total, free, in_use, peak; /* bytes, 0 = unknown */
} tfr_memory_stats;

typedef enum tfr_import_kind {
    TFR_IMPORT_HOST = 1,  /* handle is a pointer to host memory, registered for the device */
    TFR_IMPORT_DLPACK = 2 /* handle is a DLManagedTensorVersioned *, kept until free */
} tfr_import_kind;

/* Memory that somebody else allocated. */
typedef struct tfr_import {
    uint32_t size;
    int32_t kind; /* tfr_import_kind */
    void *handle;
    uint64_t bytes;
} tfr_import;

typedef enum tfr_link_kind {
    TFR_LINK_NONE = 0,  /* only through the host, by two copies */
    TFR_LINK_DMA = 1,   /* copy() does it at once */
    TFR_LINK_MAPPED = 2 /* kernels may use the peer's addresses as they are */
} tfr_link_kind;

/* The way from one memory to another; zeros = unknown. */
typedef struct tfr_link {
    uint32_t size;
    int32_t kind; /* tfr_link_kind */
    uint64_t bytes_per_second;
    uint64_t latency_ns;
} tfr_link;

typedef struct tfr_queue tfr_queue;
typedef struct tfr_fence tfr_fence;

/*
 * Addresses: what alloc returns is a device address; adding a byte offset inside the allocation
 * gives another valid one. The core takes large slabs and does pooling, lifetimes and arenas
 * itself. Space 0 is where kernels find their operands; it must have TFR_SPACE_DEVICE_ACCESS.
 */
typedef struct tfr_memory_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [any]. As enumerate: fills up to *n, sets *n to the number of spaces (at least 1).
     */
    int32_t (*spaces)(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride, uint32_t *n,
                      tfr_err *err);
    /* required [device]. bytes > 0; align is a power of two. TFR_ENOMEM: there is not enough. */
    int32_t (*alloc)(tfr_plugin_device *device, uint32_t space, uint64_t bytes, uint64_t align,
                     void **out, tfr_err *err);
    /* required [device]. What alloc gave; NULL is fine. Work that uses it has been waited for. */
    void (*free)(tfr_plugin_device *device, uint32_t space, void *address);
    /*
     * [queue], with queue NULL [device] and done on return. Copies in order. Required unless every
     * space has TFR_SPACE_HOST_ACCESS (then NULL = the core copies). Host memory stays valid and
     * unchanged until the queue has passed the copy.
     */
    int32_t (*copy)(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies, uint32_t n,
                    uint32_t stride, tfr_err *err);
    /* optional [queue], with queue NULL [device]: repeats a byte. NULL = the core copies from the
     * host. */
    int32_t (*fill)(tfr_plugin_device *device, tfr_queue *queue, uint32_t space, void *address,
                    uint8_t byte, uint64_t bytes, tfr_err *err);
    /* optional [any]: counters for the tools. */
    int32_t (*stats)(tfr_plugin_device *device, uint32_t space, tfr_memory_stats *out,
                     tfr_err *err);
    /*
     * optional [device]: makes foreign memory usable in a space; free() ends that, the owner keeps
     * the memory until then. NULL = the core copies. TFR_EUNSUPPORTED for a kind it does not know.
     */
    int32_t (*import_memory)(tfr_plugin_device *device, uint32_t space, const tfr_import *what,
                             void **out, tfr_err *err);
    /*
     * optional [any]: how data get from a peer's space into a space of this device; peer is
     * another device of the same plugin, or NULL for the host. NULL = not known.
     */
    int32_t (*link)(tfr_plugin_device *device, uint32_t space, tfr_plugin_device *peer,
                    uint32_t peer_space, tfr_link *out, tfr_err *err);
} tfr_memory_facet;
#define TFR_MEMORY_MIN_SIZE ((uint32_t)(offsetof(tfr_memory_facet, free) + sizeof(void *)))

/* ---- facet tfr.queue/1 (absent = the device is synchronous) ---- */

#define TFR_QUEUE_V1     "tfr.queue/1"
#define TFR_WAIT_FOREVER UINT64_MAX

/*
 * A queue runs what is put on it in order. A fence is a 64-bit timeline that only grows: signal(v)
 * on a queue makes it v when all earlier work of that queue is done. Work that fails puts its error
 * on the fences signalled after it; every later wait on them returns that error.
 */
typedef struct tfr_queue_facet {
    uint32_t size;
    uint32_t reserved;
    int32_t (*create)(tfr_plugin_device *device, tfr_queue **out,
                      tfr_err *err);                              /* required [device] */
    void (*destroy)(tfr_plugin_device *device, tfr_queue *queue); /* required [device], idle */
    int32_t (*fence_create)(tfr_plugin_device *device, tfr_fence **out,
                            tfr_err *err); /* required [device], at 0 */
    void (*fence_destroy)(tfr_plugin_device *device, tfr_fence *fence); /* required [device] */
    /* required [queue]: enqueue; returns at once. */
    int32_t (*signal)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                      tfr_err *err);
    /* required [queue]: later work of this queue waits until fence >= value; returns at once. */
    int32_t (*wait)(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                    tfr_err *err);
    /* required [any]: blocks until fence >= value; TFR_ETIMEOUT, or the error that the fence
     * carries. */
    int32_t (*host_wait)(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                         uint64_t timeout_ns, tfr_err *err);
} tfr_queue_facet;
#define TFR_QUEUE_MIN_SIZE ((uint32_t)(offsetof(tfr_queue_facet, host_wait) + sizeof(void *)))

/* ---- facet tfr.kernel/1 (required for a backend) ---- */

#define TFR_KERNEL_V1 "tfr.kernel/1"

enum {
    TFR_OPERAND_DYNAMIC = 1u << 0, /* output: dims are upper bounds, launch writes the true ones */
    /*
     * input of supports, propose and compile of backends with TFR_KERNEL_TAKES_UNALIGNED: data is
     * not at a multiple of its element's size, as in a model's file. Whoever reads it copies it
     * bytewise first.
     */
    TFR_OPERAND_UNALIGNED = 1u << 1
};

/* One input or output of a call. */
typedef struct tfr_operand {
    uint32_t size;
    int32_t dtype;  /* tfr_dtype; TFR_DTYPE_NONE = optional and absent, nothing else is set */
    uint32_t flags; /* TFR_OPERAND_... */
    int32_t rank;   /* 0...TFR_MAX_RANK */
    /* rank of them, each >= 0; their product with the element's bits fits 63 bits */
    const int64_t *dims;
    const int64_t *strides; /* in elements; NULL = plain: dense, row-major. May be 0 or negative */
    /*
     * input: the value, plain and readable by the host, if it is known when the kernel is prepared
     * (weights, and always the operands that the op table calls shape arguments: axes, shape,
     * starts, pads...). NULL = known at launch only. It is valid during supports and prepare and,
     * for prepare, until drop.
     */
    const void *data;
} tfr_operand;

/* AttributeProto's numbers. Scalars are arrays of one. */
typedef enum tfr_attr_type {
    TFR_ATTR_FLOAT = 1,
    TFR_ATTR_INT = 2,
    TFR_ATTR_STRING = 3,
    TFR_ATTR_TENSOR = 4,
    TFR_ATTR_GRAPH = 5,
    TFR_ATTR_FLOATS = 6,
    TFR_ATTR_INTS = 7,
    TFR_ATTR_STRINGS = 8
} tfr_attr_type;

typedef struct tfr_attr {
    uint32_t size;
    int32_t type; /* tfr_attr_type */
    const char *name;
    uint64_t n; /* elements */
    const int64_t *ints;
    const float *floats;
    const tfr_string *strings; /* also ended by a zero byte */
    const tfr_operand *tensor; /* plain, with data */
} tfr_attr;

/*
 * How float32 products may be computed, named by the user. What is not strict gives up accuracy for
 * speed: the error is relative to the sum of the absolute products. A backend may always be more
 * exact than asked, so one that knows only strict ignores this.
 */
#define TFR_MATH_MODE_LIST(X)                                                                      \
    X(STRICT, 0, "strict", "float32 arithmetic")                                                   \
    X(F32X6, 1, "f32x6", "each float32 as three bfloat16, six products: as exact as float32")      \
    X(F32X3, 2, "f32x3", "each float32 as two bfloat16, three products: about 2^-16")              \
    X(BF16, 3, "bf16", "each float32 rounded to bfloat16, one product: about 2^-8")

typedef enum tfr_math_mode {
#define TFR_MATH_MODE_ENUM(name, number, text, sentence) TFR_MATH_##name = number,
    TFR_MATH_MODE_LIST(TFR_MATH_MODE_ENUM)
#undef TFR_MATH_MODE_ENUM
} tfr_math_mode;

/*
 * One op with everything fixed: types, shapes, strides, attributes. The core has checked it against
 * the op table before a plugin sees it: counts, types, ranks and dims fit, every attribute that has
 * a default is there, axes are not negative, padding is explicit (auto_pad is never seen), outputs
 * have their inferred shapes. Plugins do not check again.
 */
typedef struct tfr_call {
    uint32_t size;
    int32_t since_version;
    const char *domain; /* "" = ONNX */
    const char *name;   /* "Conv" */
    uint64_t digest;    /* of the op's row in the op table */
    const tfr_attr *attrs;
    const tfr_operand *inputs;
    const tfr_operand *outputs;
    uint32_t n_attrs, attr_stride;
    uint32_t n_inputs, input_stride;
    uint32_t n_outputs, output_stride;
    int32_t math_mode; /* tfr_math_mode */
} tfr_call;

/* An op that the plugin has kernels for. digest 0 = not compared. */
typedef struct tfr_op_claim {
    uint32_t size;
    int32_t since_version;
    const char *domain;
    const char *name;
    uint64_t digest;
    /*
     * Element types that operand 0 (input 0, or output 0 without inputs) may have for a yes on this
     * device: bit n for the type of number n; bits that the op does not admit mean nothing; 0 =
     * unspecified. The tools show it; supports decides.
     */
    uint32_t dtypes;
    /* Types that depend on the processor or on a library's version, whether they are here or not.
     */
    uint32_t dtypes_if;
} tfr_op_claim;

typedef enum tfr_verdict {
    TFR_VERDICT_NO = 0,
    TFR_VERDICT_YES = 1,
    TFR_VERDICT_REORDER = 2, /* yes, once every operand is plain; given only if one is strided */
    TFR_VERDICT_SLOW = 3     /* yes, but another backend is likely faster */
} tfr_verdict;

enum {
    TFR_ANSWER_CAPTURABLE = 1u << 0,
    TFR_ANSWER_NONDETERMINISTIC = 1u << 1, /* two launches give different values */
    /* draws random numbers: another implementation gives other values, with the same seed too */
    TFR_ANSWER_RANDOM = 1u << 2,
    TFR_ANSWER_MATH_MODE = 1u << 3 /* computes in the call's math mode; else it does so strictly */
};

/*
 * The caller zeroes it and sets size. Every verdict but YES carries reason and text; the text of a
 * YES is a note for the user, such as why a math mode is not used.
 */
typedef struct tfr_answer {
    uint32_t size;
    int32_t verdict;          /* tfr_verdict */
    int32_t reason;           /* tfr_reason */
    uint32_t flags;           /* TFR_ANSWER_... */
    uint64_t time_ns;         /* estimate of one launch, 0 = unknown */
    uint64_t workspace_bytes; /* scratch memory of space 0 for each launch, aligned as the space */
    uint64_t host_inputs;     /* bit i: input i is read by the host, so it stays in host memory */
    struct {
        /* this output may be given this input's memory, if nobody reads it later */
        int16_t input, output;
    } in_place[4];
    uint32_t n_in_place;
    char text[256]; /* the sentence, with the number that failed: "k 4096 is more than 1024" */
} tfr_answer;

typedef struct tfr_kernel tfr_kernel;

/*
 * One operand at launch. Absent operands have address NULL; so may operands of 0 elements. This
 * struct never grows: what a later minor knows of an argument comes as another array in tfr_launch.
 */
typedef struct tfr_arg {
    /* in space 0, or host memory if host_inputs says so; aligned to its element at least */
    void *address;
    /*
     * for an output with TFR_OPERAND_DYNAMIC: where the kernel writes the true dims (rank of them),
     * in host memory, before the queue passes the launch. Data are dense for the true dims. Else
     * NULL.
     */
    int64_t *dims;
} tfr_arg;

typedef struct tfr_launch {
    uint32_t size;
    uint32_t n_args;
    /* inputs, then outputs, as in the call; this array is valid during launch only */
    const tfr_arg *args;
    void *workspace; /* workspace_bytes of space 0, or NULL */
    uint64_t run;    /* number of the session's run, for ops that draw random numbers */
    uint64_t id;     /* names this launch in the records of tfr.profile/1; 0 = nobody asks */
} tfr_launch;

enum {
    /*
     * Known operands may have TFR_OPERAND_UNALIGNED, but in prepare. Without this the core makes
     * aligned copies of such data, which takes time and memory if they are large.
     */
    TFR_KERNEL_TAKES_UNALIGNED = 1u << 0
};

typedef struct tfr_kernel_facet {
    uint32_t size;
    uint32_t flags; /* TFR_KERNEL_..., those that the core does not know have no effect */
    /*
     * required [any]. The ops that the plugin has kernels for on this device, as enumerate: fills
     * up to *n claims, stride bytes apart, and sets *n to their number. The core asks supports only
     * about these. A claim meets the op table's row if its since_version is in the row's range of
     * equal meaning and its digest is 0 or equal; else that op alone is off, with a message.
     */
    int32_t (*ops)(tfr_plugin_device *device, tfr_op_claim *out, uint32_t stride, uint32_t *n,
                   tfr_err *err);
    /* required [any]. Pure, fast, allocates nothing. A failing return is a defect; "no" is an
     * answer. */
    int32_t (*supports)(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err);
    /*
     * required [device]. Builds what launches need: descriptors, packed weights, choices. Comes
     * only after a yes for an equal call; failing then (but for TFR_ENOMEM) counts as a defect of
     * the plugin. Copies what it needs of call, the data of its operands aside, which live until
     * drop.
     */
    int32_t (*prepare)(tfr_plugin_device *device, const tfr_call *call, tfr_kernel **out,
                       tfr_err *err);
    /*
     * required [queue]; without the queue facet queue is NULL and the work is done on return, and
     * different kernels, but never one kernel, may be launched by several threads at once.
     * Enqueues; does not wait.
     */
    int32_t (*launch)(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *launch, tfr_err *err);
    /* required [device]. No launch of it is under way. NULL is fine. */
    void (*drop)(tfr_plugin_device *device, tfr_kernel *kernel);
} tfr_kernel_facet;
#define TFR_KERNEL_MIN_SIZE ((uint32_t)(offsetof(tfr_kernel_facet, drop) + sizeof(void *)))

/* ---- facet tfr.layout/1 (optional) ---- */

#define TFR_LAYOUT_V1 "tfr.layout/1"

/* Dense and row-major. Every other number is the plugin's own name of a layout on one device. */
#define TFR_LAYOUT_PLAIN 0

/*
 * A tensor between two programs of one device may lie in a layout that only the plugin reads. The
 * core moves it around as bytes, and turns it into the plain one where somebody else reads it.
 * Layouts are equal if their numbers are; a number means the same until the device is closed.
 */
typedef struct tfr_layout_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [any]. Bytes of a tensor of this type and shape in a layout. */
    int32_t (*bytes)(tfr_plugin_device *device, const tfr_operand *tensor, uint64_t layout,
                     uint64_t *out, tfr_err *err);
    /* required [queue], as launch. One of the two layouts is plain. src and dst lie in space 0. */
    int32_t (*reorder)(tfr_plugin_device *device, tfr_queue *queue, const tfr_operand *tensor,
                       uint64_t from, const void *src, uint64_t to, void *dst, tfr_err *err);
    /* optional [any]. A short name for the tools, "nChw16c"; at most n bytes with the final zero.
     */
    void (*describe)(tfr_plugin_device *device, uint64_t layout, char *out, uint32_t n);
} tfr_layout_facet;
#define TFR_LAYOUT_MIN_SIZE ((uint32_t)(offsetof(tfr_layout_facet, reorder) + sizeof(void *)))

/* ---- facet tfr.program/1 (optional): whole subgraphs ---- */

#define TFR_PROGRAM_V1 "tfr.program/1"

/*
 * A backend with this facet sees the graph before its nodes become kernels, and compiles what it
 * likes as a whole: with layouts, fusions, threads and memory of its own. What it leaves alone, or
 * fails to compile, runs as kernels: every node that it takes has had a yes from supports.
 *
 *   propose(graph) -> groups -> compile(each group) -> launch(program) ... -> drop(program)
 */

enum {
    TFR_VALUE_INPUT = 1u << 0,  /* made outside of the group; without data an argument of launch */
    TFR_VALUE_OUTPUT = 1u << 1, /* read outside of the group: an argument of launch */
    /*
     * INPUT or OUTPUT: everybody else who makes or reads it is a program of the same device, or the
     * core can reorder for the others; so an OUTPUT may get a layout of the plugin.
     */
    TFR_VALUE_ANY_LAYOUT = 1u << 2
};

typedef struct tfr_program_value {
    uint32_t size;
    uint32_t flags;             /* TFR_VALUE_... */
    const tfr_operand *operand; /* type and dims; data of known ones, readable until drop */
    uint64_t layout;            /* INPUT: how it will lie there; TFR_LAYOUT_PLAIN = 0 */
    int32_t node;               /* its maker in this graph, or -1 */
    uint32_t n_readers;         /* nodes of this graph that read it, each counted once */
} tfr_program_value;

enum {
    TFR_NODE_MINE = 1u << 0, /* the core has placed it on this backend: a group may take it */
    /*
     * Reshape, Squeeze and their like: output 0 has the bytes of the plain input 0. The core does
     * it for nothing between programs, and a group may take it.
     */
    TFR_NODE_VIEW = 1u << 1
};

typedef struct tfr_program_node {
    uint32_t size;
    uint32_t flags;        /* TFR_NODE_...; none = somebody else's, here only to be seen */
    const char *name;      /* for messages */
    const tfr_call *call;  /* as supports has seen it, but all operands are plain */
    const int32_t *inputs; /* numbers of values, as many as the call has; -1 = absent */
    const int32_t *outputs;
} tfr_program_node;

/*
 * Nodes stand in an order in which each comes after those whose values it reads. It lives during
 * the call; the data of known operands live until the program is dropped. A constant of the model
 * has one address for all programs of a session, so packed constants can be shared by it; what the
 * core has computed while it planned has an address of its own in each plan. No address is used
 * again for another value before all programs that were given it are dropped.
 */
typedef struct tfr_program_graph {
    uint32_t size;
    uint32_t n_nodes, node_stride;
    uint32_t n_values, value_stride;
    uint32_t n_inputs, n_outputs;
    const tfr_program_node *nodes;
    const tfr_program_value *values;
    const int32_t *inputs;  /* compile: values that are the arguments of launch, in this order, */
    const int32_t *outputs; /* inputs first */
} tfr_program_graph;

/* What a plugin wants with a node. The core sets size, and group to -1. */
typedef struct tfr_proposal {
    uint32_t size;
    int32_t group;  /* nodes with one number >= 0 are compiled together; -1 = leave it alone */
    int32_t reason; /* tfr_reason why it is left alone */
    char text[128]; /* and the sentence */
} tfr_proposal;

typedef struct tfr_compile_options {
    uint32_t size;
    uint32_t blob_bytes;
    /*
     * what save gave for an equal group on an equal machine once, or NULL. It was in a file of the
     * user's: believe nothing that you do not check.
     */
    const void *blob;
    /*
     * [any], during compile alone: the backend has its own form of an operand's data and will
     * hardly read them again, though it may. They can leave memory meanwhile.
     */
    void (*advise_unused)(void *user, const void *data);
    void *user; /* for advise_unused */
} tfr_compile_options;

/* How output i of a program is stored. */
typedef struct tfr_program_output {
    uint32_t size;
    uint32_t reserved;
    uint64_t layout; /* TFR_LAYOUT_PLAIN, or the plugin's own if the value may have any */
} tfr_program_output;

/* The core zeroes it and sets size. */
typedef struct tfr_program_info {
    uint32_t size;
    uint32_t flags;           /* TFR_ANSWER_... */
    uint64_t time_ns;         /* of one launch, estimated or measured; 0 = unknown */
    uint64_t workspace_bytes; /* of space 0 for each launch, aligned as the space */
    uint64_t lower_bound;     /* most bytes of the workspace that hold something at one time */
    uint64_t constant_bytes;  /* packed constants that this program added */
    uint32_t n_kernels;       /* that one launch runs, and */
    uint32_t n_reorders;      /* copies between layouts, edges included */
    char text[256];           /* for the tools: what was fused, how the work is shared out */
} tfr_program_info;

typedef struct tfr_program tfr_program;

typedef struct tfr_program_facet {
    uint32_t size;
    uint32_t reserved;
    /*
     * required [any]. Pure. out has a row for each node, stride bytes apart. A group may be any set
     * of nodes that are MINE or VIEW; where a path leaves it and comes back the core cuts it, so
     * compile may see parts of it.
     */
    int32_t (*propose)(tfr_plugin_device *device, const tfr_program_graph *graph, tfr_proposal *out,
                       uint32_t stride, tfr_err *err);
    /*
     * required [device]. graph holds the nodes of one group alone. outputs has a row for each
     * output, stride bytes apart, plain at first. TFR_EUNSUPPORTED = not as a whole: the nodes
     * become kernels, and that is no defect; any other failure but TFR_ENOMEM is one. May measure;
     * then the same options and graph may give another program, but one of equal values for equal
     * blobs.
     */
    int32_t (*compile)(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *err);
    /* required: as launch of a kernel. */
    int32_t (*launch)(tfr_plugin_device *device, tfr_queue *queue, tfr_program *program,
                      const tfr_launch *launch, tfr_err *err);
    /* required [device]. No launch of it is under way. NULL is fine. */
    void (*drop)(tfr_plugin_device *device, tfr_program *program);
    /*
     * optional [device]. What compile need not find out again, at most *n bytes; sets *n to the
     * bytes there are. The core keeps it and gives it to later compiles of equal groups.
     */
    int32_t (*save)(tfr_plugin_device *device, tfr_program *program, void *out, uint32_t *n,
                    tfr_err *err);
} tfr_program_facet;
#define TFR_PROGRAM_MIN_SIZE ((uint32_t)(offsetof(tfr_program_facet, drop) + sizeof(void *)))

/* ---- facet tfr.profile/1 (optional) ---- */

#define TFR_PROFILE_V1 "tfr.profile/1"

typedef enum tfr_profile_kind {
    TFR_PROFILE_KERNEL = 1,
    TFR_PROFILE_COPY = 2,
    TFR_PROFILE_REORDER = 3,
    TFR_PROFILE_WAIT = 4
} tfr_profile_kind;

/* Something that took time inside a launch. Times are CLOCK_MONOTONIC, in ns. */
typedef struct tfr_profile_record {
    uint32_t size;
    int32_t kind;  /* tfr_profile_kind */
    uint64_t id;   /* of the launch; 0 = of a copy or reorder that the core asked for, in order */
    uint32_t lane; /* thread or queue of the device, from 0 */
    int32_t node;  /* number of the node in the program's graph, -1 = several or none */
    uint64_t begin_ns, end_ns;
    uint64_t bytes; /* moved at least; 0 = unspecified */
    uint64_t flops; /* 0 = unspecified */
    char name[64];  /* what ran: "jit:avx512_core conv+relu" */
} tfr_profile_record;

typedef struct tfr_profile_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [device]. on not 0: launches with an id are recorded from now on. */
    int32_t (*start)(tfr_plugin_device *device, int32_t on, tfr_err *err);
    /*
     * required [device], with nothing under way. Takes up to *n records, oldest first, and sets *n
     * to their number; 0 = no more. A plugin may drop the newest ones when its buffer is full.
     */
    int32_t (*drain)(tfr_plugin_device *device, tfr_profile_record *out, uint32_t stride,
                     uint32_t *n, tfr_err *err);
} tfr_profile_facet;
#define TFR_PROFILE_MIN_SIZE ((uint32_t)(offsetof(tfr_profile_facet, drain) + sizeof(void *)))

/* ---- reading a call ---- */

static inline const tfr_operand *tfr_call_input(const tfr_call *call, uint32_t i)
{
    const tfr_operand *o;
    if (i >= call->n_inputs)
        return NULL;
    o = (const tfr_operand *)(const void *)((const char *)call->inputs +
                                            (size_t)i * call->input_stride);
    return o->dtype == TFR_DTYPE_NONE ? NULL : o; /* NULL = absent */
}

static inline const tfr_operand *tfr_call_output(const tfr_call *call, uint32_t i)
{
    const tfr_operand *o;
    if (i >= call->n_outputs)
        return NULL;
    o = (const tfr_operand *)(const void *)((const char *)call->outputs +
                                            (size_t)i * call->output_stride);
    return o->dtype == TFR_DTYPE_NONE ? NULL : o;
}

static inline const tfr_attr *tfr_call_attr(const tfr_call *call, const char *name)
{
    uint32_t i;
    for (i = 0; i < call->n_attrs; i++) {
        const tfr_attr *a = (const tfr_attr *)(const void *)((const char *)call->attrs +
                                                             (size_t)i * call->attr_stride);
        const char *x = a->name, *y = name;
        while (*x && *x == *y)
            x++, y++;
        if (*x == *y)
            return a;
    }
    return NULL;
}

static inline int64_t tfr_call_int(const tfr_call *call, const char *name, int64_t absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_INT && a->n == 1 ? a->ints[0] : absent;
}

static inline float tfr_call_float(const tfr_call *call, const char *name, float absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_FLOAT && a->n == 1 ? a->floats[0] : absent;
}

/* The string, ended by a zero byte, or absent. */
static inline const char *tfr_call_string(const tfr_call *call, const char *name,
                                          const char *absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_STRING && a->n == 1 ? a->strings[0].data : absent;
}

/* The numbers of an attribute of exactly n of them, or NULL. */
static inline const int64_t *tfr_call_ints(const tfr_call *call, const char *name, uint64_t n)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_INTS && a->n == n ? a->ints : NULL;
}

/* Product of dims [begin, end); 1 where there are none. */
static inline int64_t tfr_operand_span(const tfr_operand *o, int32_t begin, int32_t end)
{
    int64_t n = 1;
    for (; begin < end; begin++)
        n *= o->dims[begin];
    return n;
}

/* Product of all dims; 1 for rank 0. */
static inline int64_t tfr_operand_elements(const tfr_operand *o)
{
    return tfr_operand_span(o, 0, o->rank);
}

/* 1 = both have the same rank and dims. */
static inline int tfr_operand_same_dims(const tfr_operand *a, const tfr_operand *b)
{
    int32_t i = 0;
    while (i < a->rank && i < b->rank && a->dims[i] == b->dims[i])
        i++;
    return i == a->rank && i == b->rank;
}

/* 1 = dense and row-major: strides are absent, or say no more than that. */
static inline int tfr_operand_is_plain(const tfr_operand *o)
{
    int64_t n = 1;
    int32_t i;
    for (i = o->rank - 1; o->strides && i >= 0; i--) {
        if (o->dims[i] != 1 && o->strides[i] != n)
            return 0;
        n *= o->dims[i];
    }
    return 1;
}

static inline uint32_t tfr_dtype_bits(int32_t dtype)
{
    switch (dtype) {
#define TFR_DTYPE_BITS(name, number, bits, text)                                                   \
    case number:                                                                                   \
        return bits;
        TFR_DTYPE_LIST(TFR_DTYPE_BITS)
#undef TFR_DTYPE_BITS
    default:
        return 0;
    }
}

/* ---- facts before code ---- */

enum { TFR_PLUGIN_BACKEND = 1, TFR_PLUGIN_COMM = 2 };

enum {
    TFR_SANITIZER_ADDRESS = 1u << 0,
    TFR_SANITIZER_THREAD = 1u << 1,
    TFR_SANITIZER_MEMORY = 1u << 2
};

#if defined(__has_feature)
#define TFR__HAS_FEATURE(x) __has_feature(x)
#else
#define TFR__HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TFR__HAS_FEATURE(address_sanitizer)
#define TFR__SAN_A TFR_SANITIZER_ADDRESS
#else
#define TFR__SAN_A 0u
#endif
#if defined(__SANITIZE_THREAD__) || TFR__HAS_FEATURE(thread_sanitizer)
#define TFR__SAN_T TFR_SANITIZER_THREAD
#else
#define TFR__SAN_T 0u
#endif
#if TFR__HAS_FEATURE(memory_sanitizer)
#define TFR__SAN_M TFR_SANITIZER_MEMORY
#else
#define TFR__SAN_M 0u
#endif
#define TFR_SANITIZERS (TFR__SAN_A | TFR__SAN_T | TFR__SAN_M)

#define TFR_NOTE_OWNER "tfrun"
#define TFR_NOTE_TYPE  1u

/* The descriptor of the ELF note; little or big endian as the file is. Read without running
 * anything. */
typedef struct tfr_note {
    uint32_t size;
    uint32_t abi_major, abi_minor;
    uint32_t kind;    /* TFR_PLUGIN_... */
    int32_t priority; /* higher is asked first among the backends of a device; 0 the reference, 100
                         usual */
    uint32_t sanitizer; /* TFR_SANITIZER_... that it was built with */
    char name[32];
    char cpu_features[96]; /* space-separated Linux names that the file's code needs at load: "avx2
                              fma" */
} tfr_note;

typedef struct tfr_note_record {
    uint32_t namesz, descsz, type;
    char owner[8];
    tfr_note note;
} tfr_note_record;

/* Once per plugin, at file scope: TFR_PLUGIN_NOTE("acme", TFR_PLUGIN_BACKEND, 100, ""); */
#define TFR_PLUGIN_NOTE(plugin_name, plugin_kind, default_priority, needed_cpu_features)           \
    __attribute__((section(".note.tfrun"), used,                                                   \
                   aligned(4))) static const tfr_note_record tfr_plugin_note = {                   \
        (uint32_t)sizeof(TFR_NOTE_OWNER),                                                          \
        (uint32_t)sizeof(tfr_note),                                                                \
        TFR_NOTE_TYPE,                                                                             \
        TFR_NOTE_OWNER,                                                                            \
        {(uint32_t)sizeof(tfr_note), TFR_ABI_MAJOR, TFR_ABI_MINOR, plugin_kind, default_priority,  \
         TFR_SANITIZERS, plugin_name, needed_cpu_features}}

/*
 * A library that the plugin does not link but opens with dlopen when it first needs it: loading a
 * large one takes milliseconds of every process, also of those that never use it. At file scope,
 * once for each: TFR_PLUGIN_OPENS("libacme-blas.so.2"); the argument is a literal. The core looks
 * for the library, and for what it needs itself, as for those that are linked, and says which are
 * missing; packagers' tools make dependencies of the same note. It is the note .note.dlopen of
 * https://uapi-group.org/specifications/specs/elf_dlopen_metadata/ with the priority "required";
 * notes of that form which were made by other means count as well. See TFR_HOST_PROBE_V1, too.
 * TFR_PLUGIN_MAY_OPEN is for a library that only some calls need, and that supports declines them
 * without: priority "recommended", which packagers' tools read and the core does not.
 */
#define TFR_DLOPEN_NOTE_OWNER "FDO"
#define TFR_DLOPEN_NOTE_TYPE  0x407c0c0au
#define TFR__OPENS_TEXT(soname, priority)                                                          \
    "[{\"feature\":\"" soname "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}]"
#define TFR__OPENS_NAME2(line)      tfr_plugin_opens_##line
#define TFR__OPENS_NAME(line)       TFR__OPENS_NAME2(line)
#define TFR_PLUGIN_OPENS(soname)    TFR__OPENS_NOTE(TFR__OPENS_TEXT(soname, "required"))
#define TFR_PLUGIN_MAY_OPEN(soname) TFR__OPENS_NOTE(TFR__OPENS_TEXT(soname, "recommended"))
#define TFR__OPENS_NOTE(json)                                                                      \
    __attribute__((section(".note.dlopen"), used, aligned(4))) static const struct {               \
        uint32_t namesz, descsz, type;                                                             \
        char owner[4];                                                                             \
        char text[(sizeof(json) + 3) / 4 * 4];                                                     \
    } TFR__OPENS_NAME(__LINE__) = {(uint32_t)sizeof(TFR_DLOPEN_NOTE_OWNER),                        \
                                   (uint32_t)sizeof(json), TFR_DLOPEN_NOTE_TYPE,                   \
                                   TFR_DLOPEN_NOTE_OWNER, json}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_memory.h: facet tfr.memory/1, required; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_MEMORY_H
#define TFRUN_PLUGIN_MEMORY_H

#include <tfrun/plugin_device.h>

#define TFR_MEMORY_V1 "tfr.memory/1"

/* Ordinary host memory, in tfr_copy; every device's own spaces count from 0. */
#define TFR_SPACE_HOST UINT32_MAX

enum {
    TFR_SPACE_HOST_ACCESS = 1u << 0,   /* the host may read and write it like its own */
    TFR_SPACE_DEVICE_ACCESS = 1u << 1, /* kernels of the device may use it */
    /*
     * Roles, which the core picks spaces by, the first of each role. Both are reached by addresses.
     * PINNED: host memory that a queue copies from and to without blocking; needs HOST_ACCESS. On a
     * device with queues all copies between host and device then go through it, and none names
     * TFR_SPACE_HOST; without it copies of ordinary host memory may block. TRANSFER: small pieces
     * that kernels write and the host reads at the same address, without a copy, once it has waited
     * for the queue, such as dims that are known late (tfr_arg); needs both accesses.
     */
    TFR_SPACE_PINNED = 1u << 2,
    TFR_SPACE_TRANSFER = 1u << 3,
    /*
     * What alloc gives is no address but names a buffer of the driver (cl_mem), which nothing can
     * be added to: places in it are given as that name and an offset in bytes.
     */
    TFR_SPACE_HANDLES = 1u << 4
};

/* A space with a flag of TFR_MUST_UNDERSTAND that the core does not know is not used. */
typedef struct tfr_space_info {
    uint32_t size;
    uint32_t flags;     /* TFR_SPACE_... */
    char name[16];      /* "host", "device", "pinned", for messages */
    uint64_t alignment; /* bytes, a power of two; arena slices start at multiples of it */
    uint64_t max_alloc; /* bytes in one alloc, 0 = no limit; the core asks for no more */
    /*
     * Of space 0: the memory that it is a part of, "" = nobody else's. In space 0 of a device of
     * another plugin, or of another device, with an equal text the core may then pass what that one
     * has allocated, as arguments and to copy, as if alloc had given it here; the flags are to be
     * equal, too. Name the driver and what makes its addresses mean the same, not the hardware
     * alone: "cuda:primary-context:GPU-5d2c...". Each frees what it has allocated, and only when
     * work of the others that uses it has been waited for. The core orders such work: by wait
     * within a plugin, else on the host. What others allocated goes with their device when that is
     * lost.
     */
    char domain[64];
} tfr_space_info;

enum {
    /* What stays for many runs: constants, which queues of several sessions read at a time, and
     * states of variables. */
    TFR_ALLOC_CONSTANTS = 1u << 0,
    TFR_ALLOC_ARENA = 1u << 1,   /* intermediate values of one plan, and workspaces */
    TFR_ALLOC_STAGING = 1u << 2, /* on the way between host and device: pinned, or device */
    TFR_ALLOC_DIMS = 1u << 3     /* true dims of outputs (tfr_arg): in a transfer space */
};

/* How memory is wanted; NULL = zeros. The core sets size. */
typedef struct tfr_alloc_options {
    uint32_t size;
    uint32_t flags; /* TFR_ALLOC_..., what it is for: a hint */
    uint64_t align; /* a power of two, 0 = the space's */
} tfr_alloc_options;

/* What to copy. Offsets are 0 but in a space with TFR_SPACE_HANDLES. */
typedef struct tfr_copy {
    uint32_t size;
    uint32_t flags;                /* none yet */
    uint32_t dst_space, src_space; /* a space of the device, or TFR_SPACE_HOST */
    void *dst;
    uint64_t dst_offset;
    const void *src;
    uint64_t src_offset;
    uint64_t bytes;
    /* The device that src_space belongs to: another one of the same plugin, or NULL = this one. */
    tfr_plugin_device *src_device;
} tfr_copy;

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

/*
 * Addresses: what alloc returns is a device address; adding a byte offset inside the allocation
 * gives another valid one, but in a space with TFR_SPACE_HANDLES, where both stay apart. The core
 * takes large slabs and does pooling, lifetimes and arenas itself. Space 0 is where kernels find
 * their operands; it must have TFR_SPACE_DEVICE_ACCESS.
 */
typedef struct tfr_memory_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [any]. As enumerate: fills up to *n, sets *n to the number of spaces (at least 1).
     */
    int32_t (*spaces)(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride, uint32_t *n,
                      tfr_err *err);
    /*
     * required [device]. bytes > 0, at most max_alloc. TFR_ENOMEM: there is not enough, or it would
     * be more than the option memory_limit of open, which the plugin keeps to: it counts what alloc
     * gave and what it takes for itself, or says the latter to tfr.host.account/1 and leaves the
     * limit to the core. The core then drops what it can do without, calls trim, and tries again.
     */
    int32_t (*alloc)(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                     const tfr_alloc_options *options, void **out, tfr_err *err);
    /* required [device]. What alloc gave; NULL is fine. Work that uses it has been waited for. */
    void (*free)(tfr_plugin_device *device, uint32_t space, void *address);
    /*
     * [queue], with queue NULL [device] and done on return. Copies in order. Required unless every
     * space has TFR_SPACE_HOST_ACCESS (then NULL = the core copies). Host memory stays valid and
     * unchanged until the queue has passed the copy.
     */
    int32_t (*copy)(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies, uint32_t n,
                    uint32_t stride, tfr_err *err);
    /*
     * optional [any]: how data get from a peer's space into a space of this device; peer is
     * another device of the same plugin, or NULL for the host. NULL = not known.
     */
    int32_t (*link)(tfr_plugin_device *device, uint32_t space, tfr_plugin_device *peer,
                    uint32_t peer_space, tfr_link *out, tfr_err *err);
    /*
     * optional [device]: gives back to the device what the plugin keeps for later and nobody uses:
     * pools, caches, workspaces. Called when an alloc got no memory, before it is tried again.
     */
    void (*trim)(tfr_plugin_device *device);
} tfr_memory_facet;
#define TFR_MEMORY_MIN_SIZE ((uint32_t)(offsetof(tfr_memory_facet, free) + sizeof(void *)))

/*
 * What a plugin takes of a device's memory for itself: workspaces of a library, packed weights. A
 * plugin that says so for all of it leaves the option memory_limit of open to the core, which
 * counts that and what alloc has given; one that never does keeps to the limit alone.
 */
#define TFR_HOST_ACCOUNT_V1 "tfr.host.account/1"
typedef struct tfr_host_account {
    uint32_t size;
    uint32_t reserved;
    /*
     * [any], from within slots, too, but not before open has returned. Before the memory is taken;
     * what it is for is told to users: "workspace of acme-blas". TFR_ENOMEM: it would be more than
     * memory_limit, and is not to be taken; err says the numbers, and a slot returns both.
     */
    int32_t (*take)(tfr_plugin_device *device, const char *what, uint64_t bytes, tfr_err *err);
    /* [any]. So many bytes were given back. */
    void (*give)(tfr_plugin_device *device, uint64_t bytes);
} tfr_host_account;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_comm.h: facet tfr.comm/1, optional: collectives between devices; included by
 * tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_COMM_H
#define TFRUN_PLUGIN_COMM_H

#include <tfrun/plugin_kernel.h>

#define TFR_COMM_V1 "tfr.comm/1"

/* One rank's part in a group. */
typedef struct tfr_comm tfr_comm;

/*
 * A group is n ranks, each a device of this plugin in some process, in one or on several machines;
 * a device may be a rank of several groups. Its life:
 *
 *   rank 0: unique_id -> the core brings the bytes to all ranks -> each: init
 *     -> enqueue ... -> drop, or, after a failure anywhere: abort -> drop
 *
 * What the core keeps to:
 *
 * - All ranks call init of a group, each on a thread of its own if several are of one process.
 * - All ranks enqueue the same collectives in the same order: of equal kind, count, dtype,
 *   reduction and root. SEND and RECV are in order between the two ranks alone. A plugin may find
 *   out that they are not equal and fail; it need not.
 * - One thread at a time is in enqueue of a communicator. Its collectives all go to one queue, or
 *   to several with waits that put them in the order in which they are enqueued.
 * - Groups that have more than one device in common: their collectives are enqueued in one order on
 *   all of these.
 * - A thread that enqueues for several ranks does so between group_begin and group_end, and so does
 *   one that sends and receives what its peer waits for.
 * - After the first failure of a communicator nothing but error, abort and drop is called, and all
 *   other ranks are aborted, too; who goes on makes a new group, with an id of its own.
 *
 * What the plugin keeps to:
 *
 * - enqueue does not wait for other ranks on a device with queues: it only puts work on the queue.
 *   Without queues it does the work and is done on return.
 * - A rank that ends, cannot be reached or is aborted fails the collectives under way on all others
 *   as soon as the plugin knows it: their fences carry TFR_EDEVICE then, error says it, and slots
 *   that wait return it, with the rank in the text if it is known. TFR_ELOST is for a device of the
 *   communicator's own rank.
 * - Sums are added up in an order that all ranks share: ALLREDUCE gives each the same bits. With
 *   equal groups and TFR_COLLECTIVE_DETERMINISTIC so do two collectives of equal inputs.
 */

/* X(NAME, number, name). AVG is the sum divided by the number of ranks. */
#define TFR_REDUCTION_LIST(X)                                                                      \
    X(SUM, 0, "sum")                                                                               \
    X(PROD, 1, "prod")                                                                             \
    X(MIN, 2, "min")                                                                               \
    X(MAX, 3, "max")                                                                               \
    X(AVG, 4, "avg")

typedef enum tfr_reduction {
#define TFR_REDUCTION_ENUM(name, number, text) TFR_REDUCTION_##name = number,
    TFR_REDUCTION_LIST(TFR_REDUCTION_ENUM)
#undef TFR_REDUCTION_ENUM
} tfr_reduction;

/*
 * X(NAME, number, name, src, dst): elements of src and of dst, for n ranks and c = count. In place
 * is allowed where it says how, with the very addresses; else src and dst do not overlap.
 *
 *   ALLREDUCE      in place: dst = src
 *   BROADCAST      of the rank `peer`, whose src is read alone; in place: dst = src
 *   ALLGATHER      dst is all srcs by rank; in place: src = element rank * c of dst
 *   REDUCESCATTER  rank r gets part r of the sum; in place: dst = element rank * c of src
 *   SEND, RECV     to and from the rank `peer`, not itself
 */
#define TFR_COLLECTIVE_LIST(X)                                                                     \
    X(ALLREDUCE, 1, "allreduce", c, c)                                                             \
    X(BROADCAST, 2, "broadcast", c, c)                                                             \
    X(ALLGATHER, 3, "allgather", c, (n * c))                                                       \
    X(REDUCESCATTER, 4, "reducescatter", (n * c), c)                                               \
    X(SEND, 5, "send", c, 0)                                                                       \
    X(RECV, 6, "recv", 0, c)

typedef enum tfr_collective_kind {
#define TFR_COLLECTIVE_ENUM(name, number, text, src, dst) TFR_COLLECTIVE_##name = number,
    TFR_COLLECTIVE_LIST(TFR_COLLECTIVE_ENUM)
#undef TFR_COLLECTIVE_ENUM
} tfr_collective_kind;

enum {
    /* as TFR_CALL_DETERMINISTIC; TFR_EUNSUPPORTED if it cannot be promised */
    TFR_COLLECTIVE_DETERMINISTIC = 1u << 16
};

/*
 * One rank's part in a collective. The core has checked the kind, the numbers and the sizes, and
 * sets size. Memory is of space 0, aligned to its elements, and stays until the queue has passed.
 */
typedef struct tfr_collective {
    uint32_t size;
    int32_t kind;      /* tfr_collective_kind */
    int32_t dtype;     /* tfr_dtype of at least 8 bits, no STRING */
    int32_t reduction; /* tfr_reduction, of ALLREDUCE and REDUCESCATTER; else 0 */
    uint32_t flags;    /* TFR_COLLECTIVE_DETERMINISTIC */
    uint32_t peer;     /* of BROADCAST, SEND and RECV; else 0 */
    uint64_t count;    /* elements, as said above; may be 0 */
    tfr_arg src, dst;  /* without dims; address NULL where there is none or it has no elements */
    uint64_t id;       /* as tfr_launch.id */
    /* without a queue: so long it may wait for other ranks, then it returns TFR_ETIMEOUT */
    uint64_t timeout_ns;
} tfr_collective;

/*
 * Where ranks find each other: pairs of a key and some bytes that all processes of a group see, the
 * host's. Keys are of the plugin's choice, at most 128 bytes; no other group sees them. All slots
 * are [any], from threads of the plugin, too, from init until drop returns.
 */
typedef struct tfr_comm_store {
    uint32_t size;
    uint32_t reserved;
    void *user;
    /* A key is put once: TFR_EBUSY = it is there already. At most 65536 bytes. */
    int32_t (*put)(void *user, const char *key, const void *value, uint64_t bytes, tfr_err *err);
    /*
     * Waits until somebody has put the key. *n is the room in out and becomes the bytes there are;
     * if these are more, nothing was written: come again. TFR_ETIMEOUT after timeout_ns, and
     * TFR_EDEVICE as soon as the group is given up: then give up, too.
     */
    int32_t (*get)(void *user, const char *key, void *out, uint64_t *n, uint64_t timeout_ns,
                   tfr_err *err);
    /*
     * Not 0 = the group is given up. Whoever waits in init for anything but get asks this at least
     * every 100 ms, and gives up, too, with TFR_EDEVICE.
     */
    int32_t (*given_up)(void *user);
} tfr_comm_store;

/* A group, and which rank this is. The core sets size. */
typedef struct tfr_comm_options {
    uint32_t size;
    uint32_t flags; /* none yet */
    uint32_t rank, n_ranks;
    const char *group; /* its name, for messages */
    const void *id;    /* what unique_id gave to rank 0 */
    uint64_t id_bytes;
    uint64_t timeout_ns;         /* init: so long it may wait for other ranks */
    const tfr_comm_store *store; /* stays until drop */
} tfr_comm_options;

typedef struct tfr_comm_facet {
    uint32_t size;
    uint32_t reserved;
    /*
     * required [any]. Once for each group, in the process of rank 0: bytes that tell all ranks
     * where they meet, at most *n, which is 1024; sets *n. 0 bytes = the store is enough.
     */
    int32_t (*unique_id)(tfr_plugin_device *device, void *out, uint64_t *n, tfr_err *err);
    /*
     * required [any]. Returns when all ranks are there. TFR_ETIMEOUT if they are not in time, with
     * those that are missing in the text, if they are known; nothing is left behind then.
     */
    int32_t (*init)(tfr_plugin_device *device, const tfr_comm_options *options, tfr_comm **out,
                    tfr_err *err);
    /*
     * required [queue], and one thread at a time for each communicator; queue is NULL without the
     * queue facet, and several threads may be in it for several communicators. TFR_EUNSUPPORTED for
     * a dtype or a reduction that is not there: nothing has happened then, and the communicator
     * goes on. After any other failure it is at its end.
     */
    int32_t (*enqueue)(tfr_plugin_device *device, tfr_queue *queue, tfr_comm *comm,
                       const tfr_collective *collective, tfr_err *err);
    /*
     * required [any]. Between the two what this thread enqueues, on any communicators of the
     * plugin, is one: no part waits for another one. enqueue may leave all to group_end, which then
     * returns the failure; without queues it has to. Never nested; group_end is always called.
     */
    int32_t (*group_begin)(tfr_err *err);
    int32_t (*group_end)(tfr_err *err);
    /*
     * required [any]: never waits. TFR_OK = there is nothing wrong so far; else what is, for ever.
     * The core asks while it waits for a queue.
     */
    int32_t (*error)(tfr_plugin_device *device, tfr_comm *comm, tfr_err *err);
    /*
     * required [any], while other threads are in slots of the communicator, too: gives up what is
     * under way, here and on all other ranks, without waiting for any. Queues go on, their fences
     * carry a failure; slots that wait return. Does nothing the second time.
     */
    void (*abort)(tfr_plugin_device *device, tfr_comm *comm);
    /*
     * required [any], no thread is in a slot of it, and what was enqueued has ended. NULL is fine.
     * Does not wait for other ranks: those may drop earlier or later.
     */
    void (*drop)(tfr_plugin_device *device, tfr_comm *comm);
} tfr_comm_facet;
#define TFR_COMM_MIN_SIZE ((uint32_t)(offsetof(tfr_comm_facet, drop) + sizeof(void *)))

#endif

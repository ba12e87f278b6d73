/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator.h: the inside of the fake accelerator, a plugin for tests that behaves as a device of
 * its own would: its memory is not the host's, its queues run late and on their own threads, its
 * memory is small, it knows few ops, and it can fail and get lost. It also watches the host: what
 * breaks the contract is logged as an error and fails the call with TFR_EPLUGIN.
 *
 * It includes only the contract, the C library and pthread, as any plugin could.
 *
 * Options (plugin "fakeacc"), read when a device is opened:
 *   devices       how many there are (1, at most 4)
 *   memory_limit  bytes of a device (1048576); the option of open goes first
 *   size_limit    most elements of an operand (65536)
 *   delay_us      what a queue waits before each piece of work (100)
 *   lose_after    launches that work; the next one loses the device
 *   fail_after    launches that work; the next one fails, on the queue
 *   names_launch  0 = such an error does not say which launch it is (1)
 *   sticky        1 = launch on a queue whose work failed tells of it, too (0)
 *   hang_after    launches that work; the next one does not end
 *   hang_ms       but after so long (0 = never)
 *   abort         0 = the slot refuses (1)
 *   queue_limit   most queues at a time (0 = any)
 *   max_alloc     most bytes of one allocation (0 = any)
 *   pool          1 = what is freed is not free before trim (0)
 *   programs      0 none (default), 1 all nodes that it may have in one group, 2 each in its own
 *   pinned        1 = a space with TFR_SPACE_PINNED
 *   pinned_limit  bytes that it has (16777216)
 *   pageable_blocks
 *                 1 = a copy from or to ordinary host memory, on a queue, waits until it is done,
 *                 and says so in the log, as a warning
 *   host_results  1 = launch computes Add, Mul and Relu of one element, on the host
 *   transfer      1 = a space with TFR_SPACE_TRANSFER, where dims of dynamic outputs have to be
 *   wrong_dims    1 = kernels tell a dim beyond the bound, 2 = they tell none, 3 = one too few
 *                 (0)
 *   profile       0 = start of the facet tfr.profile/1 fails (1)
 *   early_waits   1 = a wait may be put on a queue before the signal that it waits for (0)
 *   unsteady      its kernels are nondeterministic: 1 = it says no where they must not be, 2 = it
 *                 says yes, and what they are, 3 = only prepare and compile say what they are (0)
 *   concurrent    1 = prepare and compile may be called at any time; a test sets the flags (0)
 *   saves         1 = a program can be saved, 2 = and compile believes the blob, 3 = save writes
 *                 one byte more than it may (0)
 *   ignores_waits 1 = a queue does not wait for fences (0)
 *   launch_waits  1 = launch returns when its queue is empty (0)
 *   loses_errors  1 = fences do not carry failures (0)
 *   capture       0 = no launch is capturable, 2 = begin fails, 3 = end, 4 = a replay (1)
 *   links         0 = devices exchange through the host alone (1)
 *   uuid          1 = a device's identity is "uuid:N", and "fake:N" is one more (0)
 *   own_bytes     bytes that each kernel takes for itself, as it tells the host (0)
 *   lender        a plugin for the host's memory, such as the reference: its kernels compute what
 *                 the accelerator's own do not
 *   domain        a number: memory of device N is of the domain "fake:NUMBER:N" (0 = of none)
 *
 * Two plugins are made of it, fakeacc and fakeacc2, as two libraries come with one driver: with
 * equal domains each computes in the other's memory.
 */
#ifndef TFR_TESTS_FAKE_ACCELERATOR_H
#define TFR_TESTS_FAKE_ACCELERATOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <tfrun/fail.h>

#ifndef FAKE_NAME /* a second plugin of the same driver has another one */
#define FAKE_NAME "fakeacc"
#endif
#define FAKE_ALIGNMENT    256
#define FAKE_MAX_RANK     4
#define FAKE_MATMUL_MAX_K 1024
#define FAKE_MAX_LENT     16 /* operands of a lent kernel */
/* Of operands, a workspace or dims, a state of random numbers. */
#define FAKE_MAX_BLOCKS  (FAKE_MAX_LENT + 2)
#define FAKE_MAX_SPACES  2 /* behind space 0 */
#define FAKE_MAX_RECORDS 4096

/* An allocation. Its user's work that is still queued is counted. */
typedef struct fake_block {
    struct fake_block *next; /* by address */
    uint64_t offset;
    uint64_t bytes;    /* as asked for */
    uint64_t capacity; /* up to the next multiple of the alignment */
    void *handle;      /* what alloc gave, if it gives handles; behind space 0 the address */
    uint32_t space;
    uint32_t n_pending;
} fake_block;

/* A space behind space 0. */
typedef struct fake_space {
    const char *name;
    uint32_t flags; /* 0 = there is none */
} fake_space;

typedef struct fake_failure {
    int32_t code; /* 0 = none */
    int64_t native;
    uint64_t launch; /* whose, 0 = nobody's */
    char text[256];
} fake_failure;

typedef enum fake_kind { FAKE_COPY, FAKE_FILL, FAKE_LAUNCH, FAKE_SIGNAL, FAKE_WAIT } fake_kind;

/* A piece of work. Addresses are the host's, or already in the shadow mapping. */
typedef struct fake_item {
    struct fake_item *next;
    tfr_queue *via; /* that it was put on: the queue, or one made of it */
    fake_kind kind;
    fake_block *blocks[FAKE_MAX_BLOCKS];
    tfr_executable *executable; /* that it is a piece of, when it is replayed */
    void *dst;
    const void *src;
    uint64_t bytes;
    tfr_plugin_device *peer; /* src is in its memory; NULL = this device's or the host's */
    uint64_t checksum;       /* of src, if it is the host's: it has to stay unchanged */
    bool has_checksum;
    uint8_t byte;
    tfr_kernel *kernel;
    float *args[3];
    tfr_arg lent[FAKE_MAX_LENT];
    void *workspace;
    float scalar; /* what a launch read of a host input */
    const tfr_random_state *random;
    int64_t *dims; /* where a launch writes those of its output */
    uint64_t id;   /* of the launch */
    int32_t node;  /* of a program, or -1 */
    tfr_fence *fence;
    uint64_t value;
} fake_item;

enum { FAKE_BEGIN_FAILS = 2, FAKE_END_FAILS, FAKE_REPLAY_FAILS }; /* the option capture */

struct tfr_executable {
    tfr_executable *next;
    fake_item *first;
    fake_item **end;
    uint32_t n_items, n_pending;
    bool is_gone; /* memory that it uses was freed */
};

struct tfr_fence {
    tfr_fence *next;
    tfr_plugin_device *device;
    const tfr_queue *signaller; /* NULL until the first signal */
    uint64_t value;
    uint64_t promised;  /* the greatest value that a queue is to signal */
    uint32_t n_pending; /* signals and waits in queues of all devices, threads in host_wait */
    fake_failure failure;
};

struct tfr_queue {
    tfr_queue *next;
    tfr_plugin_device *device;
    tfr_queue *real;    /* itself, or what it was made of, which alone has a thread and work */
    uint32_t n_imports; /* queues made of it */
    uint32_t n_pending; /* items put on by way of it */
    pthread_t thread;
    fake_item *first;
    fake_item **end;
    tfr_executable *capture; /* that takes what is put on the queue, or NULL */
    bool stop, aborted;
    fake_failure failure; /* stays: all later fences carry it */
    atomic_bool is_inside;
    uint64_t id; /* of the program's launch that is being put on it, or 0 */
    int32_t node;
};

typedef enum fake_op {
    FAKE_ADD,
    FAKE_MUL,
    FAKE_RELU,
    FAKE_MATMUL,
    FAKE_DROPOUT,
    FAKE_COMPRESS,
    FAKE_LENT /* by another plugin */
} fake_op;

struct tfr_kernel {
    tfr_kernel *next;
    fake_op op;
    uint32_t n_inputs; /* that launch reads, the first ones of n_call_inputs */
    uint32_t n_call_inputs, n_call_outputs;
    int32_t rank; /* of the output */
    int64_t dims[FAKE_MAX_RANK];
    int64_t strides[2][FAKE_MAX_RANK]; /* of the inputs; 0 where an input is stretched */
    uint64_t bytes[3];                 /* of inputs, then the output */
    int64_t m, n, k;
    uint64_t workspace_bytes;
    uint64_t in_place;  /* bit i: the output may have input i's memory */
    float *packed;      /* input 1, if prepare has consumed it */
    bool host_scalar;   /* input 1 is read by launch, in the host's memory */
    bool host_result;   /* launch does it all, in the host's memory */
    int64_t wrong_dims; /* as the option */
    float ratio;        /* of Dropout */
    tfr_kernel *lent;   /* and of its operands: */
    uint64_t lent_bytes[FAKE_MAX_LENT];
    bool is_random;
    uint32_t subsequence;
    uint32_t n_pending;
};

/* What all plugins of the driver share: it lies in the one that was loaded first. */
typedef struct fake_driver_state {
    pthread_mutex_t lock;      /* one for all devices, because copies go from one to another */
    pthread_mutex_t open_lock; /* of devices; taken after lock, if both are */
    tfr_plugin_device *devices;
    uint64_t n_handles;
} fake_driver_state;

struct tfr_plugin_device {
    tfr_plugin_device *next;
    const tfr_plugin *plugin;
    char domain[32]; /* of its memory */
    uint32_t ordinal;
    uint64_t memory_limit, max_alloc;
    uint64_t size_limit;
    uint64_t delay_ns;
    int64_t lose_after; /* -1 = never */
    int64_t fail_after;
    int64_t hang_after;
    uint64_t hang_ns;
    int64_t programs, capture;
    bool may_profile, host_scalars, handles, consume, names_launch, sticky, may_abort, pool;
    int64_t queue_limit;
    bool transfer, pinned, pageable_blocks, host_results;
    uint64_t pinned_left;
    uint64_t own_bytes;
    int64_t wrong_dims;
    int64_t unsteady, saves;
    bool early_waits, links, concurrent;
    bool ignores_waits, launch_waits, loses_errors, borrows;
    atomic_bool is_inside; /* a thread is in a [device] call */
    /* fake_lock guards everything below; changed is broadcast when anything of it changes. */
    pthread_cond_t changed;
    unsigned char *front; /* what the host is given; a touch is a fault */
    unsigned char *back;  /* the same memory for the device's own threads */
    uint64_t mapped;
    uint64_t in_use;
    uint64_t peak;
    uint64_t pooled; /* freed, and not given back */
    fake_block *blocks;
    fake_block *near_blocks; /* of the other spaces, in no order */
    tfr_queue *queues;
    tfr_fence *fences;
    tfr_kernel *kernels;
    tfr_executable *executables;
    int64_t n_launches;
    bool is_lost, is_profiled;
    tfr_profile_record records[FAKE_MAX_RECORDS];
    uint32_t n_records;
    char breach[256]; /* found where no status could say it; the next call does */
};

extern const tfr_host *fake_host;
extern fake_driver_state *fake_driver;
/* "With the lock held" means it. */
#define fake_lock (fake_driver->lock)
extern const tfr_memory_facet fake_memory_facet;
extern const tfr_queue_facet fake_queue_facet;
extern const tfr_kernel_facet fake_kernel_facet;
extern const tfr_program_facet fake_program_facet;
extern const tfr_layout_facet fake_layout_facet;
extern const tfr_profile_facet fake_profile_facet;
extern const tfr_native_facet fake_native_facet;
extern const tfr_plugin fake_plugin;
extern const tfr_capture_facet fake_capture_facet;

/* Logs "host broke the contract: ..." and returns TFR_EPLUGIN with it. */
__attribute__((format(printf, 2, 3))) int32_t fake_breach(tfr_err *err, const char *format, ...);
/* The same where the function has no status: the device's next call fails with it. */
__attribute__((format(printf, 2, 3))) void fake_breach_later(tfr_plugin_device *device,
                                                             const char *format, ...);

/*
 * Begins a [device] call: is the device open, is no other thread in such a call, is it not lost, is
 * no breach waiting to be told? If it returns TFR_OK, fake_leave has to follow.
 */
int32_t fake_enter(tfr_plugin_device *device, tfr_err *err);
void fake_leave(tfr_plugin_device *device);
/* The same for prepare and compile, which need not be [device] calls. */
int32_t fake_enter_build(tfr_plugin_device *device, tfr_err *err);
void fake_leave_build(tfr_plugin_device *device);
/* The same for calls of a queue, or of the device if queue is NULL. */
int32_t fake_enter_queue(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err);
void fake_leave_queue(tfr_plugin_device *device, tfr_queue *queue);
/* For functions without a status, which have to work on a lost device. False = do nothing. */
bool fake_enter_void(tfr_plugin_device *device, const char *function);
/* Does it look like one that enumerate has told? */
bool fake_is_own(const tfr_device_info *info);
/* Is this an open device? For [any] calls. */
int32_t fake_check_device(const tfr_plugin_device *device, tfr_err *err);
int32_t fake_lost(const tfr_plugin_device *device, tfr_err *err);
/* The error of work that failed on a queue. */
int32_t fake_tell(const tfr_plugin_device *device, const fake_failure *failure, tfr_err *err);
/* The failure of work on one device as another one's queue tells it: only its own can be lost. */
int32_t fake_carried(const tfr_plugin_device *from, const tfr_plugin_device *to, int32_t code);
/* Is it an open device's fence? With the lock held. */
bool fake_is_fence(const tfr_fence *fence);
/* Something has changed that queues of other devices may wait for. With the lock held. */
void fake_wake_all(void);

/* memory */
bool fake_memory_map(tfr_plugin_device *device);
void fake_memory_unmap(tfr_plugin_device *device);
/* The live allocation that holds all the bytes, or NULL; it may be of another device whose memory
 * is of the same domain. With the lock held, like the next two. */
fake_block *fake_block_of(const tfr_plugin_device *device, const void *address, uint64_t bytes);
/* The device address that the core means, NULL if it is none. */
void *fake_place(const tfr_plugin_device *device, const void *base, uint64_t offset);
/* A device address as the device's own threads use it. */
void *fake_shadow(const tfr_plugin_device *device, const void *address);

/* A copy of the device's own making, which does not block, and a fill. */
int32_t fake_enqueue_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copy,
                          tfr_err *err);
int32_t fake_fill(tfr_plugin_device *device, tfr_queue *queue, void *address, uint64_t offset,
                  uint8_t byte, uint64_t bytes, tfr_err *err);

/* spaces behind space 0; with the lock held, but for the first two */
uint32_t fake_n_spaces(const tfr_plugin_device *device);
fake_space fake_space_at(const tfr_plugin_device *device, uint32_t space);
int32_t fake_near_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes, uint64_t align,
                        void **out, tfr_err *err);
/* Where the list names what alloc gave, or its end. */
fake_block **fake_near_find(tfr_plugin_device *device, uint32_t space, const void *address);
void fake_near_remove(tfr_plugin_device *device, fake_block **at);
fake_block *fake_near_block_of(const tfr_plugin_device *device, uint32_t space, const void *address,
                               uint64_t bytes);
/* Are dims where a kernel can write them? Their block is NULL if they are ordinary memory. */
int32_t fake_resolve_dims(const tfr_plugin_device *device, const char *name, int64_t *dims,
                          int32_t rank, fake_block **block, tfr_err *err);

/* lent kernels */
/* The plugin of the option "lender", or NULL; the same for the life of the process. */
const tfr_kernel_facet *fake_lender(tfr_err *err);
/* The others are for who has a lender. */
int32_t fake_lent_judge(const tfr_call *call, tfr_answer *answer, tfr_err *err);
int32_t fake_lent_prepare(const tfr_call *call, const tfr_answer *answer, tfr_kernel *kernel,
                          tfr_err *err);
void fake_lent_drop(tfr_kernel *kernel);
/* With the lock held. */
int32_t fake_lent_resolve(const tfr_plugin_device *device, const tfr_kernel *kernel,
                          const tfr_launch *launch, fake_item *item, tfr_err *err);
void fake_lent_compute(const fake_item *item);

/* queues */
/* Takes over items that were allocated by malloc, in order. With the lock held. */
void fake_push(tfr_plugin_device *device, tfr_queue *queue, fake_item *item);
/* Waits until the queue has nothing to do. With the lock held. */
void fake_queue_drain(tfr_plugin_device *device, tfr_queue *queue);
/* What an item does, without a lock. */
void fake_move(const fake_item *item, fake_failure *failure);
void fake_compute(const fake_item *item);

/* captures */
extern _Thread_local tfr_queue *fake_capturing; /* by this thread, or NULL */
/* May this thread call `what` of the queue, or of the device if that is NULL? */
int32_t fake_check_capture(const tfr_queue *queue, const char *what, tfr_err *err);
/* The block is freed: what was captured with it is of no use. With the lock held, as the next. */
void fake_forget_block(tfr_plugin_device *device, const fake_block *block);
bool fake_is_captured(const tfr_plugin_device *device, const tfr_kernel *kernel);

/* records */
uint64_t fake_now_ns(void);
/* An item has ended. With the lock held. */
void fake_record(tfr_queue *queue, const fake_item *item, uint64_t began);

#endif

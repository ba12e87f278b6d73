/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_kernel.h: facet tfr.kernel/1, required for a backend; included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_KERNEL_H
#define TFRUN_PLUGIN_KERNEL_H

#include <tfrun/plugin_call.h>
#include <tfrun/plugin_memory.h>

#define TFR_KERNEL_V1 "tfr.kernel/1"

/*
 * An op that the plugin has kernels for. digest is tfr_op_digest of tfrun/op_digests.h: that of the
 * calls which it was written for; 0 = not compared, whatever they may mean.
 */
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
    uint64_t dtypes;
    /* Types that depend on the processor or on a library's version, whether they are here or not.
     */
    uint64_t dtypes_if;
} tfr_op_claim;

typedef enum tfr_verdict {
    TFR_VERDICT_NO = 0,
    TFR_VERDICT_YES = 1,
    TFR_VERDICT_REORDER = 2, /* yes, once every operand is plain; given only if one is strided */
    TFR_VERDICT_SLOW = 3     /* yes, but another backend is likely faster */
} tfr_verdict;

enum {
    TFR_ANSWER_CAPTURABLE = 1u << 0, /* its launches may be captured (plugin_capture.h) */
    /*
     * two launches of equal inputs may give different values: it draws random numbers, or, without
     * RANDOM, adds in the order in which threads get there and the like. The core takes the latter
     * for a no to a call with TFR_CALL_DETERMINISTIC.
     */
    TFR_ANSWER_NONDETERMINISTIC = 1u << 1,
    /* draws random numbers, as plugin_random.h says, or else NONDETERMINISTIC, too */
    TFR_ANSWER_RANDOM = 1u << 2,
    /* gives up accuracy, within the call's math mode; without it products are strict */
    TFR_ANSWER_MATH_MODE = 1u << 3
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
    /*
     * Bit i: input i is read by launch, on the host: it lies in host memory and is there when
     * launch is called; the core waits for what makes it. It may change once launch has returned.
     */
    uint64_t host_inputs;
    /*
     * Bit i: output i, and its true dims, are written by launch, on the host: it lies in host
     * memory and is there when launch returns. What launch computes it from are host inputs, for
     * the queue may be anywhere. Neither is for prepare to correct: by them the core has chosen.
     */
    uint64_t host_outputs;
    struct {
        /* this output may be given this input's memory, if nobody reads it later */
        int16_t input, output;
    } in_place[4];
    uint32_t n_in_place;
    char text[256]; /* the sentence, with the number that failed: "k 4096 is more than 1024" */
} tfr_answer;

typedef struct tfr_kernel tfr_kernel;

/* How a kernel is wanted; NULL = zeros. The core sets size. */
typedef struct tfr_prepare_options {
    uint32_t size;
    uint32_t flags; /* none yet */
} tfr_prepare_options;

/*
 * What is known of a kernel once it has been prepared. The core sets size and puts there what
 * supports answered; prepare corrects it, since libraries know their workspace only when they have
 * chosen an algorithm.
 */
typedef struct tfr_kernel_info {
    uint32_t size;
    uint32_t flags;           /* TFR_ANSWER_... */
    uint64_t time_ns;         /* estimated or measured time of one launch, 0 = unknown */
    uint64_t workspace_bytes; /* of space 0 for each launch, aligned as the space */
    /*
     * Bit i: input i, whose data were known, is in the kernel in a form of its own: launch does not
     * read it and may get NULL for it, so that a device holds no second copy of packed weights, and
     * its data are not read after prepare.
     */
    uint64_t consumed_inputs;
} tfr_kernel_info;

/*
 * One operand at launch. Absent operands have address NULL; so may operands of 0 elements. This
 * struct never grows: what a later minor knows of an argument comes as another array in tfr_launch.
 */
typedef struct tfr_arg {
    /* in space 0, or host memory if host_inputs or host_outputs say so; aligned to its element at
     * least */
    void *address;
    /* in a space with TFR_SPACE_HANDLES address is what alloc gave, and the operand begins so many
     * bytes behind its start; else 0 */
    uint64_t offset;
    /*
     * For an output with TFR_OPERAND_DYNAMIC: where its true dims (rank of them) have to be when
     * the queue has passed the launch; the core reads them only after it has waited for that. If
     * the device has a space with TFR_SPACE_TRANSFER, they lie there and the kernel itself may
     * write them; else they lie in ordinary host memory, and launch enqueues a copy into it.
     * Without a queue launch writes them. Data are dense for the true dims. Else NULL.
     */
    int64_t *dims;
} tfr_arg;

typedef struct tfr_launch {
    uint32_t size;
    uint32_t n_args;
    /* inputs, then outputs, as in the call; this array is valid during launch only */
    const tfr_arg *args;
    void *workspace;           /* workspace_bytes of space 0, or NULL */
    uint64_t workspace_offset; /* as the offset of an argument */
    /*
     * Names this launch in tfr_err.launch and in the records of tfr.profile/1; no other launch of
     * the process has it at the same time. 0 only without a queue, when nobody asks for records.
     */
    uint64_t id;
    /*
     * A tfr_random_state in space 0, if TFR_ANSWER_RANDOM was answered, or, for a program, for one
     * of its nodes; else NULL. Read by the queue, not by launch.
     */
    const void *random;
    uint64_t random_offset; /* as the offset of an argument */
} tfr_launch;

enum {
    /*
     * Known operands may have TFR_OPERAND_UNALIGNED, but in prepare. Without this the core makes
     * aligned copies of such data, which takes time and memory if they are large.
     */
    TFR_KERNEL_TAKES_UNALIGNED = 1u << 0,
    /*
     * prepare is [any]: for one device, too, and while another thread is in a [device] slot of it,
     * trim and drop of other kernels among them. A kernel that takes long to build then stalls
     * nobody else. The core may call it for a device that gets lost meanwhile.
     */
    TFR_KERNEL_PREPARE_ANY = 1u << 1
};

typedef struct tfr_kernel_facet {
    uint32_t size;
    uint32_t flags; /* TFR_KERNEL_..., those that the core does not know have no effect */
    /*
     * required [any]. The ops that the plugin has kernels for on the device, which need not be
     * open, as enumerate: fills up to *n claims, stride bytes apart, and sets *n to their number.
     * The core asks supports only about these. A claim meets the op table's row if its
     * since_version is in the row's range of equal meaning and its digest is 0 or equal. With such
     * a digest, one of an older version of an op of ONNX gets the calls that mean what they meant
     * then: what is newer is at its neutral value (the core has a list of these ops). Else that op
     * alone is off, with a message.
     */
    int32_t (*ops)(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride, uint32_t *n,
                   tfr_err *err);
    /* required [any]. Pure, fast, allocates nothing. A failing return is a defect; "no" is an
     * answer. */
    int32_t (*supports)(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err);
    /*
     * required [device], with TFR_KERNEL_PREPARE_ANY [any]. Builds what launches need: descriptors,
     * packed weights, choices. Comes only after a yes for an equal call; failing then (but for
     * TFR_ENOMEM) counts as a defect of the plugin. Copies what it needs of call, the data of its
     * operands aside, which live until drop.
     */
    int32_t (*prepare)(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
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

#endif

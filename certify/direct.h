/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.h: a small host that calls a plugin's slots itself: a device of its own, memory between
 * guards, queues and fences. It keeps to the rules of the core's side, so what goes wrong is the
 * plugin's. One thread.
 */
#ifndef TFR_CERTIFY_DIRECT_H
#define TFR_CERTIFY_DIRECT_H

#include "subject.h"
#include "tables.h"

typedef struct direct_device direct_device;
struct direct_device {
    const certify_tables *tables;
    tfr_device_info info;
    tfr_plugin_device *device;
    tfr_space_info space;      /* space 0 */
    uint32_t pinned, transfer; /* spaces with that role, or TFR_SPACE_HOST */
    tfr_queue *queue;          /* NULL = synchronous */
    tfr_fence *fence;          /* which the queue signals */
    uint64_t value;
    uint64_t next_id; /* of launches */
};

/*
 * Opens the subject's device, or number `other` of the plugin's other ones if it is not 0, with the
 * user's options and those given. TFR_ENOTFOUND = there is no such device.
 */
tfr_status direct_open(certify_subject *subject, uint32_t other, const tfr_option *options,
                       uint32_t n_options, direct_device *out, tfr_err *err);
/* Waits for nothing. */
void direct_close(direct_device *d);
/* Is the work done as the calls return, with no queues? */
bool direct_is_synchronous(const direct_device *d);
/* Waits until the device's queue has done all; its failure. */
tfr_status direct_finish(direct_device *d, tfr_err *err);

/* ---- memory ---------------------------------------------------------------------------------- */

enum { DIRECT_POISON = 0xcd, DIRECT_GONE = 0xdd, DIRECT_GUARD = 0xa5 };

/* Bytes in space 0, or in host memory, between two guards. */
typedef struct direct_buffer {
    uint32_t space; /* 0, another one that the host reaches, or TFR_SPACE_HOST */
    unsigned char *base;
    uint64_t guard, bytes;
    unsigned char *image; /* what all of it is believed to hold, guards too */
    unsigned char *now;   /* what it did when it was read */
} direct_buffer;

/* Full of a byte. TFR_ENOMEM, or TFR_ELIMIT if the space gives no such pieces. */
tfr_status direct_alloc(direct_device *d, uint32_t space, uint64_t bytes, unsigned char fill,
                        direct_buffer *out, tfr_err *err);
void direct_free(direct_device *d, direct_buffer *b);
/* The device is idle. */
tfr_status direct_fill(direct_device *d, direct_buffer *b, unsigned char fill, tfr_err *err);
tfr_status direct_write(direct_device *d, direct_buffer *b, const void *data, tfr_err *err);
/* Into now. */
tfr_status direct_read(direct_device *d, direct_buffer *b, tfr_err *err);
/* The first byte that differs from the image, of the guards alone or of all; counted from the
 * beginning of the bytes, so that those of the first guard are negative. False = there is none. */
bool direct_is_changed(const direct_buffer *b, bool guards_only, int64_t *at);

tfr_arg direct_arg(const direct_device *d, const direct_buffer *b);
/* Enqueues a copy of all bytes within space 0; queue NULL = done on return. */
tfr_status direct_copy(direct_device *d, tfr_queue *queue, const direct_buffer *from,
                       direct_device *from_device, direct_buffer *to, tfr_err *err);

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call that the plugin takes as a kernel, and what the reference gives for it. */
typedef struct direct_call {
    const ops_call *call;
    certify_copy copy;
    void *inputs[OPS_MAX_OPERANDS]; /* their bytes before the plugin had them; NULL = none */
    tfr_tensor *expected[OPS_MAX_OUTPUTS];
} direct_call;

/*
 * False if the call is none for a direct host: the plugin says no, or has strings, sequences or a
 * program where a kernel should be. *text says it.
 */
bool direct_call_make(certify_subject *subject, const ops_call *call, direct_call *out, char *text,
                      size_t n);
void direct_call_free(direct_call *c);

/* One launch: its operands, workspace and dims. */
typedef struct direct_launch {
    direct_buffer args[OPS_MAX_OPERANDS + OPS_MAX_OUTPUTS];
    direct_buffer dims[OPS_MAX_OUTPUTS];
    direct_buffer workspace;
    int in_place; /* number of the pair of the answer, -1 = none */
    uint64_t id;
} direct_launch;

typedef struct direct_kernel {
    const direct_call *call;
    certify_copy copy;
    tfr_answer answer;
    tfr_kernel_info info;
    tfr_kernel *kernel;
} direct_kernel;

/* supports and prepare; the call is gone when it returns, but for data. */
tfr_status direct_prepare(direct_device *d, const direct_call *call, direct_kernel *out,
                          tfr_err *err);
void direct_drop(direct_device *d, direct_kernel *k);

/* Memory of a launch, with the inputs in it, and the workspace full of a byte. */
tfr_status direct_launch_make(direct_device *d, const direct_kernel *k, int in_place,
                              unsigned char workspace, direct_launch *out, tfr_err *err);
void direct_launch_free(direct_device *d, direct_launch *l);
/* Calls launch, on a queue of the device; what it may not keep is gone when this returns. */
tfr_status direct_launch_run(direct_device *d, tfr_queue *queue, const direct_kernel *k,
                             direct_launch *l, tfr_err *err);
/* The input whose memory the output has in a launch with this pair, -1 = none. */
int direct_shared_input(const direct_kernel *k, int in_place, uint32_t output);
/* What the plugin did wrong in a launch that is done; false = nothing. */
bool direct_launch_is_wrong(direct_device *d, const direct_kernel *k, direct_launch *l, char *text,
                            size_t n);
/* All that the launch had is full of DIRECT_GONE from now on. */
tfr_status direct_launch_give_back(direct_device *d, direct_launch *l, tfr_err *err);
/* Was any of it written since? */
bool direct_launch_is_touched(direct_device *d, direct_launch *l, char *text, size_t n);

#endif

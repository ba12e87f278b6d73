/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constant.h: the elements of constants in the memory of a backend: one copy for all plans of all
 * sessions that read them there, freed with the last of these. Queues only read it, several at a
 * time. Any thread.
 */
#ifndef TFR_CORE_CONSTANT_H
#define TFR_CORE_CONSTANT_H

#include "device/stream.h"
#include "value/tensor.h"

typedef struct tfr__constant {
    struct tfr__constant *next; /* in the backend's list; under its lock, as refs */
    tfr_tensor *tensor;         /* retained while in the list, or NULL: has one user */
    void *address;              /* NULL for 0 bytes */
    uint32_t refs;
} tfr__constant;

/*
 * The copy that others have, with is_shared; else a new one, whose elements are put on the queue of
 * the memory, which reads the tensor until it is waited for.
 */
tfr_status tfr__constant_get(tfr__streams *streams, uint32_t memory, const tfr_tensor *tensor,
                             bool is_shared, const char *name, tfr__constant **out, tfr_err *err);
/*
 * The elements have arrived: others get this one for the tensor from now on. If somebody else was
 * faster, his is returned, and this one freed.
 */
tfr__constant *tfr__constant_share(tfr__streams *streams, uint32_t memory, tfr_tensor *tensor,
                                   tfr__constant *constant);
/* NULL is allowed. What a stuck queue may use stays, for ever. */
void tfr__constant_release(tfr__streams *streams, uint32_t memory, tfr__constant *constant);

#endif

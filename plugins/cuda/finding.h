/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.h: what kernels find wrong with their data, told by the fences that are signalled behind
 * them. A launch does not wait. Each has a word in pinned memory, where the kernel writes if
 * something is wrong, or the stream copies what the kernel has left. The host reads it when it
 * learns that the event of a later signal has happened, and so the launch, too. Nothing stands in
 * the stream for it.
 */
#ifndef CUDA_FINDING_H
#define CUDA_FINDING_H

#include "host.h"

typedef struct note note;

/* Of one queue, which makes it for its first finding; held by its fences, too. */
struct cuda_findings {
    atomic_uint n_held;
    tfr_queue *queue;   /* NULL when it is gone */
    note *first, *last; /* that nobody has read, the oldest first */
    uint64_t bad;       /* the first of all that is an error, counted from 1; 0: none */
    cuda_failure failure;
};

/* A mistake as a kernel and its notes hold it; out: NULL if there is none to be found. */
typedef struct cuda_noted cuda_noted;
int32_t cuda_noted_make(const cuda_mistake *mistake, cuda_noted **out, tfr_err *err);
void cuda_noted_drop(cuda_noted *noted); /* NULL is fine */

/* A note for a launch. While the queue captures it belongs to what is recorded. */
int32_t cuda_finding_begin(tfr_queue *queue, cuda_noted *noted, const tfr_launch *launch,
                           note **out, tfr_err *err);
uint64_t cuda_finding_word(const note *n); /* its address */
/* At the end of the queue, behind the launch. The context is current. */
int32_t cuda_finding_end(tfr_queue *queue, note *n, const tfr_launch *launch, tfr_err *err);

/* At the end of the queue, which waits for the other one there: takes over what is wrong with the
 * other's first n findings. */
int32_t cuda_finding_follow(tfr_queue *queue, cuda_findings *other, uint64_t n, tfr_err *err);
/* Whether one of the first n is an error, which is put into failure. Their launches have happened.
 * NULL has none. */
bool cuda_finding_tell(cuda_findings *findings, uint64_t n, cuda_failure *failure);

/* The notes of all that the queue has recorded, NULL = none; what runs them. */
cuda_recorded *cuda_finding_recorded(tfr_queue *queue, tfr_err *err);
void cuda_recorded_drop(cuda_recorded *recorded); /* NULL is fine */
/* Behind a run of what was recorded. */
int32_t cuda_finding_replayed(tfr_queue *queue, cuda_recorded *recorded, tfr_err *err);

cuda_findings *cuda_findings_hold(cuda_findings *findings);
void cuda_findings_leave(cuda_findings *findings); /* its queue goes; NULL is fine */
void cuda_findings_drop(cuda_findings *findings);  /* NULL is fine */

#endif

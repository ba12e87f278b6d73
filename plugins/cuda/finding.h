/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.h: what kernels find wrong with their data, told by the fences that are signalled behind
 * them. A launch does not wait: the stream copies the kernel's word to the host and has the host
 * read it, before the event of any later signal. So when such an event has happened, all that its
 * point of the fence stands for is known.
 */
#ifndef CUDA_FINDING_H
#define CUDA_FINDING_H

#include "host.h"

/* Of one queue, which makes it for its first finding; held by its fences, too. */
struct cuda_findings {
    atomic_uint n_held;
    pthread_mutex_t lock;
    uint64_t n_read; /* findings that the host has read */
    uint64_t bad;    /* the first of them that is an error, counted from 1; 0: none */
    cuda_failure failure;
};

/* Reads at the end of the queue what a launch has found. The context is current. */
int32_t cuda_finding_post(tfr_queue *queue, const cuda_solution *solution, const tfr_launch *launch,
                          tfr_err *err);
/* At the end of the queue, which waits for the other one there: takes over what is wrong with the
 * other's first n findings. The context is current. */
int32_t cuda_finding_follow(tfr_queue *queue, cuda_findings *other, uint64_t n, tfr_err *err);
/* Whether one of the first n is an error, which is put into failure. NULL has none. */
bool cuda_finding_tell(cuda_findings *findings, uint64_t n, cuda_failure *failure);

cuda_findings *cuda_findings_hold(cuda_findings *findings);
void cuda_findings_drop(cuda_findings *findings); /* NULL is fine */

#endif

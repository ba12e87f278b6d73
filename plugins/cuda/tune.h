/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune.h: chooses among the ways in which a library computes one problem, by running each of them a
 * few times in prepare. The choice is kept by the host from process to process (TFR_HOST_STORE_V1),
 * under a key of text that names the chip, the library's version and the problem.
 */
#ifndef CUDA_TUNE_H
#define CUDA_TUNE_H

#include "host.h"

enum { CUDA_TUNE_MOST = 8, CUDA_TUNE_OPERANDS = 5, CUDA_TUNE_KEY = 768 };

/* What a candidate is known by in a later process. Candidates of one problem differ in it. */
typedef struct cuda_candidate_id {
    uint64_t words[8];
} cuda_candidate_id;

/* The library's candidates for a problem, the best by its own guess first. */
typedef struct cuda_contest {
    const char *key;
    uint32_t n;
    cuda_candidate_id ids[CUDA_TUNE_MOST];
    uint64_t workspace_bytes[CUDA_TUNE_MOST];
    uint64_t operand_bytes[CUDA_TUNE_OPERANDS]; /* 0 = there is none */
    /* Puts candidate `number` on the stream. Operands that are not there are NULL; all addresses
     * are multiples of 256. */
    int32_t (*run)(tfr_plugin_device *device, const void *user, uint32_t number,
                   void *const *operands, void *workspace, tfr_cu_stream *stream, tfr_err *err);
    const void *user;
} cuda_contest;

/* Whether measured times may decide for this call: not where the user has said no (cuda.tune), and
 * not where bits are to be the same whatever was measured. */
bool cuda_tune_decides(const tfr_plugin_device *device, const tfr_call *call);
/* Whether candidates may be run now. */
bool cuda_tune_may_run(const tfr_plugin_device *device);

/* problem: what of it the time depends on. */
void cuda_tune_key(const tfr_plugin_device *device, const char *library, uint64_t version,
                   const char *problem, char out[CUDA_TUNE_KEY]);

/* The choice that was made before, in whatever process. */
bool cuda_tune_recall(tfr_plugin_device *device, const char *key, cuda_candidate_id *out);

/*
 * The number of the candidate to take: the one that was chosen before, else the fastest; 0 where
 * they cannot be run, or all fail. TFR_ELOST is the one failure. The context is current.
 */
int32_t cuda_tune(tfr_plugin_device *device, const cuda_contest *contest, uint32_t *out,
                  tfr_err *err);

/* Nanoseconds of the host; what is spent on candidates counts against the device's share. */
uint64_t cuda_tune_clock(void);
void cuda_tune_spend(tfr_plugin_device *device, uint64_t since);

void cuda_tune_open(tfr_plugin_device *device, bool is_on, uint64_t fill_bytes);
void cuda_tune_close(tfr_plugin_device *device);

#endif

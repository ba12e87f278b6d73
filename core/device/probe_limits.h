/* SPDX-License-Identifier: Apache-2.0 */
/* probe_limits.h: private to tfrun-probe: what a plugin may take from the machine in a probe. */
#ifndef TFR_CORE_PROBE_LIMITS_H
#define TFR_CORE_PROBE_LIMITS_H

#include "device/loader.h"

/*
 * memory_mb bounds the memory that the process may write, and each file; 0 = no bound. cpu_s bounds
 * the processor time of the process and of each one that it starts, which the loader's deadline
 * does not reach if they leave the process group.
 *
 * If the process comes to a violent end when there is no more memory, `end` is written as the
 * answer first; its bytes stay.
 */
void probe_limits_set(uint64_t memory_mb, uint64_t cpu_s, const void *end, size_t end_bytes);

#endif

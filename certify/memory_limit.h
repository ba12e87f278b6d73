/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limit.h: keeps what a hostile shape asks for from being the machine's memory. */
#ifndef OPS_MEMORY_LIMIT_H
#define OPS_MEMORY_LIMIT_H

/* The process may reserve 1 GiB more than it has now. Does nothing under sanitizers, which reserve
 * terabytes. */
void ops_limit_memory(void);
/* As much as before. */
void ops_unlimit_memory(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* env.h: the only door to the environment, closed for privileged processes. */
#ifndef TFR_CORE_ENV_H
#define TFR_CORE_ENV_H

#include <stdbool.h>

/* The process runs with more rights than the user who started it (setuid, capabilities). */
bool tfr__privileged(void);

/* The value of a variable of env.def, or of one that a plugin's note names. NULL: it is not set or
 * empty, or the process is privileged. */
const char *tfr__env_get(const char *name);

/* For tests: 1 = behave as privileged, 0 = as not, -1 = as it is. */
void tfr__privileged_for_test(int how);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a child that ends at once, which is nobody's business, in prepare. */
#include <sys/wait.h>
#define FAKE_NAME "prepare-forks"
#define FAKE_ON_PREPARE                                                                            \
    int status = 0;                                                                                \
    pid_t pid = fork();                                                                            \
    if (pid == 0)                                                                                  \
        exit(0);                                                                                   \
    if (waitpid(pid, &status, 0) != pid || status)                                                 \
        return tfr_fail(err, TFR_EINTERNAL, "the child ended with %d", status);
#include "fake.h"

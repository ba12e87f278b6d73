/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/env.h: the variables of the process's environment that tfrun reads. */
#ifndef TFRUN_ENV_H
#define TFRUN_ENV_H

#include <tfrun/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A variable that tfrun reads. Privileged processes read none. Texts are static but value. */
typedef struct tfr_env_desc {
    uint32_t size;
    uint32_t reserved;
    const char *name;    /* "TFRUN_THREADS" */
    const char *key;     /* of the configuration files: "threads"; "" = it has none */
    const char *meaning; /* one phrase */
    const char *value;   /* as the environment has it now; NULL = not set, or not read */
} tfr_env_desc;

TFR_API uint32_t tfr_env_count(void);
TFR_API TFR_MUST_CHECK tfr_status tfr_env_describe(uint32_t i, tfr_env_desc *out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif

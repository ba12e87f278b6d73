/* SPDX-License-Identifier: Apache-2.0 */
/* env.c: reads the environment for the whole of tfrun, and describes its variables. */
#include "base/env.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <tfrun/env.h>
#include <tfrun/fail.h>

#include "base/names.h"

/* Of each variable name, key and meaning, which take half as much without addresses. */
static const char texts[] =
#define X(name, key, meaning) name "\0" key "\0" meaning "\0"
#include "base/env.def"
#undef X
    ;

enum {
    N_VARIABLES = 0
#define X(name, key, meaning) +1
#include "base/env.def"
#undef X
};

static atomic_int env_forced = -1;

bool tfr__privileged(void)
{
    int forced = atomic_load(&env_forced);
    return forced < 0 ? getauxval(AT_SECURE) != 0 : forced > 0;
}

void tfr__privileged_for_test(int how)
{
    atomic_store(&env_forced, how);
}

const char *tfr__env_get(const char *name)
{
    const char *value = tfr__privileged() ? NULL : secure_getenv(name);
    return value && *value ? value : NULL;
}

uint32_t tfr_env_count(void)
{
    return N_VARIABLES;
}

tfr_status tfr_env_describe(uint32_t i, tfr_env_desc *out, tfr_err *err)
{
    tfr_env_desc desc = {0};
    if (i >= tfr_env_count())
        return tfr_fail(err, TFR_EINVAL, "variable %u does not exist, there are %u", (unsigned)i,
                        (unsigned)tfr_env_count());
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the description's size is not set");
    desc.size = out->size;
    desc.name = tfr__texts_skip(texts, 3 * i);
    desc.key = tfr__texts_skip(desc.name, 1);
    desc.meaning = tfr__texts_skip(desc.key, 1);
    desc.value = tfr__env_get(desc.name);
    memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
    return TFR_OK;
}

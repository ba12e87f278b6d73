/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: the values of one run of a body (plan.h). */
#include <tfrun/fail.h>

#include "alloc.h"
#include "plan.h"

tfr_status tfr__env_init(tfr__body *body, tfr__env *env, tfr_err *err)
{
    size_t n = (size_t)body->graph->n_values + 1;
    env->body = body;
    env->n_there = 0;
    env->values = tfr__calloc(n, sizeof *env->values);
    env->there = tfr__alloc(n * sizeof *env->there);
    if (!env->values || !env->there)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a run of graph \"%s\"",
                        body->graph->name);
    return TFR_OK;
}

void tfr__env_put(tfr__env *env, tfr_value v, tfr_tensor *t)
{
    if (!t)
        return;
    if (env->values[v])
        tfr_tensor_release(env->values[v]);
    else
        env->there[env->n_there++] = v;
    env->values[v] = t;
}

void tfr__env_clear(tfr__env *env)
{
    for (uint32_t i = 0; i < env->n_there; i++) {
        tfr_tensor_release(env->values[env->there[i]]);
        env->values[env->there[i]] = NULL;
    }
    env->n_there = 0;
}

void tfr__env_finish(tfr__env *env)
{
    tfr__env_clear(env);
    tfr__free(env->values);
    tfr__free(env->there);
    env->values = NULL;
    env->there = NULL;
}

tfr_tensor *tfr__frame_get(const tfr__env *env, tfr_value v)
{
    const tfr__value *value = &env->body->graph->values[v];
    return value->role == TFR__ROLE_CONSTANT ? value->tensor : env->values[v];
}

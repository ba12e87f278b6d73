/* SPDX-License-Identifier: Apache-2.0 */
/* op_foreign.c: the rows that plugins bring: added under a lock, looked up without one. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <tfrun/fail.h>

#include "op/op_foreign.h"

static struct {
    pthread_mutex_t lock;
    atomic_uint n;
    const tfr__op_foreign *rows[TFR__MOST_FOREIGN];
} foreign = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t tfr__op_n_foreign(void)
{
    return atomic_load_explicit(&foreign.n, memory_order_acquire);
}

const tfr__op *tfr__op_foreign_at(uint32_t i)
{
    return i < tfr__op_n_foreign() ? &foreign.rows[i]->op : NULL;
}

const tfr__op *tfr__op_foreign_find(const char *domain, const char *name)
{
    const uint32_t n = tfr__op_n_foreign();
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(foreign.rows[i]->op.name, name) == 0 &&
            strcmp(foreign.rows[i]->op.domain, domain) == 0)
            return &foreign.rows[i]->op;
    return NULL;
}

tfr_status tfr__op_same(const tfr__op *op, tfr_err *err)
{
    const tfr__op *is = tfr__op_find(op->domain, op->name);
    const tfr__op_foreign *row = tfr__op_foreign_of(is);
    if (tfr__op_digest(is) == tfr__op_digest(op) && is->since_version == op->since_version &&
        is->compat_version == op->compat_version)
        return TFR_OK;
    return tfr_fail(err, TFR_EPLUGIN,
                    "this process has another %s of domain %s, version %d, by plugin %s", is->name,
                    is->domain, (int)is->since_version, row ? row->plugin : "none");
}

tfr_status tfr__op_add(tfr__op_foreign *row, tfr_err *err)
{
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&foreign.lock);
    const uint32_t n = tfr__op_n_foreign();
    if (tfr__op_find(row->op.domain, row->op.name)) {
        status = tfr__op_same(&row->op, err);
    } else if (n == TFR__MOST_FOREIGN) {
        status = tfr_fail(err, TFR_ELIMIT, "there are %d ops of plugins already", (int)n);
    } else {
        row->number = tfr__op_count();
        foreign.rows[n] = row;
        atomic_store_explicit(&foreign.n, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&foreign.lock);
    return status;
}

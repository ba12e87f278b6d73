/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c: see prefetch.h. The lock guards all but the work itself. */
#include "prefetch.h"

#include <stdlib.h>
#include <tfrun/fail.h>

#include "parallel.h"

struct tfr__prefetch {
    tfr__prefetch_fn *work;
    void *user;
    int64_t ahead;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wanted, changed; /* there is work; a piece is made or has failed */
    int64_t n, made, taken;
    tfr_status failed; /* of piece `made` */
    tfr_err err;
    bool busy, quit;
};

static bool has_work(const tfr__prefetch *p)
{
    return !p->failed && p->made < p->n && p->made < p->taken + p->ahead;
}

static void *run(void *user)
{
    tfr__prefetch *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->quit) {
        tfr_status status;
        tfr_err err = TFR_ERR_INIT;
        const int64_t number = p->made;
        if (!has_work(p)) {
            pthread_cond_wait(&p->wanted, &p->lock);
            continue;
        }
        p->busy = true;
        pthread_mutex_unlock(&p->lock);
        status = p->work(p->user, number, &err);
        pthread_mutex_lock(&p->lock);
        p->busy = false;
        p->failed = status;
        p->err = err;
        p->made += !status;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

tfr__prefetch *tfr__prefetch_create(uint32_t ahead, tfr__prefetch_fn *work, void *user)
{
    tfr__prefetch *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->work = work;
    p->user = user;
    p->ahead = ahead;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wanted, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (tfr__data_thread(&p->thread, run, p))
        return p;
    p->quit = true;
    tfr__prefetch_destroy(p);
    return NULL;
}

void tfr__prefetch_destroy(tfr__prefetch *p)
{
    bool runs;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    runs = !p->quit;
    p->quit = true;
    pthread_cond_signal(&p->wanted);
    pthread_mutex_unlock(&p->lock);
    if (runs)
        pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wanted);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void tfr__prefetch_stop(tfr__prefetch *p)
{
    pthread_mutex_lock(&p->lock);
    p->n = 0;
    while (p->busy)
        pthread_cond_wait(&p->changed, &p->lock);
    p->made = p->taken = 0;
    p->failed = TFR_OK;
    pthread_mutex_unlock(&p->lock);
}

void tfr__prefetch_begin(tfr__prefetch *p, int64_t n)
{
    pthread_mutex_lock(&p->lock);
    p->n = n;
    pthread_cond_signal(&p->wanted);
    pthread_mutex_unlock(&p->lock);
}

tfr_status tfr__prefetch_take(tfr__prefetch *p, tfr_err *err)
{
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&p->lock);
    while (p->made == p->taken && !p->failed)
        pthread_cond_wait(&p->changed, &p->lock);
    if (p->made > p->taken) {
        p->taken++;
    } else {
        status = tfr_fail(err, p->failed, "%s", p->err.text);
        p->failed = TFR_OK;
    }
    pthread_cond_signal(&p->wanted);
    pthread_mutex_unlock(&p->lock);
    return status;
}

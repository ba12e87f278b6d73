/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_store.c: pairs that all ranks of a group see. In a process they are a list. In a folder each
 * is a file, which appears as a whole under its name; who waits looks again every millisecond.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/port/clock.h"
#include "device/comm.h"

#define LOOK_NS 1000000                 /* between two looks at files */
#define MOST_NS UINT64_C(3600000000000) /* of one wait */

typedef struct pair {
    struct pair *next;
    char *key;
    uint64_t bytes;
    unsigned char value[];
} pair;

struct tfr__pairs {
    char *folder; /* NULL = in the list */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pair *first;
    uint64_t n_put;
};

tfr_status tfr__pairs_create(const char *folder, tfr__pairs **out, tfr_err *err)
{
    tfr__pairs *p = tfr__calloc(1, sizeof *p);
    pthread_condattr_t attr;
    if (!p || (folder && !(p->folder = tfr__strdup(folder)))) {
        tfr__free(p);
        return tfr__no_memory(err);
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &attr);
    pthread_condattr_destroy(&attr);
    *out = p;
    return TFR_OK;
}

void tfr__pairs_destroy(tfr__pairs *p)
{
    if (!p)
        return;
    while (p->first) {
        pair *next = p->first->next;
        tfr__free(p->first->key);
        tfr__free(p->first);
        p->first = next;
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    tfr__free(p->folder);
    tfr__free(p);
}

/* ---- putting --------------------------------------------------------------------------------- */

/* The name of a key's file; false = it is too long. Other bytes than letters and digits are %XX. */
static bool file_name(const tfr__pairs *p, const char *key, char *path)
{
    size_t n = (size_t)snprintf(path, PATH_MAX, "%.3000s/", p->folder), start = n;
    for (; *key; key++) {
        const bool plain = (*key >= 'a' && *key <= 'z') || (*key >= '0' && *key <= '9') ||
                           (*key >= 'A' && *key <= 'Z') || *key == '-' || *key == '_';
        n += (size_t)snprintf(path + n, 4, plain ? "%c" : "%%%02X", (unsigned char)*key);
        if (n - start > 240)
            return false;
    }
    return true;
}

static tfr_status put_file(tfr__pairs *p, const char *path, const void *value, uint64_t bytes,
                           tfr_err *err)
{
    char fresh[PATH_MAX];
    uint64_t number;
    int file, error = 0;
    pthread_mutex_lock(&p->lock);
    number = p->n_put++;
    pthread_mutex_unlock(&p->lock);
    snprintf(fresh, sizeof fresh, "%.3000s/.%ld.%p.%llu", p->folder, (long)getpid(), (void *)p,
             (unsigned long long)number);
    file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, value, (size_t)bytes) != (ssize_t)bytes)
        error = errno ? errno : EIO;
    if (file >= 0 && close(file) && !error)
        error = errno;
    if (!error && link(fresh, path)) /* which, unlike rename, takes no one's place */
        error = errno;
    unlink(fresh);
    if (!error)
        return TFR_OK;
    return tfr_fail(err, error == EEXIST ? TFR_EBUSY : TFR_EIO, "%s: %s", path, strerror(error));
}

static pair **find(tfr__pairs *p, const char *key)
{
    pair **at = &p->first;
    while (*at && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

tfr_status tfr__pairs_put(tfr__pairs *p, const char *key, const void *value, uint64_t bytes,
                          tfr_err *err)
{
    char path[PATH_MAX];
    pair *fresh, **at;
    if (bytes > 65536)
        return tfr_fail(err, TFR_ELIMIT, "%s: %llu bytes are more than 65536", key,
                        (unsigned long long)bytes);
    if (p->folder && !file_name(p, key, path))
        return tfr_fail(err, TFR_ELIMIT, "the key %.64s... is too long", key);
    if (p->folder)
        return put_file(p, path, value, bytes, err);
    fresh = tfr__alloc(sizeof *fresh + (size_t)bytes);
    if (!fresh || !(fresh->key = tfr__strdup(key))) {
        tfr__free(fresh);
        return tfr_fail(err, TFR_ENOMEM, "no memory for %s", key);
    }
    fresh->next = NULL;
    fresh->bytes = bytes;
    if (bytes)
        memcpy(fresh->value, value, (size_t)bytes);
    pthread_mutex_lock(&p->lock);
    at = find(p, key);
    if (!*at) {
        *at = fresh;
        fresh = NULL;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    if (!fresh)
        return TFR_OK;
    tfr__free(fresh->key);
    tfr__free(fresh);
    return tfr_fail(err, TFR_EBUSY, "%s is there already", key);
}

/* ---- getting --------------------------------------------------------------------------------- */

/* TFR_ENOTFOUND = it is not there; takes no lock. */
static tfr_status look_for_file(const tfr__pairs *p, const char *key, void *out, uint64_t *n)
{
    char path[PATH_MAX];
    struct stat st;
    const int file = file_name(p, key, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    tfr_status status = TFR_OK;
    if (file < 0)
        return errno == ENOENT ? TFR_ENOTFOUND : TFR_EIO;
    if (fstat(file, &st) || ((uint64_t)st.st_size <= *n && st.st_size &&
                             read(file, out, (size_t)st.st_size) != (ssize_t)st.st_size))
        status = TFR_EIO;
    else
        *n = (uint64_t)st.st_size;
    close(file);
    return status;
}

/* The same of the list, with the lock. */
static tfr_status look_for(tfr__pairs *p, const char *key, void *out, uint64_t *n)
{
    const pair *found;
    if (p->folder)
        return look_for_file(p, key, out, n);
    found = *find(p, key);
    if (!found)
        return TFR_ENOTFOUND;
    if (found->bytes && found->bytes <= *n)
        memcpy(out, found->value, (size_t)found->bytes);
    *n = found->bytes;
    return TFR_OK;
}

static void wait_a_while(tfr__pairs *p, uint64_t deadline)
{
    const uint64_t now = tfr__now_ns(), most = p->folder ? LOOK_NS : MOST_NS;
    const uint64_t until = deadline > now && deadline - now < most ? deadline : now + most;
    struct timespec t;
    if (deadline <= now)
        return;
    t = (struct timespec){(time_t)(until / 1000000000), (long)(until % 1000000000)};
    pthread_cond_timedwait(&p->changed, &p->lock, &t);
}

tfr_status tfr__pairs_get(tfr__pairs *p, const char *key, const char *other, void *out, uint64_t *n,
                          uint64_t timeout_ns, tfr_err *err)
{
    const uint64_t begin = tfr__now_ns();
    const uint64_t deadline = timeout_ns < UINT64_MAX - begin ? begin + timeout_ns : UINT64_MAX;
    char text[256];
    uint64_t n_text = sizeof text - 1;
    tfr_status status;
    pthread_mutex_lock(&p->lock);
    while ((status = look_for(p, key, out, n)) == TFR_ENOTFOUND) {
        if (other && look_for(p, other, text, &n_text) == TFR_OK) {
            status = TFR_EDEVICE;
            break;
        }
        if (tfr__now_ns() >= deadline) {
            status = TFR_ETIMEOUT;
            break;
        }
        wait_a_while(p, deadline);
    }
    pthread_mutex_unlock(&p->lock);
    if (status == TFR_EDEVICE)
        return tfr_fail(err, status, "%.*s", n_text < sizeof text ? (int)n_text : 0, text);
    if (status == TFR_ETIMEOUT)
        return tfr_fail(err, status, "%s has not come within %.3g s", key,
                        (double)timeout_ns / 1e9);
    return status ? tfr_fail(err, status, "%s cannot be read", key) : TFR_OK;
}

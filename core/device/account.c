/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.c: what is taken of a device's memory, by alloc and by its plugin for itself
 * (tfr.host.account/1), against the option memory_limit. A device without the option has none.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/account.h"

typedef struct block {
    struct block *next;
    const void *address;
    uint64_t bytes;
} block;

typedef struct account {
    struct account *next;
    const tfr_plugin_device *device;
    uint64_t limit, given, own;
    bool is_told; /* the plugin says what it takes: the core keeps to the limit */
    block *blocks;
} account;

static struct {
    pthread_mutex_t lock;
    account *first;
} accounts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static account *account_of(const tfr_plugin_device *device)
{
    account *a = accounts.first;
    while (a && a->device != device)
        a = a->next;
    return a;
}

void tfr__account_open(const tfr_plugin_device *device, const char *limit)
{
    account *a = limit && strtoull(limit, NULL, 10) ? tfr__calloc(1, sizeof *a) : NULL;
    if (!a)
        return;
    a->device = device;
    a->limit = strtoull(limit, NULL, 10);
    pthread_mutex_lock(&accounts.lock);
    a->next = accounts.first;
    accounts.first = a;
    pthread_mutex_unlock(&accounts.lock);
}

void tfr__account_close(const tfr_plugin_device *device)
{
    account **at = &accounts.first;
    pthread_mutex_lock(&accounts.lock);
    while (*at && (*at)->device != device)
        at = &(*at)->next;
    if (*at) {
        account *a = *at;
        *at = a->next;
        for (block *b = a->blocks, *next; b; b = next) {
            next = b->next;
            tfr__free(b);
        }
        tfr__free(a);
    }
    pthread_mutex_unlock(&accounts.lock);
}

static tfr_status check(const account *a, const char *what, uint64_t bytes, tfr_err *err)
{
    const uint64_t taken = a->given + a->own;
    if (!a->is_told || (taken <= a->limit && bytes <= a->limit - taken))
        return TFR_OK;
    return tfr_fail(err, TFR_ENOMEM,
                    "no room for %" PRIu64 " bytes for %.128s: of memory_limit, %" PRIu64
                    " bytes, %" PRIu64 " are allocated and %" PRIu64 " are the plugin's own",
                    bytes, what, a->limit, a->given, a->own);
}

tfr_status tfr__account_may(const tfr_plugin_device *device, uint64_t bytes, tfr_err *err)
{
    const account *a;
    tfr_status status;
    pthread_mutex_lock(&accounts.lock);
    a = account_of(device);
    status = a ? check(a, "alloc", bytes, err) : TFR_OK;
    pthread_mutex_unlock(&accounts.lock);
    return status;
}

void tfr__account_add(const tfr_plugin_device *device, const void *address, uint64_t bytes)
{
    account *a;
    block *b;
    pthread_mutex_lock(&accounts.lock);
    a = account_of(device);
    b = a ? tfr__alloc(sizeof *b) : NULL;
    if (b) { /* else it is not counted */
        *b = (block){a->blocks, address, bytes};
        a->blocks = b;
        a->given += bytes;
    }
    pthread_mutex_unlock(&accounts.lock);
}

void tfr__account_remove(const tfr_plugin_device *device, const void *address)
{
    account *a;
    pthread_mutex_lock(&accounts.lock);
    a = account_of(device);
    for (block **at = a ? &a->blocks : NULL; at && *at; at = &(*at)->next)
        if ((*at)->address == address) {
            block *b = *at;
            *at = b->next;
            a->given -= b->bytes;
            tfr__free(b);
            break;
        }
    pthread_mutex_unlock(&accounts.lock);
}

static int32_t account_take(tfr_plugin_device *device, const char *what, uint64_t bytes,
                            tfr_err *err)
{
    account *a;
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&accounts.lock);
    a = account_of(device);
    if (a) {
        a->is_told = true;
        status = check(a, what ? what : "the plugin", bytes, err);
        a->own += status ? 0 : bytes;
    }
    pthread_mutex_unlock(&accounts.lock);
    return (int32_t)status;
}

static void account_give(tfr_plugin_device *device, uint64_t bytes)
{
    account *a;
    pthread_mutex_lock(&accounts.lock);
    a = account_of(device);
    if (a)
        a->own -= bytes < a->own ? bytes : a->own;
    pthread_mutex_unlock(&accounts.lock);
}

const tfr_host_account tfr__host_account = {
    .size = sizeof tfr__host_account,
    .take = account_take,
    .give = account_give,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c: see store.h. A file is named by a hash of the plugin and the key; both are in it and
 * compared, so that two keys of one hash take each other's place and are never mixed up. Several
 * processes may read, write and evict at the same time, for files are replaced as a whole. What is
 * read is hostile.
 *
 *   file    magic "TFRSTOR1", u64 build, char name[32], u64 key bytes, u64 data bytes, key, data,
 *           u64 FNV-1a of all before
 */
#include "device/store.h"

#include "base/alloc.h"
#include "base/cache_file.h"
#include "base/env.h"
#include "base/hash.h"
#include "device/loader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>

static const char store_magic[8] = {'T', 'F', 'R', 'S', 'T', 'O', 'R', '1'};

typedef struct store_head {
    char magic[8];
    uint64_t build;
    char name[32];
    uint64_t key_bytes, data_bytes;
} store_head;

void tfr__store_init(tfr__loader *loader, tfr__store *out)
{
    const tfr__setting *s = tfr__config_find(&loader->config, NULL, "store");
    const size_t n = sizeof out->folder - 64; /* room for the name of an entry */
    out->most = (uint64_t)tfr__config_number(&loader->config, loader->runtime, NULL, "store-mb",
                                             TFR__STORE_MB, 0, 1 << 20)
                << 20;
    *out->folder = 0;
    if (tfr__privileged())
        return;
    if (!s && !tfr__cache_path("store-1", out->folder, n))
        *out->folder = 0;
    else if (s && *s->value == '/' && strlen(s->value) < n)
        snprintf(out->folder, n, "%s", s->value);
    else if (s && strcmp(s->value, "off") != 0)
        tfr__log(loader->runtime, TFR_LOG_WARNING, "config",
                 "%s: store \"%.300s\" is neither off nor an absolute path; nothing is kept",
                 s->origin, s->value);
}

/* Another file of the plugin is another plugin, whatever version it says. */
static void store_head_make(const tfr__plugin *plugin, size_t key_bytes, size_t n, store_head *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->magic, store_magic, sizeof out->magic);
    out->build = tfr__hash(plugin->build_hash, &plugin->file.bytes, sizeof plugin->file.bytes);
    out->build = tfr__hash(out->build, &plugin->file.mtime_s, 2 * sizeof plugin->file.mtime_s);
    snprintf(out->name, sizeof out->name, "%s", plugin->name);
    out->key_bytes = key_bytes;
    out->data_bytes = n;
}

static void store_path(const tfr__plugin *plugin, const store_head *head, const void *key,
                       char out[sizeof((tfr__store *)0)->folder])
{
    const uint64_t low = tfr__hash(tfr__hash(head->build, head->name, sizeof head->name), key,
                                   (size_t)head->key_bytes);
    snprintf(out, sizeof((tfr__store *)0)->folder, "%s/%016llx%08llx", plugin->loader->store.folder,
             (unsigned long long)low, (unsigned long long)head->key_bytes);
}

void *tfr__store_get(const tfr__plugin *plugin, const void *key, size_t key_bytes, size_t *n)
{
    static const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    char path[sizeof((tfr__store *)0)->folder], *bytes;
    store_head want, head;
    uint64_t sum;
    size_t whole;
    *n = 0;
    if (!*plugin->loader->store.folder || key_bytes > TFR__STORE_KEY_BYTES)
        return NULL;
    store_head_make(plugin, key_bytes, 0, &want);
    store_path(plugin, &want, key, path);
    bytes = tfr__cache_read(
        path, sizeof head + sizeof sum,
        sizeof head + sizeof sum + TFR__STORE_KEY_BYTES + TFR__STORE_ENTRY_BYTES, &whole);
    if (!bytes)
        return NULL;
    whole -= sizeof sum;
    memcpy(&head, bytes, sizeof head);
    memcpy(&sum, bytes + whole, sizeof sum);
    want.data_bytes = head.data_bytes;
    if (memcmp(&head, &want, sizeof head) != 0 || whole < sizeof head + key_bytes ||
        head.data_bytes != whole - sizeof head - key_bytes ||
        memcmp(bytes + sizeof head, key, key_bytes) != 0 ||
        sum != tfr__hash(TFR__HASH_SEED, bytes, whole)) {
        tfr__free(bytes);
        return NULL;
    }
    (void)utimensat(AT_FDCWD, path, now, AT_SYMLINK_NOFOLLOW); /* the oldest go first */
    *n = (size_t)head.data_bytes;
    memmove(bytes, bytes + sizeof head + key_bytes, *n);
    return bytes;
}

tfr_status tfr__store_put(const tfr__plugin *plugin, const void *key, size_t key_bytes,
                          const void *data, size_t n, tfr_err *err)
{
    const tfr__store *store = &plugin->loader->store;
    char path[sizeof store->folder], *bytes;
    const size_t whole = sizeof(store_head) + key_bytes + n;
    store_head head;
    tfr_status status;
    uint64_t sum;
    if (!*store->folder)
        return tfr_fail(err, TFR_EUNSUPPORTED, "nothing is kept here (TFRUN_STORE)");
    if (key_bytes > TFR__STORE_KEY_BYTES || n > TFR__STORE_ENTRY_BYTES ||
        whole + sizeof sum > store->most)
        return tfr_fail(err, TFR_ELIMIT,
                        "a key of %zu bytes for %zu bytes; the store takes %d and %d, and %llu of "
                        "all entries (TFRUN_STORE_MB)",
                        key_bytes, n, TFR__STORE_KEY_BYTES, TFR__STORE_ENTRY_BYTES,
                        (unsigned long long)store->most);
    bytes = tfr__alloc(whole + sizeof sum);
    if (!bytes)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an entry of %zu bytes", whole);
    store_head_make(plugin, key_bytes, n, &head);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, key, key_bytes);
    if (n)
        memcpy(bytes + sizeof head + key_bytes, data, n);
    sum = tfr__hash(TFR__HASH_SEED, bytes, whole);
    memcpy(bytes + whole, &sum, sizeof sum);
    store_path(plugin, &head, key, path);
    status = tfr__cache_write(path, bytes, whole + sizeof sum, err);
    if (!status)
        tfr__cache_prune(path, store_magic, TFR__STORE_FILES, store->most);
    tfr__free(bytes);
    return status;
}

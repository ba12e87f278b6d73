/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning.c: the store. A file that is not valid from end to end is taken as empty and written anew.
 * Two processes that save at the same time both leave a valid file; the later one may lack what
 * the earlier one had just added, which is then found out again.
 *
 *   file    magic "TFRTUNE1", u32 entries, u32 zero, entries, u64 FNV-1a of all before
 *   entry   u64 key x 2, u64 used, u32 bytes, u32 zero, bytes; by key, ascending
 *
 * Numbers are in the machine's order: the keys hold what they depend on, so that a file that came
 * from elsewhere does no harm.
 */
#include "device/tuning.h"

#include "base/alloc.h"
#include "base/writer.h"
#include "base/cache_file.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/port/clock.h"
#include "device/loader.h"

#include <fcntl.h>
#include <string.h>
#include <tfrun/fail.h>
#include <unistd.h>

static const char tuning_magic[8] = {'T', 'F', 'R', 'T', 'U', 'N', 'E', '1'};

typedef struct file_head {
    char magic[8];
    uint32_t n, zero;
} file_head;

typedef struct file_entry {
    tfr__tuning_key key;
    uint64_t used;
    uint32_t bytes, zero;
} file_entry;

enum { CHECKPOINT_NS = 1000000000 };
enum { FILE_MOST = TFR__TUNING_BYTES + TFR__TUNING_ENTRIES * (int)sizeof(file_entry) + 64 };

static void add_word(tfr__tuning_key *key, uint64_t word)
{
    key->low = (key->low ^ word) * 0x9fb21c651e98df25ull;
    key->low ^= key->low >> 29;
    key->high = (key->high + word) * 0xff51afd7ed558ccdull;
    key->high ^= key->high >> 32;
}

void tfr__tuning_add(tfr__tuning_key *key, const void *bytes, size_t n)
{
    const char *at = bytes;
    add_word(key, n);
    for (size_t left = n; left;) {
        size_t part = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
        uint64_t word = 0;
        memcpy(&word, at, part);
        add_word(key, word);
        at += part;
        left -= part;
    }
}

void tfr__tuning_add_text(tfr__tuning_key *key, const char *text)
{
    tfr__tuning_add(key, text ? text : "", text ? strlen(text) : 0);
}

void tfr__tuning_init(tfr__tuning *t, tfr_runtime *runtime, const char *setting)
{
    char path[TFR__TUNING_PATH_BYTES];
    memset(t, 0, sizeof *t);
    t->runtime = runtime;
    t->trouble = (tfr_err)TFR_ERR_INIT;
    pthread_mutex_init(&t->lock, NULL);
    if (tfr__privileged())
        return;
    if (setting && *setting == '/')
        t->path = tfr__strdup(setting);
    else if (!setting && tfr__cache_path("tuning-1", path, sizeof path))
        t->path = tfr__strdup(path);
}

static void drop_at(tfr__tuning *t, uint32_t i)
{
    t->bytes -= t->entries[i].bytes;
    tfr__free(t->entries[i].value);
    t->n--;
    memmove(&t->entries[i], &t->entries[i + 1], (t->n - i) * sizeof *t->entries);
}

void tfr__tuning_finish(tfr__tuning *t)
{
    while (t->n)
        drop_at(t, t->n - 1);
    tfr__free(t->entries);
    tfr__free(t->path);
    pthread_mutex_destroy(&t->lock);
}

static int compare(tfr__tuning_key a, tfr__tuning_key b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

/* Where the key is; NULL: it is not there, and *at is its place. */
static tfr__tuning_entry *find(const tfr__tuning *t, tfr__tuning_key key, uint32_t *at)
{
    uint32_t low = 0, high = t->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = compare(t->entries[middle].key, key);
        if (!order) {
            *at = middle;
            return &t->entries[middle];
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return NULL;
}

/* Makes room for an entry of so many bytes: the least recently used go. */
static void evict(tfr__tuning *t, uint32_t bytes)
{
    while (t->n && (t->n >= TFR__TUNING_ENTRIES || t->bytes + bytes > TFR__TUNING_BYTES)) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < t->n; i++)
            if (t->entries[i].used < t->entries[oldest].used)
                oldest = i;
        drop_at(t, oldest);
    }
}

/* The key is not there. */
static tfr__tuning_entry *add(tfr__tuning *t, tfr__tuning_key key, const void *value,
                              uint32_t bytes)
{
    void *copy = tfr__alloc(bytes);
    uint32_t at;
    evict(t, bytes);
    if (copy && t->n == t->capacity) {
        uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
        tfr__tuning_entry *more = tfr__realloc(t->entries, capacity * sizeof *more);
        if (more) {
            t->entries = more;
            t->capacity = capacity;
        }
    }
    if (!copy || t->n == t->capacity) {
        tfr__free(copy);
        return NULL;
    }
    memcpy(copy, value, bytes);
    t->bytes += bytes;
    (void)find(t, key, &at);
    memmove(&t->entries[at + 1], &t->entries[at], (t->n - at) * sizeof *t->entries);
    t->entries[at] = (tfr__tuning_entry){.key = key, .value = copy, .bytes = bytes};
    t->n++;
    return &t->entries[at];
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Steps to the next entry of a file whose head and sum are good; false: it ends early. */
static bool next_entry(const char **at, const char *end, file_entry *out)
{
    if ((size_t)(end - *at) < sizeof *out)
        return false;
    memcpy(out, *at, sizeof *out);
    if (!out->bytes || out->bytes > TFR__TUNING_VALUE_BYTES || out->zero ||
        out->bytes > (size_t)(end - *at) - sizeof *out)
        return false;
    *at += sizeof *out + out->bytes;
    return true;
}

static bool is_valid(const char *bytes, size_t n)
{
    const char *at = bytes + sizeof(file_head), *end = bytes + n - sizeof(uint64_t);
    tfr__tuning_key last = {0};
    file_entry entry;
    file_head head;
    uint64_t sum;
    memcpy(&head, bytes, sizeof head);
    memcpy(&sum, end, sizeof sum);
    if (memcmp(head.magic, tuning_magic, sizeof head.magic) != 0 || head.zero ||
        head.n > TFR__TUNING_ENTRIES || sum != tfr__hash(TFR__HASH_SEED, bytes, n - sizeof sum))
        return false;
    for (uint32_t i = 0; i < head.n; i++) {
        if (!next_entry(&at, end, &entry) || (i && compare(last, entry.key) >= 0))
            return false;
        last = entry.key;
    }
    return at == end;
}

static void take(tfr__tuning *t, const char *bytes, size_t n)
{
    const char *at = bytes + sizeof(file_head);
    file_head head;
    file_entry entry;
    uint32_t place;
    memcpy(&head, bytes, sizeof head);
    while (head.n-- && next_entry(&at, bytes + n, &entry)) {
        tfr__tuning_entry *e =
            find(t, entry.key, &place) ? NULL : add(t, entry.key, at - entry.bytes, entry.bytes);
        if (e)
            e->used = entry.used;
        if (entry.used < UINT64_MAX / 2 && entry.used > t->clock)
            t->clock = entry.used;
    }
}

/* Takes over the file's entries; those that this process has used stay as they are. What is no
 * store is never replaced by one, and then the store is off. */
static void load(tfr__tuning *t)
{
    size_t n;
    char *bytes =
        tfr__cache_read(t->path, sizeof(file_head) + sizeof(uint64_t), (size_t)FILE_MOST, &n);
    if (bytes && is_valid(bytes, n)) {
        for (uint32_t i = t->n; i-- > 0;)
            if (!t->entries[i].mine)
                drop_at(t, i);
        take(t, bytes, n);
    } else if (tfr__writer_check_cache(t->path, tuning_magic, &t->trouble) == TFR_EPERM) {
        tfr__free(t->path);
        t->path = NULL;
    } else if (bytes || faccessat(AT_FDCWD, t->path, F_OK, 0) == 0) {
        (void)tfr_fail(&t->trouble, TFR_EMODEL, "%s is damaged, or not the user's own", t->path);
        t->is_changed = true;
    }
    tfr__free(bytes);
}

static bool is_on(tfr__tuning *t)
{
    if (t->path && !t->is_loaded) {
        t->is_loaded = true;
        load(t);
    }
    return t->path != NULL;
}

/* The log is a stranger's function, so it is called without the lock. */
static void leave(tfr__tuning *t)
{
    tfr_err trouble = t->trouble;
    t->trouble.code = TFR_OK;
    pthread_mutex_unlock(&t->lock);
    if (trouble.code && t->runtime)
        tfr__log(t->runtime, TFR_LOG_WARNING, "tuning", "%s; %s", trouble.text,
                 trouble.code == TFR_EPERM ? "nothing is kept, which \"off\" says, too"
                                           : "it is not used, and replaced");
}

uint32_t tfr__tuning_get(tfr__tuning *t, tfr__tuning_key key, void *out, uint32_t capacity)
{
    tfr__tuning_entry *e = NULL;
    uint32_t bytes = 0, at;
    pthread_mutex_lock(&t->lock);
    if (is_on(t))
        e = find(t, key, &at);
    if (e) {
        bytes = e->bytes;
        memcpy(out, e->value, bytes < capacity ? bytes : capacity);
        e->used = ++t->clock;
        e->mine = true;
    }
    leave(t);
    return bytes;
}

void tfr__tuning_put(tfr__tuning *t, tfr__tuning_key key, const void *value, uint32_t bytes)
{
    uint32_t at;
    pthread_mutex_lock(&t->lock);
    if (is_on(t) && bytes <= TFR__TUNING_VALUE_BYTES) {
        tfr__tuning_entry *e;
        if (find(t, key, &at))
            drop_at(t, at);
        e = bytes ? add(t, key, value, bytes) : NULL;
        if (e) {
            e->used = ++t->clock;
            e->mine = true;
        }
        t->is_changed = true;
    }
    leave(t);
}

static void write_file(tfr__tuning *t)
{
    tfr_err err = TFR_ERR_INIT;
    file_head head = {.n = t->n};
    size_t n = sizeof head;
    uint64_t sum;
    char *bytes =
        tfr__alloc(sizeof head + t->n * sizeof(file_entry) + (size_t)t->bytes + sizeof sum);
    if (!bytes)
        return;
    memcpy(head.magic, tuning_magic, sizeof head.magic);
    memcpy(bytes, &head, sizeof head);
    for (uint32_t i = 0; i < t->n; i++) {
        const tfr__tuning_entry *e = &t->entries[i];
        file_entry entry = {.key = e->key, .used = e->used, .bytes = e->bytes};
        memcpy(bytes + n, &entry, sizeof entry);
        memcpy(bytes + n + sizeof entry, e->value, e->bytes);
        n += sizeof entry + e->bytes;
    }
    sum = tfr__hash(TFR__HASH_SEED, bytes, n);
    memcpy(bytes + n, &sum, sizeof sum);
    /* A folder that cannot be written is nothing unusual. */
    if (tfr__cache_write(t->path, bytes, n + sizeof sum, &err) == TFR_EPERM)
        t->trouble = err;
    tfr__free(bytes);
}

static void save(tfr__tuning *t)
{
    if (t->path && t->is_changed) {
        bool was_loaded = t->is_loaded;
        load(t); /* what others have saved since; of a damaged file was told already */
        if (was_loaded && t->trouble.code == TFR_EMODEL)
            t->trouble.code = TFR_OK;
        t->is_loaded = true;
        if (t->path)
            write_file(t);
        t->is_changed = false;
        t->saved_ns = tfr__now_ns();
    }
}

void tfr__tuning_save(tfr__tuning *t)
{
    pthread_mutex_lock(&t->lock);
    save(t);
    leave(t);
}

void tfr__tuning_checkpoint(tfr__tuning *t)
{
    pthread_mutex_lock(&t->lock);
    if (!t->saved_ns || tfr__now_ns() - t->saved_ns >= CHECKPOINT_NS)
        save(t);
    leave(t);
}

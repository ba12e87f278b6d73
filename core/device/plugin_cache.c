/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_cache.c: remembers what the probe child found out, in the user's cache folder, so that a
 * second start asks nothing. An entry holds for one exact world: the file, its libraries, this
 * core, this processor, this boot, the options, the vendors' visibility variables, and what the
 * plugin's notes name. Failures expire. What is read is hostile; a folder that cannot be written is
 * no error; a privileged process neither reads nor writes.
 *
 *   file    magic "TFRCACH1", u64 world, i64 written at, i32 state, u64 stdout bytes,
 *           u32 reason bytes, u32 reply bytes, reason, reply (which has a checksum of its own),
 *           u64 FNV-1a of all before the reply
 */
#include "base/hash.h"
#include "device/loader.h"

#include "base/alloc.h"
#include "base/cache_file.h"
#include "base/env.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <tfrun/fail.h>
#include <unistd.h>

#define CACHE_FOLDER "probe-1"
#define CACHE_TTL_S  600
#define CACHE_FILES  64u /* the oldest go */
#define CACHE_MAX    (TFR__REPLY_MAX_BYTES + 4096u)
#define CACHE_REASON 2048u

static const char cache_magic[8] = {'T', 'F', 'R', 'C', 'A', 'C', 'H', '1'};

typedef struct cache_head {
    char magic[8];
    uint64_t world;
    int64_t written_s;
    uint64_t stdout_bytes;
    int32_t state;
    uint32_t reason_bytes, reply_bytes, reserved;
} cache_head;

extern char **environ;

static uint64_t cache_text(uint64_t seed, const char *text)
{
    return tfr__hash(seed, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* GPU vendors hide devices by variables of this kind; a plugin sees other devices then. */
static uint64_t cache_visibility(uint64_t seed)
{
    char **at;
    for (at = environ; at && *at; at++) {
        static const char tail[] = "_VISIBLE_DEVICES";
        const char *equal = strchr(*at, '=');
        size_t n = equal ? (size_t)(equal - *at) : 0;
        if (n > sizeof tail - 1 && strncmp(equal - (sizeof tail - 1), tail, sizeof tail - 1) == 0 &&
            strncmp(*at, "TFRUN_", 6) != 0)
            seed = cache_text(seed, *at);
    }
    return cache_text(seed, tfr__env_get("LD_LIBRARY_PATH"));
}

static uint64_t cache_options(uint64_t seed, const tfr__plugin *plugin)
{
    const tfr__config *config = &plugin->loader->config;
    size_t n = strlen(plugin->name);
    uint32_t i;
    for (i = 0; i < config->n; i++)
        if (strncmp(config->settings[i].key, plugin->name, n) == 0 &&
            config->settings[i].key[n] == '.' &&
            strcmp(config->settings[i].key + n, ".priority") != 0)
            seed = cache_text(cache_text(seed, config->settings[i].key), config->settings[i].value);
    return seed;
}

uint64_t tfr__cache_world(const tfr__config *config)
{
    /* Who follows the advice to raise a limit need not wait until a failure is forgotten. */
    static const char *const limits[] = {"probe-timeout-ms", "probe-memory-mb"};
    char text[64] = "";
    struct utsname host;
    uint64_t seed = TFR__HASH_SEED;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = 0;
        close(fd);
    }
    if (uname(&host) == 0)
        seed = cache_text(seed, host.release);
    seed = cache_text(cache_text(seed, text), tfr_version());
    seed = cache_text(cache_text(seed, tfr__host_features()), tfr__env_get("TFRUN_PROBE"));
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const tfr__setting *limit = tfr__config_find(config, NULL, limits[i]);
        seed = cache_text(seed, limit ? limit->value : NULL);
    }
    return seed ^ tfr__libs_world();
}

static uint64_t cache_world(const tfr__plugin *plugin)
{
    uint64_t seed = cache_text(plugin->loader->world, plugin->path);
    seed = tfr__hash(seed, &plugin->file, sizeof plugin->file);
    seed = tfr__hash(seed, &plugin->build_hash, sizeof plugin->build_hash);
    seed = tfr__hash(seed, &plugin->libs_hash, sizeof plugin->libs_hash);
    seed = tfr__hash(seed, &plugin->variables_hash, sizeof plugin->variables_hash);
    seed = tfr__hash(seed, &plugin->files_hash, sizeof plugin->files_hash);
    return cache_options(cache_visibility(seed), plugin);
}

/* One entry for a file and what it sees, so that two settings of it do not evict each other. */
static bool cache_path(const tfr__plugin *plugin, char *out, size_t n)
{
    char name[128];
    uint64_t key =
        cache_visibility(cache_options(cache_text(TFR__HASH_SEED, plugin->path), plugin)) ^
        plugin->variables_hash;
    snprintf(name, sizeof name, CACHE_FOLDER "/%.64s-%016llx", plugin->name,
             (unsigned long long)key);
    return tfr__cache_path(name, out, n);
}

void tfr__cache_store(tfr__plugin *plugin, const void *reply, size_t bytes)
{
    char path[PATH_MAX], *whole;
    cache_head head = {0};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    uint64_t sum;
    size_t n;
    if (tfr__privileged() || !cache_path(plugin, path, sizeof path))
        return;
    memcpy(head.magic, cache_magic, sizeof head.magic);
    head.world = cache_world(plugin);
    head.written_s = (int64_t)time(NULL);
    head.stdout_bytes = plugin->stdout_bytes;
    head.state = plugin->state;
    head.reason_bytes = (uint32_t)strnlen(plugin->reason, CACHE_REASON);
    head.reply_bytes = (uint32_t)bytes;
    n = sizeof head + head.reason_bytes + bytes;
    whole = tfr__alloc(n + sizeof sum);
    if (!whole)
        return;
    memcpy(whole, &head, sizeof head);
    memcpy(whole + sizeof head, plugin->reason, head.reason_bytes);
    if (bytes)
        memcpy(whole + sizeof head + head.reason_bytes, reply, bytes);
    sum = tfr__hash(TFR__HASH_SEED, whole, n - bytes);
    memcpy(whole + n, &sum, sizeof sum);
    status = tfr__cache_write(path, whole, n + sizeof sum, &err);
    if (!status)
        tfr__cache_prune(path, cache_magic, CACHE_FILES, UINT64_MAX);
    else /* a home that cannot be written is nothing unusual, a stranger's file in it is */
        tfr__log(plugin->loader->runtime, status == TFR_EPERM ? TFR_LOG_WARNING : TFR_LOG_DEBUG,
                 "loader", "%s", err.text);
    tfr__free(whole);
}

/* There is something to say of it, and its next step is not to change the plugin's own file. */
static bool cache_may_be_repaired(const cache_head *head)
{
    return head->reason_bytes &&
           (head->state == TFR_PLUGIN_USABLE || head->state == TFR_PLUGIN_NO_DEVICE ||
            head->state == TFR_PLUGIN_MISSING_LIBRARY || head->state == TFR_PLUGIN_PROBE_EXIT ||
            head->state == TFR_PLUGIN_INCOMPATIBLE_DRIVER);
}

static bool cache_is_fresh(const tfr__plugin *plugin, const cache_head *head)
{
    const tfr__loader *loader = plugin->loader;
    int64_t now = (int64_t)time(NULL), ttl;
    if (loader->refresh >= TFR_REFRESH_ALL || (loader->refresh && cache_may_be_repaired(head)))
        return false;
    if (head->state == TFR_PLUGIN_USABLE)
        return true;
    ttl = tfr__config_number(&loader->config, loader->runtime, NULL, "failure-ttl-s", CACHE_TTL_S,
                             0, INT32_MAX);
    return head->written_s <= now && now - head->written_s < ttl;
}

/* Only the states that a probe can end in. */
static bool cache_state_is_possible(int32_t state)
{
    return state == TFR_PLUGIN_PROBE_CRASH || state == TFR_PLUGIN_PROBE_TIMEOUT ||
           state == TFR_PLUGIN_PROBE_EXIT || state == TFR_PLUGIN_BAD_REPLY;
}

/* Takes over an entry's bytes. False if it is not valid or of another world. */
static bool cache_take(tfr__plugin *plugin, const char *bytes, size_t n)
{
    cache_head head;
    uint64_t sum;
    size_t body;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, cache_magic, sizeof head.magic) != 0 ||
        head.reason_bytes > CACHE_REASON || head.reply_bytes > TFR__REPLY_MAX_BYTES)
        return false;
    body = sizeof head + head.reason_bytes + head.reply_bytes;
    if (n != body + sizeof sum)
        return false;
    memcpy(&sum, bytes + body, sizeof sum);
    if (sum != tfr__hash(TFR__HASH_SEED, bytes, body - head.reply_bytes) ||
        head.world != cache_world(plugin) || !cache_is_fresh(plugin, &head))
        return false;
    if (head.reply_bytes) {
        if (tfr__reply_read(bytes + sizeof head + head.reason_bytes, head.reply_bytes,
                            &plugin->loader->region, &plugin->reply, NULL))
            return false;
        plugin->has_reply = true;
        plugin->stdout_bytes = head.stdout_bytes;
        plugin->from_cache = true;
        tfr__plugin_judge(plugin);
        return true;
    }
    if (!cache_state_is_possible(head.state))
        return false;
    plugin->from_cache = true;
    tfr__plugin_set(plugin, (tfr_plugin_state)head.state, "%.*s", (int)head.reason_bytes,
                    bytes + sizeof head);
    return true;
}

bool tfr__cache_load(tfr__plugin *plugin)
{
    char path[PATH_MAX], *bytes;
    size_t n;
    bool found;
    if (tfr__privileged() || !cache_path(plugin, path, sizeof path))
        return false;
    bytes = tfr__cache_read(path, sizeof(cache_head), CACHE_MAX, &n);
    if (!bytes)
        return false;
    found = cache_take(plugin, bytes, n);
    tfr__free(bytes);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c: the table that every plugin gets, one for the process and for ever. A plugin does not
 * know runtimes; where a service needs one (talk, options), it is the newest that lives.
 */
#include "device/account.h"
#include "device/loader.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/port/cpu.h"
#include "base/port/pool.h"
#include "value/tensor.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

static struct {
    pthread_mutex_t lock;
    tfr__loader *newest;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint host_threads; /* 0 = all of the pool's */

void tfr__host_attach(tfr__loader *loader)
{
    pthread_mutex_lock(&host.lock);
    loader->next_older = host.newest;
    host.newest = loader;
    pthread_mutex_unlock(&host.lock);
    atomic_store(&host_threads, loader->n_threads);
    tfr__pool_may_pin(loader->pin_threads);
}

void tfr__host_detach(tfr__loader *loader)
{
    tfr__loader **at;
    pthread_mutex_lock(&host.lock);
    for (at = &host.newest; *at; at = &(*at)->next_older)
        if (*at == loader) {
            *at = loader->next_older;
            break;
        }
    if (host.newest)
        atomic_store(&host_threads, host.newest->n_threads);
    pthread_mutex_unlock(&host.lock);
}

static void host_log(int32_t level, const char *who, const char *text)
{
    tfr_log_level known = level <= TFR_LOG_ERROR  ? TFR_LOG_ERROR
                          : level > TFR_LOG_DEBUG ? TFR_LOG_DEBUG
                                                  : (tfr_log_level)level;
    pthread_mutex_lock(&host.lock);
    if (host.newest && host.newest->runtime && text)
        tfr__log(host.newest->runtime, known, who ? who : "plugin", "%s", text);
    pthread_mutex_unlock(&host.lock);
}

static void host_parallel_for(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    tfr__pool_run(tfr__pool_get(), atomic_load_explicit(&host_threads, memory_order_relaxed), fn,
                  user, n, grain);
}

static int32_t host_option(const char *plugin, const char *key, char *out, uint32_t n)
{
    const tfr__setting *setting = NULL;
    int32_t bytes = -1;
    if (!plugin || !key)
        return -1;
    pthread_mutex_lock(&host.lock);
    if (host.newest)
        setting = tfr__config_find(&host.newest->config, plugin, key);
    if (setting) {
        bytes = (int32_t)strlen(setting->value);
        if (out && n)
            snprintf(out, n, "%s", setting->value);
    }
    pthread_mutex_unlock(&host.lock);
    return bytes;
}

/* ---- facets ---- */

static int32_t host_string_set(tfr_string *element, const char *data, uint64_t bytes)
{
    return tfr__string_set(element, data, bytes);
}

static const tfr_host_string host_string = {
    .size = sizeof host_string,
    .set = host_string_set,
};

/* Blocks of a plugin that was compiled with another header, as ours. */
static int32_t arena_plan_strided(tfr_arena_block *blocks, uint32_t stride, uint32_t n,
                                  uint64_t alignment, uint64_t *bytes, uint64_t *lower_bound,
                                  tfr_err *err)
{
    tfr_arena_block *own = tfr__calloc(n, sizeof *own);
    const size_t known = stride < sizeof *own ? stride : sizeof *own;
    tfr_status status;
    if (!own)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        memcpy(&own[i], (char *)blocks + (size_t)i * stride, known);
    status = tfr__arena_solve(own, n, alignment, bytes, lower_bound, NULL, err);
    for (uint32_t i = 0; !status && i < n; i++)
        memcpy((char *)blocks + (size_t)i * stride, &own[i], known);
    tfr__free(own);
    return (int32_t)status;
}

static int32_t host_arena_plan(tfr_arena_block *blocks, uint32_t stride, uint32_t n,
                               uint64_t alignment, uint64_t *bytes, uint64_t *lower_bound,
                               tfr_err *err)
{
    if (n && stride != sizeof *blocks)
        return arena_plan_strided(blocks, stride, n, alignment, bytes, lower_bound, err);
    return tfr__arena_solve(blocks, n, alignment, bytes, lower_bound, NULL, err);
}

static const tfr_host_arena host_arena = {
    .size = sizeof host_arena,
    .plan = host_arena_plan,
};

static const tfr_host_pool host_pool = {
    .size = sizeof host_pool,
    .lane = tfr__pool_lane,
};

/* The newest runtime's row of the plugin, which works; NULL = there is none. Under the lock. */
static const tfr__plugin *host_plugin(const char *name)
{
    const tfr__loader *loader = host.newest;
    for (uint32_t i = 0; name && loader && i < loader->n_plugins; i++)
        if (loader->plugins[i]->has_reply && !strcmp(loader->plugins[i]->name, name))
            return loader->plugins[i];
    return NULL;
}

static int32_t host_store_get(const char *name, const void *key, uint64_t key_bytes, void *out,
                              uint64_t *n, tfr_err *err)
{
    const tfr__plugin *plugin;
    void *data = NULL;
    size_t bytes = 0;
    pthread_mutex_lock(&host.lock);
    plugin = host_plugin(name);
    if (plugin && key_bytes <= TFR__STORE_KEY_BYTES)
        data = tfr__store_get(plugin, key, (size_t)key_bytes, &bytes);
    pthread_mutex_unlock(&host.lock);
    if (!data)
        return tfr_fail(err, TFR_ENOTFOUND, "there is no entry of this key");
    if (bytes && bytes <= *n)
        memcpy(out, data, bytes);
    *n = bytes;
    tfr__free(data);
    return TFR_OK;
}

static int32_t host_store_put(const char *name, const void *key, uint64_t key_bytes,
                              const void *data, uint64_t n, tfr_err *err)
{
    const tfr__plugin *plugin;
    tfr_status status;
    if (key_bytes > TFR__STORE_KEY_BYTES || n > TFR__STORE_ENTRY_BYTES) /* may not fit a size_t */
        return tfr_fail(err, TFR_ELIMIT, "more than an entry of the store may have");
    pthread_mutex_lock(&host.lock);
    plugin = host_plugin(name);
    status = plugin ? tfr__store_put(plugin, key, (size_t)key_bytes, data, (size_t)n, err)
                    : tfr_fail(err, TFR_EUNSUPPORTED, "nothing is kept for \"%.32s\" here",
                               name ? name : "");
    pthread_mutex_unlock(&host.lock);
    return status;
}

static const tfr_host_store host_store = {
    .size = sizeof host_store,
    .max_key_bytes = TFR__STORE_KEY_BYTES,
    .max_bytes = TFR__STORE_ENTRY_BYTES,
    .get = host_store_get,
    .put = host_store_put,
};

static const tfr_host_probe host_probe = {.size = sizeof host_probe};
static bool host_is_probe; /* written before any plugin is loaded */

void tfr__host_begin_probe(void)
{
    host_is_probe = true;
}

static char host_features[sizeof((tfr__cpu *)0)->features];
static char host_hidden[1024];
static tfr_host_cpu host_cpu;
static pthread_once_t host_features_once = PTHREAD_ONCE_INIT, host_cpu_once = PTHREAD_ONCE_INIT;

static void host_features_init(void)
{
    const char *word = tfr__cpu_get()->features;
    size_t used = 0;
    for (; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        if (!tfr__words_have(host_hidden, word, n))
            used += (size_t)snprintf(host_features + used, sizeof host_features - used, "%s%.*s",
                                     used ? " " : "", (int)n, word);
        word += n;
    }
}

const char *tfr__host_features(void)
{
    pthread_once(&host_features_once, host_features_init);
    return host_features;
}

void tfr__host_hide_features(const char *words)
{
    char *c;
    pthread_mutex_lock(&host.lock);
    if (!host_features[0])
        snprintf(host_hidden, sizeof host_hidden, "%s", words);
    for (c = host_hidden; *c; c++)
        if (*c == ',')
            *c = ' ';
    pthread_mutex_unlock(&host.lock);
    tfr__host_features();
}

static void host_cpu_init(void)
{
    host_cpu.size = sizeof host_cpu;
    host_cpu.n_threads = tfr__pool_threads(tfr__pool_get());
    host_cpu.name = tfr__cpu_get()->name;
    host_cpu.features = tfr__host_features();
}

static const void *host_facet(const char *id)
{
    if (id && strcmp(id, TFR_HOST_CPU_V1) == 0) {
        pthread_once(&host_cpu_once, host_cpu_init);
        return &host_cpu;
    }
    if (id && strcmp(id, TFR_HOST_STRING_V1) == 0)
        return &host_string;
    if (id && strcmp(id, TFR_HOST_POOL_V1) == 0)
        return &host_pool;
    if (id && strcmp(id, TFR_HOST_ARENA_V1) == 0)
        return &host_arena;
    if (id && strcmp(id, TFR_HOST_STORE_V1) == 0)
        return &host_store;
    if (id && strcmp(id, TFR_HOST_ACCOUNT_V1) == 0)
        return &tfr__host_account;
    if (host_is_probe && id && strcmp(id, TFR_HOST_PROBE_V1) == 0)
        return &host_probe;
    return NULL;
}

static const tfr_host host_table = {
    .size = sizeof host_table,
    .abi_minor = TFR_ABI_MINOR,
    .log = host_log,
    .parallel_for = host_parallel_for,
    .option = host_option,
    .facet = host_facet,
};

const tfr_host *tfr__host(void)
{
    return &host_table;
}

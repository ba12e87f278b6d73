/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_config.c: what the user wants of plugins and devices. Later settings beat earlier ones:
 * the system's file, the user's file, the environment, the program's options. A fault in a file is
 * a warning with file, line and the known keys; the rest of the file counts.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#ifndef TFR_SYSCONFDIR
#define TFR_SYSCONFDIR "/etc"
#endif

#define CONFIG_MAX_BYTES (1u << 20)

static const char *const config_keys[] = {
    "disable",           "enable",      "visible-devices",  "logical-cpus",
    "threads",           "pin-threads", "probe-timeout-ms", "failure-ttl-s",
    "hide-cpu-features", "log",         "tuning",           "check-launches",
    "notice-after-ms",   "probe-memory-mb", "store",        "store-mb",
};

static const char config_keys_text[] =
    "disable, enable, visible-devices, logical-cpus, threads, pin-threads, probe-timeout-ms, "
    "failure-ttl-s, hide-cpu-features, log, tuning, check-launches, notice-after-ms, "
    "probe-memory-mb, store, store-mb, NAME.priority and NAME.OPTION";

tfr_status tfr__config_add(tfr__config *config, const char *key, const char *value,
                           const char *origin)
{
    tfr__setting *s;
    if (config->n == config->capacity) {
        uint32_t capacity = config->capacity ? 2 * config->capacity : 16;
        tfr__setting *more = tfr__realloc(config->settings, capacity * sizeof *more);
        if (!more)
            return TFR_ENOMEM;
        config->settings = more;
        config->capacity = capacity;
    }
    s = &config->settings[config->n];
    s->key = tfr__region_copy(&config->region, key);
    s->value = tfr__region_copy(&config->region, value);
    s->origin = tfr__region_copy(&config->region, origin);
    if (!s->key || !s->value || !s->origin)
        return TFR_ENOMEM;
    config->n++;
    return TFR_OK;
}

void tfr__config_finish(tfr__config *config)
{
    tfr__free(config->settings);
    tfr__region_free(&config->region);
    memset(config, 0, sizeof *config);
}

size_t tfr__config_key_plugin(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot && dot[1] ? (size_t)(dot - key) : 0;
}

/* A key of config_keys, or NAME.SOMETHING. */
static bool config_key_is_known(const char *key)
{
    size_t i;
    if (strchr(key, '.'))
        return tfr__config_key_plugin(key) != 0;
    for (i = 0; i < sizeof config_keys / sizeof config_keys[0]; i++)
        if (strcmp(config_keys[i], key) == 0)
            return true;
    return false;
}

/* Cuts blanks at both ends of [begin, end). */
static void config_trim(const char **begin, const char **end)
{
    while (*begin < *end && strchr(" \t\r", **begin))
        ++*begin;
    while (*end > *begin && strchr(" \t\r", (*end)[-1]))
        --*end;
}

static tfr_status config_line(tfr__config *config, tfr_runtime *runtime, const char *name,
                              unsigned number, const char *begin, const char *end)
{
    char key[96], value[1024], origin[512];
    const char *equal, *hash, *key_end, *value_begin;
    hash = memchr(begin, '#', (size_t)(end - begin));
    if (hash)
        end = hash;
    config_trim(&begin, &end);
    if (begin == end)
        return TFR_OK;
    equal = memchr(begin, '=', (size_t)(end - begin));
    if (!equal) {
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s:%u: the line is not \"key = value\" and is left out; keys are %s", name,
                 number, config_keys_text);
        return TFR_OK;
    }
    key_end = equal;
    value_begin = equal + 1;
    config_trim(&begin, &key_end);
    config_trim(&value_begin, &end);
    if ((size_t)(key_end - begin) >= sizeof key || (size_t)(end - value_begin) >= sizeof value) {
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s:%u: a key has at most %zu bytes and a value %zu; the line is left out", name,
                 number, sizeof key - 1, sizeof value - 1);
        return TFR_OK;
    }
    snprintf(key, sizeof key, "%.*s", (int)(key_end - begin), begin);
    snprintf(value, sizeof value, "%.*s", (int)(end - value_begin), value_begin);
    snprintf(origin, sizeof origin, "%s:%u", name, number);
    if (!config_key_is_known(key)) {
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s: key \"%s\" is not known; keys are %s", origin, key, config_keys_text);
        return TFR_OK;
    }
    return tfr__config_add(config, key, value, origin);
}

tfr_status tfr__config_parse(tfr__config *config, tfr_runtime *runtime, const char *name,
                             const char *text)
{
    unsigned number = 1;
    for (; *text; number++) {
        size_t n = strcspn(text, "\n");
        tfr_status status = config_line(config, runtime, name, number, text, text + n);
        if (status)
            return status;
        text += n;
        text += *text == '\n';
    }
    return TFR_OK;
}

/* A missing file is none; an unreadable one is a warning. */
static tfr_status config_file(tfr__config *config, tfr_runtime *runtime, const char *path)
{
    struct stat st;
    tfr_status status = TFR_OK;
    char *text;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            tfr__log(runtime, TFR_LOG_WARNING, "config", "%s cannot be read: %s", path,
                     strerror(errno));
        return TFR_OK;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CONFIG_MAX_BYTES) {
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s is not read: it is no regular file of at most %u bytes", path,
                 CONFIG_MAX_BYTES);
        close(fd);
        return TFR_OK;
    }
    text = tfr__calloc((size_t)st.st_size + 1, 1);
    if (!text) {
        close(fd);
        return TFR_ENOMEM;
    }
    got = read(fd, text, (size_t)st.st_size);
    close(fd);
    if (got < 0)
        tfr__log(runtime, TFR_LOG_WARNING, "config", "%s cannot be read: %s", path,
                 strerror(errno));
    else
        status = tfr__config_parse(config, runtime, path, text);
    tfr__free(text);
    return status;
}

static tfr_status config_user_file(tfr__config *config, tfr_runtime *runtime)
{
    const char *folder = tfr__env_get("XDG_CONFIG_HOME"), *home = tfr__env_get("HOME");
    char path[4096];
    int n = 0;
    /* The XDG specification: a relative folder is ignored. */
    if (folder && *folder == '/')
        n = snprintf(path, sizeof path, "%s/tfrun/tfrun.conf", folder);
    else if (home && *home == '/')
        n = snprintf(path, sizeof path, "%s/.config/tfrun/tfrun.conf", home);
    return n > 0 && (size_t)n < sizeof path ? config_file(config, runtime, path) : TFR_OK;
}

/* A variable that holds a list: what its items look like, and the keys that they become. */
typedef struct config_list {
    const char *variable, *separators, *form;
    const char *suffix; /* of the key */
    size_t most;        /* bytes of what stands before "=" */
} config_list;

static const config_list config_priorities = {"TFRUN_PRIORITY", ", ", "NAME=NUMBER", ".priority",
                                              63};
/* A value may have commas in it. */
static const config_list config_plugin_options = {"TFRUN_PLUGIN_OPTIONS", " \t\n",
                                                  "NAME.KEY=VALUE", "", 95};

static tfr_status config_items(tfr__config *config, tfr_runtime *runtime, const config_list *is)
{
    const char *list = tfr__env_get(is->variable);
    while (list && *list) {
        char key[128], value[1024];
        size_t n = strcspn(list, is->separators);
        const char *equal = memchr(list, '=', n);
        size_t name = equal ? (size_t)(equal - list) : 0;
        snprintf(key, sizeof key, "%.*s%s", name <= is->most ? (int)name : 0, list, is->suffix);
        if (name && name <= is->most && n - name <= sizeof value &&
            tfr__config_key_plugin(key)) {
            tfr_status status;
            snprintf(value, sizeof value, "%.*s", (int)(n - name - 1), equal + 1);
            status = tfr__config_add(config, key, value, is->variable);
            if (status)
                return status;
        } else if (n) {
            tfr__log(runtime, TFR_LOG_WARNING, "config", "%s: \"%.*s\" is not %s and is left out",
                     is->variable, (int)n, list, is->form);
        }
        list += n;
        list += strspn(list, is->separators);
    }
    return TFR_OK;
}

static tfr_status config_environment(tfr__config *config, tfr_runtime *runtime)
{
    static const char *const rows[][2] = {
#define X(name, key, meaning) {name, key},
#include "base/env.def"
#undef X
    };
    tfr_status status = TFR_OK;
    const char *value;
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0] && !status; i++)
        if (*rows[i][1] && (value = tfr__env_get(rows[i][0])))
            status = tfr__config_add(config, rows[i][1], value, rows[i][0]);
    if (!status)
        status = config_items(config, runtime, &config_priorities);
    if (!status)
        status = config_items(config, runtime, &config_plugin_options);
    return status;
}

static tfr_status config_options(tfr__config *config, tfr_runtime *runtime,
                                 const tfr_runtime_options *options)
{
    tfr_status status = TFR_OK;
    char number[16];
    uint32_t i;
    for (i = 0; i < options->n_options && !status; i++) {
        const tfr_option *o = &options->options[i];
        if (!o->key || !o->value)
            continue;
        if (!config_key_is_known(o->key))
            tfr__log(runtime, TFR_LOG_WARNING, "config",
                     "option \"%s\" is not known; keys are %s", o->key,
                     config_keys_text);
        else
            status = tfr__config_add(config, o->key, o->value, TFR__CONFIG_PROGRAM);
    }
    if (!status && options->visible_devices)
        status = tfr__config_add(config, "visible-devices", options->visible_devices,
                                 TFR__CONFIG_PROGRAM);
    if (!status && options->n_threads) {
        snprintf(number, sizeof number, "%u", (unsigned)options->n_threads);
        status = tfr__config_add(config, "threads", number, TFR__CONFIG_PROGRAM);
    }
    if (!status && options->logical_cpus) {
        snprintf(number, sizeof number, "%u", (unsigned)options->logical_cpus);
        status = tfr__config_add(config, "logical-cpus", number, TFR__CONFIG_PROGRAM);
    }
    return status;
}

tfr_status tfr__config_load(tfr__config *config, tfr_runtime *runtime,
                            const tfr_runtime_options *options, tfr_err *err)
{
    tfr_status status = config_file(config, runtime, TFR_SYSCONFDIR "/tfrun/tfrun.conf");
    if (!status)
        status = config_user_file(config, runtime);
    if (!status)
        status = config_environment(config, runtime);
    if (!status)
        status = config_options(config, runtime, options);
    return status ? tfr_fail(err, status, "no memory for the configuration") : TFR_OK;
}

const tfr__setting *tfr__config_find(const tfr__config *config, const char *plugin, const char *key)
{
    size_t n = plugin ? strlen(plugin) : 0;
    uint32_t i;
    for (i = config->n; i-- > 0;) {
        const char *k = config->settings[i].key;
        if (plugin) {
            if (strncmp(k, plugin, n) != 0 || k[n] != '.')
                continue;
            k += n + 1;
        }
        if (strcmp(k, key) == 0)
            return &config->settings[i];
    }
    return NULL;
}

uint32_t tfr__config_of(const tfr__config *config, const char *plugin, tfr_option *out)
{
    const size_t n = strlen(plugin);
    uint32_t count = 0;
    for (uint32_t i = 0; i < config->n; i++) {
        const tfr__setting *s = &config->settings[i];
        if (strncmp(s->key, plugin, n) == 0 && s->key[n] == '.' &&
            tfr__config_find(config, plugin, s->key + n + 1) == s)
            out[count++] = (tfr_option){s->key + n + 1, s->value};
    }
    return count;
}

int64_t tfr__config_number(const tfr__config *config, tfr_runtime *runtime, const char *plugin,
                           const char *key, int64_t absent, int64_t least, int64_t most)
{
    const tfr__setting *s = tfr__config_find(config, plugin, key);
    char *end;
    long long value;
    if (!s)
        return absent;
    errno = 0;
    value = strtoll(s->value, &end, 10);
    if (errno || end == s->value || *end || value < least || value > most) {
        tfr__log(runtime, TFR_LOG_WARNING, "config",
                 "%s: %s \"%s\" is not a number from %lld to %lld, %lld is used", s->origin, s->key,
                 s->value, (long long)least, (long long)most, (long long)absent);
        return absent;
    }
    return value;
}

/* Whether a list with commas or blanks has the name, or a star. */
static bool config_list_has(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (*list) {
        size_t item = strcspn(list, ", ");
        if ((item == n && memcmp(list, name, n) == 0) || (item == 1 && *list == '*'))
            return true;
        list += item;
        list += strspn(list, ", ");
    }
    return false;
}

const tfr__setting *tfr__config_disables(const tfr__config *config, const char *plugin)
{
    const tfr__setting *by = NULL;
    uint32_t i;
    for (i = 0; i < config->n; i++) {
        const tfr__setting *s = &config->settings[i];
        if (strcmp(s->key, "disable") == 0 && config_list_has(s->value, plugin))
            by = s;
        else if (strcmp(s->key, "enable") == 0 && config_list_has(s->value, plugin))
            by = NULL;
    }
    return by;
}

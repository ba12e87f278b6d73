/* SPDX-License-Identifier: Apache-2.0 */
/* fit_conditions.c: see fit_conditions.h. */
#include "fit_conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "crc32c.h"

/* What of the words that Linux has for a processor's features makes kernels differ. */
static const char *const features[] = {"avx",   "fma", "amx",  "sse4_", "f16c",
                                       "asimd", "sve", "neon", "vsx",   "altivec"};

typedef struct lines {
    char *text;
    size_t used, n;
} lines;

static void add(lines *l, const char *format, const char *word)
{
    if (l->used < l->n)
        l->used += (size_t)snprintf(l->text + l->used, l->n - l->used, format, word);
}

static bool is_hidden(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ' || at[-1] == ',') && (!at[n] || strchr(" ,", at[n])))
            return true;
    return false;
}

/* The line of features of /proc/cpuinfo, in its words' order, without those that the user hides. */
static void add_instructions(lines *l, tfr_runtime *runtime)
{
    const char *hidden = "", *origin;
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL, *rest = NULL;
    size_t room = 0;
    bool found = false;
    if (!tfr_runtime_setting(runtime, "hide-cpu-features", &hidden, &origin))
        hidden = "";
    add(l, "instructions %s", uname(&system) ? "unknown" : system.machine);
    while (file && !found && getline(&line, &room, file) > 0)
        found = strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0;
    for (char *word = found ? strtok_r(line, " \t\n:", &rest) : NULL; word;
         word = strtok_r(NULL, " \t\n:", &rest))
        for (size_t i = 0; i < sizeof features / sizeof *features; i++)
            if (strncmp(word, features[i], strlen(features[i])) == 0 && !is_hidden(hidden, word))
                add(l, " %s", word);
    add(l, "%s", "\n");
    free(line);
    if (file)
        fclose(file);
}

static bool is_used(tfr_session *session, const char *device, const char *backend)
{
    tfr_placement p = {.size = sizeof p};
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++)
        if (!tfr_session_placement(session, i, &p, NULL) && strcmp(p.device, device) == 0 &&
            strcmp(p.backend, backend) == 0)
            return true;
    return false;
}

/* Sums of these do not depend on the threads, if the shards are the same. */
static bool is_steady(const char *plugin)
{
    return strcmp(plugin, "naive") == 0 || strcmp(plugin, "native") == 0;
}

/* A line for each backend that computes a node. */
static tfr_status add_backends(lines *l, tfr_runtime *runtime, tfr_session *session, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t d = 0; !status && d < tfr_runtime_n_devices(runtime); d++) {
        tfr_device_desc device = {.size = sizeof device};
        status = tfr_runtime_device(runtime, d, &device, err);
        for (uint32_t b = 0; !status && b < device.n_backends; b++) {
            tfr_backend_desc backend = {.size = sizeof backend};
            char threads[64];
            status = tfr_runtime_backend(runtime, d, b, &backend, err);
            if (status || !is_used(session, device.name, backend.name))
                continue;
            add(l, "device %s", device.name);
            add(l, ", backend %s", backend.plugin);
            add(l, " %s", backend.version);
            snprintf(threads, sizeof threads, ", %u threads\n", (unsigned)device.n_threads);
            add(l, "%s", device.n_threads && !is_steady(backend.plugin) ? threads : "\n");
        }
    }
    return status;
}

/* Where each node runs, and how: its program and its math mode. */
static tfr_status add_kernels(lines *l, tfr_session *session, tfr_err *err)
{
    uint32_t crc = 0;
    char sum[16];
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        tfr_placement p = {.size = sizeof p};
        char text[600];
        tfr_status status = tfr_session_placement(session, i, &p, err);
        if (status)
            return status;
        snprintf(text, sizeof text, "%s %s %s %s %d %u\n", p.node, p.op, p.device, p.backend,
                 (int)p.program, (unsigned)p.math_mode);
        crc = tfr__crc32c(crc, text, strlen(text));
    }
    snprintf(sum, sizeof sum, "%08x", (unsigned)crc);
    add(l, "placement %s\n", sum);
    return TFR_OK;
}

tfr_status tfr__fit_conditions(tfr_trainer *trainer, const char *more, char *text, size_t n,
                               tfr_err *err)
{
    tfr_runtime *runtime = tfr_trainer_runtime(trainer);
    tfr_session *session = tfr_trainer_session(trainer);
    lines l = {text, 0, n};
    tfr_status status = add_backends(&l, runtime, session, err);
    char shards[16];
    snprintf(shards, sizeof shards, "%u", (unsigned)tfr_trainer_shards(trainer));
    add(&l, "shards %s\n", shards);
    add_instructions(&l, runtime);
    if (!status)
        status = add_kernels(&l, session, err);
    add(&l, "%s", more);
    return status;
}

bool tfr__fit_conditions_differ(const char *then, const char *now, char *text, size_t n)
{
    while (*then || *now) {
        const size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");
        if (a != b || memcmp(then, now, a) != 0) {
            snprintf(text, n, "\"%.*s\" then, \"%.*s\" now", (int)(a < 300 ? a : 300), then,
                     (int)(b < 300 ? b : 300), now);
            return true;
        }
        then += a + (then[a] == '\n');
        now += b + (now[b] == '\n');
    }
    return false;
}

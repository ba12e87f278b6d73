/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h: for tests of the loader: a folder of its own with copies of the plugins of tests/fake, and
 * runtimes that look only there. Included once per test program, after tfr_test.h.
 */
#ifndef TFR_FAKE_KIT_H
#define TFR_FAKE_KIT_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tfrun/device.h>
#include <time.h>
#include <unistd.h>

static char kit_folder[256]; /* holds plugins/, cache/ and config/ */

static inline const char *kit_path(const char *name)
{
    static char path[8][PATH_MAX + 256];
    static unsigned next;
    char *out = path[next++ % 8];
    snprintf(out, sizeof path[0], "%s/%s", kit_folder, name);
    return out;
}

static inline void kit_shell(const char *format, const char *a, const char *b)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, format, a, b);
    REQUIRE_INT(0, system(command));
}

/* A new empty world. Probes get 10 s: machines that run tests are busy. */
static inline void kit_begin(void)
{
    const char *tmp = getenv("TMPDIR");
    umask(022);
    snprintf(kit_folder, sizeof kit_folder, "%s/tfrun-kit.XXXXXX",
             tmp && *tmp == '/' ? tmp : "/tmp");
    REQUIRE(mkdtemp(kit_folder) != NULL);
    mkdir(kit_path("plugins"), 0755);
    mkdir(kit_path("config"), 0755);
    mkdir(kit_path("config/tfrun"), 0755);
    setenv("TFRUN_PLUGIN_PATH", kit_path("plugins"), 1);
    setenv("XDG_CACHE_HOME", kit_path("cache"), 1);
    setenv("XDG_CONFIG_HOME", kit_path("config"), 1);
    setenv("TFRUN_PROBE_TIMEOUT_MS", "10000", 1);
}

static inline void kit_end(void)
{
    kit_shell("chmod -R u+rwx '%s' && rm -rf '%s'", kit_folder, kit_folder);
}

static inline const char *kit_built(const char *fake)
{
    static char path[PATH_MAX];
    const char *build = getenv("TFR_BUILDDIR");
    snprintf(path, sizeof path, "%s/tests/fake/%s.so", build ? build : ".", fake);
    return path;
}

/* Copies a fake to plugins/AS.so. */
static inline void kit_add(const char *fake, const char *as)
{
    char name[128];
    snprintf(name, sizeof name, "plugins/%s.so", as);
    kit_shell("cp '%s' '%s'", kit_built(fake), kit_path(name));
}

static inline void kit_write(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(kit_path(name), "wb");
    REQUIRE(f != NULL);
    REQUIRE_INT(1, n == 0 || fwrite(bytes, n, 1, f) == 1);
    fclose(f);
}

static inline size_t kit_read(const char *path, char *bytes, size_t capacity)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    REQUIRE(f != NULL);
    n = fread(bytes, 1, capacity, f);
    fclose(f);
    return n;
}

static inline void kit_config(const char *text)
{
    kit_write("config/tfrun/tfrun.conf", text, strlen(text));
}

/* All talk of the runtime that kit_open made last. */
#define KIT_TALK_BYTES 32768
static char *kit_talk;

static inline void kit_log(void *user, tfr_log_level level, const char *who, const char *text)
{
    size_t used = strlen(kit_talk);
    (void)user, (void)level;
    snprintf(kit_talk + used, KIT_TALK_BYTES - used, "%s: %s\n", who, text);
}

static inline tfr_runtime *kit_open(const tfr_runtime_options *given)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    if (given)
        options = *given;
    if (!options.log)
        options.log = kit_log;
    free(kit_talk);
    kit_talk = calloc(1, KIT_TALK_BYTES);
    REQUIRE(kit_talk != NULL);
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

/* The row of the file with this name in the folder; state -1 if there is none. */
static inline tfr_plugin_desc kit_row(const tfr_runtime *runtime, const char *file)
{
    tfr_plugin_desc desc = {.size = sizeof desc, .state = -1};
    uint32_t i;
    for (i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc row = {.size = sizeof row};
        tfr_err err = TFR_ERR_INIT;
        const char *base;
        size_t n = strlen(file);
        REQUIRE_OK(tfr_runtime_plugin(runtime, i, &row, &err), &err);
        base = strrchr(row.path, '/');
        base = base ? base + 1 : row.path;
        if (strncmp(base, file, n) == 0 && strcmp(base + n, ".so") == 0)
            return row;
    }
    desc.reason = desc.next_step = desc.name = desc.version = "";
    return desc;
}

static inline bool kit_has(const tfr_runtime *runtime, const char *name)
{
    uint32_t device;
    int32_t backend;
    return tfr_runtime_find(runtime, name, &device, &backend, NULL) == TFR_OK;
}

#define CHECK_STATE(expected, row) CHECK_STR((expected), kit_state(row))
static inline const char *kit_state(tfr_plugin_desc row)
{
    return row.state < 0 ? "no row" : tfr_plugin_state_name((tfr_plugin_state)row.state);
}

#endif

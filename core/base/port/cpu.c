/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c: reads /proc/cpuinfo and /proc/meminfo. No cpuid: the kernel's words are
 * the ones that plugins' notes use, they exist on every architecture, and a feature that the kernel
 * does not enable is not there.
 */
#include "cpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first bytes of a file, ended by zero. The first processor's paragraph has room in 16 KiB. */
static size_t cpu_read(const char *path, char *text, size_t n)
{
    size_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        while (got < n - 1) {
            ssize_t bytes = read(fd, text + got, n - 1 - got);
            if (bytes <= 0)
                break;
            got += (size_t)bytes;
            text[got] = 0;
            if (strstr(text, "\n\n"))
                break;
        }
        close(fd);
    }
    text[got] = 0;
    return got;
}

/* The value of "key : value" in line, or NULL. */
static const char *cpu_value(const char *line, const char *key)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0)
        return NULL;
    line += n;
    line += strspn(line, " \t");
    if (*line != ':')
        return NULL;
    return line + 1 + strspn(line + 1, " \t");
}

/* Copies one line's value; runs of blanks become one. */
static void cpu_copy(char *out, size_t n, const char *value)
{
    size_t used = 0;
    for (; *value && *value != '\n' && used + 1 < n; value++) {
        char c = *value == '\t' ? ' ' : *value;
        if (c == ' ' && (!used || out[used - 1] == ' '))
            continue;
        if ((unsigned char)c >= ' ' && c != 127)
            out[used++] = c;
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = 0;
}

/* "rv64imafdc_zicsr_zba" becomes "i m a f d c zicsr zba". */
static void cpu_split_isa(char *out, size_t n, const char *value)
{
    size_t used = 0;
    bool letters = true;
    if (strncmp(value, "rv", 2) == 0)
        value += 2 + strspn(value + 2, "0123456789");
    for (; *value && *value != '\n' && used + 2 < n; value++) {
        if (*value == '_') {
            letters = false;
            if (used && out[used - 1] != ' ')
                out[used++] = ' ';
            continue;
        }
        out[used++] = *value;
        if (letters)
            out[used++] = ' ';
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = 0;
}

void tfr__cpu_parse(const char *text, tfr__cpu *out)
{
    static const char *const names[] = {"model name", "Model Name", "Model",
                                        "cpu model",  "cpu",        "uarch"};
    static const char *const lists[] = {"flags", "Features", "features", "isa extensions"};
    const char *line, *value;
    size_t i;
    memset(out, 0, sizeof *out);
    for (line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        for (i = 0; i < sizeof names / sizeof names[0] && !out->name[0]; i++)
            if ((value = cpu_value(line, names[i])))
                cpu_copy(out->name, sizeof out->name, value);
        for (i = 0; i < sizeof lists / sizeof lists[0] && !out->features[0]; i++)
            if ((value = cpu_value(line, lists[i])))
                cpu_copy(out->features, sizeof out->features, value);
        if (!out->features[0] && (value = cpu_value(line, "isa")))
            cpu_split_isa(out->features, sizeof out->features, value);
        if (!out->clock_khz && (value = cpu_value(line, "cpu MHz"))) {
            double mhz = strtod(value, NULL);
            if (mhz > 0 && mhz < 1e6)
                out->clock_khz = (uint32_t)(mhz * 1000);
        }
    }
}

static tfr__cpu cpu_self;

static void cpu_init(void)
{
    char text[16384];
    struct utsname host;
    cpu_read("/proc/cpuinfo", text, sizeof text);
    tfr__cpu_parse(text, &cpu_self);
    if (!cpu_self.name[0])
        snprintf(cpu_self.name, sizeof cpu_self.name, "%.60s processor",
                 uname(&host) == 0 ? host.machine : "unknown");
    if (cpu_read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, 64)) {
        unsigned long long khz = strtoull(text, NULL, 10);
        if (khz > 0 && khz < 1000000000)
            cpu_self.clock_khz = (uint32_t)khz;
    }
}

const tfr__cpu *tfr__cpu_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, cpu_init);
    return &cpu_self;
}

bool tfr__words_have(const char *list, const char *word, size_t bytes)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == bytes && bytes && memcmp(list, word, n) == 0)
            return true;
        list += n;
        list += strspn(list, " ");
    }
    return false;
}

void tfr__memory_size(uint64_t *total, uint64_t *free)
{
    char text[2048];
    const char *line;
    *total = *free = 0;
    cpu_read("/proc/meminfo", text, sizeof text);
    if ((line = strstr(text, "MemTotal:")))
        *total = strtoull(line + 9, NULL, 10) << 10;
    if ((line = strstr(text, "MemAvailable:")))
        *free = strtoull(line + 13, NULL, 10) << 10;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpus.c: asks Linux for the affinity mask and the control groups. /proc/self/mountinfo says where
 * the groups' files are, /proc/self/cgroup which group is ours. A limit of a parent holds too, so
 * that the walk goes up to the mount point. What cannot be read counts as no limit.
 */
#include "cpus.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Machines with more processors than a cpu_set_t holds need a larger mask, so it grows. NULL = the
 * system does not say. */
static cpu_set_t *read_mask(size_t *bytes)
{
    for (size_t n = 1024; n <= 1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        *bytes = CPU_ALLOC_SIZE(n);
        if (!set)
            break;
        if (sched_getaffinity(0, *bytes, set) == 0)
            return set;
        CPU_FREE(set);
    }
    return NULL;
}

uint32_t tfr__cpus_allowed(void)
{
    size_t bytes;
    cpu_set_t *set = read_mask(&bytes);
    const int count = set ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0)
        return (uint32_t)count;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

int tfr__cpus_nth(uint32_t n, int except)
{
    size_t bytes;
    cpu_set_t *set = read_mask(&bytes);
    int found = -1;
    for (size_t i = 0; set && found < 0 && i < bytes * 8; i++)
        if ((int)i != except && CPU_ISSET_S(i, bytes, set) && n-- == 0)
            found = (int)i;
    CPU_FREE(set);
    return found;
}

void tfr__cpus_pin(pthread_t thread, int cpu)
{
    /* Of so many processors as machines have; it takes no memory, for it is called in runs. */
    unsigned long set[1024] = {0};
    if (cpu < 0 || (size_t)cpu >= sizeof set * 8)
        return;
    CPU_SET_S((size_t)cpu, sizeof set, (cpu_set_t *)set);
    (void)pthread_setaffinity_np(thread, sizeof set, (cpu_set_t *)set);
}

/* Reads the text of a small file. False if there is none. */
static bool read_file(const char *folder, const char *name, char *text, size_t n)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    /* Not fopen, which needs memory: without it the limit would be taken for none. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t got = read(fd, text, n - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* quota out of period, rounded up; 0 = no limit. */
static uint32_t cpus_of(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    const int64_t cpus = quota / period + (quota % period != 0);
    return cpus > INT32_MAX ? INT32_MAX : (uint32_t)cpus;
}

static uint32_t least_limit(uint32_t a, uint32_t b)
{
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

/* The limit of the one group in this folder. */
static uint32_t quota_of_folder(const char *folder, bool is_v2)
{
    char text[64];
    int64_t quota;
    int64_t period;
    if (is_v2) {
        /* "150000 100000", or "max 100000" */
        if (!read_file(folder, "cpu.max", text, sizeof text) ||
            sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
            return 0;
        return cpus_of(quota, period);
    }
    if (!read_file(folder, "cpu.cfs_quota_us", text, sizeof text) ||
        sscanf(text, "%" SCNd64, &quota) != 1)
        return 0;
    if (!read_file(folder, "cpu.cfs_period_us", text, sizeof text) ||
        sscanf(text, "%" SCNd64, &period) != 1)
        return 0;
    return cpus_of(quota, period);
}

/* The least limit of the group and its parents, up to the mount point. */
static uint32_t quota_of_group(const char *root, const char *mount, const char *group, bool is_v2)
{
    char folder[PATH_MAX];
    const size_t top = strlen(root) + strlen(mount);
    const int n = snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
    uint32_t quota = 0;
    if (n < 0 || (size_t)n >= sizeof folder)
        return 0;
    for (;;) {
        quota = least_limit(quota, quota_of_folder(folder, is_v2));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top)
            return quota;
        *slash = '\0';
    }
}

/* Is name one of the words of list, which commas separate? */
static bool has_word(const char *list, const char *name)
{
    const size_t n = strlen(name);
    while (*list) {
        const size_t word = strcspn(list, ",");
        if (word == n && strncmp(list, name, n) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

/* The group of this process: "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1. */
static bool own_group(const char *root, bool is_v2, char *out, size_t n)
{
    char path[PATH_MAX];
    char line[PATH_MAX + 256];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = '\0';
        *group++ = '\0';
        if (is_v2 ? !controllers[0] && strcmp(line, "0") == 0 : has_word(controllers, "cpu"))
            found = snprintf(out, n, "%s", strcmp(group, "/") ? group : "") < (int)n;
    }
    fclose(file);
    return found;
}

/*
 * One line of mountinfo: "36 35 98:0 /group /mount options - type source superoptions". The fourth
 * field is the group that is seen at the mount point: in a container not always "/".
 */
static uint32_t quota_of_mount(const char *root, char *line)
{
    char *fields[5];
    char *rest = NULL;
    char group[PATH_MAX];
    char *dash = strstr(line, " - ");
    if (!dash)
        return 0;
    *dash = '\0';
    const char *type = strtok_r(dash + 3, " \n", &rest);
    (void)strtok_r(NULL, " \n", &rest);
    const char *options = strtok_r(NULL, " \n", &rest);
    const bool is_v2 = type && strcmp(type, "cgroup2") == 0;
    if (!is_v2 && !(type && strcmp(type, "cgroup") == 0 && options && has_word(options, "cpu")))
        return 0;
    char *field = strtok_r(line, " ", &rest);
    for (int i = 0; i < 5; i++, field = strtok_r(NULL, " ", &rest)) {
        if (!field)
            return 0;
        fields[i] = field;
    }
    if (!own_group(root, is_v2, group, sizeof group))
        return 0;
    /* Our group's path counts from the hierarchy's root, of which the mount shows a part. */
    const char *shown = strcmp(fields[3], "/") ? fields[3] : "";
    const size_t n = strlen(shown);
    const bool inside = strncmp(group, shown, n) == 0 && (group[n] == '/' || !group[n]);
    return quota_of_group(root, fields[4], inside ? group + n : "", is_v2);
}

uint32_t tfr__cpus_quota(const char *root)
{
    char path[PATH_MAX];
    char line[2 * PATH_MAX + 256];
    uint32_t quota = 0;
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        quota = least_limit(quota, quota_of_mount(root, line));
    fclose(file);
    return quota;
}

uint32_t tfr__cpus_usable(void)
{
    const uint32_t n = least_limit(tfr__cpus_allowed(), tfr__cpus_quota(""));
    return n ? n : 1;
}

uint32_t tfr__cpus_width(void)
{
    static _Atomic uint32_t width;
    if (!width)
        width = tfr__cpus_usable();
    return width;
}

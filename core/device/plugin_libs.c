/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_libs.c: which libraries a plugin needs and which of them are missing, all at once and with
 * who needs them, where the dynamic linker stops at the first. Follows DT_NEEDED through every
 * library that is found, and what the plugin's notes say that it opens later (TFR_PLUGIN_OPENS);
 * loads nothing. The search is ld.so(8)'s: DT_RPATH of the file and of those
 * that led to it, LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, the standard folders.
 */
#include "base/hash.h"
#include "device/loader.h"

#include "base/alloc.h"
#include "base/env.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#define LIBS_MAX         256 /* libraries in one walk */
#define LIBS_MAX_DYNAMIC 512 /* entries of one dynamic section */
#define LIBS_CACHE_FILE  "/etc/ld.so.cache"

#define LIBS_MAX_CHOICES 4 /* sonames of which one is enough */

typedef struct libs_item {
    const char *name;                          /* as DT_NEEDED says; of item 0 the plugin's path */
    const char *instead[LIBS_MAX_CHOICES - 1]; /* else one of these; NULL = no more */
    const char *path;                          /* NULL = missing */
    const char *origin;                        /* folder of path */
    const char *rpath, *runpath;
    uint32_t parent;
    bool later; /* it need not be there */
} libs_item;

typedef struct libs_walk {
    tfr__region region;
    libs_item items[LIBS_MAX];
    uint32_t n, n_missing;
    const char *loaded[64]; /* names of what this very process runs on: surely there */
    uint32_t n_loaded;
    char libc_folder[256]; /* where this system keeps its libraries: "/lib/x86_64-linux-gnu" */
    const char *cache;     /* mapped, or NULL */
    size_t cache_bytes;
    uint64_t hash;
    bool no_memory;
    bool opens_all; /* the plugin is to tell itself what it can open */
} libs_walk;

/* ---- /etc/ld.so.cache, in the form that glibc has written since 2.2 ---- */

typedef struct cache_head {
    char magic[20];
    uint32_t n_libs, strings_bytes;
    uint32_t unused[5];
} cache_head;

typedef struct cache_entry {
    int32_t flags;
    uint32_t key, value, os_version;
    uint64_t hwcap;
} cache_entry;

/* At the first library that is looked for there: most plugins need the C library alone. */
static void cache_open(libs_walk *walk)
{
    struct stat st;
    int fd = walk->cache_bytes ? -1 : open(LIBS_CACHE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    walk->cache_bytes = 1; /* tried */
    if (fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(cache_head)) {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            walk->cache = map;
            walk->cache_bytes = (size_t)st.st_size;
        }
    }
    close(fd);
}

/* The text at an offset, or NULL if it does not end inside the file. */
static const char *cache_text(const libs_walk *walk, uint32_t offset)
{
    if (offset >= walk->cache_bytes || !memchr(walk->cache + offset, 0, walk->cache_bytes - offset))
        return NULL;
    return walk->cache + offset;
}

/* ---- one file ---- */

/* Opens a library of our kind; -1 if it is not there or not ours. */
static int libs_open(const char *path, tfr__elf *elf, struct stat *st)
{
    char why[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
        tfr__elf_open(elf, fd, (uint64_t)st->st_size, why, sizeof why) == TFR__ELF_OK)
        return fd;
    close(fd);
    return -1;
}

static bool libs_is_loaded(const libs_walk *walk, const char *name)
{
    uint32_t i;
    for (i = 0; i < walk->n_loaded; i++)
        if (strcmp(walk->loaded[i], name) == 0)
            return true;
    return false;
}

/* The new item, or NULL if there is one already or no room. */
static libs_item *libs_add(libs_walk *walk, const char *name, uint32_t parent)
{
    libs_item *item;
    uint32_t i;
    if (libs_is_loaded(walk, name))
        return NULL;
    for (i = 1; i < walk->n; i++)
        if (strcmp(walk->items[i].name, name) == 0)
            return NULL;
    if (walk->n == LIBS_MAX)
        return NULL;
    item = &walk->items[walk->n];
    *item = (libs_item){.name = tfr__region_copy(&walk->region, name), .parent = parent};
    if (item->name)
        walk->n++;
    else
        walk->no_memory = true;
    return item->name ? item : NULL;
}

/* ---- notes of what is opened later: a JSON array of objects ---- */

/* The string that begins at the quote *at; *at moves behind it. Cut to n bytes. */
static void libs_json_string(const char **at, char *out, size_t n)
{
    size_t used = 0;
    const char *p = *at + 1;
    for (; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1])
            p++;
        if (used + 1 < n)
            out[used++] = *p;
    }
    out[used] = 0;
    *at = *p ? p + 1 : p;
}

/* Adds the libraries of each object whose priority is "required" or "recommended". */
static void libs_add_opened(libs_walk *walk, const char *json)
{
    char names[LIBS_MAX_CHOICES][128], text[128], key[16] = "";
    uint32_t n = 0, i;
    char priority = 0; /* 'q' of "required", 'c' of "recommended" */
    while (*json) {
        if (*json == '"') {
            libs_json_string(&json, text, sizeof text);
            json += strspn(json, " \t\r\n");
            if (*json == ':')
                snprintf(key, sizeof key, "%.15s", text);
            else if (strcmp(key, "soname") == 0 && n < LIBS_MAX_CHOICES)
                snprintf(names[n++], sizeof names[0], "%s", text);
            else if (strcmp(key, "priority") == 0)
                priority = text[2]; /* of a short one, that of its key */
            continue;
        }
        if (*json == '}') {
            libs_item *item =
                (priority == 'q' || priority == 'c') && n ? libs_add(walk, names[0], 0) : NULL;
            for (i = 1; item && i < n; i++) {
                item->instead[i - 1] = tfr__region_copy(&walk->region, names[i]);
                walk->no_memory = walk->no_memory || !item->instead[i - 1];
            }
            if (item)
                item->later = priority == 'c' || walk->opens_all;
            n = 0;
            priority = 0;
            key[0] = 0;
        }
        json++;
    }
}

static void libs_read_notes(libs_walk *walk, const tfr__elf *elf)
{
    tfr__elf_note note = {0};
    while (tfr__elf_next_note(elf, &note))
        if (note.type == TFR_DLOPEN_NOTE_TYPE && note.owner_bytes == sizeof TFR_DLOPEN_NOTE_OWNER &&
            memcmp(note.owner, TFR_DLOPEN_NOTE_OWNER, sizeof TFR_DLOPEN_NOTE_OWNER) == 0 &&
            memchr(note.desc, 0, sizeof note.desc))
            libs_add_opened(walk, (const char *)note.desc);
}

/* ---- what a file needs ---- */

/* Reads what item needs, from its open file. */
static void libs_read(libs_walk *walk, uint32_t index, const tfr__elf *elf)
{
    ElfW(Dyn) dynamic[LIBS_MAX_DYNAMIC];
    libs_item *item = &walk->items[index];
    uint32_t n = tfr__elf_dynamic(elf, dynamic, LIBS_MAX_DYNAMIC), i;
    uint64_t table = 0;
    char text[PATH_MAX];
    for (i = 0; i < n; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            table = dynamic[i].d_un.d_ptr;
    for (i = 0; i < n; i++) {
        ElfW(Sxword) tag = dynamic[i].d_tag;
        if ((tag != DT_NEEDED && tag != DT_RPATH && tag != DT_RUNPATH) ||
            !tfr__elf_string(elf, table, dynamic[i].d_un.d_val, text, sizeof text))
            continue;
        if (tag == DT_NEEDED) {
            libs_add(walk, text, index);
            item = &walk->items[index];
        } else {
            const char *copy = tfr__region_copy(&walk->region, text);
            walk->no_memory = walk->no_memory || !copy;
            if (tag == DT_RPATH)
                item->rpath = copy;
            else
                item->runpath = copy;
        }
    }
    if (item->runpath)
        item->rpath = NULL; /* as the dynamic linker has it */
}

static bool libs_try(libs_walk *walk, uint32_t index, const char *path)
{
    libs_item *item = &walk->items[index];
    const char *slash = strrchr(path, '/');
    struct stat st;
    tfr__elf elf;
    uint64_t id[4];
    int fd = libs_open(path, &elf, &st);
    if (fd < 0)
        return false;
    item->path = tfr__region_copy(&walk->region, path);
    item->origin = tfr__region_span(&walk->region, path, slash ? (size_t)(slash - path) : 0);
    if (!item->path || !item->origin)
        walk->no_memory = true;
    id[0] = (uint64_t)st.st_ino;
    id[1] = (uint64_t)st.st_size;
    id[2] = (uint64_t)st.st_mtim.tv_sec;
    id[3] = (uint64_t)st.st_mtim.tv_nsec;
    walk->hash = tfr__hash(tfr__hash(walk->hash, path, strlen(path)), id, sizeof id);
    libs_read(walk, index, &elf);
    if (index == 0)
        libs_read_notes(walk, &elf);
    close(fd);
    return true;
}

/* ---- the search ---- */

/* One folder of a list, with $ORIGIN replaced. False if it has another variable or is too long. */
static bool libs_expand(char *out, size_t n, const char *folder, size_t bytes, const char *origin)
{
    size_t used = 0, i = 0;
    while (i < bytes) {
        size_t word = strncmp(folder + i, "$ORIGIN", 7) == 0     ? 7
                      : strncmp(folder + i, "${ORIGIN}", 9) == 0 ? 9
                                                                 : 0;
        const char *from = word ? origin : folder + i;
        size_t add = word ? strlen(origin) : 1;
        if ((!word && folder[i] == '$') || add >= n - used)
            return false;
        memcpy(out + used, from, add);
        used += add;
        i += word ? word : 1;
    }
    out[used] = 0;
    return used > 0;
}

static bool libs_in_list(libs_walk *walk, uint32_t index, const char *list, const char *separators,
                         const char *origin)
{
    char folder[PATH_MAX], path[PATH_MAX];
    while (list && *list) {
        size_t n = strcspn(list, separators);
        if (n && libs_expand(folder, sizeof folder, list, n, origin) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, walk->items[index].name) <
                sizeof path &&
            libs_try(walk, index, path))
            return true;
        list += n;
        list += *list != 0;
    }
    return false;
}

static bool libs_in_cache(libs_walk *walk, uint32_t index)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    const cache_head *head;
    const cache_entry *entries;
    uint32_t i;
    cache_open(walk);
    head = (const void *)walk->cache;
    if (!head || memcmp(head->magic, magic, sizeof head->magic) != 0 ||
        head->n_libs > (walk->cache_bytes - sizeof *head) / sizeof *entries)
        return false;
    entries = (const void *)(walk->cache + sizeof *head);
    for (i = 0; i < head->n_libs; i++) {
        const char *key = cache_text(walk, entries[i].key), *value;
        if (key && strcmp(key, walk->items[index].name) == 0 &&
            (value = cache_text(walk, entries[i].value)) && libs_try(walk, index, value))
            return true;
    }
    return false;
}

static void libs_find(libs_walk *walk, uint32_t index)
{
    static const char standard[] = "/lib:/usr/lib:/lib64:/usr/lib64:/usr/local/lib";
    const char *name = walk->items[index].name;
    const libs_item *parent = &walk->items[walk->items[index].parent];
    uint32_t up = walk->items[index].parent;
    if (strchr(name, '/')) {
        char path[PATH_MAX];
        if (libs_expand(path, sizeof path, name, strlen(name), parent->origin))
            libs_try(walk, index, path);
        return;
    }
    for (; !parent->runpath; up = walk->items[up].parent) {
        const libs_item *above = &walk->items[up];
        if (above->rpath && libs_in_list(walk, index, above->rpath, ":", above->origin))
            return;
        if (up == 0)
            break;
    }
    if (libs_in_list(walk, index, tfr__env_get("LD_LIBRARY_PATH"), ":;", "") ||
        libs_in_list(walk, index, parent->runpath, ":", parent->origin) ||
        libs_in_cache(walk, index))
        return;
    if (!libs_in_list(walk, index, walk->libc_folder, ":", ""))
        libs_in_list(walk, index, standard, ":", "");
}

/* As libs_find, for any of the names that will do. */
static void libs_find_any(libs_walk *walk, uint32_t index)
{
    libs_item *item = &walk->items[index];
    const char *first = item->name;
    uint32_t i;
    libs_find(walk, index);
    for (i = 0; !item->path && i < LIBS_MAX_CHOICES - 1 && item->instead[i]; i++) {
        item->name = item->instead[i];
        libs_find(walk, index);
    }
    if (!item->path)
        item->name = first;
}

static int libs_note_loaded(struct dl_phdr_info *info, size_t size, void *user)
{
    libs_walk *walk = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    /* Only the C library's own: the child runs on them, too, not on all that this process has. */
    if ((strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libm.so", 7) == 0 ||
         strncmp(name, "libdl.so", 8) == 0 || strncmp(name, "libpthread.so", 13) == 0 ||
         strncmp(name, "ld-", 3) == 0) &&
        walk->n_loaded < sizeof walk->loaded / sizeof walk->loaded[0]) {
        walk->loaded[walk->n_loaded++] = name;
        if (slash && strncmp(name, "libc.so", 7) == 0)
            snprintf(walk->libc_folder, sizeof walk->libc_folder, "%.*s",
                     (int)(slash - info->dlpi_name), info->dlpi_name);
    }
    return 0;
}

static const char *libs_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Tells of a library that the plugin would open, had it those that are missing. */
static void libs_tell(tfr__plugin *plugin, libs_walk *walk, uint32_t i)
{
    const uint32_t n = walk->n;
    libs_find_any(walk, i);
    walk->n = n; /* not what it needs itself */
    if (walk->items[i].path)
        tfr__log(plugin->loader->runtime, TFR_LOG_INFO, "loader", "%s can open %s", plugin->path,
                 walk->items[i].path);
}

/* "libx.so.1 (needed by libacme.so), liby.so (needed by tfrun-acme.so)" */
static void libs_report(tfr__plugin *plugin, libs_walk *walk)
{
    char text[2048];
    size_t used = 0;
    uint32_t i;
    for (i = 1; i < walk->n && used < sizeof text; i++)
        if (walk->items[i].later)
            libs_tell(plugin, walk, i);
        else if (!walk->items[i].path)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (needed by %s)",
                                     used ? ", " : "", walk->items[i].name,
                                     libs_base(walk->items[walk->items[i].parent].name));
    tfr__plugin_set(plugin, TFR_PLUGIN_MISSING_LIBRARY, "%u %s: %s", walk->n_missing,
                    walk->n_missing == 1 ? "library is missing" : "libraries are missing", text);
}

tfr_status tfr__plugin_find_libs(tfr__plugin *plugin, tfr_err *err)
{
    libs_walk *walk = tfr__calloc(1, sizeof *walk);
    bool no_memory = true;
    uint32_t i;
    if (walk) {
        walk->hash = TFR__HASH_SEED;
        dl_iterate_phdr(libs_note_loaded, walk);
        walk->opens_all = tfr__config_find(&plugin->loader->config, plugin->name, "open-libraries");
        walk->items[0].name = plugin->path;
        walk->n = 1;
        libs_try(walk, 0, plugin->path);
        for (i = 1; i < walk->n; i++) { /* grows while it is walked: breadth first */
            if (!walk->items[i].later)
                libs_find_any(walk, i);
            walk->n_missing += !walk->items[i].later && !walk->items[i].path;
        }
        plugin->libs_hash = walk->hash;
        no_memory = walk->no_memory;
        if (walk->n_missing && !no_memory)
            libs_report(plugin, walk);
        if (walk->cache)
            munmap((void *)(uintptr_t)walk->cache, walk->cache_bytes);
        tfr__region_free(&walk->region);
        tfr__free(walk);
    }
    return no_memory ? tfr__no_memory(err) : TFR_OK;
}

uint64_t tfr__libs_world(void)
{
    struct stat st;
    uint64_t id[3] = {0};
    if (stat(LIBS_CACHE_FILE, &st) == 0) {
        id[0] = (uint64_t)st.st_size;
        id[1] = (uint64_t)st.st_mtim.tv_sec;
        id[2] = (uint64_t)st.st_mtim.tv_nsec;
    }
    return tfr__hash(TFR__HASH_SEED, id, sizeof id);
}

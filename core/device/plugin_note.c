/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_note.c: the facts of a plugin that are known without running it: kind of file, name, ABI,
 * processor features, sanitizer. Reads the file; maps nothing.
 */
#include "base/alloc.h"
#include "base/hash.h"
#include "device/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "base/port/cpu.h"

/* What the first version of the note holds, for ever. */
#define NOTE_MIN_BYTES    ((uint32_t)(offsetof(tfr_note, cpu_features) + 96))
#define NOTE_GNU_BUILD_ID 3u

/*
 * Names that a plugin cannot have. Talk begins with the name of who says it, settings of a plugin
 * with its name, and devices and backends are named alike; nobody is to be taken for another.
 */
static const char reserved_names[] =
    /* parts of tfrun, which talk */
    "config core floating-point host loader math-mode placement plan plugin pool probe program "
    "runtime session tfrun tfrun-probe trace tuning "
    /* how urgent talk is */
    "debug error info warning "
    /* in names of devices, and in lists of names */
    "all cpu device gpu job none npu replica task tpu";

static bool note_text_is_good(const char *text, size_t n, bool is_name)
{
    size_t i;
    if (!memchr(text, 0, n))
        return false;
    if (is_name && (text[0] < 'a' || text[0] > 'z'))
        return false;
    for (i = 0; text[i]; i++) {
        char c = text[i];
        bool name = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (is_name ? !name : c < ' ' || c > '~')
            return false;
    }
    return true;
}

/* Checks and copies the descriptor of tfrun's note. */
static bool note_take(tfr__plugin *plugin, const tfr__elf_note *found)
{
    uint32_t given = found->desc_bytes, size;
    tfr_note *note = &plugin->note;
    if (given < 2 * sizeof(uint32_t)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN,
                        "its note has %u bytes, at least %u are "
                        "needed",
                        given, NOTE_MIN_BYTES);
        return false;
    }
    memset(note, 0, sizeof *note);
    /* size and the version stay first, for ever */
    memcpy(note, found->desc, given < 3 * sizeof(uint32_t) ? given : 3 * sizeof(uint32_t));
    if (note->abi_major != TFR_ABI_MAJOR) {
        tfr__plugin_set(plugin, TFR_PLUGIN_ABI, "needs plugin ABI %u.%u, this core has %d.%d",
                        note->abi_major, note->abi_minor, TFR_ABI_MAJOR, TFR_ABI_MINOR);
        return false;
    }
    if (TFR_ABI_MAJOR == 0 && note->abi_minor != TFR_ABI_MINOR) {
        tfr__plugin_set(plugin, TFR_PLUGIN_ABI,
                        "needs plugin ABI 0.%u, this core has 0.%d, and before 1.0 both must be "
                        "equal; compile the plugin against this core's headers",
                        note->abi_minor, TFR_ABI_MINOR);
        return false;
    }
    size = note->size;
    if (size < NOTE_MIN_BYTES || size > given) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN,
                        "its note says %u bytes, has %u, and at least %u are needed", size, given,
                        NOTE_MIN_BYTES);
        return false;
    }
    memcpy(note, found->desc, size < sizeof *note ? size : sizeof *note);
    if (!note_text_is_good(note->name, sizeof note->name, true) ||
        !note_text_is_good(note->cpu_features, sizeof note->cpu_features, false)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN,
                        "the name or the processor features of its note are not plain text");
        return false;
    }
    if (tfr__words_have(reserved_names, note->name, strlen(note->name))) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN,
                        "calls itself \"%s\", a name that tfrun keeps for itself; its author has "
                        "to give it another one",
                        note->name);
        return false;
    }
    plugin->has_note = true;
    return true;
}

/* Looks for tfrun's note and the build id. False if a state was set. */
static bool note_find(tfr__plugin *plugin, const tfr__elf *elf)
{
    tfr__elf_note step = {0};
    uint32_t n_found = 0;
    bool has_id = false;
    while (tfr__elf_next_note(elf, &step)) {
        if (step.type == NOTE_GNU_BUILD_ID && step.owner_bytes == 4 &&
            memcmp(step.owner, "GNU", 4) == 0) {
            plugin->build_hash =
                tfr__hash(TFR__HASH_SEED, step.desc,
                          step.desc_bytes < sizeof step.desc ? step.desc_bytes : sizeof step.desc);
            has_id = true;
        }
        if (step.owner_bytes != sizeof TFR_NOTE_OWNER ||
            memcmp(step.owner, TFR_NOTE_OWNER, sizeof TFR_NOTE_OWNER) != 0)
            continue;
        if (step.type != TFR_NOTE_TYPE) {
            if (memchr(step.desc, 0, sizeof step.desc))
                tfr__plugin_add_asked(plugin, step.type, (const char *)step.desc);
            continue;
        }
        if (n_found++) {
            tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN, "has more than one tfrun note");
            return false;
        }
        if (!note_take(plugin, &step))
            return false;
    }
    if (!has_id)
        plugin->build_hash = tfr__hash(tfr__hash(TFR__HASH_SEED, &elf->head, sizeof elf->head),
                                       elf->segments, elf->n_segments * sizeof elf->segments[0]);
    if (n_found)
        return true;
    tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN, "%s",
                    step.broken ? "its ELF notes contradict their sizes" : "has no tfrun note");
    return false;
}

/* Sets a state if the processor, the ABI or the sanitizer does not suit. */
static void note_check(tfr__plugin *plugin)
{
    const tfr_note *note = &plugin->note;
    const char *features = tfr__host_features(), *word = note->cpu_features;
    char missing[128] = "";
    size_t used = 0;
    uint32_t alien = note->sanitizer & ~(uint32_t)TFR_SANITIZERS;
    while (*(word += strspn(word, " "))) {
        size_t n = strcspn(word, " ");
        if (!tfr__words_have(features, word, n))
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%.*s",
                                     used ? " " : "", (int)n, word);
        word += n;
    }
    if (used)
        tfr__plugin_set(plugin, TFR_PLUGIN_CPU_FEATURES,
                        "needs %s, which this processor does not have or which is hidden", missing);
    else if (note->kind != TFR_PLUGIN_BACKEND)
        tfr__plugin_set(plugin, TFR_PLUGIN_ABI, "is of kind %u, this core knows kind 1 alone",
                        note->kind);
    else if (alien)
        tfr__plugin_set(plugin, TFR_PLUGIN_SANITIZER,
                        "was built with the %s sanitizer, this core was not",
                        alien & TFR_SANITIZER_ADDRESS  ? "address"
                        : alien & TFR_SANITIZER_THREAD ? "thread"
                        : alien & TFR_SANITIZER_MEMORY ? "memory"
                                                       : "(unknown)");
}

tfr_status tfr__plugin_read_facts(tfr__plugin *plugin, tfr_err *err)
{
    char why[256];
    tfr__elf elf;
    struct stat st;
    tfr__elf_answer answer;
    int fd = open(plugin->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_NOT_A_PLUGIN, "cannot be read: %s",
                        fd < 0 ? strerror(errno) : "it is not a regular file");
        if (fd >= 0)
            close(fd);
        return TFR_OK;
    }
    plugin->file = (tfr__file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
                                  (int64_t)st.st_mtim.tv_sec, (int64_t)st.st_mtim.tv_nsec};
    answer = tfr__elf_open(&elf, fd, plugin->file.bytes, why, sizeof why);
    if (answer)
        tfr__plugin_set(
            plugin, answer == TFR__ELF_FOREIGN ? TFR_PLUGIN_FOREIGN_ARCH : TFR_PLUGIN_NOT_A_PLUGIN,
            "%s", why);
    else
        note_find(plugin, &elf);
    close(fd);
    if (!plugin->has_note)
        return TFR_OK;
    plugin->name = tfr__region_copy(&plugin->loader->region, plugin->note.name);
    if (!plugin->name) {
        plugin->name = "";
        return tfr__no_memory(err);
    }
    plugin->priority =
        (int32_t)tfr__config_number(&plugin->loader->config, plugin->loader->runtime, plugin->name,
                                    "priority", plugin->note.priority, INT32_MIN, INT32_MAX);
    if (plugin->state == TFR_PLUGIN_FOUND)
        note_check(plugin);
    return TFR_OK;
}

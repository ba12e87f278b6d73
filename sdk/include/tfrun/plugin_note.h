/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_note.h: what the core reads of a plugin before any of its code runs; included by
 * tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_NOTE_H
#define TFRUN_PLUGIN_NOTE_H

#include <tfrun/plugin_types.h>

enum { TFR_PLUGIN_BACKEND = 1 };

enum {
    TFR_SANITIZER_ADDRESS = 1u << 0,
    TFR_SANITIZER_THREAD = 1u << 1,
    TFR_SANITIZER_MEMORY = 1u << 2
};

#if defined(__has_feature)
#define TFR__HAS_FEATURE(x) __has_feature(x)
#else
#define TFR__HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TFR__HAS_FEATURE(address_sanitizer)
#define TFR__SAN_A TFR_SANITIZER_ADDRESS
#else
#define TFR__SAN_A 0u
#endif
#if defined(__SANITIZE_THREAD__) || TFR__HAS_FEATURE(thread_sanitizer)
#define TFR__SAN_T TFR_SANITIZER_THREAD
#else
#define TFR__SAN_T 0u
#endif
#if TFR__HAS_FEATURE(memory_sanitizer)
#define TFR__SAN_M TFR_SANITIZER_MEMORY
#else
#define TFR__SAN_M 0u
#endif
#define TFR_SANITIZERS (TFR__SAN_A | TFR__SAN_T | TFR__SAN_M)

#define TFR_NOTE_OWNER "tfrun"
#define TFR_NOTE_TYPE  1u

/* The descriptor of the ELF note; little or big endian as the file is. Read without running
 * anything. */
typedef struct tfr_note {
    uint32_t size;
    uint32_t abi_major, abi_minor;
    uint32_t kind;      /* TFR_PLUGIN_... */
    int32_t priority;   /* higher is asked first among the backends of a device; 100 usual, 0 the
                           reference, below 0 what has ops of its own only */
    uint32_t sanitizer; /* TFR_SANITIZER_... that it was built with */
    char name[32];
    char cpu_features[96]; /* space-separated Linux names that the file's code needs at load: "avx2
                              fma" */
} tfr_note;

typedef struct tfr_note_record {
    uint32_t namesz, descsz, type;
    char owner[8];
    tfr_note note;
} tfr_note_record;

/* Once per plugin, at file scope: TFR_PLUGIN_NOTE("acme", TFR_PLUGIN_BACKEND, 100, ""); */
#define TFR_PLUGIN_NOTE(plugin_name, plugin_kind, default_priority, needed_cpu_features)           \
    __attribute__((section(".note.tfrun"), used,                                                   \
                   aligned(4))) static const tfr_note_record tfr_plugin_note = {                   \
        (uint32_t)sizeof(TFR_NOTE_OWNER),                                                          \
        (uint32_t)sizeof(tfr_note),                                                                \
        TFR_NOTE_TYPE,                                                                             \
        TFR_NOTE_OWNER,                                                                            \
        {(uint32_t)sizeof(tfr_note), TFR_ABI_MAJOR, TFR_ABI_MINOR, plugin_kind, default_priority,  \
         TFR_SANITIZERS, plugin_name, needed_cpu_features}}

/*
 * A library that the plugin does not link but opens with dlopen when it first needs it: loading a
 * large one takes milliseconds of every process, also of those that never use it. At file scope,
 * once for each: TFR_PLUGIN_OPENS("libacme-blas.so.2"); the argument is a literal. The core looks
 * for the library, and for what it needs itself, as for those that are linked, and says which are
 * missing; packagers' tools make dependencies of the same note. It is the note .note.dlopen of
 * https://uapi-group.org/specifications/specs/elf_dlopen_metadata/ with the priority "required";
 * notes of that form which were made by other means count as well. See TFR_HOST_PROBE_V1, too.
 * TFR_PLUGIN_MAY_OPEN is for a library that only some calls need, and that supports declines them
 * without: priority "recommended". The core needs none of these; where a required library is
 * missing, it tells by --log-level info which of them are there. TFR_PLUGIN_MAY_OPEN_EITHER is for
 * one of which another major version will do, too. With the option NAME.open-libraries, as `tfrun
 * doctor` sets it, the core asks the plugin even where a library of these notes is missing, so that
 * it can tell itself what there is.
 */
#define TFR_DLOPEN_NOTE_OWNER "FDO"
#define TFR_DLOPEN_NOTE_TYPE  0x407c0c0au
#define TFR__OPENS_TEXT(soname, priority)                                                          \
    "[{\"feature\":\"" soname "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}]"
#define TFR__OPENS_NAME2(line)      tfr_plugin_opens_##line
#define TFR__OPENS_NAME(line)       TFR__OPENS_NAME2(line)
#define TFR_PLUGIN_OPENS(soname)    TFR__OPENS_NOTE(TFR__OPENS_TEXT(soname, "required"))
#define TFR_PLUGIN_MAY_OPEN(soname) TFR__OPENS_NOTE(TFR__OPENS_TEXT(soname, "recommended"))
#define TFR_PLUGIN_MAY_OPEN_EITHER(soname, other)                                                  \
    TFR__OPENS_NOTE("[{\"feature\":\"" soname                                                      \
                    "\",\"priority\":\"recommended\",\"soname\":[\"" soname "\",\"" other "\"]}]")
#define TFR__OPENS_NOTE(json)                                                                      \
    __attribute__((section(".note.dlopen"), used, aligned(4))) static const struct {               \
        uint32_t namesz, descsz, type;                                                             \
        char owner[4];                                                                             \
        char text[(sizeof(json) + 3) / 4 * 4];                                                     \
    } TFR__OPENS_NAME(__LINE__) = {(uint32_t)sizeof(TFR_DLOPEN_NOTE_OWNER),                        \
                                   (uint32_t)sizeof(json), TFR_DLOPEN_NOTE_TYPE,                   \
                                   TFR_DLOPEN_NOTE_OWNER, json}

/*
 * What the plugin's answers to the probe depend on, besides its own file, the libraries that it
 * names, and variables called *_VISIBLE_DEVICES: the answers are remembered, and asked for anew
 * when one of these has changed. At file scope, once for each; the argument is a literal of less
 * than 500 bytes. A variable of the environment that the driver reads:
 *   TFR_PLUGIN_ASKS_VARIABLE("OCL_ICD_VENDORS");
 * A file, or a folder with the files in it, but not with those in folders of it. It need not be
 * there. One that begins with $NAME begins with what that variable holds:
 *   TFR_PLUGIN_ASKS_FILE("/etc/OpenCL/vendors");
 *   TFR_PLUGIN_ASKS_FILE("$OCL_ICD_VENDORS");
 */
#define TFR_NOTE_VARIABLE              2u
#define TFR_NOTE_FILE                  3u
#define TFR__ASKS_NAME2(line)          tfr_plugin_asks_##line
#define TFR__ASKS_NAME(line)           TFR__ASKS_NAME2(line)
#define TFR_PLUGIN_ASKS_VARIABLE(name) TFR__ASKS_NOTE(TFR_NOTE_VARIABLE, name)
#define TFR_PLUGIN_ASKS_FILE(path)     TFR__ASKS_NOTE(TFR_NOTE_FILE, path)
#define TFR__ASKS_NOTE(type_number, literal)                                                       \
    __attribute__((section(".note.tfrun"), used, aligned(4))) static const struct {                \
        uint32_t namesz, descsz, type;                                                             \
        char owner[8];                                                                             \
        char text[(sizeof(literal) + 3) / 4 * 4];                                                  \
    } TFR__ASKS_NAME(__LINE__) = {(uint32_t)sizeof(TFR_NOTE_OWNER), (uint32_t)sizeof(literal),     \
                                  type_number, TFR_NOTE_OWNER, literal}

#endif

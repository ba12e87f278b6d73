/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_elf.h: what an ELF file says about itself, read with pread and checked against the file's
 * size. Nothing is mapped and nothing runs. Only files of this machine's kind can be looked into.
 */
#ifndef TFR_CORE_PLUGIN_ELF_H
#define TFR_CORE_PLUGIN_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFR__ELF_MAX_SEGMENTS 128

typedef enum tfr__elf_answer {
    TFR__ELF_OK = 0,
    TFR__ELF_FOREIGN, /* ELF of another machine: why names both */
    TFR__ELF_BROKEN   /* no ELF file, cut short, or contradicts itself: why says how */
} tfr__elf_answer;

typedef struct tfr__elf {
    int fd; /* the caller's; stays open */
    uint64_t file_bytes;
    /* The start of the file, read at once: headers and notes are mostly there, and each would be a
     * system call or three. */
    unsigned char first[4096];
    size_t n_first;
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[TFR__ELF_MAX_SEGMENTS];
    uint32_t n_segments;
} tfr__elf;

/* Reads and checks the headers. why gets a sentence unless the answer is OK. */
tfr__elf_answer tfr__elf_open(tfr__elf *elf, int fd, uint64_t file_bytes, char *why, size_t n);

/* Steps through the notes; false at the end. Start with a zeroed cursor. */
typedef struct tfr__elf_note {
    uint32_t segment;
    uint64_t offset; /* in the segment, of the next note */
    bool broken;     /* ended early because a size does not fit */
    uint32_t type, owner_bytes, desc_bytes;
    char owner[16];
    unsigned char desc[512]; /* the first bytes of the descriptor */
} tfr__elf_note;
bool tfr__elf_next_note(const tfr__elf *elf, tfr__elf_note *note);

/* Reads up to n entries of the dynamic section, less the closing one; returns their number. */
uint32_t tfr__elf_dynamic(const tfr__elf *elf, ElfW(Dyn) * out, uint32_t n);

/* A string of the dynamic string table, cut to n bytes; false if it lies outside the file. */
bool tfr__elf_string(const tfr__elf *elf, uint64_t table, uint64_t offset, char *out, size_t n);

/* Reads exactly n bytes at offset. */
bool tfr__elf_read(const tfr__elf *elf, uint64_t offset, void *out, size_t n);

#endif

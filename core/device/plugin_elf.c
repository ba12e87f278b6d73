/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_elf.c: a bounded reader of ELF headers, notes and the dynamic section. Every number in the
 * file is hostile. The dynamic linker itself dies (SIGBUS) on a file that is shorter than its
 * segments, hence the comparison with the file's size.
 */
#include "device/plugin_elf.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The header of the module that this code is in: what "our" kind of file is, on any machine. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

#define ELF_MAX_NOTE_BYTES (1u << 20)

bool tfr__elf_read(const tfr__elf *elf, uint64_t offset, void *out, size_t n)
{
    size_t got = 0;
    if (offset > elf->file_bytes || n > elf->file_bytes - offset)
        return false;
    if (offset < elf->n_first && n <= elf->n_first - offset) {
        memcpy(out, elf->first + offset, n);
        return true;
    }
    while (got < n) {
        ssize_t bytes = pread(elf->fd, (char *)out + got, n - got, (off_t)(offset + got));
        if (bytes <= 0)
            return false;
        got += (size_t)bytes;
    }
    return true;
}

static const char *elf_machine_name(unsigned machine, char *text, size_t n)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {
        {EM_386, "i386"},    {EM_X86_64, "x86-64"},   {EM_ARM, "arm"},    {EM_AARCH64, "arm64"},
        {EM_PPC, "powerpc"}, {EM_PPC64, "powerpc64"}, {EM_S390, "s390x"}, {EM_RISCV, "risc-v"},
        {EM_MIPS, "mips"},   {EM_SPARCV9, "sparc64"}, {EM_IA_64, "ia64"}, {258, "loongarch"},
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].machine == machine)
            return names[i].name;
    snprintf(text, n, "machine %u", machine);
    return text;
}

static tfr__elf_answer elf_check_kind(const unsigned char *head, char *why, size_t n)
{
    const ElfW(Ehdr) *own = &__ehdr_start;
    uint16_t machine;
    char a[24], b[24];
    bool swapped = head[EI_DATA] != own->e_ident[EI_DATA];
    memcpy(&machine, head + offsetof(ElfW(Ehdr), e_machine), sizeof machine);
    if (swapped)
        machine = (uint16_t)(machine >> 8 | machine << 8);
    if (head[EI_CLASS] == own->e_ident[EI_CLASS] && !swapped && machine == own->e_machine)
        return TFR__ELF_OK;
    snprintf(why, n, "is built for %s, %d bits, %s endian; this process is %s, %d bits, %s endian",
             elf_machine_name(machine, a, sizeof a), head[EI_CLASS] == ELFCLASS64 ? 64 : 32,
             head[EI_DATA] == ELFDATA2MSB ? "big" : "little",
             elf_machine_name(own->e_machine, b, sizeof b),
             own->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
             own->e_ident[EI_DATA] == ELFDATA2MSB ? "big" : "little");
    return TFR__ELF_FOREIGN;
}

static tfr__elf_answer elf_check_segments(tfr__elf *elf, char *why, size_t n)
{
    uint64_t sections = (uint64_t)elf->head.e_shnum * elf->head.e_shentsize;
    uint32_t i;
    /* Section headers are at the end and not needed, but a file that lost them lost a part. */
    if (elf->head.e_shoff > elf->file_bytes ||
        (elf->head.e_shoff && sections > elf->file_bytes - elf->head.e_shoff)) {
        snprintf(why, n, "is cut short: section headers at %llu, the file has %llu bytes",
                 (unsigned long long)elf->head.e_shoff, (unsigned long long)elf->file_bytes);
        return TFR__ELF_BROKEN;
    }
    for (i = 0; i < elf->n_segments; i++) {
        const ElfW(Phdr) *p = &elf->segments[i];
        if (p->p_type != PT_LOAD && p->p_type != PT_NOTE && p->p_type != PT_DYNAMIC)
            continue;
        if (p->p_offset > elf->file_bytes || p->p_filesz > elf->file_bytes - p->p_offset) {
            snprintf(why, n, "is cut short: segment %u needs %llu bytes at %llu, the file has %llu",
                     i, (unsigned long long)p->p_filesz, (unsigned long long)p->p_offset,
                     (unsigned long long)elf->file_bytes);
            return TFR__ELF_BROKEN;
        }
    }
    return TFR__ELF_OK;
}

tfr__elf_answer tfr__elf_open(tfr__elf *elf, int fd, uint64_t file_bytes, char *why, size_t n)
{
    unsigned char *first = elf->first;
    ElfW(Ehdr) *head = &elf->head;
    tfr__elf_answer answer;
    size_t have = file_bytes < sizeof elf->first ? (size_t)file_bytes : sizeof elf->first, table;
    elf->fd = fd;
    elf->file_bytes = file_bytes;
    elf->n_segments = 0;
    elf->n_first = 0;
    if (!tfr__elf_read(elf, 0, first, have)) {
        snprintf(why, n, "cannot be read: it is shorter than the %llu bytes that it had",
                 (unsigned long long)file_bytes);
        return TFR__ELF_BROKEN;
    }
    elf->n_first = have;
    if (have < SELFMAG || memcmp(first, ELFMAG, SELFMAG) != 0) {
        snprintf(why, n, "is not an ELF file, of %llu bytes", (unsigned long long)file_bytes);
        return TFR__ELF_BROKEN;
    }
    if (have < sizeof(Elf32_Ehdr)) {
        snprintf(why, n, "is cut short: %llu bytes hold no ELF header",
                 (unsigned long long)file_bytes);
        return TFR__ELF_BROKEN;
    }
    answer = elf_check_kind(first, why, n);
    if (answer)
        return answer;
    if (have < sizeof *head) {
        snprintf(why, n, "is cut short: the header needs %zu bytes, the file has %llu",
                 sizeof *head, (unsigned long long)file_bytes);
        return TFR__ELF_BROKEN;
    }
    memcpy(head, first, sizeof *head);
    if (head->e_type != ET_DYN || head->e_phentsize != sizeof(ElfW(Phdr))) {
        snprintf(why, n, "is not a shared object: ELF type %u, program header of %u bytes",
                 (unsigned)head->e_type, (unsigned)head->e_phentsize);
        return TFR__ELF_BROKEN;
    }
    if (head->e_phnum < 1 || head->e_phnum > TFR__ELF_MAX_SEGMENTS) {
        snprintf(why, n, "has %u program headers, 1 to %d are possible", (unsigned)head->e_phnum,
                 TFR__ELF_MAX_SEGMENTS);
        return TFR__ELF_BROKEN;
    }
    table = head->e_phnum * sizeof(ElfW(Phdr));
    if (!tfr__elf_read(elf, head->e_phoff, elf->segments, table)) {
        snprintf(why, n, "is cut short: program headers at %llu, the file has %llu bytes",
                 (unsigned long long)head->e_phoff, (unsigned long long)file_bytes);
        return TFR__ELF_BROKEN;
    }
    elf->n_segments = head->e_phnum;
    return elf_check_segments(elf, why, n);
}

/* Rounds up to a multiple of align, a power of two. */
static uint64_t elf_round(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

bool tfr__elf_next_note(const tfr__elf *elf, tfr__elf_note *note)
{
    for (; note->segment < elf->n_segments; note->segment++, note->offset = 0) {
        const ElfW(Phdr) *p = &elf->segments[note->segment];
        uint64_t align = p->p_align == 8 ? 8 : 4, desc, left;
        ElfW(Nhdr) head;
        if (p->p_type != PT_NOTE || note->offset >= p->p_filesz)
            continue;
        left = p->p_filesz - note->offset;
        if (left < sizeof head || note->offset > ELF_MAX_NOTE_BYTES ||
            !tfr__elf_read(elf, p->p_offset + note->offset, &head, sizeof head)) {
            note->broken = note->broken || left >= sizeof head;
            continue;
        }
        desc = elf_round(sizeof head + (uint64_t)head.n_namesz, align);
        if (desc > left || head.n_descsz > left - desc) {
            note->broken = true;
            continue;
        }
        memset(note->owner, 0, sizeof note->owner);
        memset(note->desc, 0, sizeof note->desc);
        note->type = head.n_type;
        note->owner_bytes = head.n_namesz;
        note->desc_bytes = head.n_descsz;
        if (!tfr__elf_read(elf, p->p_offset + note->offset + sizeof head, note->owner,
                           head.n_namesz < sizeof note->owner ? head.n_namesz
                                                              : sizeof note->owner - 1) ||
            !tfr__elf_read(elf, p->p_offset + note->offset + desc, note->desc,
                           head.n_descsz < sizeof note->desc ? head.n_descsz : sizeof note->desc)) {
            note->broken = true;
            continue;
        }
        note->offset += elf_round(desc + head.n_descsz, align);
        return true;
    }
    return false;
}

uint32_t tfr__elf_dynamic(const tfr__elf *elf, ElfW(Dyn) * out, uint32_t n)
{
    uint32_t s, i;
    for (s = 0; s < elf->n_segments; s++) {
        const ElfW(Phdr) *p = &elf->segments[s];
        if (p->p_type != PT_DYNAMIC)
            continue;
        if (n > p->p_filesz / sizeof *out)
            n = (uint32_t)(p->p_filesz / sizeof *out);
        if (!tfr__elf_read(elf, p->p_offset, out, n * sizeof *out))
            return 0;
        for (i = 0; i < n && out[i].d_tag != DT_NULL; i++)
            ;
        return i;
    }
    return 0;
}

bool tfr__elf_string(const tfr__elf *elf, uint64_t table, uint64_t offset, char *out, size_t n)
{
    uint32_t s;
    uint64_t address = table + offset, at, left;
    for (s = 0; s < elf->n_segments; s++) {
        const ElfW(Phdr) *p = &elf->segments[s];
        if (p->p_type != PT_LOAD || address < p->p_vaddr || address < table ||
            address - p->p_vaddr >= p->p_filesz)
            continue;
        at = p->p_offset + (address - p->p_vaddr);
        left = p->p_filesz - (address - p->p_vaddr);
        if (left > n - 1)
            left = n - 1;
        if (!tfr__elf_read(elf, at, out, (size_t)left))
            return false;
        out[left] = 0;
        return memchr(out, 0, (size_t)left) != NULL;
    }
    return false;
}

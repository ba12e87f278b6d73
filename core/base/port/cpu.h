/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: the processor as Linux describes it, on every architecture in Linux' own names. */
#ifndef TFR_PORT_CPU_H
#define TFR_PORT_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tfr__cpu {
    char name[96];       /* "Intel(R) Xeon(R) Processor"; never empty */
    char features[4096]; /* separated by single blanks: "fpu sse avx2" */
    uint32_t clock_khz;  /* 0 = unknown */
} tfr__cpu;

/* Reads it once per process; the same address ever after. */
const tfr__cpu *tfr__cpu_get(void);

/* What /proc/cpuinfo says, for tests: parses text, which is ended by a zero byte. */
void tfr__cpu_parse(const char *text, tfr__cpu *out);

/* Whether the list has the word; both separated by blanks. */
bool tfr__words_have(const char *list, const char *word, size_t bytes);

/* Bytes of memory; 0 = unknown. */
void tfr__memory_size(uint64_t *total, uint64_t *free);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* level.h: which instructions are used: the most that the processor has and the user allows. */
#ifndef NATIVE_LEVEL_H
#define NATIVE_LEVEL_H

#include <stdbool.h>

typedef enum native_level {
    NATIVE_LEVEL_PORTABLE, /* what every processor of the architecture has */
    NATIVE_LEVEL_AVX2,     /* with FMA */
    NATIVE_LEVEL_AVX512,   /* F, BW, VL, DQ */
    NATIVE_LEVEL_AMX       /* and tiles of bfloat16; whether the system gives them, it says later */
} native_level;

/* features: those that are allowed, by Linux's names, with blanks between them. */
native_level native_find_level(const char *features);
/* Whether there is AVX-512 with products of bytes, too. */
bool native_has_vnni(const char *features);

#endif

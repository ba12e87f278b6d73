/* SPDX-License-Identifier: Apache-2.0 */
/*
 * park.h: a thread sleeps until a 32-bit word may have changed, and a thread that changed it wakes
 * the sleepers. Futexes on Linux; elsewhere one mutex and condition for all words, which is slower
 * and as correct.
 */
#ifndef TFR_CORE_PORT_PARK_H
#define TFR_CORE_PORT_PARK_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t tfr__word;

/* Sleeps while *word is seen, at the start, as value. May return early: look again. */
void tfr__park(tfr__word *word, uint32_t value);
/* Wakes one sleeper. Change the word first. */
void tfr__unpark(tfr__word *word);

/* For the body of a loop that waits without sleeping. */
static inline void tfr__spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif

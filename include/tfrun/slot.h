/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/slot.h: which plugin each thread is in. A plugin runs in the program's own process: when it
 * crashes, ends the process or takes long, only its name and what it was asked for help the user.
 * tfrun notes both before it calls a slot of a plugin, and a program asks here: from a handler of
 * SIGSEGV, from a function given to atexit, from a thread that watches the others. The tfrun
 * command does all three. The library itself installs no handler and starts no thread for it.
 */
#ifndef TFRUN_SLOT_H
#define TFRUN_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <tfrun/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* A thread of tfrun's pool that helps another one, which is listed, too, with its call. */
    TFR_SLOT_HELPS = 1u << 0
};

/* A call of a plugin that is under way. The texts are copies, cut to their size. "" = not known. */
typedef struct tfr_slot_call {
    uint32_t size;
    uint32_t flags;  /* TFR_SLOT_... */
    uint32_t thread; /* tfrun's number of the thread */
    uint32_t reserved;
    uint64_t call; /* a number for the call: as long as a thread's is equal, it is the same call */
    char plugin[32]; /* "acme" */
    char slot[32];   /* as in tfrun/plugin.h: "prepare"; "dlopen" while the file is loaded */
    char node[128];  /* name in the graph; the first one of a program */
    char op[64];     /* "Conv"; "" with a node: the call is for a program that begins there */
} tfr_slot_call;
#define TFR_SLOT_CALL_INIT                                                                         \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_slot_call)                                                    \
    }

/*
 * The call that the calling thread is in. False: it is in no plugin. Any thread; async-signal-safe,
 * so that the handler of a signal may call it on the thread that the signal came to.
 */
TFR_API bool tfr_slot_current(tfr_slot_call *out);

/*
 * The calls of all threads, one after the other: *at is 0 at first and says how far it is. False:
 * there are no more, or another thread is looking just now. Any thread; async-signal-safe. It never
 * waits, and the threads that it looks at go on, so what it gives was true a moment ago.
 */
TFR_API bool tfr_slot_next(uint32_t *at, tfr_slot_call *out);

/*
 * `prepare of node "conv1" (Conv)`, at most n bytes with the final zero. Returns text. Any thread;
 * async-signal-safe.
 */
TFR_API const char *tfr_slot_format(const tfr_slot_call *call, char *text, size_t n);

#ifdef __cplusplus
}
#endif

#endif

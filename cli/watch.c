/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c: says what is waited for when a plugin takes long: first after some seconds, then after
 * twice as long, and so on. A thread of the command looks at the calls from time to time; a call
 * itself reads no clock.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tfrun/slot.h>

#include "guard.h"
#include "text.h"
#include "timing.h"

enum { MOST_WATCHED = 64, STACK_BYTES = 256 << 10 };

/* The last call that was seen of a thread; call 0 = none. */
typedef struct seen {
    uint64_t call;
    double since, tell_at; /* times, and seconds after since */
} seen;

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool runs, stops;
    double after; /* seconds */
    seen calls[MOST_WATCHED];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void look_at(const tfr_slot_call *call, double now)
{
    seen *s = &watch.calls[call->thread];
    char text[300];
    if (s->call != call->call) {
        *s = (seen){call->call, now, watch.after};
        return;
    }
    if (now - s->since < s->tell_at)
        return;
    s->tell_at = 2 * (now - s->since);
    cli_line(stderr, "tfrun: waiting for plugin %s: %s, %.3g s so far", call->plugin,
             tfr_slot_format(call, text, sizeof text), now - s->since);
}

static void look(void)
{
    tfr_slot_call call = TFR_SLOT_CALL_INIT;
    const double now = cli_now();
    uint32_t at = 0;
    while (tfr_slot_next(&at, &call))
        if (call.thread < MOST_WATCHED && !(call.flags & TFR_SLOT_HELPS))
            look_at(&call, now);
}

static void *watch_main(void *unused)
{
    /* Often enough that a call is told of when it is a quarter late at most. */
    const double step = watch.after / 4 > 1 ? 1 : watch.after / 4;
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.stops) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)(step * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&watch.wake, &watch.lock, &until);
        if (!watch.stops)
            look();
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

void cli_watch_start(int64_t after_ms)
{
    pthread_condattr_t clock;
    pthread_attr_t attr;
    sigset_t all, before;
    if (!after_ms || watch.runs)
        return;
    watch.after = (double)after_ms / 1e3;
    watch.stops = false;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all); /* they are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch.runs = pthread_create(&watch.thread, &attr, watch_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}

void cli_watch_stop(void)
{
    if (!watch.runs)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.stops = true;
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    pthread_cond_destroy(&watch.wake);
    watch.runs = false;
}

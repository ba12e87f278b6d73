/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c: says what is waited for when a plugin takes long: first after some seconds, then after
 * twice as long, and so on. A thread of the command looks at the calls from time to time; a call
 * itself reads no clock. A call that outlasts the time of a run ends the process: only the command
 * may do that, and nothing else can end such a call.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tfrun/fail.h>
#include <tfrun/slot.h>

#include "guard.h"
#include "text.h"
#include "timing.h"

enum { MOST_WATCHED = 64, STACK_BYTES = 256 << 10, GRACE_S = 3 };

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
    double after;         /* seconds; 0 = nothing is said */
    const cli_args *args; /* of the run that has a limit, or NULL */
    bool one_run;
    double began;
    seen calls[MOST_WATCHED];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Noreturn static void end_run(const tfr_slot_call *call, double took)
{
    const double limit = watch.args->time_limit;
    tfr_err err = TFR_ERR_INIT;
    char text[300];
    (void)tfr_fail(&err, TFR_ETIMEOUT,
                   "the run was to take %.3g s at most: after %.3g s plugin %s still is in %s, "
                   "and nothing can end that but the end of the process",
                   limit, took, call->plugin, tfr_slot_format(call, text, sizeof text));
    cli_fail(watch.args, &err);
    fflush(NULL);
    cli_exit_now(CLI_EXIT_TIMEOUT);
}

static void look_at(const tfr_slot_call *call, double now)
{
    seen *s = &watch.calls[call->thread];
    char text[300];
    if (s->call != call->call) {
        *s = (seen){call->call, now, watch.after};
        return;
    }
    if (watch.args && now - s->since > GRACE_S) {
        const double took = now - (watch.one_run ? watch.began : s->since);
        if (took > watch.args->time_limit + GRACE_S)
            end_run(call, took);
    }
    if (!watch.after || now - s->since < s->tell_at)
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
    const double step = watch.after / 4 > 1 || !watch.after ? 1 : watch.after / 4;
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

static void watch_start(int64_t after_ms)
{
    pthread_condattr_t clock;
    pthread_attr_t attr;
    sigset_t all, before;
    if (watch.runs)
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

void cli_watch_start(int64_t after_ms)
{
    if (after_ms)
        watch_start(after_ms);
}

void cli_watch_limit(const cli_args *args, bool one_run)
{
    if (args && !args->time_limit)
        return;
    if (args)
        watch_start(0);
    pthread_mutex_lock(&watch.lock);
    watch.args = args;
    watch.one_run = one_run;
    watch.began = cli_now();
    pthread_mutex_unlock(&watch.lock);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_life.c: devices opened and closed more than once, two runtimes in a process, two threads,
 * and what is not given back.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

enum { N_CALLS = 12, N_ROUNDS = 8, N_WINDOWS = 6, N_STEADY = 4, N_TRIES = 3 };

/* Calls that the plugin takes, and what it gave for them alone. */
typedef struct chosen {
    uint32_t n_found, n;
    certify_found found[N_CALLS];
    const certify_found *calls[N_CALLS];
    tfr_tensor *outputs[N_CALLS][OPS_MAX_OUTPUTS];
} chosen;

static void release_chosen(chosen *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        ops_release_outputs(c->outputs[i], c->calls[i]->call.n_outputs);
    for (uint32_t i = 0; i < c->n_found; i++)
        ops_call_finish(&c->found[i].call);
    free(c);
}

static void fail_call(certify_subject *s, certify_verdict *v, const ops_call *call,
                      const char *where, const char *text)
{
    bool broken = certify_is_broken(s);
    certify_set(v, CERTIFY_FAILED, "%s%s:%llu, %s: %s", broken ? "broken promise: " : "",
                ops_call_name(call), (unsigned long long)call->seed, where,
                broken ? s->plugin.reason : text);
    certify_set_call(v, call);
}

/* One call; the outputs are the caller's. False with the reason in the verdict. */
static bool run_call(certify_subject *s, const certify_found *found, const char *where,
                     tfr_tensor **outputs, certify_verdict *v)
{
    const ops_call *call = &found->call;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    certify_tell_place(s->options, ops_call_name(call), call->seed, where);
    if (ops_run_call(&s->run, s->name, call, found->how, outputs, &status, &err) == OPS_RAN)
        return true;
    fail_call(s, v, call, where, err.text);
    return false;
}

static bool run_and_drop(certify_subject *s, const certify_found *found, const char *where,
                         certify_verdict *v)
{
    tfr_tensor *outputs[OPS_MAX_OUTPUTS] = {NULL};
    bool good = run_call(s, found, where, outputs, v);
    ops_release_outputs(outputs, good ? found->call.n_outputs : 0);
    return good;
}

/* NULL with a verdict if there is no call to try. */
static chosen *choose(certify_subject *s, uint32_t most, certify_verdict *v)
{
    chosen *c = calloc(1, sizeof *c);
    if (c)
        c->n = c->n_found = certify_find_calls(s, c->found, most);
    for (uint32_t i = 0; c && i < c->n; i++)
        c->calls[i] = &c->found[i];
    if (c && c->n)
        return c;
    if (!c)
        certify_set(v, CERTIFY_FAILED, "no memory for the calls");
    else if (certify_is_broken(s))
        certify_set(v, CERTIFY_FAILED, "broken promise: %s", s->plugin.reason);
    else
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin takes no shared call");
    free(c);
    return NULL;
}

/* A runtime of its own for the check. False with the reason in the verdict. */
static bool open_another(const certify_options *options, certify_subject **out, certify_verdict *v)
{
    tfr_err err = TFR_ERR_INIT;
    if (!certify_open(options, out, &err) && !certify_find_backend(*out, &err))
        return true;
    certify_finish(*out);
    *out = NULL;
    certify_set(v, CERTIFY_FAILED, "%s", err.text);
    return false;
}

void certify_check_life(certify_subject *s, certify_verdict *v)
{
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        certify_subject *own = NULL;
        chosen *c = open_another(s->options, &own, v) ? choose(own, 1, v) : NULL;
        good = c && run_and_drop(own, c->calls[0], i ? "when opened anew" : "when opened first", v);
        if (c)
            release_chosen(c);
        certify_finish(own);
    }
    if (good)
        certify_set(v, CERTIFY_PASSED, "opened, run and closed twice");
}

void certify_check_two_runtimes(certify_subject *s, certify_verdict *v)
{
    chosen *c = choose(s, 1, v);
    certify_subject *a = NULL, *b = NULL;
    if (!c)
        return;
    if (open_another(s->options, &a, v) && open_another(s->options, &b, v) &&
        run_and_drop(a, c->calls[0], "in the first of two runtimes", v) &&
        run_and_drop(b, c->calls[0], "in the second of two runtimes", v)) {
        certify_finish(a);
        a = NULL;
        if (run_and_drop(b, c->calls[0], "in the second runtime after the first was released", v))
            certify_set(v, CERTIFY_PASSED, "both run, and one when the other is gone");
    }
    certify_finish(a);
    certify_finish(b);
    release_chosen(c);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct thread {
    pthread_t id;
    ops_run run; /* a copy: what is said of calls is heard by the subject's */
    const chosen *calls;
    uint32_t first; /* call; the threads begin at different ones */
    int64_t failed; /* number of the call; -1 = none */
    char text[640];
} thread;

static bool agrees(thread *t, uint32_t k)
{
    const ops_call *call = &t->calls->calls[k]->call;
    tfr_tensor *outputs[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    bool good = true;
    if (ops_run_call(&t->run, t->run.backend, call, t->calls->calls[k]->how, outputs, &status,
                     &err) != OPS_RAN) {
        snprintf(t->text, sizeof t->text, "%s: %s", tfr_status_name(status), err.text);
        return false;
    }
    for (uint32_t i = 0; i < call->n_outputs && good; i++)
        good = ops_compare(call->description->tolerance, t->calls->outputs[k][i], outputs[i],
                           t->text, sizeof t->text);
    ops_release_outputs(outputs, call->n_outputs);
    return good;
}

static void *thread_main(void *user)
{
    thread *t = user;
    for (uint32_t i = 0; i < N_ROUNDS * t->calls->n && t->failed < 0; i++) {
        uint32_t k = (t->first + i) % t->calls->n;
        if (!agrees(t, k))
            t->failed = k;
    }
    return NULL;
}

static void run_threads(certify_subject *s, const chosen *c, certify_verdict *v)
{
    thread threads[2];
    uint32_t n = 0;
    certify_tell_place(s->options, "all calls", 0, "two threads");
    s->run.talk[0] = 0;
    for (; n < 2; n++) {
        threads[n] = (thread){.run = s->run, .calls = c, .first = n * c->n / 2, .failed = -1};
        if (pthread_create(&threads[n].id, NULL, thread_main, &threads[n]))
            break;
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(threads[i].id, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (threads[i].failed >= 0) {
            fail_call(s, v, &c->calls[threads[i].failed]->call, "on two threads", threads[i].text);
            return;
        }
    if (n < 2)
        certify_set(v, CERTIFY_FAILED, "there is no thread to be had");
    else if (s->run.talk[0])
        certify_set(v, CERTIFY_FAILED, "%s", s->run.talk);
    else
        certify_set(v, CERTIFY_PASSED, "%u call%s, %d times on two threads at once", (unsigned)c->n,
                    c->n > 1 ? "s" : "", N_ROUNDS);
}

/* Each call alone, then all on both threads. */
static void run_both(certify_subject *s, chosen *c, certify_verdict *v)
{
    bool good = true;
    for (uint32_t i = 0; good && i < c->n; i++)
        good = run_call(s, c->calls[i], "alone", c->outputs[i], v);
    if (good)
        run_threads(s, c, v);
}

/* Calls that other ops may stand behind; the outputs of all are gone. */
static void keep_chained(chosen *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const bool stays = certify_may_chain(&c->calls[i]->call, c->outputs[i]);
        ops_release_outputs(c->outputs[i], c->calls[i]->call.n_outputs);
        if (stays)
            c->calls[n++] = c->calls[i];
    }
    c->n = n;
}

/* And as programs, which both threads compile at once. */
void certify_check_threads(certify_subject *s, certify_verdict *v)
{
    chosen *c = choose(s, N_CALLS, v);
    if (!c)
        return;
    run_both(s, c, v);
    if (v->result == CERTIFY_PASSED && certify_chain_begin(s)) {
        keep_chained(c);
        if (c->n)
            run_both(s, c, v);
    }
    certify_chain_end(s);
    release_chosen(c);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

/* Bytes, open files, threads. */
enum { N_AMOUNTS = 3 };
typedef struct amounts {
    uint64_t n[N_AMOUNTS];
} amounts;

static uint64_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    uint64_t n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* What malloc has given out; 0 = the C library or a sanitizer does not say. */
static uint64_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
#else
    return 0;
#endif
}

static amounts measure(void)
{
    return (amounts){
        {allocated(), count_entries("/proc/self/fd"), count_entries("/proc/self/task")}};
}

/* Some sessions, and a device that is opened and closed. */
static bool use_all(certify_subject *s, const chosen *c, certify_verdict *v)
{
    certify_subject *own = NULL;
    bool good = true;
    for (int round = 0; round < N_ROUNDS && good; round++)
        for (uint32_t i = 0; i < c->n && good; i++)
            good = run_and_drop(s, c->calls[i], "again and again", v);
    good = good && open_another(s->options, &own, v) &&
           run_and_drop(own, c->calls[0], "in a new runtime", v);
    certify_finish(own);
    return good;
}

/* Does an amount grow with each of the last windows? What is kept for later grows only at first. */
static bool grows(const amounts *a, size_t at)
{
    for (int w = N_WINDOWS - N_STEADY; w < N_WINDOWS; w++)
        if (a[w + 1].n[at] <= a[w].n[at])
            return false;
    return true;
}

/* Uses all of it window by window; NAMED is the first amount that grew, N_AMOUNTS = none. */
static bool watch(certify_subject *s, const chosen *c, amounts *a, size_t *named,
                  certify_verdict *v)
{
    a[0] = measure();
    for (int w = 0; w < N_WINDOWS; w++) {
        if (!use_all(s, c, v))
            return false;
        a[w + 1] = measure();
    }
    for (*named = 0; *named < N_AMOUNTS && !grows(a, *named);)
        (*named)++;
    return true;
}

void certify_check_leaks(certify_subject *s, certify_verdict *v)
{
    static const char *const names[N_AMOUNTS] = {"bytes of malloc", "open files", "threads"};
    amounts a[N_WINDOWS + 1];
    size_t named = N_AMOUNTS;
    chosen *c = choose(s, N_CALLS, v);
    bool good = c && watch(s, c, a, &named, v);
    /* The C library keeps stacks of threads that ended, a few more each time that a thread starts
     * before the last one is gone. That growth stops; a leak is there every time. */
    for (int again = 1; again < N_TRIES && good && named < N_AMOUNTS; again++)
        good = watch(s, c, a, &named, v);
    if (good && named < N_AMOUNTS)
        certify_set(v, CERTIFY_FAILED, "%llu %s more after %u sessions and %d runtimes",
                    (unsigned long long)(a[N_WINDOWS].n[named] - a[N_WINDOWS - N_STEADY].n[named]),
                    names[named], (unsigned)(N_STEADY * N_ROUNDS * c->n), N_STEADY);
    else if (good && !a[0].n[0])
        certify_set(v, CERTIFY_PASSED, "no open files or threads; memory is not counted here");
    else if (good)
        certify_set(v, CERTIFY_PASSED, "no memory, open files or threads in %u sessions",
                    (unsigned)(N_WINDOWS * N_ROUNDS * c->n));
    if (c)
        release_chosen(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_library.h: what the stand-ins of libraries tell and are told by tests, by dlsym: how often a
 * function was called, which call is to fail, and how long a way of computing takes. Included once
 * per library, which exports tfr_fake_LIBRARY_calls, tfr_fake_LIBRARY_fail and
 * tfr_fake_LIBRARY_cost.
 */
#ifndef FAKE_LIBRARY_H
#define FAKE_LIBRARY_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* How often NAME has been called. */
typedef unsigned fake_library_calls_fn(const char *name);
/* The n-th call of NAME from now on gives code and does nothing; n = 0: none does. */
typedef void fake_library_fail_fn(const char *name, unsigned nth, unsigned code);
/* Algorithm or engine `number` takes so long from now on, by the driver's switch worktime; 0 is
 * what each takes at first. Negative: it cannot be run. */
typedef void fake_library_cost_fn(unsigned number, double ms);

#ifdef FAKE_LIBRARY

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char name[48];
    unsigned calls;
} fake_counts[64];
static struct {
    char name[48];
    unsigned nth, code;
} fake_fault;

/* Counts a call; what it is to return, 0 = nothing special. */
static unsigned fake_called(const char *name)
{
    unsigned code = 0;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < 64; i++)
        if (!*fake_counts[i].name || strcmp(fake_counts[i].name, name) == 0) {
            snprintf(fake_counts[i].name, sizeof fake_counts[i].name, "%s", name);
            fake_counts[i].calls++;
            break;
        }
    if (fake_fault.nth && strcmp(fake_fault.name, name) == 0 && --fake_fault.nth == 0)
        code = fake_fault.code;
    pthread_mutex_unlock(&fake_lock);
    return code;
}

static unsigned fake_calls(const char *name)
{
    unsigned calls = 0;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < 64; i++)
        if (strcmp(fake_counts[i].name, name) == 0)
            calls = fake_counts[i].calls;
    pthread_mutex_unlock(&fake_lock);
    return calls;
}

static void fake_fail(const char *name, unsigned nth, unsigned code)
{
    pthread_mutex_lock(&fake_lock);
    snprintf(fake_fault.name, sizeof fake_fault.name, "%s", name);
    fake_fault.nth = nth;
    fake_fault.code = code;
    pthread_mutex_unlock(&fake_lock);
}

static double fake_costs[16];

/* A library with one way of computing has no use for these. */
static inline void fake_set_cost(unsigned number, double ms)
{
    pthread_mutex_lock(&fake_lock);
    fake_costs[number % 16] = ms;
    pthread_mutex_unlock(&fake_lock);
}

static inline double fake_cost(unsigned number)
{
    double ms;
    pthread_mutex_lock(&fake_lock);
    ms = fake_costs[number % 16];
    pthread_mutex_unlock(&fake_lock);
    return ms;
}

/* The beginning of a function that may fail. */
#define FAKE_CALL                                                                                  \
    const unsigned fault = fake_called(__func__);                                                  \
    if (fault)                                                                                     \
    return fault

#endif
#endif

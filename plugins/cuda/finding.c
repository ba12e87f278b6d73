/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c: see finding.h. A note is what one finding needs until the host has read it. Notes lie
 * in pinned memory, where kernels and copies reach their words, and a device keeps those that are
 * read for its next ones. What is recorded in a graph writes into the same words at each run: then
 * the graph has notes, and a run is one more note, which stands for all of them.
 */
#include "finding.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_NOTES = 32 };

struct cuda_noted {
    atomic_uint n_held;
    cuda_mistake what;
};

struct note {
    int64_t word; /* a kernel's or a copy's; -1: all is well */
    note *next;   /* of those that are free, unread or recorded */
    tfr_plugin_device *device;
    cuda_findings *findings; /* while it is one of those that are unread */
    uint64_t number, launch; /* of the finding; of the launch */
    cuda_noted *noted;
    cuda_recorded *recorded; /* or: a run of it */
    cuda_findings *other;    /* or: its first n_other */
    uint64_t n_other;
};

struct cuda_recorded {
    atomic_uint n_held;
    note *notes; /* the oldest first */
};

struct cuda_notes {
    cuda_notes *next;
    note notes[BLOCK_NOTES];
};

/* Of all lists of what is unread, as one queue's notes may stand for another's; taken after a
 * fence's, before a queue's and a device's. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

/* ---- mistakes -------------------------------------------------------------------------------- */

int32_t cuda_noted_make(const cuda_mistake *mistake, cuda_noted **out, tfr_err *err)
{
    *out = NULL;
    if (mistake->kind == CUDA_MISTAKE_NONE)
        return TFR_OK;
    *out = malloc(sizeof **out);
    if (!*out)
        return tfr_fail(err, TFR_ENOMEM, "no memory for what a kernel finds");
    atomic_init(&(*out)->n_held, 1);
    (*out)->what = *mistake;
    return TFR_OK;
}

void cuda_noted_drop(cuda_noted *noted)
{
    if (noted && atomic_fetch_sub(&noted->n_held, 1) == 1)
        free(noted);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void let_go(note *n)
{
    cuda_findings *other = n->other;
    cuda_recorded *recorded = n->recorded;
    cuda_noted *noted = n->noted;

    n->findings = n->other = NULL;
    n->noted = NULL;
    n->recorded = NULL;
    cuda_findings_drop(other);
    cuda_noted_drop(noted);
    cuda_recorded_drop(recorded);
}

static void give_note(note *n)
{
    tfr_plugin_device *device = n->device;

    let_go(n);
    pthread_mutex_lock(&device->lock);
    n->next = device->free_notes;
    device->free_notes = n;
    pthread_mutex_unlock(&device->lock);
}

static void give_notes(note *n)
{
    while (n) {
        note *next = n->next;
        give_note(n);
        n = next;
    }
}

static int32_t make_notes(tfr_plugin_device *device, tfr_err *err)
{
    void *memory = NULL;
    cuda_notes *block;
    int32_t status = cuda_check(device, cuda_driver.cuMemHostAlloc(&memory, sizeof *block, 0), err,
                                "pinned memory of %s", device->facts.name);

    if (status != TFR_OK)
        return status;
    block = memory;
    memset(block, 0, sizeof *block);
    pthread_mutex_lock(&device->lock);
    block->next = device->notes;
    device->notes = block;
    for (int i = 0; i < BLOCK_NOTES; i++) {
        block->notes[i].device = device;
        block->notes[i].next = device->free_notes;
        device->free_notes = &block->notes[i];
    }
    pthread_mutex_unlock(&device->lock);
    return TFR_OK;
}

static note *take_note(tfr_plugin_device *device)
{
    note *n;

    pthread_mutex_lock(&device->lock);
    n = device->free_notes;
    if (n)
        device->free_notes = n->next;
    pthread_mutex_unlock(&device->lock);
    return n;
}

static int32_t new_note(tfr_queue *queue, note **out, tfr_err *err)
{
    int32_t status = TFR_OK;

    *out = take_note(queue->device);
    while (!*out && status == TFR_OK) { /* another thread may have taken the new ones */
        status = make_notes(queue->device, err);
        *out = status == TFR_OK ? take_note(queue->device) : NULL;
    }
    if (status != TFR_OK)
        return status;
    (*out)->word = -1;
    (*out)->next = NULL;
    (*out)->launch = 0;
    return TFR_OK;
}

void cuda_notes_close(tfr_plugin_device *device)
{
    const bool is_dead = device->is_dead;

    pthread_mutex_lock(&reading); /* a fence of another device may hold findings of this one */
    for (cuda_notes *block = device->notes; block; block = block->next)
        for (int i = 0; i < BLOCK_NOTES; i++)
            if (block->notes[i].findings)
                block->notes[i].findings->first = NULL;
    pthread_mutex_unlock(&reading);
    for (cuda_notes *block = device->notes; block; block = block->next)
        for (int i = 0; i < BLOCK_NOTES; i++)
            let_go(&block->notes[i]);
    while (device->notes) {
        cuda_notes *block = device->notes;
        device->notes = block->next;
        if (!is_dead)
            (void)cuda_driver.cuMemFreeHost(block);
    }
    device->free_notes = NULL;
}

/* ---- findings of a queue --------------------------------------------------------------------- */

cuda_findings *cuda_findings_hold(cuda_findings *findings)
{
    if (findings)
        atomic_fetch_add(&findings->n_held, 1);
    return findings;
}

void cuda_findings_leave(cuda_findings *findings)
{
    if (!findings)
        return;
    pthread_mutex_lock(&reading);
    findings->queue = NULL;
    pthread_mutex_unlock(&reading);
    cuda_findings_drop(findings);
}

void cuda_findings_drop(cuda_findings *findings)
{
    if (!findings || atomic_fetch_sub(&findings->n_held, 1) > 1)
        return;
    give_notes(findings->first);
    free(findings);
}

static cuda_findings *findings_of(tfr_queue *queue)
{
    cuda_findings *f = queue->findings;

    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    atomic_init(&f->n_held, 1);
    f->queue = queue;
    queue->findings = f;
    return f;
}

/* The note is the queue's next finding. */
static int32_t append(tfr_queue *queue, note *n, tfr_err *err)
{
    cuda_findings *f = findings_of(queue);

    if (!f)
        return tfr_fail(err, TFR_ENOMEM, "no memory for what a kernel finds");
    pthread_mutex_lock(&reading);
    n->number = ++queue->n_findings;
    n->findings = f;
    n->next = NULL;
    if (f->first)
        f->last->next = n;
    else
        f->first = n;
    f->last = n;
    pthread_mutex_unlock(&reading);
    return TFR_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_word(const note *n, uint64_t launch, cuda_failure *out)
{
    const int64_t word = *(const volatile int64_t *)&n->word;
    tfr_err err = TFR_ERR_INIT;

    if (word == -1)
        return false;
    cuda_mistake_say(&n->noted->what, word, &err);
    cuda_failure_keep(out, TFR_EINVAL, &err, launch);
    return true;
}

/* The first mistake of a run; its words are as new for the next one. */
static bool read_recorded(const cuda_recorded *recorded, cuda_failure *out)
{
    bool is_bad = false;

    for (note *n = recorded->notes; n; n = n->next) {
        is_bad = is_bad || read_word(n, n->launch, out);
        n->word = -1;
    }
    return is_bad;
}

static bool find_bad(cuda_findings *findings, uint64_t n_first);

static bool read_note(const note *n, cuda_failure *out)
{
    if (n->recorded)
        return read_recorded(n->recorded, out);
    if (!n->other)
        return read_word(n, n->launch, out);
    if (!find_bad(n->other, n->n_other))
        return false;
    *out = n->other->failure;
    return true;
}

/* With the lock held. */
static bool find_bad(cuda_findings *f, uint64_t n_first)
{
    while (f->first && f->first->number <= n_first) {
        note *n = f->first;
        cuda_failure failure;
        f->first = n->next;
        if (read_note(n, &failure) && !f->bad) {
            f->bad = n->number;
            f->failure = failure;
            if (f->queue)
                cuda_queue_fail(f->queue, &failure);
        }
        give_note(n);
    }
    return f->bad && f->bad <= n_first;
}

bool cuda_finding_tell(cuda_findings *findings, uint64_t n, cuda_failure *failure)
{
    bool is_bad;

    if (!findings || !n)
        return false;
    pthread_mutex_lock(&reading);
    is_bad = find_bad(findings, n);
    if (is_bad)
        *failure = findings->failure;
    pthread_mutex_unlock(&reading);
    return is_bad;
}

/* ---- launches -------------------------------------------------------------------------------- */

uint64_t cuda_finding_word(const note *n)
{
    return (uint64_t)(uintptr_t)&n->word;
}

int32_t cuda_finding_begin(tfr_queue *queue, cuda_noted *noted, const tfr_launch *launch,
                           note **out, tfr_err *err)
{
    note **at = &queue->recorded;
    const int32_t status = new_note(queue, out, err);

    if (status != TFR_OK)
        return status;
    (*out)->launch = launch->id;
    (*out)->noted = noted;
    atomic_fetch_add(&noted->n_held, 1);
    while (queue->is_capturing && *at)
        at = &(*at)->next;
    if (queue->is_capturing)
        *at = *out;
    return TFR_OK;
}

int32_t cuda_finding_end(tfr_queue *queue, note *n, const tfr_launch *launch, tfr_err *err)
{
    const tfr_cu_ptr found = (uintptr_t)launch->workspace + CUDA_SOLUTION_FOUND;
    int32_t status = TFR_OK;

    if (queue->is_capturing)
        return TFR_OK;
    if (n->noted->what.kind == CUDA_MISTAKE_SINGULAR)
        status = cuda_check_launch(
            queue->device,
            cuda_driver.cuMemcpyDtoHAsync_v2(&n->word, found, sizeof n->word, queue->stream),
            launch->id, err, "the copy of what a kernel has found");
    return status ? status : append(queue, n, err);
    /* else the note is not used again: the launch may be under way */
}

int32_t cuda_finding_follow(tfr_queue *queue, cuda_findings *other, uint64_t n, tfr_err *err)
{
    bool is_read;
    note *own = NULL;
    int32_t status;

    if (!other || !n)
        return TFR_OK;
    pthread_mutex_lock(&reading);
    is_read = !other->bad && (!other->first || other->first->number > n);
    pthread_mutex_unlock(&reading);
    if (is_read)
        return TFR_OK;
    status = new_note(queue, &own, err);
    if (status != TFR_OK)
        return status;
    own->other = cuda_findings_hold(other);
    own->n_other = n;
    return append(queue, own, err);
}

/* ---- what is recorded ------------------------------------------------------------------------ */

cuda_recorded *cuda_finding_recorded(tfr_queue *queue, tfr_err *err)
{
    cuda_recorded *r = queue->recorded ? malloc(sizeof *r) : NULL;

    if (r) {
        atomic_init(&r->n_held, 1);
        r->notes = queue->recorded;
    } else if (queue->recorded) {
        tfr_fail(err, TFR_ENOMEM, "no memory for what kernels find");
        give_notes(queue->recorded);
    }
    queue->recorded = NULL;
    return r;
}

void cuda_recorded_drop(cuda_recorded *recorded)
{
    if (!recorded || atomic_fetch_sub(&recorded->n_held, 1) > 1)
        return;
    give_notes(recorded->notes);
    free(recorded);
}

int32_t cuda_finding_replayed(tfr_queue *queue, cuda_recorded *recorded, tfr_err *err)
{
    note *n = NULL;
    int32_t status = recorded ? new_note(queue, &n, err) : TFR_OK;

    if (!recorded || status != TFR_OK)
        return status;
    n->recorded = recorded;
    atomic_fetch_add(&recorded->n_held, 1);
    return append(queue, n, err);
}

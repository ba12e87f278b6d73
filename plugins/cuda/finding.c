/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c: see finding.h. A note is what one finding needs until the host has read it. Notes lie
 * in pinned memory, for the copies to them are to be asynchronous, and a device keeps those that
 * are read for its next ones.
 */
#include "finding.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_NOTES = 32 };

typedef struct note note;
struct note {
    int64_t word; /* the copy's; -1: all is well */
    note *next;   /* of those that are free */
    tfr_plugin_device *device;
    tfr_queue *queue;        /* there until its work is done */
    cuda_findings *findings; /* of it */
    uint64_t number, launch; /* of the finding; of the launch */
    const cuda_solution *solution;
    cuda_findings *other; /* instead of a word */
    uint64_t n_other;
};

struct cuda_notes {
    cuda_notes *next;
    note notes[BLOCK_NOTES];
};

/* ---- findings of a queue --------------------------------------------------------------------- */

cuda_findings *cuda_findings_hold(cuda_findings *findings)
{
    if (findings)
        atomic_fetch_add(&findings->n_held, 1);
    return findings;
}

void cuda_findings_drop(cuda_findings *findings)
{
    if (!findings || atomic_fetch_sub(&findings->n_held, 1) > 1)
        return;
    pthread_mutex_destroy(&findings->lock);
    free(findings);
}

bool cuda_finding_tell(cuda_findings *findings, uint64_t n, cuda_failure *failure)
{
    bool is_bad;

    if (!findings || !n)
        return false;
    pthread_mutex_lock(&findings->lock);
    is_bad = findings->bad && findings->bad <= n;
    if (is_bad)
        *failure = findings->failure;
    pthread_mutex_unlock(&findings->lock);
    return is_bad;
}

static cuda_findings *findings_of(tfr_queue *queue)
{
    cuda_findings *f = queue->findings;

    if (f)
        return f;
    f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    pthread_mutex_init(&f->lock, NULL);
    atomic_init(&f->n_held, 1);
    queue->findings = f;
    return f;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void give_note(note *n)
{
    tfr_plugin_device *device = n->device;

    cuda_findings_drop(n->findings);
    cuda_findings_drop(n->other);
    n->findings = n->other = NULL;
    pthread_mutex_lock(&device->lock);
    n->next = device->free_notes;
    device->free_notes = n;
    pthread_mutex_unlock(&device->lock);
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

/* A note of the queue's next finding. */
static int32_t new_note(tfr_queue *queue, note **out, tfr_err *err)
{
    cuda_findings *findings = findings_of(queue);
    int32_t status = TFR_OK;

    if (!findings)
        return tfr_fail(err, TFR_ENOMEM, "no memory for what a kernel finds");
    *out = take_note(queue->device);
    while (!*out && status == TFR_OK) { /* another thread may have taken the new ones */
        status = make_notes(queue->device, err);
        *out = status == TFR_OK ? take_note(queue->device) : NULL;
    }
    if (status != TFR_OK)
        return status;
    (*out)->queue = queue;
    (*out)->findings = cuda_findings_hold(findings);
    (*out)->number = queue->n_findings + 1;
    (*out)->other = NULL;
    return TFR_OK;
}

void cuda_notes_close(tfr_plugin_device *device)
{
    const bool is_dead = device->is_dead;

    while (device->notes) {
        cuda_notes *block = device->notes;
        device->notes = block->next;
        for (int i = 0; i < BLOCK_NOTES; i++) { /* a dead device reads none */
            cuda_findings_drop(block->notes[i].findings);
            cuda_findings_drop(block->notes[i].other);
        }
        if (!is_dead)
            (void)cuda_driver.cuMemFreeHost(block);
    }
    device->free_notes = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void say_singular(const note *n, cuda_failure *out)
{
    tfr_err err = TFR_ERR_INIT;

    tfr_fail(&err, TFR_EINVAL, "matrix %lld is singular: pivot %lld of %lld is 0",
             (long long)cuda_walk_find(&n->solution->what.batch, 0, n->word >> 32),
             (long long)(n->word & INT32_MAX) - 1, (long long)n->solution->what.n);
    cuda_failure_keep(out, TFR_EINVAL, &err, n->launch);
}

/* On a thread of the driver's, which must not be asked for anything here. */
static void read_note(void *data)
{
    note *n = data;
    cuda_failure failure;
    bool is_bad;

    if (n->other)
        is_bad = cuda_finding_tell(n->other, n->n_other, &failure);
    else if ((is_bad = n->word != -1))
        say_singular(n, &failure);
    pthread_mutex_lock(&n->findings->lock);
    n->findings->n_read = n->number;
    if (is_bad && !n->findings->bad) {
        n->findings->bad = n->number;
        n->findings->failure = failure;
    }
    pthread_mutex_unlock(&n->findings->lock);
    if (is_bad)
        cuda_queue_fail(n->queue, &failure);
    give_note(n);
}

static int32_t post(note *n, uint64_t launch, tfr_err *err)
{
    tfr_queue *queue = n->queue;
    const int32_t status =
        cuda_check_launch(queue->device, cuda_driver.cuLaunchHostFunc(queue->stream, read_note, n),
                          launch, err, "a function of the host on %s", queue->device->facts.name);

    if (status == TFR_OK)
        queue->n_findings++;
    return status; /* else the note is not used again: a copy to it may be under way */
}

int32_t cuda_finding_post(tfr_queue *queue, const cuda_solution *solution, const tfr_launch *launch,
                          tfr_err *err)
{
    const tfr_cu_ptr word = (uintptr_t)launch->workspace + CUDA_SOLUTION_FOUND;
    note *n = NULL;
    int32_t status = new_note(queue, &n, err);

    if (status != TFR_OK)
        return status;
    n->solution = solution;
    n->launch = launch->id;
    status = cuda_check_launch(
        queue->device,
        cuda_driver.cuMemcpyDtoHAsync_v2(&n->word, word, sizeof n->word, queue->stream), launch->id,
        err, "the copy of what a kernel has found");
    if (status == TFR_OK)
        return post(n, launch->id, err);
    give_note(n);
    return status;
}

int32_t cuda_finding_follow(tfr_queue *queue, cuda_findings *other, uint64_t n, tfr_err *err)
{
    bool is_read;
    note *own = NULL;
    int32_t status;

    if (!other || !n)
        return TFR_OK;
    pthread_mutex_lock(&other->lock);
    is_read = other->n_read >= n && !other->bad;
    pthread_mutex_unlock(&other->lock);
    if (is_read)
        return TFR_OK;
    status = new_note(queue, &own, err);
    if (status != TFR_OK)
        return status;
    own->other = cuda_findings_hold(other);
    own->n_other = n;
    return post(own, 0, err);
}

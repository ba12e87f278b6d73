/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune.c: see tune.h.
 *
 * Candidates run on scratch memory and on the device's own stream, between two events each. Scratch
 * memory holds numbers that are finite in every type. In front of the first event a part of it is
 * filled once more, which takes the GPU some 25 us: so long it is busy until the host has put the
 * rest on the stream, whose time would be measured otherwise. A first run of each candidate loads
 * its code and does not count, of the others the shortest does.
 *
 * A problem gets MOST_MS of the GPU's time, a device SHARE_NS of the host's while it is open: what
 * is not measured by then takes the library's first candidate and is measured in a later process.
 */
#include "tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_MS   200.0
#define SHARE_NS  INT64_C(10000000000)
#define ALIGNMENT UINT64_C(256)

enum { REPEATS = 4, FINITE = 0x3c /* 0.0115 as f32 and bf16, 1.06 as f16 */ };

struct cuda_choice {
    cuda_choice *next;
    cuda_candidate_id id;
    char key[];
};

/* The data of an entry of the store. */
typedef struct entry {
    char magic[8];
    cuda_candidate_id id;
} entry;
static const char magic[8] = "tfrtune1";

/* ---- when ------------------------------------------------------------------------------------ */

void cuda_tune_open(tfr_plugin_device *device, bool is_on, uint64_t fill_bytes)
{
    device->tuner.fill_bytes = fill_bytes;
    device->tuner.is_on = is_on;
    atomic_store(&device->tuner.left_ns, SHARE_NS);
}

void cuda_tune_close(tfr_plugin_device *device)
{
    while (device->tuner.choices) {
        cuda_choice *choice = device->tuner.choices;
        device->tuner.choices = choice->next;
        free(choice);
    }
}

bool cuda_tune_decides(const tfr_plugin_device *device, const tfr_call *call)
{
    return device->tuner.is_on && !(call->flags & TFR_CALL_DETERMINISTIC);
}

bool cuda_tune_may_run(const tfr_plugin_device *device)
{
    return !cuda_is_capturing() && atomic_load(&device->tuner.left_ns) > 0;
}

uint64_t cuda_tune_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cuda_tune_spend(tfr_plugin_device *device, uint64_t since)
{
    atomic_fetch_sub(&device->tuner.left_ns, (int64_t)(cuda_tune_clock() - since));
}

/* ---- what was chosen ------------------------------------------------------------------------- */

void cuda_tune_key(const tfr_plugin_device *device, const char *library, uint64_t version,
                   const char *problem, char out[CUDA_TUNE_KEY])
{
    const cuda_facts *f = &device->facts;

    snprintf(out, CUDA_TUNE_KEY, "%s, %d.%d, %d multiprocessors; %s %llu; %s", f->name,
             f->chip.capability / 10, f->chip.capability % 10, f->chip.multiprocessors, library,
             (unsigned long long)version, problem);
}

static const tfr_host_store *find_store(void)
{
    return cuda_host->facet ? cuda_host->facet(TFR_HOST_STORE_V1) : NULL;
}

/* With the lock held, as all that follows. */
static cuda_choice *find_choice(const tfr_plugin_device *device, const char *key)
{
    cuda_choice *choice = device->tuner.choices;

    while (choice && strcmp(choice->key, key) != 0)
        choice = choice->next;
    return choice;
}

/* So that it stays one choice in this process where the store is off. */
static void remember(tfr_plugin_device *device, const char *key, const cuda_candidate_id *id)
{
    const size_t bytes = strlen(key) + 1;
    cuda_choice *choice = find_choice(device, key);

    if (!choice) {
        choice = malloc(sizeof *choice + bytes);
        if (!choice)
            return;
        memcpy(choice->key, key, bytes);
        choice->next = device->tuner.choices;
        device->tuner.choices = choice;
    }
    choice->id = *id;
}

static void keep(tfr_plugin_device *device, const char *key, const cuda_candidate_id *id)
{
    const tfr_host_store *store = find_store();
    tfr_err err = TFR_ERR_INIT;
    entry e = {.id = *id};

    remember(device, key, id);
    memcpy(e.magic, magic, sizeof magic);
    if (store)
        (void)store->put("cuda", key, strlen(key), &e, sizeof e, &err);
}

static bool recall(tfr_plugin_device *device, const char *key, cuda_candidate_id *out)
{
    const cuda_choice *choice = find_choice(device, key);
    const tfr_host_store *store = choice ? NULL : find_store();
    tfr_err err = TFR_ERR_INIT;
    entry e;
    uint64_t n = sizeof e;

    if (choice) {
        *out = choice->id;
        return true;
    }
    if (!store || store->get("cuda", key, strlen(key), &e, &n, &err) != TFR_OK || n != sizeof e ||
        memcmp(e.magic, magic, sizeof magic) != 0)
        return false;
    remember(device, key, &e.id);
    *out = e.id;
    return true;
}

bool cuda_tune_recall(tfr_plugin_device *device, const char *key, cuda_candidate_id *out)
{
    bool is_known;

    pthread_mutex_lock(&device->tuner.lock);
    is_known = recall(device, key, out);
    pthread_mutex_unlock(&device->tuner.lock);
    return is_known;
}

/* Its number, or that behind the last one: it is of another list. */
static uint32_t find_candidate(const cuda_contest *contest, const cuda_candidate_id *id)
{
    uint32_t i = 0;

    while (i < contest->n && memcmp(&contest->ids[i], id, sizeof *id) != 0)
        i++;
    return i;
}

/* ---- running candidates ---------------------------------------------------------------------- */

typedef struct race {
    tfr_plugin_device *device;
    const cuda_contest *contest;
    void *scratch, *operands[CUDA_TUNE_OPERANDS], *workspace;
    uint64_t bytes;
    tfr_cu_event *begin, *end;
    double spent_ms;
    bool is_broken; /* the driver failed, and no candidate */
} race;

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Another thread may need memory meanwhile: half of what is left stays. */
static bool is_modest(tfr_plugin_device *device, uint64_t bytes)
{
    bool good;

    pthread_mutex_lock(&device->lock);
    good = !device->limit || bytes <= (device->limit - device->in_use) / 2;
    pthread_mutex_unlock(&device->lock);
    return good;
}

static bool take_scratch(race *r)
{
    const cuda_contest *c = r->contest;
    const tfr_alloc_options options = {.size = sizeof options, .flags = TFR_ALLOC_ARENA};
    uint64_t workspace = 0, at = 0;
    tfr_err err = TFR_ERR_INIT;

    for (uint32_t i = 0; i < c->n; i++)
        workspace = c->workspace_bytes[i] > workspace ? c->workspace_bytes[i] : workspace;
    r->bytes = workspace;
    for (int i = 0; i < CUDA_TUNE_OPERANDS; i++)
        r->bytes += round_up(c->operand_bytes[i]);
    if (r->bytes < r->device->tuner.fill_bytes)
        r->bytes = r->device->tuner.fill_bytes;
    if (!is_modest(r->device, r->bytes) ||
        cuda_memory_facet.alloc(r->device, 0, r->bytes, &options, &r->scratch, &err) != TFR_OK)
        return false;
    for (int i = 0; i < CUDA_TUNE_OPERANDS; i++) {
        r->operands[i] = c->operand_bytes[i] ? (char *)r->scratch + at : NULL;
        at += round_up(c->operand_bytes[i]);
    }
    r->workspace = workspace ? (char *)r->scratch + at : NULL;
    return true;
}

static bool did(race *r, tfr_cu_result result)
{
    if (cuda_check(r->device, result, NULL, "timing on %s", r->device->facts.name) != TFR_OK)
        r->is_broken = true;
    return !r->is_broken;
}

static bool fill(race *r, uint64_t bytes)
{
    return bytes == 0 || did(r, cuda_driver.cuMemsetD8Async((tfr_cu_ptr)(uintptr_t)r->scratch,
                                                            FINITE, bytes, r->device->stream));
}

static bool begin_race(race *r)
{
    return take_scratch(r) && fill(r, r->bytes) &&
           did(r, cuda_driver.cuEventCreate(&r->begin, TFR_CU_EVENT_DEFAULT)) &&
           did(r, cuda_driver.cuEventCreate(&r->end, TFR_CU_EVENT_DEFAULT));
}

/* Memory is given back when the device has done all that is under way. */
static void end_race(race *r)
{
    if (!r->device->is_dead) {
        if (r->begin)
            (void)cuda_driver.cuEventDestroy_v2(r->begin);
        if (r->end)
            (void)cuda_driver.cuEventDestroy_v2(r->end);
    }
    if (r->scratch)
        cuda_memory_facet.free(r->device, 0, r->scratch);
}

/* Milliseconds of one run; negative: it failed. */
static double run_once(race *r, uint32_t number)
{
    tfr_cu_stream *stream = r->device->stream;
    tfr_err err = TFR_ERR_INIT;
    float ms = 0;
    int32_t status;

    if (!fill(r, r->device->tuner.fill_bytes) ||
        !did(r, cuda_driver.cuEventRecord(r->begin, stream)))
        return -1;
    status = r->contest->run(r->device, r->contest->user, number, r->operands, r->workspace, stream,
                             &err);
    if (!did(r, cuda_driver.cuEventRecord(r->end, stream)) ||
        !did(r, cuda_driver.cuEventSynchronize(r->end)) || status != TFR_OK ||
        !did(r, cuda_driver.cuEventElapsedTime(&ms, r->begin, r->end)))
        return -1;
    r->spent_ms += (double)ms;
    return (double)ms;
}

/* The shortest time of a candidate; negative: it failed. best: of those before, negative = none. */
static double run_candidate(race *r, uint32_t number, double best)
{
    double least = -1;

    if (run_once(r, number) < 0)
        return -1;
    for (int i = 0; i < REPEATS; i++) {
        const double ms = run_once(r, number);
        if (ms < 0)
            return -1;
        least = least < 0 || ms < least ? ms : least;
        if ((best >= 0 && least > 2 * best) || r->spent_ms > MOST_MS)
            break;
    }
    return least;
}

/* The number of the fastest; n: none could be run. */
static uint32_t find_fastest(race *r)
{
    const cuda_contest *c = r->contest;
    double first = -1, best = -1;
    uint32_t found = c->n;

    for (uint32_t i = 0; i < c->n && !r->is_broken; i++) {
        double ms;
        if (found < c->n && r->spent_ms > MOST_MS)
            break;
        ms = run_candidate(r, i, best);
        first = i == 0 ? ms : first;
        if (ms >= 0 && (best < 0 || ms < best)) {
            best = ms;
            found = i;
        }
    }
    if (r->is_broken || found == c->n)
        return c->n;
    cuda_log(TFR_LOG_DEBUG, "%s: candidate %u of %u is the fastest, %.3f ms, the first %.3f ms",
             c->key, found + 1, c->n, best, first);
    return found;
}

int32_t cuda_tune(tfr_plugin_device *device, const cuda_contest *contest, uint32_t *out,
                  tfr_err *err)
{
    race r = {.device = device, .contest = contest};
    const uint64_t since = cuda_tune_clock();
    cuda_candidate_id kept;
    uint32_t found = contest->n;

    *out = 0;
    if (contest->n < 2)
        return TFR_OK;
    pthread_mutex_lock(&device->tuner.lock); /* one at a time, or they measured each other */
    if (recall(device, contest->key, &kept))
        found = find_candidate(contest, &kept);
    if (found == contest->n && cuda_tune_may_run(device)) {
        if (begin_race(&r))
            found = find_fastest(&r);
        end_race(&r);
        cuda_tune_spend(device, since);
        if (found < contest->n)
            keep(device, contest->key, &contest->ids[found]);
    }
    pthread_mutex_unlock(&device->tuner.lock);
    if (atomic_load(&device->is_lost))
        return cuda_tell_lost(device, err);
    *out = found < contest->n ? found : 0;
    return TFR_OK;
}

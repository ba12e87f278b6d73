/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.c: see blobs.h. */
#include "blobs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16, GUARD = 64, GUARD_BYTE = 0xa5, MORE = 40, N_FLIPS = 3 };
static const uint64_t most_bytes = 16 * 1024 * 1024; /* that save may want */

const char *const blobs_way_names[BLOBS_N_WAYS] = {
    "no blob of certify's", "no blob",       "its own blob",    "a damaged blob",
    "a truncated blob",     "a longer blob", "a blob of 0xff's"};

static struct {
    tfr_program_facet own, given;
    pthread_mutex_t lock; /* of what follows */
    blobs_way way;
    uint64_t random;
    unsigned char *kept;
    uint64_t kept_bytes;
    uint32_t kept_nodes, kept_values;
    uint32_t n_programs, n_given;
    char complaint[200];
} the = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what is given --------------------------------------------------------------------------- */

static uint64_t draw(void)
{
    the.random = the.random * 6364136223846793005u + 1442695040888963407u;
    return the.random >> 33;
}

/* A copy of the kept blob as the way has it; NULL = none is given. */
static unsigned char *make_blob(const tfr_program_graph *graph, uint64_t *bytes)
{
    unsigned char *blob;
    *bytes = the.kept_bytes;
    if (the.way < BLOBS_GIVE || !the.kept ||
        (the.way == BLOBS_GIVE &&
         (graph->n_nodes != the.kept_nodes || graph->n_values != the.kept_values)))
        return NULL;
    if (the.way == BLOBS_SHORT)
        *bytes = draw() % the.kept_bytes;
    if (the.way == BLOBS_LONG)
        *bytes += MORE;
    blob = malloc(*bytes ? *bytes : 1); /* of its own, so that sanitizers see reads behind it */
    if (!blob)
        return NULL;
    memset(blob, 0xff, *bytes);
    if (the.way != BLOBS_FILLED)
        memcpy(blob, the.kept, *bytes < the.kept_bytes ? *bytes : the.kept_bytes);
    for (int i = 0; i < N_FLIPS && the.way == BLOBS_FLIPPED; i++)
        blob[draw() % *bytes] ^= (unsigned char)(1 + draw() % 255);
    the.n_given++;
    return blob;
}

/* ---- what is saved --------------------------------------------------------------------------- */

static bool is_guard(const unsigned char *from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (from[i] != GUARD_BYTE)
            return false;
    return true;
}

/* One call of save with so much room; false with a complaint. */
static bool call_save(tfr_plugin_device *device, tfr_program *program, unsigned char *to,
                      uint64_t room, uint64_t *n)
{
    tfr_err err = TFR_ERR_INIT;
    memset(to, GUARD_BYTE, room + GUARD);
    *n = room;
    const int32_t status = the.own.save(device, program, to, n, &err);
    if (status)
        snprintf(the.complaint, sizeof the.complaint, "save: %.150s", err.text);
    else if (!is_guard(to + room, GUARD))
        snprintf(the.complaint, sizeof the.complaint, "save wrote behind the %llu bytes it had",
                 (unsigned long long)room);
    return !the.complaint[0];
}

static void keep_blob(tfr_plugin_device *device, tfr_program *program,
                      const tfr_program_graph *graph)
{
    unsigned char first[FIRST_ROOM + GUARD], *blob;
    uint64_t bytes = 0, again = 0;
    if (!call_save(device, program, first, FIRST_ROOM, &bytes) || !bytes || bytes > most_bytes)
        return;
    blob = malloc(bytes + GUARD);
    if (!blob || !call_save(device, program, blob, bytes, &again) || !again || again > bytes) {
        if (blob && !the.complaint[0] && again > bytes)
            snprintf(the.complaint, sizeof the.complaint,
                     "save wants %llu bytes, and with these %llu", (unsigned long long)bytes,
                     (unsigned long long)again);
        free(blob);
        return;
    }
    free(the.kept);
    the.kept = blob;
    the.kept_bytes = again;
    the.kept_nodes = graph->n_nodes;
    the.kept_values = graph->n_values;
}

/* ---- the slot -------------------------------------------------------------------------------- */

static int32_t watched_compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                               const tfr_compile_options *options, tfr_program **out,
                               tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                               tfr_err *err)
{
    tfr_compile_options own = *options;
    unsigned char *blob;
    pthread_mutex_lock(&the.lock);
    const blobs_way way = the.way;
    blob = make_blob(graph, &own.blob_bytes);
    pthread_mutex_unlock(&the.lock);
    if (way != BLOBS_PASS) {
        own.blob = blob;
        own.blob_bytes = blob ? own.blob_bytes : 0;
        options = &own;
    }
    const int32_t status = the.own.compile(device, graph, options, out, outputs, stride, info, err);
    free(blob);
    pthread_mutex_lock(&the.lock);
    the.n_programs += !status && graph->n_nodes > 1;
    if (!status && way == BLOBS_KEEP && the.own.save)
        keep_blob(device, *out, graph);
    pthread_mutex_unlock(&the.lock);
    return status;
}

const tfr_program_facet *blobs_watch(const tfr_program_facet *own)
{
    memset(&the.own, 0, sizeof the.own);
    memcpy(&the.own, own, own->size < sizeof the.own ? own->size : sizeof the.own);
    the.given = the.own;
    the.given.compile = the.own.compile ? watched_compile : NULL;
    return &the.given;
}

bool blobs_are_there(void)
{
    return the.own.compile != NULL;
}

/* ---- for the checks -------------------------------------------------------------------------- */

void blobs_begin(blobs_way way, uint64_t seed)
{
    pthread_mutex_lock(&the.lock);
    the.way = way;
    the.random = seed;
    the.n_programs = the.n_given = 0;
    the.complaint[0] = 0;
    if (way <= BLOBS_KEEP) {
        free(the.kept);
        the.kept = NULL;
    }
    pthread_mutex_unlock(&the.lock);
}

uint32_t blobs_n_programs(void)
{
    return the.n_programs;
}

uint32_t blobs_n_given(void)
{
    return the.n_given;
}

bool blobs_has_kept(void)
{
    return the.kept != NULL;
}

const char *blobs_complaint(void)
{
    return the.complaint;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c: the buffers of records; see profile.h. They are made by the first start and stay until
 * the device is closed, so a launch that is under way while somebody stops writes into memory that
 * is there. A place in a buffer is taken by one atomic addition.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

enum { LANE_RECORDS = 16384, MOST_LANES = 256 };

typedef struct lane {
    _Alignas(64) atomic_uint n; /* places taken, perhaps more than there are */
    tfr_profile_record *records;
} lane;

struct native_profile {
    uint32_t n_lanes;
    lane lanes[MOST_LANES];
};

static struct native_profile *profile_create(uint32_t n_lanes)
{
    struct native_profile *p = aligned_alloc(64, sizeof *p);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
    p->n_lanes = n_lanes > MOST_LANES ? MOST_LANES : n_lanes;
    for (uint32_t i = 0; i < p->n_lanes; i++) {
        /* Pages that no record touches stay out of memory. */
        p->lanes[i].records = calloc(LANE_RECORDS, sizeof *p->lanes[i].records);
        if (!p->lanes[i].records) {
            for (uint32_t k = 0; k < i; k++)
                free(p->lanes[k].records);
            free(p);
            return NULL;
        }
    }
    return p;
}

void native_profile_free(tfr_plugin_device *device)
{
    struct native_profile *p = device->profile;
    for (uint32_t i = 0; p && i < p->n_lanes; i++)
        free(p->lanes[i].records);
    free(p);
}

void native_profile_end(tfr_plugin_device *device, uint64_t began, const native_stretch *what)
{
    uint64_t ended = native_now_ns();
    struct native_profile *p = device->profile;
    tfr_profile_record *r;
    lane *l;
    unsigned place;
    if (what->lane >= p->n_lanes)
        return;
    l = &p->lanes[what->lane];
    if (atomic_load_explicit(&l->n, memory_order_relaxed) >= LANE_RECORDS)
        return;
    place = atomic_fetch_add_explicit(&l->n, 1, memory_order_relaxed);
    if (place >= LANE_RECORDS)
        return;
    r = &l->records[place];
    r->size = sizeof *r;
    r->kind = what->kind;
    r->id = what->id;
    r->lane = what->lane;
    r->node = what->node;
    r->begin_ns = began;
    r->end_ns = ended;
    r->bytes = what->bytes;
    r->flops = what->flops;
    strncpy(r->name, what->name ? what->name : "", sizeof r->name - 1);
}

static int32_t profile_start(tfr_plugin_device *device, int32_t on, tfr_err *err)
{
    if (on && !device->profile)
        device->profile =
            profile_create(device->threads > 0 ? (uint32_t)device->threads : MOST_LANES);
    if (on && !device->profile)
        return tfr_fail(err, TFR_ENOMEM, "no memory for records of %d threads", device->threads);
    atomic_store(&device->profiling, on != 0); /* publishes the buffers, too */
    return TFR_OK;
}

/* The oldest record that is left of all lanes; at[] says how far each has been drained. */
static lane *oldest_lane(struct native_profile *p, const uint32_t *at)
{
    lane *oldest = NULL;
    uint64_t begin = UINT64_MAX;
    for (uint32_t i = 0; i < p->n_lanes; i++) {
        lane *l = &p->lanes[i];
        unsigned n = atomic_load(&l->n);
        n = n < LANE_RECORDS ? n : LANE_RECORDS;
        if (at[i] < n && l->records[at[i]].begin_ns < begin) {
            begin = l->records[at[i]].begin_ns;
            oldest = l;
        }
    }
    return oldest;
}

/* What does not fit stays, moved to the front. Nothing is under way. */
static void keep_rest(struct native_profile *p, const uint32_t *at)
{
    for (uint32_t i = 0; i < p->n_lanes; i++) {
        lane *l = &p->lanes[i];
        unsigned n = atomic_load(&l->n);
        n = n < LANE_RECORDS ? n : LANE_RECORDS;
        memmove(l->records, l->records + at[i], (n - at[i]) * sizeof *l->records);
        memset(l->records + (n - at[i]), 0, at[i] * sizeof *l->records);
        atomic_store(&l->n, n - at[i]);
    }
}

static int32_t profile_drain(tfr_plugin_device *device, tfr_profile_record *out, uint32_t stride,
                             uint32_t *n, tfr_err *err)
{
    struct native_profile *p = device->profile;
    uint32_t at[MOST_LANES] = {0}, given = 0;
    lane *l;
    (void)err;
    while (p && given < *n && (l = oldest_lane(p, at))) {
        const tfr_profile_record *r = &l->records[at[l - p->lanes]++];
        tfr_list_put(out, stride, *n, given++, r, sizeof *r);
    }
    if (given)
        keep_rest(p, at);
    *n = given;
    return TFR_OK;
}

const tfr_profile_facet native_profile_facet = {
    .size = sizeof native_profile_facet,
    .start = profile_start,
    .drain = profile_drain,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c: the buffer of records; see records.h. It is made by the first start and stays until
 * the device is closed, so a launch that is under way while somebody stops writes into memory that
 * is there. A place is taken by one atomic addition.
 */
#include "records.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 65536 };

struct onednn_records {
    atomic_uint n; /* places taken, perhaps more than there are */
    tfr_profile_record items[MOST_RECORDS];
};

void onednn_add_record(tfr_plugin_device *device, const tfr_profile_record *record)
{
    struct onednn_records *r = device->records;
    unsigned place;

    if (atomic_load_explicit(&r->n, memory_order_relaxed) >= MOST_RECORDS)
        return;
    place = atomic_fetch_add_explicit(&r->n, 1, memory_order_relaxed);
    if (place < MOST_RECORDS)
        r->items[place] = *record;
}

static int32_t records_start(tfr_plugin_device *device, int32_t on, tfr_err *err)
{
    /* Pages that no record touches stay out of memory. */
    if (on && !device->records)
        device->records = calloc(1, sizeof *device->records);
    if (on && !device->records)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %d records", (int)MOST_RECORDS);
    atomic_store(&device->profiling, on != 0); /* publishes the buffer, too */
    return TFR_OK;
}

/* What does not fit stays, moved to the front. Nothing is under way. */
static int32_t records_drain(tfr_plugin_device *device, tfr_profile_record *out, uint32_t stride,
                             uint32_t *n, tfr_err *err)
{
    struct onednn_records *r = device->records;
    unsigned there = r ? atomic_load(&r->n) : 0, i;

    (void)err;
    there = there < MOST_RECORDS ? there : MOST_RECORDS;
    *n = *n < there ? *n : there;
    for (i = 0; i < *n; i++)
        tfr_list_put(out, stride, *n, i, &r->items[i], sizeof *r->items);
    if (*n) {
        memmove(r->items, r->items + *n, (there - *n) * sizeof *r->items);
        atomic_store(&r->n, there - *n);
    }
    return TFR_OK;
}

const tfr_profile_facet onednn_profile_facet = {
    .size = sizeof onednn_profile_facet,
    .start = records_start,
    .drain = records_drain,
};

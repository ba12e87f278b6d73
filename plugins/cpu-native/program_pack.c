/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_pack.c: packed constants of a plan. Those that share out their own packing are packed at
 * once; the others wait for the end of planning, when each thread takes one after the other: most
 * of the time goes into the first touch of fresh memory, which the system gives to several threads
 * at once.
 *
 * Constants from a model's file mostly lie at odd addresses. What packs later gets an aligned copy
 * that lives only meanwhile; for all others the device keeps one.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "constants.h"
#include "program.h"

enum { HUGE_PAGE = 2 * 1024 * 1024, COPY_BYTES = 1 << 20 };

struct native_filling {
    float *to;
    uint64_t bytes;
    void (*fill)(float *to, const float *from, const void *user);
    const void *user, *from;
    uint64_t stage_bytes; /* of from, which is not aligned; 0 = it is */
};

/* The core may let the data rest. */
static void leave(const native_ir *ir, const void *data)
{
    const tfr_compile_options *o = ir->options;

    if (o && data && o->size >= offsetof(tfr_compile_options, user) + sizeof o->user &&
        o->advise_unused)
        o->advise_unused(o->user, data);
}

/* NULL after an error; *made = somebody has to fill it. */
static float *take(native_planner *p, const native_constant_key *key, uint64_t bytes, bool *made)
{
    native_plan *plan = p->plan;
    struct native_constant **more;

    *made = false;
    if (p->status != TFR_OK)
        return NULL;
    more = realloc(plan->constants, ((size_t)plan->n_constants + 1) * sizeof *more);
    if (more) {
        plan->constants = more;
        more[plan->n_constants] = native_take_constant(p->ir->device, key, bytes, made);
    }
    if (!more || !more[plan->n_constants]) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for %llu bytes of packed constants",
                             (unsigned long long)bytes);
        return NULL;
    }
    p->constant_bytes += *made ? bytes : 0;
    return native_constant_data(more[plan->n_constants++]);
}

const float *native_pack(native_planner *p, const native_constant_key *key, uint64_t bytes,
                         void (*fill)(float *to, const void *user), const void *user)
{
    bool made;
    float *to = take(p, key, bytes, &made);

    if (to && made) {
        fill(to, user);
        leave(p->ir, key->data[0]);
    }
    return to;
}

/* ---- later ---- */

const float *native_pack_later(native_planner *p, const native_constant_key *key, uint64_t bytes,
                               void (*fill)(float *to, const float *from, const void *user),
                               const void *user, size_t user_bytes, int value)
{
    const native_value *v = &p->ir->values[value];
    struct native_filling *more;
    void *copy;
    bool made;
    float *to = take(p, key, bytes, &made);

    if (!to || !made)
        return to;
    copy = native_keep(p, user_bytes);
    more = copy ? realloc(p->fillings, ((size_t)p->n_fillings + 1) * sizeof *more) : NULL;
    if (!more) {
        if (copy)
            p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for a packed constant");
        return NULL;
    }
    p->fillings = more;
    more += p->n_fillings++;
    memcpy(copy, user, user_bytes);
    *more = (struct native_filling){.to = to, .bytes = bytes, .fill = fill, .user = copy};
    more->from = v->known;
    if (v->known == v->unaligned)
        more->stage_bytes = ((uint64_t)native_elements(v) * tfr_dtype_bits(v->dtype) + 7) / 8;
    return to;
}

typedef struct filler {
    const native_planner *p;
    char *stages; /* aligned copies of constants, one for each thread */
    uint64_t stage_bytes;
} filler;

static void fill_some(void *user, int64_t begin, int64_t end)
{
    const filler *all = user;
    const tfr_plugin_device *device = all->p->ir->device;
    const uint64_t lane = device->pool && device->pool->lane ? device->pool->lane() : 0;

    for (; begin < end; begin++) {
        const struct native_filling *f = &all->p->fillings[begin];
        const void *from = f->from;
        if (f->stage_bytes > 0)
            from = memcpy(all->stages + lane * all->stage_bytes, f->from, (size_t)f->stage_bytes);
        f->fill(f->to, from, f->user);
        leave(all->p->ir, f->from);
    }
}

/* Large ones first, so that threads end together; equal ones in the order of memory. */
static int by_size(const void *a, const void *b)
{
    const struct native_filling *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->to < y->to ? -1 : 1;
}

/* Copies for all threads; false without memory. */
static bool make_stages(filler *f, int lanes)
{
    uint64_t bytes;
    int i;

    for (i = 0; i < f->p->n_fillings; i++) {
        if (f->stage_bytes < f->p->fillings[i].stage_bytes)
            f->stage_bytes = f->p->fillings[i].stage_bytes;
    }
    f->stage_bytes = (f->stage_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    bytes = f->stage_bytes * (uint64_t)lanes;
    if (bytes == 0)
        return true;
    f->stages = aligned_alloc(HUGE_PAGE, (size_t)bytes);
#ifdef MADV_HUGEPAGE
    if (f->stages)
        (void)madvise(f->stages, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return f->stages;
}

void native_fill_packed(native_planner *p)
{
    const tfr_plugin_device *device = p->ir->device;
    const bool shared = device->pool && device->pool->lane;
    filler all = {.p = p};

    if (p->status == TFR_OK && p->n_fillings > 0) {
        qsort(p->fillings, (size_t)p->n_fillings, sizeof *p->fillings, by_size);
        if (!make_stages(&all, shared ? device->lanes : 1))
            p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for %llu bytes to pack constants",
                                 (unsigned long long)all.stage_bytes);
        else if (shared)
            device->host->parallel_for(fill_some, &all, p->n_fillings, 1);
        else
            fill_some(&all, 0, p->n_fillings);
    }
    free(all.stages);
    free(p->fillings);
    p->fillings = NULL;
    p->n_fillings = 0;
}

/* ---- constants that are read as they are ---- */

typedef struct copying {
    const tfr_host *host;
    const char *from;
    char *to;
    int64_t bytes;
} copying;

/* Numbers count pieces. */
static void copy_pieces(void *user, int64_t begin, int64_t end)
{
    const copying *c = user;
    int64_t at = begin * COPY_BYTES,
            last = end * COPY_BYTES < c->bytes ? end * COPY_BYTES : c->bytes;

    memcpy(c->to + at, c->from + at, (size_t)(last - at));
}

static void fill_copy(float *to, const void *user)
{
    copying c = *(const copying *)user;

    c.to = (char *)to;
    c.host->parallel_for(copy_pieces, &c, (c.bytes + COPY_BYTES - 1) / COPY_BYTES, 1);
}

/* Whether the item takes its input from any address. */
static bool takes_unaligned(const native_item *item, int input)
{
    return (item->kind == NATIVE_ITEM_PRODUCT && input == 1 &&
            (item->is_big || item->has_few_rows || item->quantized)) ||
           (item->kind == NATIVE_ITEM_GATHER && input == 0);
}

/* Whether an item wants the value, or a view of it, aligned. */
static bool wants_aligned(const native_planner *p, int root)
{
    const native_ir *ir = p->ir;
    int i, k;

    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        for (k = 0; k < item->n_inputs; k++) {
            int v = item->inputs[k];
            if (v >= 0 && item->kind != NATIVE_ITEM_NONE && ir->values[v].root == root &&
                !(v == root && takes_unaligned(item, k)))
                return true;
        }
    }
    return false;
}

/* For the value and its views. */
static void set_known(native_ir *ir, int root, const void *known)
{
    int i;

    for (i = 0; i < ir->n_values; i++) {
        if (ir->values[i].root == root && ir->values[i].known)
            ir->values[i].known = known;
    }
}

static void align_value(native_planner *p, int i)
{
    const native_value *v = &p->ir->values[i];
    const int64_t bytes = (native_elements(v) * (int64_t)tfr_dtype_bits(v->dtype) + 7) / 8;
    const copying c = {p->ir->device->host, v->unaligned, NULL, bytes};
    const native_constant_key key = {{v->unaligned}, {8, bytes}};

    set_known(p->ir, i, native_pack(p, &key, (uint64_t)bytes, fill_copy, &c));
}

void native_align_known(native_planner *p)
{
    int i;

    for (i = 0; i < p->ir->n_values && p->status == TFR_OK; i++) {
        if (p->ir->values[i].unaligned && wants_aligned(p, i))
            align_value(p, i);
    }
}

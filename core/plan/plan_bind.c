/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_bind.c: the end of the third pass: when each buffer lives, where it lies in its memory's
 * arena, and the arguments of every launch. What changes from run to run (inputs, outputs) becomes
 * a patch.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "plan/plan_steps.h"

static void live_at(tfr__plan *p, uint32_t buffer, uint32_t from, uint32_t to)
{
    tfr__buffer *b;
    if (buffer == TFR__NO_BUFFER)
        return;
    b = &p->buffers[buffer];
    if (from < b->first)
        b->first = from;
    if (to > b->last)
        b->last = to;
}

/*
 * The last step at which a buffer of step i is kept. What is put on a queue is in order for that
 * queue alone: whoever else writes into the memory, the host or the device that has it, must have
 * waited for the queue. next has, by who waits (streams, then the host) and by stream, the step of
 * that wait.
 */
static uint32_t kept_until(const tfr__steps *s, const uint32_t *next, uint32_t i,
                           const tfr__buffer *b)
{
    const tfr__step *step = &s->p->steps[i];
    const uint32_t n = s->b->streams->n;
    uint32_t owner = n;
    if (step->kind == TFR__STEP_REORDER || !tfr__steps_is_queued(s, step->stream))
        return i;
    if (b->memory != TFR__MEMORY_HOST)
        owner = tfr__steps_stream_of(s, b->memory);
    return owner == step->stream ? i : next[(size_t)owner * n + step->stream];
}

static void step_lives(tfr__steps *s, uint32_t i, const uint32_t *next)
{
    tfr__plan *p = s->p;
    const tfr__step *step = &p->steps[i];
    uint32_t own[] = {step->src, step->dst, step->workspace, step->random};
    if (step->kind == TFR__STEP_LAUNCH) {
        own[0] = own[1] = TFR__NO_BUFFER; /* dst counts arguments */
        for (uint32_t a = 0; a < step->n_args; a++) {
            uint32_t buffer = s->arg_buffers[step->dst + a];
            if (buffer != TFR__NO_BUFFER)
                live_at(p, buffer, i, kept_until(s, next, i, &p->buffers[buffer]));
        }
    }
    if (step->to_device && p->n_variables)
        live_at(p, step->dst, i, p->n_steps - 1); /* plan_buffers.c */
    for (uint32_t k = 0; k < sizeof own / sizeof *own; k++)
        if (own[k] != TFR__NO_BUFFER)
            live_at(p, own[k], i, kept_until(s, next, i, &p->buffers[own[k]]));
}

/* Lifetimes, in steps. */
static tfr_status find_lifetimes(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    const uint32_t n = s->b->streams->n;
    uint32_t *next = tfr__calloc((size_t)(n + 1) * n + 1, sizeof *next);
    if (!next)
        return tfr__no_memory(err);
    for (uint32_t k = 0; k < (n + 1) * n; k++)
        next[k] = p->n_steps ? p->n_steps - 1 : 0; /* a plan ends when all queues are idle */
    for (uint32_t i = p->n_steps; i-- > 0;) {
        const tfr__step *step = &p->steps[i];
        if (step->kind == TFR__STEP_ORDER)
            next[(size_t)step->stream * n + step->from] = i;
        else if (step->kind != TFR__STEP_SYNC)
            step_lives(s, i, next);
        for (uint32_t e = 0; step->kind == TFR__STEP_SYNC && e <= n; e++)
            next[(size_t)e * n + step->stream] = i;
    }
    for (uint32_t i = 0; i < p->n_live_outs; i++)
        if (p->live_outs[i].buffer != TFR__NO_BUFFER)
            live_at(p, p->live_outs[i].buffer, p->n_steps, p->n_steps);
    tfr__free(next);
    return TFR_OK;
}

/*
 * Most bytes alive at one step, where a buffer that is not full counts without its slack. alive
 * has a place for each step, and is 0: what begins there less what has ended before.
 */
static uint64_t most_filled(const tfr__buffer *buffers, const tfr_arena_block *blocks, uint32_t n,
                            uint64_t alignment, uint64_t *alive, uint32_t n_steps)
{
    uint64_t most = 0, now = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t filled = ((blocks[i].bytes + alignment - 1) & ~(alignment - 1)) -
                          (buffers[i].slack & ~(alignment - 1));
        if (!blocks[i].bytes)
            continue;
        alive[blocks[i].first] += filled;
        alive[blocks[i].last + 1] -= filled; /* wraps, and comes back in the sum */
    }
    for (uint32_t step = 0; step < n_steps; step++) {
        now += alive[step];
        most = now > most ? now : most;
    }
    return most;
}

tfr_status tfr__arena_plan(tfr__buffer *buffers, uint32_t n, uint32_t memory, uint64_t alignment,
                           uint64_t *bytes, uint64_t *lower_bound, tfr_err *err)
{
    tfr_arena_block *blocks = tfr__calloc((size_t)n + 1, sizeof *blocks);
    uint64_t *alive = NULL;
    uint32_t n_steps = 0;
    tfr_status status;
    bool slack = false;
    *bytes = *lower_bound = 0;
    if (!blocks)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        const tfr__buffer *b = &buffers[i];
        if (b->kind != TFR__BUFFER_ARENA || b->memory != memory)
            continue;
        blocks[i].bytes = b->bytes;
        blocks[i].first = b->first > b->last ? b->last : b->first; /* no step uses it */
        blocks[i].last = b->last;
        n_steps = b->last >= n_steps ? b->last + 1 : n_steps;
        slack = slack || b->slack;
    }
    status = tfr__arena_solve(blocks, n, alignment, bytes, lower_bound, NULL, err);
    for (uint32_t i = 0; !status && i < n; i++)
        if (blocks[i].bytes)
            buffers[i].offset = blocks[i].offset;
    if (!status && slack) {
        alive = tfr__calloc((size_t)n_steps + 1, sizeof *alive);
        if (!alive)
            status = tfr__no_memory(err);
        else
            *lower_bound = most_filled(buffers, blocks, n, alignment, alive, n_steps);
    }
    tfr__free(alive);
    tfr__free(blocks);
    return status;
}

/*
 * A model may make gigabytes out of a few bytes: by a wrong size, or by malice. It is not refused,
 * since it is right by the standard, but the machine's owner is to know who wants that much.
 */
static void announce_memory(const tfr__steps *s)
{
    enum { RATIO = 1000 };
    const uint64_t most = UINT64_C(512) << 20;
    const tfr__plan *p = s->p;
    const tfr__buffer *largest = NULL;
    uint64_t bytes = p->arena_bytes, given = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const tfr__buffer *b = &p->buffers[i];
        if (b->kind == TFR__BUFFER_LIVE_IN || b->kind == TFR__BUFFER_CONSTANT ||
            b->kind == TFR__BUFFER_VARIABLE) {
            given += b->bytes;
            continue;
        }
        bytes += b->kind == TFR__BUFFER_TENSOR ? b->bytes : 0;
        if (!largest || b->bytes > largest->bytes)
            largest = b;
    }
    if (!largest || bytes < most || bytes / RATIO < given)
        return;
    tfr__log(
        s->b->streams->runtime, TFR_LOG_WARNING, "session",
        "a run of graph \"%s\" takes %llu MiB of memory, %llu MiB of it at once for one value, "
        "with %llu KiB of weights and inputs",
        s->b->graph->name, (unsigned long long)(bytes >> 20),
        (unsigned long long)(largest->bytes >> 20), (unsigned long long)(given >> 10));
}

/*
 * Plans of ever new sizes lie as the one before as long as they fit. So a buffer gets room to grow,
 * an eighth at most, and half of its size before that if it grows and the last sizes grew alike: to
 * find places takes longer than all else of a plan with many buffers.
 */
static uint64_t room_of(const tfr__build *b, const tfr__buffer *buffer)
{
    const tfr_value v = buffer->value;
    uint64_t step = 512, bytes = buffer->bytes;
    if (b->n_alike && (v == TFR_VALUE_NONE || b->follows[v] != TFR_VALUE_NONE))
        bytes += bytes / 2;
    while (step * 16 < bytes)
        step *= 2;
    return bytes < UINT64_MAX / 2 ? (bytes + step - 1) & ~(step - 1) : bytes;
}

/* Whether all buffers live as they did in the plan before and fit where they lay. */
static bool take_rooms(tfr__steps *s)
{
    const tfr__build *b = s->b;
    tfr__plan *p = s->p;
    if (!b->rooms || b->n_rooms != p->n_buffers || b->n_arenas != s->n_memories)
        return false;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const tfr__buffer *now = &p->buffers[i];
        const tfr__room *room = &b->rooms[i];
        if (now->kind != TFR__BUFFER_ARENA
                ? room->memory != UINT32_MAX
                : now->memory != room->memory || now->first != room->first ||
                      now->last != room->last || now->bytes > room->bytes)
            return false;
    }
    for (uint32_t i = 0; i < p->n_buffers; i++)
        p->buffers[i].offset = b->rooms[i].offset;
    for (uint32_t m = 0; m < s->n_memories; m++)
        p->arenas[m] = b->arenas[m];
    return true;
}

/* Notes places for the next plan; without memory it finds its own. */
static void keep_rooms(tfr__steps *s)
{
    tfr__build *b = s->b;
    const tfr__plan *p = s->p;
    tfr__free(b->rooms);
    tfr__free(b->arenas);
    b->rooms = tfr__calloc((size_t)p->n_buffers + 1, sizeof *b->rooms);
    b->arenas = tfr__calloc(s->n_memories, sizeof *b->arenas);
    b->n_rooms = p->n_buffers;
    b->n_arenas = b->rooms && b->arenas ? s->n_memories : 0;
    for (uint32_t m = 0; m < b->n_arenas; m++)
        b->arenas[m] = p->arenas[m];
    for (uint32_t i = 0; b->n_arenas && i < p->n_buffers; i++) {
        const tfr__buffer *buffer = &p->buffers[i];
        const bool in = buffer->kind == TFR__BUFFER_ARENA;
        b->rooms[i] = (tfr__room){room_of(b, buffer), buffer->offset,
                                  in ? buffer->memory : UINT32_MAX, buffer->first, buffer->last};
    }
}

/* Where in the arena of a memory each of its buffers lies; with room in plans of other shapes. */
static tfr_status find_rooms(tfr__steps *s, tfr__arena *arena, tfr_err *err)
{
    tfr__plan *p = s->p;
    uint64_t alignment = 64, *bytes = NULL;
    tfr_status status;
    if (arena->memory != TFR__MEMORY_HOST)
        alignment =
            s->b->streams->items[tfr__steps_stream_of(s, arena->memory)].backend->space.alignment;
    if (s->b->is_again) {
        bytes = tfr__alloc(((size_t)p->n_buffers + 1) * sizeof *bytes);
        if (!bytes)
            return tfr__no_memory(err);
    }
    for (uint32_t i = 0; bytes && i < p->n_buffers; i++) {
        bytes[i] = p->buffers[i].bytes;
        p->buffers[i].bytes = room_of(s->b, &p->buffers[i]);
    }
    status = tfr__arena_plan(p->buffers, p->n_buffers, arena->memory, alignment ? alignment : 64,
                             &arena->bytes, &arena->lower_bound, err);
    for (uint32_t i = 0; bytes && i < p->n_buffers; i++)
        p->buffers[i].bytes = bytes[i];
    tfr__free(bytes);
    return status;
}

static tfr_status make_arenas(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    const bool found = take_rooms(s);
    for (uint32_t m = 0; m < s->n_memories; m++) {
        tfr_status status;
        p->arenas[m].memory = m;
        p->n_arenas = m + 1;
        status = found ? TFR_OK : find_rooms(s, &p->arenas[m], err);
        if (status)
            return status;
        p->arena_bytes += p->arenas[m].bytes;
        p->arena_lower_bound += p->arenas[m].lower_bound;
    }
    if (s->b->is_again && !found)
        keep_rooms(s);
    announce_memory(s);
    for (uint32_t m = 0; m < p->n_arenas; m++) {
        tfr_status status = tfr__stream_alloc(s->b->streams, m, p->arenas[m].bytes, TFR_ALLOC_ARENA,
                                              "intermediate values of graph", s->b->graph->name,
                                              &p->arenas[m].address, err);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        tfr__buffer *b = &p->buffers[i];
        if (b->kind != TFR__BUFFER_ARENA || !b->bytes)
            continue;
        b->address = p->arenas[b->memory].address;
        if (tfr__stream_has_handles(s->b->streams, b->memory))
            b->behind = b->offset;
        else
            b->address = (char *)b->address + b->offset;
    }
    return TFR_OK;
}

/* Does argument a of the launch get its true dims from the kernel? Its value, or TFR_VALUE_NONE. */
static tfr_value late_value(const tfr__steps *s, const tfr__step *step, uint32_t a)
{
    const tfr__node *node;
    tfr_value v;
    if (step->kind != TFR__STEP_LAUNCH || step->program >= 0)
        return TFR_VALUE_NONE;
    node = &s->b->graph->nodes[step->node];
    v = a < node->n_inputs ? TFR_VALUE_NONE : node->outputs[a - node->n_inputs];
    return v != TFR_VALUE_NONE && s->b->dynamic[v] ? v : TFR_VALUE_NONE;
}

/* Where the kernels of one stream write true dims: a piece of memory that they reach. */
static tfr_status bind_dims_of(tfr__steps *s, uint32_t stream, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr__backend *backend = s->b->streams->items[stream].backend;
    uint64_t bytes = 0;
    void *at = NULL;
    for (int pass = 0; pass < 2; pass++) {
        tfr_status status;
        for (uint32_t i = 0; i < p->n_steps; i++)
            for (uint32_t a = 0; a < p->steps[i].n_args && p->steps[i].stream == stream; a++) {
                tfr_value v = late_value(s, &p->steps[i], a);
                if (v == TFR_VALUE_NONE)
                    continue;
                if (pass)
                    s->dims[v] = p->steps[i].args[a].dims = (int64_t *)at + bytes / sizeof(int64_t);
                bytes +=
                    (uint64_t)(s->b->types[v].rank ? s->b->types[v].rank : 1) * sizeof(int64_t);
            }
        if (pass || !bytes)
            break;
        status =
            tfr__backend_alloc(backend, backend->transfer_space, bytes, TFR_ALLOC_DIMS, &at, err);
        if (status)
            return status;
        p->dims[p->n_dims++] = (tfr__dims){backend, at};
        bytes = 0;
    }
    return TFR_OK;
}

/* Where kernels of dynamic outputs write the true dims. */
static tfr_status bind_dims(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr_status status = TFR_OK;
    p->dims = tfr__calloc((size_t)s->b->streams->n + 1, sizeof *p->dims);
    if (!p->dims)
        return tfr__no_memory(err);
    for (uint32_t e = 0; !status && e < s->b->streams->n; e++)
        status = bind_dims_of(s, e, err);
    for (uint32_t o = 0; !status && o < p->n_live_outs; o++)
        p->live_outs[o].dims = s->dims[p->live_outs[o].value];
    return status;
}

/* Fixed addresses now, the others as patches for each run. */
static tfr_status bind_args(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    p->patches = tfr__calloc((size_t)s->n_args + 1, sizeof *p->patches);
    p->moving = tfr__calloc((size_t)p->n_buffers + 1, sizeof *p->moving);
    if (!p->patches || !p->moving)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        tfr__step *step = &p->steps[i];
        if (step->kind != TFR__STEP_LAUNCH)
            continue;
        step->args = p->args + step->dst;
        for (uint32_t a = 0; a < step->n_args; a++) {
            uint32_t buffer = s->arg_buffers[step->dst + a];
            if (buffer == TFR__NO_BUFFER)
                continue;
            step->args[a].address = p->buffers[buffer].address;
            step->args[a].offset = p->buffers[buffer].behind;
            if (p->buffers[buffer].kind == TFR__BUFFER_LIVE_IN ||
                p->buffers[buffer].kind == TFR__BUFFER_VARIABLE ||
                p->buffers[buffer].kind == TFR__BUFFER_TENSOR ||
                (s->b->is_again && tfr__build_may_change(s->b, &p->buffers[buffer])))
                p->patches[p->n_patches++] = (tfr__patch){&step->args[a], buffer};
        }
        step->dst = TFR__NO_BUFFER;
    }
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind == TFR__BUFFER_LIVE_IN || p->buffers[i].kind == TFR__BUFFER_TENSOR)
            p->moving[p->n_moving++] = i;
    return bind_dims(s, err);
}

tfr_status tfr__steps_bind(tfr__steps *s, tfr_err *err)
{
    tfr_status status;
    s->p->arenas = tfr__calloc(s->n_memories, sizeof *s->p->arenas);
    status = s->p->arenas ? find_lifetimes(s, err) : tfr__no_memory(err);
    if (!status)
        status = make_arenas(s, err);
    if (!status)
        status = bind_args(s, err);
    return status ? status : tfr__plan_bind(s->p, err);
}

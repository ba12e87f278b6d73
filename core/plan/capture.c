/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c: records and replays the captures of a plan; see capture.h. */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "plan/plan.h"

/* More executables than this, and few replays of each, and a capture is not worth its making. */
enum { MADE = 8, REPLAYS = 16 };

/* ---- executables ----------------------------------------------------------------------------- */

static tfr__backend *backend_of(const tfr__capture *c)
{
    return c->plan->steps[c->first].backend;
}

static void executable_drop(const tfr__capture *c, tfr__executable *e)
{
    tfr__backend *b = backend_of(c);
    if (e->made && !tfr__stream_is_stuck(c->plan->streams, b)) {
        pthread_mutex_lock(&b->lock);
        TFR__SLOT(b, "capture drop", NULL, NULL, b->capture.drop(b->device, e->made));
        pthread_mutex_unlock(&b->lock);
    }
    e->made = NULL;
}

static void drop_all(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_captures; i++)
        for (uint32_t k = 0; k < 2; k++)
            executable_drop(&p->captures[i], &p->captures[i].executables[k]);
}

/* Was it made for the addresses of this run? */
static bool fits(const tfr__capture *c, const tfr__executable *e)
{
    const tfr__patch *patch = &c->plan->patches[c->first_patch];
    if (!e->made)
        return false;
    for (uint32_t i = 0; i < c->end_patch - c->first_patch; i++)
        if (e->addresses[i] != patch[i].arg->address)
            return false;
    return true;
}

/* ---- launching ------------------------------------------------------------------------------- */

/* As without a capture. c->at is the step that failed. */
TFR__ANY_OBJECT
static int32_t launch_each(tfr__capture *c, tfr_err *err)
{
    int32_t status = TFR_OK;
    for (c->at = c->first; c->at < c->end; c->at++) {
        tfr__bound one = c->plan->bound[c->at];
        tfr__step_bind(c->plan, c->at, &one);
        status = one.call(one.device, one.queue, one.object, &one.launch, err);
        if (status)
            return status;
    }
    c->at = c->first;
    return TFR_OK;
}

static int32_t record(tfr__capture *c, tfr_queue *queue, tfr__executable *e, tfr_err *err)
{
    tfr__backend *b = backend_of(c);
    int32_t status = b->capture.begin(b->device, queue, err), ended;
    if (status)
        return status;
    status = launch_each(c, err);
    ended = b->capture.end(b->device, queue, status ? NULL : &e->made, status ? NULL : err);
    if (!status && !ended && !e->made)
        return tfr_fail(err, TFR_EPLUGIN, "the slot end of %s returned TFR_OK and no executable",
                        b->name);
    if (!status && ended)
        e->made = NULL;
    return status ? status : ended;
}

/* A new executable, instead of the older one. */
static int32_t make(tfr__capture *c, tfr_queue *queue, tfr__executable **out, tfr_err *err)
{
    tfr__executable *e = &c->executables[c->newest ^ 1];
    if (c->n_made >= MADE && c->n_replayed / REPLAYS < c->n_made)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "its variables are elsewhere too often: %u captures were made for %llu "
                        "replays",
                        c->n_made, (unsigned long long)c->n_replayed);
    executable_drop(c, e);
    for (uint32_t i = c->first_patch; i < c->end_patch; i++)
        e->addresses[i - c->first_patch] = c->plan->patches[i].arg->address;
    c->n_made++;
    c->newest ^= 1;
    *out = e;
    return record(c, queue, e, err);
}

static void turn_off(tfr__capture *c, tfr_err *err)
{
    tfr__plan *p = c->plan;
    const tfr__node *node = tfr__plan_node(p, &p->steps[c->first]);
    c->is_off = true;
    c->why = tfr__strdup(tfr__said(err));
    for (uint32_t i = 0; i < p->n_placed; i++)
        if (p->placed[i].capture == TFR__CAPTURED && &p->captures[p->placed[i].capture_number] == c)
            p->placed[i].capture = TFR__UNCAPTURED_FAILED;
    tfr__log(p->streams->runtime, TFR_LOG_WARNING, backend_of(c)->plugin_name,
             "%u launches from node \"%s\" on %s are not captured, each run launches them one by "
             "one: %s",
             c->end - c->first, node ? node->name : "", backend_of(c)->name, tfr__said(err));
}

static tfr__executable *find(tfr__capture *c)
{
    for (uint32_t k = 0; k < 2; k++)
        if (fits(c, &c->executables[k]))
            return &c->executables[k];
    return NULL;
}

/* Old and new states of variables take turns. */
static void turn(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_variables; i++)
        if (p->variables[i].beside != UINT32_MAX) {
            tfr__buffer *a = &p->buffers[p->variables[i].now],
                        *b = &p->buffers[p->variables[i].beside];
            void *now = a->address;
            a->address = b->address;
            b->address = now;
        }
    tfr__plan_patch(p);
}

/* The executable of the run after this one, if the two can be repeated: the capture is all that
 * they do, and nothing comes from the host between them. */
static tfr__executable *find_next(tfr__capture *c)
{
    tfr__plan *p = c->plan;
    tfr__executable *next;
    if (p->most < 2 || !backend_of(c)->capture.repeat || c->end - c->first != p->n_launches ||
        p->n_reorders || p->random || p->n_live_outs != p->n_skipped)
        return NULL;
    turn(p);
    next = find(c);
    turn(p);
    return next;
}

/* The first step of a capture, for all of them. */
static int32_t call_captured(tfr_plugin_device *device, tfr_queue *queue, void *object,
                             const tfr_launch *launch, tfr_err *err)
{
    tfr__capture *c = object;
    const tfr_capture_facet *facet = &backend_of(c)->capture;
    tfr__executable *e = find(c), *next = e ? find_next(c) : NULL;
    tfr_err own = TFR_ERR_INIT;
    int32_t failed = TFR_OK, status;
    (void)launch;
    if (!e)
        failed = make(c, queue, &e, &own);
    else if (next)
        c->plan->made = c->plan->most & ~1u;
    if (!failed)
        failed = next ? facet->repeat(device, queue, e->made, next->made, c->plan->made, &own)
                      : facet->launch(device, queue, e->made, &own);
    c->n_replayed += c->plan->made;
    if (!failed)
        return TFR_OK;
    c->plan->made = 1;
    status = launch_each(c, err);
    if (!status) /* else it is the device that fails */
        turn_off(c, &own);
    return status;
}

/* ---- the bound steps ------------------------------------------------------------------------- */

void tfr__captures_bind(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_captures; i++) {
        tfr__capture *c = &p->captures[i];
        const bool replays = p->replays && !c->is_off && p->bound[c->first].queue;
        for (uint32_t k = c->first; k < c->end; k++) {
            tfr__step_bind(p, k, &p->bound[k]);
            if (replays)
                p->bound[k].call = k == c->first ? call_captured : tfr__step_skipped;
        }
        if (replays)
            p->bound[c->first].object = c;
    }
}

void tfr__captures_ready(tfr__plan *p, uint64_t homes, bool apart)
{
    const bool replays = !apart && p->n_walks > 0;
    bool changed = replays != p->replays;
    if (!apart)
        p->n_walks += p->n_walks < 2;
    if (homes != p->homes || (changed && replays)) /* or launches have other ids since */
        drop_all(p);
    p->homes = homes;
    p->replays = replays;
    for (uint32_t i = 0; i < p->n_captures; i++)
        changed = changed ||
                  (p->captures[i].is_off && p->bound[p->captures[i].first].call == call_captured);
    if (changed)
        tfr__captures_bind(p);
}

uint32_t tfr__captures_at(const tfr__plan *p, uint32_t step)
{
    for (uint32_t i = 0; p->replays && i < p->n_captures; i++)
        if (p->captures[i].first == step)
            return p->captures[i].at;
    return step;
}

void tfr__captures_destroy(tfr__plan *p)
{
    drop_all(p);
    for (uint32_t i = 0; i < p->n_captures; i++) {
        tfr__free(p->captures[i].executables[0].addresses);
        tfr__free(p->captures[i].executables[1].addresses);
        tfr__free(p->captures[i].why);
    }
    tfr__free(p->captures);
    p->captures = NULL;
    p->n_captures = 0;
}

/* ---- the report ------------------------------------------------------------------------------ */

void tfr__captures_count(const tfr__plan *p, uint32_t *n_captures, uint32_t *n_launches)
{
    for (uint32_t i = 0; i < p->n_captures; i++) {
        const tfr__capture *c = &p->captures[i];
        if (c->is_off)
            continue;
        ++*n_captures;
        for (uint32_t k = c->first; k < c->end; k++)
            *n_launches += p->steps[k].kind == TFR__STEP_LAUNCH;
    }
}

const char *tfr__captured_text(const tfr__plan *p, const tfr__placed *row)
{
    static const char *const texts[] = {
        [TFR__CAPTURED_NEVER] = "",
        [TFR__CAPTURED] = "",
        [TFR__UNCAPTURED_OFF] = "the session captures nothing",
        [TFR__UNCAPTURED_KERNEL] = "its backend does not say that this launch can be captured",
        [TFR__UNCAPTURED_HOST] = "its launch reads or writes the host's memory",
        [TFR__UNCAPTURED_DIMS] = "only a run tells the dims of an output",
        [TFR__UNCAPTURED_ADDRESS] = "an operand is elsewhere at each run",
        [TFR__UNCAPTURED_ALONE] = "it is a single launch between what cannot be captured",
        [TFR__UNCAPTURED_FAILED] = "to capture it failed",
        [TFR__BROKEN_COPY] = "a capture ends before it: something is copied from or to the host",
        [TFR__BROKEN_WAIT] = "a capture ends before it: the host waits, or works",
        [TFR__BROKEN_ORDER] = "a capture ends before it: its queue waits for another one",
        [TFR__BROKEN_STREAM] = "a capture ends before it: another device has its turn",
        [TFR__BROKEN_LAUNCH] = "a capture ends before it: the launch before it is not captured",
        [TFR__BROKEN_LAYOUT] = "a capture ends before it: a state is brought into its plain layout",
    };
    if (row->capture == TFR__UNCAPTURED_FAILED && p->captures[row->capture_number].why)
        return p->captures[row->capture_number].why;
    return texts[row->capture > TFR__CAPTURED ? row->capture : row->broken];
}

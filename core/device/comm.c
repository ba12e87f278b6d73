/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c: communicators of plugins. The first to fail says so under a key that all others look at
 * while they wait, so that a rank that never comes or breaks down ends the group everywhere.
 */
#include "device/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/loader.h"
#include "value/bits.h"

#define ID_BYTES  1024
#define MOST_TEXT 250 /* what readers have room for */
#define GIVEN_UP  "given-up"

struct tfr__comm {
    tfr__backend *backend;
    tfr_comm *comm; /* the plugin's; NULL = not yet */
    tfr_comm_store store;
    tfr__pairs *pairs;
    uint64_t timeout_ns;
    uint32_t rank, n_ranks;
    char group[64], given_up[96];
};

/* What rank 0 tells all others. */
typedef struct opening {
    uint32_t n_ranks, id_bytes;
    char plugin[64]; /* its name and version */
    char id[ID_BYTES];
} opening;

/* ---- pairs of one group ---------------------------------------------------------------------- */

/* Keys of plugins and of the core do not meet. */
static const char *key_of(const tfr__comm *c, const char *kind, const char *key, char *out,
                          size_t n)
{
    snprintf(out, n, "%s.%s.%.128s", c->group, kind, key);
    return out;
}

static int32_t store_put(void *user, const char *key, const void *value, uint64_t bytes,
                         tfr_err *err)
{
    const tfr__comm *c = user;
    char full[256];
    return tfr__pairs_put(c->pairs, key_of(c, "p", key, full, sizeof full), value, bytes, err);
}

static int32_t store_get(void *user, const char *key, void *out, uint64_t *n, uint64_t timeout_ns,
                         tfr_err *err)
{
    const tfr__comm *c = user;
    char full[256];
    return tfr__pairs_get(c->pairs, key_of(c, "p", key, full, sizeof full), c->given_up, out, n,
                          timeout_ns, err);
}

static bool is_there(const tfr__comm *c, const char *key)
{
    uint64_t n = 0;
    return tfr__pairs_get(c->pairs, key, NULL, NULL, &n, 0, NULL) == TFR_OK;
}

static int32_t store_given_up(void *user)
{
    const tfr__comm *c = user;
    return is_there(c, c->given_up);
}

/* For all ranks; the first word counts. */
static void give_up(tfr__comm *c, const char *text)
{
    const size_t n = strlen(text);
    (void)!tfr__pairs_put(c->pairs, c->given_up, text, n < MOST_TEXT ? n : MOST_TEXT, NULL);
}

/* Writes who it was in front of what happened; err may be own. */
static tfr_status comm_fail(const tfr__comm *c, const char *doing, tfr_status status, tfr_err *own,
                            tfr_err *err)
{
    const tfr_status known = tfr__plugin_status(status, own);
    const int64_t native = own->native;
    char text[320];
    snprintf(text, sizeof text, "%.300s", tfr__said(own));
    tfr_fail(err, known, "group \"%s\", rank %u of %u (%s), %s: %s", c->group, c->rank, c->n_ranks,
             c->backend->name, doing, text);
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = native;
    return known;
}

/* ---- opening --------------------------------------------------------------------------------- */

static tfr_status comm_announce(tfr__comm *c, tfr_err *err)
{
    opening o = {.n_ranks = c->n_ranks};
    uint64_t n = sizeof o.id;
    char key[128];
    tfr_status status;
    snprintf(o.plugin, sizeof o.plugin, "%s %s", c->backend->plugin_name,
             c->backend->plugin->reply.version);
    TFR__SLOT(c->backend, "unique_id", NULL, NULL,
              status = (tfr_status)c->backend->comm.unique_id(c->backend->device, o.id, &n, err));
    if (!status && n > sizeof o.id)
        status = tfr_fail(err, TFR_EPLUGIN, "an id of %" PRIu64 " bytes", n);
    o.id_bytes = (uint32_t)n;
    if (!status)
        status =
            tfr__pairs_put(c->pairs, key_of(c, "c", "open", key, sizeof key), &o, sizeof o, err);
    return status;
}

/* Equal plugins, equal ideas of the group, each rank once. */
static tfr_status comm_enter(tfr__comm *c, opening *o, tfr_err *err)
{
    uint64_t n = sizeof *o;
    char key[128], name[32], mine[sizeof o->plugin];
    tfr_status status = c->rank ? TFR_OK : comm_announce(c, err);
    snprintf(name, sizeof name, "rank-%u", c->rank);
    if (!status) {
        status = tfr__pairs_put(c->pairs, key_of(c, "c", name, key, sizeof key), "", 0, err);
        if (status == TFR_EBUSY)
            return tfr_fail(err, TFR_EINVAL, "the rank is there already");
    }
    if (!status)
        status = tfr__pairs_get(c->pairs, key_of(c, "c", "open", key, sizeof key), c->given_up, o,
                                &n, c->timeout_ns, err);
    if (status)
        return status;
    snprintf(mine, sizeof mine, "%s %s", c->backend->plugin_name,
             c->backend->plugin->reply.version);
    if (n != sizeof *o || o->id_bytes > ID_BYTES || strncmp(o->plugin, mine, sizeof mine) != 0)
        return tfr_fail(err, TFR_EINVAL, "rank 0 has plugin %.63s, not %s", n ? o->plugin : "",
                        mine);
    if (o->n_ranks != c->n_ranks)
        return tfr_fail(err, TFR_EINVAL, "for rank 0 there are %u ranks", o->n_ranks);
    return TFR_OK;
}

static tfr_status comm_init(tfr__comm *c, tfr_err *err)
{
    opening o;
    tfr_comm_options options = {.size = sizeof options,
                                .rank = c->rank,
                                .n_ranks = c->n_ranks,
                                .group = c->group,
                                .id = o.id,
                                .timeout_ns = c->timeout_ns,
                                .store = &c->store};
    tfr_status status = comm_enter(c, &o, err);
    if (status)
        return status;
    options.id_bytes = o.id_bytes;
    TFR__SLOT(c->backend, "comm init", NULL, NULL,
              status =
                  (tfr_status)c->backend->comm.init(c->backend->device, &options, &c->comm, err));
    if (status)
        c->comm = NULL;
    else if (!c->comm)
        status = tfr_fail(err, TFR_EPLUGIN, "the slot init returned TFR_OK and no communicator");
    return status;
}

/* After a timeout: who is missing. */
static void name_missing(const tfr__comm *c, tfr_err *own)
{
    char text[sizeof own->text] = "", key[128], name[32];
    size_t n = 0;
    for (uint32_t r = 0; r < c->n_ranks && n < 100; r++) {
        snprintf(name, sizeof name, "rank-%u", r);
        if (!is_there(c, key_of(c, "c", name, key, sizeof key)))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %u", n ? "," : "", r);
    }
    if (n)
        tfr_fail(own, TFR_ETIMEOUT, "after %.3g s there is no rank%s", (double)c->timeout_ns / 1e9,
                 text);
}

tfr_status tfr__comm_open(tfr__backend *backend, const tfr__comm_place *place, tfr__comm **out,
                          tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    tfr__comm *c = tfr__calloc(1, sizeof *c);
    tfr_status status;
    if (!c)
        return tfr__no_memory(err);
    c->backend = backend;
    c->pairs = place->pairs;
    c->timeout_ns = place->timeout_ns;
    c->rank = place->rank;
    c->n_ranks = place->n_ranks;
    c->store = (tfr_comm_store){.size = sizeof c->store,
                                .user = c,
                                .put = store_put,
                                .get = store_get,
                                .given_up = store_given_up};
    snprintf(c->group, sizeof c->group, "%s", place->group);
    key_of(c, "c", GIVEN_UP, c->given_up, sizeof c->given_up);
    if (!backend->has_comm)
        status =
            tfr_fail(&own, TFR_EUNSUPPORTED, "its plugin has no collectives (%s)", TFR_COMM_V1);
    else if (c->rank >= c->n_ranks || strlen(place->group) >= sizeof c->group)
        status = tfr_fail(&own, TFR_EINVAL, "there is no such rank, or the name is too long");
    else
        status = comm_init(c, &own);
    if (!status) {
        *out = c;
        return TFR_OK;
    }
    if (status == TFR_ETIMEOUT)
        name_missing(c, &own);
    status = comm_fail(c, "opening", status, &own, &own);
    give_up(c, own.text);
    tfr__free(c);
    return tfr_fail(err, status, "%s", own.text);
}

/* ---- several of one process ------------------------------------------------------------------ */

typedef struct opener {
    pthread_t thread;
    tfr__backend *backend;
    tfr__comm_place place;
    tfr__comm *comm;
    tfr_status status;
    tfr_err err;
} opener;

static void *open_one(void *user)
{
    opener *o = user;
    o->status = tfr__comm_open(o->backend, &o->place, &o->comm, &o->err);
    return NULL;
}

tfr_status tfr__comms_open(tfr__backend *const *backends, uint32_t n, const tfr__comm_place *place,
                           tfr__comm **out, tfr_err *err)
{
    opener *all = tfr__calloc((size_t)n + 1, sizeof *all);
    const opener *worst = NULL;
    tfr_status status = TFR_OK;
    uint32_t n_started = 0;
    if (!all)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        opener *o = &all[i];
        *o = (opener){.backend = backends[i], .place = *place, .err = TFR_ERR_INIT};
        o->place.rank += i;
        n_started += i == n_started && !pthread_create(&o->thread, NULL, open_one, o);
    }
    if (n_started < n) { /* nobody waits for it */
        char key[96];
        snprintf(key, sizeof key, "%.60s.c." GIVEN_UP, place->group);
        (void)!tfr__pairs_put(place->pairs, key, "no thread", 9, NULL);
        status = tfr_fail(err, TFR_ENOMEM, "group \"%s\": no thread for rank %u", place->group,
                          place->rank + n_started);
    }
    for (uint32_t i = 0; i < n_started; i++) {
        const opener *o = &all[i];
        pthread_join(o->thread, NULL);
        out[i] = o->comm;
        /* Those that only heard of it have TFR_EDEVICE. */
        if (o->status && (!worst || worst->status == TFR_EDEVICE))
            worst = o;
    }
    if (worst && !status)
        status = tfr_fail(err, worst->status, "%s", worst->err.text);
    for (uint32_t i = 0; status && i < n_started; i++) {
        if (out[i])
            tfr__comm_abort(out[i]);
        tfr__comm_close(out[i]);
        out[i] = NULL;
    }
    tfr__free(all);
    return status;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* The name, and elements of src and dst, of c = count and n ranks; NULL = there is no such kind. */
static const char *sizes_of(int32_t kind, uint64_t n, uint64_t c, uint64_t *src, uint64_t *dst)
{
    (void)n;
    switch (kind) {
#define KIND_CASE(name, number, text, src_n, dst_n)                                                \
    case number:                                                                                   \
        *src = src_n;                                                                              \
        *dst = dst_n;                                                                              \
        return text;
        TFR_COLLECTIVE_LIST(KIND_CASE)
#undef KIND_CASE
    }
    return NULL;
}

static tfr_status collective_check(const tfr__comm *c, const tfr_collective *what, uint64_t src,
                                   uint64_t dst, tfr_err *err)
{
    const uint64_t bits = tfr__dtype_bits(what->dtype);
    const bool reduces =
        what->kind == TFR_COLLECTIVE_ALLREDUCE || what->kind == TFR_COLLECTIVE_REDUCESCATTER;
    const bool pairs = what->kind == TFR_COLLECTIVE_SEND || what->kind == TFR_COLLECTIVE_RECV;
    const bool reads = what->kind != TFR_COLLECTIVE_BROADCAST || what->peer == c->rank;
    if (bits < 8 || what->dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EINVAL, "element type %d cannot be exchanged", (int)what->dtype);
    if (what->count > INT64_MAX / 16 / c->n_ranks)
        return tfr_fail(err, TFR_EINVAL, "%" PRIu64 " elements are too many", what->count);
    if (what->reduction < 0 || what->reduction > (reduces ? TFR_REDUCTION_AVG : 0))
        return tfr_fail(err, TFR_EINVAL, "reduction %d", (int)what->reduction);
    if (what->peer >= c->n_ranks || (pairs && what->peer == c->rank))
        return tfr_fail(err, TFR_EINVAL, "rank %u is none to exchange with", what->peer);
    if ((src && reads && !what->src.address) || (dst && !what->dst.address))
        return tfr_fail(err, TFR_EINVAL, "there is no memory for its %" PRIu64 " elements",
                        what->count);
    return TFR_OK;
}

tfr_status tfr__comm_run(tfr__comm *c, tfr_queue *queue, const tfr_collective *what, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    tfr_collective full = *what;
    uint64_t src = 0, dst = 0;
    const char *name = sizes_of(what->kind, c->n_ranks, what->count, &src, &dst);
    tfr_status status = name ? collective_check(c, what, src, dst, &own)
                             : tfr_fail(&own, TFR_EINVAL, "there is no kind %d", (int)what->kind);
    if (status)
        return comm_fail(c, name ? name : "a collective", status, &own, err);
    status = tfr__comm_error(c, err);
    if (status)
        return status;
    full.size = sizeof full;
    full.timeout_ns = c->timeout_ns;
    TFR__SLOT(c->backend, "comm enqueue", NULL, NULL,
              status = (tfr_status)c->backend->comm.enqueue(c->backend->device, queue, c->comm,
                                                            &full, &own));
    if (!status)
        return TFR_OK;
    status = comm_fail(c, name, status, &own, &own);
    if (status != TFR_EUNSUPPORTED) {
        give_up(c, own.text);
        tfr__comm_abort(c);
    }
    return tfr_fail(err, status, "%s", own.text);
}

tfr_status tfr__comm_begin(tfr__backend *backend, tfr_err *err)
{
    tfr_status status;
    TFR__SLOT(backend, "group_begin", NULL, NULL,
              status = (tfr_status)backend->comm.group_begin(err));
    return tfr__plugin_status(status, err);
}

tfr_status tfr__comm_end(tfr__backend *backend, tfr_err *err)
{
    tfr_status status;
    TFR__SLOT(backend, "group_end", NULL, NULL, status = (tfr_status)backend->comm.group_end(err));
    return tfr__plugin_status(status, err);
}

tfr_status tfr__comm_error(tfr__comm *c, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    char text[MOST_TEXT + 1];
    uint64_t n = MOST_TEXT;
    tfr_status status;
    TFR__SLOT(c->backend, "comm error", NULL, NULL,
              status = (tfr_status)c->backend->comm.error(c->backend->device, c->comm, &own));
    if (tfr__pairs_get(c->pairs, c->given_up, NULL, text, &n, 0, NULL) == TFR_OK)
        status = tfr_fail(&own, TFR_EDEVICE, "it was given up: %.*s", n <= MOST_TEXT ? (int)n : 0,
                          text); /* the cause of what else there is */
    return status ? comm_fail(c, "before", status, &own, err) : TFR_OK;
}

void tfr__comm_abort(tfr__comm *c)
{
    char text[160];
    snprintf(text, sizeof text, "rank %u (%s) was aborted", c->rank, c->backend->name);
    give_up(c, text);
    TFR__SLOT(c->backend, "comm abort", NULL, NULL,
              c->backend->comm.abort(c->backend->device, c->comm));
}

void tfr__comm_close(tfr__comm *c)
{
    if (!c)
        return;
    TFR__SLOT(c->backend, "comm drop", NULL, NULL,
              c->backend->comm.drop(c->backend->device, c->comm));
    tfr__free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four devices that exchange data (tfr.comm/1) through the host's pairs alone, so it works between
 * threads and between processes. It does not misbehave: tests break it by what they do. Each rank
 * puts its part of a collective under a key with its number, and reads those of the others.
 */
#define FAKE_NAME      "collectives"
#define FAKE_N_DEVICES 4
#define FAKE_TYPE      "NPU"
#define FAKE_ON_DEVICE snprintf(info->identity, sizeof info->identity, "ring:%u", i);
#define FAKE_ON_FACET                                                                              \
    if (strcmp(id, TFR_COMM_V1) == 0)                                                              \
        return &comm_facet;
#include <tfrun/plugin.h>
static const tfr_comm_facet comm_facet;
#include "fake.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>

#define PART_BYTES 32768 /* of a value */
#define MAGIC      "ring-1"

typedef struct header {
    int32_t kind, dtype, reduction;
    uint32_t peer;
    uint64_t count;
} header;

struct tfr_comm {
    tfr_comm_options options;
    uint64_t n_done; /* collectives of the group; with each rank those that went to and fro */
    uint64_t n_sent[64], n_received[64];
    atomic_int state; /* 0 = good, 1 = somebody writes why, 2 = it is written, 3 = aborted */
    char why[200];
};

/* ---- pairs ----------------------------------------------------------------------------------- */

static int32_t look(const tfr_comm *c, const char *key, void *out, uint64_t *n, uint64_t timeout_ns,
                    tfr_err *err)
{
    return c->options.store->get(c->options.store->user, key, out, n, timeout_ns, err);
}

static int32_t put(const tfr_comm *c, const char *key, const void *value, uint64_t n, tfr_err *err)
{
    return c->options.store->put(c->options.store->user, key, value, n, err);
}

/* Waits for a key as long as nobody aborts. */
static int32_t wait_for(tfr_comm *c, const char *key, void *out, uint64_t *n, uint64_t timeout_ns,
                        uint32_t from, tfr_err *err)
{
    const uint64_t slice = 10000000, room = *n;
    uint64_t waited = 0, none = 0;
    int32_t status = TFR_ETIMEOUT;
    while (status == TFR_ETIMEOUT && waited < timeout_ns) {
        const uint64_t now = timeout_ns - waited < slice ? timeout_ns - waited : slice;
        *n = room;
        status = look(c, key, out, n, now, err);
        waited += now;
        if (status != TFR_ETIMEOUT)
            break;
        if (atomic_load(&c->state))
            return tfr_fail(err, TFR_EDEVICE, "it was aborted");
        if (look(c, "aborted", NULL, &none, 0, NULL) == TFR_OK)
            return tfr_fail(err, TFR_EDEVICE, "another rank was aborted");
    }
    if (status == TFR_ETIMEOUT)
        return tfr_fail(err, status, "rank %u did not come within %.3g s", from,
                        (double)timeout_ns / 1e9);
    return status;
}

/* The bytes of a rank's part, in pieces; the first has the header. */
static int32_t put_part(const tfr_comm *c, const char *name, const header *h, const void *data,
                        uint64_t bytes, tfr_err *err)
{
    char key[96];
    int32_t status;
    snprintf(key, sizeof key, "%s", name);
    status = put(c, key, h, sizeof *h, err);
    for (uint64_t at = 0; !status && at < bytes; at += PART_BYTES) {
        const uint64_t n = bytes - at < PART_BYTES ? bytes - at : PART_BYTES;
        snprintf(key, sizeof key, "%s-%" PRIu64, name, at);
        status = put(c, key, (const char *)data + at, n, err);
    }
    return status;
}

static int32_t get_part(tfr_comm *c, const char *name, const header *mine, uint32_t from, void *out,
                        uint64_t bytes, uint64_t timeout_ns, tfr_err *err)
{
    char key[96];
    header h = {0};
    uint64_t n = sizeof h;
    int32_t status = wait_for(c, name, &h, &n, timeout_ns, from, err);
    if (!status && (h.kind != mine->kind || h.count != mine->count || h.dtype != mine->dtype ||
                    h.reduction != mine->reduction || h.peer != mine->peer))
        return tfr_fail(err, TFR_EDEVICE,
                        "rank %u has kind %d of %" PRIu64 " elements of type %d, this one kind %d "
                        "of %" PRIu64 " of type %d",
                        from, (int)h.kind, h.count, (int)h.dtype, (int)mine->kind, mine->count,
                        (int)mine->dtype);
    for (uint64_t at = 0; !status && at < bytes; at += PART_BYTES) {
        n = bytes - at < PART_BYTES ? bytes - at : PART_BYTES;
        snprintf(key, sizeof key, "%s-%" PRIu64, name, at);
        status = wait_for(c, key, (char *)out + at, &n, timeout_ns, from, err);
    }
    return status;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* A collective whose part was put; what is left is to read the others'. */
typedef struct pending {
    tfr_comm *comm;
    tfr_collective what;
    uint64_t number;
} pending;

static _Thread_local struct {
    bool is_open;
    uint32_t n;
    pending items[32];
} together;

static uint64_t bytes_of(const tfr_collective *w)
{
    return w->count * (tfr_dtype_bits(w->dtype) / 8);
}

static void part_name(const tfr_collective *w, uint64_t number, uint32_t from, uint32_t to,
                      char *out, size_t n)
{
    const bool pairs = w->kind == TFR_COLLECTIVE_SEND || w->kind == TFR_COLLECTIVE_RECV;
    if (pairs)
        snprintf(out, n, "pair-%u-%u-%" PRIu64, from, to, number);
    else
        snprintf(out, n, "all-%" PRIu64 "-%u", number, from);
}

static header header_of(const tfr_comm *c, const tfr_collective *w)
{
    header h = {w->kind, w->dtype, w->reduction, w->peer, w->count};
    if (w->kind == TFR_COLLECTIVE_SEND || w->kind == TFR_COLLECTIVE_RECV) {
        h.kind = TFR_COLLECTIVE_SEND;
        h.peer = w->kind == TFR_COLLECTIVE_SEND ? w->peer : c->options.rank;
    }
    return h;
}

/* Puts this rank's part. */
static int32_t begin(pending *p, tfr_err *err)
{
    const tfr_collective *w = &p->what;
    tfr_comm *c = p->comm;
    const uint32_t rank = c->options.rank;
    const header h = header_of(c, w);
    uint64_t bytes = bytes_of(w);
    char name[64];
    if (w->kind == TFR_COLLECTIVE_RECV) {
        p->number = c->n_received[w->peer]++;
        return TFR_OK;
    }
    p->number = w->kind == TFR_COLLECTIVE_SEND ? c->n_sent[w->peer]++ : c->n_done++;
    part_name(w, p->number, rank, w->peer, name, sizeof name);
    if (w->kind == TFR_COLLECTIVE_REDUCESCATTER)
        bytes *= c->options.n_ranks;
    if (w->kind == TFR_COLLECTIVE_BROADCAST && rank != w->peer)
        bytes = 0;
    return put_part(c, name, &h, w->src.address, bytes, err);
}

/* In double for floats, so that an average is what one expects. */
static void reduce(const tfr_collective *w, void *to, const void *from, uint64_t n, bool last,
                   uint32_t n_ranks)
{
    for (uint64_t i = 0; i < n; i++) {
        double a, b;
        if (w->dtype == TFR_DTYPE_F32) {
            a = ((float *)to)[i];
            b = ((const float *)from)[i];
        } else {
            a = ((int32_t *)to)[i];
            b = ((const int32_t *)from)[i];
        }
        a = w->reduction == TFR_REDUCTION_PROD  ? a * b
            : w->reduction == TFR_REDUCTION_MIN ? (b < a ? b : a)
            : w->reduction == TFR_REDUCTION_MAX ? (b > a ? b : a)
                                                : a + b;
        if (last && w->reduction == TFR_REDUCTION_AVG)
            a /= n_ranks;
        if (w->dtype == TFR_DTYPE_F32)
            ((float *)to)[i] = (float)a;
        else
            ((int32_t *)to)[i] = (int32_t)a;
    }
}

/* Rank by rank, in one order for all: the first part, then the others added to it. */
static int32_t end_reduction(pending *p, const header *h, tfr_err *err)
{
    const tfr_collective *w = &p->what;
    tfr_comm *c = p->comm;
    const uint32_t n_ranks = c->options.n_ranks;
    const bool scatters = w->kind == TFR_COLLECTIVE_REDUCESCATTER;
    const uint64_t bytes = bytes_of(w), all = scatters ? bytes * n_ranks : bytes;
    const uint64_t skipped = scatters ? bytes * c->options.rank : 0;
    char *part = malloc((size_t)all + 1), *sum = malloc((size_t)bytes + 1), name[64];
    int32_t status = part && sum ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no memory");
    for (uint32_t r = 0; !status && r < n_ranks; r++) {
        part_name(w, p->number, r, 0, name, sizeof name);
        status = get_part(c, name, h, r, part, all, w->timeout_ns, err);
        if (!status && r == 0)
            memcpy(sum, part + skipped, (size_t)bytes);
        else if (!status)
            reduce(w, sum, part + skipped, w->count, r + 1 == n_ranks, n_ranks);
    }
    if (!status && bytes)
        memcpy(w->dst.address, sum, (size_t)bytes);
    free(part);
    free(sum);
    return status;
}

/* Reads the others' parts. */
static int32_t end(pending *p, tfr_err *err)
{
    const tfr_collective *w = &p->what;
    tfr_comm *c = p->comm;
    const uint64_t bytes = bytes_of(w);
    const header h = header_of(c, w);
    int32_t status = TFR_OK;
    char name[64];
    switch (w->kind) {
    case TFR_COLLECTIVE_ALLREDUCE:
    case TFR_COLLECTIVE_REDUCESCATTER:
        return end_reduction(p, &h, err);
    case TFR_COLLECTIVE_BROADCAST:
        part_name(w, p->number, w->peer, 0, name, sizeof name);
        return get_part(c, name, &h, w->peer, w->dst.address, bytes, w->timeout_ns, err);
    case TFR_COLLECTIVE_ALLGATHER:
        for (uint32_t r = 0; !status && r < c->options.n_ranks; r++) {
            part_name(w, p->number, r, 0, name, sizeof name);
            status = get_part(c, name, &h, r, (char *)w->dst.address + r * bytes, bytes,
                              w->timeout_ns, err);
        }
        return status;
    case TFR_COLLECTIVE_RECV:
        part_name(w, p->number, w->peer, c->options.rank, name, sizeof name);
        return get_part(c, name, &h, w->peer, w->dst.address, bytes, w->timeout_ns, err);
    }
    return TFR_OK;
}

static int32_t done(tfr_comm *c, int32_t status, const tfr_err *err)
{
    int good = 0;
    if (status && atomic_compare_exchange_strong(&c->state, &good, 1)) {
        snprintf(c->why, sizeof c->why, "%.199s", err->text);
        atomic_store(&c->state, 2);
    }
    return status;
}

static int32_t tell(tfr_comm *c, tfr_err *err)
{
    return tfr_fail(err, TFR_EDEVICE, "%s",
                    atomic_load(&c->state) == 2 ? c->why : "it was aborted");
}

static int32_t ring_enqueue(tfr_plugin_device *device, tfr_queue *queue, tfr_comm *c,
                            const tfr_collective *w, tfr_err *err)
{
    pending p = {.comm = c, .what = *w};
    tfr_err own = TFR_ERR_INIT;
    int32_t status;
    (void)device, (void)queue;
    if ((w->dtype != TFR_DTYPE_F32 && w->dtype != TFR_DTYPE_I32) ||
        w->flags & TFR_MUST_UNDERSTAND & ~TFR_COLLECTIVE_DETERMINISTIC)
        return tfr_fail(err, TFR_EUNSUPPORTED, "element type %d is not known here", (int)w->dtype);
    if (atomic_load(&c->state))
        return tell(c, err);
    status = begin(&p, &own);
    if (!status && together.is_open && together.n < 32)
        together.items[together.n++] = p;
    else if (!status)
        status = end(&p, &own);
    return status ? tfr_fail(err, done(c, status, &own), "%s", own.text) : TFR_OK;
}

static int32_t ring_group_begin(tfr_err *err)
{
    if (together.is_open)
        return tfr_fail(err, TFR_EINVAL, "groups are not nested");
    together.is_open = true;
    together.n = 0;
    return TFR_OK;
}

static int32_t ring_group_end(tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    int32_t status = TFR_OK;
    for (uint32_t i = 0; !status && i < together.n; i++)
        status = done(together.items[i].comm, end(&together.items[i], &own), &own);
    together.is_open = false;
    return status ? tfr_fail(err, status, "%s", own.text) : TFR_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int32_t ring_unique_id(tfr_plugin_device *device, void *out, uint64_t *n, tfr_err *err)
{
    (void)device;
    if (*n < sizeof MAGIC)
        return tfr_fail(err, TFR_EINVAL, "no room for an id");
    memcpy(out, MAGIC, sizeof MAGIC);
    *n = sizeof MAGIC;
    return TFR_OK;
}

static int32_t ring_init(tfr_plugin_device *device, const tfr_comm_options *options, tfr_comm **out,
                         tfr_err *err)
{
    tfr_comm *c = calloc(1, sizeof *c);
    int32_t status = TFR_OK;
    char key[32];
    (void)device;
    if (!c)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a communicator");
    c->options = *options;
    if (options->id_bytes != sizeof MAGIC || memcmp(options->id, MAGIC, sizeof MAGIC) != 0 ||
        options->n_ranks > 64)
        status = tfr_fail(err, TFR_EINVAL, "this is no id of mine, or 64 ranks are too few");
    snprintf(key, sizeof key, "here-%u", options->rank);
    if (!status)
        status = put(c, key, "", 0, err);
    for (uint32_t r = 0; !status && r < options->n_ranks; r++) {
        uint64_t n = 0;
        snprintf(key, sizeof key, "here-%u", r);
        status = wait_for(c, key, NULL, &n, options->timeout_ns, r, err);
    }
    if (status)
        free(c);
    else
        *out = c;
    return status;
}

static int32_t ring_error(tfr_plugin_device *device, tfr_comm *c, tfr_err *err)
{
    uint64_t n = 0;
    (void)device;
    if (atomic_load(&c->state))
        return tell(c, err);
    if (look(c, "aborted", NULL, &n, 0, NULL) == TFR_OK)
        return tfr_fail(err, TFR_EDEVICE, "another rank was aborted");
    return TFR_OK;
}

static void ring_abort(tfr_plugin_device *device, tfr_comm *c)
{
    int good = 0;
    (void)device;
    atomic_compare_exchange_strong(&c->state, &good, 3);
    put(c, "aborted", "", 0, NULL);
}

static void ring_drop(tfr_plugin_device *device, tfr_comm *c)
{
    (void)device;
    free(c);
}

static const tfr_comm_facet comm_facet = {
    .size = sizeof comm_facet,
    .unique_id = ring_unique_id,
    .init = ring_init,
    .enqueue = ring_enqueue,
    .group_begin = ring_group_begin,
    .group_end = ring_group_end,
    .error = ring_error,
    .abort = ring_abort,
    .drop = ring_drop,
};

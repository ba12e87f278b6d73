/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_room.c: memory that runs out, and a second device. Each allocation that the core makes for
 * a session fails in turn, once and with the second try: the session gives its result or
 * TFR_ENOMEM, and the next one runs. What the plugin's own limit is worth is seen directly.
 */
#include <stdlib.h>

#include "queues.h"

enum { MOST_ALLOCS = 64, LIMIT = 262144, PIECE = 65536, MOST_PIECES = 256, SHARED = 4096 };

/* ---- out of memory --------------------------------------------------------------------------- */

/* One session while allocation k fails. False with a verdict. */
static bool try_session(certify_subject *s, const certify_found *found, tfr_tensor **expected,
                        uint32_t k, uint32_t more, uint32_t *n_allocs, certify_verdict *v)
{
    const ops_call *call = &found->call;
    tfr_tensor *outputs[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    char text[600] = "";
    bool good;
    certify_tell_place(s->options, ops_call_name(call), call->seed, "without memory");
    certify_fail_alloc(k, more);
    const ops_verdict verdict =
        ops_run_call(&s->run, s->name, call, found->how, outputs, &status, &err);
    *n_allocs = certify_stop_failing();
    good = verdict == OPS_RAN || status == TFR_ENOMEM;
    if (!good)
        snprintf(text, sizeof text, "%s: %s", tfr_status_name(status), err.text);
    for (uint32_t i = 0; verdict == OPS_RAN && i < call->n_outputs; i++)
        good = good && ops_compare(call->description->tolerance, expected[i], outputs[i], text,
                                   sizeof text);
    ops_release_outputs(outputs, verdict == OPS_RAN ? call->n_outputs : 0);
    if (!good) {
        certify_set(v, CERTIFY_FAILED, "%s:%llu, %s allocation %u: %s", ops_call_name(call),
                    (unsigned long long)call->seed, k == UINT32_MAX ? "after" : "without",
                    (unsigned)(k == UINT32_MAX ? 0 : k), text);
        certify_set_call(v, call);
    }
    return good;
}

/* All allocations of one call in turn, and the call without such trouble after each. */
static bool try_call(certify_subject *s, const certify_found *found, uint32_t *n_failed,
                     certify_verdict *v)
{
    tfr_tensor *expected[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    uint32_t n = 1, ignored;
    bool good = true;
    if (ops_run_call(&s->run, CERTIFY_REFERENCE, &found->call, OPS_PLAIN, expected, &status,
                     &err) != OPS_RAN)
        return true;
    for (uint32_t k = 0; k < n && k < MOST_ALLOCS && good; k++)
        for (uint32_t more = 0; more < 2 && good; more++) {
            good = try_session(s, found, expected, k, more, &n, v) &&
                   try_session(s, found, expected, UINT32_MAX, 0, &ignored, v);
            *n_failed += good && k < n;
        }
    ops_release_outputs(expected, found->call.n_outputs);
    return good;
}

void certify_check_out_of_memory(certify_subject *s, certify_verdict *v)
{
    certify_found found[4];
    const uint32_t n = certify_find_calls(s, found, 4);
    uint32_t n_failed = 0;
    bool good = true;
    for (uint32_t i = 0; i < n; i++) {
        good = good && try_call(s, &found[i], &n_failed, v);
        ops_call_finish(&found[i].call);
    }
    if (good && n_failed)
        certify_set(v, CERTIFY_PASSED, "%u times an allocation failed", (unsigned)n_failed);
    else if (good)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s",
                    n ? "tfrun asks the plugin for no memory" : "the plugin takes no shared call");
}

/* ---- the plugin's own limit ------------------------------------------------------------------ */

/* What the device has, up to n pieces of so many bytes; all are given back. */
static uint32_t count_pieces(direct_device *d, uint64_t bytes, uint32_t n, tfr_status *status,
                             tfr_err *err)
{
    void *pieces[MOST_PIECES];
    const tfr_memory_facet *m = &d->tables->memory;
    uint32_t got = 0;
    *status = TFR_OK;
    while (got < n && !*status) {
        *status = (tfr_status)m->alloc(d->device, 0, bytes, NULL, &pieces[got], err);
        got += !*status;
    }
    for (uint32_t i = got; i > 0; i--)
        m->free(d->device, 0, pieces[i - 1]);
    if (m->trim)
        m->trim(d->device);
    return got;
}

static void judge_limit(direct_device *d, certify_verdict *v)
{
    const uint64_t most = d->space.max_alloc, bytes = most && most < PIECE ? most : PIECE;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    uint32_t n = (uint32_t)(LIMIT / bytes) + 1;
    if (n > MOST_PIECES) {
        certify_set(v, CERTIFY_UNSUPPORTED, "alloc gives at most %llu bytes at once",
                    (unsigned long long)most);
        return;
    }
    const uint32_t first = count_pieces(d, bytes, n, &status, &err);
    const unsigned long long had = first * bytes;
    if (!status)
        certify_set(v, CERTIFY_FAILED, "with memory_limit %d alloc gives %llu bytes", LIMIT, had);
    else if (status != TFR_ENOMEM)
        certify_set(v, CERTIFY_FAILED, "alloc beyond memory_limit says %s, not TFR_ENOMEM: %s",
                    tfr_status_name(status), err.text);
    else if ((n = count_pieces(d, bytes, n, &status, &err)) != first)
        certify_set(v, CERTIFY_FAILED,
                    "of %llu bytes that were freed, and trimmed, alloc gives %llu again", had,
                    (unsigned long long)(n * bytes));
    else
        certify_set(v, CERTIFY_PASSED, "%llu bytes of %d, and again when they were freed", had,
                    LIMIT);
}

void certify_check_limit(certify_subject *s, certify_verdict *v)
{
    const tfr_option limit = {"memory_limit", "262144"};
    direct_device d;
    tfr_err err = TFR_ERR_INIT;
    if (!queues_load(s)) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin takes no shared call");
        return;
    }
    if (direct_open(s, 0, &limit, 1, &d, &err)) {
        certify_set(v, CERTIFY_UNSUPPORTED, "with memory_limit %d it does not open: %.300s", LIMIT,
                    err.text);
        return;
    }
    if (d.space.flags & TFR_SPACE_HOST_ACCESS)
        certify_set(v, CERTIFY_UNSUPPORTED, "its memory is the host's");
    else
        judge_limit(&d, v);
    direct_close(&d);
}

/* ---- a second device ------------------------------------------------------------------------- */

/* The second device makes something, and the first one copies it. */
static tfr_status exchange(direct_device *to, direct_device *from, bool *is_right, tfr_err *err)
{
    const tfr_queue_facet *f = &to->tables->queue;
    direct_buffer made = {0}, middle = {0}, taken = {0};
    int64_t at;
    tfr_status status = direct_alloc(from, 0, SHARED, 0x5a, &made, err);
    if (!status)
        status = direct_alloc(from, 0, SHARED, DIRECT_POISON, &middle, err);
    if (!status)
        status = direct_alloc(to, 0, SHARED, DIRECT_POISON, &taken, err);
    if (!status)
        status = direct_copy(from, from->queue, &made, NULL, &middle, err);
    if (!status && from->queue)
        status = (tfr_status)f->signal(from->device, from->queue, from->fence, ++from->value, err);
    if (!status && from->queue)
        status = (tfr_status)f->wait(to->device, to->queue, from->fence, from->value, err);
    if (!status)
        status = direct_copy(to, to->queue, &middle, from, &taken, err);
    const tfr_status end = direct_finish(to, err), other = direct_finish(from, err);
    status = status ? status : end ? end : other;
    if (!status)
        status = direct_read(to, &taken, err);
    if (!status) {
        for (uint64_t i = 0; i < taken.bytes; i++)
            taken.image[taken.guard + i] = 0x5a;
        *is_right = !direct_is_changed(&taken, false, &at);
    }
    direct_free(to, &taken);
    direct_free(from, &middle);
    direct_free(from, &made);
    return status;
}

static void judge_pair(direct_device *a, direct_device *b, certify_verdict *v)
{
    tfr_link link = {.size = sizeof link};
    tfr_err err = TFR_ERR_INIT;
    bool is_right = false;
    tfr_status status = TFR_OK;
    if (a->tables->memory.link)
        status = (tfr_status)a->tables->memory.link(a->device, 0, b->device, 0, &link, &err);
    if (!status && (link.kind == TFR_LINK_NONE || !a->tables->memory.copy)) {
        certify_set(v, CERTIFY_UNSUPPORTED, "its devices exchange through the host");
        return;
    }
    if (!status)
        status = exchange(a, b, &is_right, &err);
    if (status == TFR_ENOMEM || status == TFR_ELIMIT)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s", err.text);
    else if (status)
        certify_set(v, CERTIFY_FAILED, "a copy between devices: %s: %s", tfr_status_name(status),
                    err.text);
    else if (!is_right)
        certify_set(v, CERTIFY_FAILED,
                    "a copy between devices, behind a wait for the fence of the "
                    "other one, is not what that has made");
    else
        certify_set(v, CERTIFY_PASSED, "a copy from one to the other, behind a wait");
}

void certify_check_two_devices(certify_subject *s, certify_verdict *v)
{
    direct_device a, b;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = queues_load(s) ? direct_open(s, 0, NULL, 0, &a, &err) : TFR_ENOTFOUND;
    if (status) {
        certify_set(v, status == TFR_ENOTFOUND ? CERTIFY_UNSUPPORTED : CERTIFY_FAILED, "%s",
                    status == TFR_ENOTFOUND ? "the plugin takes no shared call" : err.text);
        return;
    }
    status = direct_open(s, 1, NULL, 0, &b, &err);
    if (!status)
        judge_pair(&a, &b, v);
    else if (status == TFR_ENOTFOUND)
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin has one device here");
    else
        certify_set(v, CERTIFY_FAILED, "a second device cannot be opened: %s", err.text);
    if (!status)
        direct_close(&b);
    direct_close(&a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_failure.c: work that fails on a device, and a device that gets lost. Failures are made with
 * abort, and with the options for tests fail_after and lose_after, which a plugin may know:
 * launches that gave nothing and told of nothing have lost an error.
 */
#include <stdlib.h>

#include "queues.h"

enum { N_ITEMS = 64 };
#define LONG_NS UINT64_C(60000000000) /* for what has to come and may not */

typedef struct trial {
    certify_subject *subject;
    certify_verdict *v;
    queues q;
    queues_kernel k;
    tfr_err err;
} trial;

/* What a wait for queue i's fence says must be a failure. False with a verdict. */
static bool is_told(trial *t, int i, const char *where)
{
    const tfr_status status = queues_wait(&t->q, i, LONG_NS, &t->err);
    if (status && status != TFR_ETIMEOUT)
        return true;
    certify_set(t->v, CERTIFY_FAILED, "%s: host_wait says %s %s",
                status ? "a fence does not get its value" : "an error is lost",
                tfr_status_name(status), where);
    return false;
}

/* Once queue 0 has failed: its later fences, and those of a queue that waits for it, tell of it. */
static bool is_carried(trial *t)
{
    queues *q = &t->q;
    if (queues_signal(q, 0, &t->err) || queues_follow(q, 1, 0, &t->err) ||
        queues_signal(q, 1, &t->err)) {
        certify_set(t->v, CERTIFY_FAILED, "a queue whose work failed takes no signal or wait: %s",
                    t->err.text);
        return false;
    }
    return is_told(t, 0, "for a second value after the failure") &&
           is_told(t, 1, "for a queue that waited for the fence of one that failed");
}

/* Gives up a queue that works. False with a verdict. */
static bool try_abort(trial *t)
{
    const certify_tables *tables = t->q.device.tables;
    tfr_status status = queues_work(&t->q, 0, N_ITEMS, &t->err);
    if (!status)
        status = (tfr_status)tables->queue.abort(t->q.device.device, t->q.queue[0], &t->err);
    if (status == TFR_EUNSUPPORTED) {
        certify_set(t->v, CERTIFY_UNSUPPORTED, "abort: %.300s", t->err.text);
        return false;
    }
    if (!status)
        status = queues_signal(&t->q, 0, &t->err);
    if (status) {
        certify_set(t->v, CERTIFY_FAILED, "abort: %s: %s", tfr_status_name(status), t->err.text);
        return false;
    }
    if (!is_told(t, 0, "for a queue that was given up") || !is_carried(t))
        return false;
    certify_set(t->v, CERTIFY_PASSED, "a queue that is given up fails its fences");
    return true;
}

/* One launch that the plugin was asked to let fail. True = it told of that; else with a verdict. */
static bool launch_fails(trial *t, const char *option, tfr_status *told)
{
    direct_device *d = &t->q.device;
    char text[600];
    *told = direct_launch_run(d, t->q.queue[0], &t->k.kernel, &t->k.launch, &t->err);
    if (t->q.queue[0]) {
        const tfr_status status = queues_signal(&t->q, 0, &t->err);
        if (status && status != TFR_ELOST) {
            certify_set(t->v, CERTIFY_FAILED, "signal after a failure: %s: %s",
                        tfr_status_name(status), t->err.text);
            return false;
        }
        t->err = (tfr_err)TFR_ERR_INIT;
        if (!*told)
            *told = queues_wait(&t->q, 0, LONG_NS, &t->err);
    }
    if (*told == TFR_ETIMEOUT)
        certify_set(t->v, CERTIFY_FAILED, "a fence behind a failure does not get its value");
    else if (*told && t->err.launch && t->err.launch != t->k.launch.id)
        certify_set(t->v, CERTIFY_FAILED, "a failure of launch %llu is told as one of launch %llu",
                    (unsigned long long)t->k.launch.id, (unsigned long long)t->err.launch);
    else if (*told)
        return true;
    else if (direct_launch_is_wrong(d, &t->k.kernel, &t->k.launch, text, sizeof text))
        certify_set(t->v, CERTIFY_FAILED, "an error is lost: no call told of it, and %s", text);
    else
        certify_set(t->v, CERTIFY_UNSUPPORTED, "the plugin does not know the option %s", option);
    return false;
}

/* Opens a device whose first launch is to go wrong. False with a verdict. */
static bool begin(trial *t, const char *option)
{
    const tfr_option first = {option, "0"};
    if (!queues_begin(t->subject, false, &first, 1, &t->q, t->v))
        return false;
    if (queues_prepare(t->subject, &t->q, &t->k, t->v))
        return true;
    queues_close(&t->q);
    return false;
}

void certify_check_failure(certify_subject *s, certify_verdict *v)
{
    trial t = {.subject = s, .v = v, .err = TFR_ERR_INIT};
    tfr_status told;
    certify_tell_place(s->options, "failure", 0, "a launch that fails");
    if (!begin(&t, "fail_after"))
        return;
    if (launch_fails(&t, "fail_after", &told) && (!t.q.queue[0] || is_carried(&t)))
        certify_set(v, CERTIFY_PASSED, "%s: %.300s", tfr_status_name(told), t.err.text);
    queues_drop(&t.q, &t.k);
    queues_close(&t.q);
}

void certify_check_abort(certify_subject *s, certify_verdict *v)
{
    trial t = {.subject = s, .v = v, .err = TFR_ERR_INIT};
    if (!queues_begin(s, true, NULL, 0, &t.q, v))
        return;
    certify_tell_place(s->options, "abort", 0, "a queue that works");
    if (t.q.device.tables->queue.abort)
        (void)try_abort(&t);
    else
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin has no abort");
    queues_close(&t.q);
}

/* A lost device says so of all fences, and goes away. */
static void judge_loss(trial *t)
{
    queues *q = &t->q;
    tfr_status told;
    if (!launch_fails(t, "lose_after", &told))
        return;
    if (told != TFR_ELOST) {
        certify_set(t->v, CERTIFY_FAILED, "a lost device says %s, not TFR_ELOST: %.300s",
                    tfr_status_name(told), t->err.text);
        return;
    }
    if (q->queue[0]) {
        told = queues_wait_for(q, 1, q->value[1] + 1, LONG_NS, &t->err);
        if (told != TFR_ELOST) {
            certify_set(t->v, CERTIFY_FAILED,
                        "a value that a lost device never signalled: host_wait says %s",
                        tfr_status_name(told));
            return;
        }
    }
    certify_set(t->v, CERTIFY_PASSED, "%.300s", t->err.text);
}

void certify_check_loss(certify_subject *s, certify_verdict *v)
{
    trial t = {.subject = s, .v = v, .err = TFR_ERR_INIT};
    certify_tell_place(s->options, "loss", 0, "a launch that loses the device");
    if (!begin(&t, "lose_after"))
        return;
    judge_loss(&t);
    queues_drop(&t.q, &t.k);
    queues_close(&t.q);
}

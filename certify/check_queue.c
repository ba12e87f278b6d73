/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_queue.c: queues and fences, called by the direct host. Nothing is judged by the clock: what
 * a fence says after another one has been waited for proves that a wait was passed over, and that a
 * call waited for the device is believed only where the same work, without that call, was seen
 * unfinished each time. A device that is too fast to be seen is not a fault.
 */
#include <stdlib.h>
#include <string.h>

#include "queues.h"

enum { N_ROUNDS = 6, FIRST_ITEMS = 16, N_SUSPICIONS = 3 };

/* ---- a wait between two queues --------------------------------------------------------------- */

/*
 * The second queue waits for the first one, which has work to do, and then copies what that has
 * made at the end. When the second one's fence has its value, so has the first one's.
 */
static bool try_wait(queues *q, uint32_t n_items, char *text, size_t n)
{
    direct_device *d = &q->device;
    tfr_err err = TFR_ERR_INIT;
    int64_t at;
    direct_buffer *made = &q->buffer[2], *middle = &q->buffer[3], *taken = &q->buffer[4];
    tfr_status status = direct_fill(d, made, (unsigned char)(n_items % 200 + 1), &err);
    if (!status)
        status = direct_fill(d, middle, DIRECT_POISON, &err);
    if (!status)
        status = direct_fill(d, taken, DIRECT_POISON, &err);
    if (!status)
        status = queues_work(q, 0, n_items, &err);
    if (!status)
        status = direct_copy(d, q->queue[0], made, NULL, middle, &err);
    if (!status)
        status = queues_signal(q, 0, &err);
    if (!status)
        status = queues_follow(q, 1, 0, &err);
    if (!status)
        status = direct_copy(d, q->queue[1], middle, NULL, taken, &err);
    if (!status)
        status = queues_signal(q, 1, &err);
    if (!status)
        status = queues_wait(q, 1, TFR_WAIT_FOREVER, &err);
    const tfr_status first = status ? TFR_OK : queues_wait(q, 0, 0, &err);
    if (first == TFR_ETIMEOUT) {
        snprintf(text, n, "wait: a queue did not wait for the fence of another one");
        (void)queues_wait(q, 0, TFR_WAIT_FOREVER, &err);
        return false;
    }
    if (!status)
        status = first;
    if (!status)
        status = direct_read(d, taken, &err);
    if (status) {
        snprintf(text, n, "%s: %s", tfr_status_name(status), err.text);
        return false;
    }
    memcpy(taken->image + taken->guard, made->image + made->guard, (size_t)taken->bytes);
    if (!direct_is_changed(taken, false, &at))
        return true;
    snprintf(text, n,
             "wait: byte %lld of a copy behind a wait is not what the other queue had made",
             (long long)at);
    return false;
}

void certify_check_queues(certify_subject *s, certify_verdict *v)
{
    queues q;
    char text[600];
    bool good = true;
    if (!queues_begin(s, true, NULL, 0, &q, v))
        return;
    certify_tell_place(s->options, "queues", 0, "a wait between two queues");
    for (uint32_t round = 0; round < N_ROUNDS && good; round++)
        good = try_wait(&q, (uint32_t)FIRST_ITEMS << round, text, sizeof text);
    queues_close(&q);
    if (good)
        certify_set(v, CERTIFY_PASSED, "%d waits of one queue for another", N_ROUNDS);
    else
        certify_set(v, CERTIFY_FAILED, "%s", text);
}

/* ---- calls that wait for the device ---------------------------------------------------------- */

typedef enum enqueues { OF_NOTHING, OF_LAUNCH, OF_SIGNAL, OF_WAIT, N_ENQUEUES } enqueues;
static const char *const enqueue_names[N_ENQUEUES] = {"", "launch", "signal", "wait"};

/* Is the queue's work unfinished when the call has returned? */
static tfr_status see(queues *q, const direct_kernel *k, direct_launch *l, enqueues what,
                      uint32_t n_items, bool *is_unfinished, tfr_err *err)
{
    tfr_status status = queues_work(q, 0, n_items, err);
    if (!status)
        status = queues_signal(q, 0, err);
    const uint64_t value = q->value[0];
    if (!status && what == OF_LAUNCH)
        status = direct_launch_run(&q->device, q->queue[0], k, l, err);
    if (!status && what == OF_SIGNAL)
        status = queues_signal(q, 0, err);
    if (!status && what == OF_WAIT)
        status = queues_follow(q, 1, 0, err);
    if (status)
        return status;
    status = queues_wait_for(q, 0, value, 0, err);
    *is_unfinished = status == TFR_ETIMEOUT;
    if (status && status != TFR_ETIMEOUT)
        return status;
    status = queues_signal(q, 0, err);
    if (!status)
        status = queues_signal(q, 1, err);
    if (!status)
        status = queues_wait(q, 0, TFR_WAIT_FOREVER, err);
    return status ? status : queues_wait(q, 1, TFR_WAIT_FOREVER, err);
}

/* How often the work was seen unfinished without the call, and never with it. */
static tfr_status count_suspicions(queues *q, const direct_kernel *k, direct_launch *l,
                                   enqueues what, uint32_t *n, bool *is_cleared, tfr_err *err)
{
    tfr_status status = TFR_OK;
    *n = 0;
    *is_cleared = false;
    for (uint32_t round = 0; round < N_ROUNDS && !*is_cleared && !status; round++) {
        const uint32_t n_items = (uint32_t)FIRST_ITEMS << round;
        bool is_unfinished = false;
        status = see(q, k, l, what, n_items, is_cleared, err);
        if (!status && !*is_cleared)
            status = see(q, k, l, OF_NOTHING, n_items, &is_unfinished, err);
        *n += is_unfinished;
    }
    return status;
}

static void judge_calls(queues *q, const direct_kernel *k, direct_launch *l, certify_verdict *v)
{
    tfr_err err = TFR_ERR_INIT;
    bool is_seen = true;
    for (enqueues what = OF_LAUNCH; what < N_ENQUEUES; what++) {
        uint32_t n;
        bool is_cleared;
        const tfr_status status = count_suspicions(q, k, l, what, &n, &is_cleared, &err);
        if (status) {
            certify_set(v, CERTIFY_FAILED, "%s: %s", tfr_status_name(status), err.text);
            return;
        }
        if (!is_cleared && n >= N_SUSPICIONS) {
            certify_set(v, CERTIFY_FAILED,
                        "%s waits for the device: %u times it returned when the "
                        "queue's work was done, which was not done without it",
                        enqueue_names[what], (unsigned)n);
            return;
        }
        is_seen = is_seen && is_cleared;
    }
    if (is_seen)
        certify_set(v, CERTIFY_PASSED, "launch, signal and wait return while a queue works");
    else
        certify_set(v, CERTIFY_UNSUPPORTED,
                    "%u copies are done too soon to see whether a call waits for them",
                    (unsigned)FIRST_ITEMS << (N_ROUNDS - 1));
}

void certify_check_enqueue(certify_subject *s, certify_verdict *v)
{
    queues q;
    queues_kernel k;
    if (!queues_begin(s, true, NULL, 0, &q, v))
        return;
    if (queues_prepare(s, &q, &k, v)) {
        certify_tell_place(s->options, "queues", 0, "launch on a queue that works");
        judge_calls(&q, &k.kernel, &k.launch, v);
        queues_drop(&q, &k);
    }
    queues_close(&q);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the driver: a program gets those of a device and of a session's queue, and gives a
 * session a queue of its own. The driver is the fake accelerator, whose handles are its structs, so
 * that the test puts work of its own on the same queue; it logs an error if the session destroys or
 * aborts what it does not own.
 */
#include "graph_text.h"
#include "session_kit.h"

static const tfr_plugin *plugin;
static tfr_plugin_device *device;
static const tfr_memory_facet *memory;
static const tfr_queue_facet *queues;

static void *native_of(tfr_runtime *runtime, const char *kind)
{
    void *handle = NULL;
    REQUIRE_OK(tfr_runtime_native(runtime, "NPU:0", kind, &handle, &err), &err);
    return handle;
}

/* The driver, as a program has it that links it. */
static tfr_runtime *new_driver(const char *key, const char *value, const char *key_2,
                               const char *value_2)
{
    const tfr_option given[] = {{key, value}, {key_2, value_2}, {"fakeacc.early_waits", "1"}};
    tfr_runtime *runtime = accelerator_runtime(given, 3);
    device = native_of(runtime, "fakeacc.device");
    plugin = native_of(runtime, "fakeacc.table");
    memory = plugin->facet(TFR_MEMORY_V1);
    queues = plugin->facet(TFR_QUEUE_V1);
    return runtime;
}

static tfr_session *new_session(tfr_runtime *runtime, uint64_t timeout_ns)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text("in x 4 4; a = Relu@NPU:0(x); out Mul@NPU:0(a,a)");
    tfr_session *session = NULL;
    options.passes = "none";
    options.no_programs = 1;
    options.timeout_ns = timeout_ns;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    return session;
}

static tfr_queue *new_queue(void)
{
    tfr_queue *queue = NULL;
    REQUIRE_OK(queues->create(device, NULL, &queue, &err), &err);
    return queue;
}

static void give_queue(tfr_session *session, tfr_queue *queue)
{
    REQUIRE_OK(tfr_session_set_queue(session, "NPU:0", queue ? "fakeacc.queue" : NULL, queue, &err),
               &err);
}

/* With the right numbers, if it is TFR_OK. */
static tfr_status run_once(tfr_session *session)
{
    float in[16], *y;
    for (int i = 0; i < 16; i++)
        in[i] = (float)(i - 8);
    tfr_tensor *x = floats(2, (const int64_t[]){4, 4}, in), *out = NULL;
    const tfr_status status = tfr_session_run(session, &x, 1, &out, 1, &err);
    y = status ? NULL : tfr_tensor_data(out);
    for (int i = 0; y && i < 16; i++)
        CHECK_NEAR(i < 8 ? 0 : (i - 8) * (i - 8), y[i], 0);
    tfr_tensor_release(out);
    tfr_tensor_release(x);
    return status;
}

static void end(tfr_runtime *runtime, tfr_session *session, tfr_queue *queue)
{
    tfr_session_destroy(session);
    if (queue)
        queues->destroy(device, queue); /* an error if the session has done so, or still has it */
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(a_device_and_a_queue_have_handles)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", NULL, NULL);
    tfr_session *session = new_session(runtime, 0);
    void *queue = NULL, *again = NULL;
    CHECK_STR("fakeacc", plugin->name);
    CHECK_OK(tfr_session_native(session, "NPU:0", "fakeacc.queue", &queue, &err), &err);
    CHECK(queue != NULL);
    CHECK_OK(run_once(session), &err);
    CHECK_OK(tfr_session_native(session, "fakeacc:0", "fakeacc.queue", &again, &err), &err);
    CHECK(queue == again);
    end(runtime, session, NULL);
}

TEST(an_unknown_kind_says_who_has_which)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", NULL, NULL);
    tfr_session *session = new_session(runtime, 0);
    void *out = &out;
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_runtime_native(runtime, "NPU:0", "cuda.context", &out, &err),
                 &err);
    CHECK_STR("NPU:0 has no kind \"cuda.context\" of a handle of a device; fakeacc:0 has "
              "fakeacc.device fakeacc.table",
              err.text);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_session_native(session, "NPU:0", "cuda.stream", &out, &err),
                 &err);
    CHECK_STR("NPU:0 has no kind \"cuda.stream\" of a handle of a queue; fakeacc:0 has "
              "fakeacc.queue",
              err.text);
    CHECK_STATUS(TFR_EUNSUPPORTED,
                 tfr_session_set_queue(session, "fakeacc:0", "cuda.stream", NULL, &err), &err);
    CHECK_STR("fakeacc:0 has no kind \"cuda.stream\" of a queue; fakeacc:0 has fakeacc.queue",
              err.text);
    CHECK_STATUS(TFR_EUNSUPPORTED,
                 tfr_runtime_native(runtime, "naive:0", "cuda.stream", &out, &err), &err);
    CHECK_STR("naive:0 has no kind \"cuda.stream\" of a handle of a device; naive:0 has none",
              err.text);
    CHECK_STATUS(TFR_ENOTFOUND, tfr_runtime_native(runtime, "GPU:7", "cuda.stream", &out, &err),
                 &err);
    CHECK(out == &out); /* written only on success */
    end(runtime, session, NULL);
}

TEST(a_queue_that_is_none_leaves_the_session_its_own)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", NULL, NULL);
    tfr_session *session = new_session(runtime, 0);
    CHECK_OK(run_once(session), &err);
    CHECK_STATUS(TFR_EINVAL,
                 tfr_session_set_queue(session, "NPU:0", "fakeacc.queue", session, &err), &err);
    CHECK_CONTAINS("is no queue of device 0", err.text);
    CHECK_OK(run_once(session), &err);
    end(runtime, session, NULL);
}

/* The user's copy is slow and on the user's queue: the run ends behind it. */
TEST(work_of_the_user_before_a_run_is_done_when_the_run_is)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "2000", NULL, NULL);
    tfr_session *session = new_session(runtime, 0);
    tfr_queue *queue = new_queue();
    const float sent[4] = {1, 2, 3, 4};
    float got[4] = {0};
    void *there = NULL, *queue_now = NULL;
    give_queue(session, queue);
    CHECK_OK(tfr_session_native(session, "NPU:0", "fakeacc.queue", &queue_now, &err), &err);
    CHECK(queue_now == queue);
    REQUIRE_OK(memory->alloc(device, 0, sizeof sent, NULL, &there, &err), &err);
    for (int run = 0; run < 3; run++) {
        const tfr_copy in = {.size = sizeof in,
                             .src_space = TFR_SPACE_HOST,
                             .src = sent,
                             .dst = there,
                             .bytes = sizeof sent};
        const tfr_copy out = {.size = sizeof out,
                              .dst_space = TFR_SPACE_HOST,
                              .src = there,
                              .dst = got,
                              .bytes = sizeof sent};
        memset(got, 0, sizeof got);
        for (int i = 0; i < 30; i++) /* more than the run does */
            CHECK_OK(memory->copy(device, queue, &in, 1, sizeof in, &err), &err);
        CHECK_OK(memory->copy(device, queue, &out, 1, sizeof out, &err), &err);
        CHECK_OK(run_once(session), &err);
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(sent[i], got[i], 0);
    }
    memory->free(device, 0, there);
    end(runtime, session, queue);
}

/* A user's queue that is held: nothing of the run begins, it is not given up, and it goes on. */
TEST(a_run_waits_for_the_work_before_it_and_its_time_is_over_without_giving_that_up)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", "fakeacc.fail_after", "3");
    tfr_session *session = new_session(runtime, UINT64_C(2000000000));
    tfr_queue *queue = new_queue(), *other = new_queue();
    tfr_fence *gate = NULL, *done = NULL;
    tfr_status status;
    give_queue(session, queue);
    CHECK_OK(run_once(session), &err); /* launches 0 and 1 */
    REQUIRE_OK(queues->fence_create(device, NULL, &gate, &err), &err);
    REQUIRE_OK(queues->fence_create(device, NULL, &done, &err), &err);
    CHECK_OK(queues->wait(device, queue, gate, 1, &err), &err);
    CHECK_OK(queues->signal(device, queue, done, 1, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, run_once(session), &err);
    CHECK_CONTAINS("s it still waits for what ends with node \"", err.text);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(device, done, 1, 0, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, run_once(session), &err);
    CHECK_CONTAINS("still has not ended work of a run that timed out", err.text);
    CHECK_OK(queues->signal(device, other, gate, 1, &err), &err);
    CHECK_OK(queues->host_wait(device, done, 1, TFR_WAIT_FOREVER, &err), &err); /* no failure */
    do
        status = run_once(session);
    while (status == TFR_EDEVICE && strstr(err.text, "timed out"));
    /* Launches 2 and 3 were of the run that timed out, and they came behind the gate. */
    CHECK_STATUS(TFR_EDEVICE, status, &err);
    CHECK_CONTAINS("launch 3 failed", err.text);
    give_queue(session, NULL);
    queues->fence_destroy(device, gate);
    queues->fence_destroy(device, done);
    queues->destroy(device, other);
    end(runtime, session, queue);
}

TEST(what_fails_on_the_users_queue_fails_runs_until_there_is_another_queue)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", "fakeacc.fail_after", "1");
    tfr_session *session = new_session(runtime, 0);
    tfr_queue *queue = new_queue(), *fresh = new_queue();
    give_queue(session, queue);
    for (int run = 0; run < 3; run++) {
        CHECK_STATUS(TFR_EDEVICE, run_once(session), &err);
        CHECK_CONTAINS("launch 1 failed, as the option asked", err.text);
    }
    give_queue(session, fresh);
    queues->destroy(device, queue); /* the session has it no more */
    CHECK_OK(run_once(session), &err);
    give_queue(session, NULL);
    CHECK_OK(run_once(session), &err);
    end(runtime, session, fresh);
}

/* Plans and bindings that there are go over to the new queue. */
TEST(a_session_changes_queues_between_runs)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "20", "fakeacc.pinned", "1");
    tfr_session *session = new_session(runtime, 0);
    tfr_queue *first = new_queue(), *second = new_queue();
    const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    tfr_tensor *x = floats(2, (const int64_t[]){4, 4}, ones);
    tfr_tensor *y = floats(2, (const int64_t[]){4, 4}, NULL);
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_binding_create(session, &x, 1, &y, 1, &binding, &err), &err);
    for (int round = 0; round < 4; round++) {
        give_queue(session, round == 3 ? NULL : round & 1 ? second : first);
        CHECK_OK(run_once(session), &err);
        memset(tfr_tensor_data(y), 0, sizeof ones);
        CHECK_OK(tfr_binding_run(binding, &err), &err);
        CHECK_NEAR(1, ((const float *)tfr_tensor_data(y))[15], 0);
    }
    CHECK_UINT(2, stats_of(session).n_plans); /* the session's, and the binding's */
    tfr_binding_destroy(binding);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    queues->destroy(device, first);
    end(runtime, session, second);
}

/* A handle is only passed on; the user's queue goes with the device, in any order. */
TEST(handles_of_a_lost_device_are_still_told)
{
    tfr_runtime *runtime = new_driver("fakeacc.delay_us", "0", "fakeacc.lose_after", "1");
    tfr_session *session = new_session(runtime, 0);
    tfr_queue *queue = new_queue();
    void *out = NULL;
    give_queue(session, queue);
    CHECK_STATUS(TFR_ELOST, run_once(session), &err);
    CHECK_OK(tfr_runtime_native(runtime, "NPU:0", "fakeacc.device", &out, &err), &err);
    CHECK(out == device);
    CHECK_STATUS(TFR_EDEVICE, tfr_session_native(session, "NPU:0", "fakeacc.queue", &out, &err),
                 &err);
    CHECK_CONTAINS("fakeacc:0 has no queue any more", err.text);
    end(runtime, session, queue);
}

static const test_case cases[] = {
    CASE(a_device_and_a_queue_have_handles),
    CASE(an_unknown_kind_says_who_has_which),
    CASE(a_queue_that_is_none_leaves_the_session_its_own),
    CASE(work_of_the_user_before_a_run_is_done_when_the_run_is),
    CASE(a_run_waits_for_the_work_before_it_and_its_time_is_over_without_giving_that_up),
    CASE(what_fails_on_the_users_queue_fails_runs_until_there_is_another_queue),
    CASE(a_session_changes_queues_between_runs),
    CASE(handles_of_a_lost_device_are_still_told),
};
TEST_MAIN(cases)

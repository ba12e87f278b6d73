/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends that answer nonsense while a plan is made and run: each answer is survived, blamed on
 * the backend by name, and never believed. The slots of a backend are replaced in this process.
 */
#include <pthread.h>
#include <tfrun/fail.h>

#include "graph_text.h"
#include "device/runtime.h"
#include "session_kit.h"

#define GRAPH "in x 2 3; out Relu(x)"

typedef struct scene {
    tfr_runtime *runtime;
    tfr__backend *backend; /* open, with slots of its own */
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor *in, *out;
} scene;

static tfr_kernel_facet real; /* of the last scene's backend */
static tfr_queue_facet real_queue;

/* On "naive:0", or on "fakeacc:0". No other backend may help, but for the reference. */
static scene new_scene(const char *name)
{
    const tfr_option disable = {"disable", "native,onednn"};
    scene s = {.runtime = accelerator_runtime(&disable, 1), .graph = graph_of_text(GRAPH)};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_find(s.runtime, name, &device, &k, &err), &err);
    s.backend = &s.runtime->devices[device].backends[k];
    REQUIRE_OK(tfr__backend_open(s.runtime, s.backend, &err), &err);
    real = s.backend->kernel;
    real_queue = s.backend->queue;
    options.device = name;
    options.no_programs = 1;
    options.fallback = TFR_FALLBACK_ERROR;
    REQUIRE_OK(tfr_session_create(s.runtime, s.graph, &options, &s.session, &err), &err);
    s.in = floats(2, two_by_three, six);
    return s;
}

static tfr_status run(scene *s)
{
    return tfr_session_run(s->session, &s->in, 1, &s->out, 1, &err);
}

static void end(scene *s)
{
    tfr_tensor_release(s->in);
    tfr_tensor_release(s->out);
    tfr_session_destroy(s->session);
    tfr_graph_release(s->graph);
    tfr_runtime_release(s->runtime);
}

/* The run fails, and its error has these words. */
static void check_refused(scene *s, tfr_status status, const char *who, const char *why)
{
    CHECK_STATUS(status, run(s), &err);
    CHECK_CONTAINS(who, err.text);
    CHECK_CONTAINS(why, err.text);
    end(s);
}

/* ---- supports -------------------------------------------------------------------------------- */

static tfr_answer wrong;

static int32_t supports_wrong(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                              tfr_err *e)
{
    const int32_t status = real.supports(device, call, answer, e);
    answer->verdict = wrong.verdict;
    answer->workspace_bytes = wrong.workspace_bytes;
    memset(answer->text, 0, sizeof answer->text);
    return status;
}

TEST(a_verdict_that_is_none_is_a_no)
{
    scene s = new_scene("naive:0");
    wrong = (tfr_answer){.verdict = 1234};
    s.backend->kernel.supports = supports_wrong;
    check_refused(&s, TFR_EFALLBACK, "naive:0 says", "it answers 1234, which is no verdict");
}

TEST(a_no_without_a_reason_says_so)
{
    scene s = new_scene("naive:0");
    wrong = (tfr_answer){.verdict = TFR_VERDICT_NO};
    s.backend->kernel.supports = supports_wrong;
    check_refused(&s, TFR_EFALLBACK, "naive:0 says", "without a reason, a defect");
}

TEST(a_workspace_beyond_all_memory_is_a_no)
{
    scene s = new_scene("naive:0");
    wrong = (tfr_answer){.verdict = TFR_VERDICT_YES, .workspace_bytes = UINT64_MAX};
    s.backend->kernel.supports = supports_wrong;
    check_refused(&s, TFR_EFALLBACK, "naive:0 says",
                  "wants a workspace of 18446744073709551615 bytes");
}

/* ---- texts and statuses ---------------------------------------------------------------------- */

/* A text that fills its room to the last byte, with a status. */
static int32_t endless(tfr_err *e, int32_t status)
{
    if (e)
        memset(e->text, 'x', sizeof e->text);
    return status;
}

static int32_t prepare_endless(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *e)
{
    (void)options, (void)info;
    (void)device, (void)call, (void)out;
    return endless(e, TFR_EINTERNAL);
}

static int32_t prepare_nothing(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *e)
{
    (void)options, (void)info;
    (void)device, (void)call, (void)out, (void)e;
    return TFR_OK;
}

static int32_t launch_endless(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                              const tfr_launch *launch, tfr_err *e)
{
    (void)device, (void)queue, (void)kernel, (void)launch;
    return endless(e, TFR_EINTERNAL);
}

static int32_t launch_short(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const tfr_launch *launch, tfr_err *e)
{
    (void)device, (void)queue, (void)kernel, (void)launch;
    return tfr_fail(e, TFR_EINVAL, "index 7 is out of range");
}

static int32_t launch_newer(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const tfr_launch *launch, tfr_err *e)
{
    (void)device, (void)queue, (void)kernel, (void)launch;
    (void)tfr_fail(e, TFR_EDEVICE, "the tide is out");
    return -77;
}

static int32_t wait_oddly(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                          uint64_t timeout_ns, tfr_err *e)
{
    (void)real_queue.host_wait(device, fence, value, timeout_ns, e);
    return 17;
}

TEST(a_kernel_that_is_not_given_is_a_defect)
{
    scene s = new_scene("naive:0");
    s.backend->kernel.prepare = prepare_nothing;
    check_refused(&s, TFR_EFALLBACK, "naive:0", "its kernel of Relu failed earlier");
}

static tfr_kernel_info odd;

static int32_t prepare_oddly(tfr_plugin_device *device, const tfr_call *call,
                             const tfr_prepare_options *options, tfr_kernel **out,
                             tfr_kernel_info *info, tfr_err *e)
{
    const int32_t status = real.prepare(device, call, options, out, info, e);
    info->workspace_bytes = odd.workspace_bytes;
    info->consumed_inputs = odd.consumed_inputs;
    return status;
}

TEST(what_cannot_be_true_of_a_kernel_is_a_defect)
{
    scene s = new_scene("naive:0");
    s.backend->kernel.prepare = prepare_oddly;
    odd = (tfr_kernel_info){.workspace_bytes = UINT64_MAX};
    check_refused(&s, TFR_EFALLBACK, "naive:0", "a workspace of 18446744073709551615 bytes");
    s = new_scene("naive:0");
    s.backend->kernel.prepare = prepare_oddly;
    odd = (tfr_kernel_info){.consumed_inputs = 1};
    check_refused(&s, TFR_EFALLBACK, "naive:0", "consumed input 0, which is known at launch only");
}

TEST(an_error_text_without_an_end_is_cut)
{
    scene s = new_scene("naive:0");
    s.backend->kernel.prepare = prepare_endless;
    check_refused(&s, TFR_EFALLBACK, "naive:0", "its kernel of Relu failed earlier");
    s = new_scene("naive:0");
    s.backend->kernel.launch = launch_endless;
    check_refused(&s, TFR_EFALLBACK, "naive:0", "its kernel of Relu failed earlier");
}

TEST(an_error_of_an_older_caller_is_read_by_its_size)
{
    const uint32_t size = offsetof(tfr_err, text) + 40;
    char *small = calloc(1, size);
    scene s = new_scene("naive:0");
    REQUIRE(small != NULL);
    memcpy(small, &size, sizeof size);
    s.backend->kernel.launch = launch_short;
    CHECK_INT(TFR_EINVAL,
              tfr_session_run(s.session, &s.in, 1, &s.out, 1, (tfr_err *)(void *)small));
    CHECK_STR("node \"Relu_0\" (Relu) on naive:0: index ", small + offsetof(tfr_err, text));
    free(small);
    end(&s);
}

TEST(a_status_of_a_later_minor_is_a_plain_failure)
{
    scene s = new_scene("naive:0");
    s.backend->kernel.launch = launch_newer;
    check_refused(&s, TFR_EFALLBACK, "naive:0", "failed earlier in this process: the tide is out");
}

TEST(a_status_that_is_none_is_a_defect)
{
    scene s = new_scene("fakeacc:0");
    s.backend->queue.host_wait = wait_oddly;
    check_refused(&s, TFR_EPLUGIN, "fakeacc:0", "returned 17, which is no status");
}

typedef struct runner {
    pthread_t thread;
    tfr_session *session;
    tfr_tensor *in;
    tfr_status status;
} runner;

static void *run_once(void *user)
{
    runner *r = user;
    tfr_tensor *out = NULL;
    r->status = tfr_session_run(r->session, &r->in, 1, &out, 1, NULL);
    tfr_tensor_release(out);
    return NULL;
}

TEST(threads_may_find_a_defect_at_the_same_time)
{
    for (int round = 0; round < 20; round++) {
        scene s = new_scene("naive:0");
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        runner runners[3];
        options.device = "naive:0";
        options.fallback = TFR_FALLBACK_ERROR;
        s.backend->kernel.launch = launch_endless;
        for (int i = 0; i < 3; i++) {
            runner *r = &runners[i];
            *r = (runner){.in = s.in};
            REQUIRE_OK(tfr_session_create(s.runtime, s.graph, &options, &r->session, &err), &err);
        }
        for (int i = 0; i < 3; i++)
            REQUIRE_INT(0, pthread_create(&runners[i].thread, NULL, run_once, &runners[i]));
        for (int i = 0; i < 3; i++) {
            pthread_join(runners[i].thread, NULL);
            CHECK_INT(TFR_EFALLBACK, runners[i].status);
            tfr_session_destroy(runners[i].session);
        }
        end(&s);
    }
}

/* ---- objects that are not there -------------------------------------------------------------- */

static int32_t no_queue(tfr_plugin_device *device, const tfr_queue_options *options,
                        tfr_queue **out, tfr_err *e)
{
    (void)device, (void)options, (void)e;
    *out = NULL;
    return TFR_OK;
}

static int32_t no_fence(tfr_plugin_device *device, const tfr_fence_options *options,
                        tfr_fence **out, tfr_err *e)
{
    (void)device, (void)options, (void)e;
    *out = NULL;
    return TFR_OK;
}

static int32_t no_memory(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                         const tfr_alloc_options *options, void **out, tfr_err *e)
{
    (void)device, (void)space, (void)bytes, (void)options, (void)e;
    *out = NULL;
    return TFR_OK;
}

TEST(a_queue_a_fence_and_memory_that_are_not_given_are_defects)
{
    scene s = new_scene("fakeacc:0");
    s.backend->queue.create = no_queue;
    check_refused(&s, TFR_EPLUGIN, "fakeacc:0", "TFR_OK and no queue");
    s = new_scene("fakeacc:0");
    s.backend->queue.fence_create = no_fence;
    check_refused(&s, TFR_EPLUGIN, "fakeacc:0", "TFR_OK and no fence");
    s = new_scene("fakeacc:0");
    s.backend->memory.alloc = no_memory;
    check_refused(&s, TFR_EPLUGIN, "fakeacc:0", "TFR_OK and no memory");
}

static const test_case cases[] = {
    CASE(a_verdict_that_is_none_is_a_no),
    CASE(a_no_without_a_reason_says_so),
    CASE(a_workspace_beyond_all_memory_is_a_no),
    CASE(a_kernel_that_is_not_given_is_a_defect),
    CASE(what_cannot_be_true_of_a_kernel_is_a_defect),
    CASE(an_error_text_without_an_end_is_cut),
    CASE(an_error_of_an_older_caller_is_read_by_its_size),
    CASE(a_status_of_a_later_minor_is_a_plain_failure),
    CASE(a_status_that_is_none_is_a_defect),
    CASE(threads_may_find_a_defect_at_the_same_time),
    CASE(a_queue_a_fence_and_memory_that_are_not_given_are_defects),
};
TEST_MAIN(cases)

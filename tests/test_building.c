/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and programs that take long to build, on a device that others use meanwhile: a plugin
 * that says TFR_KERNEL_PREPARE_ANY or TFR_PROGRAM_COMPILE_ANY is called without the device's lock.
 */
#include "session_kit.h"

#include <pthread.h>

#include "device/runtime.h"

/* ---- a gate in the plugin -------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_inside, n_awaited; /* builders wait until there are so many of them */
    bool is_open, is_behind; /* it stands behind the plugin's own work */
    int n_locked, n_unlocked;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_gated;
static tfr__backend *backend;
static tfr_kernel_facet real_kernel;
static tfr_program_facet real_program;

static void pass_gate(bool behind)
{
    if (!is_gated || gate.is_behind != behind)
        return;
    pthread_mutex_lock(&gate.lock);
    gate.n_inside++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.is_open && gate.n_inside < gate.n_awaited)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void wait_for_builder(void)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.n_inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void look_at_lock(void)
{
    const bool is_free = pthread_mutex_trylock(&backend->lock) == 0;
    if (is_free)
        pthread_mutex_unlock(&backend->lock);
    gate.n_unlocked += is_free;
    gate.n_locked += !is_free;
}

static int32_t prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *e)
{
    int32_t status;
    pass_gate(false);
    status = real_kernel.prepare(device, call, options, out, info, e);
    pass_gate(true);
    return status;
}

static int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *e)
{
    int32_t status;
    pass_gate(false);
    status = real_program.compile(device, graph, options, out, outputs, stride, info, e);
    pass_gate(true);
    return status;
}

static int32_t prepare_looking(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *e)
{
    look_at_lock();
    return real_kernel.prepare(device, call, options, out, info, e);
}

static int32_t compile_looking(tfr_plugin_device *device, const tfr_program_graph *graph,
                               const tfr_compile_options *options, tfr_program **out,
                               tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                               tfr_err *e)
{
    look_at_lock();
    return real_program.compile(device, graph, options, out, outputs, stride, info, e);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* The accelerator, open, with its building slots behind the gate. */
static tfr_runtime *gated_runtime(bool programs, const char *lose_after)
{
    const tfr_option given[] = {{"fakeacc.concurrent", "1"},
                                {"fakeacc.programs", programs ? "1" : "0"},
                                {"fakeacc.lose_after", lose_after}};
    tfr_runtime *runtime = accelerator_runtime(given, lose_after ? 3 : 2);
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_find(runtime, "fakeacc:0", &device, &k, &err), &err);
    backend = &runtime->devices[device].backends[k];
    REQUIRE_OK(tfr__backend_open(runtime, backend, &err), &err);
    real_kernel = backend->kernel;
    real_program = backend->program;
    backend->kernel.flags |= TFR_KERNEL_PREPARE_ANY;
    backend->program.flags |= TFR_PROGRAM_COMPILE_ANY;
    if (programs)
        backend->program.compile = compile;
    else
        backend->kernel.prepare = prepare;
    gate.n_inside = gate.n_locked = gate.n_unlocked = 0;
    gate.n_awaited = INT32_MAX;
    gate.is_open = gate.is_behind = false;
    return runtime;
}

/* Relu(x + x) on the accelerator. */
static tfr_session *new_session(tfr_runtime *runtime)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    output(graph, unary(graph, "Relu", binary(graph, "Add", x, x)));
    options.device = "NPU:0";
    options.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    return session;
}

static tfr_status run(tfr_session *session, tfr_err *e)
{
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL;
    tfr_status status = tfr_session_run(session, &in, 1, &out, 1, e);
    for (int i = 0; !status && i < 6; i++)
        CHECK_NEAR(six[i] > 0 ? 2 * six[i] : 0, ((const float *)tfr_tensor_data(out))[i], 0);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    return status;
}

/* One that builds behind the gate, on a thread of its own. */
typedef struct builder {
    pthread_t thread;
    tfr_session *session;
    tfr_status status;
    tfr_err err;
} builder;

static void *build(void *user)
{
    builder *b = user;
    is_gated = true;
    b->status = run(b->session, &b->err);
    return NULL;
}

static void start(builder *b, tfr_runtime *runtime)
{
    *b = (builder){.session = new_session(runtime), .err = TFR_ERR_INIT};
    REQUIRE_INT(0, pthread_create(&b->thread, NULL, build, b));
}

static void finish(builder *b)
{
    pthread_join(b->thread, NULL);
    CHECK_OK(b->status, &b->err);
}

/* ---- others meanwhile ------------------------------------------------------------------------ */

static void others_run(bool programs)
{
    tfr_runtime *runtime = gated_runtime(programs, NULL);
    tfr_session *early = new_session(runtime), *late;
    builder slow;
    REQUIRE_OK(run(early, &err), &err);
    start(&slow, runtime);
    wait_for_builder();
    for (int i = 0; i < 20; i++)
        CHECK_OK(run(early, &err), &err);
    tfr_session_destroy(early); /* drops, frees and destroys, all [device] calls */
    late = new_session(runtime);
    CHECK_OK(run(late, &err), &err);
    CHECK_STR("fakeacc:0", row_of(late, 0).backend);
    open_gate();
    finish(&slow);
    CHECK_STR("fakeacc:0", row_of(slow.session, 0).backend);
    CHECK_OK(run(slow.session, &err), &err);
    tfr_session_destroy(slow.session);
    tfr_session_destroy(late);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(sessions_come_run_and_go_while_another_one_compiles)
{
    others_run(true);
}

TEST(sessions_come_run_and_go_while_another_one_prepares)
{
    others_run(false);
}

TEST(two_sessions_build_the_same_at_once)
{
    for (int programs = 0; programs < 2; programs++) {
        tfr_runtime *runtime = gated_runtime(programs, NULL);
        builder two[2];
        gate.n_awaited = 2; /* neither goes on before both are inside */
        start(&two[0], runtime);
        start(&two[1], runtime);
        for (int i = 0; i < 2; i++) {
            finish(&two[i]);
            CHECK_STR("fakeacc:0", row_of(two[i].session, 0).backend);
        }
        for (int i = 0; i < 2; i++) {
            CHECK_OK(run(two[i].session, &err), &err);
            tfr_session_destroy(two[i].session);
        }
        tfr_runtime_release(runtime);
        CHECK_STR("", breaches);
    }
}

TEST(a_backend_that_does_not_say_so_builds_under_its_lock)
{
    for (int any = 0; any < 2; any++) {
        for (int programs = 0; programs < 2; programs++) {
            tfr_runtime *runtime = gated_runtime(programs, NULL);
            tfr_session *session = new_session(runtime);
            backend->kernel.prepare = prepare_looking;
            backend->program.compile = compile_looking;
            backend->kernel.flags = any ? TFR_KERNEL_PREPARE_ANY : 0;
            backend->program.flags = any ? TFR_PROGRAM_COMPILE_ANY : 0;
            CHECK_OK(run(session, &err), &err);
            CHECK_INT(any ? 0 : programs ? 1 : 2, gate.n_locked);
            CHECK_INT(!any ? 0 : programs ? 1 : 2, gate.n_unlocked);
            tfr_session_destroy(session);
            tfr_runtime_release(runtime);
        }
    }
}

/* ---- the device goes meanwhile --------------------------------------------------------------- */

/* behind: the plugin has built it before the device is lost. */
static void device_is_lost(bool programs, bool behind)
{
    tfr_runtime *runtime = gated_runtime(programs, "2");
    tfr_session *other = new_session(runtime);
    builder slow;
    gate.is_behind = behind;
    REQUIRE_OK(run(other, &err), &err);
    start(&slow, runtime);
    wait_for_builder();
    CHECK_STATUS(TFR_ELOST, run(other, &err), &err);
    open_gate();
    finish(&slow);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(strcmp("fakeacc:0", row_of(slow.session, i).backend) != 0);
        CHECK_CONTAINS("failed earlier", row_of(slow.session, i).text);
    }
    tfr_session_destroy(slow.session);
    tfr_session_destroy(other);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(what_is_built_for_a_device_that_is_lost_meanwhile_is_not_used)
{
    device_is_lost(true, true);
    device_is_lost(false, true);
}

TEST(building_that_fails_because_the_device_is_lost_goes_elsewhere)
{
    device_is_lost(true, false);
    device_is_lost(false, false);
}

static const test_case cases[] = {
    CASE(sessions_come_run_and_go_while_another_one_compiles),
    CASE(sessions_come_run_and_go_while_another_one_prepares),
    CASE(two_sessions_build_the_same_at_once),
    CASE(a_backend_that_does_not_say_so_builds_under_its_lock),
    CASE(what_is_built_for_a_device_that_is_lost_meanwhile_is_not_used),
    CASE(building_that_fails_because_the_device_is_lost_goes_elsewhere),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans share what they have of a graph's constants in the memory of a device. */
#include <pthread.h>

#include "device/runtime.h"
#include "session_kit.h"

static const int64_t n_weights = 16;

/* Calls of the slots of all accelerators. */
static atomic_int n_allocs, n_frees, n_copies;
static tfr_memory_facet slots;

static int32_t count_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                           const tfr_alloc_options *options, void **out, tfr_err *e)
{
    if (options && options->flags & TFR_ALLOC_CONSTANTS)
        atomic_fetch_add(&n_allocs, 1);
    return slots.alloc(device, space, bytes, options, out, e);
}

static void count_free(tfr_plugin_device *device, uint32_t space, void *memory)
{
    atomic_fetch_add(&n_frees, 1);
    slots.free(device, space, memory);
}

static int32_t count_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies,
                          uint32_t n, uint32_t stride, tfr_err *e)
{
    for (uint32_t i = 0; i < n; i++)
        if (copies[i].bytes == (uint64_t)n_weights * 4) /* nothing else has so many */
            atomic_fetch_add(&n_copies, 1);
    return slots.copy(device, queue, copies, n, stride, e);
}

static tfr_runtime *counted_runtime(const char *n_devices)
{
    const tfr_option given = {"fakeacc.devices", n_devices};
    tfr_runtime *runtime = accelerator_runtime(&given, 1);
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        tfr__device *device = &runtime->devices[i];
        if (strcmp(device->type, "NPU") != 0)
            continue;
        REQUIRE_OK(tfr__backend_open(runtime, &device->backends[0], &err), &err);
        slots = device->backends[0].memory;
        device->backends[0].memory.alloc = count_alloc;
        device->backends[0].memory.free = count_free;
        device->backends[0].memory.copy = count_copy;
    }
    n_allocs = n_frees = n_copies = 0;
    return runtime;
}

/* y = x + weights, of any number of rows. */
static tfr_graph *weighted_graph(void)
{
    tfr_value x, w;
    tfr_graph *graph = new_graph(1, &x);
    float numbers[16];
    tfr_tensor *weights;
    for (int i = 0; i < 16; i++)
        numbers[i] = (float)i;
    weights = floats(1, &n_weights, numbers);
    REQUIRE_OK(tfr_graph_add_constant(graph, "w", weights, &w, &err), &err);
    tfr_tensor_release(weights);
    output(graph, binary(graph, "Add", x, w));
    return graph;
}

static tfr_session *session_on(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    options.fallback = TFR_FALLBACK_ERROR;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static void run(tfr_session *session, int64_t rows)
{
    tfr_shape shape = {2, {rows, n_weights}};
    tfr_tensor *in = NULL, *out = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    for (int64_t i = 0; i < rows * n_weights; i++)
        CHECK(((const float *)tfr_tensor_data(out))[i] == (float)(i % n_weights));
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

TEST(six_sessions_and_their_plans_upload_once)
{
    tfr_runtime *runtime = counted_runtime("1");
    tfr_graph *graph = weighted_graph();
    tfr_session *sessions[6];
    for (int i = 0; i < 6; i++) {
        sessions[i] = session_on(runtime, graph, "NPU:0");
        run(sessions[i], 2);
        run(sessions[i], 3); /* another plan */
    }
    CHECK_INT(1, n_allocs);
    CHECK_INT(1, n_copies);
    for (int i = 0; i < 5; i++) /* the last one still computes with it */
        tfr_session_destroy(sessions[i]);
    run(sessions[5], 2);
    CHECK_INT(1, n_allocs);
    tfr_session_destroy(sessions[5]);
    sessions[0] = session_on(runtime, graph, "NPU:0"); /* it has gone with the last of them */
    run(sessions[0], 2);
    CHECK_INT(2, n_allocs);
    CHECK_INT(2, n_copies);
    end_session(runtime, graph, sessions[0], NULL);
    CHECK_STR("", breaches);
}

TEST(each_device_has_its_own)
{
    tfr_runtime *runtime = counted_runtime("2");
    tfr_graph *graph = weighted_graph();
    tfr_session *a = session_on(runtime, graph, "NPU:0"), *b = session_on(runtime, graph, "NPU:1");
    run(a, 2);
    run(b, 2);
    CHECK_INT(2, n_allocs);
    CHECK_INT(2, n_copies);
    tfr_session_destroy(a);
    run(b, 2);
    end_session(runtime, graph, b, NULL);
    CHECK_STR("", breaches);
}

TEST(another_graph_with_equal_numbers_has_its_own)
{
    tfr_runtime *runtime = counted_runtime("1");
    tfr_graph *graphs[] = {weighted_graph(), weighted_graph()};
    tfr_session *a = session_on(runtime, graphs[0], "NPU:0");
    tfr_session *b = session_on(runtime, graphs[1], "NPU:0");
    run(a, 2);
    run(b, 2);
    CHECK_INT(2, n_allocs);
    tfr_session_destroy(a);
    tfr_graph_release(graphs[0]);
    end_session(runtime, graphs[1], b, NULL);
    CHECK_STR("", breaches);
}

typedef struct worker {
    tfr_runtime *runtime;
    tfr_graph *graph;
    int n_wrong;
} worker;

/* Without CUnit, whose counters belong to one thread. */
static bool run_once(const worker *w)
{
    const tfr_shape shape = {2, {2, n_weights}};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *in = NULL, *out = NULL;
    tfr_err mine = TFR_ERR_INIT;
    bool right;
    options.device = "NPU:0";
    right = !tfr_session_create(w->runtime, w->graph, &options, &session, &mine) &&
            !tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &mine) &&
            !tfr_session_run(session, &in, 1, &out, 1, &mine);
    for (int64_t i = 0; right && i < 2 * n_weights; i++)
        right = ((const float *)tfr_tensor_data(out))[i] == (float)(i % n_weights);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    return right;
}

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < 20; i++)
        w->n_wrong += !run_once(w);
    return NULL;
}

TEST(threads_make_and_end_sessions_at_once)
{
    tfr_runtime *runtime = counted_runtime("1");
    tfr_graph *graph = weighted_graph();
    worker workers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        workers[i] = (worker){runtime, graph, 0};
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(0, workers[i].n_wrong);
    }
    for (uint32_t i = 0; i < runtime->n_devices; i++) /* nothing is left */
        for (int k = 0; k < TFR__CONSTANT_LISTS; k++)
            CHECK(runtime->devices[i].backends[0].constants[k] == NULL);
    end_session(runtime, graph, NULL, NULL);
    CHECK_STR("", breaches);
}

static const test_case cases[] = {
    CASE(six_sessions_and_their_plans_upload_once),
    CASE(each_device_has_its_own),
    CASE(another_graph_with_equal_numbers_has_its_own),
    CASE(threads_make_and_end_sessions_at_once),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* What a traced session tells of its runs, on the host and on the fake accelerator. */
#include "base/alloc.h"
#include "graph_text.h"
#include "run/session.h"
#include "session_kit.h"

static tfr_runtime *runtime_with(const char *key, const char *value)
{
    const tfr_option option = {key, value};
    setenv("TFRUN_DISABLE", "native,onednn", 1); /* naive compiles nothing */
    return accelerator_runtime(&option, key != NULL);
}

static tfr_value named(tfr_graph *graph, const char *op, tfr_value a, tfr_value b, const char *name)
{
    tfr_value in[] = {a, b}, out = TFR_VALUE_NONE;
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .name = name,
                          .inputs = in,
                          .n_inputs = b == TFR_VALUE_NONE ? 1 : 2,
                          .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

/* x → MatMul x → Relu, and Softmax, which the accelerator does not have, if asked for. */
static tfr_graph *small_graph(bool softmax)
{
    tfr_graph *graph = NULL;
    tfr_value x, v;
    REQUIRE_OK(tfr_graph_create("small", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, &x, &err), &err);
    v = named(graph, "MatMul", x, x, "product");
    v = named(graph, "Relu", v, TFR_VALUE_NONE, "rectify");
    if (softmax)
        v = named(graph, "Softmax", v, TFR_VALUE_NONE, "normalize");
    output(graph, v);
    return graph;
}

typedef struct rig {
    tfr_runtime *runtime;
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor *in;
} rig;

static rig new_rig(const char *device, bool softmax, const char *key, const char *value)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_shape shape = {2, {8, 8}};
    rig r = {.runtime = runtime_with(key, value), .graph = small_graph(softmax)};
    options.device = device;
    options.fallback = TFR_FALLBACK_ALLOW;
    options.passes = "none";
    /* A launch for each node, but where programs are what is looked at. */
    options.no_programs = !key || strcmp(key, "fakeacc.programs") != 0;
    REQUIRE_OK(tfr_session_create(r.runtime, r.graph, &options, &r.session, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &r.in, &err), &err);
    for (int i = 0; i < 64; i++)
        ((float *)tfr_tensor_data(r.in))[i] = (float)(i % 5) - 2;
    return r;
}

static void end_rig(rig *r)
{
    CHECK_STR("", breaches);
    tfr_session_destroy(r->session);
    tfr_graph_release(r->graph);
    tfr_tensor_release(r->in);
    tfr_runtime_release(r->runtime);
}

static void run(rig *r)
{
    tfr_tensor *out = NULL;
    REQUIRE_OK(tfr_session_run(r->session, &r->in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
}

static tfr_trace_event event_at(const rig *r, uint32_t i)
{
    tfr_trace_event e = {.size = sizeof e};
    REQUIRE_OK(tfr_trace_get(r->session, i, &e, &err), &err);
    return e;
}

/* Number k, from 0, of the events of a kind with this name, or of any with NULL. */
static tfr_trace_event find(const rig *r, tfr_trace_kind kind, const char *name, uint32_t k)
{
    tfr_trace_event none = {0};
    for (uint32_t i = 0; i < tfr_trace_count(r->session, NULL); i++) {
        tfr_trace_event e = event_at(r, i);
        if (e.kind == (int32_t)kind && (!name || strcmp(e.name, name) == 0) && k-- == 0)
            return e;
    }
    return none;
}

static uint32_t count(const rig *r, tfr_trace_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr_trace_count(r->session, NULL); i++)
        n += event_at(r, i).kind == (int32_t)kind;
    return n;
}

static bool inside(tfr_trace_event a, tfr_trace_event b)
{
    return b.begin_ns <= a.begin_ns && a.begin_ns <= a.end_ns && a.end_ns <= b.end_ns;
}

TEST(a_run_on_the_host_leaves_its_plan_and_kernels)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    tfr_trace_event whole = find(&r, TFR_TRACE_RUN, NULL, 0);
    tfr_trace_event product = find(&r, TFR_TRACE_KERNEL, "product", 0);
    tfr_trace_event relu = find(&r, TFR_TRACE_KERNEL, "rectify", 0);
    CHECK_STR("small", whole.name);
    CHECK_UINT(1, count(&r, TFR_TRACE_PLAN));
    CHECK_UINT(2, count(&r, TFR_TRACE_KERNEL));
    CHECK_STR("MatMul", product.op);
    CHECK_STR("CPU:0", product.device);
    CHECK_CONTAINS(":0", product.backend);
    CHECK_UINT(2 * 8 * 8 * 8, product.flops);
    CHECK_UINT(3 * 8 * 8 * 4, product.bytes);
    CHECK_INT(0, product.node);
    CHECK_INT(1, relu.node);
    CHECK(inside(find(&r, TFR_TRACE_PLAN, NULL, 0), whole));
    CHECK(inside(product, whole) && inside(relu, whole));
    CHECK(product.end_ns <= relu.begin_ns);
    CHECK_UINT(0, product.queue);
    end_rig(&r);
}

TEST(runs_are_numbered)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    run(&r);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    run(&r);
    tfr_trace_stop(r.session);
    CHECK_UINT(0, count(&r, TFR_TRACE_PLAN));
    CHECK_UINT(1, find(&r, TFR_TRACE_RUN, NULL, 0).run);
    CHECK_UINT(2, find(&r, TFR_TRACE_RUN, NULL, 1).run);
    CHECK_UINT(2, find(&r, TFR_TRACE_KERNEL, "rectify", 1).run);
    end_rig(&r);
}

TEST(copies_kernels_and_waits_of_a_queue_have_its_own_times)
{
    rig r = new_rig("NPU:0", true, NULL, NULL);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    tfr_trace_event in = find(&r, TFR_TRACE_COPY, "copy in", 0);
    tfr_trace_event out = find(&r, TFR_TRACE_COPY, "copy out", 0);
    tfr_trace_event product = find(&r, TFR_TRACE_KERNEL, "product", 0);
    tfr_trace_event relu = find(&r, TFR_TRACE_KERNEL, "rectify", 0);
    tfr_trace_event put = find(&r, TFR_TRACE_ENQUEUE, "product", 0);
    tfr_trace_event wait = find(&r, TFR_TRACE_WAIT, NULL, 0);
    CHECK(in.queue && in.queue == out.queue && in.queue == product.queue);
    CHECK_UINT(256, in.bytes);
    /* One after the other, each after the delay of 100 us, and all before the wait is over. */
    CHECK(in.end_ns <= product.begin_ns && product.end_ns <= relu.begin_ns);
    CHECK(relu.end_ns <= out.begin_ns && out.end_ns <= wait.end_ns);
    CHECK(product.end_ns - product.begin_ns >= 100000);
    CHECK(put.begin_ns <= product.begin_ns);
    CHECK_UINT(0, find(&r, TFR_TRACE_KERNEL, "normalize", 0).queue);
    CHECK_STR("fakeacc:0", product.backend);
    end_rig(&r);
}

TEST(records_of_a_plugin_lie_in_their_launch)
{
    rig r = new_rig("NPU:0", false, NULL, NULL);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    tfr_trace_event record = find(&r, TFR_TRACE_RECORD, "product", 0);
    REQUIRE_INT(TFR_TRACE_RECORD, record.kind);
    CHECK_INT(TFR_PROFILE_KERNEL, record.record);
    CHECK_STR("fake matmul", record.text);
    REQUIRE(record.parent != UINT32_MAX);
    CHECK_STR("product", event_at(&r, record.parent).name);
    CHECK(inside(record, event_at(&r, record.parent)));
    CHECK_UINT(2, count(&r, TFR_TRACE_RECORD));
    end_rig(&r);
}

TEST(a_program_is_one_launch_with_records_of_its_nodes)
{
    rig r = new_rig("NPU:0", true, "fakeacc.programs", "1");
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    tfr_trace_event program = find(&r, TFR_TRACE_PROGRAM, NULL, 0);
    tfr_trace_event product = find(&r, TFR_TRACE_RECORD, "product", 0);
    tfr_trace_event relu = find(&r, TFR_TRACE_RECORD, "rectify", 0);
    CHECK_STR("2 nodes from product", program.name);
    CHECK_STR("NPU:0", program.device);
    CHECK_UINT(2 * 8 * 8 * 8 + 8 * 8, program.flops);
    CHECK_STR("MatMul", product.op);
    CHECK_STR("fake matmul", product.text);
    CHECK_INT(0, product.node);
    CHECK_INT(1, relu.node);
    CHECK_STR("Relu", relu.op);
    CHECK(inside(product, program) && inside(relu, program));
    CHECK(product.end_ns <= relu.begin_ns);
    CHECK_UINT(1, count(&r, TFR_TRACE_KERNEL)); /* Softmax on the host */
    CHECK(find(&r, TFR_TRACE_COPY, "copy out", 0).begin_ns >= relu.end_ns);
    end_rig(&r);
}

/* Each trip has a plan of its own, and few are kept. */
TEST(records_of_a_program_forgotten_in_its_run_have_their_nodes)
{
    const int64_t n = 3;
    const uint32_t trips = 40;
    rig r = {.runtime = runtime_with("fakeacc.programs", "1"),
             .graph = growing_loop(trips, "Relu")};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    options.device = "NPU:0";
    options.fallback = TFR_FALLBACK_ALLOW;
    REQUIRE_OK(tfr_session_create(r.runtime, r.graph, &options, &r.session, &err), &err);
    r.in = floats(1, &n, six);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    CHECK_UINT(trips, count(&r, TFR_TRACE_PROGRAM));
    for (uint32_t i = 0; i < trips; i++) {
        tfr_trace_event e = find(&r, TFR_TRACE_RECORD, "Relu_1", i);
        CHECK_INT(1, e.node);
        CHECK_STR("Relu", e.op);
    }
    end_rig(&r);
}

TEST(a_queue_without_records_is_timed_by_its_waits)
{
    rig r = new_rig("NPU:0", false, "fakeacc.profile", "0");
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    run(&r);
    tfr_trace_stop(r.session);
    tfr_trace_event product = find(&r, TFR_TRACE_KERNEL, "product", 0);
    tfr_trace_event wait = find(&r, TFR_TRACE_WAIT, NULL, 0);
    CHECK_UINT(0, count(&r, TFR_TRACE_RECORD));
    CHECK(product.begin_ns <= wait.begin_ns && product.end_ns >= wait.end_ns);
    end_rig(&r);
}

TEST(two_sessions_on_one_backend_both_have_their_events)
{
    rig a = new_rig("NPU:0", false, NULL, NULL), b = a;
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    options.device = "NPU:0";
    options.no_programs = 1;
    REQUIRE_OK(tfr_session_create(a.runtime, a.graph, &options, &b.session, &err), &err);
    REQUIRE_OK(tfr_trace_start(a.session, 0, &err), &err);
    REQUIRE_OK(tfr_trace_start(b.session, 0, &err), &err);
    run(&a);
    run(&b);
    tfr_trace_stop(a.session);
    tfr_trace_stop(b.session);
    CHECK_UINT(2, count(&a, TFR_TRACE_RECORD));
    CHECK_UINT(0, count(&b, TFR_TRACE_RECORD));
    CHECK_UINT(2, count(&b, TFR_TRACE_KERNEL));
    tfr_session_destroy(b.session);
    end_rig(&a);
}

TEST(a_full_trace_counts_what_it_drops)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    uint64_t n_dropped = 0;
    REQUIRE_OK(tfr_trace_start(r.session, 4, &err), &err);
    for (int i = 0; i < 3; i++)
        run(&r);
    tfr_trace_stop(r.session);
    CHECK_UINT(4, tfr_trace_count(r.session, &n_dropped));
    CHECK(n_dropped >= 6); /* a plan, and three runs with two kernels */
    end_rig(&r);
}

TEST(an_untraced_run_leaves_no_event_and_takes_no_memory)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    uint64_t plain, traced;
    run(&r);
    plain = tfr__alloc_count();
    run(&r);
    plain = tfr__alloc_count() - plain;
    CHECK_UINT(0, tfr_trace_count(r.session, NULL));
    CHECK(!r.session->trace);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    traced = tfr__alloc_count();
    run(&r);
    traced = tfr__alloc_count() - traced;
    CHECK_UINT(plain, traced); /* nor does a traced one take more */
    tfr_trace_stop(r.session);
    uint32_t n = tfr_trace_count(r.session, NULL);
    run(&r);
    CHECK_UINT(n, tfr_trace_count(r.session, NULL));
    end_rig(&r);
}

TEST(a_binding_is_traced_like_a_session)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    tfr_shape shape = {2, {8, 8}};
    tfr_tensor *out = NULL;
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &out, &err), &err);
    REQUIRE_OK(tfr_binding_create(r.session, &r.in, 1, &out, 1, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    tfr_trace_stop(r.session);
    CHECK_UINT(1, count(&r, TFR_TRACE_RUN));
    CHECK_UINT(2, count(&r, TFR_TRACE_KERNEL));
    CHECK(inside(find(&r, TFR_TRACE_KERNEL, "product", 0), find(&r, TFR_TRACE_RUN, NULL, 0)));
    tfr_binding_destroy(binding);
    tfr_tensor_release(out);
    end_rig(&r);
}

TEST(a_strided_input_is_seen_as_a_reorder)
{
    rig r = new_rig("NPU:0", false, NULL, NULL);
    static const int64_t strides[] = {1, 8};
    tfr_shape shape = {2, {8, 8}};
    tfr_tensor *turned = NULL, *out = NULL;
    REQUIRE_OK(tfr_tensor_view(r.in, 0, &shape, strides, &turned, &err), &err);
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    REQUIRE_OK(tfr_session_run(r.session, &turned, 1, &out, 1, &err), &err);
    tfr_trace_stop(r.session);
    tfr_trace_event e = find(&r, TFR_TRACE_REORDER, NULL, 0);
    CHECK_STR("x", e.name);
    CHECK_UINT(2 * 256, e.bytes);
    tfr_tensor_release(turned);
    tfr_tensor_release(out);
    end_rig(&r);
}

TEST(a_failed_run_leaves_a_whole_trace)
{
    rig r = new_rig("NPU:0", false, "fakeacc.fail_after", "1");
    tfr_tensor *out = NULL;
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, tfr_session_run(r.session, &r.in, 1, &out, 1, &err), &err);
    tfr_trace_stop(r.session);
    CHECK_UINT(1, count(&r, TFR_TRACE_RUN));
    for (uint32_t i = 0; i < tfr_trace_count(r.session, NULL); i++)
        CHECK(event_at(&r, i).begin_ns && event_at(&r, i).begin_ns <= event_at(&r, i).end_ns);
    end_rig(&r);
}

TEST(starting_twice_and_asking_for_too_much_are_errors)
{
    rig r = new_rig("CPU:0", false, NULL, NULL);
    tfr_trace_event e = {.size = sizeof e};
    REQUIRE_OK(tfr_trace_start(r.session, 0, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_trace_start(r.session, 0, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_trace_get(r.session, 0, &e, &err), &err);
    CHECK_CONTAINS("no event 0", err.text);
    end_rig(&r); /* the session ends while it is traced */
}

static const test_case cases[] = {
    CASE(a_run_on_the_host_leaves_its_plan_and_kernels),
    CASE(runs_are_numbered),
    CASE(copies_kernels_and_waits_of_a_queue_have_its_own_times),
    CASE(records_of_a_plugin_lie_in_their_launch),
    CASE(a_program_is_one_launch_with_records_of_its_nodes),
    CASE(records_of_a_program_forgotten_in_its_run_have_their_nodes),
    CASE(a_queue_without_records_is_timed_by_its_waits),
    CASE(two_sessions_on_one_backend_both_have_their_events),
    CASE(a_full_trace_counts_what_it_drops),
    CASE(an_untraced_run_leaves_no_event_and_takes_no_memory),
    CASE(a_binding_is_traced_like_a_session),
    CASE(a_strided_input_is_seen_as_a_reorder),
    CASE(a_failed_run_leaves_a_whole_trace),
    CASE(starting_twice_and_asking_for_too_much_are_errors),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels of the fake accelerator tell late, the true dims of outputs, and what they compute
 * early: outputs that launch itself writes, on the host.
 */
#include "session_kit.h"

/* Device 0 with these settings, as "NPU:0". */
static tfr_runtime *runtime_with(const char *key, const char *value, const char *key_2,
                                 const char *value_2)
{
    const tfr_option given[] = {{key, value}, {key_2, value_2}};
    return accelerator_runtime(given, key_2 ? 2 : key ? 1 : 0);
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "NPU:0";
    options.passes = "none";
    options.no_programs = 1;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

/* Of six, those that keep has a bit for. */
static tfr_tensor *condition(unsigned keep)
{
    const int64_t n = 6;
    uint8_t bits[6];
    for (int i = 0; i < 6; i++)
        bits[i] = keep >> i & 1;
    return new_tensor(TFR_DTYPE_BOOL, 1, &n, bits);
}

static void check_kept(unsigned keep, const tfr_tensor *t, double (*f)(double))
{
    const float *got = tfr_tensor_data((tfr_tensor *)t);
    int64_t n = 0;
    for (int i = 0; i < 6; i++)
        n += keep >> i & 1;
    REQUIRE_INT(1, tfr_tensor_shape(t)->rank);
    REQUIRE_INT(n, tfr_tensor_shape(t)->dims[0]);
    for (int i = 0; i < 6; i++)
        if (keep >> i & 1)
            CHECK_NEAR(f(six[i]), *got++, 0);
}

static double same(double x)
{
    return x;
}

static double positive(double x)
{
    return x > 0 ? x : 0;
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* The kept elements, and what the device and the host make of them in the section behind. */
static tfr_graph *kept_graph(void)
{
    tfr_value x[2], v;
    tfr_graph *graph = new_graph(2, x);
    v = binary(graph, "Compress", x[0], x[1]);
    output(graph, v);
    output(graph, unary(graph, "Relu", v));
    output(graph, unary(graph, "Abs", v));
    return graph;
}

static void late_dims(const char *transfer, const char *delay)
{
    tfr_runtime *runtime = runtime_with("fakeacc.transfer", transfer, "fakeacc.delay_us", delay);
    tfr_graph *graph = kept_graph();
    tfr_session *session = new_session(runtime, graph);
    for (unsigned run = 0; run < 40; run++) {
        const unsigned keep = run * 37 % 64;
        tfr_tensor *in[2] = {floats(2, two_by_three, six), condition(keep)}, *out[3] = {NULL};
        REQUIRE_OK(tfr_session_run(session, in, 2, out, 3, &err), &err);
        CHECK_STR("fakeacc:0", row_of(session, 0).backend);
        CHECK_STR("fakeacc:0", row_of(session, 1).backend);
        CHECK_CONTAINS("unknown_op", row_of(session, 2).text);
        check_kept(keep, out[0], same);
        check_kept(keep, out[1], positive);
        check_kept(keep, out[2], magnitude);
        for (int i = 0; i < 3; i++)
            tfr_tensor_release(out[i]);
        tfr_tensor_release(in[0]);
        tfr_tensor_release(in[1]);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(dims_come_late_into_ordinary_memory)
{
    late_dims("0", "0");
    late_dims("0", "500");
}

/* The accelerator fails a launch whose dims lie elsewhere. */
TEST(dims_come_late_into_the_space_that_kernels_write)
{
    late_dims("1", "0");
    late_dims("1", "500");
}

static void check_refused(const char *wrong, const char *text)
{
    for (int transfer = 0; transfer < 2; transfer++) {
        tfr_runtime *runtime =
            runtime_with("fakeacc.wrong_dims", wrong, "fakeacc.transfer", transfer ? "1" : "0");
        tfr_graph *graph = kept_graph();
        tfr_session *session = new_session(runtime, graph);
        tfr_tensor *in[2] = {floats(2, two_by_three, six), condition(5)}, *out[3] = {NULL};
        CHECK_STATUS(TFR_EPLUGIN, tfr_session_run(session, in, 2, out, 3, &err), &err);
        CHECK_CONTAINS(text, err.text);
        tfr_tensor_release(in[1]);
        end_session(runtime, graph, session, in[0]);
        CHECK_STR("", breaches);
    }
}

TEST(a_dim_beyond_the_bound_is_refused)
{
    check_refused("1", "the kernel gave dim 0 as 7, the bound is 6");
}

TEST(a_dim_that_is_not_written_is_refused)
{
    check_refused("2", "the kernel gave dim 0 as -1, the bound is 6");
}

/* ---- outputs that launch writes ----------------------------------------------------------- */

static float first(const tfr_tensor *t)
{
    return *(const float *)tfr_tensor_data((tfr_tensor *)t);
}

/*
 * a = the product x1 x2 of one element, from the queue; b = Relu(a) and c = b + b are the host's;
 * what they are copied to the device for, y = x0 + c, and what another backend makes of them there,
 * Abs(c).
 */
static tfr_graph *early_graph(void)
{
    tfr_value x[3], b, c;
    tfr_graph *graph = new_graph(3, x);
    b = unary(graph, "Relu", binary(graph, "MatMul", x[1], x[2]));
    c = binary(graph, "Add", b, b);
    output(graph, binary(graph, "Add", x[0], c));
    output(graph, unary(graph, "Abs", c));
    output(graph, b);
    return graph;
}

static void check_early(float row, tfr_tensor *const *out)
{
    const float b = row > 0 ? 3 * row : 0;
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(six[i] + 2 * b, ((const float *)tfr_tensor_data(out[0]))[i], 0);
    CHECK_NEAR(2 * b, first(out[1]), 0);
    CHECK_NEAR(b, first(out[2]), 0);
}

static const int64_t one_by_one[] = {1, 1};

TEST(what_launch_writes_is_there_for_the_host_and_the_device)
{
    const float three = 3;
    tfr_runtime *runtime = runtime_with("fakeacc.host_results", "1", "fakeacc.delay_us", "200");
    tfr_graph *graph = early_graph();
    tfr_session *session = new_session(runtime, graph);
    for (int run = -5; run < 20; run++) {
        const float row = (float)run;
        tfr_tensor *in[3] = {floats(2, two_by_three, six), floats(2, one_by_one, &row),
                             floats(2, one_by_one, &three)};
        tfr_tensor *out[3] = {NULL};
        REQUIRE_OK(tfr_session_run(session, in, 3, out, 3, &err), &err);
        check_early(row, out);
        for (int i = 0; i < 3; i++) {
            tfr_tensor_release(out[i]);
            tfr_tensor_release(in[i]);
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        CHECK_STR("fakeacc:0", row_of(session, i).backend);
    CHECK_INT(6, stats_of(session).n_copies); /* the inputs and a product, then c, and y */
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
}

TEST(what_launch_writes_can_be_bound)
{
    const float three = 3;
    float row = 1;
    tfr_runtime *runtime = runtime_with("fakeacc.host_results", "1", NULL, NULL);
    tfr_graph *graph = early_graph();
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *in[3] = {floats(2, two_by_three, six), floats(2, one_by_one, &row),
                         floats(2, one_by_one, &three)};
    tfr_tensor *out[3] = {floats(2, two_by_three, NULL), floats(2, one_by_one, NULL),
                          floats(2, one_by_one, NULL)};
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_binding_create(session, in, 3, out, 3, &binding, &err), &err);
    for (row = -3; row < 4; row++) {
        *(float *)tfr_tensor_data(in[1]) = row;
        CHECK_OK(tfr_binding_run(binding, &err), &err);
        check_early(row, out);
    }
    tfr_binding_destroy(binding);
    for (int i = 0; i < 3; i++) {
        tfr_tensor_release(out[i]);
        tfr_tensor_release(in[i]);
    }
    end_session(runtime, graph, session, NULL);
    CHECK_STR("", breaches);
}

/* w += x1, which launch computes; y = x0 + w reads the old w on the device, before it or never. */
TEST(what_launch_writes_may_be_the_state_of_a_variable)
{
    for (int reads = 0; reads < 2; reads++) {
        const float half = 0.5f;
        tfr_runtime *runtime = runtime_with("fakeacc.host_results", "1", NULL, NULL);
        tfr_tensor *start = floats(2, one_by_one, &half), *in[2], *out = NULL;
        tfr_value x[2], w;
        tfr_graph *graph = new_graph(2, x);
        REQUIRE_OK(tfr_graph_add_variable(graph, "w", start, &w, &err), &err);
        tfr_value y = binary(graph, "Add", x[0], reads ? w : x[1]);
        REQUIRE_OK(tfr_graph_set_update(graph, w, binary(graph, "Add", w, x[1]), &err), &err);
        output(graph, y);
        tfr_session *session = new_session(runtime, graph);
        for (int run = 0; run < 6; run++) {
            const float x1 = (float)(1 << run);
            in[0] = floats(2, two_by_three, six);
            in[1] = floats(2, one_by_one, &x1);
            REQUIRE_OK(tfr_session_run(session, in, 2, &out, 1, &err), &err);
            CHECK_NEAR(six[0] + (reads ? 0.5f + x1 - 1 : x1), first(out), 0);
            tfr_tensor_release(out);
            tfr_tensor_release(in[0]);
            tfr_tensor_release(in[1]);
        }
        REQUIRE_OK(tfr_session_get_variable(session, "w", &out, &err), &err);
        CHECK_NEAR(0.5 + 63, first(out), 0);
        tfr_tensor_release(out);
        end_session(runtime, graph, session, start);
        CHECK_STR("", breaches);
    }
}

static const test_case cases[] = {
    CASE(dims_come_late_into_ordinary_memory),
    CASE(dims_come_late_into_the_space_that_kernels_write),
    CASE(a_dim_beyond_the_bound_is_refused),
    CASE(a_dim_that_is_not_written_is_refused),
    CASE(what_launch_writes_is_there_for_the_host_and_the_device),
    CASE(what_launch_writes_can_be_bound),
    CASE(what_launch_writes_may_be_the_state_of_a_variable),
};
TEST_MAIN(cases)

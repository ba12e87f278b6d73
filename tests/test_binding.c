/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with fixed tensors: the same numbers as a session's, and nothing but the plan in between. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph_text.h"
#include "session_kit.h"

static tfr_tensor *ramp(int64_t n, float first)
{
    tfr_shape shape = {1, {n}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    for (int64_t i = 0; i < n; i++)
        ((float *)tfr_tensor_data(t))[i] = first - (float)i;
    return t;
}

/* y = Relu(x + x), and, as further outputs, y again, a constant and the input. */
static tfr_session *new_session(const char *device, uint32_t n_nodes)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value x, y, c;
    tfr_runtime *runtime = accelerator_runtime(NULL, 0);
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = ramp(2, 7);
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    tfr_tensor_release(t);
    y = binary(graph, "Add", x, x);
    for (uint32_t i = 1; i < n_nodes; i++)
        y = unary(graph, "Relu", y);
    output(graph, y);
    REQUIRE_OK(tfr_graph_add_output(graph, y, "again", &err), &err);
    output(graph, c);
    output(graph, x);
    options.device = device;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

typedef struct bound {
    tfr_session *session;
    tfr_binding *binding;
    tfr_tensor *in, *out[4];
} bound;

static bound new_bound(const char *device, uint32_t n_nodes)
{
    bound b = {.session = new_session(device, n_nodes), .in = ramp(4, 2)};
    b.out[0] = ramp(4, 0);
    b.out[1] = ramp(4, 0);
    b.out[2] = ramp(2, 0);
    b.out[3] = ramp(4, 0);
    REQUIRE_OK(tfr_binding_create(b.session, &b.in, 1, b.out, 4, &b.binding, &err), &err);
    return b;
}

static void drop_bound(bound *b)
{
    tfr_binding_destroy(b->binding);
    tfr_session_destroy(b->session);
    tfr_tensor_release(b->in);
    for (int i = 0; i < 4; i++)
        tfr_tensor_release(b->out[i]);
}

static float at(const tfr_tensor *t, int i)
{
    return ((const float *)tfr_tensor_data(t))[i];
}

static void check_runs(const char *device)
{
    bound b = new_bound(device, 2);
    for (int round = 0; round < 3; round++) {
        ((float *)tfr_tensor_data(b.in))[0] = (float)round;
        REQUIRE_OK(tfr_binding_run(b.binding, &err), &err);
        for (int i = 0; i < 2; i++) {
            CHECK_NEAR(2 * round, at(b.out[i], 0), 0);
            CHECK_NEAR(2, at(b.out[i], 1), 0);
            CHECK_NEAR(0, at(b.out[i], 3), 0);
        }
        CHECK_NEAR(6, at(b.out[2], 1), 0);
        CHECK_NEAR(round, at(b.out[3], 0), 0);
    }
    drop_bound(&b);
}

TEST(each_run_reads_the_inputs_and_writes_the_outputs_anew)
{
    check_runs("naive:0");
}

TEST(a_device_with_queues_can_be_bound)
{
    check_runs("NPU:0");
}

TEST(a_run_takes_no_memory)
{
    bound b = new_bound("naive:0", 20);
    uint64_t before = tfr__alloc_count();
    for (int i = 0; i < 100; i++)
        CHECK_OK(tfr_binding_run(b.binding, &err), &err);
    CHECK_UINT(before, tfr__alloc_count());
    drop_bound(&b);
}

TEST(a_run_of_a_session_takes_one_block_an_output)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = ramp(4, 2), *out = NULL;
    uint64_t before;
    for (int i = 0; i < 20; i++)
        x = unary(graph, "Relu", x);
    output(graph, x);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    before = tfr__alloc_count();
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(before + 1, tfr__alloc_count());
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
}

TEST(a_run_makes_no_system_call)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("the sanitizers make system calls of their own");
#else
    bound b = new_bound("naive:0", 20);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) { /* seccomp(2): from here on any call but read, write and exit kills */
        int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0 ? 0 : 77;
        for (int i = 0; result == 0 && i < 100; i++)
            result = tfr_binding_run(b.binding, &err) != TFR_OK;
        syscall(SYS_exit, result);
    }
    REQUIRE_INT(pid, waitpid(pid, &status, 0));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        drop_bound(&b);
        SKIP("seccomp is not to be had here");
    }
    CHECK_INT(0, status);
    drop_bound(&b);
#endif
}

TEST(an_output_of_the_wrong_shape_is_refused_with_both)
{
    bound b = {.session = new_session("naive:0", 2), .in = ramp(4, 2)};
    tfr_binding *binding = NULL;
    for (int i = 0; i < 4; i++)
        b.out[i] = ramp(3, 0);
    CHECK_STATUS(TFR_ESHAPE, tfr_binding_create(b.session, &b.in, 1, b.out, 4, &binding, &err),
                 &err);
    CHECK_CONTAINS("[4]", err.text);
    CHECK_CONTAINS("[3]", err.text);
    drop_bound(&b);
}

TEST(an_output_that_must_not_be_written_is_refused)
{
    static const float bytes[4];
    const tfr_shape four = {1, {4}};
    bound b = new_bound("naive:0", 1);
    tfr_binding *binding = NULL;
    tfr_tensor_release(b.out[1]);
    REQUIRE_OK(
        tfr_tensor_wrap_bytes(TFR_DTYPE_F32, &four, bytes, NULL, NULL, NULL, &b.out[1], &err),
        &err);
    CHECK_STATUS(TFR_EPERM, tfr_binding_create(b.session, &b.in, 1, b.out, 4, &binding, &err),
                 &err);
    CHECK_STR("output \"again\" is a tensor that must not be written; give it another", err.text);
    CHECK(binding == NULL);
    drop_bound(&b);
}

TEST(an_output_over_an_input_or_another_output_is_refused_by_their_names)
{
    bound b = {.session = new_session("naive:0", 2), .in = ramp(4, 2)};
    const tfr_shape four = {1, {4}};
    const int64_t back[] = {-1};
    tfr_tensor *whole = ramp(7, 0), *outs[4] = {NULL}, *reversed = NULL;
    tfr_binding *binding = NULL;
    for (int i = 0; i < 4; i++)
        b.out[i] = outs[i] = ramp(4, 0);
    outs[1] = b.in;
    CHECK_STATUS(TFR_EINVAL, tfr_binding_create(b.session, &b.in, 1, outs, 4, &binding, &err),
                 &err);
    CHECK_CONTAINS("shares memory with input", err.text);
    outs[1] = outs[0];
    CHECK_STATUS(TFR_EINVAL, tfr_binding_create(b.session, &b.in, 1, outs, 4, &binding, &err),
                 &err);
    CHECK_CONTAINS("shares memory with output", err.text);
    /* Elements 6 5 4 3 as the input, 0 1 2 3 as an output: one of them is the same. */
    REQUIRE_OK(tfr_tensor_view(whole, 6, &four, back, &reversed, &err), &err);
    REQUIRE_OK(tfr_tensor_view(whole, 0, &four, NULL, &outs[1], &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_binding_create(b.session, &reversed, 1, outs, 4, &binding, &err),
                 &err);
    CHECK_CONTAINS("shares memory with input", err.text);
    CHECK(binding == NULL);
    tfr_tensor_release(outs[1]);
    tfr_tensor_release(reversed);
    tfr_tensor_release(whole);
    drop_bound(&b);
}

TEST(a_size_that_only_a_run_can_tell_is_refused)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_binding *binding = NULL;
    tfr_tensor *in = ramp(4, 2);
    output(graph, unary(graph, "NonZero", x));
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_binding_create(session, &in, 1, &in, 1, &binding, &err),
                 &err);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
}

TEST(control_flow_is_refused_by_its_name)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x), *branches[2];
    tfr_tensor *in = new_tensor(TFR_DTYPE_BOOL, 0, NULL, "\1"), *out = ramp(1, 0);
    tfr_binding *binding = NULL;
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_graph_create_child(graph, "branch", &branches[i], &err), &err);
        REQUIRE_OK(tfr_graph_add_constant(branches[i], "c", out, &v, &err), &err);
        output(branches[i], v);
    }
    output(graph, graph_text_if(graph, x, branches[0], branches[1]));
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_binding_create(session, &in, 1, &out, 1, &binding, &err),
                 &err);
    CHECK_CONTAINS("node \"If_0\" (If) is control flow", err.text);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

static tfr_tensor *strings(const char *first, const char *second)
{
    const tfr_shape two = {1, {2}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &two, &t, &err), &err);
    REQUIRE_OK(tfr_tensor_set_string(t, 0, first, strlen(first), &err), &err);
    REQUIRE_OK(tfr_tensor_set_string(t, 1, second, strlen(second), &err), &err);
    return t;
}

/* x as it is, x + x, and a constant. */
static tfr_session *session_of_strings(void)
{
    tfr_value x, c;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = strings("a constant of several words", "");
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    tfr_tensor_release(t);
    output(graph, x);
    output(graph, binary(graph, "StringConcat", x, x));
    output(graph, c);
    return session_over(new_runtime(), graph, "naive:0");
}

TEST(strings_that_a_run_gives_out_are_copies)
{
    const uint64_t live = tfr__alloc_live();
    tfr_session *session = session_of_strings();
    tfr_tensor *in = strings("one", "two"), *out[3];
    tfr_binding *binding = NULL;
    for (int i = 0; i < 3; i++)
        out[i] = strings("before", "the first run");
    REQUIRE_OK(tfr_binding_create(session, &in, 1, out, 3, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    REQUIRE_OK(tfr_tensor_set_string(in, 1, "three", 5, &err), &err);
    CHECK_STR("two", tfr_tensor_get_string(out[0], 1, NULL));
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    tfr_binding_destroy(binding);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    CHECK_STR("three", tfr_tensor_get_string(out[0], 1, NULL));
    CHECK_STR("oneone", tfr_tensor_get_string(out[1], 0, NULL));
    CHECK_STR("threethree", tfr_tensor_get_string(out[1], 1, NULL));
    CHECK_STR("a constant of several words", tfr_tensor_get_string(out[2], 0, NULL));
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(out[i]);
    CHECK_UINT(live, tfr__alloc_live());
}

TEST(an_output_whose_strings_are_the_callers_is_refused)
{
    const tfr_shape two = {1, {2}};
    tfr_string callers[] = {{"his", 3}, {"own", 3}};
    tfr_session *session = session_of_strings();
    tfr_tensor *in = strings("one", "two"), *out[3];
    tfr_binding *binding = NULL;
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(
            tfr_tensor_wrap(TFR_DTYPE_STRING, &two, NULL, callers, NULL, NULL, &out[i], &err),
            &err);
    CHECK_STATUS(TFR_EPERM, tfr_binding_create(session, &in, 1, out, 3, &binding, &err), &err);
    CHECK_CONTAINS("strings in the caller's memory", err.text);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(out[i]);
}

TEST(an_input_that_is_given_out_may_have_strides)
{
    const tfr_shape four = {1, {4}};
    const int64_t back[] = {-1};
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = ramp(4, 3), *reversed = NULL, *out = ramp(4, 0);
    tfr_binding *binding = NULL;
    output(graph, x);
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_tensor_view(in, 3, &four, back, &reversed, &err), &err);
    REQUIRE_OK(tfr_binding_create(session, &reversed, 1, &out, 1, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(i, at(out, i), 0);
    tfr_binding_destroy(binding);
    tfr_session_destroy(session);
    tfr_tensor_release(reversed);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

TEST(an_output_of_no_elements_can_be_bound)
{
    const tfr_shape none = {1, {0}};
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = NULL, *out = NULL;
    tfr_binding *binding = NULL;
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &none, &in, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &none, &out, &err), &err);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    tfr_binding_destroy(binding);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

TEST(each_run_draws_other_random_numbers)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_binding *binding = NULL;
    tfr_tensor *in = ramp(4, 2), *out = ramp(4, 0);
    float first;
    output(graph, unary(graph, "RandomUniformLike", x));
    tfr_session *session = session_over(new_runtime(), graph, NULL);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    first = at(out, 0);
    REQUIRE_OK(tfr_binding_run(binding, &err), &err);
    CHECK(at(out, 0) != first);
    tfr_binding_destroy(binding);
    tfr_session_destroy(session);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

/* Rows of x by i, then Relu, on the accelerator where it is small enough. */
static tfr_session *session_of_rows(void)
{
    const tfr_option options[] = {{"fakeacc.size_limit", "50"}, {"disable", "native,onednn"}};
    tfr_value x[2];
    tfr_graph *graph = new_graph(2, x);
    output(graph, unary(graph, "Relu", binary(graph, "Gather", x[0], x[1])));
    return session_over(accelerator_runtime(options, 2), graph, "NPU:0");
}

static tfr_tensor *zeros(tfr_dtype dtype, int32_t rank, int64_t n)
{
    const int64_t dims[] = {n, n};
    tfr_tensor *t = new_tensor(dtype, rank, dims, NULL);
    memset(tfr_tensor_data(t), 0, tfr_tensor_bytes(t));
    return t;
}

typedef struct failing {
    tfr_binding *binding;
    int n_failed;
} failing;

static void *fail_often(void *user)
{
    failing *f = user;
    for (int i = 0; i < 200; i++)
        f->n_failed += tfr_binding_run(f->binding, NULL) == TFR_EINVAL;
    return NULL;
}

TEST(a_binding_on_the_host_may_fail_while_its_session_opens_a_device)
{
    tfr_session *session = session_of_rows();
    tfr_tensor *large[] = {zeros(TFR_DTYPE_F32, 2, 8), zeros(TFR_DTYPE_I64, 1, 8)};
    tfr_tensor *small[] = {zeros(TFR_DTYPE_F32, 2, 4), zeros(TFR_DTYPE_I64, 1, 2)};
    tfr_tensor *bound_out = zeros(TFR_DTYPE_F32, 2, 8), *out = NULL;
    failing f = {0};
    pthread_t thread;
    REQUIRE_OK(tfr_binding_create(session, large, 2, &bound_out, 1, &f.binding, &err), &err);
    ((int64_t *)tfr_tensor_data(large[1]))[7] = 99; /* there is no such row */
    REQUIRE_INT(0, pthread_create(&thread, NULL, fail_often, &f));
    CHECK_OK(tfr_session_run(session, small, 2, &out, 1, &err), &err);
    CHECK(stats_of(session).n_copies > 0); /* it was on the accelerator */
    pthread_join(thread, NULL);
    CHECK_INT(200, f.n_failed);
    tfr_binding_destroy(f.binding);
    for (int i = 0; i < 2; i++) {
        tfr_tensor_release(large[i]);
        tfr_tensor_release(small[i]);
    }
    tfr_tensor_release(bound_out);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
}

static const test_case cases[] = {
    CASE(each_run_reads_the_inputs_and_writes_the_outputs_anew),
    CASE(each_run_draws_other_random_numbers),
    CASE(a_device_with_queues_can_be_bound),
    CASE(a_run_takes_no_memory),
    CASE(a_run_of_a_session_takes_one_block_an_output),
    CASE(a_run_makes_no_system_call),
    CASE(an_output_of_the_wrong_shape_is_refused_with_both),
    CASE(an_output_that_must_not_be_written_is_refused),
    CASE(an_output_over_an_input_or_another_output_is_refused_by_their_names),
    CASE(a_size_that_only_a_run_can_tell_is_refused),
    CASE(control_flow_is_refused_by_its_name),
    CASE(strings_that_a_run_gives_out_are_copies),
    CASE(an_output_whose_strings_are_the_callers_is_refused),
    CASE(an_input_that_is_given_out_may_have_strides),
    CASE(an_output_of_no_elements_can_be_bound),
    CASE(a_binding_on_the_host_may_fail_while_its_session_opens_a_device),
};
TEST_MAIN(cases)

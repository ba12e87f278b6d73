/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that give out some outputs: what nobody fetches is not brought to the host. */
#include "base/alloc.h"
#include "session_kit.h"

enum { N = 8 };
static const int64_t n_elements = N;

static tfr_tensor *full(float value)
{
    tfr_tensor *t = floats(1, &n_elements, NULL);
    for (int i = 0; i < N; i++)
        ((float *)tfr_tensor_data(t))[i] = value;
    return t;
}

static float first_of(const tfr_tensor *t)
{
    return ((const float *)tfr_tensor_data(t))[0];
}

/* y = x + x, z = y * x, and y again. */
static tfr_graph *two_outputs(void)
{
    tfr_value x, y;
    tfr_graph *graph = new_graph(1, &x);
    y = binary(graph, "Add", x, x);
    output(graph, y);
    output(graph, binary(graph, "Mul", y, x));
    REQUIRE_OK(tfr_graph_add_output(graph, y, "again", &err), &err);
    return graph;
}

/* w = w + x; the loss is w * x. */
static tfr_graph *training(void)
{
    tfr_value x, w;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = full(0);
    REQUIRE_OK(tfr_graph_add_variable(graph, "w", t, &w, &err), &err);
    tfr_tensor_release(t);
    output(graph, binary(graph, "Mul", w, x));
    REQUIRE_OK(tfr_graph_set_update(graph, w, binary(graph, "Add", w, x), &err), &err);
    return graph;
}

TEST(what_is_not_fetched_is_not_copied)
{
    static const struct {
        uint32_t fetch[3], n, n_copies;
    } rows[] = {{{0}, 0, 1}, {{1}, 1, 2}, {{0}, 1, 2}, {{2, 1}, 2, 3}, {{2, 0}, 2, 2}};
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), two_outputs(), "fakeacc:0");
    tfr_tensor *in = full(3), *out[3];
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, rows[i].fetch, rows[i].n, out, &err),
                       &err);
            CHECK_UINT(rows[i].n_copies, stats_of(session).n_copies);
            CHECK_UINT(rows[i].n_copies * N * sizeof(float), stats_of(session).copy_bytes);
            for (uint32_t k = 0; k < rows[i].n; k++) {
                CHECK_NEAR(rows[i].fetch[k] == 1 ? 18 : 6, first_of(out[k]), 0);
                tfr_tensor_release(out[k]);
            }
        }
    REQUIRE_OK(tfr_session_run(session, &in, 1, out, 3, &err), &err);
    CHECK_UINT(3, stats_of(session).n_copies);
    CHECK_UINT(1, stats_of(session).n_plans);
    CHECK_UINT(1, stats_of(session).n_waits);
    for (int k = 0; k < 3; k++)
        tfr_tensor_release(out[k]);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(a_loss_shown_every_tenth_step_is_copied_then)
{
    static const uint32_t loss = 0;
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), training(), "fakeacc:0");
    tfr_tensor *in = full(1), *out = NULL;
    for (int k = 1; k <= 30; k++) {
        REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, &loss, k % 10 == 0, &out, &err), &err);
        CHECK_UINT(k % 10 ? 1 : 2, stats_of(session).n_copies);
        if (k % 10 == 0)
            CHECK_NEAR(k - 1, first_of(out), 0);
        tfr_tensor_release(out);
        out = NULL;
    }
    CHECK_UINT(1, stats_of(session).variable_moves);
    CHECK_UINT(1, stats_of(session).n_plans);
    REQUIRE_OK(tfr_session_get_variable(session, "w", &out, &err), &err);
    CHECK_NEAR(30, first_of(out), 0);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

/* The output is written all the same, each time into the same memory. */
TEST(a_training_whose_loss_nobody_fetches_takes_no_memory)
{
    static const char *const devices[] = {"naive:0", "fakeacc:0"};
    static const uint32_t loss = 0;
    for (size_t d = 0; d < 2; d++) {
        tfr_session *session = session_over(accelerator_runtime(NULL, 0), training(), devices[d]);
        tfr_tensor *in = full(1), *out = NULL, *kept = NULL;
        uint64_t before = 0;
        for (int k = 0; k < 6; k++) {
            before = k == 2 ? tfr__alloc_count() : before;
            REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, NULL, 0, NULL, &err), &err);
        }
        CHECK_UINT(before, tfr__alloc_count());
        /* What is fetched then is the caller's. */
        for (int k = 6; k < 9; k++) {
            REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, &loss, k != 7, &out, &err), &err);
            CHECK(k == 7 || first_of(out) == (float)k);
            kept = k == 6 ? out : kept;
        }
        CHECK_NEAR(6, first_of(kept), 0);
        tfr_tensor_release(kept);
        tfr_tensor_release(out);
        tfr_tensor_release(in);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

TEST(a_view_of_a_constant_is_brought_to_the_device_once)
{
    tfr_value x, c;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = full(2), *in = full(3), *out = NULL;
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = accelerator_runtime(NULL, 0);
    tfr_session *session = NULL;
    REQUIRE_OK(tfr_graph_add_constant(graph, "c", t, &c, &err), &err);
    output(graph, binary(graph, "Mul", unary(graph, "Identity", c), x));
    options.device = "fakeacc:0";
    options.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_NEAR(6, first_of(out), 0);
    CHECK_UINT(2, stats_of(session).n_copies);
    tfr_tensor_release(t);
    tfr_tensor_release(out);
    end_session(runtime, graph, session, in);
    CHECK_STR("", breaches);
}

TEST(another_choice_takes_no_memory)
{
    static const uint32_t fetch[] = {0, 1, 2};
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), two_outputs(), "fakeacc:0");
    tfr_tensor *in = full(3), *out[3];
    for (uint32_t n = 0; n < 8; n++) {
        const uint64_t before = tfr__alloc_count();
        REQUIRE_OK(tfr_session_run_fetch(session, &in, 1, fetch, n % 4 > 2 ? 2 : n % 4, out, &err),
                   &err);
        if (n > 3) /* an output each */
            CHECK_UINT(before + (n % 4 > 2 ? 2 : n % 4), tfr__alloc_count());
        for (uint32_t k = 0; k < (n % 4 > 2 ? 2 : n % 4); k++)
            tfr_tensor_release(out[k]);
    }
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(numbers_of_no_output_and_doubles_are_refused)
{
    static const uint32_t wrong[] = {1, 3}, twice[] = {1, 0, 1};
    tfr_session *session = session_over(new_runtime(), two_outputs(), "naive:0");
    tfr_tensor *in = full(3), *out[3];
    CHECK_STATUS(TFR_EINVAL, tfr_session_run_fetch(session, &in, 1, wrong, 2, out, &err), &err);
    CHECK_STR("output 3 is wanted, the graph has 3 outputs", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_session_run_fetch(session, &in, 1, twice, 3, out, &err), &err);
    CHECK_CONTAINS("is wanted twice", err.text);
    CHECK(out[0] == NULL && out[2] == NULL);
    CHECK_OK(tfr_session_run_fetch(session, &in, 1, twice, 2, out, &err), &err);
    CHECK_NEAR(18, first_of(out[0]), 0);
    CHECK_NEAR(6, first_of(out[1]), 0);
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(a_failed_run_gives_out_nothing_and_the_next_one_all)
{
    static const tfr_option fails = {"fakeacc.fail_after", "1"};
    static const uint32_t second = 1;
    tfr_session *session = session_over(accelerator_runtime(&fails, 1), two_outputs(), "fakeacc:0");
    tfr_tensor *in = full(3), *out[3] = {NULL};
    CHECK_STATUS(TFR_EDEVICE, tfr_session_run_fetch(session, &in, 1, &second, 1, out, &err), &err);
    CHECK(out[0] == NULL);
    REQUIRE_OK(tfr_session_run(session, &in, 1, out, 3, &err), &err);
    for (int k = 0; k < 3; k++)
        tfr_tensor_release(out[k]);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

/* s is an output, the state of w, and what the second section reads. */
TEST(what_others_read_is_there_without_being_fetched)
{
    tfr_value x, w, s, in[2];
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *t = full(1), *out[2], *given = full(2);
    uint32_t last = 1;
    REQUIRE_OK(tfr_graph_add_variable(graph, "w", t, &w, &err), &err);
    tfr_tensor_release(t);
    s = binary(graph, "Add", w, x);
    output(graph, s);
    in[0] = unary(graph, "NonZero", s); /* the next section begins with its reader */
    in[1] = in[0];
    in[0] = binary(graph, "Mul", unary(graph, "Shape", in[0]), unary(graph, "Shape", in[1]));
    output(graph, binary(graph, "Mul", unary(graph, "Relu", s), s));
    output(graph, in[0]);
    REQUIRE_OK(tfr_graph_set_update(graph, w, s, &err), &err);
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), graph, "fakeacc:0");
    for (int k = 1; k < 4; k++) {
        REQUIRE_OK(tfr_session_run_fetch(session, &given, 1, &last, 1, out, &err), &err);
        CHECK_NEAR((1 + 2 * k) * (1 + 2 * k), first_of(out[0]), 0);
        tfr_tensor_release(out[0]);
    }
    tfr_tensor_release(given);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(a_binding_writes_what_is_fetched)
{
    static const uint32_t second = 1;
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), two_outputs(), "fakeacc:0");
    tfr_tensor *in = full(3), *out[3] = {full(-1), full(-1), full(-1)};
    tfr_binding *binding = NULL;
    REQUIRE_OK(tfr_binding_create(session, &in, 1, out, 3, &binding, &err), &err);
    CHECK_OK(tfr_binding_run_fetch(binding, NULL, 0, &err), &err);
    CHECK_NEAR(-1, first_of(out[1]), 0);
    CHECK_OK(tfr_binding_run_fetch(binding, &second, 1, &err), &err);
    CHECK_NEAR(18, first_of(out[1]), 0);
    CHECK_NEAR(-1, first_of(out[0]), 0);
    CHECK_NEAR(-1, first_of(out[2]), 0);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_NEAR(6, first_of(out[0]), 0);
    CHECK_NEAR(6, first_of(out[2]), 0);
    tfr_binding_destroy(binding);
    tfr_tensor_release(in);
    for (int k = 0; k < 3; k++)
        tfr_tensor_release(out[k]);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

static const test_case cases[] = {
    CASE(what_is_not_fetched_is_not_copied),
    CASE(a_loss_shown_every_tenth_step_is_copied_then),
    CASE(a_training_whose_loss_nobody_fetches_takes_no_memory),
    CASE(a_view_of_a_constant_is_brought_to_the_device_once),
    CASE(another_choice_takes_no_memory),
    CASE(numbers_of_no_output_and_doubles_are_refused),
    CASE(a_failed_run_gives_out_nothing_and_the_next_one_all),
    CASE(what_others_read_is_there_without_being_fetched),
    CASE(a_binding_writes_what_is_fetched),
};
TEST_MAIN(cases)

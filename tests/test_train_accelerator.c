/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings on the fake accelerator: with few of the ops that the step needs, and with all of them,
 * which the reference lends.
 */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

enum { SIDE = 12, CLASSES = 5, BATCH = 6, STEPS = 12, PIXELS = SIDE * SIDE };

/* ---- a training ------------------------------------------------------------------------------ */

static tfr_trainer *new_trainer(tfr_runtime *runtime, const char *device, bool draws)
{
    const int64_t dims[] = {-1, 1, SIDE, SIDE};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_conv(net, 4, 3, "relu");
    tfr_net_max_pool(net, 2);
    tfr_net_flatten(net);
    if (draws)
        tfr_net_dropout(net, .25f);
    tfr_net_dense(net, 8, "relu");
    tfr_net_dense(net, CLASSES, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    o.device = device;
    o.learning_rate = .01;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
    tfr_net_destroy(net);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return trainer;
}

static tfr_runtime *with_lender(void)
{
    static char path[1024];
    const char *build = getenv("TFR_BUILDDIR");
    tfr_option options[] = {{"fakeacc.size_limit", "1000000"},
                            {"fakeacc.memory_limit", "16777216"},
                            {"fakeacc.delay_us", "0"},
                            {"fakeacc.lender", path}};
    snprintf(path, sizeof path, "%s/.libs/tfrun-naive.so", build ? build : ".");
    return accelerator_runtime(options, 4);
}

/* A batch that can be learnt: each class has a bright line of its own. */
static void new_batch(int number, tfr_tensor **input, tfr_tensor **target)
{
    float x[BATCH * PIXELS];
    int64_t y[BATCH];
    const int64_t dims[] = {BATCH, 1, SIDE, SIDE}, n = BATCH;
    uint32_t seed = 7u + (uint32_t)number;
    for (int i = 0; i < BATCH * PIXELS; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-25f;
    }
    for (int i = 0; i < BATCH; i++) {
        y[i] = (number + i) % CLASSES;
        for (int k = 0; k < SIDE; k++)
            x[i * PIXELS + (2 * (int)y[i] + 1) * SIDE + k] += .5f;
    }
    *input = floats(4, dims, x);
    *target = ints(n, y);
}

static void step(tfr_trainer *trainer, int number)
{
    tfr_tensor *input, *target;
    new_batch(number, &input, &target);
    REQUIRE_OK(tfr_trainer_step(trainer, input, target, &err), &err);
    tfr_tensor_release(input);
    tfr_tensor_release(target);
}

static double loss_of(tfr_trainer *trainer)
{
    tfr_train_metrics metrics = {.size = sizeof metrics};
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    return metrics.loss;
}

/* ---- with half of the ops -------------------------------------------------------------------- */

TEST(half_an_accelerator_trains_as_the_cpu_does_and_tells_its_copies)
{
    tfr_trainer *cpu = new_trainer(new_runtime(), "naive:0", false);
    tfr_trainer *half = new_trainer(accelerator_runtime(NULL, 0), "NPU:0", false);
    tfr_session *session = tfr_trainer_session(half);
    uint32_t n_there = 0, n_copies = 0;
    double first = 0;
    for (int i = 0; i < STEPS; i++) {
        double want, got;
        step(cpu, i);
        step(half, i);
        want = loss_of(cpu);
        got = loss_of(half);
        CHECK(fabs(got - want) < 1e-5 * want);
        first = i ? first : got;
        CHECK(i < STEPS - 1 || got < first);
    }
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        const tfr_placement row = row_of(session, i);
        n_there += strcmp(row.backend, "fakeacc:0") == 0;
        n_copies += row.n_copies;
        CHECK(!row.fallback || *row.text);
    }
    CHECK(n_there > 10);
    CHECK(stats_of(session).n_fallbacks > 10);
    CHECK(n_copies > 10);
    CHECK(stats_of(session).n_copies >= n_copies);
    tfr_trainer_destroy(cpu);
    tfr_trainer_destroy(half);
    CHECK_STR("", breaches);
}

/* What a variable is read and written by may be on both sides, its home stays. */
TEST(variables_stay_where_they_are_from_step_to_step)
{
    tfr_trainer *half = new_trainer(accelerator_runtime(NULL, 0), "NPU:0", false);
    tfr_session *session = tfr_trainer_session(half);
    uint64_t moves, copied;
    step(half, 0);
    moves = stats_of(session).variable_moves;
    copied = stats_of(session).copy_bytes;
    CHECK(moves > 0);
    for (int i = 1; i < STEPS; i++) {
        step(half, i);
        CHECK_UINT(moves, stats_of(session).variable_moves);
        CHECK_UINT(copied, stats_of(session).copy_bytes);
    }
    tfr_trainer_destroy(half);
    CHECK_STR("", breaches);
}

/* ---- with all of them ------------------------------------------------------------------------ */

enum { BATCH_BYTES = BATCH * PIXELS * 4 + BATCH * 8 };

TEST(a_step_that_it_computes_alone_copies_the_batch_and_the_loss_that_is_fetched)
{
    static const uint32_t fetched = 0;
    tfr_trainer *cpu = new_trainer(new_runtime(), "naive:0", false);
    tfr_trainer *whole = new_trainer(with_lender(), "NPU:0", false);
    tfr_session *session = tfr_trainer_session(whole);
    tfr_tensor *in[2], *loss = NULL;
    uint64_t moves = 0;
    for (int i = 0; i < STEPS; i++) {
        step(cpu, i);
        step(whole, i);
        if (!i)
            for (uint32_t k = 0; k < tfr_session_n_placements(session); k++)
                CHECK_STR("", row_of(session, k).fallback ? row_of(session, k).text : "");
        CHECK_UINT(0, stats_of(session).n_fallbacks);
        CHECK_UINT(2, stats_of(session).n_copies);
        CHECK_UINT(BATCH_BYTES, stats_of(session).copy_bytes);
        moves = i ? moves : stats_of(session).variable_moves;
        CHECK_UINT(moves, stats_of(session).variable_moves);
    }
    new_batch(STEPS, &in[0], &in[1]);
    REQUIRE_OK(tfr_session_run_fetch(session, in, 2, &fetched, 1, &loss, &err), &err);
    CHECK_UINT(3, stats_of(session).n_copies);
    CHECK_UINT(BATCH_BYTES + 4, stats_of(session).copy_bytes);
    step(cpu, STEPS);
    CHECK_NEAR(loss_of(cpu), loss_of(whole), 1e-5);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_tensor_release(loss);
    tfr_trainer_destroy(cpu);
    tfr_trainer_destroy(whole);
    CHECK_STR("", breaches);
}

TEST(what_it_draws_from_is_one_more_copy_that_is_counted)
{
    tfr_trainer *whole = new_trainer(with_lender(), "NPU:0", true);
    tfr_session *session = tfr_trainer_session(whole);
    for (int i = 0; i < 3; i++) {
        step(whole, i);
        CHECK_UINT(3, stats_of(session).n_copies);
        CHECK_UINT(BATCH_BYTES + sizeof(tfr_random_state), stats_of(session).copy_bytes);
    }
    tfr_trainer_destroy(whole);
    CHECK_STR("", breaches);
}

static const test_case cases[] = {
    CASE(half_an_accelerator_trains_as_the_cpu_does_and_tells_its_copies),
    CASE(variables_stay_where_they_are_from_step_to_step),
    CASE(a_step_that_it_computes_alone_copies_the_batch_and_the_loss_that_is_fetched),
    CASE(what_it_draws_from_is_one_more_copy_that_is_counted),
};
TEST_MAIN(cases)

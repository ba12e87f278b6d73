/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of trainers: what is trained, metrics, evaluation, and the graph that comes out. Optimizers
 * are tested in test_optimizer.c.
 */
#include "trainer_kit.h"

TEST(a_learning_rate_can_be_set_between_steps)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_trainer *trainer;
    layer before, after;
    int64_t steps = -1;
    o.loss = "mse";
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &before);
    REQUIRE_OK(tfr_trainer_set_learning_rate(trainer, 0, &err), &err);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &after);
    CHECK(memcmp(before.p, after.p, sizeof before.p) == 0);
    REQUIRE_OK(tfr_trainer_steps(trainer, &steps, &err), &err);
    CHECK_INT(2, steps);
    CHECK_INT(TFR_EINVAL, tfr_trainer_set_learning_rate(trainer, -1, &err));
    tfr_trainer_destroy(trainer);
}

TEST(metrics_weigh_samples_alike_whatever_the_batch_and_begin_anew_when_read)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_train_metrics metrics = {.size = sizeof metrics};
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    double g[N_ALL], loss;
    tfr_trainer *trainer;
    layer l;
    o.loss = "mse";
    o.learning_rate = 0;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    read_layer(trainer, &l);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    step(trainer, x, t, 1);
    loss = (loss_of(&l, x, t, BATCH, g) * BATCH + loss_of(&l, x, t, 1, g)) / (BATCH + 1);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    CHECK_INT(BATCH + 1, metrics.samples);
    CHECK_INT(0, metrics.has_accuracy);
    CHECK(fabs(metrics.loss - loss) < 1e-6);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    CHECK_INT(0, metrics.samples);
    tfr_trainer_destroy(trainer);
}

TEST(the_evaluation_has_the_weights_as_they_are)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_tensor *in = matrix(BATCH, N_IN, x), *target = matrix(BATCH, N_OUT, t);
    tfr_trainer *trainer;
    o.loss = "mse";
    o.learning_rate = .1;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    for (int i = 0; i < 3; i++) {
        tfr_train_metrics metrics = {.size = sizeof metrics};
        double g[N_ALL];
        layer l;
        step(trainer, x, t, BATCH);
        read_layer(trainer, &l);
        for (int k = 0; k < 2; k++)
            REQUIRE_OK(tfr_trainer_evaluate(trainer, in, target, &metrics, &err), &err);
        CHECK_INT(2 * BATCH, metrics.samples);
        CHECK(fabs(metrics.loss - loss_of(&l, x, t, BATCH, g)) < 1e-6);
    }
    tfr_tensor_release(in);
    tfr_tensor_release(target);
    tfr_trainer_destroy(trainer);
}

TEST(the_trained_graph_gives_what_the_weights_give)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_tensor *in = matrix(BATCH, N_IN, x), *out = NULL;
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer;
    layer l;
    o.loss = "mse";
    o.learning_rate = .1;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &l);
    REQUIRE_OK(tfr_trainer_graph(trainer, &graph, &err), &err);
    tfr_trainer_destroy(trainer);
    CHECK_STR("output", tfr_graph_output_name(graph, 0));
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < N_OUT; j++)
            CHECK(fabs((double)((const float *)tfr_tensor_data(out))[i * N_OUT + j] -
                       value_of(&l, x + i * N_IN, j)) < 1e-6);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(frozen_weights_stay)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_trainer *trainer;
    uint32_t n_weights = 0;
    double bias[N_OUT];
    o.loss = "mse";
    o.freeze = "conv*,*.weight";
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    for (uint32_t i = 0; i < tfr_trainer_n_variables(trainer); i++)
        n_weights += strstr(tfr_trainer_variable(trainer, i), "dense1.weight") != NULL;
    CHECK_UINT(0, n_weights);
    read_floats(trainer, "dense1.bias", bias, N_OUT);
    CHECK(fabs(bias[0]) > 1e-4);
    tfr_trainer_destroy(trainer);
}

TEST(initial_weights_follow_from_the_seed)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    layer l[3];
    double limit = sqrt(6. / (N_IN + N_OUT)), most = 0;
    o.loss = "mse";
    for (int i = 0; i < 3; i++) {
        tfr_trainer *trainer = trainer_of(dense_graph(TFR_NET_KERAS, i == 2 ? 8 : 7), &o);
        read_layer(trainer, &l[i]);
        tfr_trainer_destroy(trainer);
    }
    CHECK(memcmp(&l[0], &l[1], sizeof *l) == 0);
    CHECK(memcmp(&l[0], &l[2], sizeof *l) != 0);
    for (int i = 0; i < N_WEIGHTS; i++)
        most = fmax(most, fabs(l[0].p[i]));
    CHECK(most <= limit && most > limit / 4);
    CHECK(l[0].p[N_WEIGHTS] == 0);
}

TEST(wrong_options_are_named_with_the_right_ones)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = dense_graph(TFR_NET_KERAS, 1);
    tfr_trainer *trainer = NULL;
    o.loss = "hinge";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("there is no loss \"hinge\"; softmax_cross_entropy, binary_cross_entropy, mse",
              err.text);
    o.loss = "mse";
    o.label_smoothing = .1;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("the loss \"mse\" has no labels to smooth", err.text);
    o.label_smoothing = 1;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("a label smoothing of 1, want 0 up to below 1", err.text);
    o.label_smoothing = 0;
    o.optimizer = "lion";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("there is no optimizer \"lion\"; adam, adamw, sgd", err.text);
    o.optimizer = NULL;
    o.freeze = "*";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("graph \"dense\" has no float32 weights to train that are not frozen", err.text);
    CHECK(trainer == NULL);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(a_learning_rate_can_be_set_between_steps),
    CASE(metrics_weigh_samples_alike_whatever_the_batch_and_begin_anew_when_read),
    CASE(the_evaluation_has_the_weights_as_they_are),
    CASE(the_trained_graph_gives_what_the_weights_give),
    CASE(frozen_weights_stay),
    CASE(initial_weights_follow_from_the_seed),
    CASE(wrong_options_are_named_with_the_right_ones),
};
TEST_MAIN(cases)

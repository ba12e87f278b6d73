/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of gradients over several steps, and of loss scales. */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

enum { N_IN = 3, N_OUT = 2, BATCH = 4 };

static tfr_trainer *trainer_over(tfr_graph *graph, const tfr_train_options *options)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer = NULL;
    tfr_train_options o = *options;
    o.loss = "mse";
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return trainer;
}

static tfr_trainer *trainer_of(const tfr_train_options *options)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("dense", dims, 2, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_dense(net, N_OUT, "tanh");
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return trainer_over(graph, options);
}

/* Samples from number `first` on. */
static void step(tfr_trainer *trainer, int first, int n)
{
    tfr_tensor *x = new_tensor(TFR_DTYPE_F32, 2, (const int64_t[]){n, N_IN}, NULL),
               *t = new_tensor(TFR_DTYPE_F32, 2, (const int64_t[]){n, N_OUT}, NULL);
    for (int i = 0; i < n * N_IN; i++)
        ((float *)tfr_tensor_data(x))[i] = (float)((first * N_IN + i) * 7 % 11) / 11 - .5f;
    for (int i = 0; i < n * N_OUT; i++)
        ((float *)tfr_tensor_data(t))[i] = (float)((first * N_OUT + i) * 5 % 7) / 7 - .5f;
    REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
}

/* One whose gradients are not finite. */
static void bad_step(tfr_trainer *trainer)
{
    tfr_tensor *x = new_tensor(TFR_DTYPE_F32, 2, (const int64_t[]){BATCH, N_IN}, NULL),
               *t = new_tensor(TFR_DTYPE_F32, 2, (const int64_t[]){BATCH, N_OUT}, NULL);
    memset(tfr_tensor_data(x), 0, tfr_tensor_bytes(x));
    memset(tfr_tensor_data(t), 0, tfr_tensor_bytes(t));
    ((float *)tfr_tensor_data(t))[3] = INFINITY;
    REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
}

static tfr_tensor *variable(tfr_trainer *trainer, const char *name)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_trainer_get_variable(trainer, name, &t, &err), &err);
    return t;
}

static bool has(const tfr_trainer *trainer, const char *prefix)
{
    for (uint32_t i = 0; i < tfr_trainer_n_variables(trainer); i++)
        if (strncmp(tfr_trainer_variable(trainer, i), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* The greatest difference between their weights and slots of Adam. */
static double difference(tfr_trainer *a, tfr_trainer *b)
{
    static const char *const names[] = {"dense1.weight",        "dense1.bias",
                                        "adam.m/dense1.weight", "adam.v/dense1.weight",
                                        "adam.m/dense1.bias",   "adam.v/dense1.bias"};
    double most = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        tfr_tensor *u = variable(a, names[k]), *v = variable(b, names[k]);
        for (int64_t i = 0; i < tfr_tensor_elements(u); i++)
            most = fmax(most, fabs((double)((const float *)tfr_tensor_data(u))[i] -
                                   (double)((const float *)tfr_tensor_data(v))[i]));
        tfr_tensor_release(u);
        tfr_tensor_release(v);
    }
    return most;
}

static int64_t updates(tfr_trainer *trainer)
{
    int64_t n = -1;
    REQUIRE_OK(tfr_trainer_steps(trainer, &n, &err), &err);
    return n;
}

static float scale(tfr_trainer *trainer)
{
    tfr_tensor *t = variable(trainer, "loss_scale.scale");
    float out = *(const float *)tfr_tensor_data(t);
    tfr_tensor_release(t);
    return out;
}

static void set_good(tfr_trainer *trainer, int64_t n)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(
        tfr_tensor_wrap(TFR_DTYPE_I64, &(tfr_shape){.rank = 0}, NULL, &n, NULL, NULL, &t, &err),
        &err);
    REQUIRE_OK(tfr_trainer_set_variable(trainer, "loss_scale.good", t, &err), &err);
    tfr_tensor_release(t);
}

/* ---- several steps --------------------------------------------------------------------------- */

TEST(steps_that_accumulate_update_as_one_step_of_all_their_samples)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT, once = o;
    tfr_trainer *parts, *whole;
    tfr_train_metrics metrics = {.size = sizeof metrics};
    once.clip_norm = o.clip_norm = .05; /* of the mean, not of each part */
    o.accumulate = 3;
    parts = trainer_of(&o);
    whole = trainer_of(&once);
    for (int i = 0; i < 4; i++) {
        step(whole, 3 * i * BATCH, 3 * BATCH);
        for (int k = 0; k < 3; k++) {
            CHECK_INT(i, updates(parts));
            step(parts, (3 * i + k) * BATCH, BATCH);
        }
        CHECK_INT(i + 1, updates(parts));
        CHECK(difference(parts, whole) < 1e-6);
    }
    REQUIRE_OK(tfr_trainer_read_metrics(parts, &metrics, &err), &err);
    CHECK_INT(12 * BATCH, metrics.samples);
    tfr_trainer_destroy(parts);
    tfr_trainer_destroy(whole);
}

TEST(a_schedule_goes_by_updates)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer;
    const double want[] = {1, 1, .5, .5, 0};
    o.accumulate = 2;
    o.learning_rate = 1;
    o.schedule = "polynomial:steps=2";
    trainer = trainer_of(&o);
    for (int i = 0; i < 5; i++) {
        tfr_tensor *rate;
        step(trainer, 0, BATCH);
        rate = variable(trainer, "optimizer.learning_rate");
        CHECK(*(const double *)tfr_tensor_data(rate) == want[i]);
        tfr_tensor_release(rate);
    }
    tfr_trainer_destroy(trainer);
}

/* ---- loss scales ----------------------------------------------------------------------------- */

TEST(a_loss_scale_changes_no_bit_of_what_is_finite)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *plain = trainer_of(&o), *scaled;
    o.loss_scale = 32768;
    scaled = trainer_of(&o);
    for (int i = 0; i < 3; i++) {
        step(plain, i, BATCH);
        step(scaled, i, BATCH);
    }
    CHECK(difference(plain, scaled) == 0);
    CHECK(!has(plain, "loss_scale."));
    CHECK_INT(3, updates(scaled));
    CHECK(scale(scaled) == 32768);
    tfr_trainer_destroy(plain);
    tfr_trainer_destroy(scaled);
}

TEST(gradients_that_are_not_finite_leave_weights_and_halve_the_scale)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *plain, *scaled;
    o.loss_scale = 4;
    plain = trainer_of(&o);
    scaled = trainer_of(&o);
    step(plain, 0, BATCH);
    step(scaled, 0, BATCH);
    for (int i = 0; i < 4; i++)
        bad_step(scaled);
    CHECK(difference(plain, scaled) == 0);
    CHECK_INT(1, updates(scaled));
    CHECK(scale(scaled) == 1);
    step(plain, 1, BATCH);
    step(scaled, 1, BATCH);
    CHECK(difference(plain, scaled) == 0);
    CHECK_INT(2, updates(scaled));
    tfr_trainer_destroy(plain);
    tfr_trainer_destroy(scaled);
}

TEST(the_scale_doubles_after_2000_updates_in_a_row)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer;
    o.loss_scale = 8;
    trainer = trainer_of(&o);
    set_good(trainer, 1998);
    step(trainer, 0, BATCH);
    CHECK(scale(trainer) == 8);
    step(trainer, 0, BATCH);
    CHECK(scale(trainer) == 16);
    step(trainer, 0, BATCH);
    CHECK(scale(trainer) == 16);
    set_good(trainer, 1998);
    bad_step(trainer);
    CHECK(scale(trainer) == 8);
    step(trainer, 0, BATCH);
    step(trainer, 0, BATCH);
    CHECK(scale(trainer) == 8);
    tfr_trainer_destroy(trainer);
}

TEST(a_fixed_scale_stays)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer, *other;
    o.loss_scale = 8;
    other = trainer_of(&o);
    o.fixed_loss_scale = 1;
    trainer = trainer_of(&o);
    CHECK(!has(trainer, "loss_scale.good"));
    step(trainer, 0, BATCH);
    step(other, 0, BATCH);
    bad_step(trainer);
    CHECK(scale(trainer) == 8);
    CHECK_INT(1, updates(trainer));
    CHECK(difference(trainer, other) == 0);
    tfr_trainer_destroy(trainer);
    tfr_trainer_destroy(other);
}

TEST(one_bad_step_of_several_spoils_their_update_alone)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer, *other;
    o.loss_scale = 8;
    o.accumulate = 2;
    trainer = trainer_of(&o);
    other = trainer_of(&o);
    bad_step(trainer);
    CHECK(scale(trainer) == 8);
    step(trainer, 0, BATCH);
    CHECK_INT(0, updates(trainer));
    CHECK(scale(trainer) == 4);
    CHECK(difference(trainer, other) == 0);
    for (int i = 0; i < 2; i++) {
        step(trainer, i, BATCH);
        step(other, i, BATCH);
    }
    CHECK_INT(1, updates(trainer));
    CHECK(difference(trainer, other) == 0);
    tfr_trainer_destroy(trainer);
    tfr_trainer_destroy(other);
}

/* y = float16(x) float16(w), whose gradient is a float16 on its way. */
static tfr_graph *half_graph(float factor)
{
    const int64_t dims[] = {N_IN, N_OUT};
    const float weights[N_IN * N_OUT] = {.1f, .2f, .3f, .4f, .5f, .6f};
    const tfr_attr half[] = {TFR_SET_INT("to", TFR_DTYPE_F16)},
                   single[] = {TFR_SET_INT("to", TFR_DTYPE_F32)};
    tfr_value_type type = {.size = sizeof type,
                           .dtype = TFR_DTYPE_F32,
                           .rank_known = 1,
                           .rank = 2,
                           .dims = {-1, N_IN}};
    tfr_tensor *w = floats(2, dims, weights), *k = floats(0, NULL, &factor);
    tfr_value v[2], p, f;
    tfr_node_desc cast = {
        .size = sizeof cast, .op = "Cast", .n_inputs = 1, .n_outputs = 1, .n_attrs = 1};
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("half", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &v[0], &err), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, "dense1.weight", w, &v[1], &err), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, "factor", k, &f, &err), &err);
    cast.attrs = half;
    for (int i = 0; i < 2; i++) {
        cast.inputs = &v[i];
        REQUIRE_OK(tfr_graph_add_node(graph, &cast, &p, &err), &err);
        v[i] = p;
    }
    v[0] = binary(graph, "MatMul", v[0], v[1]);
    cast.inputs = &v[0];
    cast.attrs = single;
    REQUIRE_OK(tfr_graph_add_node(graph, &cast, &p, &err), &err);
    p = binary(graph, "Mul", p, f);
    REQUIRE_OK(tfr_graph_add_output(graph, p, "y", &err), &err);
    tfr_tensor_release(w);
    tfr_tensor_release(k);
    return graph;
}

/* Has the momentum of any weight come to anything? */
static bool moves(tfr_trainer *trainer)
{
    tfr_tensor *m;
    bool out = false;
    step(trainer, 1, BATCH);
    m = variable(trainer, "adam.m/dense1.weight");
    for (int64_t i = 0; i < tfr_tensor_elements(m); i++)
        out = out || ((const float *)tfr_tensor_data(m))[i] != 0;
    tfr_tensor_release(m);
    return out;
}

TEST(small_gradients_of_a_graph_in_float16_live_by_its_scale)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *scaled = trainer_over(half_graph(1e-7f), &o), *plain;
    o.loss_scale = 0;
    plain = trainer_over(half_graph(1e-7f), &o);
    CHECK(scale(scaled) == 32768);
    CHECK(!has(plain, "loss_scale."));
    CHECK(moves(scaled));
    CHECK(!moves(plain));
    tfr_trainer_destroy(scaled);
    tfr_trainer_destroy(plain);
}

static const test_case cases[] = {
    CASE(steps_that_accumulate_update_as_one_step_of_all_their_samples),
    CASE(a_schedule_goes_by_updates),
    CASE(a_loss_scale_changes_no_bit_of_what_is_finite),
    CASE(gradients_that_are_not_finite_leave_weights_and_halve_the_scale),
    CASE(the_scale_doubles_after_2000_updates_in_a_row),
    CASE(a_fixed_scale_stays),
    CASE(one_bad_step_of_several_spoils_their_update_alone),
    CASE(small_gradients_of_a_graph_in_float16_live_by_its_scale),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of schedules: their factors against recorded ones, texts, and what a trainer does by them.
 */
#include <math.h>
#include <tfrun/train.h>

#include "nn/schedule.h"
#include "session_kit.h"
#include "train_recorded.h"

enum { N_IN = 2, BATCH = 2 };

/* ---- factors and texts ----------------------------------------------------------------------- */

static tfr__schedule schedule_of(const char *text)
{
    tfr__schedule s;
    REQUIRE_OK(tfr__schedule_init(&s, text, &err), &err);
    return s;
}

/* At the steps 0, 7, 14... */
static void check_factors(const char *text, const float *want, uint32_t n)
{
    const tfr__schedule s = schedule_of(text);
    for (uint32_t i = 0; i < n; i++)
        CHECK(fabs(tfr__schedule_factor(&s, 7 * i) - (double)want[i]) < 3e-7);
}

#define N(values) values, sizeof(values) / sizeof *(values)

TEST(factors_are_those_of_keras_and_pytorch)
{
    check_factors("piecewise:at=35/70,factors=.5/.1", N(factors_piecewise));
    check_factors("exponential:steps=20,factor=.5", N(factors_exponential));
    check_factors("exponential:steps=20,factor=.5,stairs=1", N(factors_stairs));
    check_factors("cosine:steps=80,end=.05,warmup=20,start=.1", N(factors_cosine));
    check_factors("polynomial:steps=80,end=.1,power=2", N(factors_polynomial));
    check_factors("one-cycle:steps=126", N(factors_one_cycle));
}

TEST(a_constant_rate_can_warm_up)
{
    const tfr__schedule s = schedule_of("constant:warmup=4,start=.2");
    const double want[] = {.2, .4, .6, .8, 1, 1};
    for (int i = 0; i < 6; i++)
        CHECK(fabs(tfr__schedule_factor(&s, i) - want[i]) < 1e-15);
    CHECK(tfr__schedule_factor(&s, INT64_MAX) == 1);
}

TEST(a_plateau_waits_reduces_and_cools_down)
{
    const tfr__schedule s = schedule_of("plateau:factor=.5,patience=2,delta=.1,cooldown=2,end=.2");
    const double seen[] = {1, .95, .95, .95, .95, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5};
    const double want[] = {1, 1, .5, .5, .5, .5, .5, .25, .25, .25, .2, .2, .2, .2, .2, .2};
    tfr__plateau p = TFR__PLATEAU_INIT;
    for (int i = 0; i < 16; i++) {
        tfr__schedule_see(&s, &p, seen[i]);
        CHECK(fabs(p.factor - want[i]) < 1e-15);
    }
    CHECK(p.best == .5);
}

TEST(texts_that_are_no_schedule_are_answered_with_what_there_is)
{
    static const char *const texts[][2] = {
        {"cosin:steps=3",
         "there is no schedule \"cosin\"; constant, piecewise, exponential, cosine, "
         "polynomial, one-cycle, plateau"},
        {"cosine", "the schedule \"cosine\" needs steps, as in \"cosine:steps=...\""},
        {"cosine:step=3",
         "the schedule \"cosine\" has no \"step\"; it has steps, end, warmup, start"},
        {"cosine:steps", "the schedule \"cosine\" has \"steps\", want name=value"},
        {"cosine:steps,end=1", "the schedule \"cosine\" has \"steps,end=1\", want name=value"},
        {"cosine:steps=0",
         "the schedule \"cosine\" has steps=0, want a whole number from 1 to 1e+15"},
        {"cosine:steps=1.5",
         "the schedule \"cosine\" has steps=1.5, want a whole number from 1 to 1e+15"},
        {"cosine:steps=3,end=x", "the schedule \"cosine\" has end=x, want a number from 0 to 1"},
        {"cosine:steps=3,end=nan",
         "the schedule \"cosine\" has end=nan, want a number from 0 to 1"},
        {"piecewise:at=3/2,factors=1/2",
         "the schedule \"piecewise\" has at=3/2, want up to 16 rising numbers such as 1000/2000"},
        {"piecewise:at=3,factors=1/",
         "the schedule \"piecewise\" has factors=1/, want up to 16 numbers of at least 0 such as "
         ".1/.01"},
        {"piecewise:at=3,factors=1/2",
         "the schedule \"piecewise\" has 1 steps and 2 factors; it needs as many of both, as in "
         "\"piecewise:at=1000/2000,factors=.1/.01\""},
        {"piecewise:all=3",
         "the schedule \"piecewise\" has no \"all\"; it has at, factors, warmup, start"},
    };
    tfr__schedule s;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_INT(TFR_EINVAL, tfr__schedule_init(&s, texts[i][0], &err));
        CHECK_STR(texts[i][1], err.text);
    }
}

/* ---- in a trainer ---------------------------------------------------------------------------- */

static tfr_trainer *trainer_of(const char *schedule)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer = NULL;
    o.loss = "mse";
    o.optimizer = "sgd";
    o.learning_rate = .5;
    o.schedule = schedule;
    REQUIRE_OK(tfr_net_create("small", dims, 2, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_dense(net, 1, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return trainer;
}

static double scalar(tfr_trainer *trainer, const char *name)
{
    tfr_tensor *t = NULL;
    double out;
    REQUIRE_OK(tfr_trainer_get_variable(trainer, name, &t, &err), &err);
    out = *(const double *)tfr_tensor_data(t);
    tfr_tensor_release(t);
    return out;
}

/* The rate that a step had. */
static double step(tfr_trainer *trainer)
{
    static float x[BATCH * N_IN] = {1, -1, 0, 1}, y[BATCH] = {1, 2};
    const tfr_shape inputs = {2, {BATCH, N_IN}}, targets = {2, {BATCH, 1}};
    tfr_tensor *in, *target;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &inputs, NULL, x, NULL, NULL, &in, &err), &err);
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &targets, NULL, y, NULL, NULL, &target, &err), &err);
    REQUIRE_OK(tfr_trainer_step(trainer, in, target, &err), &err);
    tfr_tensor_release(in);
    tfr_tensor_release(target);
    return scalar(trainer, "optimizer.learning_rate");
}

TEST(each_step_has_the_rate_of_its_number)
{
    tfr_trainer *trainer = trainer_of("polynomial:steps=4");
    int64_t two = 2;
    tfr_tensor *t = NULL;
    CHECK(step(trainer) == .5);
    CHECK(step(trainer) == .375);
    CHECK(step(trainer) == .25);
    REQUIRE_OK(
        tfr_tensor_wrap(TFR_DTYPE_I64, &(tfr_shape){.rank = 0}, NULL, &two, NULL, NULL, &t, &err),
        &err);
    REQUIRE_OK(tfr_trainer_set_variable(trainer, "optimizer.steps", t, &err), &err);
    CHECK(step(trainer) == .25);
    REQUIRE_OK(tfr_trainer_set_learning_rate(trainer, 8, &err), &err);
    CHECK(step(trainer) == 2);
    CHECK(step(trainer) == 0);
    CHECK(scalar(trainer, "schedule.learning_rate") == 8);
    tfr_tensor_release(t);
    tfr_trainer_destroy(trainer);
}

/* As a checkpoint does. */
static void copy_state(tfr_trainer *from, tfr_trainer *to)
{
    for (uint32_t i = 0; i < tfr_trainer_n_variables(from); i++) {
        const char *name = tfr_trainer_variable(from, i);
        tfr_tensor *t = NULL;
        REQUIRE_OK(tfr_trainer_get_variable(from, name, &t, &err), &err);
        REQUIRE_OK(tfr_trainer_set_variable(to, name, t, &err), &err);
        tfr_tensor_release(t);
    }
}

TEST(a_plateau_goes_on_from_the_variables)
{
    tfr_trainer *first = trainer_of("plateau:factor=.5,patience=2"),
                *second = trainer_of("plateau:factor=.5,patience=2");
    CHECK(step(first) == .5);
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(tfr_trainer_see(first, 1, &err), &err);
    CHECK(step(first) == .5);
    copy_state(first, second);
    REQUIRE_OK(tfr_trainer_see(second, 1, &err), &err);
    CHECK(step(second) == .25);
    REQUIRE_OK(tfr_trainer_see(second, .5, &err), &err);
    CHECK(step(second) == .25);
    tfr_trainer_destroy(first);
    tfr_trainer_destroy(second);
}

TEST(without_a_schedule_there_is_no_state_of_one)
{
    tfr_trainer *trainer = trainer_of(NULL);
    REQUIRE_OK(tfr_trainer_see(trainer, 1, &err), &err);
    CHECK(step(trainer) == .5);
    for (uint32_t i = 0; i < tfr_trainer_n_variables(trainer); i++)
        CHECK(strncmp(tfr_trainer_variable(trainer, i), "schedule.", 9) != 0);
    tfr_trainer_destroy(trainer);
}

static const test_case cases[] = {
    CASE(factors_are_those_of_keras_and_pytorch),
    CASE(a_constant_rate_can_warm_up),
    CASE(a_plateau_waits_reduces_and_cools_down),
    CASE(texts_that_are_no_schedule_are_answered_with_what_there_is),
    CASE(each_step_has_the_rate_of_its_number),
    CASE(a_plateau_goes_on_from_the_variables),
    CASE(without_a_schedule_there_is_no_state_of_one),
};
TEST_MAIN(cases)

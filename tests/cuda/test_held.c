/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings whose samples lie on the GPU: the bits of those whose batches come from the host, what
 * a step copies, and what follows where the samples find no room.
 */
#include <tfrun/dataset.h>
#include <tfrun/fit.h>

#include "training_kit.h"

enum { SAMPLES = 30, STEPS = 4 };

/* A GPU that gets few threads: each is a fiber that TSan takes long to make. */
#define SMALL (TEST_HAS_TSAN ? "multiprocessors=4" : "")

static tfr_dataset *digits(void)
{
    tfr_dataset *data = NULL;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=30&test=2", &data, NULL, &err), &err);
    return data;
}

static void numbers_of(int step, int64_t *out)
{
    for (int i = 0; i < BATCH; i++)
        out[i] = (7 * (step * BATCH + i) + step) % SAMPLES;
}

static tfr_status held_step(tfr_trainer *trainer, int number)
{
    int64_t numbers[BATCH];
    numbers_of(number, numbers);
    tfr_tensor *samples = ints(BATCH, numbers);
    const tfr_status status = tfr_trainer_step_held(trainer, samples, &err);
    tfr_tensor_release(samples);
    return status;
}

static tfr_status gathered_step(tfr_trainer *trainer, tfr_dataset *data, int number)
{
    int64_t numbers[BATCH];
    tfr_tensor *input, *target;
    numbers_of(number, numbers);
    REQUIRE_OK(tfr_dataset_gather(data, numbers, BATCH, &input, &target, &err), &err);
    const tfr_status status = tfr_trainer_step(trainer, input, target, &err);
    tfr_tensor_release(input);
    tfr_tensor_release(target);
    return status;
}

TEST(held_samples_are_trained_with_the_same_bits_and_a_step_copies_their_numbers)
{
    double want[STEPS];
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    tfr_trainer *trainer = new_trainer(cuda_runtime(), small_cnn_graph(), "cuda:0");
    for (int i = 0; i < STEPS; i++) {
        REQUIRE_OK(gathered_step(trainer, data, i), &err);
        want[i] = loss_of(trainer);
    }
    tfr_trainer_destroy(trainer);
    trainer = new_trainer(cuda_runtime(), small_cnn_graph(), "cuda:0");
    REQUIRE_OK(tfr_trainer_hold(trainer, data, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        REQUIRE_OK(held_step(trainer, i), &err);
        const tfr_session_stats stats = stats_of(tfr_trainer_session(trainer));
        CHECK_UINT(0, stats.n_fallbacks);
        CHECK_UINT(1, stats.n_copies);
        CHECK_UINT(32 * BATCH * 8, stats.copy_bytes); /* of as many batches as fit */
        CHECK_UINT(stats.n_launches, stats.n_captured);
        const double got = loss_of(trainer);
        CHECK_MEM(&want[i], &got, sizeof got);
    }
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

/* Takes `warm` steps one by one, and then `n` at once, `times` times; the loss of all of them. */
static double losses_of(tfr_trainer *trainer, int warm, int n, int times)
{
    int64_t numbers[32 * BATCH];
    int step = 0;
    for (; step < warm; step++)
        REQUIRE_OK(held_step(trainer, step), &err);
    for (int k = 0; k < times; k++, step += n) {
        const int64_t dims[] = {n, BATCH};
        for (int i = 0; i < n; i++)
            numbers_of(step + i, numbers + i * BATCH);
        tfr_tensor *samples = new_tensor(TFR_DTYPE_I64, 2, dims, numbers);
        REQUIRE_OK(tfr_trainer_step_held(trainer, samples, &err), &err);
        tfr_tensor_release(samples);
    }
    return loss_of(trainer);
}

TEST(steps_that_are_taken_at_once_have_the_bits_of_steps_one_by_one)
{
    static const struct {
        int n, times;
    } rows[] = {{2, 1}, {3, 2}, {16, 2}};
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfr_trainer *one = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
        tfr_trainer *several = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
        REQUIRE_OK(tfr_trainer_hold(one, data, &err), &err);
        REQUIRE_OK(tfr_trainer_hold(several, data, &err), &err);
        const double want = losses_of(one, 3 + rows[i].n * rows[i].times, 0, 0);
        const double got = losses_of(several, 3, rows[i].n, rows[i].times);
        CHECK_MEM(&want, &got, sizeof got);
        tfr_trainer_destroy(one);
        tfr_trainer_destroy(several);
    }
    tfr_dataset_release(data);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

/* ---- what steps at once do ------------------------------------------------------------------- */

static tfr_status steps_at_once(tfr_trainer *trainer, int first, int n)
{
    const int64_t dims[] = {n, BATCH};
    int64_t numbers[32 * BATCH];
    for (int i = 0; i < n; i++)
        numbers_of(first + i, numbers + i * BATCH);
    tfr_tensor *samples = new_tensor(TFR_DTYPE_I64, 2, dims, numbers);
    const tfr_status status = tfr_trainer_step_held(trainer, samples, &err);
    tfr_tensor_release(samples);
    return status;
}

static tfr_trainer *held_trainer(tfr_dataset *data, int warm)
{
    tfr_trainer *trainer = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
    REQUIRE_OK(tfr_trainer_hold(trainer, data, &err), &err);
    for (int i = 0; i < warm; i++)
        REQUIRE_OK(held_step(trainer, i), &err);
    return trainer;
}

/* All calls of the driver but those that ask whether an event has happened, each in the context:
 * how often they come is a matter of time. */
static unsigned n_calls(void)
{
    unsigned n = 0;
#define X(name, required, since, who) n += calls_of(#name);
#include "driver.def"
#undef X
    return n - calls_of("cuEventQuery") - calls_of("cuCtxPushCurrent_v2") -
           calls_of("cuCtxPopCurrent_v2");
}

TEST(warm_steps_at_once_are_one_copy_one_launch_and_one_signal)
{
    static const int sizes[] = {4, 10};
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    for (int k = 0; k < 2; k++) {
        const int n = sizes[k];
        tfr_trainer *trainer = held_trainer(data, 3);
        for (int i = 0; i < 2; i++) /* the second one makes the chain */
            REQUIRE_OK(steps_at_once(trainer, 3 + i * n, n), &err);
        const unsigned launches = calls_of("cuGraphLaunch"),
                       copies = calls_of("cuMemcpyHtoDAsync_v2"),
                       records = calls_of("cuEventRecord"), all = n_calls();
        REQUIRE_OK(steps_at_once(trainer, 3 + 2 * n, n), &err);
        CHECK_UINT(1, calls_of("cuGraphLaunch") - launches);
        CHECK_UINT(1, calls_of("cuMemcpyHtoDAsync_v2") - copies);
        CHECK_UINT(1, calls_of("cuEventRecord") - records);
        CHECK_UINT(3, n_calls() - all);
        CHECK_UINT((uint64_t)(3 + 3 * n), stats_of(tfr_trainer_session(trainer)).n_runs);
        tfr_trainer_destroy(trainer);
    }
    tfr_dataset_release(data);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

TEST(steps_at_once_that_are_no_graph_yet_are_a_launch_each_and_one_wait)
{
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    tfr_trainer *trainer = held_trainer(data, 3);
    const unsigned launches = calls_of("cuGraphLaunch"), all = n_calls();
    REQUIRE_OK(steps_at_once(trainer, 3, 20), &err);
    CHECK_UINT(20, calls_of("cuGraphLaunch") - launches);
    CHECK_UINT(20 + 2, n_calls() - all);
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
    check_leaks("leaked: nothing");
}

/* ---- what fails in them ---------------------------------------------------------------------- */

static double loss_with(tfr_dataset *data, const char *name, unsigned nth, unsigned code)
{
    tfr_trainer *trainer = held_trainer(data, 3);
    if (name)
        fail_at(name, nth, code);
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(steps_at_once(trainer, 3 + 4 * i, 4), &err);
    const double loss = loss_of(trainer);
    tfr_trainer_destroy(trainer);
    return loss;
}

TEST(where_a_chain_cannot_be_made_steps_go_on_with_a_warning_and_the_same_bits)
{
    static const struct {
        const char *name;
        unsigned nth;
    } rows[] = {{"cuGraphCreate", 1}, {"cuGraphAddChildGraphNode", 3}, {"cuGraphUpload", 1}};
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    const double want = loss_with(data, NULL, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        logged[0] = '\0';
        const double got = loss_with(data, rows[i].name, rows[i].nth, 801);
        CHECK_MEM(&want, &got, sizeof got);
        CHECK_CONTAINS("4 runs on", logged);
        CHECK_CONTAINS("are not one graph, but one each", logged);
        check_leaks("leaked: nothing");
    }
    tfr_dataset_release(data);
}

TEST(a_launch_that_fails_on_the_way_fails_the_steps_and_all_is_given_back)
{
    for (unsigned nth = 2; nth <= 4; nth += 2) {
        BEGIN(SMALL);
        tfr_dataset *data = digits();
        tfr_trainer *trainer = held_trainer(data, 3);
        fail_at("cuGraphLaunch", nth, 1);
        CHECK(steps_at_once(trainer, 3, 4) != TFR_OK);
        CHECK_CONTAINS("CUDA_ERROR_INVALID_VALUE", err.text);
        CHECK_STATUS(TFR_ELOST, held_step(trainer, 9), &err); /* of the state */
        tfr_trainer_destroy(trainer);
        tfr_dataset_release(data);
        check_leaks("leaked: nothing");
    }
}

TEST(the_first_launch_that_fails_is_launched_kernel_by_kernel_with_the_same_bits)
{
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    const double want = loss_with(data, NULL, 0, 0), got = loss_with(data, "cuGraphLaunch", 1, 1);
    CHECK_MEM(&want, &got, sizeof got);
    CHECK_CONTAINS("are not captured", logged);
    tfr_dataset_release(data);
    check_leaks("leaked: nothing");
}

TEST(a_gpu_that_is_lost_in_steps_at_once_fails_them_and_nothing_is_called_any_more)
{
    for (int chained = 0; chained < 2; chained++) {
        BEGIN(SMALL);
        tfr_dataset *data = digits();
        tfr_trainer *trainer = held_trainer(data, 3);
        for (int i = 0; i < 2 * chained; i++)
            REQUIRE_OK(steps_at_once(trainer, 3 + 6 * i, 6), &err);
        fail_at("cuGraphLaunch", 1 + !chained, 719);
        CHECK_STATUS(TFR_ELOST, steps_at_once(trainer, 15, 6), &err);
        tfr_trainer_destroy(trainer);
        tfr_dataset_release(data);
        check_leaks("leaked: nothing");
    }
}

TEST(numbers_of_samples_are_one_or_two_dims_of_i64)
{
    const int64_t cube[] = {1, 1, 1}, none = 0;
    const float half = .5f;
    const int64_t one = 1;
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    tfr_trainer *trainer = held_trainer(data, 0);
    tfr_tensor *deep = new_tensor(TFR_DTYPE_I64, 3, cube, &none), *wrong = floats(1, &one, &half);
    CHECK_STATUS(TFR_EINVAL, tfr_trainer_step_held(trainer, deep, &err), &err);
    CHECK_CONTAINS("one dim, or two for several steps", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_trainer_step_held(trainer, wrong, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_trainer_step_held(trainer, NULL, &err), &err);
    tfr_tensor_release(deep);
    tfr_tensor_release(wrong);
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
}

/* ---- and fit --------------------------------------------------------------------------------- */

TEST(a_trainer_lets_samples_go_when_a_batch_comes_and_keeps_its_state)
{
    BEGIN(SMALL);
    tfr_dataset *data = digits();
    tfr_trainer *one = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
    tfr_trainer *other = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
    REQUIRE_OK(tfr_trainer_hold(one, data, &err), &err);
    REQUIRE_OK(held_step(one, 0), &err);
    REQUIRE_OK(gathered_step(one, data, 1), &err);
    CHECK_STATUS(TFR_EINVAL, held_step(one, 2), &err);
    CHECK_CONTAINS("the trainer holds no samples", err.text);
    REQUIRE_OK(gathered_step(other, data, 0), &err);
    REQUIRE_OK(gathered_step(other, data, 1), &err);
    const double a = loss_of(one), b = loss_of(other);
    CHECK_MEM(&a, &b, sizeof a);
    tfr_trainer_destroy(one);
    tfr_trainer_destroy(other);
    tfr_dataset_release(data);
    check_leaks("leaked: nothing");
}

static tfr_fit_result fit(const char *device, int32_t hold, uint64_t *copied)
{
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    tfr_fit_result result = {.size = sizeof result};
    tfr_dataset *data = digits();
    tfr_trainer *trainer = new_trainer(cuda_runtime(), mlp_graph(), device);
    o.batch = BATCH;
    o.hold = hold;
    REQUIRE_OK(tfr_trainer_fit(trainer, data, NULL, &o, &result, &err), &err);
    *copied = stats_of(tfr_trainer_session(trainer)).copy_bytes;
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
    return result;
}

TEST(a_fit_on_a_gpu_holds_its_samples_there)
{
    uint64_t host_bytes, held_bytes;
    BEGIN(SMALL);
    const tfr_fit_result host = fit("cuda:0", -1, &host_bytes),
                         held = fit("cuda:0", 0, &held_bytes);
    CHECK_MEM(&host.train.loss, &held.train.loss, sizeof host.train.loss);
    CHECK_UINT(32 * 2 * 8, held_bytes); /* the last batch has 2 samples */
    CHECK_UINT(2 * (PIXELS * 4 + 8), host_bytes);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

/* The first allocation that is as large as the samples. */
TEST(where_samples_find_no_room_batches_come_from_the_host)
{
    tfr_option given[] = {{"cuda.library-path", folder}, {"cuda.memory_limit", "262144"}};
    char path[4200];
    const char *files[] = {path}, *build = getenv("TFR_BUILDDIR");
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    tfr_fit_result result = {.size = sizeof result};
    tfr_runtime *runtime = NULL;
    tfr_dataset *data = NULL;
    BEGIN(SMALL);
    snprintf(path, sizeof path, "%s/plugins/cuda/.libs/tfrun-cuda.so", build ? build : ".");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = given;
    options.n_options = 2;
    options.log = keep_log;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    REQUIRE_OK(tfr_dataset_open("synthetic?train=400&test=2", &data, NULL, &err), &err);
    tfr_trainer *trainer = new_trainer(runtime, mlp_graph(), "cuda:0");
    o.batch = BATCH;
    o.max_steps = 3;
    CHECK_OK(tfr_trainer_fit(trainer, data, NULL, &o, &result, &err), &err);
    CHECK_INT(3, result.steps);
    CHECK_UINT(BATCH_BYTES, stats_of(tfr_trainer_session(trainer)).copy_bytes);
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
    check_leaks("leaked: nothing");
}

/* What events tell, a line for each. */
static int32_t write_event(void *user, const tfr_fit_event *event)
{
    char *text = user;
    const size_t used = strlen(text);
    if (event->kind == TFR_FIT_STEP)
        snprintf(text + used, 4096 - used, "%lld %lld %.17g %.17g\n", (long long)event->steps,
                 (long long)event->done, event->train ? event->train->loss : 0,
                 event->recent ? event->recent->loss : 0);
    return 0;
}

static void write_fit(int32_t hold, int64_t max_steps, char *text)
{
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    tfr_dataset *data = digits();
    tfr_trainer *trainer = new_trainer(cuda_runtime(), mlp_graph(), "cuda:0");
    o.batch = BATCH;
    o.epochs = 2;
    o.max_steps = max_steps;
    o.report_every = 5;
    o.hold = hold;
    o.event = write_event;
    o.user = text;
    REQUIRE_OK(tfr_trainer_fit(trainer, data, NULL, &o, NULL, &err), &err);
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
}

TEST(a_fit_with_steps_at_once_tells_the_same_of_each_step_and_ends_at_the_same_limit)
{
    static const int64_t limits[] = {0, 7};
    BEGIN(SMALL);
    for (int i = 0; i < 2; i++) {
        char host[4096] = "", held[4096] = "";
        write_fit(-1, limits[i], host);
        write_fit(1, limits[i], held);
        CHECK_STR(host, held);
    }
    CHECK_STR("", logged);
}

static const test_case cases[] = {
    CASE(held_samples_are_trained_with_the_same_bits_and_a_step_copies_their_numbers),
    CASE(steps_that_are_taken_at_once_have_the_bits_of_steps_one_by_one),
    CASE(warm_steps_at_once_are_one_copy_one_launch_and_one_signal),
    CASE(steps_at_once_that_are_no_graph_yet_are_a_launch_each_and_one_wait),
    CASE(where_a_chain_cannot_be_made_steps_go_on_with_a_warning_and_the_same_bits),
    CASE(a_launch_that_fails_on_the_way_fails_the_steps_and_all_is_given_back),
    CASE(the_first_launch_that_fails_is_launched_kernel_by_kernel_with_the_same_bits),
    CASE(a_gpu_that_is_lost_in_steps_at_once_fails_them_and_nothing_is_called_any_more),
    CASE(numbers_of_samples_are_one_or_two_dims_of_i64),
    CASE(a_fit_with_steps_at_once_tells_the_same_of_each_step_and_ends_at_the_same_limit),
    CASE(a_trainer_lets_samples_go_when_a_batch_comes_and_keeps_its_state),
    CASE(a_fit_on_a_gpu_holds_its_samples_there),
    CASE(where_samples_find_no_room_batches_come_from_the_host),
};
TEST_MAIN(cases)

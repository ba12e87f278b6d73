/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings whose samples lie on the GPU: the bits of those whose batches come from the host, what
 * a step copies, and what follows where the samples find no room.
 */
#include <tfrun/dataset.h>
#include <tfrun/fit.h>

#include "training_kit.h"

enum { SAMPLES = 30, STEPS = 4 };

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
    BEGIN("");
    tfr_dataset *data = digits();
    tfr_trainer *trainer = new_trainer(cuda_runtime(), cnn_graph(), "cuda:0");
    for (int i = 0; i < STEPS; i++) {
        REQUIRE_OK(gathered_step(trainer, data, i), &err);
        want[i] = loss_of(trainer);
    }
    tfr_trainer_destroy(trainer);
    trainer = new_trainer(cuda_runtime(), cnn_graph(), "cuda:0");
    REQUIRE_OK(tfr_trainer_hold(trainer, data, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        REQUIRE_OK(held_step(trainer, i), &err);
        const tfr_session_stats stats = stats_of(tfr_trainer_session(trainer));
        CHECK_UINT(0, stats.n_fallbacks);
        CHECK_UINT(1, stats.n_copies);
        CHECK_UINT(BATCH * 8, stats.copy_bytes);
        CHECK_UINT(stats.n_launches, stats.n_captured);
        const double got = loss_of(trainer);
        CHECK_MEM(&want[i], &got, sizeof got);
    }
    tfr_trainer_destroy(trainer);
    tfr_dataset_release(data);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

TEST(a_trainer_lets_samples_go_when_a_batch_comes_and_keeps_its_state)
{
    BEGIN("");
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
    BEGIN("");
    const tfr_fit_result host = fit("cuda:0", -1, &host_bytes),
                         held = fit("cuda:0", 0, &held_bytes);
    CHECK_MEM(&host.train.loss, &held.train.loss, sizeof host.train.loss);
    CHECK_UINT(2 * 8, held_bytes); /* the last batch has 2 samples */
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
    BEGIN("");
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

static const test_case cases[] = {
    CASE(held_samples_are_trained_with_the_same_bits_and_a_step_copies_their_numbers),
    CASE(a_trainer_lets_samples_go_when_a_batch_comes_and_keeps_its_state),
    CASE(a_fit_on_a_gpu_holds_its_samples_there),
    CASE(where_samples_find_no_room_batches_come_from_the_host),
};
TEST_MAIN(cases)

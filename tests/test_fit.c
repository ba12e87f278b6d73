/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the loop of a training: what it tells, where it stops, and that it goes on from a
 * checkpoint with the same bits.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tfrun/checkpoint.h>
#include <tfrun/fit.h>
#include <unistd.h>

#include "session_kit.h"
#include "temp_path.h"

enum { BATCH = 8, EPOCHS = 2, STEPS = 5 * EPOCHS, VALIDATIONS = 3 }; /* of 36 and 20 samples */

static char folder[200];
static tfr_dataset *train_data, *test_data;
static tfr_train_options of_trainer;

/* What came, and when to stop or to break something. */
static struct {
    int kinds[6];
    int64_t stop_at; /* a step */
    bool stop_validation;
    int64_t lose_folder_at, find_folder_at;
    char warnings[1000];
    tfr_train_metrics recent[STEPS + 1], last;
} seen;

static void lose_folder(bool lose)
{
    char away[300];
    snprintf(away, sizeof away, "%s-away", folder);
    if (lose) {
        FILE *file;
        REQUIRE_INT(0, rename(folder, away));
        file = fopen(folder, "w"); /* where the folder should be */
        REQUIRE(file != NULL);
        fclose(file);
    } else {
        REQUIRE_INT(0, unlink(folder));
        REQUIRE_INT(0, rename(away, folder));
    }
}

static int32_t on_event(void *user, const tfr_fit_event *e)
{
    (void)user;
    seen.kinds[e->kind]++;
    if (e->kind == TFR_FIT_WARNING)
        snprintf(seen.warnings, sizeof seen.warnings, "%s", e->text);
    if (e->kind == TFR_FIT_EPOCH)
        seen.last = *e->train;
    if (e->kind == TFR_FIT_STEP && e->recent && e->steps <= STEPS)
        seen.recent[e->steps] = *e->recent;
    if (e->kind == TFR_FIT_STEP && e->steps == seen.lose_folder_at)
        lose_folder(true);
    if (e->kind == TFR_FIT_STEP && e->steps == seen.find_folder_at)
        lose_folder(false);
    return (e->kind == TFR_FIT_STEP && e->steps == seen.stop_at) ||
           (e->kind == TFR_FIT_VALIDATION && seen.stop_validation);
}

static void begin(void)
{
    memset(&seen, 0, sizeof seen);
    of_trainer = (tfr_train_options)TFR_TRAIN_OPTIONS_INIT;
    snprintf(folder, sizeof folder, "%s", temp_path("fit"));
    REQUIRE_OK(tfr_dataset_open("synthetic?train=36&test=20", &train_data, &test_data, &err), &err);
}

static void end(void)
{
    char command[500];
    snprintf(command, sizeof command, "rm -rf '%s' '%s-away'", folder, folder);
    CHECK_INT(0, system(command));
    tfr_dataset_release(train_data);
    tfr_dataset_release(test_data);
}

static tfr_trainer *new_trainer(void)
{
    const int64_t dims[] = {-1, 1, 28, 28};
    tfr_runtime *runtime = new_runtime();
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_flatten(net);
    tfr_net_dropout(net, .25f);
    tfr_net_dense(net, 10, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &of_trainer, &trainer, &err), &err);
    tfr_net_destroy(net);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return trainer;
}

static tfr_fit_options options_of(const char *checkpoints)
{
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    o.batch = BATCH;
    o.epochs = EPOCHS;
    o.seed = 7;
    o.report_every = 1;
    o.checkpoints = checkpoints;
    o.event = on_event;
    return o;
}

/* Fits a new trainer. */
static tfr_status fit(const tfr_fit_options *o, tfr_fit_result *result)
{
    tfr_trainer *trainer = new_trainer();
    tfr_status status;
    *result = (tfr_fit_result){.size = sizeof *result};
    status = tfr_trainer_fit(trainer, train_data, test_data, o, result, &err);
    tfr_trainer_destroy(trainer);
    return status;
}

/* The bytes of a file, which the caller frees. */
static char *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    REQUIRE(file && bytes);
    *n = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Of a training that nobody stops: its last checkpoint. */
static char *whole_training(size_t *n)
{
    tfr_fit_options o = options_of(folder);
    tfr_fit_result result;
    char *bytes, command[300];
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(STEPS, result.steps);
    bytes = read_file(result.checkpoint, n);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE_INT(0, system(command));
    memset(&seen, 0, sizeof seen);
    return bytes;
}

static void check_is_same(const char *whole, size_t n_whole, const tfr_fit_result *result)
{
    size_t n;
    char *bytes = read_file(result->checkpoint, &n);
    CHECK_INT(TFR_FIT_DONE, result->end);
    CHECK_UINT(n_whole, n);
    CHECK(n == n_whole && memcmp(whole, bytes, n) == 0);
    free(bytes);
}

TEST(it_tells_of_each_step_validation_epoch_and_checkpoint)
{
    tfr_fit_options o;
    tfr_fit_result result;
    double sum = 0;
    begin();
    o = options_of(folder);
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(1, seen.kinds[TFR_FIT_BEGIN]);
    CHECK_INT(STEPS, seen.kinds[TFR_FIT_STEP]);
    CHECK_INT(VALIDATIONS * EPOCHS, seen.kinds[TFR_FIT_VALIDATION]);
    CHECK_INT(EPOCHS, seen.kinds[TFR_FIT_EPOCH]);
    CHECK_INT(EPOCHS + 1, seen.kinds[TFR_FIT_CHECKPOINT]);
    CHECK_INT(0, seen.kinds[TFR_FIT_WARNING]);
    CHECK_INT(TFR_FIT_DONE, result.end);
    CHECK_INT(EPOCHS, result.epochs);
    CHECK_INT(36, result.train.samples);
    CHECK_INT(20, result.validation.samples);
    /* Means of steps are those of the epoch; the last batch has 4 samples. */
    for (int i = STEPS / EPOCHS + 1; i <= STEPS; i++) {
        CHECK_INT(i == STEPS ? 4 : BATCH, seen.recent[i].samples);
        sum += seen.recent[i].loss * (double)seen.recent[i].samples;
    }
    CHECK_NEAR(sum / 36, seen.last.loss, 1e-12);
    CHECK(result.best >= result.validation.accuracy && result.best_steps > 0);
    end();
}

static void check_stops(void)
{
    char *whole;
    size_t n;
    whole = whole_training(&n);
    for (int stop = 1; stop < STEPS; stop += 2) {
        char command[300];
        tfr_fit_options o = options_of(folder);
        tfr_fit_result result;
        seen.stop_at = stop;
        REQUIRE_OK(fit(&o, &result), &err);
        CHECK_INT(TFR_FIT_STOPPED, result.end);
        CHECK_INT(stop, result.steps);
        o.resume = TFR_FIT_EXACT;
        seen.stop_at = stop + 1;
        REQUIRE_OK(fit(&o, &result), &err);
        seen.stop_at = 0;
        o.seed = 8; /* the checkpoint has its own */
        if (result.end == TFR_FIT_STOPPED)
            REQUIRE_OK(fit(&o, &result), &err);
        check_is_same(whole, n, &result);
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        REQUIRE_INT(0, system(command));
    }
    free(whole);
}

TEST(a_training_stopped_at_any_step_and_resumed_ends_with_the_same_bits)
{
    begin();
    check_stops();
    end();
}

/* A checkpoint tells where nodes ran, and these are other ones: so what came out is compared. */
TEST(samples_that_are_held_give_the_same_bits)
{
    tfr_fit_options o = options_of(NULL);
    tfr_fit_result plain, held, resumed;
    begin();
    REQUIRE_OK(fit(&o, &plain), &err);
    o.hold = 1;
    o.checkpoints = folder;
    REQUIRE_OK(fit(&o, &held), &err);
    CHECK_MEM(&plain.train, &held.train, sizeof held.train);
    CHECK_MEM(&plain.validation, &held.validation, sizeof held.validation);
    end();
    begin();
    o.checkpoints = folder;
    seen.stop_at = 3;
    REQUIRE_OK(fit(&o, &resumed), &err);
    CHECK_INT(TFR_FIT_STOPPED, resumed.end);
    seen.stop_at = 0;
    o.resume = TFR_FIT_EXACT;
    REQUIRE_OK(fit(&o, &resumed), &err);
    CHECK_MEM(&plain.validation, &resumed.validation, sizeof resumed.validation);
    end();
}

TEST(so_does_one_between_two_updates_whose_rate_follows_a_schedule)
{
    begin();
    of_trainer.accumulate = 2;
    of_trainer.schedule = "plateau:patience=1,factor=.5";
    check_stops();
    end();
}

TEST(a_validation_that_was_stopped_is_made_again)
{
    tfr_fit_options o;
    tfr_fit_result result;
    char *whole;
    size_t n;
    begin();
    whole = whole_training(&n);
    o = options_of(folder);
    seen.stop_validation = true;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(TFR_FIT_STOPPED, result.end);
    CHECK_INT(0, result.epochs);
    CHECK_INT(STEPS / EPOCHS, result.steps);
    CHECK_INT(0, seen.kinds[TFR_FIT_EPOCH]);
    seen.stop_validation = false;
    o.resume = TFR_FIT_RESUME;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(EPOCHS, seen.kinds[TFR_FIT_EPOCH]);
    check_is_same(whole, n, &result);
    free(whole);
    end();
}

TEST(a_limit_of_steps_ends_with_a_validation_and_can_be_raised)
{
    tfr_fit_options o;
    tfr_fit_result result;
    char *whole;
    size_t n;
    begin();
    whole = whole_training(&n);
    o = options_of(folder);
    o.max_steps = 3;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(TFR_FIT_LIMIT, result.end);
    CHECK_INT(3, result.steps);
    CHECK_INT(3 * BATCH, result.train.samples);
    CHECK_INT(20, result.validation.samples);
    o.max_steps = 0;
    o.resume = TFR_FIT_RESUME;
    REQUIRE_OK(fit(&o, &result), &err);
    check_is_same(whole, n, &result);
    free(whole);
    end();
}

TEST(a_folder_with_checkpoints_is_not_begun_anew)
{
    tfr_fit_options o;
    tfr_fit_result result;
    begin();
    o = options_of(folder);
    o.max_steps = 1;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(TFR_EINVAL, fit(&o, &result));
    CHECK_CONTAINS("there are checkpoints of a training, the newest after 1 steps; resume it",
                   err.text);
    o.checkpoints = NULL;
    o.resume = TFR_FIT_RESUME;
    CHECK_INT(TFR_EINVAL, fit(&o, &result));
    end();
}

TEST(other_conditions_are_told_and_refused_where_bits_must_be_the_same)
{
    tfr_fit_options o;
    tfr_fit_result result;
    begin();
    o = options_of(folder);
    o.max_steps = 2;
    o.conditions = "rate .1\n";
    REQUIRE_OK(fit(&o, &result), &err);
    o.max_steps = 4;
    o.conditions = "rate .2\n";
    o.resume = TFR_FIT_EXACT;
    CHECK_INT(TFR_EINVAL, fit(&o, &result));
    CHECK_CONTAINS("cannot be resumed exactly, since it was made otherwise: \"rate .1\" then, "
                   "\"rate .2\" now",
                   err.text);
    o.resume = TFR_FIT_RESUME;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(1, seen.kinds[TFR_FIT_WARNING]);
    CHECK_CONTAINS("\"rate .1\" then, \"rate .2\" now", seen.warnings);
    CHECK_INT(4, result.steps);
    /* From now on these are the conditions. */
    o.max_steps = 5;
    o.resume = TFR_FIT_EXACT;
    REQUIRE_OK(fit(&o, &result), &err);
    end();
}

TEST(a_checkpoint_that_cannot_be_written_on_the_way_is_a_warning)
{
    tfr_fit_options o;
    tfr_fit_result result;
    begin();
    o = options_of(folder);
    o.checkpoint_every = 2;
    seen.lose_folder_at = 3;
    seen.find_folder_at = 9;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(4, seen.kinds[TFR_FIT_WARNING]); /* 4, 6, 8, and 5, which ends an epoch */
    CHECK_CONTAINS("no checkpoint was written: ", seen.warnings);
    CHECK_CONTAINS("step-00000010.safetensors", result.checkpoint);
    end();
}

TEST(the_last_checkpoint_that_cannot_be_written_is_an_error_and_earlier_ones_stay)
{
    tfr_fit_options o;
    tfr_fit_result result;
    begin();
    o = options_of(folder);
    o.checkpoint_every = 2;
    seen.lose_folder_at = 9;
    CHECK_INT(TFR_EIO, fit(&o, &result));
    CHECK_CONTAINS(folder, err.text);
    CHECK_INT(STEPS, result.steps);
    CHECK_INT(EPOCHS, result.epochs);
    lose_folder(false);
    seen.lose_folder_at = 0;
    o.resume = TFR_FIT_EXACT;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(STEPS, result.steps);
    end();
}

TEST(no_epochs_are_a_validation)
{
    tfr_fit_options o;
    tfr_fit_result result;
    begin();
    o = options_of(NULL);
    o.epochs = 0;
    REQUIRE_OK(fit(&o, &result), &err);
    CHECK_INT(20, result.validation.samples);
    CHECK_INT(0, result.steps);
    CHECK(isnan(result.best));
    end();
}

static const test_case cases[] = {
    CASE(it_tells_of_each_step_validation_epoch_and_checkpoint),
    CASE(a_training_stopped_at_any_step_and_resumed_ends_with_the_same_bits),
    CASE(samples_that_are_held_give_the_same_bits),
    CASE(so_does_one_between_two_updates_whose_rate_follows_a_schedule),
    CASE(a_validation_that_was_stopped_is_made_again),
    CASE(a_limit_of_steps_ends_with_a_validation_and_can_be_raised),
    CASE(a_folder_with_checkpoints_is_not_begun_anew),
    CASE(other_conditions_are_told_and_refused_where_bits_must_be_the_same),
    CASE(a_checkpoint_that_cannot_be_written_on_the_way_is_a_warning),
    CASE(the_last_checkpoint_that_cannot_be_written_is_an_error_and_earlier_ones_stay),
    CASE(no_epochs_are_a_validation),
};
TEST_MAIN(cases)

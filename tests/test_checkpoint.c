/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of checkpoints: a training goes on bit by bit, damaged and foreign files are refused and an
 * older one is taken, old ones go, and nothing is lost where a folder cannot be written.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <tfrun/checkpoint.h>
#include <unistd.h>

#include "nn/crc32c.h"
#include "session_kit.h"
#include "temp_path.h"

enum { N_IN = 3, N_OUT = 2, BATCH = 4, N_STEPS = 6 };

static char folder[200];

static tfr_trainer *new_trainer(const char *optimizer)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer = NULL;
    options.loss = "mse";
    options.optimizer = optimizer;
    options.seed = 5;
    REQUIRE_OK(tfr_net_create("net", dims, 2, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_dense(net, N_OUT, "tanh");
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    tfr_net_destroy(net);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return trainer;
}

static tfr_tensor *numbers(int64_t columns, int seed)
{
    const tfr_shape shape = {2, {BATCH, columns}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    for (int64_t i = 0; i < BATCH * columns; i++)
        ((float *)tfr_tensor_data(t))[i] = (float)((i * 37 + seed * 11) % 17) / 17 - .5f;
    return t;
}

static void train(tfr_trainer *trainer, int from, int to)
{
    for (int i = from; i < to; i++) {
        tfr_tensor *x = numbers(N_IN, i), *t = numbers(N_OUT, 100 + i);
        REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
        tfr_tensor_release(x);
        tfr_tensor_release(t);
    }
}

static void save(tfr_trainer *trainer, uint32_t keep, int64_t best, char path[300])
{
    const tfr_checkpoint_info info = {.size = sizeof info,
                                      .epoch = 2,
                                      .position = 7,
                                      .shuffle_seed = UINT64_MAX,
                                      .best = .5,
                                      .best_steps = best,
                                      .conditions = "threads 2\ndata \"x\""};
    REQUIRE_OK(tfr_checkpoint_save(trainer, folder, &info, keep, path, 300, &err), &err);
}

static void check_same(tfr_trainer *a, tfr_trainer *b)
{
    CHECK_UINT(tfr_trainer_n_variables(a), tfr_trainer_n_variables(b));
    for (uint32_t i = 0; i < tfr_trainer_n_variables(a); i++) {
        const char *name = tfr_trainer_variable(a, i);
        tfr_tensor *x = NULL, *y = NULL;
        REQUIRE_OK(tfr_trainer_get_variable(a, name, &x, &err), &err);
        REQUIRE_OK(tfr_trainer_get_variable(b, name, &y, &err), &err);
        CHECK(memcmp(tfr_tensor_data(x), tfr_tensor_data(y), tfr_tensor_bytes(x)) == 0);
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", temp_path("checkpoints"));
}

static void end(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_INT(0, system(command));
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

TEST(a_training_goes_on_bit_by_bit_from_a_checkpoint)
{
    tfr_trainer *whole = new_trainer("adam"), *first = new_trainer("adam"),
                *second = new_trainer("adam");
    tfr_checkpoint_info info = {.size = sizeof info};
    uint64_t seed, step;
    char path[300];
    begin();
    train(whole, 0, N_STEPS);
    train(first, 0, N_STEPS / 2);
    save(first, 0, 0, path);
    CHECK_CONTAINS("/step-00000003.safetensors", path);
    REQUIRE_OK(tfr_checkpoint_resume(second, folder, &info, NULL, NULL, &err), &err);
    CHECK_INT(N_STEPS / 2, info.steps);
    CHECK_INT(2, info.epoch);
    CHECK_INT(7, info.position);
    CHECK_UINT(UINT64_MAX, info.shuffle_seed);
    CHECK(info.best == .5);
    CHECK_STR("threads 2\ndata \"x\"", info.conditions);
    tfr_session_get_random(tfr_trainer_session(second), &seed, &step);
    CHECK_UINT(5, seed);
    CHECK_UINT(N_STEPS / 2, step);
    train(second, N_STEPS / 2, N_STEPS);
    check_same(whole, second);
    tfr_trainer_destroy(whole);
    tfr_trainer_destroy(first);
    tfr_trainer_destroy(second);
    end();
}

TEST(an_evaluation_after_a_load_has_the_loaded_weights)
{
    tfr_trainer *a = new_trainer("sgd"), *b = new_trainer("sgd");
    tfr_train_metrics of_a = {.size = sizeof of_a}, of_b = {.size = sizeof of_b};
    tfr_checkpoint_info info = {.size = sizeof info};
    tfr_tensor *x = numbers(N_IN, 1), *t = numbers(N_OUT, 2);
    begin();
    train(a, 0, N_STEPS);
    save(a, 0, 0, (char[300]){0});
    REQUIRE_OK(tfr_trainer_evaluate(b, x, t, &of_b, &err), &err);
    REQUIRE_OK(tfr_checkpoint_resume(b, folder, &info, NULL, NULL, &err), &err);
    of_b = (tfr_train_metrics){.size = sizeof of_b};
    REQUIRE_OK(tfr_trainer_evaluate(a, x, t, &of_a, &err), &err);
    REQUIRE_OK(tfr_trainer_evaluate(b, x, t, &of_b, &err), &err);
    CHECK(of_a.loss == of_b.loss);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
    tfr_trainer_destroy(a);
    tfr_trainer_destroy(b);
    end();
}

static char refusals[1000];

static void note(void *user, const char *path, const tfr_err *why)
{
    (void)user;
    (void)path;
    snprintf(refusals + strlen(refusals), sizeof refusals - strlen(refusals), "%s\n", why->text);
}

/* Changes one byte from the end. */
static void damage(const char *path, long from_end)
{
    FILE *f = fopen(path, "r+b");
    int c;
    REQUIRE(f != NULL);
    fseek(f, -from_end, SEEK_END);
    c = fgetc(f);
    fseek(f, -from_end, SEEK_END);
    fputc(c ^ 1, f);
    fclose(f);
}

TEST(a_damaged_or_torn_checkpoint_is_refused_and_an_older_one_is_taken)
{
    tfr_trainer *a = new_trainer("adam"), *b = new_trainer("adam"), *c = new_trainer("adam");
    tfr_checkpoint_info info = {.size = sizeof info};
    char paths[3][300];
    struct stat of;
    begin();
    refusals[0] = '\0';
    for (int i = 0; i < 3; i++) {
        train(a, i, i + 1);
        save(a, 0, 0, paths[i]);
        if (!i)
            train(c, 0, 1);
    }
    damage(paths[1], 3);
    REQUIRE_INT(0, stat(paths[2], &of));
    REQUIRE_INT(0, truncate(paths[2], of.st_size - 4));
    REQUIRE_OK(tfr_checkpoint_resume(b, folder, &info, note, NULL, &err), &err);
    CHECK_INT(1, info.steps);
    CHECK_CONTAINS("step-00000003.safetensors: ", refusals);
    CHECK_CONTAINS("the file is cut short", refusals);
    CHECK_CONTAINS("step-00000002.safetensors: its content is damaged: the checksum is another one",
                   refusals);
    check_same(c, b);
    tfr_trainer_destroy(a);
    tfr_trainer_destroy(b);
    tfr_trainer_destroy(c);
    end();
}

TEST(a_checkpoint_of_another_optimizer_is_refused_and_nothing_changes)
{
    tfr_trainer *a = new_trainer("adam"), *b = new_trainer("sgd"), *c = new_trainer("sgd");
    tfr_checkpoint_info info = {.size = sizeof info};
    char path[300];
    begin();
    train(b, 0, 1);
    train(c, 0, 1);
    save(b, 0, 0, path);
    CHECK_INT(TFR_EMODEL, tfr_checkpoint_load(a, path, &info, &err));
    CHECK_CONTAINS("; it is of another model or optimizer", err.text);
    train(a, 0, 2);
    save(a, 0, 0, path);
    CHECK_INT(TFR_EMODEL, tfr_checkpoint_load(b, path, &info, &err));
    check_same(b, c);
    tfr_trainer_destroy(a);
    tfr_trainer_destroy(b);
    tfr_trainer_destroy(c);
    end();
}

TEST(old_checkpoints_go_but_not_the_best)
{
    tfr_trainer *a = new_trainer("sgd");
    char paths[5][300];
    int64_t newest = 0;
    begin();
    for (int i = 0; i < 5; i++) {
        train(a, i, i + 1);
        save(a, 2, i ? 2 : 0, paths[i]);
    }
    CHECK(!is_there(paths[0]) && is_there(paths[1]) && !is_there(paths[2]));
    CHECK(is_there(paths[3]) && is_there(paths[4]));
    REQUIRE_OK(tfr_checkpoint_newest(folder, &newest, &err), &err);
    CHECK_INT(5, newest);
    tfr_trainer_destroy(a);
    end();
}

TEST(a_folder_without_checkpoints_says_so)
{
    tfr_trainer *a = new_trainer("sgd");
    tfr_checkpoint_info info = {.size = sizeof info};
    begin();
    CHECK_INT(TFR_ENOTFOUND, tfr_checkpoint_resume(a, folder, &info, NULL, NULL, &err));
    REQUIRE_INT(0, mkdir(folder, 0700));
    CHECK_INT(TFR_ENOTFOUND, tfr_checkpoint_resume(a, folder, &info, NULL, NULL, &err));
    CHECK_CONTAINS("there is no checkpoint that can be loaded", err.text);
    tfr_trainer_destroy(a);
    end();
}

TEST(a_place_that_cannot_be_written_is_named_and_the_last_checkpoint_stays)
{
    tfr_trainer *a = new_trainer("sgd");
    const tfr_checkpoint_info info = {.size = sizeof info};
    char file[300];
    FILE *f;
    begin();
    f = fopen(folder, "w"); /* a file where the folder should be */
    REQUIRE(f != NULL);
    fclose(f);
    snprintf(file, sizeof file, "%s", folder);
    CHECK_INT(TFR_EIO, tfr_checkpoint_save(a, folder, &info, 1, NULL, 0, &err));
    CHECK_CONTAINS(file, err.text);
    tfr_trainer_destroy(a);
    end();
}

TEST(crc32c_of_the_nine_digits_is_that_of_the_standard)
{
    CHECK_UINT(0xe3069283u, tfr__crc32c(0, "123456789", 9));
    CHECK_UINT(0xe3069283u, tfr__crc32c(tfr__crc32c(0, "1234", 4), "56789", 5));
}

static const test_case cases[] = {
    CASE(crc32c_of_the_nine_digits_is_that_of_the_standard),
    CASE(a_training_goes_on_bit_by_bit_from_a_checkpoint),
    CASE(an_evaluation_after_a_load_has_the_loaded_weights),
    CASE(a_damaged_or_torn_checkpoint_is_refused_and_an_older_one_is_taken),
    CASE(a_checkpoint_of_another_optimizer_is_refused_and_nothing_changes),
    CASE(old_checkpoints_go_but_not_the_best),
    CASE(a_folder_without_checkpoints_says_so),
    CASE(a_place_that_cannot_be_written_is_named_and_the_last_checkpoint_stays),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of a capture wait for those whose memory they share, and for no others. The stand-in
 * runs a graph in an order as far from that of the capture as its dependencies allow, so that one
 * that is missing shows in the sums.
 */
#include "host_kit.h"

enum { N = 4, BUFFERS = 8, BYTES = N * sizeof(float) };

typedef struct bench {
    rig rig;
    float *at[BUFFERS]; /* buffer k begins with k + 1 everywhere */
    tfr_kernel *add;
} bench;

static void fill(bench *b, int k, float value)
{
    const float values[N] = {value, value, value, value};
    REQUIRE_OK(copy(&b->rig, NULL, 0, b->at[k], TFR_SPACE_HOST, values, BYTES), &err);
}

static bench new_bench(tfr_plugin_device *device)
{
    const int64_t n = N;
    bench b = {.rig = rig_of(device)};
    for (int k = 0; k < BUFFERS; k++) {
        b.at[k] = new_memory(&b.rig, 0, 0, BYTES);
        fill(&b, k, (float)(k + 1));
    }
    b.add = new_add(&b.rig, &n);
    return b;
}

static void end_bench(bench *b)
{
    kernels->drop(b->rig.device, b->add);
    for (int k = 0; k < BUFFERS; k++)
        memory->free(b->rig.device, 0, b->at[k]);
    end_rig(&b->rig);
    check_leaks("leaked: nothing");
}

/* z = x + y */
static int32_t add(bench *b, int x, int y, int z)
{
    return launch(&b->rig, b->add, b->at[x], b->at[y], b->at[z], (uint64_t)z + 1);
}

static float value_of(bench *b, int k)
{
    float values[N];
    REQUIRE_OK(copy(&b->rig, NULL, TFR_SPACE_HOST, values, 0, b->at[k], BYTES), &err);
    for (int i = 1; i < N; i++)
        CHECK_NEAR(values[0], values[i], 0);
    return values[0];
}

static void begin_capture(bench *b)
{
    REQUIRE_OK(captures->begin(b->rig.device, b->rig.queue, &err), &err);
}

static void end_and_run(bench *b)
{
    tfr_executable *executable = NULL;
    REQUIRE_OK(captures->end(b->rig.device, b->rig.queue, &executable, &err), &err);
    CHECK_OK(captures->launch(b->rig.device, b->rig.queue, executable, &err), &err);
    CHECK_OK(finish(&b->rig), &err);
    captures->drop(b->rig.device, executable);
}

/* How often the stream was told to put the next node behind so many others. */
static int sets_of(int n)
{
    char line[64];
    int count = 0;
    fake_log_fn *log_of;
    char path[4200], *log;
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    *(void **)&log_of = symbol(driver, "tfr_fake_cuda_log");
    log = log_of();
    dlclose(driver);
    snprintf(line, sizeof line, ", %d nodes = 0", n);
    for (char *at = log; (at = strstr(at, "cuStreamUpdateCaptureDependencies_v2")); at++) {
        const char *end = strchr(at, '\n'), *found = strstr(at, line);
        count += found && found < end;
    }
    free(log);
    return count;
}

TEST(launches_that_share_no_memory_do_not_wait_for_each_other)
{
    BEGIN("log");
    bench b = new_bench(open_with(0, NULL, NULL));
    begin_capture(&b);
    CHECK_OK(add(&b, 0, 1, 2), &err);
    CHECK_OK(add(&b, 0, 1, 3), &err); /* both read, and that is no hindrance */
    CHECK_OK(add(&b, 4, 5, 6), &err);
    end_and_run(&b);
    CHECK_INT(2, sets_of(0));
    CHECK_NEAR(3, value_of(&b, 2), 0);
    CHECK_NEAR(3, value_of(&b, 3), 0);
    CHECK_NEAR(11, value_of(&b, 6), 0);
    end_bench(&b);
}

TEST(what_is_read_has_been_written_before)
{
    BEGIN("");
    bench b = new_bench(open_with(0, NULL, NULL));
    begin_capture(&b);
    CHECK_OK(add(&b, 0, 1, 2), &err);
    CHECK_OK(add(&b, 2, 0, 3), &err);
    CHECK_OK(add(&b, 0, 4, 5), &err);
    CHECK_OK(add(&b, 3, 5, 6), &err);
    end_and_run(&b);
    CHECK_NEAR(4, value_of(&b, 3), 0);
    CHECK_NEAR(10, value_of(&b, 6), 0);
    end_bench(&b);
}

TEST(memory_is_written_anew_after_its_readers_and_its_writer)
{
    BEGIN("");
    bench b = new_bench(open_with(0, NULL, NULL));
    begin_capture(&b);
    CHECK_OK(add(&b, 0, 1, 2), &err); /* 3 */
    CHECK_OK(add(&b, 2, 0, 3), &err); /* 4, of the first 3 */
    CHECK_OK(add(&b, 4, 5, 2), &err); /* 11 */
    CHECK_OK(add(&b, 2, 0, 6), &err); /* 12 */
    end_and_run(&b);
    CHECK_NEAR(4, value_of(&b, 3), 0);
    CHECK_NEAR(11, value_of(&b, 2), 0);
    CHECK_NEAR(12, value_of(&b, 6), 0);
    end_bench(&b);
}

TEST(a_copy_is_behind_all_before_it_and_in_front_of_all_that_follows)
{
    BEGIN("");
    bench b = new_bench(open_with(0, NULL, NULL));
    begin_capture(&b);
    CHECK_OK(add(&b, 0, 1, 2), &err);
    CHECK_OK(add(&b, 4, 5, 6), &err);
    CHECK_OK(copy(&b.rig, b.rig.queue, 0, b.at[7], 0, b.at[2], BYTES), &err); /* 3 */
    CHECK_OK(add(&b, 7, 0, 3), &err);                                         /* 4 */
    CHECK_OK(add(&b, 0, 0, 2), &err);                                         /* 2 */
    end_and_run(&b);
    CHECK_NEAR(3, value_of(&b, 7), 0);
    CHECK_NEAR(4, value_of(&b, 3), 0);
    CHECK_NEAR(2, value_of(&b, 2), 0);
    end_bench(&b);
}

TEST(more_launches_than_are_told_apart_are_in_order)
{
    BEGIN("");
    bench b = new_bench(open_with(0, NULL, NULL));
    begin_capture(&b);
    for (int i = 0; i < 700; i++) { /* 2 <- 0 + 3, 3 <- 0 + 2 */
        CHECK_OK(add(&b, 0, 3 - i % 2, 2 + i % 2), &err);
        if (i % 100 == 50)
            CHECK_OK(add(&b, 4, 5, 6), &err);
    }
    end_and_run(&b);
    CHECK_NEAR(4 + 699, value_of(&b, 2), 0);
    CHECK_NEAR(4 + 700, value_of(&b, 3), 0);
    end_bench(&b);
}

TEST(with_the_option_off_they_are_one_behind_the_other)
{
    BEGIN("");
    bench b = new_bench(open_with(0, "overlap", "off"));
    begin_capture(&b);
    CHECK_OK(add(&b, 0, 1, 2), &err);
    CHECK_OK(add(&b, 4, 5, 6), &err);
    end_and_run(&b);
    CHECK_INT(0, calls_of("cuStreamUpdateCaptureDependencies_v2"));
    CHECK_NEAR(11, value_of(&b, 6), 0);
    end_bench(&b);
}

TEST(an_option_that_is_neither_on_nor_off_is_refused)
{
    BEGIN("");
    CHECK(open_with(0, "overlap", "maybe") == NULL);
    CHECK_CONTAINS("cuda.overlap is maybe, and has to be on or off", err.text);
    check_leaks("leaked: nothing");
}

TEST(a_set_that_the_driver_refuses_fails_the_capture_and_the_queue_goes_on)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        BEGIN("");
        tfr_executable *executable = NULL;
        bench b = new_bench(open_with(0, NULL, NULL));
        begin_capture(&b);
        fail_at("cuStreamUpdateCaptureDependencies_v2", nth, 1);
        int32_t status = add(&b, 0, 1, 2);
        if (status == TFR_OK)
            status = add(&b, 4, 5, 6);
        CHECK(status != TFR_OK);
        CHECK(add(&b, 4, 5, 6) != TFR_OK); /* it is over */
        CHECK(captures->end(b.rig.device, b.rig.queue, &executable, &err) != TFR_OK);
        CHECK(executable == NULL);
        CHECK_OK(add(&b, 4, 5, 6), &err);
        CHECK_OK(finish(&b.rig), &err);
        CHECK_NEAR(11, value_of(&b, 6), 0);
        end_bench(&b);
    }
}

static const test_case cases[] = {
    CASE(launches_that_share_no_memory_do_not_wait_for_each_other),
    CASE(what_is_read_has_been_written_before),
    CASE(memory_is_written_anew_after_its_readers_and_its_writer),
    CASE(a_copy_is_behind_all_before_it_and_in_front_of_all_that_follows),
    CASE(more_launches_than_are_told_apart_are_in_order),
    CASE(with_the_option_off_they_are_one_behind_the_other),
    CASE(an_option_that_is_neither_on_nor_off_is_refused),
    CASE(a_set_that_the_driver_refuses_fails_the_capture_and_the_queue_goes_on),
};
TEST_MAIN(cases)

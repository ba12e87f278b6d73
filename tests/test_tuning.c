/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/device/tuning.c: what is kept, what goes, and files that nobody should believe. */
#include "base/hash.h"
#include "tfr_test.h"

#include <sys/wait.h>

#include "base/alloc.h"
#include "base/env.h"
#include "device/loader.h"
#include "temp_path.h"
#include "device/tuning.h"

static tfr__tuning_key key_of(const char *text)
{
    tfr__tuning_key key = TFR__TUNING_KEY;
    tfr__tuning_add_text(&key, text);
    return key;
}

static void put(tfr__tuning *t, const char *key, const char *value)
{
    tfr__tuning_put(t, key_of(key), value, (uint32_t)strlen(value) + 1);
}

/* The value as text, "" = none. */
static const char *get(tfr__tuning *t, const char *key)
{
    static char text[64];
    uint32_t n = tfr__tuning_get(t, key_of(key), text, sizeof text);
    return n ? text : "";
}

static tfr__tuning open_at(const char *name)
{
    tfr__tuning t;
    tfr__tuning_init(&t, NULL, temp_path(name));
    return t;
}

/* A file with two entries, read into bytes. */
static size_t write_two(const char *name, char *bytes, size_t capacity)
{
    tfr__tuning t = open_at(name);
    FILE *f;
    size_t n;
    put(&t, "a", "one");
    put(&t, "b", "two");
    tfr__tuning_save(&t);
    tfr__tuning_finish(&t);
    f = fopen(temp_path(name), "rb");
    REQUIRE(f != NULL);
    n = fread(bytes, 1, capacity, f);
    fclose(f);
    return n;
}

TEST(what_is_put_is_got_by_the_next_process)
{
    tfr__tuning t = open_at("t");
    char small[3] = "xx";
    CHECK_STR("", get(&t, "a"));
    put(&t, "a", "one");
    put(&t, "b", "two");
    put(&t, "a", "three");
    CHECK_STR("three", get(&t, "a"));
    CHECK_UINT(6, tfr__tuning_get(&t, key_of("a"), small, 2));
    CHECK_MEM("thx", small, 2);
    tfr__tuning_save(&t);
    tfr__tuning_finish(&t);
    t = open_at("t");
    CHECK_STR("three", get(&t, "a"));
    CHECK_STR("two", get(&t, "b"));
    tfr__tuning_put(&t, key_of("a"), NULL, 0);
    CHECK_STR("", get(&t, "a"));
    tfr__tuning_finish(&t);
    temp_drop("t");
}

TEST(keys_depend_on_every_byte)
{
    tfr__tuning_key a = TFR__TUNING_KEY, b = a, c = key_of("ab");
    tfr__tuning_add(&a, "x", 1);
    tfr__tuning_add(&b, "y", 1);
    CHECK(a.low != b.low && a.high != b.high);
    b = key_of("a");
    tfr__tuning_add_text(&b, "b");
    CHECK(c.low != b.low && c.high != b.high);
}

TEST(a_damaged_file_is_empty_and_written_anew)
{
    static char bytes[4096], bad[4096];
    size_t n = write_two("t", bytes, sizeof bytes);
    REQUIRE(n > 60 && n < 400);
    /* Without its first 8 bytes nobody can say that it is ours. */
    for (size_t at = 8; at < 2 * n - 8; at++) {
        tfr__tuning t;
        memcpy(bad, bytes, n);
        if (at < n)
            bad[at] = (char)(bad[at] ^ 1);
        temp_write("t", bad, at < n ? n : at - n + 8); /* a bit, or cut short */
        t = open_at("t");
        CHECK_STR("", get(&t, "a"));
        CHECK_STR("", get(&t, "b"));
        put(&t, "c", "new");
        tfr__tuning_save(&t);
        tfr__tuning_finish(&t);
        t = open_at("t");
        CHECK_STR("new", get(&t, "c"));
        tfr__tuning_finish(&t);
    }
    temp_drop("t");
}

/* The sum is right, the rest is hostile. */
TEST(counts_and_lengths_are_not_believed)
{
    static char bytes[4096], bad[4096];
    static const struct {
        size_t at;
        uint32_t value;
    } lies[] = {{8, 3},           {8, 1},  {8, UINT32_MAX},  {12, 1},
                {28, UINT32_MAX}, /* keys are no longer in order */
                {40, 0},          {40, 5}, {40, UINT32_MAX}, {44, 7}};
    size_t n = write_two("t", bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint64_t sum;
        tfr__tuning t;
        memcpy(bad, bytes, n);
        memcpy(bad + lies[i].at, &lies[i].value, 4);
        sum = tfr__hash(TFR__HASH_SEED, bad, n - 8);
        memcpy(bad + n - 8, &sum, 8);
        temp_write("t", bad, n);
        t = open_at("t");
        CHECK_STR("", get(&t, "a"));
        CHECK_UINT(0, t.n);
        tfr__tuning_finish(&t);
    }
    temp_drop("t");
}

static char said[1024];

static void listen(void *user, tfr_log_level level, const char *who, const char *text)
{
    size_t n = strlen(said);
    (void)user;
    if (level <= TFR_LOG_WARNING && strcmp(who, "tuning") == 0)
        snprintf(said + n, sizeof said - n, "%s.", text);
}

TEST(a_damaged_file_is_told_once_and_fails_nothing)
{
    tfr_err err = TFR_ERR_INIT;
    const tfr_option option = {"tuning", temp_path("t")};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    options.options = &option;
    options.n_options = 1;
    options.log = listen;
    temp_write("t", "TFRTUNE1 cut", 12);
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    CHECK_STR("", said);
    CHECK_STR("", get(&runtime->tuning, "a"));
    CHECK(strstr(said, "t is damaged, or not the user's own") != NULL);
    said[0] = '\0';
    put(&runtime->tuning, "a", "one");
    tfr__tuning_save(&runtime->tuning);
    tfr_runtime_release(runtime);
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    CHECK_STR("one", get(&runtime->tuning, "a"));
    CHECK_STR("", said);
    tfr_runtime_release(runtime);
    temp_drop("t");
}

TEST(a_wrong_setting_is_told_and_keeps_nothing)
{
    tfr_err err = TFR_ERR_INIT;
    const tfr_option option = {"tuning", "here"};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    options.options = &option;
    options.n_options = 1;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    put(&runtime->tuning, "a", "one");
    CHECK_STR("", get(&runtime->tuning, "a"));
    CHECK(runtime->tuning.path == NULL);
    tfr_runtime_release(runtime);
}

TEST(the_least_recently_used_go)
{
    tfr__tuning t = open_at("t");
    char name[32];
    for (int i = 0; i < TFR__TUNING_ENTRIES; i++) {
        snprintf(name, sizeof name, "key %d", i);
        put(&t, name, "x");
    }
    CHECK_STR("x", get(&t, "key 0"));
    put(&t, "one more", "y");
    CHECK_UINT(TFR__TUNING_ENTRIES, t.n);
    CHECK_STR("x", get(&t, "key 0"));
    CHECK_STR("", get(&t, "key 1"));
    tfr__tuning_finish(&t);
}

TEST(bytes_are_bounded)
{
    static char large[TFR__TUNING_VALUE_BYTES + 1];
    tfr__tuning t = open_at("t");
    char name[32];
    tfr__tuning_put(&t, key_of("too long"), large, sizeof large);
    CHECK_UINT(0, t.n);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "key %d", i);
        tfr__tuning_put(&t, key_of(name), large, TFR__TUNING_VALUE_BYTES);
    }
    CHECK_UINT(TFR__TUNING_BYTES / TFR__TUNING_VALUE_BYTES, t.n);
    CHECK(t.bytes <= TFR__TUNING_BYTES);
    tfr__tuning_save(&t);
    tfr__tuning_finish(&t);
    t = open_at("t");
    CHECK_UINT(TFR__TUNING_VALUE_BYTES, tfr__tuning_get(&t, key_of("key 99"), large, 10));
    tfr__tuning_finish(&t);
    temp_drop("t");
}

TEST(two_processes_lose_nothing_of_each_other)
{
    tfr__tuning a = open_at("t"), b = open_at("t");
    CHECK_STR("", get(&a, "a"));
    CHECK_STR("", get(&b, "a"));
    put(&a, "a", "first");
    put(&a, "c", "first");
    put(&b, "b", "second");
    put(&b, "c", "second");
    tfr__tuning_save(&a);
    tfr__tuning_save(&b);
    tfr__tuning_finish(&a);
    tfr__tuning_finish(&b);
    a = open_at("t");
    CHECK_STR("first", get(&a, "a"));
    CHECK_STR("second", get(&a, "b"));
    CHECK_STR("second", get(&a, "c"));
    tfr__tuning_finish(&a);
    temp_drop("t");
}

TEST(many_writers_leave_a_whole_file)
{
    pid_t children[6];
    int failed = 0, exit_status;
    char path[256];
    tfr__tuning t;
    snprintf(path, sizeof path, "%s", temp_path("t")); /* of the parent's folder */
    for (int i = 0; i < 6; i++) {
        children[i] = fork();
        REQUIRE(children[i] >= 0);
        if (children[i])
            continue;
        for (int k = 0; k < 40; k++) {
            char name[32];
            tfr__tuning_init(&t, NULL, path);
            snprintf(name, sizeof name, "%d of %d", k, i);
            put(&t, name, "x");
            tfr__tuning_save(&t);
            put(&t, "all", "y");
            if (strcmp(get(&t, name), "x") != 0)
                _exit(1);
            tfr__tuning_finish(&t);
        }
        _exit(0);
    }
    for (int i = 0; i < 6; i++) {
        waitpid(children[i], &exit_status, 0);
        failed += exit_status != 0;
    }
    CHECK_INT(0, failed);
    t = open_at("t");
    get(&t, "all");
    CHECK(t.n > 0); /* valid, whoever was last */
    tfr__tuning_finish(&t);
    temp_drop("t");
}

TEST(off_keeps_nothing_and_a_privileged_process_has_no_file)
{
    tfr__tuning t;
    tfr__tuning_init(&t, NULL, "off");
    put(&t, "a", "one");
    CHECK_STR("", get(&t, "a"));
    tfr__tuning_save(&t);
    tfr__tuning_finish(&t);
    tfr__privileged_for_test(1);
    t = open_at("t");
    put(&t, "a", "one");
    CHECK_STR("", get(&t, "a"));
    tfr__tuning_save(&t);
    tfr__tuning_finish(&t);
    tfr__privileged_for_test(-1);
    CHECK_INT(-1, access(temp_path("t"), F_OK));
    rmdir(temp_folder());
}

/* Uses and saves a store at the place, and returns what was said. */
static const char *say_of(const char *name)
{
    tfr_err err = TFR_ERR_INIT;
    const tfr_option option = {"tuning", temp_path(name)};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    options.options = &option;
    options.n_options = 1;
    options.log = listen;
    said[0] = '\0';
    if (tfr_runtime_create(&options, &runtime, &err))
        return "no runtime";
    put(&runtime->tuning, "a", "one");
    tfr__tuning_save(&runtime->tuning);
    put(&runtime->tuning, "a", "two");
    tfr__tuning_save(&runtime->tuning);
    tfr_runtime_release(runtime);
    return said;
}

TEST(what_is_no_regular_file_is_left_alone)
{
    struct stat st;
    REQUIRE_INT(0, symlink("/dev/null", temp_path("t")));
    CHECK_CONTAINS("t is not replaced: it is a link; nothing is kept", say_of("t"));
    CHECK(lstat(temp_path("t"), &st) == 0 && S_ISLNK(st.st_mode));
    temp_drop("t");
}

TEST(a_file_that_tfrun_did_not_write_is_left_alone)
{
    char bytes[32] = "";
    const char *first;
    FILE *file;
    temp_write("t", "a letter home", 13);
    first = strstr(say_of("t"), "t is not replaced: it was not written by tfrun; nothing is kept");
    CHECK(first != NULL);
    CHECK(first && strstr(first + 20, "is not replaced") == NULL); /* said once */
    file = fopen(temp_path("t"), "rb");
    REQUIRE(file != NULL);
    CHECK_UINT(13, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    CHECK_STR("a letter home", bytes);
    temp_drop("t");
}

TEST(a_file_of_others_is_not_read)
{
    char bytes[4096];
    tfr__tuning t;
    write_two("t", bytes, sizeof bytes);
    chmod(temp_path("t"), 0622);
    t = open_at("t");
    CHECK_STR("", get(&t, "a"));
    tfr__tuning_finish(&t);
    temp_drop("t");
}

TEST(without_memory_less_is_kept)
{
    char bytes[4096];
    write_two("t", bytes, sizeof bytes);
    for (uint64_t n = 1; n < 12; n++) {
        uint64_t live = tfr__alloc_live();
        tfr__tuning t;
        tfr__alloc_fail_at(n);
        t = open_at("t");
        get(&t, "a");
        put(&t, "c", "x");
        tfr__tuning_save(&t);
        tfr__alloc_fail_at(0);
        tfr__tuning_finish(&t);
        CHECK_UINT(live, tfr__alloc_live());
    }
    temp_drop("t");
}

TEST(a_second_checkpoint_waits_and_the_end_does_not)
{
    tfr__tuning t = open_at("t"), other;
    put(&t, "a", "one");
    tfr__tuning_checkpoint(&t);
    put(&t, "b", "two");
    tfr__tuning_checkpoint(&t);
    other = open_at("t");
    CHECK_STR("one", get(&other, "a"));
    CHECK_STR("", get(&other, "b"));
    tfr__tuning_finish(&other);
    tfr__tuning_save(&t);
    other = open_at("t");
    CHECK_STR("two", get(&other, "b"));
    tfr__tuning_finish(&other);
    put(&t, "c", "three");
    t.saved_ns = 1; /* long ago */
    tfr__tuning_checkpoint(&t);
    tfr__tuning_finish(&t);
    t = open_at("t");
    CHECK_STR("three", get(&t, "c"));
    tfr__tuning_finish(&t);
    temp_drop("t");
}

static const test_case cases[] = {
    CASE(what_is_put_is_got_by_the_next_process),
    CASE(keys_depend_on_every_byte),
    CASE(a_damaged_file_is_empty_and_written_anew),
    CASE(counts_and_lengths_are_not_believed),
    CASE(a_damaged_file_is_told_once_and_fails_nothing),
    CASE(a_wrong_setting_is_told_and_keeps_nothing),
    CASE(the_least_recently_used_go),
    CASE(bytes_are_bounded),
    CASE(two_processes_lose_nothing_of_each_other),
    CASE(many_writers_leave_a_whole_file),
    CASE(off_keeps_nothing_and_a_privileged_process_has_no_file),
    CASE(what_is_no_regular_file_is_left_alone),
    CASE(a_file_that_tfrun_did_not_write_is_left_alone),
    CASE(a_file_of_others_is_not_read),
    CASE(without_memory_less_is_kept),
    CASE(a_second_checkpoint_waits_and_the_end_does_not),
};
TEST_MAIN(cases)

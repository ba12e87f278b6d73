/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins keep from process to process (tfr.host.store/1): whose it is, and how much. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "base/env.h"
#include "device/loader.h"

#include <dirent.h>
#include <sys/wait.h>

enum { BYTES = 300000 };

static tfr_runtime *open_store(void)
{
    kit_begin();
    unsetenv("TFRUN_STORE");
    kit_add("good", "good");
    return kit_open(NULL);
}

static void close_store(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    kit_end();
}

static const tfr_host_store *store(void)
{
    return tfr__host()->facet(TFR_HOST_STORE_V1);
}

/* An entry whose bytes follow from its number. */
static tfr_status put(const char *key, unsigned number, size_t n)
{
    static unsigned char bytes[BYTES];
    tfr_err err = TFR_ERR_INIT;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(number + i * 7);
    return (tfr_status)store()->put("good", key, strlen(key), bytes, n, &err);
}

/* The number of the entry; -1 = there is none, -2 = it is wrong. */
static int get(const char *key, size_t n)
{
    static unsigned char bytes[BYTES];
    uint64_t got = sizeof bytes;
    tfr_status status = (tfr_status)store()->get("good", key, strlen(key), bytes, &got, NULL);
    if (status)
        return status == TFR_ENOTFOUND ? -1 : -2;
    for (size_t i = 0; i < got; i++)
        if (bytes[i] != (unsigned char)(bytes[0] + i * 7))
            return -2;
    return got == n ? bytes[0] : -2;
}

/* The path of the i-th file of the store. */
static const char *file_at(unsigned i)
{
    static char name[512];
    DIR *folder = opendir(kit_path("cache/tfrun/store-1"));
    struct dirent *entry;
    name[0] = 0;
    REQUIRE(folder != NULL);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && i-- == 0)
            snprintf(name, sizeof name, "cache/tfrun/store-1/%s", entry->d_name);
    closedir(folder);
    return name;
}

static void in_a_child(void (*work)(unsigned), unsigned number)
{
    pid_t pid = fork();
    if (pid == 0) {
        tfr_runtime *runtime = kit_open(NULL);
        work(number);
        tfr_runtime_release(runtime);
        _exit(0);
    }
    REQUIRE(pid > 0);
}

static void put_one(unsigned number)
{
    (void)put("key", number, 1000);
}

TEST(another_process_finds_what_one_has_put)
{
    tfr_runtime *runtime;
    int status = 1;
    kit_begin();
    unsetenv("TFRUN_STORE");
    kit_add("good", "good");
    in_a_child(put_one, 7);
    CHECK(wait(&status) > 0);
    CHECK_INT(0, status);
    runtime = kit_open(NULL);
    CHECK_INT(7, get("key", 1000));
    CHECK_INT(-1, get("kez", 1000));
    CHECK_INT(-1, get("", 1000));
    CHECK_INT(TFR_OK, put("key", 9, 0));
    CHECK_INT(TFR_OK, put("", 8, 3)); /* an empty key is one, too */
    CHECK_INT(8, get("", 3));
    close_store(runtime);
}

TEST(room_that_is_too_small_is_told_and_not_written)
{
    tfr_runtime *runtime = open_store();
    unsigned char bytes[8] = {0};
    uint64_t n = 4;
    CHECK_INT(TFR_OK, put("key", 7, 5));
    CHECK_INT(TFR_OK, store()->get("good", "key", 3, bytes, &n, NULL));
    CHECK_UINT(5, n);
    CHECK_INT(0, bytes[0]);
    CHECK_INT(TFR_OK, store()->get("good", "key", 3, bytes, &n, NULL));
    CHECK_INT(7, bytes[0]);
    close_store(runtime);
}

static void put_many(unsigned number)
{
    char key[16];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(key, sizeof key, "%u", i % 4);
        (void)put(key, number, 20000);
        if (get(key, 20000) == -2)
            _exit(1);
    }
}

TEST(processes_that_write_at_once_leave_whole_entries)
{
    tfr_runtime *runtime;
    kit_begin();
    unsetenv("TFRUN_STORE");
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    for (unsigned i = 1; i <= 4; i++)
        in_a_child(put_many, i);
    for (unsigned i = 1; i <= 4; i++) {
        int status = 1;
        CHECK(wait(&status) > 0);
        CHECK_INT(0, status);
    }
    runtime = kit_open(NULL);
    for (unsigned i = 0; i < 4; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        CHECK(get(key, 20000) >= 1);
    }
    close_store(runtime);
}

TEST(another_build_of_the_plugin_finds_nothing)
{
    static const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    tfr_runtime *runtime = open_store();
    CHECK_INT(TFR_OK, put("key", 7, 100));
    CHECK_INT(7, get("key", 100));
    tfr_runtime_release(runtime);
    REQUIRE_INT(0, utimensat(AT_FDCWD, kit_path("plugins/good.so"), old, 0));
    runtime = kit_open(NULL);
    CHECK_INT(-1, get("key", 100));
    close_store(runtime);
}

TEST(a_damaged_file_is_no_entry)
{
    static char bytes[4096];
    char name[512];
    size_t n;
    tfr_runtime *runtime = open_store();
    CHECK_INT(TFR_OK, put("key", 7, 100));
    snprintf(name, sizeof name, "%s", file_at(0));
    n = kit_read(kit_path(name), bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut++) {
        kit_write(name, bytes, cut);
        CHECK_INT(-1, get("key", 100));
    }
    for (size_t at = 0; at < n; at++) {
        bytes[at] = (char)(bytes[at] ^ 1);
        kit_write(name, bytes, n);
        bytes[at] = (char)(bytes[at] ^ 1);
        CHECK_INT(-1, get("key", 100));
    }
    kit_write(name, bytes, n);
    CHECK_INT(7, get("key", 100));
    close_store(runtime);
}

TEST(keys_of_one_hash_are_not_mixed_up)
{
    static char bytes[4096];
    char first[512];
    size_t n;
    tfr_runtime *runtime = open_store();
    CHECK_INT(TFR_OK, put("key", 7, 100));
    snprintf(first, sizeof first, "%s", file_at(0));
    CHECK_INT(TFR_OK, put("kez", 8, 100));
    n = kit_read(kit_path(strcmp(file_at(0), first) ? file_at(0) : file_at(1)), bytes,
                 sizeof bytes);
    kit_write(first, bytes, n); /* as if both had this name */
    CHECK_INT(-1, get("key", 100));
    CHECK_INT(8, get("kez", 100));
    CHECK_INT(TFR_OK, put("key", 9, 100));
    CHECK_INT(9, get("key", 100));
    close_store(runtime);
}

TEST(beyond_the_limit_the_least_recently_used_go)
{
    tfr_runtime *runtime;
    kit_begin();
    unsetenv("TFRUN_STORE");
    kit_add("good", "good");
    setenv("TFRUN_STORE_MB", "1", 1);
    runtime = kit_open(NULL);
    for (unsigned i = 1; i <= 3; i++) {
        char key[] = {(char)('a' + i), 0};
        CHECK_INT(TFR_OK, put(key, i, BYTES));
        usleep(20000); /* the clock of files ticks slowly */
    }
    CHECK_INT(1, get("b", BYTES)); /* used last */
    usleep(20000);
    CHECK_INT(TFR_OK, put("e", 4, BYTES));
    CHECK_INT(1, get("b", BYTES));
    CHECK_INT(-1, get("c", BYTES));
    CHECK_INT(3, get("d", BYTES));
    CHECK_INT(4, get("e", BYTES));
    unsetenv("TFRUN_STORE_MB");
    close_store(runtime);
}

TEST(what_cannot_be_kept_is_an_error_that_says_why)
{
    tfr_runtime *runtime = open_store();
    char *large = calloc(1, TFR__STORE_ENTRY_BYTES + 1);
    tfr_err err = TFR_ERR_INIT;
    CHECK_UINT(TFR__STORE_ENTRY_BYTES, store()->max_bytes);
    CHECK_INT(TFR_ELIMIT, store()->put("good", "k", 1, large, TFR__STORE_ENTRY_BYTES + 1, &err));
    CHECK_INT(TFR_ELIMIT, store()->put("good", large, store()->max_key_bytes + 1, "x", 1, &err));
    CHECK_INT(TFR_EUNSUPPORTED, store()->put("nobody", "k", 1, "x", 1, &err));
    CHECK_CONTAINS("nothing is kept for \"nobody\"", err.text);
    CHECK_INT(TFR_OK, store()->put("good", "k", 1, large, TFR__STORE_ENTRY_BYTES, &err));
    free(large);
    tfr_runtime_release(runtime);
    kit_write("no-folder", "", 0);
    setenv("TFRUN_STORE", kit_path("no-folder"), 1); /* one that cannot be written, also by root */
    runtime = kit_open(NULL);
    CHECK_INT(TFR_EIO, put("k", 1, 10));
    CHECK_INT(-1, get("k", 10));
    CHECK_STR("", kit_talk);
    tfr_runtime_release(runtime);
    setenv("TFRUN_STORE", "off", 1);
    runtime = kit_open(NULL);
    CHECK_INT(TFR_EUNSUPPORTED, put("k", 1, 10));
    CHECK_INT(-1, get("k", 10));
    tfr_runtime_release(runtime);
    setenv("TFRUN_STORE", "relative", 1);
    runtime = kit_open(NULL);
    CHECK_INT(TFR_EUNSUPPORTED, put("k", 1, 10));
    CHECK_CONTAINS("neither off nor an absolute path", kit_talk);
    unsetenv("TFRUN_STORE");
    close_store(runtime);
}

static const test_case cases[] = {
    CASE(another_process_finds_what_one_has_put),
    CASE(room_that_is_too_small_is_told_and_not_written),
    CASE(processes_that_write_at_once_leave_whole_entries),
    CASE(another_build_of_the_plugin_finds_nothing),
    CASE(a_damaged_file_is_no_entry),
    CASE(keys_of_one_hash_are_not_mixed_up),
    CASE(beyond_the_limit_the_least_recently_used_go),
    CASE(what_cannot_be_kept_is_an_error_that_says_why),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* The user's cache folder: where it is, what is read from it, how it is written and kept small. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "base/alloc.h"
#include "base/cache_file.h"

TEST(the_folder_is_under_xdg_cache_home_or_else_under_home)
{
    static const struct {
        const char *xdg, *home, *path; /* path NULL: there is no folder */
    } rows[] = {
        {"/x", "/h", "/x/tfrun/f"},
        {"x", "/h", "/h/.cache/tfrun/f"},
        {"", "/h", "/h/.cache/tfrun/f"},
        {"x", "h", NULL},
        {"", "", NULL},
    };
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    kit_begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[64] = "";
        setenv("XDG_CACHE_HOME", rows[i].xdg, 1);
        setenv("HOME", rows[i].home, 1);
        CHECK_INT(rows[i].path != NULL, tfr__cache_path("f", path, sizeof path));
        if (rows[i].path)
            CHECK_STR(rows[i].path, path);
    }
    setenv("XDG_CACHE_HOME", "/x", 1);
    for (size_t n = 1; n < 16; n++) {
        char path[16];
        CHECK_INT(n > strlen("/x/tfrun/f"), tfr__cache_path("f", path, n));
    }
    if (home)
        setenv("HOME", home, 1);
    free(home);
    kit_end();
}

static bool is_read(const char *name, size_t least, size_t most)
{
    size_t n = 0;
    char *bytes = tfr__cache_read(kit_path(name), least, most, &n);
    bool good = bytes && n == 5 && memcmp(bytes, "12345", 5) == 0;
    tfr__free(bytes);
    return good;
}

TEST(only_a_file_of_the_right_size_that_the_user_alone_can_write_is_read)
{
    kit_begin();
    kit_write("f", "12345", 5);
    CHECK(is_read("f", 5, 5));
    CHECK(is_read("f", 0, 100));
    CHECK(!is_read("f", 6, 100));
    CHECK(!is_read("f", 0, 4));
    CHECK(!is_read("not-there", 0, 100));
    CHECK(!is_read("plugins", 0, 1 << 20));
    CHECK_INT(0, symlink(kit_path("f"), kit_path("link")));
    CHECK(!is_read("link", 0, 100));
    CHECK_INT(0, mkfifo(kit_path("pipe"), 0600));
    CHECK(!is_read("pipe", 0, 100));
    CHECK_INT(0, chmod(kit_path("f"), 0664));
    CHECK(!is_read("f", 0, 100));
    CHECK_INT(0, chmod(kit_path("f"), 0646));
    CHECK(!is_read("f", 0, 100));
    CHECK_INT(0, chmod(kit_path("f"), 0644));
    CHECK(is_read("f", 0, 100));
    if (geteuid() == 0) {
        CHECK_INT(0, chown(kit_path("f"), 12345, 12345));
        CHECK(!is_read("f", 0, 100));
    }
    kit_end();
}

static int count_files(const char *folder)
{
    char command[PATH_MAX];
    FILE *list;
    int n = -1;
    snprintf(command, sizeof command, "find '%s' -type f | wc -l", kit_path(folder));
    list = popen(command, "r");
    REQUIRE(list != NULL);
    CHECK_INT(1, fscanf(list, "%d", &n));
    pclose(list);
    return n;
}

/* Texts begin with the 8 bytes that say whose file it is. */
static bool is_written(const char *name, const char *text)
{
    tfr_err err = TFR_ERR_INIT;
    return tfr__cache_write(kit_path(name), text, strlen(text), &err) == TFR_OK;
}

TEST(a_file_is_written_whole_with_its_folders_for_the_user_alone_or_not_at_all)
{
    struct stat st;
    char bytes[32];
    kit_begin();
    CHECK(is_written("cache/a/b/f", "TFRTEST1"));
    CHECK(is_written("cache/a/b/f", "TFRTEST1 12345"));
    CHECK_UINT(14, kit_read(kit_path("cache/a/b/f"), bytes, sizeof bytes));
    CHECK_MEM("TFRTEST1 12345", bytes, 14);
    CHECK_INT(1, count_files("cache"));
    CHECK(stat(kit_path("cache/a"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(stat(kit_path("cache/a/b/f"), &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(!is_written("cache/a/b/f/g", "TFRTEST1")); /* f is no folder */
    CHECK_INT(0, mkdir(kit_path("cache/a/c"), 0700));
    CHECK(!is_written("cache/a/c", "TFRTEST1")); /* cannot be renamed to it */
    CHECK_INT(1, count_files("cache"));
    kit_end();
}

static void write_at(const char *name, time_t seconds, long ns)
{
    struct timespec times[2] = {{seconds, ns}, {seconds, ns}};
    kit_write(name, "TFRTEST1", 8);
    REQUIRE_INT(0, utimensat(AT_FDCWD, kit_path(name), times, 0));
}

TEST(the_oldest_files_go_until_as_many_are_left_as_may)
{
    kit_begin();
    mkdir(kit_path("cache"), 0755);
    mkdir(kit_path("cache/folder"), 0755); /* does not count */
    write_at("cache/c", 1000, 7);
    write_at("cache/a", 1000, 5);
    write_at("cache/e", 1001, 1);
    write_at("cache/b", 1000, 6);
    write_at("cache/d", 1000, 8);
    tfr__cache_prune(kit_path("cache/x"), "TFRTEST1", 5, UINT64_MAX);
    CHECK_INT(5, count_files("cache"));
    tfr__cache_prune(kit_path("cache/x"), "TFRTEST1", 4, UINT64_MAX);
    CHECK_INT(-1, access(kit_path("cache/a"), F_OK));
    CHECK_INT(4, count_files("cache"));
    tfr__cache_prune(kit_path("cache/x"), "TFRTEST1", 1, UINT64_MAX);
    CHECK_INT(0, access(kit_path("cache/e"), F_OK));
    CHECK_INT(1, count_files("cache"));
    CHECK_INT(0, access(kit_path("cache/folder"), F_OK));
    tfr__cache_prune(kit_path("not-there/x"), "TFRTEST1", 1, UINT64_MAX);
    tfr__cache_prune("no-folder-in-the-name", "TFRTEST1", 1, UINT64_MAX);
    kit_end();
}

static const test_case cases[] = {
    CASE(the_folder_is_under_xdg_cache_home_or_else_under_home),
    CASE(only_a_file_of_the_right_size_that_the_user_alone_can_write_is_read),
    CASE(a_file_is_written_whole_with_its_folders_for_the_user_alone_or_not_at_all),
    CASE(the_oldest_files_go_until_as_many_are_left_as_may),
};
TEST_MAIN(cases)

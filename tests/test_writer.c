/* SPDX-License-Identifier: Apache-2.0 */
/* core/base/writer.c: what is replaced, what is left alone, and what stays after an error. */
#include "tfr_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/writer.h"
#include "temp_path.h"

static tfr_err err = TFR_ERR_INIT;
static const char magic[] = "TFRTEST1";

static void write_text(const char *name, const char *text)
{
    temp_write(name, text, strlen(text));
}

/* The file's bytes as text. */
static const char *read_text(const char *name)
{
    static char text[256];
    FILE *file = fopen(temp_path(name), "rb");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    return text;
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    return stat(temp_path(name), &st) ? 0 : st.st_mode & 07777;
}

/* How many files the folder has; it does not count what a case put there itself. */
static int count_files(void)
{
    DIR *folder = opendir(temp_folder());
    struct dirent *entry;
    int n = 0;
    while (folder && (entry = readdir(folder)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return n;
}

static tfr_status save_at(const char *path, const char *text)
{
    tfr__writer writer;
    tfr_status status = tfr__writer_open(path, &writer, &err);
    if (status)
        return status;
    tfr__writer_put(&writer, text, strlen(text));
    return tfr__writer_close(&writer, &err);
}

static tfr_status save(const char *name, const char *text)
{
    return save_at(temp_path(name), text);
}

static tfr_status keep(const char *name, const char *text)
{
    const char *path = temp_path(name);
    tfr__writer writer;
    tfr_status status = tfr__writer_open_cache(path, magic, &writer, &err);
    if (status)
        return status;
    tfr__writer_put(&writer, text, strlen(text));
    return tfr__writer_close(&writer, &err);
}

TEST(a_new_file_has_the_permissions_that_the_umask_leaves)
{
    mode_t old = umask(027);
    REQUIRE_OK(save("y", "new"), &err);
    umask(old);
    CHECK_STR("new", read_text("y"));
    CHECK_INT(0640, mode_of("y"));
    temp_drop("y");
}

TEST(a_replaced_file_keeps_its_permissions)
{
    struct stat before, after;
    write_text("y", "old and longer");
    REQUIRE_INT(0, chmod(temp_path("y"), 0604));
    REQUIRE_INT(0, stat(temp_path("y"), &before));
    REQUIRE_OK(save("y", "new"), &err);
    REQUIRE_INT(0, stat(temp_path("y"), &after));
    CHECK_STR("new", read_text("y"));
    CHECK_INT(0604, mode_of("y"));
    CHECK(before.st_ino != after.st_ino);
    CHECK_INT(1, count_files());
    temp_drop("y");
}

/* Writes more than a file may have; the signal is ignored, so that write says EFBIG. */
static tfr_status save_too_much(const char *name)
{
    static char text[100000];
    struct rlimit limit, little;
    tfr_status status;
    memset(text, 'x', sizeof text - 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    little = limit;
    little.rlim_cur = 50000;
    setrlimit(RLIMIT_FSIZE, &little);
    status = save(name, text);
    setrlimit(RLIMIT_FSIZE, &limit);
    return status;
}

TEST(after_a_failed_write_the_old_file_is_whole_and_alone)
{
    write_text("y", "old");
    CHECK_INT(TFR_EIO, save_too_much("y"));
    CHECK_CONTAINS("y cannot be written: File too large", err.text);
    CHECK_INT(EFBIG, err.native);
    CHECK_STR("old", read_text("y"));
    CHECK_INT(1, count_files());
    temp_drop("y");
}

TEST(after_a_failed_write_there_is_no_new_file)
{
    CHECK_INT(TFR_EIO, save_too_much("y"));
    CHECK_INT(0, count_files());
    rmdir(temp_folder());
}

TEST(a_full_device_is_an_error_and_stays)
{
    struct stat st;
    if (stat("/dev/full", &st) || !S_ISCHR(st.st_mode))
        SKIP("there is no /dev/full");
    CHECK_INT(TFR_EIO, save_at("/dev/full", "text"));
    CHECK_CONTAINS("/dev/full cannot be written: No space left on device", err.text);
    CHECK(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    REQUIRE_INT(0, symlink("/dev/full", temp_path("y")));
    CHECK_INT(TFR_EIO, save("y", "text"));
    CHECK(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(lstat(temp_path("y"), &st) == 0 && S_ISLNK(st.st_mode));
    temp_drop("y");
}

TEST(a_named_pipe_is_written_and_stays)
{
    char text[16] = "";
    struct stat st;
    int fd;
    REQUIRE_INT(0, mkfifo(temp_path("y"), 0600));
    REQUIRE_OK(tfr__writer_try(temp_path("y"), &err), &err); /* waits for nobody */
    fd = open(temp_path("y"), O_RDONLY | O_NONBLOCK);
    REQUIRE(fd >= 0);
    REQUIRE_OK(save("y", "text"), &err);
    CHECK_INT(4, read(fd, text, sizeof text - 1));
    CHECK_STR("text", text);
    CHECK(stat(temp_path("y"), &st) == 0 && S_ISFIFO(st.st_mode));
    CHECK_INT(1, count_files());
    close(fd);
    temp_drop("y");
}

TEST(a_descriptor_is_written_where_it_stands)
{
    char path[32];
    int fd = open(temp_path("y"), O_WRONLY | O_CREAT, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_INT(2, write(fd, "a ", 2));
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    REQUIRE_OK(save_at(path, "b"), &err);
    REQUIRE_INT(2, write(fd, " c", 2));
    close(fd);
    CHECK_STR("a b c", read_text("y"));
    CHECK_INT(1, count_files());
    temp_drop("y");
}

TEST(a_link_stays_and_what_it_leads_to_is_written)
{
    struct stat st;
    write_text("y", "old");
    REQUIRE_INT(0, symlink("l2", temp_path("l1")));
    REQUIRE_INT(0, symlink(temp_folder(), temp_path("folder")));
    REQUIRE_INT(0, symlink("folder/y", temp_path("l2")));
    REQUIRE_OK(save("l1", "new"), &err);
    CHECK_STR("new", read_text("y"));
    unlink(temp_path("y"));
    REQUIRE_OK(save("l1", "again"), &err); /* leads nowhere yet */
    CHECK_STR("again", read_text("y"));
    CHECK(lstat(temp_path("l1"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(lstat(temp_path("l2"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_INT(4, count_files());
    unlink(temp_path("l1"));
    unlink(temp_path("l2"));
    unlink(temp_path("folder"));
    temp_drop("y");
}

TEST(links_in_a_circle_are_refused)
{
    REQUIRE_INT(0, symlink("b", temp_path("a")));
    REQUIRE_INT(0, symlink("a", temp_path("b")));
    CHECK_INT(TFR_EIO, save("a", "text"));
    CHECK_INT(ELOOP, err.native);
    unlink(temp_path("a"));
    temp_drop("b");
}

TEST(a_strangers_link_in_a_shared_folder_is_not_followed)
{
    if (geteuid() != 0)
        SKIP("only root can make another user's link");
    write_text("secret", "old");
    mkdir(temp_path("shared"), 0700);
    REQUIRE_INT(0, chmod(temp_path("shared"), 01777));
    REQUIRE_INT(0, symlink("../secret", temp_path("shared/y")));
    REQUIRE_OK(save("shared/y", "mine"), &err);
    REQUIRE_INT(0, lchown(temp_path("shared/y"), 65534, 65534));
    CHECK_INT(TFR_EIO, save("shared/y", "theirs"));
    CHECK_CONTAINS("Permission denied", err.text);
    CHECK_STR("mine", read_text("secret"));
    unlink(temp_path("shared/y"));
    rmdir(temp_path("shared"));
    temp_drop("secret");
}

/* Runs as somebody who may write the folder, but not the file. */
static int refused_as_nobody(const char *path)
{
    pid_t child = fork();
    int exit_status = -1;
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(2);
        _exit(save_at(path, "new") == TFR_EIO && err.native == EACCES ? 0 : 1);
    }
    waitpid(child, &exit_status, 0);
    return exit_status;
}

TEST(a_file_that_may_not_be_written_is_not_replaced)
{
    write_text("y", "old");
    REQUIRE_INT(0, chmod(temp_folder(), 0777));
    REQUIRE_INT(0, chmod(temp_path("y"), 0444));
    CHECK_INT(0, refused_as_nobody(temp_path("y")));
    CHECK_STR("old", read_text("y"));
    CHECK_INT(1, count_files());
    temp_drop("y");
}

TEST(a_folder_and_a_place_in_no_folder_are_refused)
{
    mkdir(temp_path("folder"), 0700);
    CHECK_INT(TFR_EIO, save("folder", "text"));
    CHECK_CONTAINS("it is a folder", err.text);
    CHECK_INT(TFR_EIO, save("folder/", "text"));
    CHECK_INT(TFR_EIO, save("none/y", "text"));
    CHECK_INT(ENOENT, err.native);
    CHECK_INT(TFR_EIO, save_at("", "text"));
    rmdir(temp_path("folder"));
    rmdir(temp_folder());
}

TEST(nothing_is_in_its_place_before_commit)
{
    const char *path = temp_path("y");
    tfr__writer writer;
    FILE *stream;
    REQUIRE_OK(tfr__writer_open(path, &writer, &err), &err);
    stream = tfr__writer_stream(&writer);
    REQUIRE(stream != NULL);
    fprintf(stream, "%d%s", 4, "2");
    CHECK_INT(0, fclose(stream));
    REQUIRE_OK(tfr__writer_finish(&writer, &err), &err);
    CHECK_INT(-1, access(path, F_OK));
    REQUIRE_OK(tfr__writer_commit(&writer, &err), &err);
    CHECK_STR("42", read_text("y"));
    CHECK_INT(1, count_files());
    temp_drop("y");
}

/* Who looks for files that dead processes have left may not take one that is in use. */
TEST(a_file_is_locked_until_it_is_in_its_place)
{
    tfr__writer writer;
    char temporary[64];
    int fd;
    REQUIRE_OK(tfr__writer_open(temp_path("locked"), &writer, &err), &err);
    snprintf(temporary, sizeof temporary, "%s", writer.temporary);
    fd = open(temp_path(temporary), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_INT(-1, flock(fd, LOCK_EX | LOCK_NB));
    tfr__writer_put(&writer, "x", 1);
    CHECK_OK(tfr__writer_finish(&writer, &err), &err);
    CHECK_INT(-1, flock(fd, LOCK_EX | LOCK_NB));
    CHECK_OK(tfr__writer_commit(&writer, &err), &err);
    CHECK_INT(0, flock(fd, LOCK_EX | LOCK_NB));
    close(fd);
    CHECK_STR("x", read_text("locked"));
    temp_drop("locked");
}

TEST(a_place_that_became_a_pipe_is_left_alone)
{
    const char *path = temp_path("y");
    tfr__writer writer;
    REQUIRE_OK(tfr__writer_open(path, &writer, &err), &err);
    REQUIRE_INT(0, mkfifo(path, 0600));
    CHECK_INT(TFR_EIO, tfr__writer_close(&writer, &err));
    CHECK_INT(1, count_files());
    temp_drop("y");
}

TEST(only_what_the_writer_made_is_removed)
{
    const char *path = temp_path("y");
    char temporary[64], from[256];
    tfr__writer writer;
    REQUIRE_OK(tfr__writer_open(path, &writer, &err), &err);
    snprintf(temporary, sizeof temporary, "%s", writer.temporary);
    snprintf(from, sizeof from, "%s", temp_path(temporary));
    REQUIRE_INT(0, rename(from, temp_path("elsewhere")));
    write_text(temporary, "another's");
    tfr__writer_abandon(&writer);
    CHECK_STR("another's", read_text(temporary));
    unlink(temp_path("elsewhere"));
    temp_drop(temporary);
}

TEST(a_try_leaves_nothing)
{
    REQUIRE_OK(tfr__writer_try(temp_path("y"), &err), &err);
    CHECK_INT(0, count_files());
    CHECK_INT(TFR_EIO, tfr__writer_try(temp_path("none/y"), &err));
    rmdir(temp_folder());
}

TEST(a_cache_replaces_what_is_empty_or_its_own)
{
    REQUIRE_OK(keep("c", "TFRTEST1 a"), &err);
    CHECK_INT(0600, mode_of("c"));
    REQUIRE_OK(keep("c", "TFRTEST1 b"), &err);
    CHECK_STR("TFRTEST1 b", read_text("c"));
    write_text("c", "");
    REQUIRE_OK(keep("c", "TFRTEST1 c"), &err);
    CHECK_STR("TFRTEST1 c", read_text("c"));
    CHECK_INT(1, count_files());
    temp_drop("c");
}

TEST(a_cache_leaves_a_strangers_file_alone)
{
    static const char *const texts[] = {"a letter to my grandmother", "TFR", "TFRTEST2 newer"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_text("c", texts[i]);
        CHECK_INT(TFR_EPERM, keep("c", "TFRTEST1"));
        CHECK_CONTAINS("c is not replaced: it was not written by tfrun", err.text);
        CHECK_STR(texts[i], read_text("c"));
    }
    CHECK_INT(1, count_files());
    temp_drop("c");
}

TEST(a_cache_that_becomes_a_strangers_while_written_is_left_alone)
{
    const char *path = temp_path("c");
    tfr__writer writer;
    REQUIRE_OK(tfr__writer_open_cache(path, magic, &writer, &err), &err);
    write_text("c", "a letter");
    CHECK_INT(TFR_EPERM, tfr__writer_close(&writer, &err));
    CHECK_STR("a letter", read_text("c"));
    CHECK_INT(1, count_files());
    temp_drop("c");
}

TEST(a_cache_is_no_link_pipe_or_folder)
{
    write_text("own", "TFRTEST1");
    REQUIRE_INT(0, symlink("own", temp_path("c")));
    CHECK_INT(TFR_EPERM, keep("c", "TFRTEST1 new"));
    CHECK_CONTAINS("it is a link", err.text);
    CHECK_STR("TFRTEST1", read_text("own"));
    unlink(temp_path("c"));
    REQUIRE_INT(0, mkfifo(temp_path("c"), 0600));
    CHECK_INT(TFR_EPERM, keep("c", "TFRTEST1 new"));
    CHECK_CONTAINS("it is no regular file", err.text);
    unlink(temp_path("c"));
    mkdir(temp_path("c"), 0700);
    CHECK_INT(TFR_EPERM, keep("c", "TFRTEST1 new"));
    rmdir(temp_path("c"));
    CHECK_INT(1, count_files());
    temp_drop("own");
}

TEST(a_cache_of_another_user_is_left_alone)
{
    if (geteuid() != 0)
        SKIP("only root can make another user's file");
    write_text("c", "TFRTEST1");
    REQUIRE_INT(0, chown(temp_path("c"), 65534, 65534));
    CHECK_INT(TFR_EPERM, keep("c", "TFRTEST1 new"));
    CHECK_CONTAINS("it belongs to another user", err.text);
    CHECK_STR("TFRTEST1", read_text("c"));
    temp_drop("c");
}

static const test_case cases[] = {
    CASE(a_new_file_has_the_permissions_that_the_umask_leaves),
    CASE(a_replaced_file_keeps_its_permissions),
    CASE(after_a_failed_write_the_old_file_is_whole_and_alone),
    CASE(after_a_failed_write_there_is_no_new_file),
    CASE(a_full_device_is_an_error_and_stays),
    CASE(a_named_pipe_is_written_and_stays),
    CASE(a_descriptor_is_written_where_it_stands),
    CASE(a_link_stays_and_what_it_leads_to_is_written),
    CASE(links_in_a_circle_are_refused),
    CASE(a_strangers_link_in_a_shared_folder_is_not_followed),
    CASE(a_file_that_may_not_be_written_is_not_replaced),
    CASE(a_folder_and_a_place_in_no_folder_are_refused),
    CASE(nothing_is_in_its_place_before_commit),
    CASE(a_file_is_locked_until_it_is_in_its_place),
    CASE(a_place_that_became_a_pipe_is_left_alone),
    CASE(only_what_the_writer_made_is_removed),
    CASE(a_try_leaves_nothing),
    CASE(a_cache_replaces_what_is_empty_or_its_own),
    CASE(a_cache_leaves_a_strangers_file_alone),
    CASE(a_cache_that_becomes_a_strangers_while_written_is_left_alone),
    CASE(a_cache_is_no_link_pipe_or_folder),
    CASE(a_cache_of_another_user_is_left_alone),
};
TEST_MAIN(cases)

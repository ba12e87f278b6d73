/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_fails.c: for LD_PRELOAD: calls of tfrun that write in one folder fail, or are its last ones.
 * tests/cli/train_faults.sh uses it.
 *
 *     TFRUN_TEST_IO_FOLDER=DIR   absolute; what lies in it is meant, and it itself
 *     TFRUN_TEST_IO=N:kill       the process is killed after the N-th call; of a write, after half
 *     TFRUN_TEST_IO=N:ERRNO      the N-th call fails with this number
 *     TFRUN_TEST_IO=N-:ERRNO     and so do all later ones
 *     TFRUN_TEST_IO_COUNT=FILE   their number is written to FILE at the end
 *
 * Counted are mkdir, open and openat that make a file or open the folder, write, fsync, renameat,
 * unlink and unlinkat.
 */
/* These functions take the place of the C library's, whatever -fvisibility says. */
#pragma GCC visibility push(default)
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char *program_invocation_short_name;

static const char *folder; /* NULL = nothing is counted */
static atomic_long n_calls;
static long fault_at; /* 0 = never */
static int fault;     /* an errno; 0 = the process is killed */
static bool later_too;

__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("TFRUN_TEST_IO");
    char *end;
    if (strcmp(program_invocation_short_name, "tfrun") != 0)
        return;
    folder = getenv("TFRUN_TEST_IO_FOLDER");
    if (!which)
        return;
    fault_at = strtol(which, &end, 10);
    later_too = *end == '-';
    end = strchr(end, ':');
    fault = end ? (int)strtol(end + 1, NULL, 10) : 0; /* of "kill", 0 */
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TFRUN_TEST_IO_COUNT");
    FILE *file;
    folder = NULL;
    if (!path || !(file = fopen(path, "w")))
        return;
    fprintf(file, "%ld\n", atomic_load(&n_calls));
    fclose(file);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

static bool is_meant(const char *path)
{
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/');
}

static bool is_path_meant(const char *path)
{
    char here[PATH_MAX], full[2 * PATH_MAX];
    if (!folder)
        return false;
    if (*path == '/')
        return is_meant(path);
    if (!getcwd(here, sizeof here))
        return false;
    snprintf(full, sizeof full, "%s/%s", here, path);
    return is_meant(full);
}

static bool is_fd_meant(int fd)
{
    char link[40], path[PATH_MAX];
    const int saved = errno;
    ssize_t n;
    if (!folder)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    errno = saved;
    path[n > 0 ? n : 0] = 0;
    return is_meant(path);
}

/* Counts a call that is meant. 0 = it goes on, -1 = it fails, 1 = it is the last one. */
static int turn(bool meant)
{
    const long n = meant ? atomic_fetch_add(&n_calls, 1) + 1 : 0;
    if (!n || !fault_at || !(n == fault_at || (later_too && n > fault_at)))
        return 0;
    errno = fault;
    return fault ? -1 : 1;
}

static long after(int last, long result)
{
    if (last)
        raise(SIGKILL);
    return result;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static int open_at(int at, bool in_folder, const char *path, int flags, mode_t mode)
{
    const int last = turn((flags & (O_CREAT | O_DIRECTORY)) != 0 && in_folder);
    return last < 0 ? -1 : (int)after(last, syscall(SYS_openat, at, path, flags, mode));
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags)&O_CREAT) {                                                                         \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_at(AT_FDCWD, is_path_meant(path), path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_at(at, at == AT_FDCWD || *path == '/' ? is_path_meant(path) : is_fd_meant(at), path,
                   flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    const int last = turn(is_path_meant(path));
    return last < 0 ? -1 : (int)after(last, syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

ssize_t write(int fd, const void *data, size_t n)
{
    const int last = turn(is_fd_meant(fd));
    return last < 0 ? -1 : after(last, syscall(SYS_write, fd, data, last ? n / 2 : n));
}

int fsync(int fd)
{
    const int last = turn(is_fd_meant(fd));
    return last < 0 ? -1 : (int)after(last, syscall(SYS_fsync, fd));
}

int renameat(int from, const char *old, int to, const char *path)
{
    const int last = turn(is_fd_meant(to));
    return last < 0 ? -1 : (int)after(last, syscall(SYS_renameat2, from, old, to, path, 0));
}

int unlink(const char *path)
{
    const int last = turn(is_path_meant(path));
    return last < 0 ? -1 : (int)after(last, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int unlinkat(int at, const char *path, int flags)
{
    const int last = turn(is_fd_meant(at));
    return last < 0 ? -1 : (int)after(last, syscall(SYS_unlinkat, at, path, flags));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c: see writer.h. Everything happens relative to an open folder, which stays the same one
 * whatever becomes of its path. */
#include "writer.h"

#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <time.h>
#include <unistd.h>

static tfr_status fail_io(tfr_err *err, const char *path, int error)
{
    tfr_fail(err, TFR_EIO, "%s cannot be written: %s", path, strerror(error));
    if (err && err->size >= offsetof(tfr_err, text))
        err->native = error;
    return TFR_EIO;
}

static tfr_status fail_folder(tfr_err *err, const char *path)
{
    return tfr_fail(err, TFR_EIO, "%s cannot be written: it is a folder, a file is needed", path);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void make_name(char *out, size_t n)
{
    uint64_t bits;
    /* Early in a machine's life there is no randomness yet; O_EXCL keeps that safe, too. */
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        bits = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() << 16 ^ (uintptr_t)out;
    }
    snprintf(out, n, ".tfrun-%016llx", (unsigned long long)bits);
}

/* Makes the temporary file, locked, so that others see that it has a writer. 0 or errno. */
static int make_temporary(tfr__writer *w, mode_t mode)
{
    struct stat st;
    for (int tries = 0; tries < 100; tries++) {
        make_name(w->temporary, sizeof w->temporary);
        w->fd = openat(w->folder, w->temporary,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (w->fd < 0 && errno != EEXIST)
            break;
        if (w->fd < 0)
            continue;
        (void)flock(w->fd, LOCK_EX); /* not all file systems have locks */
        if (!fstat(w->fd, &st) && st.st_nlink) {
            w->device = st.st_dev;
            w->inode = st.st_ino;
            return 0;
        }
        close(w->fd); /* it was taken for one that was left, before it was locked */
        w->fd = -1;
        errno = EEXIST;
    }
    w->temporary[0] = 0;
    return errno;
}

/* Gives the temporary file the owner and permissions of the one that it will replace. */
static void take_over(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    struct stat st;
    if (fstat(fd, &st))
        return;
    /* Who has another group now had, at most, the rights of all. */
    if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
        mode = (mode & 0707) | (mode & 07) << 3;
    (void)fchmod(fd, mode);
}

/* The place is known: the temporary file beside it. 0 or errno. */
static int open_beside(tfr__writer *w)
{
    struct stat old;
    int error;
    if (fstatat(w->folder, w->name, &old, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? make_temporary(w, w->magic ? 0600 : 0666) : errno;
    if (!S_ISREG(old.st_mode))
        return EBUSY; /* it was one a moment before */
    if (faccessat(w->folder, w->name, W_OK, AT_EACCESS))
        return errno;
    error = make_temporary(w, 0600);
    if (!error && !w->magic)
        take_over(w->fd, &old);
    return error;
}

/* A device, a pipe, or a descriptor of the process. 0 or errno. */
static int open_directly(tfr__writer *w, int own)
{
    struct stat st;
    w->fd =
        own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : open(w->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (w->fd < 0 || fstat(w->fd, &st))
        return errno;
    return own < 0 && S_ISREG(st.st_mode) ? EBUSY : 0; /* it was none a moment before */
}

static void prepare(tfr__writer *w, const char *path, const char *magic)
{
    w->path = path;
    w->magic = magic;
    w->folder = w->fd = -1;
    w->error = 0;
    w->name[0] = w->temporary[0] = 0;
    w->used = 0;
}

tfr_status tfr__writer_open(const char *path, tfr__writer *out, tfr_err *err)
{
    struct stat st;
    int own = tfr__path_descriptor(path), error;
    bool exists = own >= 0 || stat(path, &st) == 0;
    prepare(out, path, NULL);
    if (own < 0 && exists && S_ISDIR(st.st_mode))
        return fail_folder(err, path);
    if (own >= 0 || (exists && !S_ISREG(st.st_mode))) {
        error = open_directly(out, own);
    } else {
        error = tfr__path_find(path, &out->folder, out->name);
        if (!error)
            error = open_beside(out);
    }
    if (!error)
        return TFR_OK;
    tfr__writer_abandon(out);
    return fail_io(err, path, error);
}

tfr_status tfr__writer_try(const char *path, tfr_err *err)
{
    tfr__writer writer;
    struct stat st;
    tfr_status status;
    if (tfr__path_descriptor(path) < 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISDIR(st.st_mode))
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? fail_io(err, path, errno) : TFR_OK;
    status = tfr__writer_open(path, &writer, err);
    if (!status)
        tfr__writer_abandon(&writer);
    return status;
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* Why the file must not be replaced, or NULL. */
static const char *cache_objection(int folder, const char *name, const char *magic)
{
    char first[TFR__MAGIC_BYTES];
    struct stat st;
    ssize_t n;
    int fd;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
        return NULL; /* nothing is there, or creating fails with a better reason */
    if (S_ISLNK(st.st_mode))
        return "it is a link";
    if (!S_ISREG(st.st_mode))
        return "it is no regular file";
    if (st.st_uid != geteuid())
        return "it belongs to another user";
    if (!st.st_size)
        return NULL;
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, first, sizeof first);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return "it cannot be read";
    return n == sizeof first && memcmp(first, magic, sizeof first) == 0
               ? NULL
               : "it was not written by tfrun";
}

static tfr_status check_cache(const tfr__writer *w, tfr_err *err)
{
    const char *objection = cache_objection(w->folder, w->name, w->magic);
    return objection ? tfr_fail(err, TFR_EPERM, "%s is not replaced: %s", w->path, objection)
                     : TFR_OK;
}

/* The folder of a cache file that may be replaced. */
static tfr_status enter_cache(const char *path, const char *magic, tfr__writer *out, tfr_err *err)
{
    tfr_status status;
    int error;
    prepare(out, path, magic);
    error = tfr__path_enter(AT_FDCWD, path, &out->folder, out->name);
    status = error ? fail_io(err, path, error) : check_cache(out, err);
    if (status)
        tfr__writer_abandon(out);
    return status;
}

tfr_status tfr__writer_check_cache(const char *path, const char *magic, tfr_err *err)
{
    tfr__writer writer;
    tfr_status status = enter_cache(path, magic, &writer, err);
    if (!status)
        tfr__writer_abandon(&writer);
    return status;
}

tfr_status tfr__writer_open_cache(const char *path, const char *magic, tfr__writer *out,
                                  tfr_err *err)
{
    tfr_status status = enter_cache(path, magic, out, err);
    int error = status ? 0 : open_beside(out);
    if (!error)
        return status;
    tfr__writer_abandon(out);
    return fail_io(err, path, error);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_all(tfr__writer *w, const char *data, size_t bytes)
{
    while (bytes && !w->error) {
        ssize_t n = write(w->fd, data, bytes);
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) { /* a pipe that its reader has made so */
            struct pollfd ready = {.fd = w->fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            w->error = n ? errno : EIO;
        }
    }
}

static void flush(tfr__writer *w)
{
    write_all(w, w->buffer, w->used);
    w->used = 0;
}

void tfr__writer_put(tfr__writer *w, const void *data, size_t bytes)
{
    if (bytes > sizeof w->buffer - w->used)
        flush(w);
    if (bytes > sizeof w->buffer) {
        write_all(w, data, bytes);
    } else if (bytes) {
        memcpy(w->buffer + w->used, data, bytes);
        w->used += bytes;
    }
}

static ssize_t put_cookie(void *writer, const char *data, size_t bytes)
{
    tfr__writer_put(writer, data, bytes);
    return (ssize_t)bytes;
}

FILE *tfr__writer_stream(tfr__writer *w)
{
    cookie_io_functions_t functions = {.write = put_cookie};
    return fopencookie(w, "w", functions);
}

/* ---- the end --------------------------------------------------------------------------------- */

tfr_status tfr__writer_finish(tfr__writer *w, tfr_err *err)
{
    flush(w);
    if (w->folder >= 0 && !w->magic) {
        /* Else a crash of the machine soon after the rename could leave an empty file in the place
         * of the old one. It stays open, and locked, until it has its name. */
        if (!w->error && fsync(w->fd))
            w->error = errno;
    } else { /* pipes and terminals cannot be synced, and caches may be lost */
        if (close(w->fd) && !w->error)
            w->error = errno;
        w->fd = -1;
    }
    if (!w->error)
        return TFR_OK;
    tfr__writer_abandon(w);
    return fail_io(err, w->path, w->error);
}

tfr_status tfr__writer_commit(tfr__writer *w, tfr_err *err)
{
    tfr_status status = TFR_OK;
    struct stat st;
    if (w->magic)
        status = check_cache(w, err);
    if (!status && w->temporary[0]) {
        if (fstatat(w->folder, w->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
            status = fail_io(err, w->path, EBUSY);
        else if (renameat(w->folder, w->temporary, w->folder, w->name))
            status = fail_io(err, w->path, errno);
        else
            w->temporary[0] = 0;
    }
    tfr__writer_abandon(w);
    return status;
}

tfr_status tfr__writer_close(tfr__writer *w, tfr_err *err)
{
    tfr_status status = tfr__writer_finish(w, err);
    return status ? status : tfr__writer_commit(w, err);
}

void tfr__writer_abandon(tfr__writer *w)
{
    struct stat st;
    if (w->fd >= 0)
        close(w->fd);
    /* Only what this writer made. */
    if (w->temporary[0] && fstatat(w->folder, w->temporary, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_dev == w->device && st.st_ino == w->inode)
        unlinkat(w->folder, w->temporary, 0);
    if (w->folder >= 0)
        close(w->folder);
    w->folder = w->fd = -1;
    w->temporary[0] = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: mapping files and replacing files, see file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "file.h"

enum { BUFFER_BYTES = 1 << 16, COPY_BYTES = 1 << 22 };

static tfr_status fail_io(tfr_err *err, const char *path, const char *doing, int error)
{
    tfr_status status = error == ENOMEM ? TFR_ENOMEM : TFR_EIO;
    tfr_fail(err, status, "%s: cannot %s it: %s", path, doing, strerror(error));
    if (err && err->size >= offsetof(tfr_err, text))
        err->native = error;
    return status;
}

/* ---- mapping ----------------------------------------------------------------------------------
 */

static char no_bytes[1];

tfr_status tfr__mapping_of(int fd, const char *name, tfr__mapping **out, tfr_err *err)
{
    struct stat info;
    tfr__mapping *mapping;

    if (fstat(fd, &info))
        return fail_io(err, name, "examine", errno);
    if (S_ISDIR(info.st_mode))
        return tfr_fail(err, TFR_EIO, "%s: it is a folder, a file is needed", name);
    if (!S_ISREG(info.st_mode))
        return tfr_fail(err, TFR_EIO, "%s: it is not a regular file", name);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return tfr_fail(err, TFR_ELIMIT, "%s: its %lld bytes do not fit into the address space",
                        name, (long long)info.st_size);
    mapping = malloc(sizeof *mapping);
    if (!mapping)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory", name);
    atomic_init(&mapping->refs, 1);
    mapping->bytes = (size_t)info.st_size;
    mapping->data = no_bytes;
    if (mapping->bytes) {
        void *data =
            mmap(NULL, mapping->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
        if (data == MAP_FAILED) {
            int error = errno;
            free(mapping);
            return fail_io(err, name, "map", error);
        }
        mapping->data = data;
    }
    *out = mapping;
    return TFR_OK;
}

tfr_status tfr__mapping_open(const char *path, tfr__mapping **out, tfr_err *err)
{
    tfr_status status;
    /* Not blocking: a named pipe would wait for a writer before it can be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_io(err, path, "open", errno);
    status = tfr__mapping_of(fd, path, out, err);
    close(fd);
    return status;
}

tfr__mapping *tfr__mapping_retain(tfr__mapping *mapping)
{
    atomic_fetch_add_explicit(&mapping->refs, 1, memory_order_relaxed);
    return mapping;
}

void tfr__mapping_release(void *mapping)
{
    tfr__mapping *m = mapping;
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (m->bytes)
        munmap(m->data, m->bytes);
    free(m);
}

/* Pages that lie wholly inside; advice is an optimisation, so a failure does not matter. */
static void advise(const void *data, size_t bytes, int advice)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)data + bytes) / page * page;
    if (begin < end)
        (void)madvise((char *)(uintptr_t)data + (begin - (uintptr_t)data), end - begin, advice);
}

void tfr__mapping_rest(void *mapping, const void *at, size_t bytes)
{
    (void)mapping;
    advise(at, bytes, MADV_DONTNEED);
}

void tfr__mapping_copy(const tfr__mapping *mapping, void *dst, const void *src, size_t bytes)
{
    size_t chunk;
    for (size_t done = 0; done < bytes; done += chunk) {
        const char *from = (const char *)src + done;
        chunk = bytes - done < COPY_BYTES ? bytes - done : COPY_BYTES;
#ifdef MADV_POPULATE_READ
        if (mapping)
            advise(from, chunk, MADV_POPULATE_READ); /* one call instead of a fault per page */
#endif
        memcpy((char *)dst + done, from, chunk);
        if (mapping)
            advise(from, chunk, MADV_DONTNEED);
    }
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void writer_free(tfr__writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->temporary)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->path);
    free(writer->buffer);
    memset(writer, 0, sizeof *writer);
    writer->fd = -1;
}

/* The temporary file lies beside the target, for a rename cannot leave a file system. */
static int open_temporary(tfr__writer *writer)
{
    static atomic_uint counter;
    size_t n = strlen(writer->path) + 48;
    char *name = malloc(n);
    int fd = -1;

    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    for (int tries = 0; tries < 100 && fd < 0; tries++) {
        snprintf(name, n, "%s.%ld.%u.tmp", writer->path, (long)getpid(),
                 atomic_fetch_add(&counter, 1));
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0)
        writer->temporary = name;
    else
        free(name);
    return fd;
}

tfr_status tfr__writer_open(const char *path, tfr__writer *out, tfr_err *err)
{
    tfr__writer writer = {.fd = -1};
    struct stat info;
    bool exists = stat(path, &info) == 0;
    int error;

    if (exists && S_ISDIR(info.st_mode))
        return tfr_fail(err, TFR_EIO, "%s: it is a folder, a file is needed", path);
    writer.path = exists && S_ISREG(info.st_mode) ? realpath(path, NULL) : strdup(path);
    writer.buffer = malloc(BUFFER_BYTES);
    if (!writer.path || !writer.buffer) {
        writer_free(&writer);
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory", path);
    }
    if (exists && !S_ISREG(info.st_mode))
        writer.fd = open(path, O_WRONLY | O_CLOEXEC);
    else
        writer.fd = open_temporary(&writer);
    if (writer.fd < 0) {
        error = errno;
        writer_free(&writer);
        return fail_io(err, path, "create", error);
    }
    *out = writer;
    return TFR_OK;
}

static void write_all(tfr__writer *writer, const char *data, size_t bytes)
{
    while (bytes && !writer->error) {
        ssize_t n = write(writer->fd, data, bytes);
        if (n < 0 && errno != EINTR)
            writer->error = errno;
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
}

void tfr__writer_put(tfr__writer *writer, const void *data, size_t bytes)
{
    if (bytes > BUFFER_BYTES - writer->used) {
        write_all(writer, writer->buffer, writer->used);
        writer->used = 0;
    }
    if (bytes > BUFFER_BYTES) {
        write_all(writer, data, bytes);
    } else if (bytes) {
        memcpy(writer->buffer + writer->used, data, bytes);
        writer->used += bytes;
    }
}

tfr_status tfr__writer_close(tfr__writer *writer, tfr_err *err)
{
    tfr_status status = TFR_OK;

    write_all(writer, writer->buffer, writer->used);
    /* A pipe or terminal cannot be synced, and has no half-written state to fear. */
    if (!writer->error && writer->temporary && fsync(writer->fd))
        writer->error = errno;
    if (close(writer->fd) && !writer->error)
        writer->error = errno;
    writer->fd = -1;
    if (!writer->error && writer->temporary) {
        if (rename(writer->temporary, writer->path)) {
            writer->error = errno;
        } else {
            free(writer->temporary);
            writer->temporary = NULL;
        }
    }
    if (writer->error)
        status = fail_io(err, writer->path, "write", writer->error);
    writer_free(writer);
    return status;
}

void tfr__writer_abandon(tfr__writer *writer)
{
    writer_free(writer);
}

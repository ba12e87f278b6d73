/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: see file.h. */
#include <core/base/writer.h>
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
#include "prefix.h"

enum { COPY_BYTES = 1 << 22 };

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

void tfr__sink_put(tfr__sink *sink, const void *data, size_t bytes)
{
    if (!sink->status && bytes)
        sink->status = sink->write(sink->user, data, bytes, sink->err);
}

/* The writer keeps its errors itself. */
static tfr_status put(void *writer, const void *data, size_t bytes, tfr_err *err)
{
    (void)err;
    tfr__writer_put(writer, data, bytes);
    return TFR_OK;
}

tfr_status tfr__file_save(const char *path,
                          tfr_status (*produce)(tfr__sink *sink, const void *what),
                          const void *what, tfr_err *err)
{
    tfr__writer writer;
    tfr__sink sink = {.write = put, .user = &writer, .err = err};
    tfr_status status = tfr__writer_open(path, &writer, err);
    if (status)
        return status;
    status = produce(&sink, what);
    if (!status)
        return tfr__writer_close(&writer, err);
    tfr__writer_abandon(&writer);
    return tfr__prefix(err, status, "%s: ", path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: see file.h. */
#include <core/base/writer.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>
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

/* ---- mapping --------------------------------------------------------------------------------- */

static char no_bytes[1];

/* What tfr_onnx_file_at reads, maybe in a handler of signals: no locks, and names of its own. */
enum { SLOTS = 64, SLOT_NAME = 256 };
static struct {
    atomic_bool taken;
    atomic_uintptr_t begin, end; /* end 0 = not valid */
    char name[SLOT_NAME];
} slots[SLOTS];

static void enter_slot(tfr__mapping *m)
{
    for (m->slot = 0; m->slot < SLOTS; m->slot++)
        if (!atomic_exchange(&slots[m->slot].taken, true))
            break;
    if (m->slot == SLOTS)
        return;
    snprintf(slots[m->slot].name, SLOT_NAME, "%s", m->name);
    atomic_store(&slots[m->slot].begin, (uintptr_t)m->data);
    atomic_store(&slots[m->slot].end, (uintptr_t)m->data + m->bytes);
}

static void leave_slot(const tfr__mapping *m)
{
    if (m->slot == SLOTS)
        return;
    atomic_store(&slots[m->slot].end, 0);
    atomic_store(&slots[m->slot].taken, false);
}

const char *tfr_onnx_file_at(const void *address)
{
    for (int i = 0; i < SLOTS; i++) {
        uintptr_t end = atomic_load(&slots[i].end);
        if ((uintptr_t)address < end && (uintptr_t)address >= atomic_load(&slots[i].begin))
            return slots[i].name;
    }
    return NULL;
}

static tfr_status copy_file(int fd, tfr__mapping *m, tfr_err *err)
{
    size_t done = 0;
    m->data = aligned_alloc(64, (m->bytes + 63) / 64 * 64);
    if (!m->data)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for its %zu bytes", m->name, m->bytes);
    while (done < m->bytes) {
        ssize_t n = pread(fd, m->data + done, m->bytes - done, (off_t)done);
        if (n < 0 && errno != EINTR)
            return fail_io(err, m->name, "read", errno);
        if (n == 0)
            return tfr_fail(err, TFR_EIO, "%s: it ended after %zu of %zu bytes while it was read",
                            m->name, done, m->bytes);
        done += n > 0 ? (size_t)n : 0;
    }
    return TFR_OK;
}

static tfr_status map_file(int fd, tfr__mapping *m, tfr_err *err)
{
    void *data = MAP_FAILED;
    m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (m->fd >= 0)
        data = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (data == MAP_FAILED)
        return fail_io(err, m->name, "map", errno);
    m->data = data;
    enter_slot(m);
    return TFR_OK;
}

tfr_status tfr__mapping_of(int fd, const char *name, tfr__mapping **out, tfr_err *err)
{
    struct stat info;
    tfr__mapping *mapping;
    tfr_status status = TFR_OK;

    if (fstat(fd, &info))
        return fail_io(err, name, "examine", errno);
    if (S_ISDIR(info.st_mode))
        return tfr_fail(err, TFR_EIO, "%s: it is a folder, a file is needed", name);
    if (!S_ISREG(info.st_mode))
        return tfr_fail(err, TFR_EIO, "%s: it is not a regular file", name);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return tfr_fail(err, TFR_ELIMIT, "%s: its %lld bytes do not fit into the address space",
                        name, (long long)info.st_size);
    mapping = malloc(sizeof *mapping + strlen(name) + 1);
    if (!mapping)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory", name);
    *mapping = (tfr__mapping){.refs = 1, .bytes = (size_t)info.st_size, .data = no_bytes};
    mapping->fd = -1;
    mapping->slot = SLOTS;
    mapping->changed = info.st_mtim;
    memcpy(mapping->name, name, strlen(name) + 1);
    if (mapping->bytes)
        status = mapping->bytes > TFR__COPIED_BYTES ? map_file(fd, mapping, err)
                                                    : copy_file(fd, mapping, err);
    if (status)
        tfr__mapping_release(mapping);
    else
        *out = mapping;
    return status;
}

tfr_status tfr__mapping_check(const tfr__mapping *m, tfr_err *err)
{
    struct stat info;
    if (m->fd < 0)
        return TFR_OK;
    if (fstat(m->fd, &info))
        return fail_io(err, m->name, "examine", errno);
    if (info.st_size == (off_t)m->bytes && info.st_mtim.tv_sec == m->changed.tv_sec &&
        info.st_mtim.tv_nsec == m->changed.tv_nsec)
        return TFR_OK;
    return tfr_fail(err, TFR_EIO,
                    "%s was changed while it is in use (%lld bytes, %zu when it was opened); load "
                    "it again, and replace files by renaming",
                    m->name, (long long)info.st_size, m->bytes);
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
    leave_slot(m);
    if (m->fd < 0 && m->data != no_bytes)
        free(m->data);
    else if (m->data != no_bytes)
        munmap(m->data, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
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
    if (((const tfr__mapping *)mapping)->fd >= 0)
        advise(at, bytes, MADV_DONTNEED);
}

void tfr__mapping_copy(const tfr__mapping *mapping, void *dst, const void *src, size_t bytes)
{
    bool mapped = mapping && mapping->fd >= 0;
    size_t chunk;
    for (size_t done = 0; done < bytes; done += chunk) {
        const char *from = (const char *)src + done;
        chunk = bytes - done < COPY_BYTES ? bytes - done : COPY_BYTES;
#ifdef MADV_POPULATE_READ
        if (mapped)
            advise(from, chunk, MADV_POPULATE_READ); /* one call instead of a fault per page */
#endif
        memcpy((char *)dst + done, from, chunk);
        if (mapped)
            advise(from, chunk, MADV_DONTNEED);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

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

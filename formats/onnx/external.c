/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external.c: opens external data inside the model's folder. The kernel does the checking
 * where it can (openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, Linux 5.6); elsewhere the
 * path is walked one folder at a time with O_NOFOLLOW, which refuses the same paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "onnx/external.h"

#if defined(__has_include)
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define HAVE_OPENAT2
#endif
#endif

tfr_status tfr__external_open(const char *path, tfr__external *out, tfr_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

    memset(out, 0, sizeof *out);
    out->fd = -1;
    if (!folder)
        return tfr_fail(err, TFR_ENOMEM, "out of memory");
    out->fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->fd < 0)
        tfr_fail(err, TFR_EIO, "cannot open its folder \"%s\": %s", folder, strerror(errno));
    free(folder);
    return out->fd < 0 ? TFR_EIO : TFR_OK;
}

void tfr__external_close(tfr__external *external)
{
    for (uint32_t i = 0; i < external->n_files; i++)
        tfr__mapping_release(external->files[i].mapping);
    free(external->files);
    if (external->fd >= 0)
        close(external->fd);
    external->fd = -1;
    external->files = NULL;
    external->n_files = external->capacity = 0;
}

/* Relative, without ".." and without empty parts: what every system takes for "in this folder". */
static tfr_status check_location(tfr__text location, tfr_err *err)
{
    char quoted[TFR__QUOTE_BYTES];
    const char *at = location.data, *end = at + location.bytes;

    if (!location.bytes || location.bytes >= PATH_MAX || memchr(at, 0, location.bytes))
        return tfr_fail(err, TFR_EMODEL, "external data: location %s is not a file name",
                        tfr__text_quote(location, quoted, sizeof quoted));
    if (*at == '/')
        return tfr_fail(err, TFR_EMODEL,
                        "external data: location %s is absolute, it must be inside the model's "
                        "folder",
                        tfr__text_quote(location, quoted, sizeof quoted));
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = (size_t)((slash ? slash : end) - at);
        if (n == 2 && memcmp(at, "..", 2) == 0)
            return tfr_fail(err, TFR_EMODEL,
                            "external data: location %s leaves the model's folder with \"..\"",
                            tfr__text_quote(location, quoted, sizeof quoted));
        at = slash ? slash + 1 : end;
    }
    return TFR_OK;
}

/* The same promise without openat2: every part of the path is opened without following a link. */
static int open_walking(int folder, char *path)
{
    int fd = folder, next;
    char *part = path, *slash;

    while ((slash = strchr(part, '/')) != NULL) {
        *slash = 0;
        next = *part ? openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                     : fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (fd != folder)
            close(fd);
        if (next < 0)
            return -1;
        fd = next;
        part = slash + 1;
    }
    next = openat(fd, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd != folder) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return next;
}

static int open_beneath(int folder, char *path)
{
#ifdef HAVE_OPENAT2
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    /* EPERM is what some sandboxes say to system calls that they do not know. */
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)fd;
#endif
    return open_walking(folder, path);
}

static tfr_status map_location(tfr__external *external, tfr__text location, tfr__mapping **out,
                               tfr_err *err)
{
    char *name;
    int fd;
    tfr_status status;

    for (uint32_t i = external->n_files; i > 0; i--) {
        tfr__external_file *file = &external->files[i - 1];
        if (file->location.bytes == location.bytes &&
            memcmp(file->location.data, location.data, location.bytes) == 0) {
            *out = file->mapping;
            return TFR_OK;
        }
    }
    if (external->n_files == 1024)
        return tfr_fail(err, TFR_EMODEL, "external data: the model names more than 1024 files");
    if (external->n_files == external->capacity) {
        uint32_t capacity = external->capacity ? 2 * external->capacity : 4;
        tfr__external_file *files = realloc(external->files, capacity * sizeof *files);
        if (!files)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for %u external files", capacity);
        external->files = files;
        external->capacity = capacity;
    }
    name = strndup(location.data, location.bytes);
    if (!name)
        return tfr_fail(err, TFR_ENOMEM, "out of memory");
    fd = open_beneath(external->fd, name);
    if (fd < 0) {
        int error = errno;
        char quoted[TFR__QUOTE_BYTES];
        free(name);
        tfr__text_quote(location, quoted, sizeof quoted);
        if (error == ELOOP || error == EXDEV)
            return tfr_fail(err, TFR_EMODEL,
                            "external data: location %s is or passes a link, which could lead out "
                            "of the model's folder",
                            quoted);
        return tfr_fail(err, TFR_EIO, "external data: cannot open %s in the model's folder: %s",
                        quoted, strerror(error));
    }
    status = tfr__mapping_of(fd, name, out, err);
    close(fd);
    free(name);
    if (status)
        return status;
    external->files[external->n_files].location = location;
    external->files[external->n_files++].mapping = *out;
    return TFR_OK;
}

tfr_status tfr__external_bytes(tfr__external *external, tfr__text location, uint64_t offset,
                               bool has_length, uint64_t length, uint64_t needed,
                               tfr__mapping **mapping, tfr__text *out, tfr_err *err)
{
    char quoted[TFR__QUOTE_BYTES];
    tfr_status status = check_location(location, err);

    if (status)
        return status;
    if (external->fd < 0)
        return tfr_fail(err, TFR_EMODEL,
                        "external data: %s cannot be found from bytes in memory; load the model "
                        "from its file",
                        tfr__text_quote(location, quoted, sizeof quoted));
    if (has_length && length != needed)
        return tfr_fail(
            err, TFR_EMODEL, "external data: length %llu in %s, the tensor needs %llu bytes",
            (unsigned long long)length, tfr__text_quote(location, quoted, sizeof quoted),
            (unsigned long long)needed);
    status = map_location(external, location, mapping, err);
    if (status)
        return status;
    if (offset > (*mapping)->bytes || needed > (*mapping)->bytes - offset)
        return tfr_fail(err, TFR_EMODEL,
                        "external data: %llu bytes from offset %llu are asked of %s, which has "
                        "%zu",
                        (unsigned long long)needed, (unsigned long long)offset,
                        tfr__text_quote(location, quoted, sizeof quoted), (*mapping)->bytes);
    out->data = (*mapping)->data + offset;
    out->bytes = (size_t)needed;
    return TFR_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tiff.c: TIFF by libtiff 4.5, the first picture of a file, by its reader that knows all forms. */
#include "codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "library.h"

/* What libtiff calls, tiffio.h: thandle_t is a pointer, tmsize_t a signed size, toff_t 64 bits. */
typedef int64_t read_fn(void *user, void *out, int64_t n);
typedef uint64_t seek_fn(void *user, uint64_t offset, int whence);
typedef int close_fn(void *user);
typedef uint64_t size_fn(void *user);
typedef int map_fn(void *user, void **base, uint64_t *n);
typedef void unmap_fn(void *user, void *base, uint64_t n);
typedef int message_fn(void *tiff, void *user, const char *module, const char *format,
                       va_list args);

static const char *const names[] = {"TIFFOpenOptionsAlloc",
                                    "TIFFOpenOptionsFree",
                                    "TIFFOpenOptionsSetErrorHandlerExtR",
                                    "TIFFOpenOptionsSetWarningHandlerExtR",
                                    "TIFFClientOpenExt",
                                    "TIFFGetField",
                                    "TIFFReadRGBAImageOriented",
                                    "TIFFClose",
                                    NULL};
static struct {
    void *(*options)(void);
    void (*free_options)(void *options);
    void (*on_error)(void *options, message_fn *handler, void *user);
    void (*on_warning)(void *options, message_fn *handler, void *user);
    void *(*open)(const char *name, const char *mode, void *user, read_fn *read, read_fn *write,
                  seek_fn *seek, close_fn *close, size_fn *size, map_fn *map, unmap_fn *unmap,
                  void *options);
    int (*field)(void *tiff, uint32_t tag, ...);
    int (*rgba)(void *tiff, uint32_t width, uint32_t height, uint32_t *out, int orientation,
                int stop_on_error);
    void (*close)(void *tiff);
} tiff;
#define SONAME "libtiff.so.6"
TFR_PLUGIN_MAY_OPEN(SONAME);
static tfr__library library = {
    .soname = SONAME, .package = "libtiff6", .names = names, .functions = &tiff};

enum { WIDTH = 256, HEIGHT = 257, TOP_LEFT = 1 };

typedef struct memory {
    const uint8_t *bytes;
    uint64_t n, at;
    char why[120];
} memory;

static int64_t read_memory(void *user, void *out, int64_t n)
{
    memory *m = user;
    const uint64_t left = m->at < m->n ? m->n - m->at : 0;
    if (n < 0 || (uint64_t)n > left)
        n = (int64_t)left;
    memcpy(out, m->bytes + (left ? m->at : 0), (size_t)n);
    m->at += (uint64_t)n;
    return n;
}

static int64_t write_memory(void *user, void *out, int64_t n)
{
    (void)user, (void)out, (void)n;
    return 0;
}

static uint64_t seek_memory(void *user, uint64_t offset, int whence)
{
    memory *m = user;
    m->at = whence == SEEK_SET ? offset : whence == SEEK_CUR ? m->at + offset : m->n + offset;
    return m->at;
}

static int close_memory(void *user)
{
    (void)user;
    return 0;
}

static uint64_t size_of_memory(void *user)
{
    return ((memory *)user)->n;
}

static int map_memory(void *user, void **base, uint64_t *n)
{
    (void)user, (void)base, (void)n;
    return 0; /* it is read */
}

static void unmap_memory(void *user, void *base, uint64_t n)
{
    (void)user, (void)base, (void)n;
}

/* The first message; nothing goes to standard error. */
static int keep_message(void *t, void *user, const char *module, const char *format, va_list args)
{
    memory *m = user;
    (void)t, (void)module;
    if (!m->why[0])
        vsnprintf(m->why, sizeof m->why, format, args);
    return 1;
}

static int drop_message(void *t, void *user, const char *module, const char *format, va_list args)
{
    (void)t, (void)user, (void)module, (void)format, (void)args;
    return 1;
}

static tfr_status fail_damaged(const memory *m, tfr_err *err)
{
    return tfr_fail(err, TFR_EMODEL, "the TIFF image is damaged: %s",
                    m->why[0] ? m->why : "it has no picture");
}

static tfr_status open_tiff(memory *m, void **out, tfr_err *err)
{
    void *options;
    tfr_status status = tfr__library_need(&library, "a TIFF image", err);
    if (status)
        return status;
    options = tiff.options();
    if (!options)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a TIFF image");
    tiff.on_error(options, keep_message, m);
    tiff.on_warning(options, drop_message, m);
    *out = tiff.open("image", "rm", m, read_memory, write_memory, seek_memory, close_memory,
                     size_of_memory, map_memory, unmap_memory, options);
    tiff.free_options(options);
    return *out ? TFR_OK : fail_damaged(m, err);
}

static bool is_tiff(const void *bytes, size_t n)
{
    return n >= 8 && (memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
                      memcmp(bytes, "II+\0", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0);
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    memory m = {.bytes = bytes, .n = n};
    uint32_t width = 0, height = 0;
    void *t;
    tfr_status status = open_tiff(&m, &t, err);
    if (status)
        return status;
    if (!tiff.field(t, WIDTH, &width) || !tiff.field(t, HEIGHT, &height))
        status = fail_damaged(&m, err);
    tiff.close(t);
    *out = (tfr__image_size){3, height, width};
    return status;
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    memory m = {.bytes = bytes, .n = n};
    const size_t pixels = (size_t)size->width * size->height;
    uint32_t *packed = malloc(pixels * sizeof *packed);
    void *t = NULL;
    tfr_status status = packed ? open_tiff(&m, &t, err)
                               : tfr_fail(err, TFR_ENOMEM,
                                          "out of memory for a TIFF image of "
                                          "%u x %u pixels",
                                          size->width, size->height);
    if (!status && !tiff.rgba(t, size->width, size->height, packed, TOP_LEFT, 1))
        status = fail_damaged(&m, err);
    for (size_t i = 0; !status && i < pixels; i++)
        for (unsigned c = 0; c < 3; c++)
            out[3 * i + c] = (uint8_t)(packed[i] >> 8 * c); /* red is lowest, on every machine */
    if (t)
        tiff.close(t);
    free(packed);
    return status;
}

const tfr__codec tfr__tiff = {"TIFF", is_tiff, look, decode};

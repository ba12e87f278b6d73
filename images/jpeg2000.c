/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg2000.c: JPEG 2000 by OpenJPEG 2, as a JP2 file or a bare codestream: one component is grey,
 * the first three of more are red, green and blue.
 */
#include "codec.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "library.h"

/* openjpeg.h's opj_image_comp_t and opj_image_t, as they are since 2.0. */
typedef struct component {
    uint32_t dx, dy, width, height, x0, y0, bits, unused, is_signed, resolutions, factor;
    int32_t *data;
    uint16_t alpha;
} component;

typedef struct picture {
    uint32_t x0, y0, x1, y1, n_components;
    int color_space;
    component *components;
} picture;

typedef struct reading {
    const uint8_t *bytes;
    size_t n, at;
    char why[120];
} reading;

static const char *const names[] = {"opj_stream_create",
                                    "opj_stream_destroy",
                                    "opj_stream_set_read_function",
                                    "opj_stream_set_skip_function",
                                    "opj_stream_set_seek_function",
                                    "opj_stream_set_user_data",
                                    "opj_stream_set_user_data_length",
                                    "opj_create_decompress",
                                    "opj_set_default_decoder_parameters",
                                    "opj_setup_decoder",
                                    "opj_set_error_handler",
                                    "opj_read_header",
                                    "opj_decode",
                                    "opj_destroy_codec",
                                    "opj_image_destroy",
                                    NULL};
static struct {
    void *(*stream)(size_t buffer, int is_input);
    void (*free_stream)(void *stream);
    void (*on_read)(void *stream, size_t (*read)(void *out, size_t n, void *user));
    void (*on_skip)(void *stream, int64_t (*skip)(int64_t n, void *user));
    void (*on_seek)(void *stream, int (*seek)(int64_t at, void *user));
    void (*set_user)(void *stream, void *user, void (*free_user)(void *user));
    void (*set_length)(void *stream, uint64_t n);
    void *(*codec)(int format);
    void (*defaults)(void *parameters);
    int (*setup)(void *codec, void *parameters);
    int (*on_error)(void *codec, void (*tell)(const char *text, void *user), void *user);
    int (*header)(void *stream, void *codec, picture **out);
    int (*decode)(void *codec, void *stream, picture *image);
    void (*free_codec)(void *codec);
    void (*free_picture)(picture *image);
} opj;
#define SONAME "libopenjp2.so.7"
TFR_PLUGIN_MAY_OPEN(SONAME);
static tfr__library library = {
    .soname = SONAME, .package = "libopenjp2-7", .names = names, .functions = &opj};

enum {
    CODESTREAM = 0,
    JP2 = 2,
    SYCC = 3,
    BUFFER = 1 << 16,
    PARAMETERS = 1 << 15 /* bytes of opj_dparameters_t, and many more */
};

static size_t read_some(void *out, size_t n, void *user)
{
    reading *r = user;
    if (r->at >= r->n)
        return (size_t)-1;
    n = n < r->n - r->at ? n : r->n - r->at;
    memcpy(out, r->bytes + r->at, n);
    r->at += n;
    return n;
}

static int64_t skip_some(int64_t n, void *user)
{
    reading *r = user;
    if (n < 0 || (uint64_t)n > r->n - r->at)
        return -1;
    r->at += (size_t)n;
    return n;
}

static int seek_to(int64_t at, void *user)
{
    reading *r = user;
    if (at < 0 || (uint64_t)at > r->n)
        return 0;
    r->at = (size_t)at;
    return 1;
}

static void keep_message(const char *text, void *user)
{
    reading *r = user;
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "%.*s", (int)strcspn(text, "\n"), text);
}

static bool is_codestream(const void *bytes, size_t n)
{
    return n >= 4 && memcmp(bytes, "\xff\x4f\xff\x51", 4) == 0;
}

static bool is_jpeg2000(const void *bytes, size_t n)
{
    return is_codestream(bytes, n) ||
           (n >= 12 && memcmp(bytes, "\0\0\0\x0cjP  \r\n\x87\n", 12) == 0);
}

static tfr_status fail_damaged(const reading *r, tfr_err *err)
{
    return tfr_fail(err, TFR_EMODEL, "the JPEG 2000 image is damaged: %s",
                    r->why[0] ? r->why : "it has no picture");
}

/* Components of one size, of 8 to 16 bits, in colours that are red, green and blue, or grey. */
static tfr_status check_picture(const picture *p, tfr_err *err)
{
    const uint32_t n = p->n_components < 3 ? 1 : 3;
    if (!p->n_components || p->color_space >= SYCC)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "the JPEG 2000 image has %u components of colour space %d; grey and RGB "
                        "are read",
                        p->n_components, p->color_space);
    for (uint32_t c = 0; c < n; c++)
        if (p->components[c].width != p->components[0].width ||
            p->components[c].height != p->components[0].height || !p->components[c].bits ||
            p->components[c].bits > 16 || p->components[c].is_signed)
            return tfr_fail(err, TFR_EUNSUPPORTED,
                            "the JPEG 2000 image has components of different sizes, or of more "
                            "than 16 bits");
    return TFR_OK;
}

static void put_pixels(const picture *p, const tfr__image_size *size, uint8_t *out)
{
    const size_t pixels = (size_t)size->width * size->height;
    for (uint32_t c = 0; c < size->channels; c++) {
        const component *from = &p->components[p->n_components < 3 ? 0 : c];
        const int32_t most = (1 << from->bits) - 1;
        for (size_t i = 0; i < pixels; i++) {
            int32_t v = from->data[i] < 0 ? 0 : from->data[i] > most ? most : from->data[i];
            out[i * size->channels + c] =
                (uint8_t)(from->bits > 8 ? v >> (from->bits - 8) : v * 255 / most);
        }
    }
}

/* The header, and the pixels where out is not NULL. */
static tfr_status read_picture(reading *r, void *stream, void *codec, const tfr__image_size *size,
                               uint8_t *out, tfr__image_size *found, tfr_err *err)
{
    void *parameters = calloc(1, PARAMETERS);
    picture *p = NULL;
    tfr_status status = TFR_OK;
    if (!stream || !codec || !parameters) {
        free(parameters);
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a JPEG 2000 image");
    }
    opj.on_error(codec, keep_message, r);
    opj.defaults(parameters);
    opj.on_read(stream, read_some);
    opj.on_skip(stream, skip_some);
    opj.on_seek(stream, seek_to);
    opj.set_user(stream, r, NULL);
    opj.set_length(stream, r->n);
    if (!opj.setup(codec, parameters) || !opj.header(stream, codec, &p) ||
        (out && !opj.decode(codec, stream, p)))
        status = fail_damaged(r, err);
    if (!status)
        status = check_picture(p, err);
    if (!status && found)
        *found = (tfr__image_size){p->n_components < 3 ? 1 : 3, p->components[0].height,
                                   p->components[0].width};
    if (!status && out &&
        (p->components[0].width != size->width || p->components[0].height != size->height ||
         !p->components[0].data))
        status = fail_damaged(r, err);
    if (!status && out)
        put_pixels(p, size, out);
    if (p)
        opj.free_picture(p);
    free(parameters);
    return status;
}

static tfr_status read_all(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                           tfr__image_size *found, tfr_err *err)
{
    reading r = {.bytes = bytes, .n = n};
    void *stream, *codec;
    tfr_status status = tfr__library_need(&library, "a JPEG 2000 image", err);
    if (status)
        return status;
    stream = opj.stream(BUFFER, 1);
    codec = opj.codec(is_codestream(bytes, n) ? CODESTREAM : JP2);
    status = read_picture(&r, stream, codec, size, out, found, err);
    if (codec)
        opj.free_codec(codec);
    if (stream)
        opj.free_stream(stream);
    return status;
}

static tfr_status look(const void *bytes, size_t n, tfr__image_size *out, tfr_err *err)
{
    return read_all(bytes, n, NULL, NULL, out, err);
}

static tfr_status decode(const void *bytes, size_t n, const tfr__image_size *size, uint8_t *out,
                         tfr_err *err)
{
    return read_all(bytes, n, size, out, NULL, err);
}

const tfr__codec tfr__jpeg2000 = {"JPEG 2000", is_jpeg2000, look, decode};

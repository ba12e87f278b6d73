/* SPDX-License-Identifier: Apache-2.0 */
/* image_input.c: see image_input.h. */
#include "image_input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <images/codec.h>
#include <tfrun/fail.h>

#include "text.h"

#define MOST_BYTES (256u << 20) /* of a file */

bool cli_input_is_image(const char *path)
{
    static const char *const endings[] = {".png",  ".jpg", ".jpeg", ".jp2", ".j2k", ".webp", ".tif",
                                          ".tiff", ".bmp", ".pbm",  ".pgm", ".ppm", ".pnm"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* ---- what the model wants -------------------------------------------------------------------- */

/* An input of images: where its dims stand, and their sizes, -1 = open. */
typedef struct frame {
    int32_t rank;
    bool channels_first;
    int64_t channels, height, width;
    double mean[3], std[3];
} frame;

static tfr_status fail_shape(const char *name, const tfr_value_type *type, tfr_err *err)
{
    char text[200];
    return tfr_fail(err, TFR_ESHAPE,
                    "input \"%s\" is %s; an image goes into [1,C,H,W] or [1,H,W,C] with 1 or 3 "
                    "channels, and --layout says which",
                    name, cli_format_type(type, text, sizeof text));
}

static bool is_channels(int64_t dim)
{
    return dim == 1 || dim == 3;
}

static tfr_status read_frame(const cli_args *args, const char *name, const tfr_value_type *type,
                             frame *out, tfr_err *err)
{
    const int64_t *dims = type->dims + (type->rank == 4);
    if (!type->rank_known || type->rank < 3 || type->rank > 4 || type->kind > TFR_KIND_TENSOR ||
        (type->rank == 4 && type->dims[0] > 1))
        return fail_shape(name, type, err);
    out->rank = type->rank;
    out->channels_first =
        args->layout ? args->layout == 1 : !is_channels(dims[2]) || is_channels(dims[0]);
    out->channels = dims[out->channels_first ? 0 : 2];
    out->height = dims[out->channels_first ? 1 : 0];
    out->width = dims[out->channels_first ? 2 : 1];
    if (out->channels >= 0 && !is_channels(out->channels))
        return fail_shape(name, type, err);
    if (out->channels < 0)
        out->channels = 3;
    return TFR_OK;
}

/* "0.5" or "0.485,0.456,0.406" */
static tfr_status read_numbers(const char *option, const char *text, double absent, double out[3],
                               tfr_err *err)
{
    int n = 0;
    out[0] = out[1] = out[2] = absent;
    for (const char *at = text; at && n < 3; n++) {
        char *end;
        out[n] = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !isfinite(out[n]))
            break;
        at = *end ? end + 1 : NULL;
        if (!at && n == 0)
            out[1] = out[2] = out[0];
        if (!at && n != 1)
            return TFR_OK;
    }
    return !text ? TFR_OK
                 : tfr_fail(err, TFR_EINVAL,
                            "--%s %s is neither one number nor three, write it like "
                            "0.485,0.456,0.406",
                            option, text);
}

static tfr_status read_scale(const cli_args *args, frame *f, tfr_err *err)
{
    tfr_status status = read_numbers("image-mean", args->image_mean, 0, f->mean, err);
    if (!status)
        status = read_numbers("image-std", args->image_std, 1, f->std, err);
    if (!status && (f->std[0] == 0 || f->std[1] == 0 || f->std[2] == 0))
        return tfr_fail(err, TFR_EINVAL, "--image-std %s: nothing is divided by 0",
                        args->image_std);
    return status;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* One line: out[k] = sum of the triangle filter over in, as wide as a pixel of out if that is more
 * than one of in. Steps are in floats. */
static void resize_line(const float *in, int64_t n_in, size_t in_step, float *out, int64_t n_out,
                        size_t out_step)
{
    const double scale = (double)n_in / (double)n_out, wide = scale > 1 ? scale : 1;
    for (int64_t k = 0; k < n_out; k++) {
        const double center = ((double)k + 0.5) * scale;
        int64_t first = (int64_t)(center - wide), end = (int64_t)(center + wide) + 1;
        double sum = 0, weights = 0;
        first = first < 0 ? 0 : first;
        end = end > n_in ? n_in : end;
        for (int64_t i = first; i < end; i++) {
            const double weight = 1 - fabs((double)i + 0.5 - center) / wide;
            if (weight <= 0)
                continue;
            weights += weight;
            sum += weight * (double)in[(size_t)i * in_step];
        }
        out[(size_t)k * out_step] = (float)(sum / weights);
    }
}

/* [height, width, channels] to another size, across and then down; NULL = no memory. */
static float *resize(const uint8_t *pixels, const tfr__image_size *from, int64_t height,
                     int64_t width)
{
    const size_t c = from->channels, n = (size_t)from->height * from->width * c;
    float *whole = malloc((n + 1) * sizeof *whole);
    float *across = malloc(((size_t)from->height * (size_t)width * c + 1) * sizeof *across);
    float *out = malloc(((size_t)height * (size_t)width * c + 1) * sizeof *out);
    if (whole && across && out) {
        const size_t row = (size_t)width * c;
        for (size_t i = 0; i < n; i++)
            whole[i] = pixels[i];
        for (size_t y = 0; y < from->height; y++)
            for (size_t k = 0; k < c; k++)
                resize_line(whole + y * from->width * c + k, from->width, c, across + y * row + k,
                            width, c);
        for (size_t x = 0; x < row; x++)
            resize_line(across + x, from->height, row, out + x, height, row);
    } else {
        free(out);
        out = NULL;
    }
    free(across);
    free(whole);
    return out;
}

/* The channels that the model wants: grey is what Pillow makes of colours. */
static void set_channels(float *pixels, size_t n, size_t have, size_t want)
{
    for (size_t i = 0; have == 3 && want == 1 && i < n; i++)
        pixels[i] =
            0.299f * pixels[3 * i] + 0.587f * pixels[3 * i + 1] + 0.114f * pixels[3 * i + 2];
}

static tfr_status to_tensor(const frame *f, const float *pixels, const tfr_value_type *type,
                            tfr_tensor **out, tfr_err *err)
{
    const tfr_dtype dtype = type->dtype ? (tfr_dtype)type->dtype : TFR_DTYPE_F32;
    const size_t area = (size_t)f->height * (size_t)f->width, c = (size_t)f->channels;
    const bool bytes = dtype == TFR_DTYPE_U8 || dtype == TFR_DTYPE_I8;
    const int at = f->rank == 4;
    tfr_shape shape = {f->rank, {1, 1, 1, 1}};
    double *numbers = malloc((area * c + 1) * sizeof *numbers);
    tfr_status status;
    shape.dims[at + (f->channels_first ? 0 : 2)] = f->channels;
    shape.dims[at + (f->channels_first ? 1 : 0)] = f->height;
    shape.dims[at + (f->channels_first ? 2 : 1)] = f->width;
    if (!numbers)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %zu pixels", area);
    for (size_t i = 0; i < area; i++)
        for (size_t k = 0; k < c; k++) {
            const double pixel = (double)pixels[i * c + k];
            numbers[f->channels_first ? k * area + i : i * c + k] =
                bytes ? nearbyint(pixel) : (pixel / 255 - f->mean[k]) / f->std[k];
        }
    status = tfr_tensor_create(dtype, &shape, out, err);
    if (!status)
        status = tfr_dtype_convert(dtype, tfr_tensor_data(*out), TFR_DTYPE_F64, numbers,
                                   (int64_t)(area * c), err);
    free(numbers);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static tfr_status read_file(const char *path, uint8_t **bytes, size_t *n, tfr_err *err)
{
    FILE *file = fopen(path, "rb");
    tfr_status status = TFR_OK;
    long end;
    if (!file)
        return tfr_fail(err, TFR_EIO, "%s cannot be opened: %s", path, strerror(errno));
    end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (end < 0 || (unsigned long)end > MOST_BYTES)
        status = tfr_fail(err, TFR_ELIMIT, "%s has %ld bytes, an image has at most %u", path, end,
                          MOST_BYTES);
    *bytes = status ? NULL : malloc((size_t)end + 1);
    if (!status && !*bytes)
        status = tfr_fail(err, TFR_ENOMEM, "no memory for %ld bytes of %s", end, path);
    if (!status) {
        rewind(file);
        *n = fread(*bytes, 1, (size_t)end, file);
        if (ferror(file))
            status = tfr_fail(err, TFR_EIO, "%s cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return status;
}

static tfr_status decode(const void *bytes, size_t n, frame *f, float **out, tfr_err *err)
{
    tfr__image_size size;
    uint8_t *pixels;
    tfr_status status = tfr__image_look(bytes, n, &size, err);
    if (status)
        return status;
    if (f->channels == 3)
        size.channels = 3;
    f->height = f->height < 0 ? size.height : f->height;
    f->width = f->width < 0 ? size.width : f->width;
    if (!f->height || !f->width || f->height > TFR__IMAGE_SIDE || f->width > TFR__IMAGE_SIDE)
        return tfr_fail(err, TFR_ESHAPE, "an image cannot be resized to %lld x %lld",
                        (long long)f->width, (long long)f->height);
    pixels = malloc((size_t)size.height * size.width * size.channels);
    if (!pixels)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an image of %u x %u", size.width,
                        size.height);
    status = tfr__image_rows(bytes, n, &size, pixels, err);
    if (!status) {
        *out = resize(pixels, &size, f->height, f->width);
        if (*out)
            set_channels(*out, (size_t)f->height * (size_t)f->width, size.channels,
                         (size_t)f->channels);
        else
            status = tfr_fail(err, TFR_ENOMEM, "no memory to resize an image");
    }
    free(pixels);
    return status;
}

tfr_status cli_image_load(const cli_args *args, const char *name, const char *path,
                          const tfr_value_type *type, tfr_tensor **out, tfr_err *err)
{
    frame f = {0};
    uint8_t *bytes = NULL;
    float *pixels = NULL;
    size_t n = 0;
    tfr_err own = TFR_ERR_INIT;
    tfr_status status = read_frame(args, name, type, &f, err);
    *out = NULL;
    if (!status)
        status = read_scale(args, &f, err);
    if (!status)
        status = read_file(path, &bytes, &n, err);
    if (!status) {
        status = decode(bytes, n, &f, &pixels, &own);
        if (status)
            status = tfr_fail(err, status, "%s: %s", path, own.text);
    }
    if (!status)
        status = to_tensor(&f, pixels, type, out, err);
    if (status) {
        tfr_tensor_release(*out);
        *out = NULL;
    }
    free(pixels);
    free(bytes);
    return status;
}

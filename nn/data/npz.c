/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c: the source "npz:FILE", arrays of NumPy in a zip archive, as Keras' mnist.npz. */
#include <formats/file.h>
#include <formats/prefix.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/npy.h>

#include "dataset.h"
#include "zip.h"

/* An archive, open. */
typedef struct npz {
    const tfr__source *source;
    tfr__zip zip;
} npz;

/* ---- arrays ---------------------------------------------------------------------------------- */

/* A plain tensor. */
static tfr_status read_array(const npz *f, const char *name, tfr_tensor **out, tfr_err *err)
{
    char member_name[64];
    tfr__zip_member member;
    void *bytes = NULL;
    tfr_tensor *array = NULL;
    tfr_status status;

    snprintf(member_name, sizeof member_name, "%s.npy", name);
    status = tfr__zip_find(&f->zip, member_name, &member, err);
    if (!status)
        status = tfr__zip_read(&f->zip, &member, &bytes, err);
    if (!status)
        status = tfr_npy_parse(bytes, member.bytes, &array, err);
    free(bytes);
    if (!status && !tfr_tensor_is_plain(array)) {
        status = tfr_tensor_copy(array, out, err);
        tfr_tensor_release(array);
    } else if (!status) {
        *out = array;
    }
    return status ? tfr__prefix(err, status, "%s: ", f->source->path) : TFR_OK;
}

static bool has_array(const npz *f, const char *name)
{
    char member_name[64];
    tfr__zip_member member;
    snprintf(member_name, sizeof member_name, "%s.npy", name);
    return tfr__zip_find(&f->zip, member_name, &member, NULL) == TFR_OK;
}

#define NUMBERS(X)                                                                                 \
    X(F32, float)                                                                                  \
    X(F64, double)                                                                                 \
    X(BOOL, uint8_t)                                                                               \
    X(U8, uint8_t)                                                                                 \
    X(U16, uint16_t)                                                                               \
    X(U32, uint32_t)                                                                               \
    X(U64, uint64_t)                                                                               \
    X(I8, int8_t)                                                                                  \
    X(I16, int16_t)                                                                                \
    X(I32, int32_t)                                                                                \
    X(I64, int64_t)

/* Element i of a type that has a value, as a double; false for other types. */
static bool value_at(const tfr_tensor *t, int64_t i, double *out)
{
    const void *p = tfr_tensor_data(t);
    switch (tfr_tensor_dtype(t)) {
#define VALUE(name, type)                                                                          \
    case TFR_DTYPE_##name:                                                                         \
        *out = (double)((const type *)p)[i];                                                       \
        return true;
        NUMBERS(VALUE)
#undef VALUE
    default:
        return false;
    }
}

/* All of it as floats, malloc'ed. */
static tfr_status to_floats(const tfr_tensor *t, const char *name, float **out, tfr_err *err)
{
    const int64_t n = tfr_tensor_elements(t);
    float *floats = malloc((size_t)n * sizeof *floats);
    if (!floats)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the %lld elements of %s", (long long)n,
                        name);
    for (int64_t i = 0; i < n; i++) {
        double v;
        if (!value_at(t, i, &v)) {
            free(floats);
            return tfr_fail(err, TFR_EUNSUPPORTED,
                            "%s has elements of type %s; bytes, integers, f32 and f64 can be read",
                            name, tfr_dtype_name(tfr_tensor_dtype(t)));
        }
        floats[i] = (float)v;
    }
    *out = floats;
    return TFR_OK;
}

/* ---- inputs and targets ---------------------------------------------------------------------- */

static bool is_channels(int64_t dim)
{
    return dim == 1 || dim == 3 || dim == 4;
}

/* [n, H, W, C] to [n, C, H, W], in new memory. */
static tfr_status move_channels(const tfr_tensor *x, tfr_dataset *d, tfr_err *err)
{
    const int64_t *dims = tfr_tensor_shape(x)->dims;
    const size_t pixels = (size_t)(dims[1] * dims[2]), channels = (size_t)dims[3];
    const uint8_t *from = tfr_tensor_data(x);
    uint8_t *to = d->memory = malloc(tfr_tensor_bytes(x));
    if (!to)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %zu bytes of images",
                        tfr_tensor_bytes(x));
    for (int64_t i = 0; i < dims[0]; i++, from += pixels * channels, to += pixels * channels)
        for (size_t c = 0; c < channels; c++)
            for (size_t p = 0; p < pixels; p++)
                to[c * pixels + p] = from[p * channels + c];
    d->sample = (tfr_shape){3, {dims[3], dims[1], dims[2]}};
    d->bytes = d->memory;
    return TFR_OK;
}

/* Bytes are images. Keeps x, if its memory will do. */
static tfr_status set_inputs(tfr_tensor *x, const char *name, tfr_dataset *d, tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(x);
    const bool bytes = tfr_tensor_dtype(x) == TFR_DTYPE_U8;
    float *floats = NULL;
    tfr_status status;

    if (shape->rank < 2 || tfr_tensor_elements(x) == 0)
        return tfr_fail(err, TFR_EMODEL,
                        "%s has %d dims and %lld elements; samples in dim 0 and at least one more "
                        "dim are needed",
                        name, shape->rank, (long long)tfr_tensor_elements(x));
    d->count = shape->dims[0];
    if (bytes && shape->rank == 4 && is_channels(shape->dims[3]) &&
        (shape->dims[3] != 1 || shape->dims[1] != 1))
        return move_channels(x, d, err);
    d->sample.rank = shape->rank - 1;
    memcpy(d->sample.dims, shape->dims + 1, (size_t)d->sample.rank * sizeof *shape->dims);
    if (bytes && shape->rank == 3)
        d->sample = (tfr_shape){3, {1, shape->dims[1], shape->dims[2]}};
    if (bytes) {
        d->values = tfr_tensor_retain(x);
        d->bytes = tfr_tensor_data(x);
        return TFR_OK;
    }
    status = to_floats(x, name, &floats, err);
    d->memory = floats;
    d->floats = floats;
    return status;
}

static tfr_status set_labels(const tfr_tensor *y, const char *name, tfr_dataset *d, tfr_err *err)
{
    const int64_t most = d->classes ? d->classes : INT32_MAX;
    double largest = 0;
    d->labels = malloc((size_t)d->count * sizeof *d->labels);
    if (!d->labels)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %lld labels", (long long)d->count);
    for (int64_t i = 0; i < d->count; i++) {
        double v = -1;
        (void)value_at(y, i, &v);
        if (!(v >= 0 && v < (double)most))
            return tfr_fail(err, TFR_EMODEL,
                            "%s has label %.17g for sample %lld; 0 to %lld can be, classes from "
                            "the training labels or ?classes=N",
                            name, v, (long long)i, (long long)most - 1);
        d->labels[i] = (int32_t)v;
        largest = v > largest ? v : largest;
    }
    if (!d->classes)
        d->classes = (int64_t)largest + 1;
    return TFR_OK;
}

static tfr_status set_targets(const tfr_tensor *y, const char *name, tfr_dataset *d, tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(y);
    const tfr_dtype dtype = tfr_tensor_dtype(y);
    if (shape->rank < 1 || shape->dims[0] != d->count)
        return tfr_fail(err, TFR_EMODEL, "%s is for %lld samples, and there are %lld", name,
                        (long long)(shape->rank ? shape->dims[0] : 0), (long long)d->count);
    if (dtype != TFR_DTYPE_F32 && dtype != TFR_DTYPE_F64) {
        if (tfr_tensor_elements(y) != d->count)
            return tfr_fail(err, TFR_EMODEL,
                            "%s has %lld labels for %lld samples; of integers, one a sample is "
                            "needed",
                            name, (long long)tfr_tensor_elements(y), (long long)d->count);
        return set_labels(y, name, d, err);
    }
    if (tfr_tensor_elements(y) == 0)
        return tfr_fail(err, TFR_EMODEL, "%s has no elements", name);
    d->classes = 0;
    d->target.rank = shape->rank > 1 ? shape->rank - 1 : 1;
    d->target.dims[0] = 1;
    memcpy(d->target.dims, shape->dims + 1, (size_t)(shape->rank - 1) * sizeof *shape->dims);
    return to_floats(y, name, &d->targets, err);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* classes 0 = by the labels. */
static tfr_status open_part(const npz *f, const char *part, const char *const names[2],
                            int64_t classes, tfr_dataset **out, tfr_err *err)
{
    tfr_dataset *d = tfr__dataset_new(f->source->text, part, err);
    tfr_tensor *x = NULL, *y = NULL;
    tfr_status status;
    if (!d)
        return TFR_ENOMEM;
    d->classes = classes;
    status = read_array(f, names[0], &x, err);
    if (!status)
        status = read_array(f, names[1], &y, err);
    if (!status) {
        status = set_inputs(x, names[0], d, err);
        if (!status)
            status = set_targets(y, names[1], d, err);
        if (status)
            status = tfr__prefix(err, tfr__model_status(err, status), "%s: ", f->source->path);
    }
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    if (status)
        tfr_dataset_release(d);
    else
        *out = d;
    return status;
}

static tfr_status open_parts(npz *f, uint64_t classes, tfr_dataset **train, tfr_dataset **test,
                             tfr_err *err)
{
    static const char *const names[3][2] = {
        {"x_train", "y_train"}, {"x_test", "y_test"}, {"x", "y"}};
    const bool split = has_array(f, names[0][0]) || !has_array(f, names[2][0]);
    tfr_status status = open_part(f, "train", names[split ? 0 : 2], (int64_t)classes, train, err);
    if (status || !split || !test || !has_array(f, names[1][0]))
        return status;
    status = open_part(f, "test", names[1], (*train)->classes, test, err);
    if (status)
        return status;
    if (!(*train)->labels != !(*test)->labels)
        return tfr_fail(err, TFR_EMODEL, "%s: one of y_train and y_test has classes, one numbers",
                        f->source->path);
    return tfr__dataset_check_parts(*train, *test, err);
}

tfr_status tfr__npz_open(tfr__source *source, tfr_dataset **train, tfr_dataset **test, tfr_err *err)
{
    npz f = {.source = source};
    uint64_t classes = 0;
    tfr__mapping *mapping;
    tfr_status status = tfr__source_number(source, "classes", 1, INT32_MAX, &classes, err);
    if (!status)
        status = tfr__source_end(source, "classes", err);
    if (!status)
        status = tfr__mapping_open(source->path, &mapping, err);
    if (status)
        return status;
    status = tfr__zip_open(mapping->data, mapping->bytes, &f.zip, err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", source->path);
    else
        status = open_parts(&f, classes, train, test, err);
    tfr__mapping_release(mapping);
    return status;
}

tfr_status tfr_npz_load(const char *path, const char *name, tfr_tensor **out, tfr_err *err)
{
    char member_name[256];
    tfr__zip zip;
    tfr__zip_member member;
    tfr__mapping *mapping;
    void *bytes = NULL;
    tfr_status status = tfr__mapping_open(path, &mapping, err);
    if (status)
        return status;
    snprintf(member_name, sizeof member_name, "%s.npy", name);
    status = tfr__zip_open(mapping->data, mapping->bytes, &zip, err);
    if (!status)
        status = tfr__zip_find(&zip, member_name, &member, err);
    if (!status)
        status = tfr__zip_read(&zip, &member, &bytes, err);
    if (!status)
        status = tfr_npy_parse(bytes, member.bytes, out, err);
    free(bytes);
    tfr__mapping_release(mapping);
    return status ? tfr__prefix(err, status, "%s: ", path) : TFR_OK;
}

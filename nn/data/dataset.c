/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c: see tfrun/dataset.h. Finds the reader of a source, and gathers samples of any. */
#include "dataset.h"

#include <errno.h>
#include <formats/foreign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>

#define SOURCES "synthetic, idx:DIR, npz:FILE, images:DIR"

/* ---- what a source says ---------------------------------------------------------------------- */

tfr_status tfr__source_number(tfr__source *source, const char *key, uint64_t least, uint64_t most,
                              uint64_t *value, tfr_err *err)
{
    for (uint32_t i = 0; i < source->n; i++) {
        const char *text = source->options[i].value;
        unsigned long long number;
        char *end;
        if (strcmp(source->options[i].key, key) != 0)
            continue;
        errno = 0;
        number = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno || number < least || number > most)
            return tfr_fail(err, TFR_EINVAL, "%s: %s is \"%s\", not a number from %llu to %llu",
                            source->text, key, text, (unsigned long long)least,
                            (unsigned long long)most);
        source->options[i].taken = true;
        *value = number;
    }
    return TFR_OK;
}

tfr_status tfr__source_end(const tfr__source *source, const char *known, tfr_err *err)
{
    for (uint32_t i = 0; i < source->n; i++)
        if (!source->options[i].taken)
            return tfr_fail(err, TFR_EINVAL, "%s: there is no \"%s\" here, but %s", source->text,
                            source->options[i].key, known);
    return TFR_OK;
}

/* Cuts source->path, a copy of all behind the scheme, at its last question mark. */
static tfr_status cut_options(tfr__source *source, tfr_err *err)
{
    struct stat info;
    char *at = strrchr(source->path, '?');
    if (!at || stat(source->path, &info) == 0)
        return TFR_OK; /* a file may have a question mark in its name */
    *at++ = 0;
    while (*at) {
        char *next = at + strcspn(at, "&"), *equals;
        const bool last = !*next;
        *next = 0;
        equals = strchr(at, '=');
        if (!equals || source->n == TFR__SOURCE_OPTIONS)
            return tfr_fail(err, TFR_EINVAL, "%s: \"%s\" is not key=value, or too much",
                            source->text, at);
        *equals = 0;
        source->options[source->n].key = at;
        source->options[source->n++].value = equals + 1;
        at = last ? next : next + 1;
    }
    return TFR_OK;
}

static const struct {
    const char *scheme;
    tfr__source_open_fn *open;
} readers[] = {
    {"synthetic", tfr__synthetic_open},
    {"idx", tfr__idx_open},
    {"npz", tfr__npz_open},
    {"images", tfr__images_open},
};
enum { N_READERS = sizeof readers / sizeof *readers };

/* The reader of "scheme", "scheme:..." or "scheme?..."; *rest is behind it. */
static tfr__source_open_fn *reader_of(const char *text, const char **rest)
{
    const size_t n = strcspn(text, ":?");
    for (int i = 0; i < N_READERS; i++)
        if (n == strlen(readers[i].scheme) && memcmp(text, readers[i].scheme, n) == 0 &&
            (text[n] == ':' || readers[i].open == tfr__synthetic_open)) {
            *rest = text + n + (text[n] == ':');
            return readers[i].open;
        }
    return NULL;
}

static tfr_status look_at_file(const char *path, tfr__source_open_fn **open, tfr_err *err)
{
    tfr__mapping *file;
    const char *foreign;
    tfr_status status = tfr__mapping_open(path, &file, err);
    if (status)
        return status;
    foreign = tfr__foreign_name(file->data, file->bytes);
    if (file->bytes >= 4 && memcmp(file->data, "PK\3\4", 4) == 0)
        *open = tfr__npz_open;
    else
        status = tfr_fail(err, TFR_EMODEL,
                          "data \"%s\": the file is no npz archive%s%s; for MNIST's files and for "
                          "images give the path of their folder",
                          path, foreign ? " but " : "", foreign ? foreign : "");
    tfr__mapping_release(file);
    return status;
}

/* By what lies at a path. */
static tfr_status look(const char *path, tfr__source_open_fn **open, tfr_err *err)
{
    struct stat info;
    if (stat(path, &info))
        return tfr_fail(err, errno == ENOENT ? TFR_ENOTFOUND : TFR_EIO,
                        "data \"%s\": %s; data are %s, or the path of a folder or file", path,
                        strerror(errno), SOURCES);
    if (!S_ISDIR(info.st_mode))
        return look_at_file(path, open, err);
    if (tfr__idx_is_there(path))
        *open = tfr__idx_open;
    else if (tfr__images_are_there(path))
        *open = tfr__images_open;
    else
        return tfr_fail(err, TFR_ENOTFOUND,
                        "data \"%s\": this folder has neither train-images-idx3-ubyte and the "
                        "other three files of MNIST, nor a folder of images for each class",
                        path);
    return TFR_OK;
}

tfr_status tfr_dataset_open(const char *text, tfr_dataset **train, tfr_dataset **test, tfr_err *err)
{
    tfr__source source = {.text = text};
    tfr__source_open_fn *open;
    tfr_dataset *parts[2] = {NULL, NULL};
    const char *rest = text;
    tfr_status status;

    if (!text || !*text || !train)
        return tfr_fail(err, TFR_EINVAL, "data: no source, which is %s, or a path", SOURCES);
    open = reader_of(text, &rest);
    source.path = strdup(rest);
    if (!source.path)
        return tfr_fail(err, TFR_ENOMEM, "data \"%s\": out of memory", text);
    status = cut_options(&source, err);
    if (!status && !open)
        status = look(source.path, &open, err);
    if (!status)
        status = open(&source, &parts[0], test ? &parts[1] : NULL, err);
    free(source.path);
    if (status) {
        tfr_dataset_release(parts[0]);
        tfr_dataset_release(parts[1]);
        return status;
    }
    *train = parts[0];
    if (test)
        *test = parts[1];
    return TFR_OK;
}

/* ---- one data set ---------------------------------------------------------------------------- */

tfr_dataset *tfr__dataset_new(const char *name, const char *part, tfr_err *err)
{
    const size_t bytes = strlen(name) + strlen(part) + sizeof " ()";
    tfr_dataset *dataset = calloc(1, sizeof *dataset + bytes);
    if (!dataset) {
        (void)tfr_fail(err, TFR_ENOMEM, "data \"%s\": out of memory", name);
        return NULL;
    }
    atomic_init(&dataset->refs, 1);
    snprintf(dataset->name, bytes, "%s (%s)", name, part);
    return dataset;
}

tfr_dataset *tfr_dataset_retain(tfr_dataset *dataset)
{
    atomic_fetch_add_explicit(&dataset->refs, 1, memory_order_relaxed);
    return dataset;
}

void tfr_dataset_release(tfr_dataset *dataset)
{
    if (!dataset || atomic_fetch_sub_explicit(&dataset->refs, 1, memory_order_acq_rel) != 1)
        return;
    tfr__mapping_release(dataset->mapping);
    tfr_tensor_release(dataset->values);
    free(dataset->memory);
    free(dataset->labels);
    free(dataset->targets);
    free(dataset);
}

const char *tfr_dataset_name(const tfr_dataset *dataset)
{
    return dataset->name;
}

int64_t tfr_dataset_count(const tfr_dataset *dataset)
{
    return dataset->count;
}

int64_t tfr_dataset_classes(const tfr_dataset *dataset)
{
    return dataset->classes;
}

const tfr_shape *tfr_dataset_sample_shape(const tfr_dataset *dataset)
{
    return &dataset->sample;
}

static int64_t elements_of(const tfr_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

int64_t tfr__dataset_inputs(const tfr_dataset *dataset)
{
    return elements_of(&dataset->sample);
}

int64_t tfr__dataset_targets(const tfr_dataset *dataset)
{
    return dataset->classes ? 1 : elements_of(&dataset->target);
}

static bool equal_shapes(const tfr_shape *a, const tfr_shape *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

tfr_status tfr__dataset_check_parts(const tfr_dataset *train, const tfr_dataset *test, tfr_err *err)
{
    const bool inputs = !equal_shapes(&train->sample, &test->sample);
    char a[96], b[96];
    if (!inputs && equal_shapes(&train->target, &test->target))
        return TFR_OK;
    return tfr_fail(
        err, TFR_EMODEL, "%s has %s of shape %s, and %s of %s; take both parts from one data set",
        train->name, inputs ? "inputs" : "targets",
        tfr_shape_format(inputs ? &train->sample : &train->target, a, sizeof a), test->name,
        tfr_shape_format(inputs ? &test->sample : &test->target, b, sizeof b));
}

uint64_t tfr__dataset_bytes(const tfr_dataset *dataset)
{
    const uint64_t inputs = (uint64_t)tfr__dataset_inputs(dataset);
    const uint64_t targets = (uint64_t)tfr__dataset_targets(dataset);
    return (uint64_t)dataset->count *
           (inputs * (dataset->bytes ? 1 : sizeof(float)) +
            (dataset->labels ? sizeof(int32_t) : targets * sizeof(float)));
}

/* ---- gathering ------------------------------------------------------------------------------- */

static void fill_inputs(const tfr_dataset *d, const int64_t *indices, uint32_t n, float *out)
{
    const size_t each = (size_t)tfr__dataset_inputs(d);
    float values[256]; /* looked up in half the time of a division */
    for (int v = 0; d->bytes && v < 256; v++)
        values[v] = (float)v / 255.0f;
    for (uint32_t i = 0; i < n; i++, out += each)
        if (d->bytes) {
            const uint8_t *from = d->bytes + (size_t)indices[i] * each;
            for (size_t k = 0; k < each; k++)
                out[k] = values[from[k]];
        } else {
            memcpy(out, d->floats + (size_t)indices[i] * each, each * sizeof *out);
        }
}

static void fill_targets(const tfr_dataset *d, const int64_t *indices, uint32_t n, void *out)
{
    const size_t each = (size_t)tfr__dataset_targets(d);
    for (uint32_t i = 0; i < n; i++)
        if (d->labels)
            ((int64_t *)out)[i] = d->labels[indices[i]];
        else
            memcpy((float *)out + i * each, d->targets + (size_t)indices[i] * each,
                   each * sizeof(float));
}

tfr_status tfr__dataset_fill(const tfr_dataset *dataset, const int64_t *indices, uint32_t n,
                             float *input, void *target, tfr_err *err)
{
    if (dataset->mapping) {
        tfr_status status = tfr__mapping_check(dataset->mapping, err);
        if (status)
            return status;
    }
    fill_inputs(dataset, indices, n, input);
    fill_targets(dataset, indices, n, target);
    return TFR_OK;
}

/* n rows of each. */
static tfr_status create_rows(tfr_dtype dtype, const tfr_shape *each, uint32_t n, tfr_tensor **out,
                              tfr_err *err)
{
    tfr_shape rows = {.rank = each->rank + 1, .dims = {n}};
    memcpy(rows.dims + 1, each->dims, (size_t)each->rank * sizeof *rows.dims);
    return tfr_tensor_create(dtype, &rows, out, err);
}

tfr_status tfr__dataset_create_rows(const tfr_dataset *dataset, uint32_t n, tfr_tensor **input,
                                    tfr_tensor **target, tfr_err *err)
{
    tfr_tensor *x, *y;
    tfr_status status = create_rows(TFR_DTYPE_F32, &dataset->sample, n, &x, err);
    if (status)
        return status;
    status =
        create_rows(dataset->classes ? TFR_DTYPE_I64 : TFR_DTYPE_F32, &dataset->target, n, &y, err);
    if (status) {
        tfr_tensor_release(x);
        return status;
    }
    *input = x;
    *target = y;
    return TFR_OK;
}

tfr_status tfr_dataset_gather(tfr_dataset *dataset, const int64_t *indices, uint32_t n,
                              tfr_tensor **input, tfr_tensor **target, tfr_err *err)
{
    tfr_tensor *x = NULL, *y = NULL;
    tfr_status status;

    for (uint32_t i = 0; i < n; i++)
        if (indices[i] < 0 || indices[i] >= dataset->count)
            return tfr_fail(err, TFR_EINVAL, "%s: there is no sample %lld, but %lld from 0",
                            dataset->name, (long long)indices[i], (long long)dataset->count);
    status = tfr__dataset_create_rows(dataset, n, &x, &y, err);
    if (!status && n)
        status =
            tfr__dataset_fill(dataset, indices, n, tfr_tensor_data(x), tfr_tensor_data(y), err);
    if (status) {
        tfr_tensor_release(x);
        tfr_tensor_release(y);
        return status;
    }
    *input = x;
    *target = y;
    return TFR_OK;
}

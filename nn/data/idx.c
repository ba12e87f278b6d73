/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idx.c: the source "idx:DIR", files as on Yann LeCun's page of MNIST: a magic of two zeros, the
 * type (8 = unsigned bytes) and the number of dims, then the dims of four bytes each, big endian,
 * then the bytes. gzip is known by its first two bytes, whatever the name.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "dataset.h"
#include <formats/foreign.h>
#include <formats/prefix.h>
#include "inflate.h"

enum { IMAGES_MAGIC = 0x803, LABELS_MAGIC = 0x801, DIMS_MAX = 3, PATH_BYTES = 4096 };
enum { HEADER_BYTES_MAX = 4 + 4 * DIMS_MAX };

/* A file of one kind. */
typedef struct idx {
    uint32_t magic;
    uint32_t n_dims, dims[DIMS_MAX];
    size_t bytes; /* behind the header */
    tfr__mapping *mapping;
    tfr__inflater *inflater; /* NULL = it is plain */
    char path[PATH_BYTES];
} idx;

/* ---- finding files --------------------------------------------------------------------------- */

/* Puts where the file of a kind lies into path; if there is none, its first name, and false. */
static bool find(const char *folder, const char *part, uint32_t magic, char path[PATH_BYTES])
{
    static const char *const spellings[] = {".", "-", ".", "-"};
    const char *kind = magic == IMAGES_MAGIC ? "images" : "labels";
    for (int i = 3; i >= 0; i--) {
        const int n = snprintf(path, PATH_BYTES, "%s/%s-%s%sidx%u-ubyte%s", folder, part, kind,
                               spellings[i], (unsigned)(magic & 255), i < 2 ? ".gz" : "");
        if (n < PATH_BYTES && access(path, F_OK) == 0)
            return true;
    }
    (void)snprintf(path, PATH_BYTES, "%s/%s-%s-idx%u-ubyte", folder, part, kind,
                   (unsigned)(magic & 255));
    return false;
}

bool tfr__idx_is_there(const char *folder)
{
    char path[PATH_BYTES];
    return find(folder, "train", IMAGES_MAGIC, path) || find(folder, "train", LABELS_MAGIC, path);
}

/* ---- the header ------------------------------------------------------------------------------ */

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static tfr_status check_magic(const idx *f, const unsigned char *head, size_t n, tfr_err *err)
{
    const char *wanted = f->magic == IMAGES_MAGIC ? "images" : "labels";
    const uint32_t found = n < 4 ? 0 : big_endian(head);
    const char *foreign = tfr__foreign_name(head, n);
    if (n < 4)
        return tfr_fail(err, TFR_EMODEL, "it has %zu bytes, too few for an IDX file; get it again",
                        n);
    if (found == f->magic)
        return TFR_OK;
    if (found == IMAGES_MAGIC || found == LABELS_MAGIC)
        return tfr_fail(err, TFR_EMODEL,
                        "its magic is 0x%08x, of IDX %s, and 0x%08x, of %s, is expected; is it the "
                        "other file under this name?",
                        found, found == IMAGES_MAGIC ? "images" : "labels", f->magic, wanted);
    return tfr_fail(err, TFR_EMODEL,
                    "its magic is 0x%08x, and 0x%08x, of IDX %s, is expected%s%s; get the file "
                    "again",
                    found, f->magic, wanted, foreign ? "; it looks like " : "",
                    foreign ? foreign : "");
}

/* From the dims, and against the size of the file. */
static tfr_status check_size(idx *f, tfr_err *err)
{
    const size_t header = 4 + (size_t)4 * f->n_dims, size = f->mapping->bytes;
    uint64_t bytes = 1;
    for (uint32_t i = 0; i < f->n_dims; i++)
        if (!f->dims[i] || __builtin_mul_overflow(bytes, f->dims[i], &bytes) ||
            bytes > (uint64_t)INT64_MAX / 2)
            return tfr_fail(err, TFR_EMODEL,
                            "dim %u of its header is %u, which is %s; the file is damaged, get it "
                            "again",
                            i, f->dims[i], f->dims[i] ? "too much" : "no sample at all");
    if (!f->inflater && bytes != size - header)
        return tfr_fail(err, TFR_EMODEL,
                        "its header says %llu bytes, and %zu follow it; %s, get it again",
                        (unsigned long long)bytes, size - header,
                        bytes > size - header ? "it was cut short" : "they do not belong together");
    if (f->inflater && bytes / TFR__DEFLATE_MOST > size)
        return tfr_fail(err, TFR_EMODEL,
                        "its header says %llu bytes, more than the %zu bytes of the file can "
                        "unpack to; it is damaged, get it again",
                        (unsigned long long)bytes, size);
    f->bytes = (size_t)bytes;
    return TFR_OK;
}

static tfr_status read_header(idx *f, tfr_err *err)
{
    unsigned char head[HEADER_BYTES_MAX] = {0};
    const size_t header = 4 + (size_t)4 * f->n_dims;
    const unsigned char *data = (const unsigned char *)f->mapping->data;
    size_t n = f->mapping->bytes < header ? f->mapping->bytes : header;
    tfr_status status = TFR_OK;

    if (n >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
        status = tfr__inflate_open(TFR__DEFLATE_GZIP, data, f->mapping->bytes, &f->inflater, err);
        /* The magic first: of another file less may be there. */
        n = 4;
        if (!status)
            status = tfr__inflate_read(f->inflater, head, n, err);
    } else {
        memcpy(head, data, n);
    }
    if (!status)
        status = check_magic(f, head, n, err);
    if (!status && f->inflater)
        status = tfr__inflate_read(f->inflater, head + n, header - n, err);
    else if (!status && n < header)
        status = tfr_fail(err, TFR_EMODEL,
                          "it ends after %zu bytes, in its header of %zu; get it again", n, header);
    for (uint32_t i = 0; i < f->n_dims; i++)
        f->dims[i] = big_endian(head + 4 + (size_t)4 * i);
    return status ? status : check_size(f, err);
}

static void close_idx(idx *f)
{
    tfr__inflate_close(f->inflater);
    tfr__mapping_release(f->mapping);
}

/* f->path and f->magic are set. */
static tfr_status open_idx(idx *f, tfr_err *err)
{
    tfr_status status = tfr__mapping_open(f->path, &f->mapping, err);
    if (status)
        return status;
    f->n_dims = f->magic & 255;
    status = read_header(f, err);
    return status ? tfr__prefix(err, status, "%s: ", f->path) : TFR_OK;
}

/* All bytes behind the header: *out is in the mapping, or malloc'ed and *memory, too. */
static tfr_status read_bytes(idx *f, const uint8_t **out, void **memory, tfr_err *err)
{
    tfr_status status;
    if (!f->inflater) {
        *out = (const uint8_t *)f->mapping->data + 4 + (size_t)4 * f->n_dims;
        return TFR_OK;
    }
    *memory = malloc(f->bytes);
    if (!*memory)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for %zu bytes", f->path, f->bytes);
    *out = *memory;
    status = tfr__inflate_read(f->inflater, *memory, f->bytes, err);
    if (!status)
        status = tfr__inflate_end(f->inflater, err);
    return status ? tfr__prefix(err, status, "%s: ", f->path) : TFR_OK;
}

/* ---- a part ---------------------------------------------------------------------------------- */

static tfr_status read_images(idx *f, tfr_dataset *dataset, tfr_err *err)
{
    tfr_status status = read_bytes(f, &dataset->bytes, &dataset->memory, err);
    if (!status && !dataset->memory)
        dataset->mapping = tfr__mapping_retain(f->mapping);
    dataset->count = f->dims[0];
    dataset->sample = (tfr_shape){3, {1, f->dims[1], f->dims[2]}};
    return status;
}

static tfr_status read_labels(idx *f, tfr_dataset *dataset, tfr_err *err)
{
    const uint8_t *labels = NULL;
    void *memory = NULL;
    tfr_status status = read_bytes(f, &labels, &memory, err);
    if (!status) {
        dataset->labels = malloc(f->bytes * sizeof *dataset->labels);
        if (!dataset->labels)
            status =
                tfr_fail(err, TFR_ENOMEM, "%s: out of memory for %zu labels", f->path, f->bytes);
    }
    for (size_t i = 0; !status && i < f->bytes; i++) {
        dataset->labels[i] = labels[i];
        if (labels[i] >= dataset->classes)
            status = tfr_fail(err, TFR_EMODEL,
                              "%s: label %zu is %d, not below %lld; if the data have more classes, "
                              "say idx:DIR?classes=%d",
                              f->path, i, labels[i], (long long)dataset->classes, labels[i] + 1);
    }
    free(memory);
    return status;
}

static tfr_status open_files(idx *images, idx *labels, tfr_dataset *dataset, tfr_err *err)
{
    tfr_status status = open_idx(images, err);
    if (!status)
        status = open_idx(labels, err);
    if (!status && images->dims[0] != labels->dims[0])
        status = tfr_fail(err, TFR_EMODEL,
                          "%s has %u images, and %s %u labels; take both files from one data set",
                          images->path, images->dims[0], labels->path, labels->dims[0]);
    if (!status)
        status = read_labels(labels, dataset, err);
    if (!status)
        status = read_images(images, dataset, err);
    return status;
}

/* *out stays NULL where there is neither file and the part may be missing. */
static tfr_status open_part(const tfr__source *source, const char *part, uint64_t classes,
                            bool may_be_missing, tfr_dataset **out, tfr_err *err)
{
    idx *files = calloc(2, sizeof *files);
    tfr_dataset *dataset = tfr__dataset_new(source->text, part, err);
    tfr_status status = TFR_OK;
    bool has_images, has_labels;

    if (!files || !dataset) {
        free(files);
        tfr_dataset_release(dataset);
        return tfr_fail(err, TFR_ENOMEM, "data \"%s\": out of memory", source->text);
    }
    dataset->classes = (int64_t)classes;
    has_images = find(source->path, part, files[0].magic = IMAGES_MAGIC, files[0].path);
    has_labels = find(source->path, part, files[1].magic = LABELS_MAGIC, files[1].path);
    if (has_images && has_labels)
        status = open_files(&files[0], &files[1], dataset, err);
    else if (has_images || has_labels || !may_be_missing)
        status = tfr_fail(err, TFR_ENOTFOUND,
                          "%s is not there, nor with .idx for -idx, nor with .gz; put it there, or "
                          "take \"synthetic\", which needs no files",
                          files[has_images].path);
    close_idx(&files[0]);
    close_idx(&files[1]);
    if (!status && has_images) {
        *out = dataset;
        dataset = NULL;
    }
    free(files);
    tfr_dataset_release(dataset);
    return status;
}

tfr_status tfr__idx_open(tfr__source *source, tfr_dataset **train, tfr_dataset **test, tfr_err *err)
{
    uint64_t classes = 10;
    tfr_status status = tfr__source_number(source, "classes", 1, 256, &classes, err);
    if (!status)
        status = tfr__source_end(source, "classes", err);
    if (!status)
        status = open_part(source, "train", classes, false, train, err);
    if (!status && test)
        status = open_part(source, "t10k", classes, true, test, err);
    if (!status && test && *test)
        status = tfr__dataset_check_parts(*train, *test, err);
    return status;
}

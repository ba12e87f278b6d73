/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.c: the source "images:DIR", a folder of images for each class. All of them are decoded
 * when it is opened, on all processors, so that a damaged one is known before training begins.
 */
#include <dirent.h>
#include <errno.h>
#include <formats/file.h>
#include <formats/prefix.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <tfrun/fail.h>

#include "dataset.h"
#include "image_file.h"
#include "parallel.h"

/* Files, or folders, in the order of their names. */
typedef struct entry {
    char *path;
    int32_t label;
} entry;

typedef struct list {
    size_t n, room;
    entry *items;
} list;

/* ---- finding images -------------------------------------------------------------------------- */

static void list_free(list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].path);
    free(l->items);
}

/* Takes path, which is malloc'ed; false = out of memory. */
static bool list_add(list *l, char *path, int32_t label)
{
    if (l->n == l->room) {
        const size_t room = l->room ? l->room * 2 : 64;
        entry *items = realloc(l->items, room * sizeof *items);
        if (!items) {
            free(path);
            return false;
        }
        l->items = items;
        l->room = room;
    }
    l->items[l->n++] = (entry){path, label};
    return true;
}

/* "folder/name", malloc'ed, or NULL. */
static char *join(const char *folder, const char *name)
{
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path)
        snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_image_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".jp2", ".webp", ".tif", ".tiff",
                                          ".bmp", ".pbm", ".pgm",  ".ppm", ".pnm",  NULL};
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && endings[i]; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

/* Adds the folders that are in a folder, or the images; what is hidden is left out. */
static tfr_status list_folder(const char *folder, bool folders, int32_t label, list *out,
                              tfr_err *err)
{
    const size_t first = out->n;
    const struct dirent *found;
    bool has_memory = true;
    DIR *dir = opendir(folder);
    if (!dir)
        return tfr_fail(err, errno == ENOENT ? TFR_ENOTFOUND : TFR_EIO, "%s: cannot list it: %s",
                        folder, strerror(errno));
    while (has_memory && (found = readdir(dir))) {
        char *path;
        if (found->d_name[0] == '.' || (!folders && !is_image_name(found->d_name)))
            continue;
        path = join(folder, found->d_name);
        if (path && folders && !is_folder(path))
            free(path);
        else
            has_memory = path && list_add(out, path, label);
    }
    closedir(dir);
    if (!has_memory)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for the names in it", folder);
    if (out->n > first)
        qsort(out->items + first, out->n - first, sizeof *out->items, compare_paths);
    return TFR_OK;
}

/* The label of a class by the name of its folder, -1 = there is none. */
static int32_t label_of(const list *classes, const char *folder)
{
    for (size_t i = 0; i < classes->n; i++)
        if (strcmp(name_of(classes->items[i].path), name_of(folder)) == 0)
            return (int32_t)i;
    return -1;
}

/* The images of all classes in a folder; classes is filled if it is empty. */
static tfr_status find_images(const char *folder, list *classes, list *images, tfr_err *err)
{
    list own = {0};
    list *folders = classes->n ? &own : classes;
    tfr_status status = list_folder(folder, true, 0, folders, err);

    if (!status && folders->n < (classes->n ? 1 : 2))
        status = tfr_fail(err, TFR_ENOTFOUND,
                          "%s has %zu folders; one for each class, with its images, is needed",
                          folder, folders->n);
    for (size_t i = 0; !status && i < folders->n; i++) {
        const char *path = folders->items[i].path;
        const int32_t label = label_of(classes, path);
        const size_t before = images->n;
        if (label < 0)
            status = tfr_fail(err, TFR_EMODEL,
                              "%s is a class that there are no images to train with for", path);
        else
            status = list_folder(path, false, label, images, err);
        if (!status && images->n == before && folders == classes)
            status =
                tfr_fail(err, TFR_ENOTFOUND,
                         "%s has no image (.png, .jpg, .webp, .tiff, .bmp, .ppm and the like); "
                         "remove the folder or put some there",
                         path);
    }
    if (!status && !images->n)
        status = tfr_fail(err, TFR_ENOTFOUND, "%s has no images", folder);
    list_free(&own);
    return status;
}

bool tfr__images_are_there(const char *folder)
{
    list classes = {0}, images = {0};
    char *train = join(folder, "train");
    const bool found =
        train && !find_images(is_folder(train) ? train : folder, &classes, &images, NULL);
    free(train);
    list_free(&classes);
    list_free(&images);
    return found;
}

/* ---- decoding -------------------------------------------------------------------------------- */

typedef struct decoding {
    const list *images;
    const char *first; /* image, whose size all have to have */
    tfr__image_size size;
    uint8_t *out;
    pthread_mutex_t lock;
    _Atomic int64_t failed; /* the first of them, or their number */
    tfr_status status;
    tfr_err err;
} decoding;

static tfr_status check_size(const decoding *d, const tfr__image_size *found, tfr_err *err)
{
    if (found->width != d->size.width || found->height != d->size.height)
        return tfr_fail(err, TFR_EMODEL,
                        "the image is %u x %u (width x height), and %s %u x %u; make all of one "
                        "size first, e.g. with ImageMagick: mogrify -resize '%ux%u!' FILES",
                        found->width, found->height, d->first, d->size.width, d->size.height,
                        d->size.width, d->size.height);
    if (found->channels > d->size.channels)
        return tfr_fail(err, TFR_EMODEL,
                        "the image has colours, and %s is grey; images:DIR?channels=3 reads grey "
                        "ones as colours",
                        d->first);
    return TFR_OK;
}

static tfr_status decode(const decoding *d, int64_t i, tfr_err *err)
{
    const size_t bytes = (size_t)d->size.channels * d->size.height * d->size.width;
    const char *path = d->images->items[i].path;
    tfr__image_size found;
    tfr__mapping *file;
    tfr_status status = tfr__mapping_open(path, &file, err);
    if (status)
        return status;
    status = tfr__image_look(file->data, file->bytes, &found, err);
    if (!status)
        status = check_size(d, &found, err);
    if (!status)
        status =
            tfr__image_decode(file->data, file->bytes, &d->size, d->out + (size_t)i * bytes, err);
    tfr__mapping_release(file);
    return status ? tfr__prefix(err, status, "%s: ", path) : TFR_OK;
}

/* Goes on until the first image that fails, so that the error is always the same one. */
static void decode_range(void *user, int64_t begin, int64_t end)
{
    decoding *d = user;
    for (int64_t i = begin; i < end && i < atomic_load(&d->failed); i++) {
        tfr_err err = TFR_ERR_INIT;
        const tfr_status status = decode(d, i, &err);
        if (!status)
            continue;
        pthread_mutex_lock(&d->lock);
        if (i < atomic_load(&d->failed)) {
            atomic_store(&d->failed, i);
            d->status = status;
            d->err = err;
        }
        pthread_mutex_unlock(&d->lock);
    }
}

static tfr_status decode_all(decoding *d, tfr_dataset *dataset, tfr_err *err)
{
    const size_t n = d->images->n;
    size_t bytes = (size_t)d->size.channels * d->size.height * d->size.width;
    if (__builtin_mul_overflow(bytes, n, &bytes) || !(dataset->memory = malloc(bytes)))
        return tfr_fail(err, TFR_ENOMEM,
                        "%s: out of memory for %zu images of %u x %u x %u bytes; make them smaller",
                        dataset->name, n, d->size.channels, d->size.height, d->size.width);
    d->out = dataset->memory;
    atomic_init(&d->failed, (int64_t)n);
    pthread_mutex_init(&d->lock, NULL);
    tfr__data_parallel((int64_t)n, decode_range, d);
    pthread_mutex_destroy(&d->lock);
    if (d->status)
        return tfr_fail(err, d->status, "%s", d->err.text);
    dataset->bytes = dataset->memory;
    dataset->count = (int64_t)n;
    dataset->sample = (tfr_shape){3, {d->size.channels, d->size.height, d->size.width}};
    return TFR_OK;
}

/* What the header of the first image says. */
static tfr_status look_at_first(const list *images, uint64_t channels, decoding *d, tfr_err *err)
{
    tfr__mapping *file;
    tfr_status status;
    d->first = images->items[0].path;
    status = tfr__mapping_open(d->first, &file, err);
    if (status)
        return status;
    status = tfr__image_look(file->data, file->bytes, &d->size, err);
    tfr__mapping_release(file);
    if (channels)
        d->size.channels = (uint32_t)channels;
    return status ? tfr__prefix(err, status, "%s: ", d->first) : TFR_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static tfr_status open_part(const tfr__source *source, const char *part, const list *images,
                            size_t classes, decoding *d, tfr_dataset **out, tfr_err *err)
{
    tfr_dataset *dataset = tfr__dataset_new(source->text, part, err);
    if (!dataset)
        return TFR_ENOMEM;
    *out = dataset; /* the caller releases it after an error */
    d->images = images;
    dataset->classes = (int64_t)classes;
    dataset->labels = malloc(images->n * sizeof *dataset->labels);
    if (!dataset->labels)
        return tfr_fail(err, TFR_ENOMEM, "%s: out of memory for %zu labels", dataset->name,
                        images->n);
    for (size_t i = 0; i < images->n; i++)
        dataset->labels[i] = images->items[i].label;
    return decode_all(d, dataset, err);
}

/* folders[1] is NULL if there is nothing to test with, or nobody wants it. */
static tfr_status open_parts(const tfr__source *source, const char *const folders[2],
                             uint64_t channels, tfr_dataset **train, tfr_dataset **test,
                             tfr_err *err)
{
    list classes = {0}, images[2] = {{0}, {0}};
    decoding *d = calloc(1, sizeof *d);
    tfr_status status = TFR_OK;
    if (!d)
        status = tfr_fail(err, TFR_ENOMEM, "%s: out of memory", source->text);
    for (int i = 0; !status && i < 2; i++)
        if (folders[i])
            status = find_images(folders[i], &classes, &images[i], err);
    if (!status)
        status = look_at_first(&images[0], channels, d, err);
    if (!status)
        status = open_part(source, "train", &images[0], classes.n, d, train, err);
    if (!status && folders[1])
        status = open_part(source, "test", &images[1], classes.n, d, test, err);
    free(d);
    list_free(&classes);
    list_free(&images[0]);
    list_free(&images[1]);
    return status;
}

tfr_status tfr__images_open(tfr__source *source, tfr_dataset **train, tfr_dataset **test,
                            tfr_err *err)
{
    uint64_t channels = 0;
    char *inner[2] = {NULL, NULL};
    const char *folders[2] = {source->path, NULL};
    tfr_status status = tfr__source_number(source, "channels", 1, 3, &channels, err);
    if (!status && channels == 2)
        status = tfr_fail(err, TFR_EINVAL, "%s: channels is 2, not 1 or 3", source->text);
    if (!status)
        status = tfr__source_end(source, "channels", err);
    if (status)
        return status;
    inner[0] = join(source->path, "train");
    inner[1] = join(source->path, "test");
    if (!inner[0] || !inner[1])
        status = tfr_fail(err, TFR_ENOMEM, "%s: out of memory", source->text);
    else if (is_folder(inner[0]))
        folders[0] = inner[0];
    if (!status && folders[0] == inner[0] && test && is_folder(inner[1]))
        folders[1] = inner[1];
    if (!status)
        status = open_parts(source, folders, channels, train, test, err);
    free(inner[0]);
    free(inner[1]);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c: see tfrun/checkpoint.h. The metadata's "tfrun.state" is a JSON text; 64-bit numbers
 * that may be above 2^63 are texts in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/checkpoint.h>
#include <tfrun/fail.h>
#include <tfrun/safetensors.h>
#include <unistd.h>

#include "crc32c.h"
#include "leftovers.h"

#define STATE_KEY "tfrun.state"
#define FORMAT    "tfrun.checkpoint/1"
#define PREFIX    "step-"
#define SUFFIX    ".safetensors"

/* ---- the checksum ---------------------------------------------------------------------------- */

static tfr_status add_bytes(void *user, const void *bytes, size_t n, tfr_err *err)
{
    uint32_t *crc = user;
    (void)err;
    *crc = tfr__crc32c(*crc, bytes, n);
    return TFR_OK;
}

/* Of name and elements of each, in order. */
static tfr_status add_tensor(uint32_t *crc, const char *name, const tfr_tensor *tensor,
                             tfr_err *err)
{
    *crc = tfr__crc32c(*crc, name, strlen(name) + 1);
    return tfr_tensor_write(tensor, add_bytes, crc, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct snapshot {
    uint32_t n;
    const char **names;
    tfr_tensor **tensors;
    uint32_t crc;
} snapshot;

static void snapshot_finish(snapshot *s)
{
    for (uint32_t i = 0; s->tensors && i < s->n; i++)
        tfr_tensor_release(s->tensors[i]);
    free(s->names);
    free(s->tensors);
}

static tfr_status snapshot_take(tfr_trainer *trainer, snapshot *s, tfr_err *err)
{
    tfr_status status = TFR_OK;
    *s = (snapshot){.n = tfr_trainer_n_variables(trainer)};
    s->names = calloc((size_t)s->n + 1, sizeof *s->names);
    s->tensors = calloc((size_t)s->n + 1, sizeof(tfr_tensor *));
    if (!s->names || !s->tensors)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a checkpoint of %u variables", s->n);
    for (uint32_t i = 0; !status && i < s->n; i++) {
        s->names[i] = tfr_trainer_variable(trainer, i);
        status = tfr_trainer_get_variable(trainer, s->names[i], &s->tensors[i], err);
        if (!status)
            status = add_tensor(&s->crc, s->names[i], s->tensors[i], err);
    }
    return status;
}

/* A JSON text, which the caller frees; NULL without memory. */
static char *state_text(tfr_trainer *trainer, const tfr_checkpoint_info *info, uint32_t crc)
{
    char seed[24], step[24], shuffle[24];
    uint64_t random_seed, random_step;
    json_t *state;
    char *text;
    tfr_session_get_random(tfr_trainer_session(trainer), &random_seed, &random_step);
    snprintf(seed, sizeof seed, "%" PRIu64, random_seed);
    snprintf(step, sizeof step, "%" PRIu64, random_step);
    snprintf(shuffle, sizeof shuffle, "%" PRIu64, info->shuffle_seed);
    state =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:I, s:s}", "format", FORMAT,
                  "steps", (json_int_t)info->steps, "epoch", (json_int_t)info->epoch, "position",
                  (json_int_t)info->position, "batches", (json_int_t)info->batches, "shuffle_seed",
                  shuffle, "random_seed", seed, "random_step", step, "crc32c", (json_int_t)crc,
                  "best_steps", (json_int_t)info->best_steps, "conditions", info->conditions);
    if (state && isfinite(info->best) && json_object_set_new(state, "best", json_real(info->best)))
        json_decref(state), state = NULL;
    text = json_dumps(state, JSON_COMPACT);
    json_decref(state);
    return text;
}

static tfr_status sync_folder(const char *folder, tfr_err *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd < 0 ? -1 : fsync(fd);
    int error = errno;
    if (fd >= 0)
        close(fd);
    /* Some file systems cannot, and there is nothing better then. */
    if (result && error != EINVAL && error != ENOTSUP)
        return tfr_fail(err, TFR_EIO, "%s: cannot be synced: %s", folder, strerror(error));
    return TFR_OK;
}

/* The number in "step-00001876.safetensors", or -1. */
static int64_t number_of(const char *name)
{
    char *end;
    long long n;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || name[strlen(PREFIX)] < '0' ||
        name[strlen(PREFIX)] > '9')
        return -1;
    errno = 0;
    n = strtoll(name + strlen(PREFIX), &end, 10);
    return errno || strcmp(end, SUFFIX) != 0 ? -1 : n;
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The numbers of the folder's checkpoints, the newest first; the caller frees *out. */
static tfr_status list_numbers(const char *folder, int64_t **out, size_t *n, tfr_err *err)
{
    DIR *dir = opendir(folder);
    size_t capacity = 0;
    struct dirent *e;
    *out = NULL;
    *n = 0;
    if (!dir)
        return tfr_fail(err, errno == ENOENT ? TFR_ENOTFOUND : TFR_EIO, "%s: %s", folder,
                        strerror(errno));
    while ((e = readdir(dir))) {
        int64_t number = number_of(e->d_name);
        if (number < 0)
            continue;
        if (*n == capacity) {
            int64_t *more = realloc(*out, (capacity = 2 * capacity + 16) * sizeof **out);
            if (!more) {
                closedir(dir);
                return tfr_fail(err, TFR_ENOMEM, "out of memory for the checkpoints of %s", folder);
            }
            *out = more;
        }
        (*out)[(*n)++] = number;
    }
    closedir(dir);
    if (*n)
        qsort(*out, *n, sizeof **out, newest_first);
    return TFR_OK;
}

static void file_name(char *out, size_t n, const char *folder, int64_t number)
{
    snprintf(out, n, "%s/" PREFIX "%08" PRId64 SUFFIX, folder, number);
}

/* What cannot be removed stays, which harms nobody. */
static void remove_old(const char *folder, uint32_t keep, int64_t best_steps)
{
    int64_t *numbers;
    size_t n;
    if (!list_numbers(folder, &numbers, &n, NULL))
        for (size_t i = keep; i < n; i++) {
            char path[4096];
            file_name(path, sizeof path, folder, numbers[i]);
            if (!best_steps || numbers[i] != best_steps)
                (void)unlink(path);
        }
    free(numbers);
}

tfr_status tfr_checkpoint_save(tfr_trainer *trainer, const char *folder,
                               const tfr_checkpoint_info *given, uint32_t keep, char *out, size_t n,
                               tfr_err *err)
{
    tfr_checkpoint_info info = {.best = NAN};
    const char *key = STATE_KEY;
    char path[4096], *text = NULL;
    snapshot s;
    tfr_status status;
    memcpy(&info, given, given->size < sizeof info ? given->size : sizeof info);
    if (strlen(folder) > sizeof path - 64)
        return tfr_fail(err, TFR_ELIMIT, "the name of the folder \"%.80s...\" is too long", folder);
    if (mkdir(folder, 0777) && errno != EEXIST)
        return tfr_fail(err, TFR_EIO, "%s: cannot be made: %s", folder, strerror(errno));
    tfr__leftovers_remove(folder);
    status = snapshot_take(trainer, &s, err);
    if (!status)
        status = tfr_trainer_steps(trainer, &info.steps, err);
    if (!status && !(text = state_text(trainer, &info, s.crc)))
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for a checkpoint");
    file_name(path, sizeof path, folder, info.steps);
    if (!status) {
        const tfr_safetensors_content content = {.size = sizeof content,
                                                 .n = s.n,
                                                 .n_metadata = 1,
                                                 .names = s.names,
                                                 .tensors = s.tensors,
                                                 .keys = &key,
                                                 .texts = (const char *const *)&text};
        status = tfr_safetensors_save(path, &content, err);
    }
    if (!status)
        status = sync_folder(folder, err);
    if (!status && keep)
        remove_old(folder, keep, info.best_steps);
    if (!status && out && n)
        snprintf(out, n, "%s", path);
    snapshot_finish(&s);
    free(text);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t number_text(const json_t *state, const char *key)
{
    const char *text = json_string_value(json_object_get(state, key));
    return text ? strtoull(text, NULL, 10) : 0;
}

static tfr_status read_state(const tfr_safetensors *file, json_t **out, tfr_err *err)
{
    const char *text = tfr_safetensors_metadata(file, STATE_KEY);
    const char *format;
    *out = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    format = json_string_value(json_object_get(*out, "format"));
    if (!format || strcmp(format, FORMAT) != 0)
        return tfr_fail(err, TFR_EMODEL,
                        "it is no checkpoint of tfrun: its metadata has no "
                        "\"" STATE_KEY "\" of format " FORMAT);
    return TFR_OK;
}

/* The file has each variable of the trainer, of its type and shape, and no other. */
static tfr_status check_variables(tfr_trainer *trainer, const tfr_safetensors *file, uint32_t *crc,
                                  tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_trainer_n_variables(trainer); i++) {
        const char *name = tfr_trainer_variable(trainer, i);
        const tfr_tensor *given = tfr_safetensors_find(file, name);
        tfr_tensor *now = NULL;
        if (!given)
            return tfr_fail(err, TFR_EMODEL,
                            "it has no \"%s\"; it is of another model or optimizer", name);
        status = tfr_trainer_get_variable(trainer, name, &now, err);
        if (status == TFR_ELOST)
            status = TFR_OK; /* that is what checkpoints are for */
        if (!status && now &&
            (tfr_tensor_dtype(now) != tfr_tensor_dtype(given) ||
             tfr_tensor_shape(now)->rank != tfr_tensor_shape(given)->rank ||
             memcmp(tfr_tensor_shape(now)->dims, tfr_tensor_shape(given)->dims,
                    (size_t)tfr_tensor_shape(now)->rank * sizeof(int64_t)) != 0))
            status = tfr_fail(err, TFR_EMODEL, "its \"%s\" has another type or shape", name);
        tfr_tensor_release(now);
        if (!status)
            status = add_tensor(crc, name, given, err);
    }
    if (!status && tfr_safetensors_n(file) != tfr_trainer_n_variables(trainer))
        status =
            tfr_fail(err, TFR_EMODEL, "it has %u variables, the trainer %u",
                     (unsigned)tfr_safetensors_n(file), (unsigned)tfr_trainer_n_variables(trainer));
    return status;
}

static tfr_status put_state(tfr_trainer *trainer, const tfr_safetensors *file, const json_t *state,
                            tfr_checkpoint_info *out, tfr_err *err)
{
    const json_t *best = json_object_get(state, "best");
    tfr_checkpoint_info info = {.steps = json_integer_value(json_object_get(state, "steps")),
                                .epoch = json_integer_value(json_object_get(state, "epoch")),
                                .position = json_integer_value(json_object_get(state, "position")),
                                .batches = json_integer_value(json_object_get(state, "batches")),
                                .shuffle_seed = number_text(state, "shuffle_seed"),
                                .best = best ? json_number_value(best) : NAN,
                                .best_steps =
                                    json_integer_value(json_object_get(state, "best_steps"))};
    const char *conditions = json_string_value(json_object_get(state, "conditions"));
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_trainer_n_variables(trainer); i++) {
        const char *name = tfr_trainer_variable(trainer, i);
        status = tfr_trainer_set_variable(trainer, name, tfr_safetensors_find(file, name), err);
    }
    if (status)
        return status;
    tfr_session_set_random(tfr_trainer_session(trainer), number_text(state, "random_seed"),
                           number_text(state, "random_step"));
    snprintf(info.conditions, sizeof info.conditions, "%s", conditions ? conditions : "");
    info.size = out->size;
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return TFR_OK;
}

tfr_status tfr_checkpoint_load(tfr_trainer *trainer, const char *path, tfr_checkpoint_info *info,
                               tfr_err *err)
{
    tfr_safetensors *file = NULL;
    json_t *state = NULL;
    tfr_err why = TFR_ERR_INIT;
    uint32_t crc = 0;
    tfr_status status = tfr_safetensors_load(path, &file, err);
    if (status)
        return status;
    status = read_state(file, &state, &why);
    if (!status)
        status = check_variables(trainer, file, &crc, &why);
    if (!status && json_integer_value(json_object_get(state, "crc32c")) != (json_int_t)crc)
        status = tfr_fail(&why, TFR_EMODEL, "its content is damaged: the checksum is another one");
    if (!status)
        status = put_state(trainer, file, state, info, &why);
    json_decref(state);
    tfr_safetensors_release(file);
    return status ? tfr_fail(err, status, "%s: %s", path, why.text) : TFR_OK;
}

tfr_status tfr_checkpoint_newest(const char *folder, int64_t *steps, tfr_err *err)
{
    int64_t *numbers;
    size_t n;
    tfr_status status = list_numbers(folder, &numbers, &n, err);
    if (!status && !n)
        status = tfr_fail(err, TFR_ENOTFOUND, "%s: there is no checkpoint", folder);
    if (!status)
        *steps = numbers[0];
    free(numbers);
    return status;
}

tfr_status tfr_checkpoint_resume(tfr_trainer *trainer, const char *folder,
                                 tfr_checkpoint_info *info,
                                 void (*refused)(void *user, const char *path, const tfr_err *err),
                                 void *user, tfr_err *err)
{
    int64_t *numbers;
    size_t n;
    tfr_status status = list_numbers(folder, &numbers, &n, err);
    bool done = false;
    tfr__leftovers_remove(folder);
    for (size_t i = 0; !status && !done && i < n; i++) {
        char path[4096];
        tfr_err why = TFR_ERR_INIT;
        file_name(path, sizeof path, folder, numbers[i]);
        done = !tfr_checkpoint_load(trainer, path, info, &why);
        if (!done && refused)
            refused(user, path, &why);
    }
    free(numbers);
    if (!status && !done)
        status =
            tfr_fail(err, TFR_ENOTFOUND, "%s: there is no checkpoint that can be loaded", folder);
    return status;
}

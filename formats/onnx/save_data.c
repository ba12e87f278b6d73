/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_data.c: large tensors in a file beside the model. Its name has a hash of its content, so
 * that the data file of another model is never overwritten, not even when a model is written over
 * the one that it was read from, and at every moment the model that is there has its data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "onnx/save.h"

enum { PAGE = 4096 }; /* where tensors start, so that readers can map them */

/* ---- content ----------------------------------------------------------------------------------
 */

/* Calls put for the padding and the elements of every tensor outside the model, in order. */
static tfr_status put_all(const tfr__onnx_save *save, tfr_write_fn put, void *user, tfr_err *err)
{
    static const char zeros[PAGE];
    tfr_value_view value = {.size = sizeof value};
    uint64_t at = 0;
    tfr_status status = TFR_OK;

    for (uint32_t p = 0; p < save->n_parts; p++) {
        const tfr__onnx_part *part = save->parts[p];
        for (uint32_t v = 0; !status && v < tfr_graph_n_values(part->graph); v++) {
            if (!part->offsets[v])
                continue;
            status = tfr_graph_value(part->graph, (tfr_value)v, &value, err);
            if (!status && part->offsets[v] - 1 > at)
                status = put(user, zeros, (size_t)(part->offsets[v] - 1 - at), err);
            if (!status)
                status = tfr_tensor_write(value.tensor, put, user, err);
            at = part->offsets[v] - 1 + tfr_tensor_bytes(value.tensor);
        }
    }
    return status;
}

static void plan_part(tfr__onnx_part *part, uint64_t *end)
{
    tfr_value_view value = {.size = sizeof value};

    for (uint32_t v = 0; v < tfr_graph_n_values(part->graph); v++) {
        if (!part->used[v] || part->shared[v] ||
            tfr_graph_value(part->graph, (tfr_value)v, &value, NULL) || !value.tensor ||
            tfr_tensor_dtype(value.tensor) == TFR_DTYPE_STRING ||
            tfr_tensor_bytes(value.tensor) < TFR__ONNX_LARGE_BYTES)
            continue;
        part->offsets[v] = (*end + PAGE - 1) / PAGE * PAGE + 1;
        *end = part->offsets[v] - 1 + tfr_tensor_bytes(value.tensor);
    }
}

/* Multiply and fold, 8 bytes at a time wherever the pieces end. */
typedef struct hash {
    uint64_t state, word;
    unsigned filled; /* bytes of word */
} hash;

static void mix(hash *h)
{
    h->state = (h->state ^ h->word) * 0xd6e8feb86659fd93u;
    h->state ^= h->state >> 32;
    h->word = 0;
    h->filled = 0;
}

static tfr_status add_to_hash(void *user, const void *bytes, size_t n, tfr_err *err)
{
    const unsigned char *at = bytes;
    hash *h = user;

    (void)err;
    for (size_t i = 0; i < n;) {
        if (!h->filled && n - i >= sizeof h->word) {
            memcpy(&h->word, at + i, sizeof h->word);
            i += sizeof h->word;
            mix(h);
            continue;
        }
        h->word |= (uint64_t)at[i++] << 8 * h->filled;
        if (++h->filled == sizeof h->word)
            mix(h);
    }
    return TFR_OK;
}

/* ---- the file ---------------------------------------------------------------------------------
 */

tfr_status tfr__onnx_plan_data(tfr__onnx_save *save, const char *path, tfr_err *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t capacity = strlen(base) + 32;
    char *location = tfr__scratch_take(&save->scratch, capacity, 1);
    hash h = {.state = 0x9e3779b97f4a7c15u};
    uint64_t end = 0;
    tfr_status status;

    if (!location)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a file name");
    for (uint32_t p = 0; p < save->n_parts; p++)
        plan_part(save->parts[p], &end);
    if (!end)
        return TFR_OK; /* nothing is large */
    status = put_all(save, add_to_hash, &h, err);
    mix(&h);
    snprintf(location, capacity, "%s.%016llx.data", base, (unsigned long long)h.state);
    save->location = location;
    return status;
}

/* NULL = out of memory. */
static char *data_path(const tfr__onnx_save *save, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0, capacity = n + strlen(save->location) + 1;
    char *out = malloc(capacity);
    if (out)
        snprintf(out, capacity, "%.*s%s", (int)n, path, save->location);
    return out;
}

static tfr_status write_data(tfr__sink *sink, const void *what)
{
    return put_all(what, sink->write, sink->user, sink->err);
}

tfr_status tfr__onnx_save_data(tfr__onnx_save *save, const char *path, bool *is_new, tfr_err *err)
{
    char *file;
    tfr_status status;

    *is_new = false;
    if (!save->location)
        return TFR_OK;
    file = data_path(save, path);
    if (!file)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a file name");
    *is_new = access(file, F_OK) != 0;
    status = tfr__file_save(file, write_data, save, err);
    free(file);
    return status;
}

void tfr__onnx_remove_data(const tfr__onnx_save *save, const char *path)
{
    char *file = data_path(save, path);
    if (file)
        (void)unlink(file);
    free(file);
}

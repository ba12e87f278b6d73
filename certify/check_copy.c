/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_copy.c: copies of the memory facet within space 0: odd places and sizes, several in one
 * call, a longer stride than this header's, and an order in which each needs the one before.
 */
#include <string.h>

#include "queues.h"

enum { BYTES = 1024, N_COPIES = 3, N_WAYS = 4 };

/* Where copy i of a way reads and writes, from the beginning of a buffer, and how much. */
static const struct {
    uint64_t from, to, bytes;
} ways[N_WAYS][N_COPIES] = {
    {{0, 0, BYTES}, {0, 0, BYTES}, {0, 0, BYTES}},
    {{1, 3, 7}, {3, 2, 7}, {2, 5, 7}},
    {{5, 64, 129}, {64, 1, 129}, {1, 33, 129}},
    {{BYTES - 1, BYTES - 1, 1}, {BYTES - 1, 0, 1}, {0, BYTES - 1, 1}},
};

typedef struct row {
    tfr_copy copy;
    unsigned char later[24]; /* fields of a later header */
} row;

/* What the bytes of the last buffer have to be, in its image. */
static void copy_images(direct_buffer *b, int way)
{
    for (int i = 0; i < N_COPIES; i++)
        memcpy(b[i + 1].image + b[i + 1].guard + ways[way][i].to,
               b[i].image + b[i].guard + ways[way][i].from, (size_t)ways[way][i].bytes);
}

static tfr_status copy_all(direct_device *d, direct_buffer *b, int way, tfr_err *err)
{
    row rows[N_COPIES];
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < N_COPIES; i++) {
        const bool handles = d->space.flags & TFR_SPACE_HANDLES;
        const tfr_arg from = direct_arg(d, &b[i]), to = direct_arg(d, &b[i + 1]);
        tfr_copy *c = &rows[i].copy;
        c->size = sizeof rows[i];
        c->src = (const char *)from.address + (handles ? 0 : ways[way][i].from);
        c->dst = (char *)to.address + (handles ? 0 : ways[way][i].to);
        c->src_offset = handles ? from.offset + ways[way][i].from : 0;
        c->dst_offset = handles ? to.offset + ways[way][i].to : 0;
        c->bytes = ways[way][i].bytes;
    }
    tfr_status status = (tfr_status)d->tables->memory.copy(d->device, d->queue, &rows[0].copy,
                                                           N_COPIES, (uint32_t)sizeof rows[0], err);
    const tfr_status end = direct_finish(d, err);
    return status ? status : end;
}

/* False with the reason in text. */
static bool try_way(direct_device *d, direct_buffer *b, int way, char *text, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    unsigned char bytes[BYTES];
    int64_t at;
    tfr_status status = TFR_OK;
    for (int i = 0; i <= N_COPIES && !status; i++) {
        for (int k = 0; k < BYTES; k++)
            bytes[k] = (unsigned char)(k * 7 + i * 61 + way);
        status = direct_write(d, &b[i], bytes, &err);
    }
    if (!status)
        status = copy_all(d, b, way, &err);
    copy_images(b, way);
    for (int i = 0; i <= N_COPIES && !status; i++) {
        status = direct_read(d, &b[i], &err);
        if (status || !direct_is_changed(&b[i], false, &at))
            continue;
        snprintf(text, n,
                 "of %d copies in one call, %llu bytes each: byte %lld of piece %d is wrong",
                 N_COPIES, (unsigned long long)ways[way][0].bytes, (long long)at, i);
        return false;
    }
    if (status)
        snprintf(text, n, "%s: %.300s", tfr_status_name(status), err.text);
    return !status;
}

void certify_check_copies(certify_subject *s, certify_verdict *v)
{
    direct_device d;
    direct_buffer b[N_COPIES + 1] = {{0}};
    tfr_err err = TFR_ERR_INIT;
    char text[600];
    bool good = true;
    if (!queues_load(s) || !certify_plugin_tables()->memory.copy) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin has no copies");
        return;
    }
    if (direct_open(s, 0, NULL, 0, &d, &err)) {
        certify_set(v, CERTIFY_FAILED, "%s", err.text);
        return;
    }
    tfr_status status = TFR_OK;
    for (int i = 0; i <= N_COPIES && !status; i++)
        status = direct_alloc(&d, 0, BYTES, DIRECT_POISON, &b[i], &err);
    certify_tell_place(s->options, "copies", 0, "within space 0");
    for (int way = 0; way < N_WAYS && good && !status; way++)
        good = try_way(&d, b, way, text, sizeof text);
    if (status)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s", err.text);
    else if (good)
        certify_set(v, CERTIFY_PASSED, "%d calls of %d copies", N_WAYS, N_COPIES);
    else
        certify_set(v, CERTIFY_FAILED, "%s", text);
    for (int i = 0; i <= N_COPIES; i++)
        if (b[i].base)
            direct_free(&d, &b[i]);
    direct_close(&d);
}

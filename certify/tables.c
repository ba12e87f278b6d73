/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: see tables.h. What the core gets is the plugin's own tables but for three slots. */
#include "tables.h"

#include "blobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>

enum { POISON = 0xdd };

/* One plugin is certified in a process. */
static struct {
    const tfr_plugin *given;
    certify_tables tables;
    tfr_plugin plugin; /* what the core gets */
    tfr_memory_facet memory;
    tfr_kernel_facet kernel;
    pthread_mutex_t lock; /* of what follows */
    const char *op;
    certify_copy recorded;
    bool fails;
    uint32_t n_allocs, first, more;
} the = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- copies of calls ------------------------------------------------------------------------- */

struct certify_chunk {
    certify_chunk *next;
    size_t bytes;
    _Alignas(64) unsigned char data[];
};

static void *add_chunk(certify_chunk **list, const void *from, size_t bytes, bool *good)
{
    certify_chunk *c = NULL;
    size_t whole = (sizeof *c + bytes + 64) & ~(size_t)63;
    if (!from || !*good)
        return NULL;
    c = aligned_alloc(64, whole);
    *good = c != NULL;
    if (!c)
        return NULL;
    c->next = *list;
    c->bytes = bytes;
    memcpy(c->data, from, bytes);
    *list = c;
    return c->data;
}

static void free_chunks(certify_chunk *list)
{
    while (list) {
        certify_chunk *next = list->next;
        free(list);
        list = next;
    }
}

static void fill_operand(certify_copy *c, tfr_operand *o, bool *good)
{
    const size_t rank = (size_t)o->rank;
    if (o->dtype == TFR_DTYPE_NONE)
        return;
    o->dims = add_chunk(&c->chunks, o->dims, rank * sizeof *o->dims, good);
    o->strides = add_chunk(&c->chunks, o->strides, rank * sizeof *o->strides, good);
    if (o->data && *good) {
        const uint64_t bits = (uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype);
        o->data = add_chunk(&c->data, o->data, (size_t)(bits + 7) / 8, good);
    }
}

/* Rows lie stride bytes apart, and begin with their size. */
static void *fill_rows(certify_copy *c, const void *rows, uint32_t n, uint32_t stride, size_t own,
                       uint32_t *own_stride, bool *good)
{
    unsigned char *out = calloc((size_t)n + 1, own), *copy;
    for (uint32_t i = 0; out && i < n; i++)
        memcpy(out + i * own, (const char *)rows + (size_t)i * stride, stride < own ? stride : own);
    copy = out ? add_chunk(&c->chunks, out, n * own, good) : NULL;
    *good = *good && copy;
    *own_stride = (uint32_t)own;
    free(out);
    return copy;
}

static void fill_attr(certify_copy *c, tfr_attr *a, bool *good)
{
    const size_t n = (size_t)a->n;
    tfr_string *strings;
    tfr_operand *tensor;
    a->name = add_chunk(&c->chunks, a->name, strlen(a->name) + 1, good);
    a->ints = add_chunk(&c->chunks, a->ints, n * sizeof *a->ints, good);
    a->floats = add_chunk(&c->chunks, a->floats, n * sizeof *a->floats, good);
    a->strings = strings = add_chunk(&c->chunks, a->strings, n * sizeof *a->strings, good);
    for (size_t i = 0; strings && i < n; i++)
        strings[i].data = add_chunk(&c->chunks, strings[i].data, strings[i].bytes + 1, good);
    a->tensor = tensor = add_chunk(&c->chunks, a->tensor, sizeof *a->tensor, good);
    if (tensor)
        fill_operand(c, tensor, good);
}

bool certify_copy_call(const tfr_call *call, certify_copy *out)
{
    bool good = true;
    tfr_call own = {0};
    memset(out, 0, sizeof *out);
    memcpy(&own, call, call->size < sizeof own ? call->size : sizeof own);
    tfr_call *c = out->call = add_chunk(&out->chunks, &own, sizeof own, &good);
    if (c) {
        c->domain = add_chunk(&out->chunks, c->domain, strlen(c->domain) + 1, &good);
        c->name = add_chunk(&out->chunks, c->name, strlen(c->name) + 1, &good);
        c->attrs = fill_rows(out, c->attrs, c->n_attrs, c->attr_stride, sizeof(tfr_attr),
                             &c->attr_stride, &good);
        c->inputs = fill_rows(out, c->inputs, c->n_inputs, c->input_stride, sizeof(tfr_operand),
                              &c->input_stride, &good);
        c->outputs = fill_rows(out, c->outputs, c->n_outputs, c->output_stride, sizeof(tfr_operand),
                               &c->output_stride, &good);
        for (uint32_t i = 0; good && i < c->n_attrs; i++)
            fill_attr(out, (tfr_attr *)&c->attrs[i], &good);
        for (uint32_t i = 0; good && i < c->n_inputs; i++)
            fill_operand(out, (tfr_operand *)&c->inputs[i], &good);
        for (uint32_t i = 0; good && i < c->n_outputs; i++)
            fill_operand(out, (tfr_operand *)&c->outputs[i], &good);
    }
    if (!good)
        certify_copy_free(out);
    return good;
}

void certify_copy_poison(certify_copy *copy)
{
    for (certify_chunk *c = copy->chunks; c; c = c->next)
        memset(c->data, POISON, c->bytes);
}

void certify_copy_poison_input(certify_copy *copy, uint32_t i)
{
    const void *data = copy->call->inputs[i].data;
    for (certify_chunk *c = copy->data; c; c = c->next)
        if (c->data == data)
            memset(c->data, POISON, c->bytes);
}

void certify_copy_free(certify_copy *copy)
{
    free_chunks(copy->chunks);
    free_chunks(copy->data);
    memset(copy, 0, sizeof *copy);
}

/* ---- the two slots --------------------------------------------------------------------------- */

static int32_t watched_prepare(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *err)
{
    pthread_mutex_lock(&the.lock);
    if (the.op && strcmp(call->name, the.op) == 0) {
        certify_copy_free(&the.recorded);
        (void)certify_copy_call(call, &the.recorded);
    }
    pthread_mutex_unlock(&the.lock);
    return the.tables.kernel.prepare(device, call, options, out, info, err);
}

static int32_t watched_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                             const tfr_alloc_options *options, void **out, tfr_err *err)
{
    pthread_mutex_lock(&the.lock);
    const uint32_t n = the.n_allocs++;
    const bool fails = the.fails && n >= the.first && n - the.first <= the.more;
    pthread_mutex_unlock(&the.lock);
    if (fails)
        return tfr_fail(err, TFR_ENOMEM, "no room for %llu bytes, as certify has it",
                        (unsigned long long)bytes);
    return the.tables.memory.alloc(device, space, bytes, options, out, err);
}

void certify_record(const char *op)
{
    pthread_mutex_lock(&the.lock);
    certify_copy_free(&the.recorded);
    the.op = op;
    pthread_mutex_unlock(&the.lock);
}

bool certify_recorded(certify_copy *out)
{
    pthread_mutex_lock(&the.lock);
    *out = the.recorded;
    memset(&the.recorded, 0, sizeof the.recorded);
    pthread_mutex_unlock(&the.lock);
    return out->call != NULL;
}

void certify_fail_alloc(uint32_t n, uint32_t more)
{
    pthread_mutex_lock(&the.lock);
    the.fails = true;
    the.n_allocs = 0;
    the.first = n;
    the.more = more;
    pthread_mutex_unlock(&the.lock);
}

uint32_t certify_stop_failing(void)
{
    pthread_mutex_lock(&the.lock);
    the.fails = false;
    const uint32_t n = the.n_allocs;
    pthread_mutex_unlock(&the.lock);
    return n;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void take(void *out, size_t own, const void *given)
{
    uint32_t size;
    memset(out, 0, own);
    if (!given)
        return;
    memcpy(&size, given, sizeof size);
    memcpy(out, given, size < own ? size : own);
}

static const void *watched_facet(const char *id)
{
    const void *facet = the.given->facet(id);
    const uint32_t size = facet ? *(const uint32_t *)facet : 0;
    /* What is not as it has to be is for the core to tell of. */
    if (strcmp(id, TFR_KERNEL_V1) == 0 && size >= TFR_KERNEL_MIN_SIZE) {
        take(&the.tables.kernel, sizeof the.tables.kernel, facet);
        take(&the.kernel, sizeof the.kernel, facet);
        the.kernel.prepare = the.kernel.prepare ? watched_prepare : NULL;
        return &the.kernel;
    }
    if (strcmp(id, TFR_MEMORY_V1) == 0 && size >= TFR_MEMORY_MIN_SIZE) {
        take(&the.tables.memory, sizeof the.tables.memory, facet);
        take(&the.memory, sizeof the.memory, facet);
        the.memory.alloc = the.memory.alloc ? watched_alloc : NULL;
        return &the.memory;
    }
    if (strcmp(id, TFR_PROGRAM_V1) == 0 && size >= TFR_PROGRAM_MIN_SIZE)
        return blobs_watch(facet);
    if (strcmp(id, TFR_QUEUE_V1) == 0 && size >= TFR_QUEUE_MIN_SIZE)
        take(&the.tables.queue, sizeof the.tables.queue, facet);
    return facet;
}

const struct tfr_plugin *certify_wrap(void *user, const char *path, const tfr_plugin *table)
{
    struct stat a, b;
    if (the.given || stat(user, &a) || stat(path, &b) || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino || table->size < TFR_PLUGIN_MIN_SIZE || !table->facet)
        return table;
    the.given = table;
    take(&the.tables.plugin, sizeof the.tables.plugin, table);
    take(&the.plugin, sizeof the.plugin, table);
    the.plugin.facet = watched_facet;
    return &the.plugin;
}

const certify_tables *certify_plugin_tables(void)
{
    return the.tables.kernel.launch && the.tables.memory.alloc ? &the.tables : NULL;
}

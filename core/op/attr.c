/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c: owned attribute lists. An attribute owns one block with everything its value points to
 * and its name behind that; one that is borrowed owns nothing.
 */
#include "op/attr.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/bits.h"

/* No node has nearly as many; a limit that keeps sizes from overflowing. */
#define MOST_ATTRS (UINT32_C(1) << 20)

void tfr__attr_free(tfr__attr_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        tfr__free(list->items[i].block);
    tfr__free(list->items);
    memset(list, 0, sizeof(*list));
}

const tfr__attr *tfr__attr_find(const tfr__attr_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].pub.name, name) == 0)
            return &list->items[i];
    return NULL;
}

bool tfr__attr_remove(tfr__attr_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].pub.name, name) != 0)
            continue;
        tfr__free(list->items[i].block);
        memmove(&list->items[i], &list->items[i + 1], (list->n - i - 1) * sizeof(list->items[0]));
        list->n--;
        return true;
    }
    return false;
}

/* The item's block: room for n elements of a value, and behind it the name. */
static void *new_block(tfr__attr *item, const char *name, uint64_t n, size_t size)
{
    const size_t name_bytes = strlen(name) + 1;
    char *block;
    if (n > SIZE_MAX / 4 / size)
        return NULL;
    item->block = block = tfr__alloc((size_t)n * size + name_bytes);
    if (block)
        item->pub.name = memcpy(block + (size_t)n * size, name, name_bytes);
    return block;
}

/* Puts *item, whose block then belongs to the list, in the place of one of its name. */
static tfr_status put(tfr__attr_list *list, tfr__attr *item, tfr_err *err)
{
    item->pub.size = (uint32_t)sizeof(tfr_attr);
    for (uint32_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].pub.name, item->pub.name) == 0) {
            tfr__free(list->items[i].block);
            list->items[i] = *item;
            return TFR_OK;
        }
    }
    if (list->n >= MOST_ATTRS ||
        !tfr__reserve(&list->items, list->n + 1, &list->capacity, sizeof *list->items)) {
        tfr__free(item->block);
        return tfr__no_memory(err);
    }
    list->items[list->n++] = *item;
    return TFR_OK;
}

static tfr_status no_memory_for_values(const char *name, uint64_t n, tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "no memory for %llu elements of attribute %s",
                    (unsigned long long)n, name);
}

/* Numbers of this size, which pub.ints or pub.floats points to. */
static tfr_status put_numbers(tfr__attr_list *list, const char *name, int32_t type,
                              const void *values, uint64_t n, size_t size, tfr_err *err)
{
    tfr__attr item = {.pub = {.type = type, .n = n}};
    void *block = new_block(&item, name, n, size);
    if (!block)
        return no_memory_for_values(name, n, err);
    if (n)
        memcpy(block, values, (size_t)n * size);
    if (size == sizeof *item.pub.ints)
        item.pub.ints = block;
    else
        item.pub.floats = block;
    return put(list, &item, err);
}

static tfr_status put_ints(tfr__attr_list *list, const char *name, int32_t type,
                           const int64_t *values, uint64_t n, tfr_err *err)
{
    return put_numbers(list, name, type, values, n, sizeof *values, err);
}

static tfr_status put_floats(tfr__attr_list *list, const char *name, int32_t type,
                             const float *values, uint64_t n, tfr_err *err)
{
    return put_numbers(list, name, type, values, n, sizeof *values, err);
}

/* Bytes that n strings take with a zero byte behind each; 0 if that overflows. */
static size_t string_bytes(const tfr_string *values, uint64_t n)
{
    if (n > SIZE_MAX / 4 / sizeof(tfr_string))
        return 0;
    size_t total = (size_t)n * sizeof(tfr_string);
    for (uint64_t i = 0; i < n; i++) {
        if (values[i].bytes >= SIZE_MAX / 2 - total)
            return 0;
        total += (size_t)values[i].bytes + 1;
    }
    return total ? total : 1;
}

/* Writes n strings and behind them their bytes to block, which has string_bytes of room. */
static void fill_strings(tfr_string *block, const tfr_string *values, uint64_t n)
{
    char *bytes = (char *)(block + n);
    for (uint64_t i = 0; i < n; i++) {
        size_t length = (size_t)values[i].bytes;
        if (length)
            memcpy(bytes, values[i].data, length);
        bytes[length] = '\0';
        block[i] = (tfr_string){bytes, length};
        bytes += length + 1;
    }
}

static tfr_status put_strings(tfr__attr_list *list, const char *name, int32_t type,
                              const tfr_string *values, uint64_t n, tfr_err *err)
{
    size_t bytes = string_bytes(values, n);
    tfr__attr item = {.pub = {.type = type, .n = n}};
    tfr_string *block = bytes ? new_block(&item, name, bytes, 1) : NULL;
    if (!block)
        return no_memory_for_values(name, n, err);
    fill_strings(block, values, n);
    item.pub.strings = block;
    return put(list, &item, err);
}

tfr_status tfr__attr_set_int(tfr__attr_list *list, const char *name, int64_t value, tfr_err *err)
{
    return put_ints(list, name, TFR_ATTR_INT, &value, 1, err);
}

tfr_status tfr__attr_set_ints(tfr__attr_list *list, const char *name, const int64_t *values,
                              uint64_t n, tfr_err *err)
{
    return put_ints(list, name, TFR_ATTR_INTS, values, n, err);
}

tfr_status tfr__attr_set_float(tfr__attr_list *list, const char *name, float value, tfr_err *err)
{
    return put_floats(list, name, TFR_ATTR_FLOAT, &value, 1, err);
}

tfr_status tfr__attr_set_floats(tfr__attr_list *list, const char *name, const float *values,
                                uint64_t n, tfr_err *err)
{
    return put_floats(list, name, TFR_ATTR_FLOATS, values, n, err);
}

tfr_status tfr__attr_set_string(tfr__attr_list *list, const char *name, const char *data,
                                uint64_t bytes, tfr_err *err)
{
    tfr_string value = {data, bytes};
    return put_strings(list, name, TFR_ATTR_STRING, &value, 1, err);
}

tfr_status tfr__attr_set_strings(tfr__attr_list *list, const char *name, const tfr_string *values,
                                 uint64_t n, tfr_err *err)
{
    return put_strings(list, name, TFR_ATTR_STRINGS, values, n, err);
}

/* Elements of a tensor; false if it is not one that may exist. */
static bool count_elements(const tfr_operand *t, uint32_t bits, uint64_t *n)
{
    uint64_t product = 1;
    if (!bits || t->rank < 0 || t->rank > TFR_MAX_RANK)
        return false;
    *n = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return false;
        uint64_t dim = t->dims[i] ? (uint64_t)t->dims[i] : 1;
        if (product > (uint64_t)INT64_MAX / bits / dim)
            return false;
        product *= dim;
        if (!t->dims[i])
            *n = 0;
    }
    if (*n)
        *n = product;
    return true;
}

/* The block of a tensor: the operand with its dims, padded to a multiple of 16, then the data. */
typedef struct tensor_head {
    tfr_operand operand;
    int64_t dims[TFR_MAX_RANK];
} tensor_head;

tfr_status tfr__attr_set_tensor(tfr__attr_list *list, const char *name, const tfr_operand *tensor,
                                tfr_err *err)
{
    uint32_t bits = tfr__dtype_bits(tensor->dtype);
    uint64_t n;
    if (!count_elements(tensor, bits, &n) || (n && !tensor->data))
        return tfr_fail(err, TFR_EMODEL, "attribute %s is not a tensor with data", name);
    bool strings = tensor->dtype == TFR_DTYPE_STRING;
    size_t head = (sizeof(tensor_head) + 15) & ~(size_t)15;
    uint64_t bytes = (n * bits + 7) / 8;
    if (strings)
        bytes = string_bytes(tensor->data, n);
    tfr__attr item = {.pub = {.type = TFR_ATTR_TENSOR, .n = 1}};
    char *block = bytes <= SIZE_MAX / 8 && !(strings && !bytes)
                      ? new_block(&item, name, head + bytes, 1)
                      : NULL;
    if (!block)
        return no_memory_for_values(name, n, err);
    tensor_head *h = (tensor_head *)(void *)block;
    void *data = block + head;
    if (strings)
        fill_strings(data, tensor->data, n);
    else if (bytes)
        memcpy(data, tensor->data, (size_t)bytes);
    for (int32_t i = 0; i < tensor->rank; i++)
        h->dims[i] = tensor->dims[i];
    h->operand = (tfr_operand){.size = (uint32_t)sizeof(tfr_operand),
                               .dtype = tensor->dtype,
                               .rank = tensor->rank,
                               .dims = h->dims,
                               .data = data};
    item.pub.tensor = &h->operand;
    return put(list, &item, err);
}

tfr_status tfr__attr_set_graph(tfr__attr_list *list, const char *name, void *graph, tfr_err *err)
{
    tfr__attr item = {.pub = {.type = TFR_ATTR_GRAPH, .n = 1}, .graph = graph};
    return new_block(&item, name, 0, 1) ? put(list, &item, err) : tfr__no_memory(err);
}

/* A tagged list without its list would be read later, far from who gave it. */
static bool has_value(const tfr_attr *attr, const void *graph)
{
    switch (attr->type) {
    case TFR_ATTR_INT:
    case TFR_ATTR_INTS:
        return !attr->n || attr->ints;
    case TFR_ATTR_FLOAT:
    case TFR_ATTR_FLOATS:
        return !attr->n || attr->floats;
    case TFR_ATTR_STRING:
    case TFR_ATTR_STRINGS:
        return !attr->n || attr->strings;
    case TFR_ATTR_TENSOR:
        return attr->tensor;
    case TFR_ATTR_GRAPH:
        return graph;
    default:
        return true;
    }
}

tfr_status tfr__attr_set(tfr__attr_list *list, const tfr_attr *attr, void *graph, tfr_err *err)
{
    if (!attr->name)
        return tfr_fail(err, TFR_EINVAL, "an attribute has no name");
    if (!has_value(attr, graph))
        return tfr_fail(err, TFR_EINVAL, "attribute %s of type %d has no value", attr->name,
                        (int)attr->type);
    switch (attr->type) {
    case TFR_ATTR_INT:
    case TFR_ATTR_INTS:
        return put_ints(list, attr->name, attr->type, attr->ints, attr->n, err);
    case TFR_ATTR_FLOAT:
    case TFR_ATTR_FLOATS:
        return put_floats(list, attr->name, attr->type, attr->floats, attr->n, err);
    case TFR_ATTR_STRING:
    case TFR_ATTR_STRINGS:
        return put_strings(list, attr->name, attr->type, attr->strings, attr->n, err);
    case TFR_ATTR_TENSOR:
        return tfr__attr_set_tensor(list, attr->name, attr->tensor, err);
    case TFR_ATTR_GRAPH:
        return tfr__attr_set_graph(list, attr->name, graph, err);
    default:
        return tfr_fail(err, TFR_EMODEL, "attribute %s has the unknown type %d", attr->name,
                        (int)attr->type);
    }
}

tfr_status tfr__attr_copy(const tfr__attr_list *list, tfr__attr_list *out, tfr_err *err)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < list->n; i++) {
        tfr_status s = tfr__attr_set(out, &list->items[i].pub, list->items[i].graph, err);
        if (s) {
            tfr__attr_free(out);
            return s;
        }
    }
    return TFR_OK;
}

tfr_status tfr__attr_borrow(const tfr__attr_list *list, tfr__attr_list *out, tfr_err *err)
{
    memset(out, 0, sizeof(*out));
    if (!list->n)
        return TFR_OK;
    out->items = tfr__alloc(list->n * sizeof *out->items);
    if (!out->items)
        return tfr__no_memory(err);
    for (out->capacity = list->n; out->n < list->n; out->n++) {
        out->items[out->n] = list->items[out->n];
        out->items[out->n].block = NULL;
    }
    return TFR_OK;
}

bool tfr__attr_same(const tfr_attr *a, const tfr_attr *b)
{
    const bool ints = a->type == TFR_ATTR_INT || a->type == TFR_ATTR_INTS;
    if (a->type != b->type || a->n != b->n || (a->name != b->name && strcmp(a->name, b->name) != 0))
        return false;
    switch (a->type) {
    case TFR_ATTR_INT:
    case TFR_ATTR_INTS:
    case TFR_ATTR_FLOAT:
    case TFR_ATTR_FLOATS:
        return !a->n || memcmp(ints ? (const void *)a->ints : a->floats,
                               ints ? (const void *)b->ints : b->floats,
                               (size_t)a->n * (ints ? sizeof *a->ints : sizeof *a->floats)) == 0;
    case TFR_ATTR_STRING:
    case TFR_ATTR_STRINGS:
        for (uint64_t i = 0; i < a->n; i++)
            if (a->strings[i].bytes != b->strings[i].bytes ||
                (a->strings[i].bytes &&
                 memcmp(a->strings[i].data, b->strings[i].data, (size_t)a->strings[i].bytes) != 0))
                return false;
        return true;
    default:
        return false;
    }
}

bool tfr__attrs_same(const tfr__attr_list *a, const tfr__attr_list *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = tfr__attr_same(&a->items[i].pub, &b->items[i].pub);
    return same;
}

static const tfr__attr *find_typed(const tfr__attr_list *list, const char *name, int32_t type)
{
    const tfr__attr *a = tfr__attr_find(list, name);
    return a && a->pub.type == type ? a : NULL;
}

int64_t tfr__attr_int(const tfr__attr_list *list, const char *name, int64_t absent)
{
    const tfr__attr *a = find_typed(list, name, TFR_ATTR_INT);
    return a && a->pub.n ? a->pub.ints[0] : absent;
}

float tfr__attr_float(const tfr__attr_list *list, const char *name, float absent)
{
    const tfr__attr *a = find_typed(list, name, TFR_ATTR_FLOAT);
    return a && a->pub.n ? a->pub.floats[0] : absent;
}

const char *tfr__attr_string(const tfr__attr_list *list, const char *name, const char *absent)
{
    const tfr__attr *a = find_typed(list, name, TFR_ATTR_STRING);
    return a && a->pub.n ? a->pub.strings[0].data : absent;
}

const int64_t *tfr__attr_ints(const tfr__attr_list *list, const char *name, uint64_t *n)
{
    const tfr__attr *a = find_typed(list, name, TFR_ATTR_INTS);
    *n = a ? a->pub.n : 0;
    return a ? a->pub.ints : NULL;
}

void *tfr__attr_graph(const tfr__attr_list *list, const char *name)
{
    const tfr__attr *a = find_typed(list, name, TFR_ATTR_GRAPH);
    return a ? a->graph : NULL;
}

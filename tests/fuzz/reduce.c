/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c: rounds of six kinds of cuts until none succeeds: outputs, nodes whose values become
 * inputs, nodes that are passed by, any field of any message, sizes of dims, and elements.
 */
#include "reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct work {
    const fuzz_reduction *reduction;
    fuzz_msg *model;  /* the smallest one so far */
    fuzz_msg *values; /* of all its names, or NULL */
    fuzz_bytes bytes; /* of model */
    time_t end;
    int n_tries;
} work;

static bool is_over(const work *w)
{
    return time(NULL) >= w->end;
}

/* Takes candidate over; keeps it if the same is wrong with it. */
static bool accept(work *w, fuzz_msg *candidate)
{
    fuzz_bytes bytes = {0};
    fuzz_msg_write(candidate, &bytes);
    bool good =
        !is_over(w) && (bytes.n != w->bytes.n || memcmp(bytes.data, w->bytes.data, bytes.n));
    if (good) {
        w->n_tries++;
        good = w->reduction->persists(w->reduction->user, &bytes);
    }
    fuzz_msg_destroy(good ? w->model : candidate);
    free(good ? w->bytes.data : bytes.data);
    if (good) {
        w->model = candidate;
        w->bytes = bytes;
    }
    return good;
}

static fuzz_msg *graph_of(fuzz_msg *model)
{
    return fuzz_child(model, FUZZ_MODEL_GRAPH);
}

static bool reads(const fuzz_msg *msg, const char *name)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_INPUT && f->data &&
            strcmp((const char *)f->data, name) == 0)
            return true;
        if (msg->type == FUZZ_GRAPH && f->number == FUZZ_GRAPH_OUTPUT && f->msg &&
            strcmp(fuzz_text(f->msg, FUZZ_VALUE_NAME), name) == 0)
            return true;
        if (f->msg && reads(f->msg, name))
            return true;
    }
    return false;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Keeps outputs [from, from + n) alone. */
static void keep_outputs(fuzz_msg *graph, size_t from, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < graph->n;) {
        if (graph->fields[i].number == FUZZ_GRAPH_OUTPUT && (k++ < from || k > from + n))
            fuzz_remove(graph, i);
        else
            i++;
    }
}

static bool cut_outputs(work *w)
{
    bool any = false, good = true;
    while (good && !is_over(w)) {
        size_t n = fuzz_count(graph_of(w->model), FUZZ_GRAPH_OUTPUT), half = (n + 1) / 2;
        good = false;
        for (size_t from = 0; n > 1 && from < n && !good; from += half) {
            fuzz_msg *candidate = fuzz_msg_copy(w->model);
            keep_outputs(graph_of(candidate), from, half);
            good = accept(w, candidate);
        }
        any = any || good;
    }
    return any;
}

/* Initializers, inputs and their values that nobody reads, all at once. */
static bool cut_unread(work *w)
{
    fuzz_msg *candidate = fuzz_msg_copy(w->model), *graph = graph_of(candidate);
    for (size_t i = 0; i < graph->n;) {
        const fuzz_field *f = &graph->fields[i];
        bool value = f->number == FUZZ_GRAPH_INPUT || f->number == FUZZ_GRAPH_INITIALIZER;
        const char *name = !value || !f->msg               ? ""
                           : f->number == FUZZ_GRAPH_INPUT ? fuzz_text(f->msg, FUZZ_VALUE_NAME)
                                                           : fuzz_text(f->msg, FUZZ_TENSOR_NAME);
        if (*name && !reads(graph, name))
            fuzz_remove(graph, i);
        else
            i++;
    }
    for (size_t i = 0; i < candidate->n;) {
        const fuzz_field *f = &candidate->fields[i];
        if (f->number == FUZZ_MODEL_RUN_INPUT && f->msg &&
            !reads(graph, fuzz_text(f->msg, FUZZ_TENSOR_NAME)))
            fuzz_remove(candidate, i);
        else
            i++;
    }
    return accept(w, candidate);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const fuzz_msg *value_of(const work *w, const char *name)
{
    for (size_t i = 0; w->values && i < w->values->n; i++)
        if (w->values->fields[i].msg &&
            strcmp(fuzz_text(w->values->fields[i].msg, FUZZ_TENSOR_NAME), name) == 0)
            return w->values->fields[i].msg;
    return NULL;
}

/* The name becomes an input of the model with the value that it had. */
static void make_input(fuzz_msg *model, const char *name, const fuzz_msg *tensor)
{
    fuzz_msg *value = fuzz_add_msg(graph_of(model), FUZZ_GRAPH_INPUT, FUZZ_VALUE);
    fuzz_add_text(value, FUZZ_VALUE_NAME, name);
    fuzz_msg *type =
        fuzz_add_msg(fuzz_add_msg(value, FUZZ_VALUE_TYPE, FUZZ_TYPE), 1, FUZZ_TENSOR_TYPE);
    fuzz_field *dtype = fuzz_find(tensor, FUZZ_TENSOR_DTYPE, 0);
    fuzz_add_int(type, 1, dtype ? (int64_t)dtype->value : 1);
    fuzz_msg *shape = fuzz_add_msg(type, 2, FUZZ_SHAPE);
    for (size_t i = 0; i < tensor->n; i++)
        if (tensor->fields[i].number == FUZZ_TENSOR_DIM)
            fuzz_add_int(fuzz_add_msg(shape, 1, FUZZ_DIM), 1, (int64_t)tensor->fields[i].value);
    fuzz_add_child(model, FUZZ_MODEL_RUN_INPUT, fuzz_msg_copy(tensor));
}

/* Without nodes [from, from + n); false if a value of them is needed and not known. */
static bool without_nodes(const work *w, fuzz_msg *model, size_t from, size_t n)
{
    fuzz_msg *graph = graph_of(model), *gone = fuzz_msg_create(FUZZ_GRAPH);
    size_t node = 0;
    bool good = true;
    for (size_t i = 0; i < graph->n;) {
        if (graph->fields[i].number != FUZZ_GRAPH_NODE || node++ < from || node > from + n) {
            i++;
            continue;
        }
        if (graph->fields[i].msg)
            fuzz_add_child(gone, FUZZ_GRAPH_NODE, fuzz_msg_copy(graph->fields[i].msg));
        fuzz_remove(graph, i);
    }
    for (size_t k = 0; k < gone->n && good; k++) {
        const fuzz_msg *m = gone->fields[k].msg;
        for (size_t i = 0; i < m->n && good; i++) {
            const char *name = (const char *)m->fields[i].data;
            if (m->fields[i].number != FUZZ_NODE_OUTPUT || !name || !*name || !reads(graph, name))
                continue;
            const fuzz_msg *tensor = value_of(w, name);
            good = tensor != NULL;
            if (good)
                make_input(model, name, tensor);
        }
    }
    fuzz_msg_destroy(gone);
    return good;
}

static bool cut_nodes(work *w)
{
    bool any = false;
    fuzz_msg *graph = graph_of(w->model);
    size_t n = graph ? fuzz_count(graph, FUZZ_GRAPH_NODE) : 0;
    for (size_t chunk = n > 1 ? n / 2 : 1; chunk > 0; chunk /= 2)
        for (size_t from = 0; from < n && !is_over(w);) {
            fuzz_msg *candidate = fuzz_msg_copy(w->model);
            bool good = without_nodes(w, candidate, from, chunk);
            if (!good)
                fuzz_msg_destroy(candidate);
            else
                good = accept(w, candidate);
            any = any || good;
            if (!good)
                from += chunk;
            else
                n -= n - from < chunk ? n - from : chunk;
        }
    return any;
}

static void rename_reads(fuzz_msg *msg, const char *name, const char *other)
{
    for (size_t i = 0; i < msg->n; i++) {
        fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_INPUT && f->data &&
            strcmp((const char *)f->data, name) == 0)
            fuzz_set_text(f, other);
        if (f->msg)
            rename_reads(f->msg, name, other);
    }
}

/* The readers of a node's first output read its input k instead. */
static bool pass_by(work *w)
{
    bool any = false;
    for (size_t node = 0; !is_over(w); node++) {
        const fuzz_field *f = fuzz_find(graph_of(w->model), FUZZ_GRAPH_NODE, node);
        if (!f)
            break;
        const fuzz_field *out = f->msg ? fuzz_find(f->msg, FUZZ_NODE_OUTPUT, 0) : NULL;
        for (size_t k = 0; out && out->data && k < 3; k++) {
            const fuzz_field *in = fuzz_find(f->msg, FUZZ_NODE_INPUT, k);
            if (!in || !in->data || !in->n)
                continue;
            fuzz_msg *candidate = fuzz_msg_copy(w->model);
            rename_reads(graph_of(candidate), (const char *)out->data, (const char *)in->data);
            if (accept(w, candidate)) {
                any = true;
                break;
            }
        }
    }
    return any;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Removes the nth field in order, outer ones first; false if there are fewer. */
static bool remove_nth(fuzz_msg *msg, size_t *nth)
{
    for (size_t i = 0; i < msg->n; i++) {
        if ((*nth)-- == 0) {
            fuzz_remove(msg, i);
            return true;
        }
        if (msg->fields[i].msg && remove_nth(msg->fields[i].msg, nth))
            return true;
    }
    return false;
}

static bool cut_fields(work *w)
{
    bool any = false;
    for (size_t at = 0; !is_over(w);) {
        fuzz_msg *candidate = fuzz_msg_copy(w->model);
        size_t nth = at;
        if (!remove_nth(candidate, &nth)) {
            fuzz_msg_destroy(candidate);
            break;
        }
        if (accept(w, candidate))
            any = true;
        else
            at++;
    }
    return any;
}

/* An input of a node becomes absent. */
static bool blank_inputs(work *w)
{
    bool any = false;
    for (size_t node = 0; !is_over(w); node++) {
        const fuzz_field *f = fuzz_find(graph_of(w->model), FUZZ_GRAPH_NODE, node);
        if (!f)
            break;
        for (size_t k = 0; f->msg && k < fuzz_count(f->msg, FUZZ_NODE_INPUT); k++) {
            fuzz_msg *candidate = fuzz_msg_copy(w->model);
            fuzz_msg *m = fuzz_find(graph_of(candidate), FUZZ_GRAPH_NODE, node)->msg;
            fuzz_set_text(fuzz_find(m, FUZZ_NODE_INPUT, k), "");
            any = accept(w, candidate) || any;
            f = fuzz_find(graph_of(w->model), FUZZ_GRAPH_NODE, node);
        }
    }
    return any;
}

/* ---- sizes and elements ---------------------------------------------------------------------- */

static size_t element_bytes(uint64_t dtype)
{
    static const unsigned char sizes[] = {0, 4, 1, 1, 2,  2, 4, 8, 0, 1, 2,
                                          8, 4, 8, 8, 16, 2, 1, 1, 1, 1};
    return dtype < sizeof sizes ? sizes[dtype] : 0;
}

/* Every dim `from` of tensors and declared types becomes `to`; elements at the end go. */
static void resize(fuzz_msg *msg, uint64_t from, uint64_t to)
{
    uint64_t n = 1;
    bool changed = false;
    for (size_t i = 0; i < msg->n; i++) {
        fuzz_field *f = &msg->fields[i];
        bool dim = (msg->type == FUZZ_TENSOR && f->number == FUZZ_TENSOR_DIM) ||
                   (msg->type == FUZZ_DIM && f->number == 1);
        if (dim && f->value == from) {
            f->value = to;
            changed = true;
        }
        if (dim && f->value < 1 << 20)
            n *= f->value;
        if (f->msg)
            resize(f->msg, from, to);
    }
    fuzz_field *raw = fuzz_find(msg, FUZZ_TENSOR_RAW, 0);
    fuzz_field *dtype = fuzz_find(msg, FUZZ_TENSOR_DTYPE, 0);
    if (msg->type == FUZZ_TENSOR && changed && raw && dtype && element_bytes(dtype->value) &&
        n * element_bytes(dtype->value) < raw->n)
        raw->n = (size_t)n * element_bytes(dtype->value);
}

static bool cut_sizes(work *w)
{
    bool any = false;
    for (uint64_t dim = 64; dim > 1 && !is_over(w); dim--) {
        const uint64_t smaller[] = {1, dim / 2, dim - 1};
        for (size_t k = 0; k < 3; k++) {
            fuzz_msg *candidate = fuzz_msg_copy(w->model);
            resize(candidate, dim, smaller[k]);
            if (accept(w, candidate)) {
                any = true;
                break;
            }
        }
    }
    return any;
}

/* The elements of the nth tensor become 0. */
static bool zero_nth(fuzz_msg *msg, size_t *nth)
{
    for (size_t i = 0; i < msg->n; i++) {
        fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_TENSOR && f->number == FUZZ_TENSOR_RAW && f->data && (*nth)-- == 0) {
            memset(f->data, 0, f->n);
            return true;
        }
        if (f->msg && zero_nth(f->msg, nth))
            return true;
    }
    return false;
}

static void zero_elements(work *w)
{
    for (size_t at = 0; !is_over(w); at++) {
        fuzz_msg *candidate = fuzz_msg_copy(w->model);
        size_t nth = at;
        if (!zero_nth(candidate, &nth)) {
            fuzz_msg_destroy(candidate);
            return;
        }
        accept(w, candidate);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

int fuzz_reduce(const fuzz_reduction *reduction, fuzz_bytes *bytes)
{
    work w = {.reduction = reduction, .bytes = *bytes};
    bool any = true;
    w.end = time(NULL) + (time_t)reduction->seconds;
    w.model = fuzz_msg_read(bytes->data, bytes->n, FUZZ_MODEL);
    if (!w.model)
        return 0;
    for (int round = 0; round < 6 && any && graph_of(w.model) && !is_over(&w); round++) {
        w.values = reduction->values(reduction->user, &w.bytes);
        any = cut_outputs(&w);
        any = cut_nodes(&w) || any;
        any = cut_unread(&w) || any;
        fuzz_msg_destroy(w.values);
        w.values = NULL;
        any = graph_of(w.model) && pass_by(&w) ? true : any;
        any = cut_fields(&w) || any;
        if (!graph_of(w.model))
            break;
        any = blank_inputs(&w) || any;
        any = cut_sizes(&w) || any;
    }
    zero_elements(&w);
    fuzz_msg_destroy(w.model);
    *bytes = w.bytes;
    return w.n_tries;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate.c: each change takes one field of one message, drawn evenly over all of the model, so that
 * subgraphs, types and tensors are reached as well as nodes.
 */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

static uint64_t below(ops_random *random, uint64_t n)
{
    return ops_random_below(random, n);
}

/* ---- choosing -------------------------------------------------------------------------------- */

typedef struct place {
    fuzz_msg *msg;
    size_t i;
} place;

typedef bool (*field_test)(const fuzz_field *f, fuzz_type of);

/* Draws one of the fields for which the test holds; *n counts them. */
static void draw(fuzz_msg *msg, field_test fits, ops_random *random, uint64_t *n, place *out)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_MODEL && f->number == FUZZ_MODEL_RUN_INPUT)
            continue;
        if (fits(f, msg->type) && below(random, ++*n) == 0)
            *out = (place){msg, i};
        if (f->msg)
            draw(f->msg, fits, random, n, out);
    }
}

static bool choose(fuzz_msg *model, field_test fits, ops_random *random, place *out)
{
    uint64_t n = 0;
    draw(model, fits, random, &n, out);
    return n > 0;
}

static bool is_any(const fuzz_field *f, fuzz_type of)
{
    (void)f;
    (void)of;
    return true;
}

static bool is_number(const fuzz_field *f, fuzz_type of)
{
    (void)of;
    return f->wire != 2;
}

static bool is_bytes(const fuzz_field *f, fuzz_type of)
{
    (void)of;
    return f->wire == 2 && !f->msg;
}

static bool is_message(const fuzz_field *f, fuzz_type of)
{
    (void)of;
    return f->msg != NULL;
}

/* A name of a value, where it is made or read. */
static bool is_name(const fuzz_field *f, fuzz_type of)
{
    return is_bytes(f, of) && ((of == FUZZ_NODE && f->number <= FUZZ_NODE_OUTPUT) ||
                               (of == FUZZ_VALUE && f->number == FUZZ_VALUE_NAME) ||
                               (of == FUZZ_TENSOR && f->number == FUZZ_TENSOR_NAME));
}

static bool is_word(const fuzz_field *f, fuzz_type of)
{
    return is_bytes(f, of) &&
           ((of == FUZZ_NODE && (f->number == FUZZ_NODE_OP || f->number == FUZZ_NODE_DOMAIN)) ||
            (of == FUZZ_ATTR && (f->number == FUZZ_ATTR_NAME || f->number == FUZZ_ATTR_STRING)));
}

static bool is_dim(const fuzz_field *f, fuzz_type of)
{
    return f->wire == 0 && ((of == FUZZ_TENSOR && f->number == FUZZ_TENSOR_DIM) ||
                            (of == FUZZ_DIM && f->number == 1));
}

static bool is_attr_number(const fuzz_field *f, fuzz_type of)
{
    return of == FUZZ_ATTR && f->wire != 2;
}

static bool is_dtype(const fuzz_field *f, fuzz_type of)
{
    return f->wire == 0 && ((of == FUZZ_TENSOR && f->number == FUZZ_TENSOR_DTYPE) ||
                            (of == FUZZ_TENSOR_TYPE && f->number == 1));
}

static bool is_raw(const fuzz_field *f, fuzz_type of)
{
    return is_bytes(f, of) && of == FUZZ_TENSOR && f->number == FUZZ_TENSOR_RAW && f->n > 0;
}

static bool is_part(const fuzz_field *f, fuzz_type of)
{
    return f->wire == 2 && (of == FUZZ_NODE || of == FUZZ_GRAPH || of == FUZZ_ATTR);
}

static bool is_graph(const fuzz_field *f, fuzz_type of)
{
    (void)of;
    return f->msg && f->msg->type == FUZZ_GRAPH;
}

/* ---- changing -------------------------------------------------------------------------------- */

static uint64_t bad_number(uint64_t old, ops_random *random)
{
    static const int64_t numbers[] = {0,
                                      -1,
                                      1,
                                      2,
                                      3,
                                      7,
                                      16,
                                      17,
                                      64,
                                      255,
                                      65536,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX - 1,
                                      (int64_t)1 << 31,
                                      (int64_t)1 << 32,
                                      (int64_t)1 << 40,
                                      (int64_t)1 << 62,
                                      -2,
                                      -3,
                                      1000000,
                                      100};
    switch (below(random, 6)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return old ^ (uint64_t)1 << below(random, 64);
    default:
        return (uint64_t)numbers[below(random, sizeof numbers / sizeof numbers[0])];
    }
}

static uint64_t bad_float(ops_random *random)
{
    static const uint32_t bits[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x00000001, 0x7f7fffff,
                                    0x80000000, 0x00000000, 0xbf800000, 0x4f000000, 0x5f000000};
    return bits[below(random, sizeof bits / sizeof bits[0])];
}

static void change_number(fuzz_field *f, ops_random *random)
{
    f->value = f->wire == 5 ? bad_float(random) : bad_number(f->value, random);
}

/* The bytes of the tensor end early or late, or some are changed. */
static void change_raw(fuzz_field *f, ops_random *random)
{
    unsigned char more[8] = {0};
    fuzz_bytes bytes = {0};
    switch (below(random, 3)) {
    case 0:
        f->n = (size_t)below(random, f->n);
        break;
    case 1:
        fuzz_bytes_add(&bytes, f->data, f->n);
        fuzz_bytes_add(&bytes, more, 1 + (size_t)below(random, 8));
        fuzz_bytes_add(&bytes, "", 1);
        free(f->data);
        f->data = bytes.data;
        f->n = bytes.n - 1;
        break;
    default:
        for (uint64_t i = 0, n = 1 + below(random, 8); i < n; i++)
            f->data[below(random, f->n)] =
                (unsigned char)(below(random, 2) ? 0xff : below(random, 256));
    }
}

/* One field takes what another one of its kind has. */
static void copy_other(fuzz_msg *model, field_test fits, ops_random *random)
{
    place to, from;
    if (!choose(model, fits, random, &to) || !choose(model, fits, random, &from))
        return;
    fuzz_field *f = &to.msg->fields[to.i];
    const fuzz_field *other = &from.msg->fields[from.i];
    if (f == other)
        return;
    if (other->data) {
        char *text = malloc(other->n + 1);
        if (!text)
            exit(99);
        memcpy(text, other->data, other->n + 1);
        fuzz_set_text(f, text);
        free(text);
    } else {
        f->value = other->value;
    }
}

static void remove_one(fuzz_msg *model, field_test fits, ops_random *random)
{
    place at;
    if (choose(model, fits, random, &at))
        fuzz_remove(at.msg, at.i);
}

static void repeat_one(fuzz_msg *model, field_test fits, ops_random *random)
{
    place at;
    uint64_t times = below(random, 20) == 0 ? 200 : 1 + below(random, 3);
    if (choose(model, fits, random, &at))
        for (uint64_t i = 0; i < times; i++)
            fuzz_duplicate(at.msg, at.i, (size_t)below(random, at.msg->n + 1));
}

static void swap_two(fuzz_msg *model, ops_random *random)
{
    place at;
    if (!choose(model, is_part, random, &at))
        return;
    size_t other = (size_t)below(random, at.msg->n);
    fuzz_field f = at.msg->fields[at.i];
    at.msg->fields[at.i] = at.msg->fields[other];
    at.msg->fields[other] = f;
}

/* A graph becomes an attribute of a node of its own, some levels deep. */
static void nest(fuzz_msg *model, ops_random *random)
{
    place at;
    if (!choose(model, is_graph, random, &at))
        return;
    for (uint64_t i = 0, n = below(random, 10) == 0 ? 6 : 1; i < n; i++) {
        fuzz_msg *graph = at.msg->fields[at.i].msg, *copy = fuzz_msg_copy(graph);
        fuzz_msg *node = fuzz_child(graph, FUZZ_GRAPH_NODE);
        fuzz_bytes size = {0};
        fuzz_msg_write(copy, &size);
        free(size.data);
        if (!node || size.n > 1 << 16) {
            fuzz_msg_destroy(copy);
            return;
        }
        fuzz_msg *attr = fuzz_add_msg(node, FUZZ_NODE_ATTR, FUZZ_ATTR);
        fuzz_add_text(attr, FUZZ_ATTR_NAME, below(random, 2) ? "then_branch" : "body");
        fuzz_add_int(attr, FUZZ_ATTR_TYPE, 5);
        fuzz_add_child(attr, FUZZ_ATTR_GRAPH, copy);
    }
}

static void change_place(place at, ops_random *random)
{
    fuzz_field *f = &at.msg->fields[at.i];
    switch (below(random, 3)) {
    case 0: /* another field number */
        f->number = 1 + (uint32_t)below(random, 30);
        break;
    case 1: /* another wire type; a message has none */
        if (!f->msg && f->wire != 2)
            f->wire = f->wire == 0 ? 5 : 0;
        break;
    default: /* no message any more */
        if (f->msg && below(random, 3) == 0) {
            fuzz_msg_destroy(f->msg);
            f->msg = NULL;
            fuzz_set_text(f, below(random, 2) ? "" : "surprise");
        }
    }
}

static void change_word(fuzz_field *f, ops_random *random)
{
    static const char *const words[] = {"",     "Add",  "MatMul", "Loop",    "ai.onnx", "axis",
                                        "Cast", "Conv", "to",     "Reshape", "x",       "Identity"};
    fuzz_set_text(f, words[below(random, sizeof words / sizeof words[0])]);
}

static void mutate_one(fuzz_msg *model, ops_random *random)
{
    place at;
    switch (below(random, 16)) {
    case 0:
        remove_one(model, below(random, 2) ? is_part : is_any, random);
        break;
    case 1:
        repeat_one(model, below(random, 2) ? is_part : is_any, random);
        break;
    case 2:
        swap_two(model, random);
        break;
    case 3:
    case 4:
        if (choose(model, is_attr_number, random, &at))
            change_number(&at.msg->fields[at.i], random);
        break;
    case 5:
    case 6:
        if (choose(model, is_dim, random, &at))
            change_number(&at.msg->fields[at.i], random);
        break;
    case 7:
        if (choose(model, is_number, random, &at))
            change_number(&at.msg->fields[at.i], random);
        break;
    case 8:
        if (choose(model, is_dtype, random, &at))
            at.msg->fields[at.i].value = below(random, 30);
        break;
    case 9:
    case 10:
    case 11:
        copy_other(model, is_name, random);
        break;
    case 12:
        if (below(random, 2))
            copy_other(model, is_word, random);
        else if (choose(model, is_word, random, &at))
            change_word(&at.msg->fields[at.i], random);
        break;
    case 13:
        if (choose(model, is_raw, random, &at))
            change_raw(&at.msg->fields[at.i], random);
        break;
    case 14:
        if (choose(model, below(random, 2) ? is_any : is_message, random, &at))
            change_place(at, random);
        break;
    default:
        nest(model, random);
    }
}

void fuzz_mutate(fuzz_msg *model, int n, ops_random *random)
{
    while (n-- > 0)
        mutate_one(model, random);
}

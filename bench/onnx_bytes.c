/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_bytes.c: see onnx_bytes.h. The field numbers are those of onnx.proto. */
#include "onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(bench_bytes *b, const void *data, size_t n)
{
    if (b->capacity - b->n < n) {
        size_t capacity = (b->n + n) * 2;
        unsigned char *more = realloc(b->data, capacity);
        if (!more) {
            b->lost = true;
            return;
        }
        b->data = more;
        b->capacity = capacity;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_varint(bench_bytes *b, uint64_t value)
{
    unsigned char text[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        text[n++] = (unsigned char)(value | 128);
    text[n++] = (unsigned char)value;
    put(b, text, n);
}

static void put_int(bench_bytes *b, uint32_t field, int64_t value)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)value);
}

static void put_bytes(bench_bytes *b, uint32_t field, const void *data, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    put(b, data, n);
}

static void put_text(bench_bytes *b, uint32_t field, const char *text)
{
    put_bytes(b, field, text, strlen(text));
}

/* Adds a message as a field and frees it. */
static void put_message(bench_bytes *b, uint32_t field, bench_bytes *message)
{
    b->lost = b->lost || message->lost;
    put_bytes(b, field, message->data ? (const void *)message->data : "", message->n);
    free(message->data);
    *message = (bench_bytes){0};
}

/* ValueInfoProto of a float32 tensor. */
static void put_value(bench_bytes *graph, uint32_t field, const char *name, const int64_t *dims,
                      int rank)
{
    bench_bytes value = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    for (int i = 0; i < rank; i++) {
        put_int(&dim, 1, dims[i]);
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, TFR_DTYPE_F32);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

static void put_node(bench_bytes *graph, const char *op, const char *a, const char *b,
                     const char *out)
{
    bench_bytes node = {0};
    put_text(&node, 1, a);
    put_text(&node, 1, b);
    put_text(&node, 2, out);
    put_text(&node, 4, op);
    put_message(graph, 1, &node);
}

/* ModelProto around the graph. */
static void finish(bench_bytes *graph, bench_bytes *out)
{
    bench_bytes opset = {0};
    put_text(graph, 2, "bench");
    *out = (bench_bytes){0};
    put_int(out, 1, 8); /* ir_version */
    put_int(&opset, 2, 17);
    put_message(out, 8, &opset);
    put_message(out, 7, graph);
}

void bench_onnx_product(const bench_product *product, bench_bytes *out)
{
    bench_bytes graph = {0}, tensor = {0};
    int64_t a[] = {product->m, product->k}, b[] = {product->k, product->n},
            c[] = {product->m, product->n};
    put_node(&graph, "MatMul", "a", "b", "c");
    if (product->constant) {
        put_int(&tensor, 1, b[0]);
        put_int(&tensor, 1, b[1]);
        put_int(&tensor, 2, TFR_DTYPE_F32);
        put_text(&tensor, 8, "b");
        put_bytes(&tensor, 9, product->b, (size_t)(b[0] * b[1]) * sizeof *product->b);
        put_message(&graph, 5, &tensor);
    }
    put_value(&graph, 11, "a", a, 2);
    if (!product->constant)
        put_value(&graph, 11, "b", b, 2);
    put_value(&graph, 12, "c", c, 2);
    finish(&graph, out);
}

void bench_onnx_chain(int64_t n, bench_bytes *out)
{
    bench_bytes graph = {0};
    int64_t one = 1;
    for (int64_t i = 1; i <= n; i++) {
        char from[32], to[32];
        snprintf(from, sizeof from, i == 1 ? "x" : "v%lld", (long long)i - 1);
        snprintf(to, sizeof to, i == n ? "y" : "v%lld", (long long)i);
        put_node(&graph, "Add", from, "x", to);
    }
    put_value(&graph, 11, "x", &one, 1);
    put_value(&graph, 12, "y", &one, 1);
    finish(&graph, out);
}

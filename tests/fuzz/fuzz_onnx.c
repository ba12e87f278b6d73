/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_onnx.c: libFuzzer's target for a model. Any bytes give a graph, which can be written and is
 * read again then, or an error with a sentence. HACKING.md says how to run it; test_hostile replays
 * seeds.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct bytes {
    char *data;
    size_t n, capacity;
} bytes;

/* A few bytes may read as many: sparse tensors, functions. */
enum { MOST_BYTES = 1 << 22 };

static tfr_status append(void *user, const void *data, size_t n, tfr_err *err)
{
    bytes *b = user;
    if (n > b->capacity - b->n) {
        size_t capacity = 2 * (b->n + n);
        char *more = capacity < MOST_BYTES ? realloc(b->data, capacity) : NULL;
        if (!more)
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes", capacity);
        b->data = more;
        b->capacity = capacity;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return TFR_OK;
}

static void check(tfr_status status, const tfr_err *err)
{
    if (status && (!*err->text || status == TFR_EINTERNAL))
        __builtin_trap();
}

static void write_and_read(const tfr_graph *graph)
{
    tfr_err err = TFR_ERR_INIT;
    bytes b = {NULL, 0, 0};
    tfr_graph *again = NULL;
    tfr_status status = tfr_onnx_write(graph, append, &b, &err);
    check(status, &err);
    /* Helper nodes of old forms may lack an operand, which only a file's reader refuses. */
    if (!status)
        check(tfr_onnx_parse(b.data, b.n, &again, &err), &err);
    tfr_graph_release(again);
    free(b.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_graph *graph = NULL;
    tfr_status status = tfr_onnx_parse(data, n, &graph, &err);
    check(status, &err);
    if (!status)
        write_and_read(graph);
    tfr_graph_release(graph);
    return 0;
}

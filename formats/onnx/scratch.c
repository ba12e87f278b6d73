/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c: chunks of memory, see scratch.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/scratch.h"

enum { CHUNK_BYTES = 1 << 14, ALIGN = 16 };

struct tfr__scratch_chunk {
    tfr__scratch_chunk *older;
    size_t used, bytes;
    max_align_t data[];
};

void *tfr__scratch_take(tfr__scratch *scratch, size_t n, size_t size)
{
    tfr__scratch_chunk *chunk = scratch->chunks;
    size_t bytes, capacity;
    char *p;

    if (size && n > (SIZE_MAX / 2 - ALIGN) / size)
        return NULL;
    bytes = (n * size + ALIGN - 1) / ALIGN * ALIGN;
    if (!bytes)
        bytes = ALIGN;
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        /* Chunks grow with what is in use, so that their number stays small. */
        capacity = chunk && chunk->bytes < (1 << 20) ? 2 * chunk->bytes : CHUNK_BYTES;
        if (capacity < bytes)
            capacity = bytes;
        chunk = malloc(sizeof *chunk + capacity);
        if (!chunk)
            return NULL;
        chunk->older = scratch->chunks;
        chunk->used = 0;
        chunk->bytes = capacity;
        scratch->chunks = chunk;
    }
    p = (char *)chunk->data + chunk->used;
    chunk->used += bytes;
    memset(p, 0, bytes);
    return p;
}

char *tfr__scratch_text(tfr__scratch *scratch, tfr__text text)
{
    char *copy = tfr__scratch_take(scratch, text.bytes + 1, 1);
    if (copy && text.bytes)
        memcpy(copy, text.data, text.bytes);
    return copy;
}

tfr__scratch_mark tfr__scratch_now(const tfr__scratch *scratch)
{
    tfr__scratch_mark mark = {scratch->chunks, scratch->chunks ? scratch->chunks->used : 0};
    return mark;
}

void tfr__scratch_back_to(tfr__scratch *scratch, tfr__scratch_mark mark)
{
    /* The first chunk stays for the next round. */
    while (scratch->chunks && scratch->chunks != mark.chunk && scratch->chunks->older) {
        tfr__scratch_chunk *older = scratch->chunks->older;
        free(scratch->chunks);
        scratch->chunks = older;
    }
    if (scratch->chunks)
        scratch->chunks->used = scratch->chunks == mark.chunk ? mark.used : 0;
}

void tfr__scratch_finish(tfr__scratch *scratch)
{
    tfr__scratch_mark none = {NULL, 0};
    tfr__scratch_back_to(scratch, none);
    free(scratch->chunks);
    scratch->chunks = NULL;
}

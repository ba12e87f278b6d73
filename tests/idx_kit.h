/* SPDX-License-Identifier: Apache-2.0 */
/* idx_kit.h: small files as data sets have them, byte by byte. */
#ifndef TFR_IDX_KIT_H
#define TFR_IDX_KIT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "temp_path.h"

enum { KIT_BYTES = 1 << 15 };

/* A file that is being made. */
typedef struct bytes {
    uint8_t data[KIT_BYTES];
    size_t n;
} bytes;

static inline void put(bytes *b, const void *data, size_t n)
{
    if (n > KIT_BYTES - b->n) {
        fprintf(stderr, "KIT_BYTES is too small\n");
        return;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static inline void put_big(bytes *b, uint32_t v)
{
    const uint8_t four[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    put(b, four, 4);
}

/* n bytes of v, the lowest first. */
static inline void put_little(bytes *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) {
        const uint8_t byte = (uint8_t)(v >> 8 * i);
        put(b, &byte, 1);
    }
}

/* zlib's checksum. */
static inline uint32_t kit_crc32(const uint8_t *data, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* Deflate's one block that is not compressed, of less than 65536 bytes. */
static inline void put_stored(bytes *b, const uint8_t *data, size_t n)
{
    put_little(b, 1, 1);
    put_little(b, n, 2);
    put_little(b, ~n, 2);
    put(b, data, n);
}

static inline void put_gzip(bytes *b, const bytes *plain)
{
    put(b, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    put_stored(b, plain->data, plain->n);
    put_little(b, kit_crc32(plain->data, plain->n), 4);
    put_little(b, plain->n, 4);
}

/* The value of a pixel of the images that put_images makes. */
static inline uint8_t kit_pixel(uint32_t image, uint32_t pixel)
{
    return (uint8_t)(image * 37 + pixel * 11);
}

static inline void put_images(bytes *b, uint32_t n, uint32_t height, uint32_t width)
{
    put_big(b, 0x803);
    put_big(b, n);
    put_big(b, height);
    put_big(b, width);
    for (uint32_t i = 0; i < n * height * width; i++) {
        const uint8_t v = kit_pixel(i / (height * width), i % (height * width));
        put(b, &v, 1);
    }
}

/* 0, 1, ..., 9, 0, ... */
static inline void put_labels(bytes *b, uint32_t n)
{
    put_big(b, 0x801);
    put_big(b, n);
    for (uint32_t i = 0; i < n; i++)
        put_little(b, i % 10, 1);
}

static inline void write_bytes(const char *name, const bytes *b)
{
    temp_write(name, b->data, b->n);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixel_rows.h: pixels as rows of all their channels, and in blocks of as many channels as a vector
 * has. Numbers of channels are known to the compiler where a block has all of its channels.
 */
#ifndef NATIVE_PIXEL_ROWS_H
#define NATIVE_PIXEL_ROWS_H

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) void native_copy_channels(const float *from,
                                                                       int64_t from_step, float *to,
                                                                       int64_t to_step, int64_t n,
                                                                       int64_t channels)
{
    for (; n > 0; n--) {
        memcpy(to, from, (size_t)channels * sizeof *to);
        from += from_step;
        to += to_step;
    }
}

/* Of n pixels; steps are those from pixel to pixel. */
static inline void native_copy_pixels(const float *from, int64_t from_step, float *to,
                                      int64_t to_step, int64_t n, int64_t channels)
{
    switch (channels) {
    case 16:
        native_copy_channels(from, from_step, to, to_step, n, 16);
        break;
    case 8:
        native_copy_channels(from, from_step, to, to_step, n, 8);
        break;
    default:
        native_copy_channels(from, from_step, to, to_step, n, channels);
    }
}

/* n pixels; block_step: elements from block to block. Lanes of no channel are 0. */
static inline void native_rows_to_blocks(const float *rows, int64_t channels, int64_t n, float *to,
                                         int64_t block_step, int64_t lanes)
{
    for (int64_t c = 0; c < channels; c += lanes, to += block_step) {
        const int64_t some = channels - c < lanes ? channels - c : lanes;
        if (some < lanes)
            memset(to, 0, (size_t)(n * lanes) * sizeof *to);
        native_copy_pixels(rows + c, channels, to, lanes, n, some);
    }
}

static inline void native_blocks_to_rows(const float *from, int64_t block_step, int64_t lanes,
                                         int64_t n, float *rows, int64_t channels)
{
    for (int64_t c = 0; c < channels; c += lanes, from += block_step)
        native_copy_pixels(from, lanes, rows + c, channels, n,
                           channels - c < lanes ? channels - c : lanes);
}

#endif

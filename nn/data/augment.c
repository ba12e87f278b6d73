/* SPDX-License-Identifier: Apache-2.0 */
/* augment.c: see augment.h. Changing a number changes what a resumed training goes on with. */
#include "augment.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "random.h"
#include "rotation.h"

static const float ROTATION = 0.17453293f; /* radians */
static const float SHIFT = 0.07f;          /* of the side */

/* Where pixels come from: (xx x + xy y + x0, yx x + yy y + y0). */
typedef struct movement {
    float xx, xy, x0, yx, yy, y0;
} movement;

/* The weighted sum of the four pixels around, in the order of rows; there are 0s outside. */
static inline float sample(const float *from, int32_t height, int32_t width, float x, float y)
{
    /* One more than needed on each side, so that the conversion cuts towards minus infinity. */
    const int32_t x0 = (int32_t)(x + 1) - 1, y0 = (int32_t)(y + 1) - 1;
    const float u = x - (float)x0, v = y - (float)y0;
    const float weights[4] = {(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u};
    const ptrdiff_t at = (ptrdiff_t)y0 * width + x0;
    float sum = 0;
    if (x0 >= 0 && y0 >= 0 && x0 + 1 < width && y0 + 1 < height)
        return weights[0] * from[at] + weights[1] * from[at + 1] + weights[2] * from[at + width] +
               weights[3] * from[at + width + 1];
    for (int32_t i = 0; i < 4; i++)
        if (y0 + i / 2 >= 0 && y0 + i / 2 < height && x0 + i % 2 >= 0 && x0 + i % 2 < width)
            sum += weights[i] * from[at + i / 2 * width + i % 2];
    return sum;
}

static void move(const movement *m, int32_t height, int32_t width, const float *from, float *to)
{
    for (int32_t row = 0; row < height; row++)
        for (int32_t column = 0; column < width; column++) {
            const float x = m->xx * (float)column + m->xy * (float)row + m->x0;
            const float y = m->yx * (float)column + m->yy * (float)row + m->y0;
            const bool inside = x > -1 && y > -1 && x < (float)width && y < (float)height;
            *to++ = inside ? sample(from, height, width, x, y) : 0;
        }
}

void tfr__augment(uint64_t seed, uint64_t epoch, uint64_t index, int64_t channels, int64_t height,
                  int64_t width, float *image, float *scratch)
{
    tfr__draw d = tfr__draw_begin(seed, TFR__DRAW_AUGMENT, (uint32_t)epoch, index);
    const float cx = (float)(width - 1) / 2, cy = (float)(height - 1) / 2;
    float sine, cosine, dx, dy;
    movement m;

    tfr__sine_cosine(tfr__draw_float(&d, -ROTATION, ROTATION), &sine, &cosine);
    dx = (float)width * tfr__draw_float(&d, -SHIFT, SHIFT);
    dy = (float)height * tfr__draw_float(&d, -SHIFT, SHIFT);
    m.xx = m.yy = cosine;
    m.xy = sine;
    m.yx = -sine;
    m.x0 = cx + dx - (cosine * cx + sine * cy);
    m.y0 = cy + dy - (cosine * cy - sine * cx);
    for (int64_t c = 0; c < channels; c++, image += height * width) {
        move(&m, (int32_t)height, (int32_t)width, image, scratch);
        memcpy(image, scratch, (size_t)(height * width) * sizeof *image);
    }
}

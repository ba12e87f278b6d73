/* SPDX-License-Identifier: Apache-2.0 */
/* augment.c: see augment.h. Changing a number changes what a resumed training goes on with. */
#include "augment.h"

#include <stdbool.h>
#include <string.h>

#include "random.h"
#include "rotation.h"

static const float ROTATION = 0.17453293f; /* radians */
static const float SHIFT = 0.07f;          /* of the side */

/* Where pixels come from: (xx x + xy y + x0, yx x + yy y + y0). */
typedef struct movement {
    float xx, xy, x0, yx, yy, y0;
} movement;

/* The weighted mean of the four pixels around, in the order of rows. */
static float sample(const float *from, int64_t height, int64_t width, float x, float y)
{
    /* One more than needed on each side, so that the conversion cuts towards minus infinity. */
    const int64_t x0 = (int64_t)(x + 1) - 1, y0 = (int64_t)(y + 1) - 1;
    const float u = x - (float)x0, v = y - (float)y0;
    float sum = 0;
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 2; j++)
            if (y0 + i >= 0 && y0 + i < height && x0 + j >= 0 && x0 + j < width)
                sum +=
                    (i ? v : 1 - v) * (j ? u : 1 - u) * from[(size_t)((y0 + i) * width + x0 + j)];
    return sum;
}

static void move(const movement *m, int64_t height, int64_t width, const float *from, float *to)
{
    for (int64_t row = 0; row < height; row++)
        for (int64_t column = 0; column < width; column++) {
            const float x = m->xx * (float)column + m->xy * (float)row + m->x0;
            const float y = m->yx * (float)column + m->yy * (float)row + m->y0;
            const bool inside = x > -1 && y > -1 && x < (float)width && y < (float)height;
            to[row * width + column] = inside ? sample(from, height, width, x, y) : 0;
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
        move(&m, height, width, image, scratch);
        memcpy(image, scratch, (size_t)(height * width) * sizeof *image);
    }
}

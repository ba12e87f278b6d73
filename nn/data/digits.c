/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits.c: see digits.h. A glyph of strokes is bent and drawn with a round pen: each point of it
 * moves a little; then the whole is sheared, scaled, rotated and shifted, and displaced by a smooth
 * random field (Simard et al., "Best practices for convolutional neural networks applied to visual
 * document analysis", ICDAR 2003); then come strokes that do not belong there, and noise.
 *
 * The numbers below make the task as hard as it should be: a linear classifier stays under 90 %,
 * a small convolutional network gets over 98 % in five epochs. Changing one changes all images and
 * their checksum.
 */
#include "digits.h"

#include <math.h>
#include <stdbool.h>
#include <tfrun/plugin.h>

#include "random.h"
#include "rotation.h"

static const float JITTER = 1.1f;                          /* of points, in 24ths */
static const float ROTATION = 0.31415927f;                 /* radians */
static const float SCALE_MIN = 0.75f, SCALE_MAX = 1.15f;   /* pixels for a 24th */
static const float SHEAR = 0.3f, ASPECT = 0.1f;            /* of the width */
static const float SHIFT = 3.0f;                           /* pixels */
static const float PEN_MIN = 0.65f, PEN_MAX = 1.3f;        /* its radius, in pixels */
static const float INK_MIN = 0.7f;                         /* 1 = black */
static const float BEND = 4.2f;                            /* of the field, in pixels */
static const float NOISE = 0.16f;                          /* at most, of black */
static const float CLUTTER_MIN = 2.0f, CLUTTER_MAX = 5.0f; /* lengths, in pixels */

enum {
    SIDE = TFR__DIGIT_SIDE,
    PIECES = 6, /* straight ones for a curve between two points */
    CELL = 7,   /* pixels of a cell of the field: cubic B-splines as wide as a Gaussian of 4 */
    FIELD = SIDE / CELL + 3
};

typedef struct point {
    float x, y;
} point;

/* A drawing in progress: where the glyph goes, and how near the pen came to each pixel. */
typedef struct sheet {
    float xx, xy, yx, yy, x, y; /* glyph to pixels: (xx gx + xy gy + x, yx gx + yy gy + y) */
    point field[FIELD][FIELD];
    float nearest[TFR__DIGIT_PIXELS]; /* squared */
    float ink[TFR__DIGIT_PIXELS];
} sheet;

/* ---- geometry -------------------------------------------------------------------------------- */

static float clamp(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

static void place(tfr__draw *d, sheet *s)
{
    const float scale = tfr__draw_float(d, SCALE_MIN, SCALE_MAX);
    const float width = scale * tfr__draw_float(d, 1 - ASPECT, 1 + ASPECT);
    const float shear = tfr__draw_float(d, -SHEAR, SHEAR);
    float sine, cosine;

    tfr__sine_cosine(tfr__draw_float(d, -ROTATION, ROTATION), &sine, &cosine);
    s->xx = cosine * width;
    s->yx = sine * width;
    s->xy = cosine * width * shear - sine * scale;
    s->yy = sine * width * shear + cosine * scale;
    /* The middle of the glyph, (12, 12), goes to the middle of the image. */
    s->x = SIDE / 2 + tfr__draw_float(d, -SHIFT, SHIFT) - 12 * (s->xx + s->xy);
    s->y = SIDE / 2 + tfr__draw_float(d, -SHIFT, SHIFT) - 12 * (s->yx + s->yy);
    for (int i = 0; i < FIELD * FIELD; i++) {
        s->field[i / FIELD][i % FIELD].x = tfr__draw_float(d, -BEND, BEND);
        s->field[i / FIELD][i % FIELD].y = tfr__draw_float(d, -BEND, BEND);
    }
}

/* The cell of a coordinate, and the cubic B-splines of the four knots around it. */
static int weigh(float at, float w[4])
{
    const float u = clamp(at / CELL, 0, (float)SIDE / CELL - 0.001f);
    const int cell = (int)u;
    const float t = u - (float)cell, r = 1 - t;
    w[0] = r * r * r / 6;
    w[1] = (4 - 6 * t * t + 3 * t * t * t) / 6;
    w[2] = (4 - 6 * r * r + 3 * r * r * r) / 6;
    w[3] = t * t * t / 6;
    return cell;
}

static point to_pixels(const sheet *s, point g)
{
    point p = {s->xx * g.x + s->xy * g.y + s->x, s->yx * g.x + s->yy * g.y + s->y};
    float wx[4], wy[4], dx = 0, dy = 0;
    const int cx = weigh(p.x, wx), cy = weigh(p.y, wy);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const point f = s->field[cy + i][cx + j];
            dx += wy[i] * wx[j] * f.x;
            dy += wy[i] * wx[j] * f.y;
        }
    p.x += dx;
    p.y += dy;
    return p;
}

/* Catmull and Rom's curve from b to c, whose tangents are (c - a) / 2 and (d - b) / 2. */
static float spline(float a, float b, float c, float d, float t)
{
    return b + t * ((c - a) / 2 +
                    t * (a - 2.5f * b + 2 * c - d / 2 + t * (1.5f * (b - c) + (d - a) / 2)));
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* A straight line from a to b: keeps the squares of the distances up to reach. */
static void line(sheet *s, point a, point b, float reach)
{
    const float dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy + 1e-6f;
    const int x0 = (int)clamp((a.x < b.x ? a.x : b.x) - reach, 0, SIDE);
    const int x1 = (int)clamp((a.x > b.x ? a.x : b.x) + reach + 1, 0, SIDE);
    const int y0 = (int)clamp((a.y < b.y ? a.y : b.y) - reach, 0, SIDE);
    const int y1 = (int)clamp((a.y > b.y ? a.y : b.y) + reach + 1, 0, SIDE);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            const float px = (float)x + 0.5f - a.x, py = (float)y + 0.5f - a.y;
            const float t = clamp((px * dx + py * dy) / square, 0, 1);
            const float qx = px - t * dx, qy = py - t * dy, d = qx * qx + qy * qy;
            float *nearest = &s->nearest[y * SIDE + x];
            *nearest = d < *nearest ? d : *nearest;
        }
}

static void clean(sheet *s)
{
    for (int i = 0; i < TFR__DIGIT_PIXELS; i++)
        s->nearest[i] = 1e6f;
}

/* What the pen came near gets ink, with an edge as wide as a pixel. */
static void fill(sheet *s, float radius, float ink)
{
    for (int i = 0; i < TFR__DIGIT_PIXELS; i++) {
        const float v = ink * clamp(radius + 0.5f - sqrtf(s->nearest[i]), 0, 1);
        s->ink[i] = v > s->ink[i] ? v : s->ink[i];
    }
}

static void draw_stroke(tfr__draw *d, sheet *s, const tfr__stroke *stroke, float reach)
{
    point knots[TFR__GLYPH_POINTS], from, to;
    const int n = stroke->n;
    const uint8_t *first = stroke->at[0], *last = stroke->at[n - 1];
    const bool closed = first[0] == last[0] && first[1] == last[1];

    for (int i = 0; i < n; i++) {
        knots[i].x = (float)stroke->at[i][0] + tfr__draw_float(d, -JITTER, JITTER);
        knots[i].y = (float)stroke->at[i][1] + tfr__draw_float(d, -JITTER, JITTER);
    }
    from = to_pixels(s, knots[0]);
    for (int i = 0; i + 1 < n; i++) {
        const point a = knots[i > 0 ? i - 1 : closed ? n - 2 : 0], b = knots[i], c = knots[i + 1];
        const point e = knots[i + 2 < n ? i + 2 : closed ? 1 : n - 1];
        for (int piece = 1; piece <= PIECES; piece++) {
            const float t = (float)piece / PIECES;
            to =
                to_pixels(s, (point){spline(a.x, b.x, c.x, e.x, t), spline(a.y, b.y, c.y, e.y, t)});
            line(s, from, to, reach);
            from = to;
        }
    }
}

/* None, one or two short strokes anywhere. */
static void draw_clutter(tfr__draw *d, sheet *s)
{
    for (uint32_t n = tfr__draw_below(d, 3); n > 0; n--) {
        const point a = {tfr__draw_float(d, 0, SIDE), tfr__draw_float(d, 0, SIDE)};
        const float length = tfr__draw_float(d, CLUTTER_MIN, CLUTTER_MAX);
        const point b = {a.x + length * tfr__draw_float(d, -1, 1),
                         a.y + length * tfr__draw_float(d, -1, 1)};
        const float radius = tfr__draw_float(d, PEN_MIN / 2, PEN_MIN);
        clean(s);
        line(s, a, b, radius + 1);
        fill(s, radius, tfr__draw_float(d, 0.3f, INK_MIN));
    }
}

/* ---- one image ------------------------------------------------------------------------------- */

static tfr__draw begin(uint64_t seed, uint32_t split, uint64_t index, int32_t *label)
{
    tfr__draw d = tfr__draw_begin(seed, TFR__DRAW_DIGITS, split, index);
    *label = (int32_t)tfr__draw_below(&d, 10);
    return d;
}

int32_t tfr__digit_label(uint64_t seed, uint32_t split, uint64_t index)
{
    int32_t label;
    (void)begin(seed, split, index, &label);
    return label;
}

void tfr__digit_draw(uint64_t seed, uint32_t split, uint64_t index, uint8_t out[TFR__DIGIT_PIXELS])
{
    sheet s;
    int32_t label;
    uint32_t n, bytes = 0;
    tfr__draw d = begin(seed, split, index, &label);
    const tfr__glyph *glyphs = tfr__glyphs_of(label, &n);
    const tfr__glyph *glyph = &glyphs[tfr__draw_below(&d, n)];
    float radius, noise;

    for (int i = 0; i < TFR__DIGIT_PIXELS; i++)
        s.ink[i] = 0;
    place(&d, &s);
    radius = tfr__draw_float(&d, PEN_MIN, PEN_MAX);
    clean(&s);
    for (int i = 0; i < TFR__GLYPH_STROKES && glyph->strokes[i].n; i++)
        draw_stroke(&d, &s, &glyph->strokes[i], radius + 1);
    fill(&s, radius, tfr__draw_float(&d, INK_MIN, 1));
    draw_clutter(&d, &s);
    noise = tfr__draw_float(&d, 0, NOISE);
    for (int i = 0; i < TFR__DIGIT_PIXELS; i++) {
        if (i % 4 == 0)
            bytes = tfr__draw_word(&d);
        const float even = ((float)(bytes & 255) - 127.5f) * (1 / 127.5f);
        out[i] = (uint8_t)(clamp(s.ink[i] + noise * even, 0, 1) * 255 + 0.5f);
        bytes >>= 8;
    }
}

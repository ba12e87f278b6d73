/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_depthwise.c: convolutions of 8-bit integers in which every channel stands by itself.
 *
 * A strip of output pixels has the addresses of its taps; for those in the padding a line of zero
 * points is read, so that the loop over 16 channels at a time knows no edges. Behind a pixel that
 * is away from the edges of its line, the next one's addresses are the same and a step. Of windows
 * of 3 x 3, which are nearly all, such pixels are computed together (native_int8_line). Zero points
 * of A are taken off at the end, by the sums of the weights; those of B were taken off when they
 * were packed. Sums of 256 taps stay below 256 * 255 * 255 < 2^24.
 *
 * Where the last channels are fewer than 16, those of the next pixel are read with them and
 * multiplied by weights that are 0; they are copied where that would be behind the end of A.
 */
#include <string.h>

#include "int8_layout.h"

enum {
    CHANNELS = NATIVE_INT8_DEPTHWISE,
    MOST_ADDRESSES = 1024,
    MOST_ROWS = 64, /* of a strip */
    LINE = 1024,    /* channels that are done together */
    LEAST_LINE = 20 /* pixels: in shorter ones the ends take more than lines save */
};

/* Packed: the sums of all channels, then pairs of taps with [n][2] int16 each. */
static int64_t padded(const native_int8_shape *s)
{
    return int8_ceil_div(s->n, CHANNELS) * CHANNELS;
}

static int64_t pairs_of(const native_int8_shape *s)
{
    return int8_ceil_div(s->k, 2);
}

static int16_t *weights_of(const native_int8_shape *s, const void *packed)
{
    return (int16_t *)(uintptr_t)((const char *)packed + int8_aligned(padded(s) * 4));
}

static bool is_3_by_3(const native_int8_shape *s)
{
    const native_int8_window *w = &s->window;

    return w->rank == 2 && w->kernel[0] == 3 && w->kernel[1] == 3;
}

/* Where a tap is among those in pairs. */
static int64_t place_of_tap(const native_int8_shape *s, int64_t k)
{
    return is_3_by_3(s) ? native_int8_tap_place((int)k) : k;
}

size_t native_int8_depthwise_bytes(const native_int8_shape *s)
{
    return (size_t)(int8_aligned(padded(s) * 4) + int8_aligned(pairs_of(s) * padded(s) * 4));
}

void native_int8_depthwise_pack(const native_int8_shape *s, const native_int8_matrix *b,
                                int32_t b_zero, const int32_t *b_zeros, void *packed)
{
    const int64_t n_padded = padded(s);
    int16_t *weights = weights_of(s, packed);
    int32_t *sums = packed;
    int64_t k, n;

    memset(packed, 0, native_int8_depthwise_bytes(s));
    for (k = 0; k < s->k; k++) {
        const uint8_t *from =
            (const uint8_t *)b->at + k / b->inner * b->outer_step + k % b->inner * b->inner_step;
        const int64_t place = place_of_tap(s, k);
        int16_t *to = weights + place / 2 * n_padded * 2 + place % 2;
        for (n = 0; n < s->n; n++) {
            const uint8_t byte = from[n * b->n_step];
            const int32_t zero = b_zeros ? b_zeros[n] : b_zero;
            const int32_t w = (s->b_signed ? (int8_t)byte : byte) - zero;
            to[(n / CHANNELS * CHANNELS + native_int8_place((int)(n % CHANNELS))) * 2] = (int16_t)w;
            sums[n] += w;
        }
    }
}

/* ---- addresses ---- */

/* Some pixels of a strip: a line of them, or any. */
typedef struct part {
    int row, rows; /* of the strip */
    bool is_line;
    native_int8_line line; /* but for the channels */
} part;

typedef struct strip {
    const native_int8_shape *shape;
    const native_int8_args *args;
    uint8_t zeros[LINE];
    const uint8_t *taps[MOST_ADDRESSES];
    int64_t first;             /* row of C */
    int64_t channel, channels; /* of N */
    int rows, pairs, n_parts;
    bool has_lines;
    bool has_all; /* 16 channels may be read wherever a tap is, the last ones' neighbours, too */
    part parts[MOST_ROWS];
} strip;

/* The taps of the output pixel at `at`, its image first. */
static void find_taps(const strip *s, const int64_t *at, const uint8_t **to)
{
    const native_int8_window *w = &s->shape->window;
    const uint8_t *image = (const uint8_t *)s->args->a + at[0] * w->image_step + s->channel;
    int64_t tap[NATIVE_INT8_AXES] = {0}, k;
    int d;

    for (k = 0; k < s->shape->k; k++) {
        int64_t pixel = 0;
        bool inside = true;
        for (d = 0; d < w->rank; d++) {
            const int64_t x = at[1 + d] * w->stride[d] - w->pad[d] + tap[d] * w->dilation[d];
            inside = inside && x >= 0 && x < w->in[d];
            pixel = pixel * w->in[d] + x;
        }
        to[place_of_tap(s->shape, k)] = inside ? image + pixel * w->pixel_step : s->zeros;
        for (d = w->rank - 1; d >= 0 && ++tap[d] == w->kernel[d]; d--)
            tap[d] = 0;
    }
    if (k % 2 != 0)
        to[k] = s->zeros;
}

static bool has_padding(const strip *s, const uint8_t *const *taps)
{
    for (int64_t k = 0; k < s->shape->k; k++)
        if (taps[k] == s->zeros)
            return true;
    return false;
}

/*
 * The same taps as those of the pixel in front of it are in the padding. Where none is, which is
 * nearly everywhere, nothing is asked.
 */
static void step_taps(const strip *s, bool padded, const uint8_t *const *from, const uint8_t **to)
{
    const native_int8_window *w = &s->shape->window;
    const int64_t step = w->stride[w->rank - 1] * w->pixel_step;
    const int taps = (int)s->shape->k;

    if (padded)
        for (int k = 0; k < taps; k++)
            to[k] = from[k] == s->zeros ? from[k] : from[k] + step;
    else if (taps == 9) /* of a known number the compiler makes vectors */
        for (int k = 0; k < 9; k++)
            to[k] = from[k] + step;
    else
        for (int k = 0; k < taps; k++)
            to[k] = from[k] + step;
    if (taps % 2)
        to[taps] = s->zeros;
}

/* Whether no tap of the last axis is in the padding. */
static bool is_between(const native_int8_window *w, int64_t at)
{
    const int last = w->rank - 1;
    const int64_t x = at * w->stride[last] - w->pad[last];

    return x >= 0 && x + (w->kernel[last] - 1) * w->dilation[last] < w->in[last];
}

/* All of the strip from their addresses. */
static void find_all(strip *s, int64_t *at)
{
    const native_int8_window *w = &s->shape->window;
    bool follows = false; /* the pixel in front is beside it, and between edges, too */
    bool padded = false;  /* it has taps in the padding of the other axes */
    int d, i;

    for (i = 0; i < s->rows; i++) {
        const uint8_t **taps = s->taps + (int64_t)i * 2 * s->pairs;
        const bool between = is_between(w, at[w->rank]);
        if (between && follows) {
            step_taps(s, padded, taps - 2 * s->pairs, taps);
        } else {
            find_taps(s, at, taps);
            padded = has_padding(s, taps);
        }
        for (d = w->rank - 1; d >= 0 && ++at[1 + d] == w->out[d]; d--)
            at[1 + d] = 0;
        at[0] += d < 0;
        follows = between && d == w->rank - 1;
    }
    s->parts[0].row = 0;
    s->parts[0].rows = s->rows;
    s->parts[0].is_line = false;
    s->n_parts = 1;
}

/* The pixels from the one at `at` on whose taps lie in the line, at most `most`. */
static void find_line(const strip *s, const int64_t *at, int most, part *p)
{
    const native_int8_window *w = &s->shape->window;
    const uint8_t *image = (const uint8_t *)s->args->a + at[0] * w->image_step + s->channel;
    const int64_t x = at[2] * w->stride[1] - w->pad[1];
    const int64_t n = int8_smaller((w->in[1] - 3 - x) / w->stride[1] + 1, w->out[1] - at[2]);

    p->is_line = true;
    p->rows = p->line.pixels = (int)int8_smaller(n, most);
    p->line.stride = (int)w->stride[1];
    p->line.is_signed = s->shape->a_signed;
    for (int i = 0; i < 3; i++) {
        const int64_t y = at[1] * w->stride[0] - w->pad[0] + i * w->dilation[0];
        const bool inside = y >= 0 && y < w->in[0];
        p->line.from[i] = inside ? image + (y * w->in[1] + x) * w->pixel_step : s->zeros;
        p->line.steps[i] = inside ? w->pixel_step : 0;
    }
}

/* Lines, and pixels at their ends. */
static void find_lines(strip *s, int64_t *at)
{
    const native_int8_window *w = &s->shape->window;

    s->n_parts = 0;
    for (int i = 0; i < s->rows;) {
        part *p = &s->parts[s->n_parts++];
        p->row = i;
        p->rows = 1;
        p->is_line = false;
        if (is_between(w, at[2]))
            find_line(s, at, s->rows - i, p);
        else
            find_taps(s, at, s->taps + (int64_t)i * 2 * s->pairs);
        i += p->rows;
        at[2] += p->rows;
        if (at[2] < w->out[1])
            continue;
        at[2] = 0;
        if (++at[1] == w->out[0]) {
            at[1] = 0;
            at[0]++;
        }
    }
}

/*
 * Whether 16 channels from the last multiple of 16 on lie in the memory of A for every tap of the
 * strip, of which no one is behind the end of the last line that the last row reads.
 */
static bool reads_all(const strip *s)
{
    const native_int8_shape *shape = s->shape;
    const native_int8_window *w = &shape->window;
    const int64_t row = s->first + s->rows - 1, pixels = w->out[0] * w->out[1];
    const int64_t begin = s->channel + (s->channels - 1) / CHANNELS * CHANNELS;
    int64_t line, last, end;

    if (shape->n % CHANNELS == 0)
        return true;
    if (w->rank != 2)
        return false;
    line =
        row % pixels / w->out[1] * w->stride[0] - w->pad[0] + (w->kernel[0] - 1) * w->dilation[0];
    if (row / pixels > s->first / pixels) /* the strip has the end of an image, too */
        line = w->in[0] - 1;
    line = int8_smaller(line < 0 ? 0 : line, w->in[0] - 1);
    last = row / pixels * w->image_step + ((line + 1) * w->in[1] - 1) * w->pixel_step;
    end = (shape->m / pixels - 1) * w->image_step + (w->in[0] * w->in[1] - 1) * w->pixel_step;
    return last + begin + CHANNELS <= end + shape->n;
}

static void find_strip(strip *s, bool can_have_lines)
{
    const native_int8_window *w = &s->shape->window;
    int64_t at[1 + NATIVE_INT8_AXES] = {0}, row = s->first;

    s->has_all = reads_all(s);
    s->has_lines = can_have_lines && s->has_all;
    for (int d = w->rank - 1; d >= 0; d--) {
        at[1 + d] = row % w->out[d];
        row /= w->out[d];
    }
    at[0] = row;
    if (s->has_lines)
        find_lines(s, at);
    else
        find_all(s, at);
}

/* Whether the way has them, where 16 channels may be read. */
static bool can_have_lines(const native_int8_shape *s, const native_int8_way *way)
{
    const native_int8_window *w = &s->window;

    return way->line && is_3_by_3(s) && w->out[1] >= LEAST_LINE && w->dilation[1] == 1 &&
           w->stride[1] <= 2;
}

/* ---- channels ---- */

static void take_columns(const strip *s, int64_t channel, native_int8_columns *c)
{
    const int32_t *sums = (const int32_t *)s->args->packed + channel;
    const uint32_t zero = (uint32_t)s->args->a_zero;
    uint32_t terms[CHANNELS]; /* that nothing else points to, so that loops become vectors */

    native_int8_finish_columns(&s->args->finish, channel, CHANNELS, s->shape->n, c);
    if (zero == 0)
        return;
    memcpy(terms, c->term, sizeof terms);
    for (int j = 0; j < CHANNELS; j++)
        terms[j] -= zero * (uint32_t)sums[j];
    memcpy(c->term, terms, sizeof terms);
}

/* The last channels, where 16 may not be read: copied to the front of lines of 16. */
static void copy_taps(const strip *s, int64_t channel, uint8_t *lines, const uint8_t **taps)
{
    const size_t n = (size_t)(s->channels - channel);
    int64_t i;

    for (i = 0; i < (int64_t)s->rows * 2 * s->pairs; i++) {
        memset(lines + i * CHANNELS, 0, CHANNELS);
        memcpy(lines + i * CHANNELS, s->taps[i] + channel, n);
        taps[i] = lines + i * CHANNELS;
    }
}

/* The sums of 16 channels. */
static void run_parts(strip *s, const native_int8_way *way, const native_int8_strip *all)
{
    native_int8_strip some = *all;

    for (int i = 0; i < s->n_parts; i++) {
        part *p = &s->parts[i];
        if (p->is_line) {
            p->line.channel = all->channel;
            p->line.weights = all->weights;
            p->line.weights_step = all->weights_step;
            p->line.sums = all->sums + (int64_t)p->row * CHANNELS;
            way->line(&p->line);
            continue;
        }
        some.rows = p->rows;
        some.taps = all->taps + (int64_t)p->row * 2 * s->pairs;
        some.sums = all->sums + (int64_t)p->row * CHANNELS;
        way->depthwise(&some);
    }
}

static void run_strip(strip *s, const native_int8_way *way)
{
    uint8_t lines[MOST_ADDRESSES * CHANNELS];
    const uint8_t *copied[MOST_ADDRESSES];
    int32_t sums[MOST_ROWS * CHANNELS];
    native_int8_columns columns;
    native_int8_strip all = {.pairs = s->pairs, .rows = s->rows, .sums = sums};

    memset(&columns, 0, sizeof columns);
    all.is_signed = s->shape->a_signed;
    all.weights_step = padded(s->shape) * 2;
    for (int64_t n = 0; n < s->channels; n += CHANNELS) {
        const int64_t column = s->channel + n;
        all.taps = s->taps;
        all.channel = n;
        if (n + CHANNELS > s->channels && !s->has_all) {
            copy_taps(s, n, lines, copied);
            all.taps = copied;
            all.channel = 0;
        }
        all.weights = weights_of(s->shape, s->args->packed) + column * 2;
        take_columns(s, column, &columns);
        run_parts(s, way, &all);
        int8_finish_sums(way, s->shape, s->args, &columns, sums, s->first, s->rows, column);
    }
}

void native_int8_depthwise_run(const native_int8_cpu *cpu, const native_int8_shape *shape,
                               const native_int8_args *args, int64_t begin, int64_t end)
{
    strip s = {.shape = shape, .args = args, .pairs = (int)pairs_of(shape)};
    const bool lines = can_have_lines(shape, cpu->depthwise);
    int64_t most = MOST_ADDRESSES / (2 * s.pairs);

    memset(s.zeros, args->a_zero, sizeof s.zeros);
    most = most > MOST_ROWS ? MOST_ROWS : most;
    for (s.channel = 0; s.channel < shape->n; s.channel += LINE) {
        s.channels = int8_smaller(LINE, shape->n - s.channel);
        for (s.first = begin; s.first < end; s.first += s.rows) {
            s.rows = (int)int8_smaller(most, end - s.first);
            find_strip(&s, lines);
            run_strip(&s, cpu->depthwise);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample.c: GridSample over two or three axes, what plugins/naive/grid_sample.c says of it.
 *
 * Where a place lies does not depend on the channel: for a block of places the elements that it
 * takes and what they weigh are found once, in double as naive does, and then each channel is a sum
 * of so many products. Elements outside are left out, so that a place may have fewer than others.
 * Threads share the blocks. Planes of float32 are interpolated by pairs of neighbours (bilinear.h)
 * where the elements of each row are such, which they nearly always are.
 */
#include "grid_sample.h"

#include <math.h>
#include <string.h>

#include "bilinear.h"

enum { BLOCK = 64 /* places */, MAX_TAPS = 64, MAX_AXES = 3 };

typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

typedef struct state {
    int32_t R, taps; /* axes, and elements along each: 1, 2 or 4 */
    padding padding;
    bool align, wide, wide_grid, paired;
    int64_t N, C, dims[MAX_AXES], plane, places;
    int width; /* of an element, for nearest */
    const void *known[2];
} state;

typedef struct work {
    const state *s;
    const char *x;
    const void *grid;
    char *y;
    int64_t blocks; /* of an image */
} work;

/* What a block of places takes: element t of place i at [t * BLOCK + i]. */
typedef struct taps {
    int32_t n[BLOCK];
    int64_t at[MAX_TAPS * BLOCK];
    double weight[MAX_TAPS * BLOCK];
    float narrow[MAX_TAPS * BLOCK]; /* the same */
} taps;
#define narrow_float  narrow
#define narrow_double weight

/* Of one axis. */
typedef struct axis_taps {
    int64_t at[4]; /* -1 = outside */
    double weight[4];
} axis_taps;

/* ---- places ---- */

/* v mirrored at low and high until it lies between them. */
static double mirror(double v, double low, double high)
{
    const double range = high - low;
    double beyond, turns, rest;

    if (range <= 0)
        return low;
    if (v >= low && v <= high)
        return v;
    beyond = v < low ? low - v : v - high;
    turns = floor(beyond / range);
    rest = beyond - turns * range;
    return (v < low) == (fmod(turns, 2) == 0) ? low + rest : high - rest;
}

static double pad(const state *s, double p, double D)
{
    if (s->padding == BORDER)
        return fmin(fmax(p, 0), D - 1);
    if (s->padding == REFLECTION)
        return mirror(p, s->align ? 0 : -0.5, D - (s->align ? 1 : 0.5));
    return p;
}

static double keys(double v)
{
    const double a = -0.75;

    v = fabs(v);
    if (v <= 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? ((a * v - 5 * a) * v + 8 * a) * v - 4 * a : 0;
}

/* Of what is within 2^52; any x86-64 has no instruction for it. */
static double round_down(double v)
{
    const double whole = (double)(int64_t)v;

    return whole - (whole > v);
}

static void find_axis(const state *s, double g, int64_t D, axis_taps *out)
{
    const double low = s->align ? 0 : -0.5, high = (double)D - (s->align ? 1 : 0.5);
    double p = s->align ? (g + 1) / 2 * (double)(D - 1) : ((g + 1) * (double)D - 1) / 2, first;
    int32_t t;

    if (!(fabs(p) <= 0x1p52))
        p = -100;
    if (s->taps == 1)
        p = nearbyint(p);
    if (p < low || p > high)
        p = pad(s, p, (double)D);
    first = s->taps == 1 ? trunc(p) : round_down(p) - (s->taps == 4);
    for (t = 0; t < s->taps; t++) {
        double i = first + t;
        out->weight[t] = s->taps == 1 ? 1 : s->taps == 2 ? 1 - fabs(p - i) : keys(p - i);
        if (i < 0 || i >= (double)D)
            i = s->padding == REFLECTION ? trunc(pad(s, i, (double)D)) : pad(s, i, (double)D);
        out->at[t] = i >= 0 && i < (double)D ? (int64_t)i : -1;
    }
}

static double read_grid(const work *w, int64_t i)
{
    return w->s->wide_grid ? ((const double *)w->grid)[i] : (double)((const float *)w->grid)[i];
}

/* All combinations of the axes' elements that are inside, the last axis fastest. */
static void find_place(const work *w, int64_t place, int i, taps *out)
{
    const state *s = w->s;
    axis_taps axes[MAX_AXES];
    const int32_t outer = s->R == 3 ? s->taps : 1;
    int32_t a, b, c, d, n = 0;

    for (d = 0; d < s->R; d++)
        find_axis(s, read_grid(w, place * s->R + s->R - 1 - d), s->dims[d], &axes[d]);
    for (a = 0; a < outer; a++) {
        const axis_taps *y = &axes[s->R - 2], *x = &axes[s->R - 1];
        const int64_t deep = s->R == 3 ? axes[0].at[a] : 0;
        for (b = 0; b < s->taps; b++)
            for (c = 0; c < s->taps; c++) {
                if (deep < 0 || y->at[b] < 0 || x->at[c] < 0)
                    continue;
                out->at[n * BLOCK + i] =
                    (deep * s->dims[s->R - 2] + y->at[b]) * s->dims[s->R - 1] + x->at[c];
                out->weight[n++ * BLOCK + i] =
                    (s->R == 3 ? axes[0].weight[a] : 1) * y->weight[b] * x->weight[c];
            }
    }
    out->n[i] = n;
    for (; n < outer * s->taps * s->taps; n++) {
        out->at[n * BLOCK + i] = 0;
        out->weight[n * BLOCK + i] = 0;
    }
    for (a = 0; a < n; a++)
        out->narrow[a * BLOCK + i] = (float)out->weight[a * BLOCK + i];
}

/* ---- channels ---- */

/*
 * Places that have fewer elements weigh element 0 with 0, which is right where that is finite; a
 * result that is not a number is summed up again. `all` is a constant where it is inlined.
 */
#define SUM(type)                                                                                  \
    static double exact_##type(const taps *t, const type *x, int i)                                \
    {                                                                                              \
        double sum = 0;                                                                            \
        int32_t k;                                                                                 \
        for (k = 0; k < t->n[i]; k++)                                                              \
            sum += t->weight[k * BLOCK + i] * (double)x[t->at[k * BLOCK + i]];                     \
        return sum;                                                                                \
    }                                                                                              \
    static inline void all_##type(const taps *t, const int32_t all, const type *restrict x,        \
                                  type *restrict y, int n)                                         \
    {                                                                                              \
        int32_t k;                                                                                 \
        int i;                                                                                     \
        for (i = 0; i < n; i++) {                                                                  \
            const int64_t *at = t->at + i;                                                         \
            const type *weight = t->narrow_##type + i;                                             \
            type sum = weight[0] * x[at[0]];                                                       \
            for (k = 1; k < all; k++)                                                              \
                sum += weight[k * BLOCK] * x[at[k * BLOCK]];                                       \
            y[i] = sum == sum ? sum : (type)exact_##type(t, x, i);                                 \
        }                                                                                          \
    }                                                                                              \
    static void sum_##type(const taps *t, int32_t all, const type *x, type *y, int n)              \
    {                                                                                              \
        if (all == 4)                                                                              \
            all_##type(t, 4, x, y, n);                                                             \
        else                                                                                       \
            all_##type(t, all, x, y, n);                                                           \
    }
SUM(float)
SUM(double)

#define TAKE(type)                                                                                 \
    static void take_##type(const taps *t, const void *from, void *to, int n)                      \
    {                                                                                              \
        static const type zero;                                                                    \
        const type *x = from;                                                                      \
        type *y = to;                                                                              \
        int i;                                                                                     \
        for (i = 0; i < n; i++)                                                                    \
            y[i] = t->n[i] ? x[t->at[i]] : zero;                                                   \
    }
typedef struct pair {
    uint64_t half[2];
} pair;
TAKE(uint8_t)
TAKE(uint16_t)
TAKE(uint32_t)
TAKE(uint64_t)
TAKE(pair)

static void take(int width, const taps *t, const void *x, void *y, int n)
{
    if (width == 1)
        take_uint8_t(t, x, y, n);
    else if (width == 2)
        take_uint16_t(t, x, y, n);
    else if (width == 4)
        take_uint32_t(t, x, y, n);
    else if (width == 8)
        take_uint64_t(t, x, y, n);
    else
        take_pair(t, x, y, n);
}

/* ---- pairs of neighbours ---- */

typedef struct pairs {
    int32_t at[2 * BLOCK];
    float weight[4 * BLOCK], y[BLOCK];
} pairs;

/* False: some elements are no neighbours. */
static bool find_pairs(const work *w, int64_t first, int n, pairs *out)
{
    const state *s = w->s;
    int i, a;

    memset(out->at, 0, sizeof out->at);
    memset(out->weight, 0, sizeof out->weight);
    for (i = 0; i < n; i++) {
        axis_taps rows, columns;
        int64_t column;
        double across[2];
        find_axis(s, read_grid(w, (first + i) * 2 + 1), s->dims[0], &rows);
        find_axis(s, read_grid(w, (first + i) * 2), s->dims[1], &columns);
        if (!native_pair(columns.at, columns.weight, s->dims[1], &column, across))
            return false;
        for (a = 0; a < 2; a++) {
            if (rows.at[a] < 0)
                continue;
            out->at[2 * i + a] = (int32_t)(rows.at[a] * s->dims[1] + column);
            out->weight[4 * i + 2 * a] = (float)(rows.weight[a] * across[0]);
            out->weight[4 * i + 2 * a + 1] = (float)(rows.weight[a] * across[1]);
        }
    }
    return true;
}

/* False: some results are no numbers. */
static bool sample_pairs(pairs *p, const char *x, char *y, int n)
{
    const native_places places = {p->at, p->weight};
    const bool good = native_sample(&places, (const float *)(const void *)x, p->y, n);

    memcpy(y, p->y, (size_t)n * sizeof *p->y);
    return good;
}

static void run_blocks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int32_t all = s->taps * s->taps * (s->R == 3 ? s->taps : 1);
    pairs p;
    taps t;

    for (; begin < end; begin++) {
        const int64_t image = begin / w->blocks, first = begin % w->blocks * BLOCK;
        const int n = (int)(s->places - first < BLOCK ? s->places - first : BLOCK);
        const bool paired = s->paired && find_pairs(w, image * s->places + first, n, &p);
        bool found = false;
        int64_t c;
        int i;
        for (c = 0; c < s->C; c++) {
            const char *x = w->x + (image * s->C + c) * s->plane * s->width;
            char *y = w->y + ((image * s->C + c) * s->places + first) * s->width;
            if (paired && sample_pairs(&p, x, y, n))
                continue;
            for (i = 0; i < n && !found; i++)
                find_place(w, image * s->places + first + i, i, &t);
            found = true;
            if (s->taps == 1)
                take(s->width, &t, x, y, n);
            else if (s->wide)
                sum_double(&t, all, (const void *)x, (void *)y, n);
            else
                sum_float(&t, all, (const void *)x, (void *)y, n);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .blocks = (s->places + BLOCK - 1) / BLOCK};

    (void)err;
    w.x = launch->args[0].address ? launch->args[0].address : s->known[0];
    w.grid = launch->args[1].address ? launch->args[1].address : s->known[1];
    w.y = launch->args[2].address;
    if (s->N * s->places <= BLOCK)
        run_blocks(&w, 0, s->N * w.blocks);
    else
        device->host->parallel_for(run_blocks, &w, s->N * w.blocks, s->C < 16 ? 4 : 1);
    return TFR_OK;
}

/* ---- what it is ---- */

static int32_t taps_of(const tfr_call *call)
{
    const char *mode = tfr_call_string(call, "mode", "linear");

    return strcmp(mode, "nearest") == 0                                 ? 1
           : strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0 ? 4
                                                                        : 2;
}

void native_grid_sample_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *grid = tfr_call_input(call, 1);

    (void)device;
    if (grid->dtype != TFR_DTYPE_F32 && grid->dtype != TFR_DTYPE_F64)
        tfr_decline(answer, TFR_REASON_DTYPE, "only grids of float32 and float64 are done here");
    else if (x->dtype == TFR_DTYPE_STRING || tfr_dtype_bits(x->dtype) % 8 != 0 ||
             (taps_of(call) > 1 && x->dtype != TFR_DTYPE_F32 && x->dtype != TFR_DTYPE_F64))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only float32 and float64 are done here, and whole bytes by nearest");
    else if (x->rank < 4 || x->rank > 5)
        tfr_decline(answer, TFR_REASON_RANK, "%d axes are left to naive, 2 and 3 are done",
                    x->rank - 2);
}

void native_grid_sample_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *grid = tfr_call_input(call, 1);
    const char *beside = tfr_call_string(call, "padding_mode", "zeros");
    state *s = native_set_function(b, run, NULL, sizeof *s, "grid_sample");
    int32_t d;

    if (!s)
        return;
    s->R = x->rank - 2;
    s->taps = taps_of(call);
    s->padding = strcmp(beside, "border") == 0       ? BORDER
                 : strcmp(beside, "reflection") == 0 ? REFLECTION
                                                     : ZEROS;
    s->align = tfr_call_int(call, "align_corners", 0) != 0;
    s->wide = x->dtype == TFR_DTYPE_F64;
    s->wide_grid = grid->dtype == TFR_DTYPE_F64;
    s->width = (int)(tfr_dtype_bits(x->dtype) / 8);
    s->N = x->dims[0];
    s->C = x->dims[1];
    s->plane = 1;
    for (d = 0; d < s->R; d++)
        s->plane *= s->dims[d] = x->dims[d + 2];
    s->paired = s->R == 2 && s->taps == 2 && !s->wide && s->dims[1] > 1;
    s->places = tfr_operand_elements(grid) / s->R / s->N;
    s->known[0] = x->data;
    s->known[1] = grid->data;
}

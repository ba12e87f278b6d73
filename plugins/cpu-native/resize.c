/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.c: Resize of one axis, or of two or three beside each other, what plugins/naive/resize.c
 * says of it; all but tf_crop_and_resize, whose region is known at launch only. nearest moves
 * elements of any type of whole bytes, sums are of float32.
 *
 * What an output takes of an axis depends on its place there alone, so resize_axis.c finds it once,
 * when the kernel is made. A row of outputs is a weighted sum of rows, which goes over dense
 * memory, and then of elements of that sum; rows of nearest that come from one row are copied.
 */
#include "resize.h"

#include <string.h>

#include "resize_axis.h"

enum { GRAIN = 8192 };

typedef native_resize state;

typedef struct work {
    const state *s;
    const char *x;
    char *y;
} work;

/* ---- nearest ---- */

#define GATHER(type)                                                                               \
    do {                                                                                           \
        const type *p = (const type *)(const void *)from;                                          \
        type *q = (type *)(void *)to;                                                              \
        for (j = 0; j < c->m; j++)                                                                 \
            q[j] = p[c->at[j]];                                                                    \
    } while (0)

typedef struct block32 {
    float of[8];
} block32;

typedef struct block64 {
    float of[16];
} block64;

static void gather_row(const state *s, const char *from, char *to)
{
    const native_axis_map *c = &s->columns;
    int64_t j;

    if (c->copied)
        memcpy(to, from, (size_t)(c->m * s->bytes));
    else if (s->bytes == 1)
        GATHER(uint8_t);
    else if (s->bytes == 2)
        GATHER(uint16_t);
    else if (s->bytes == 4)
        GATHER(uint32_t);
    else if (s->bytes == 8)
        GATHER(uint64_t);
    else if (s->bytes == 32) /* a vector of an image in blocks */
        GATHER(block32);
    else if (s->bytes == 64)
        GATHER(block64);
    else
        for (j = 0; j < c->m; j++)
            memcpy(to + j * s->bytes, from + c->at[j] * s->bytes, (size_t)s->bytes);
}

/* Of a row of y, counted through all cubes: its cube, and the frame and the row there. */
typedef struct place {
    int64_t cube, frame, row;
} place;

static place place_of(const state *s, int64_t i)
{
    const int64_t frame = i / s->rows.m;

    return (place){frame / s->frames.m, frame % s->frames.m, i % s->rows.m};
}

static int64_t element_of(const native_axis_map *map, int64_t i)
{
    return map->copied ? i : map->at[i];
}

static void run_nearest(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t row = s->columns.n * s->bytes, out = s->columns.m * s->bytes;
    const char *last = NULL;

    for (; begin < end; begin++) {
        const place p = place_of(s, begin);
        const int64_t frame = p.cube * s->frames.n + element_of(&s->frames, p.frame);
        const char *from = w->x + (frame * s->rows.n + element_of(&s->rows, p.row)) * row;
        char *to = w->y + begin * out;
        if (from == last)
            memcpy(to, to - out, (size_t)out);
        else
            gather_row(s, from, to);
        last = from;
    }
}

/* ---- weighted sums ---- */

enum { ROWS = 16 /* at once */ };

/* Of the rows of a cube that an output takes at most ROWS, from number `first` on: how many. */
static int find_rows(const state *s, place p, const float *cube, int first, const float **from,
                     float *weight)
{
    const native_axis_map *f = &s->frames, *r = &s->rows;
    const int64_t length = s->columns.n * s->inner;
    int64_t frame = p.frame * f->taps + first / r->taps;
    int row = first % r->taps, n;

    for (n = 0; n < ROWS && frame < (p.frame + 1) * f->taps; frame++, row = 0) {
        const float *rows = cube + element_of(f, frame) * r->n * length;
        const float by = f->copied ? 1.0f : f->weight[frame];
        for (; n < ROWS && row < r->taps; row++, n++) {
            const int64_t at = p.row * r->taps + row;
            from[n] = rows + element_of(r, at) * length;
            weight[n] = by * (r->copied ? 1.0f : r->weight[at]);
        }
    }
    return n;
}

/* to = the sum of rows of a cube by their weights. */
static void add_rows(const state *s, place p, const float *cube, float *to)
{
    const int64_t length = s->columns.n * s->inner;
    const int all = s->frames.taps * s->rows.taps;
    const float *from[ROWS + 1] = {to}; /* from the second time on what there is of the sum */
    float weight[ROWS + 1] = {1.0f};
    int done = 0, n;

    for (; done < all; done += n) {
        const int more = done > 0;
        n = find_rows(s, p, cube, done, from + more, weight + more);
        s->isa->weigh_rows(from, weight, more + n, length, to);
        from[0] = to;
        weight[0] = 1.0f;
    }
}

/* Pixels of another width than the instruction set's. */
static void add_wide(const state *s, const float *row, float *to)
{
    const native_axis_map *c = &s->columns;
    const float *from[ROWS + 1];
    float weight[ROWS + 1];
    int64_t i;
    int t, n;

    for (i = 0; i < c->m; i++, to += s->inner) {
        for (t = 0; t < c->taps; t += n) {
            const int more = t > 0;
            from[0] = to;
            weight[0] = 1.0f;
            for (n = 0; n < ROWS && t + n < c->taps; n++) {
                from[more + n] = row + c->at[i * c->taps + t + n] * s->inner;
                weight[more + n] = c->weight[i * c->taps + t + n];
            }
            s->isa->weigh_rows(from, weight, more + n, s->inner, to);
        }
    }
}

static void add_columns(const state *s, const float *row, float *to)
{
    if (s->pixels.width > 0)
        s->isa->weigh_pixels(&s->pixels, row, to);
    else
        add_wide(s, row, to);
}

static void run_sums(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const int64_t row = s->columns.n * s->inner, out = s->columns.m * s->inner;
    float sum[NATIVE_RESIZE_ROW];

    for (; begin < end; begin++) {
        const place p = place_of(s, begin);
        const float *cube =
            (const float *)(const void *)w->x + p.cube * s->frames.n * s->rows.n * row;
        float *to = (float *)(void *)w->y + begin * out;
        if (s->columns.copied) {
            add_rows(s, p, cube, to);
        } else if (s->rows.copied && s->frames.copied) {
            add_columns(s, cube + (p.frame * s->rows.n + p.row) * row, to);
        } else {
            add_rows(s, p, cube, sum);
            add_columns(s, sum, to);
        }
    }
}

void native_resize_rows(const native_resize *how, const void *x, void *y, int64_t begin,
                        int64_t end)
{
    work w = {how, x, y};

    if (how->nearest)
        run_nearest(&w, begin, end);
    else
        run_sums(&w, begin, end);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {s, launch->args[0].address ? launch->args[0].address : s->known, NULL};
    const int64_t out = s->columns.m * s->inner;

    (void)err;
    w.y = launch->args[launch->n_args - 1].address;
    device->host->parallel_for(s->nearest ? run_nearest : run_sums, &w, native_resize_count(s),
                               (uint64_t)(GRAIN / (out < GRAIN ? out : GRAIN)));
    return TFR_OK;
}

/* ---- the kernel ---- */

enum { MOST_AXES = 3 };

/* Finds the axes that change: up to three beside each other, from `first` on. */
static bool changing_axes(const tfr_call *call, const native_resize_rule *rule, int *first,
                          int *count)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int d;

    *first = x->rank - 1;
    *count = 0;
    for (d = 0; d < x->rank; d++) {
        if (native_resize_copies(rule, d))
            continue;
        if (*count == 0)
            *first = d;
        *count = d - *first + 1;
    }
    return *count <= MOST_AXES;
}

void native_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    native_resize_rule rule;
    const char *why = native_read_resize(call, &rule);
    int64_t row = 1;
    int first, count, d;

    (void)device;
    if (why) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "%s", why);
        return;
    }
    if (x->rank < 1 || !changing_axes(call, &rule, &first, &count)) {
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "up to three axes beside each other that change are done here");
        return;
    }
    for (d = count > 1 ? first + count - 1 : first; d < x->rank; d++)
        row *= x->dims[d];
    if (rule.mode != NATIVE_RESIZE_NEAREST && x->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "sums are of float32 here");
    else if (rule.mode != NATIVE_RESIZE_NEAREST && count > 1 && row > NATIVE_RESIZE_ROW)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a row has %lld elements, the limit is %d",
                    (long long)row, NATIVE_RESIZE_ROW);
}

/* The columns as pixels, if an instruction set has such. */
static void make_pixels(native_build *b, state *s)
{
    const native_axis_map *c = &s->columns;
    const int lanes = s->isa->lanes;
    void *memory;

    if (s->nearest || c->copied || !c->at || (s->inner != 1 && s->inner != lanes))
        return;
    s->pixels = (native_pixels){
        .n = c->m, .width = s->inner, .taps = c->taps, .at = c->at, .weight = c->weight};
    memory =
        s->inner == 1 && c->m >= lanes ? native_add_block(b, native_pixels_bytes(c, lanes)) : NULL;
    if (memory)
        native_find_pixels(c, lanes, memory, &s->pixels);
}

void native_resize_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "resize");
    const native_axis_map one = {.n = 1, .m = 1, .taps = 1, .copied = true};
    native_resize_rule rule;
    int first, count, d, last;

    if (!s || native_read_resize(call, &rule) || !changing_axes(call, &rule, &first, &count))
        return;
    last = first + (count > 1 ? count : 1); /* the first axis that moves as a whole */
    s->isa = b->device->isa;
    s->cubes = s->inner = 1;
    for (d = 0; d < first; d++)
        s->cubes *= x->dims[d];
    for (d = last; d < x->rank; d++)
        s->inner *= x->dims[d];
    s->nearest = rule.mode == NATIVE_RESIZE_NEAREST;
    s->known = x->data;
    s->frames = s->rows = one;
    if (count > 2)
        native_map_axis(b, &rule, first, &s->frames);
    if (count > 1) {
        native_map_axis(b, &rule, last - 2, &s->rows);
        native_map_axis(b, &rule, last - 1, &s->columns);
    } else if (s->inner == 1) {
        native_map_axis(b, &rule, first, &s->columns);
    } else { /* rows, of which something is behind */
        native_map_axis(b, &rule, first, &s->rows);
        native_map_whole(b, s->inner, &s->columns);
        s->inner = 1;
    }
    s->bytes = s->inner * (int64_t)(tfr_dtype_bits(x->dtype) / 8);
    make_pixels(b, s);
}

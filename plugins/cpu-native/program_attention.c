/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_attention.c: the step of softmax(scale Q K' + mask) V. A thread takes some rows of a head
 * at a time: their scores never leave its cache. Scores are kept whole, not summed up as they come,
 * for rows are short where inference is on a CPU.
 *
 * Keys and values are packed once for all rows. A token that is decoded has one row for all of its
 * past, and reads that once: K' is turned a part at a time, which stays in the nearest cache, and V
 * is read where it lies.
 */
#include "program.h"

#include <string.h>

enum { BLOCK_ROWS = 48, FEW_ROWS = 8, FEW_TERMS = 128, GROUP = NATIVE_MAX_BLOCKS };

typedef struct attention {
    const native_isa *isa;
    native_ref q, k, v, mask, to;
    native_heads h;
    bool has_mask;
    int64_t mask_bytes; /* of its elements */
    float scale;
    int64_t blocks;                   /* of rows of a head */
    int64_t wide, group;              /* vectors of a row of scores; of one tile */
    bool few;                         /* rows: K and V are not packed as a whole */
    int64_t key_floats, value_floats; /* of what is packed */
    int32_t *q_rows, *p_rows;         /* offsets of rows of Q and of scores */
    int32_t *terms;                   /* 0, 1, 2... */
} attention;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t vectors(const attention *a, int64_t n)
{
    return (n + a->isa->lanes - 1) / a->isa->lanes;
}

/* [term][vector][lane] of K' from key `at` on, filled up with zeros; the floats that this is. */
static int64_t pack_part(const attention *a, const float *k, int64_t at, float *to)
{
    const int64_t lanes = a->isa->lanes, depth = a->h.depth;
    const int64_t width = smaller(a->group, a->wide - at / lanes) * lanes;
    const int64_t n = smaller(width, a->h.keys - at);
    int64_t term;

    if (n < width)
        memset(to, 0, (size_t)(depth * width) * sizeof *to);
    if (a->h.k_term == 1)
        a->isa->transpose(k + at * a->h.k[2], a->h.k[2], to, width, n, depth);
    for (term = 0; term < depth && a->h.k_term != 1; term++)
        memcpy(to + term * width, k + term * a->h.k_term + at, (size_t)n * sizeof *to);
    return depth * width;
}

/* All of it, each group of vectors behind the one before. */
static void pack_keys(const attention *a, const float *k, float *to)
{
    int64_t at;

    for (at = 0; at < a->h.keys; at += a->group * a->isa->lanes)
        to += pack_part(a, k, at, to);
}

/* The same of V. */
static void pack_values(const attention *a, const float *v, float *to)
{
    const int64_t lanes = a->isa->lanes;
    int64_t at, i;

    for (at = 0; at < a->h.width; at += a->group * lanes) {
        const int64_t width = smaller(a->group, vectors(a, a->h.width - at)) * lanes;
        const int64_t n = smaller(width, a->h.width - at);
        for (i = 0; i < a->h.keys; i++) {
            memcpy(to + i * width, v + i * a->h.v[2] + at, (size_t)n * sizeof *to);
            if (n < width)
                memset(to + i * width + n, 0, (size_t)(width - n) * sizeof *to);
        }
        to += a->h.keys * width;
    }
}

/* n rows of a group of `blocks` vectors. */
static void run_tiles(const attention *a, native_tile *tile, const float *from, int64_t from_row,
                      float *to, int64_t n, int64_t blocks)
{
    const int64_t most = a->isa->max_pixels[blocks], tiles = (n + most - 1) / most;
    int64_t i;

    for (i = 0; i < tiles; i++) {
        const int64_t row = i * n / tiles;
        tile->source = from + row * from_row;
        tile->to = to + row * tile->to_pixel;
        a->isa->plain[blocks][(i + 1) * n / tiles - row](tile);
    }
}

/* to[n rows, columns] = from[n rows, terms] x packed, whose vectors are `wide` a row and whose
 * terms are `all`. */
static void multiply(const attention *a, native_tile *tile, const float *from, int64_t from_row,
                     const float *packed, int64_t n, int64_t terms, int64_t all, int64_t columns)
{
    const int64_t lanes = a->isa->lanes, wide = vectors(a, columns);
    float *to = tile->to;
    int64_t at;

    tile->n_taps = (int)terms;
    tile->to_block = lanes;
    for (at = 0; at < wide; at += a->group) {
        const int64_t blocks = smaller(a->group, wide - at);
        tile->last_lanes = at + blocks == wide ? (uint32_t)(columns % lanes) : 0;
        tile->weights = packed;
        tile->weights_step = blocks * lanes;
        run_tiles(a, tile, from, from_row, to + at * lanes, n, blocks);
        packed += all * blocks * lanes;
    }
}

/* The same with few rows of Q, and K' as it lies: each part of it is turned and used at once. */
static void score_few(const attention *a, native_tile *tile, const float *q, const float *k,
                      float *part, int64_t n, int64_t seen)
{
    const int64_t step = a->group * a->isa->lanes;
    float *to = tile->to;
    int64_t at;

    for (at = 0; at < seen; at += step) {
        pack_part(a, k, at, part);
        tile->to = to + at;
        multiply(a, tile, q, a->h.q[2], part, n, a->h.depth, a->h.depth, smaller(step, seen - at));
    }
}

/* And with few rows of weights: V is read where it lies, some terms at a time for all columns. */
static void sum_few(const attention *a, native_tile *tile, const float *weights, int64_t pitch,
                    const float *v, int64_t n, int64_t terms)
{
    const int64_t lanes = a->isa->lanes, wide = a->h.width / lanes;
    float *to = tile->to;
    int64_t term, at;

    tile->to_block = lanes;
    tile->last_lanes = 0;
    tile->weights_step = a->h.v[2];
    for (term = 0; term < terms; term += FEW_TERMS) {
        tile->n_taps = (int)smaller(FEW_TERMS, terms - term);
        tile->first = term == 0;
        tile->last = term + FEW_TERMS >= terms;
        for (at = 0; at < wide; at += a->group) {
            tile->weights = v + term * a->h.v[2] + at * lanes;
            run_tiles(a, tile, weights + term, pitch, to + at * lanes, n,
                      smaller(a->group, wide - at));
        }
    }
}

/* The keys that a row sees are [*begin, *end). */
static void find_range(const native_heads *h, int64_t row, int64_t *begin, int64_t *end)
{
    const int64_t place = h->first + row * h->next;

    *begin = h->left >= 0 && place > h->left ? place - h->left : 0;
    *end = h->keys;
    if (h->right >= 0 && place + h->right + 1 < *end)
        *end = place + h->right + 1;
}

/* Whether there is a key that the mask lets through; a mask of bool as numbers in `numbers`. */
static bool read_mask(const attention *a, const void **mask, float *numbers, int64_t begin,
                      int64_t end)
{
    const float *given = *mask;
    bool any = false;
    int64_t j;

    if (!a->h.bool_mask) {
        for (j = begin; j < end && !any; j++)
            any = given[j] != -INFINITY;
        return any;
    }
    for (j = begin; j < end; j++) {
        const bool seen = ((const uint8_t *)*mask)[j] != 0;
        numbers[j] = seen ? 0.0f : -INFINITY;
        any = any || seen;
    }
    *mask = numbers;
    return any;
}

/* Scores of a row become weights: none where it sees no key. */
static void weigh_row(const attention *a, const void *mask, int64_t row, float *scores,
                      float *numbers)
{
    static const native_act tanh_of = {.kind = NATIVE_ACT_TANH};
    const int64_t pitch = a->wide * a->isa->lanes;
    float scale = a->scale;
    int64_t begin, end;

    find_range(&a->h, row, &begin, &end);
    if (a->h.zero_rows && (begin >= end || (mask && !read_mask(a, &mask, numbers, begin, end)))) {
        memset(scores, 0, (size_t)pitch * sizeof *scores);
        return;
    }
    if (a->h.softcap > 0) { /* the scale is in them */
        a->isa->act(&tanh_of, scores + begin, scores + begin, end - begin);
        scale = a->h.softcap;
    }
    a->isa->softmax(scores + begin, scale, mask ? (const float *)mask + begin : NULL,
                    scores + begin, end - begin);
    if (a->h.nan_rows && isnan(scores[begin])) /* the others are, too */
        end = begin;
    memset(scores, 0, (size_t)begin * sizeof *scores);
    memset(scores + end, 0, (size_t)(pitch - end) * sizeof *scores);
}

/* Rows [row, row + n) of a head whose K' and V are packed; of few rows they lie as they do. */
static void run_rows(const attention *a, const float *q, const char *mask, float *to,
                     const float *keys, const float *values, float *room, float *scores,
                     int64_t row, int64_t n)
{
    const int64_t pitch = a->wide * a->isa->lanes, part = a->group * a->isa->lanes;
    int64_t begin, end, seen;
    native_tile tile;
    int64_t i;

    /* Behind what the last row sees there is nothing to compute. */
    find_range(&a->h, row + n - 1, &begin, &end);
    end = end < 1 ? 1 : end;
    seen = smaller(pitch, (end + part - 1) / part * part);
    memset(&tile, 0, sizeof tile);
    tile.taps = a->terms;
    tile.n_groups = 1;
    tile.first = tile.last = true;
    tile.scale = a->h.softcap > 0 ? a->scale / a->h.softcap : 1.0f;
    tile.offsets = a->q_rows;
    tile.to = scores;
    tile.to_pixel = pitch;
    if (a->few)
        score_few(a, &tile, q, keys, room, n, seen);
    else
        multiply(a, &tile, q + row * a->h.q[2], a->h.q[2], keys, n, a->h.depth, a->h.depth, seen);
    for (i = 0; i < n; i++)
        weigh_row(a, mask ? mask + (row + i) * a->h.mask[2] * a->mask_bytes : NULL, row + i,
                  scores + i * pitch, scores + n * pitch);
    tile.scale = 1.0f;
    tile.offsets = a->p_rows;
    tile.to = to + row * a->h.to[2];
    tile.to_pixel = a->h.to[2];
    if (a->few)
        sum_few(a, &tile, scores, pitch, values, n, end);
    else
        multiply(a, &tile, scores, pitch, values, n, end, a->h.keys, a->h.width);
}

/* Numbers count samples, in them heads, in them blocks of rows. */
static void run_attention(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const attention *a = params;
    const native_heads *h = &a->h;
    float *keys = (float *)(void *)bases->scratch;
    float *values = keys + a->key_floats;
    float *scores = values + a->value_floats;
    int64_t i, packed = -1;

    for (i = begin; i < end; i++) {
        const int64_t head = i / a->blocks, b = head / h->heads, at = head % h->heads;
        const int64_t row = i % a->blocks * h->rows / a->blocks;
        const int64_t next = (i % a->blocks + 1) * h->rows / a->blocks;
        const char *mask = NULL;
        const int64_t of = at / h->group;
        const float *k = native_at(bases, &a->k) + h->first_at[1] + b * h->k[0] + of * h->k[1];
        const float *v = native_at(bases, &a->v) + h->first_at[2] + b * h->v[0] + of * h->v[1];
        if (!a->few && packed != head / h->group) {
            pack_keys(a, k, keys);
            pack_values(a, v, values);
            packed = head / h->group;
        }
        if (a->has_mask)
            mask = (const char *)native_at(bases, &a->mask) +
                   (b * h->mask[0] + at * h->mask[1]) * a->mask_bytes;
        run_rows(a, native_at(bases, &a->q) + h->first_at[0] + b * h->q[0] + at * h->q[1], mask,
                 native_at(bases, &a->to) + b * h->to[0] + at * h->to[1], a->few ? k : keys,
                 a->few ? v : values, keys, scores, row, next - row);
    }
}

static int32_t *make_numbers(native_planner *p, int64_t n, int64_t step)
{
    int32_t *to = native_keep(p, (size_t)n * sizeof *to);
    int64_t i;

    for (i = 0; to && i < n; i++)
        to[i] = (int32_t)(i * step);
    return to;
}

void native_plan_attention(native_planner *p, const native_item *item)
{
    const native_heads *h = &item->heads;
    const int64_t lanes = p->isa->lanes;
    attention *a = native_keep(p, sizeof *a);
    int64_t n, floats;
    double flops;
    native_run *run;

    if (!a)
        return;
    a->isa = p->isa;
    a->h = *h;
    a->q = native_ref_of(p, item->inputs[0]);
    a->k = native_ref_of(p, item->inputs[1]);
    a->v = native_ref_of(p, item->inputs[2]);
    a->mask = native_ref_of(p, item->inputs[3]);
    a->has_mask = item->inputs[3] >= 0;
    a->mask_bytes = h->bool_mask ? 1 : (int64_t)sizeof(float);
    a->to = native_ref_of(p, item->output);
    a->scale = item->alpha;
    a->wide = vectors(a, h->keys);
    a->group = p->isa->max_pixels[GROUP] ? GROUP : GROUP - 1;
    a->blocks = (h->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    a->q_rows = make_numbers(p, NATIVE_MAX_PIXELS, h->q[2]);
    a->p_rows = make_numbers(p, NATIVE_MAX_PIXELS, a->wide * lanes);
    a->few = h->rows <= FEW_ROWS && h->width % lanes == 0;
    n = a->few && h->keys > FEW_TERMS ? FEW_TERMS : h->keys; /* at a time */
    a->terms = make_numbers(p, h->depth > n ? h->depth : n, 1);
    a->key_floats = h->depth * (a->few ? a->group : a->wide) * lanes;
    a->value_floats = a->few ? 0 : h->keys * vectors(a, h->width) * lanes;
    floats = a->key_floats + a->value_floats + (BLOCK_ROWS + 1) * a->wide * lanes; /* and a mask */
    native_need_scratch(p, (uint64_t)floats * sizeof(float));
    n = native_count(p, &p->ir->values[item->output]) / (h->rows * h->width);
    flops = 2.0 * (double)(n * h->rows * h->keys) * (double)(h->depth + h->width);
    run = native_add_run(p, run_attention, a, n * a->blocks, flops / 60.0);
    run->flops = flops;
}

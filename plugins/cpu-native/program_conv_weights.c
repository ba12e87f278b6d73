/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_conv_weights.c: weights and biases of convolutions and products in the order in which
 * their tiles read them: once for constants, in each run for what is computed.
 */
#include "gemm_layout.h"
#include "program_tiles.h"

#include <string.h>

/* Terms that are turned at a time: the nine taps of sixteen inputs. */
enum { NEAR_TERMS = 144 };

/* ---- the order of tiles ---- */

/* Rows of outputs become columns, some terms at a time, which go to their taps from near memory. */
static void turn_part(const native_packing *k, const float *from, int64_t part, int64_t outs,
                      int64_t ins, int64_t width, float *to)
{
    const native_isa *isa = k->tiles->isa;
    const int64_t terms = ins * k->taps, step = k->ins * k->taps, lanes = isa->lanes;
    float near[NEAR_TERMS * NATIVE_MAX_LANES];
    int64_t o, rows, first, n, i;

    if (k->taps == 1) {
        isa->transpose(from, step, to, width, outs, ins);
        return;
    }
    for (o = 0; o < outs; o += rows) {
        rows = outs - o < lanes ? outs - o : lanes;
        for (first = 0; first < terms; first += n) {
            n = terms - first < NEAR_TERMS ? terms - first : NEAR_TERMS;
            isa->transpose(from + o * step + first, step, near, lanes, rows, n);
            for (i = 0; i < n; i++) {
                const int64_t in = (first + i) / k->taps, tap = (first + i) % k->taps;
                memcpy(to + (tap * part + in) * width + o, near + i * lanes,
                       (size_t)rows * sizeof *to);
            }
        }
    }
}

/* Of a window some taps. */
static void fill_trimmed(const native_packing *k, int64_t first, int64_t outs, int64_t in,
                         int64_t ins, int64_t part, int64_t width, float *to)
{
    const int64_t all = k->whole[0] * k->whole[1];
    const int64_t down = larger(k->step[0], 1) * k->whole[1], across = larger(k->step[1], 1);
    const int64_t of_out = k->transposed ? all : k->ins * all;
    const int64_t of_in = k->transposed ? k->outs * all : all;
    int64_t o, i, a, b;

    for (i = 0; i < ins; i++) {
        for (o = 0; o < outs; o++) {
            const float *from = k->from + (first + o) * of_out + (in + i) * of_in +
                                k->first[0] * k->whole[1] + k->first[1];
            for (a = 0; a < k->kernel[0]; a++) {
                for (b = 0; b < k->kernel[1]; b++)
                    to[((a * k->kernel[1] + b) * part + i) * width + o] =
                        k->factor * from[a * down + b * across];
            }
        }
    }
}

/* [tap][in % part][block][lane] of a group, for the inputs from in on. */
static void fill_part(const native_packing *k, int64_t g, int64_t in, int64_t part, float *to)
{
    const native_isa *isa = k->tiles->isa;
    const int64_t lanes = isa->lanes, first = k->tiles->first_block[g] * lanes;
    const int64_t width = k->tiles->first_block[g + 1] * lanes - first;
    const int64_t outs = k->outs - first < width ? k->outs - first : width;
    const int64_t ins = k->ins - in < part ? k->ins - in : part;
    int64_t o, i, tap;

    if (k->tiles->groups) {
        native_fill_group(k, g, in, part, to);
        return;
    }
    if (k->whole[0]) {
        fill_trimmed(k, first, outs, in, ins, part, width, to);
        return;
    }
    if (k->transposed && k->taps > 1) {
        for (i = 0; i < ins; i++) {
            const float *from = k->from + ((in + i) * k->outs + first) * k->taps;
            if (k->factor == 1.0f) {
                isa->transpose(from, k->taps, to + i * width, part * width, outs, k->taps);
                continue;
            }
            for (o = 0; o < outs; o++) {
                for (tap = 0; tap < k->taps; tap++)
                    to[(tap * part + i) * width + o] = k->factor * *from++;
            }
        }
        return;
    }
    if (k->transposed) {
        for (i = 0; i < ins; i++) {
            for (o = 0; o < outs; o++)
                to[i * width + o] = k->factor * k->from[(in + i) * k->outs + first + o];
        }
        return;
    }
    if (k->factor == 1.0f) {
        turn_part(k, k->from + (first * k->ins + in) * k->taps, part, outs, ins, width, to);
        return;
    }
    for (o = 0; o < outs; o++) {
        const float *from = k->from + ((first + o) * k->ins + in) * k->taps;
        for (i = 0; i < ins; i++) {
            for (tap = 0; tap < k->taps; tap++)
                to[(tap * part + i) * width + o] = k->factor * *from++;
        }
    }
}

/* Numbers count the groups, in them the parts of inputs. */
static void fill_parts(void *user, int64_t begin, int64_t end)
{
    const native_packing *k = user;
    const native_tiles *c = k->tiles;
    const int64_t lanes = c->isa->lanes, part = c->plain ? 1 : lanes;
    const int64_t parts = c->terms / (part * k->taps);
    int64_t i;

    for (i = begin; i < end; i++) {
        int64_t g = i / parts, in = i % parts * part;
        int64_t width = (c->first_block[g + 1] - c->first_block[g]) * lanes;
        fill_part(k, g, in, part,
                  k->to + c->first_block[g] * lanes * c->terms + in * k->taps * width);
    }
}

/* Lanes and terms of nothing. */
static void clear_parts(const native_packing *k, int64_t begin, int64_t end)
{
    const native_tiles *c = k->tiles;
    const int64_t lanes = c->isa->lanes, part = c->plain ? 1 : lanes;
    const int64_t parts = c->terms / (part * k->taps);
    int64_t i;

    for (i = begin; i < end; i++) {
        int64_t g = i / parts, in = i % parts * part;
        int64_t width = (c->first_block[g + 1] - c->first_block[g]) * lanes;
        memset(k->to + c->first_block[g] * lanes * c->terms + in * k->taps * width, 0,
               (size_t)(part * k->taps * width) * sizeof *k->to);
    }
}

/* [group][in / lanes][tap][in % lanes][block][lane], plain [group][in][tap][block][lane] */
static void fill_weights(float *to, const void *user)
{
    native_packing k = *(const native_packing *)user;
    const int64_t part = k.tiles->plain ? 1 : k.tiles->isa->lanes;

    k.to = to;
    k.host->parallel_for(fill_parts, &k, k.tiles->n_groups * (k.tiles->terms / (part * k.taps)), 0);
}

static void fill_bias(float *to, const void *user)
{
    const native_packing *k = user;
    int64_t i;

    for (i = 0; i < k->outs; i++)
        to[i] = k->factor * k->from[i];
}

/* ---- weights that are computed ---- */

static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    native_packing k = *(const native_packing *)params;

    k.from = native_at(bases, &k.source);
    k.to = native_at(bases, &k.target);
    if (k.tiles->groups || k.ins % (k.tiles->plain ? 1 : k.tiles->isa->lanes) != 0 ||
        k.outs % k.tiles->isa->lanes != 0)
        clear_parts(&k, begin, end);
    fill_parts(&k, begin, end);
}

static void run_bias(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    native_packing k = *(const native_packing *)params;
    const int64_t lanes = k.tiles->isa->lanes;

    (void)begin, (void)end;
    k.from = native_at(bases, &k.source);
    k.to = native_at(bases, &k.target);
    memset(k.to, 0, (size_t)((k.outs + lanes - 1) / lanes * lanes) * sizeof *k.to);
    fill_bias(k.to, &k);
}

static native_ref derive_weights(native_planner *p, const native_packing *from, int value,
                                 int64_t n, uint64_t bytes)
{
    native_packing *k = native_keep(p, sizeof *k);
    const native_ref none = {0};

    if (!k)
        return none;
    *k = *from;
    k->source = native_ref_of(p, value);
    k->target = native_derived(p, bytes);
    native_derive(p, value, run_weights, k, n, (double)bytes / 3.0);
    return k->target;
}

static native_ref derive_bias(native_planner *p, const native_packing *from, int value,
                              uint64_t bytes)
{
    native_packing *k = native_keep(p, sizeof *k);
    const native_ref none = {0};

    if (!k)
        return none;
    *k = *from;
    k->source = native_ref_of(p, value);
    k->target = native_derived(p, bytes);
    native_derive(p, value, run_bias, k, 1, (double)bytes / 3.0);
    return k->target;
}

static int64_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

void native_pack_weights(native_planner *p, native_tiles *c, native_packing *k, int value,
                         int64_t blocks)
{
    const uint64_t bytes = (uint64_t)(blocks * p->isa->lanes * c->terms) * sizeof(float);
    const int64_t part = c->plain ? 1 : p->isa->lanes;
    /* each part of a window is less than 256 */
    const int64_t window =
        (((k->whole[0] * 256 + k->whole[1]) * 256 + k->first[0]) * 256 + k->first[1]) * 256 +
        (k->whole[0] ? k->kernel[0] : 0);
    const native_constant_key key = {{k->from},
                                     {1 + c->plain + 4 * window, k->outs, k->ins, k->taps,
                                      k->transposed + 2 * (k->step[0] * 256 + k->step[1]),
                                      float_bits(k->factor), c->first_block ? c->first_block[1] : 0,
                                      c->n_groups, p->isa->lanes,
                                      c->groups ? c->groups->groups : 1}};

    k->tiles = c;
    k->host = p->ir->device->host;
    if (k->from)
        c->weights.known = (const char *)native_pack(p, &key, bytes, fill_weights, k);
    else
        c->weights =
            derive_weights(p, k, value, c->n_groups * (c->terms / (part * k->taps)), bytes);
}

/* Whole vectors of it. */
void native_pack_bias(native_planner *p, native_tiles *c, int value, float factor, int64_t n,
                      int64_t blocks)
{
    native_packing k = {.tiles = c, .outs = n, .factor = factor};
    const uint64_t bytes = (uint64_t)(blocks * p->isa->lanes) * sizeof(float);
    native_constant_key key = {{NULL}, {3, n, blocks, p->isa->lanes, float_bits(factor)}};

    if (value < 0)
        return;
    c->has_bias = true;
    key.data[0] = k.from = p->ir->values[value].known;
    if (k.from)
        c->bias.known = (const char *)native_pack(p, &key, bytes, fill_bias, &k);
    else
        c->bias = derive_bias(p, &k, value, bytes);
}

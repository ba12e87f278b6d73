/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_winograd_weights.c: the weights of Winograd's convolutions, transformed once where they
 * are constants, and once in each run where a step of training computes them.
 */
#include "program_winograd.h"

#include <string.h>

/* A weight as a convolution that is not a gradient would have it. */
float native_winograd_tap(const native_winograd_item *w, const float *taps, int64_t out, int64_t in,
                          int64_t tap)
{
    return w->turned ? taps[(in * w->outs + out) * WINOGRAD_TAPS + WINOGRAD_TAPS - 1 - tap]
                     : taps[(out * w->ins + in) * WINOGRAD_TAPS * w->depth.kernel + tap];
}

/* U = G g G', in double, rounded once. */
static void transform_weights(const native_winograd_form_desc *form,
                              const double g[WINOGRAD_TAPS][WINOGRAD_GROUP * NATIVE_MAX_LANES],
                              int64_t width, float *to, int64_t step)
{
    int i, j;
    int64_t o;

    for (i = 0; i < form->points; i++) {
        const double *f = form->weights[i];
        double half[3][WINOGRAD_GROUP * NATIVE_MAX_LANES];
        for (j = 0; j < 3; j++) {
            for (o = 0; o < width; o++)
                half[j][o] = f[0] * g[j][o] + f[1] * g[3 + j][o] + f[2] * g[6 + j][o];
        }
        for (j = 0; j < form->points; j++, to += step) {
            const double *h = form->weights[j];
            for (o = 0; o < width; o++)
                to[o] = (float)(h[0] * half[0][o] + h[1] * half[1][o] + h[2] * half[2][o]);
        }
    }
}

typedef struct filling {
    const native_winograd_item *winograd;
    const tfr_host *host;
    const float *taps;
    float *to;
} filling;

/* Numbers count the groups, in them the taps of the depth, in them the input channels and those
 * that fill up. */
static void fill_parts(void *user, int64_t begin, int64_t end)
{
    const filling *f = user;
    const native_winograd_item *w = f->winograd;
    const int64_t lanes = w->isa->lanes, ins = w->in_blocks * lanes, terms = w->term_blocks * lanes;
    int64_t o;
    int tap;

    for (; begin < end; begin++) {
        const int64_t block = begin / terms * WINOGRAD_GROUP, term = begin % terms;
        const int64_t in = term % ins, deep = term / ins * WINOGRAD_TAPS;
        int64_t blocks =
            w->out_blocks - block < WINOGRAD_GROUP ? w->out_blocks - block : WINOGRAD_GROUP;
        int64_t width = blocks * lanes;
        double g[WINOGRAD_TAPS][WINOGRAD_GROUP * NATIVE_MAX_LANES] = {{0}};
        for (o = 0; o < width && block * lanes + o < w->outs && in < w->ins; o++) {
            for (tap = 0; tap < WINOGRAD_TAPS; tap++)
                g[tap][o] =
                    native_winograd_tap(w, f->taps, block * lanes + o, in,
                                        deep + (w->form->back ? WINOGRAD_TAPS - 1 - tap : tap));
        }
        transform_weights(w->form, (const double(*)[WINOGRAD_GROUP * NATIVE_MAX_LANES]) g, width,
                          f->to + w->places * native_winograd_floats(w, block) + term * width,
                          native_winograd_floats(w, blocks));
    }
}

/* [group][place][term][block][lane] */
static void fill_weights(float *to, const void *user)
{
    filling f = *(const filling *)user;
    const native_winograd_item *w = f.winograd;

    f.to = to;
    f.host->parallel_for(fill_parts, &f, w->n_groups * w->term_blocks * w->isa->lanes, 0);
}

static void fill_bias(float *to, const void *user)
{
    const filling *f = user;
    memcpy(to, f->taps, (size_t)f->winograd->outs * sizeof *to);
}

/* The taps of a block of outputs and one of inputs: [in][tap][out]. */
static void gather_taps(const native_winograd_item *w, const float *taps, int64_t out, int64_t in,
                        float *to)
{
    const int64_t lanes = w->isa->lanes, left = w->outs - out, ins = w->ins - in;
    const int64_t n = left < lanes ? left : lanes, n_ins = ins < lanes ? ins : lanes;
    int64_t i;

    if (n < lanes || n_ins < lanes)
        memset(to, 0, (size_t)(WINOGRAD_TAPS * lanes * lanes) * sizeof *to);
    if (!w->turned)
        w->isa->transpose(taps + (out * w->ins + in) * WINOGRAD_TAPS, w->ins * WINOGRAD_TAPS, to,
                          lanes, n, n_ins * WINOGRAD_TAPS);
    for (i = 0; w->turned && i < n_ins; i++)
        w->isa->transpose(taps + ((in + i) * w->outs + out) * WINOGRAD_TAPS, WINOGRAD_TAPS,
                          to + i * WINOGRAD_TAPS * lanes, lanes, n, WINOGRAD_TAPS);
}

/*
 * Those that a step of training has computed, rounded at each step of the transform. Numbers count
 * blocks of outputs, in them blocks of inputs.
 */
static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_winograd_item *w = params;
    const int64_t lanes = w->isa->lanes;
    const int64_t step = w->turned && !w->form->back ? -lanes : lanes;
    _Alignas(NATIVE_ALIGNMENT) float taps[WINOGRAD_TAPS * NATIVE_MAX_LANES * NATIVE_MAX_LANES];
    int64_t i;

    for (; begin < end; begin++) {
        const int64_t block = begin / w->in_blocks, in = begin % w->in_blocks * lanes;
        const int64_t first = block / WINOGRAD_GROUP * WINOGRAD_GROUP, left = w->out_blocks - first;
        const int64_t blocks = left < WINOGRAD_GROUP ? left : WINOGRAD_GROUP;
        float *to = native_at(bases, &w->weights) + w->places * native_winograd_floats(w, first) +
                    (block - first) * lanes;
        gather_taps(w, native_at(bases, &w->taps), block * lanes, in, taps);
        for (i = 0; i < lanes; i++) {
            const float *of_in = taps + i * WINOGRAD_TAPS * lanes;
            w->isa->winograd_weights(w->form->weights, w->form->points,
                                     step < 0 ? of_in + (WINOGRAD_TAPS - 1) * lanes : of_in, step,
                                     to + (in + i) * blocks * lanes,
                                     native_winograd_floats(w, blocks));
        }
    }
}

static void run_bias(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_winograd_item *w = params;
    const int64_t wide = w->out_blocks * w->isa->lanes;
    float *to = native_at(bases, &w->bias);

    (void)begin, (void)end;
    memset(to + w->outs, 0, (size_t)(wide - w->outs) * sizeof *to);
    memcpy(to, native_at(bases, &w->plain_bias), (size_t)w->outs * sizeof *to);
}

void native_winograd_set_weights(native_planner *p, native_winograd_item *w, int value)
{
    const int64_t lanes = w->isa->lanes,
                  floats = w->places * native_winograd_floats(w, w->out_blocks);
    const float *known = p->ir->values[value].known;
    const native_constant_key key = {
        {known}, {5, w->outs, w->ins, lanes, w->form->out, w->turned, w->depth.kernel}};
    const filling f = {w, p->ir->device->host, known, NULL};

    w->taps = native_ref_of(p, value);
    if (known) {
        w->taps.known = (const char *)known;
        w->weights.known =
            (const char *)native_pack(p, &key, (uint64_t)floats * sizeof(float), fill_weights, &f);
        return;
    }
    w->weights = native_derived(p, (uint64_t)floats * sizeof(float));
    native_derive(p, value, run_weights, w, w->out_blocks * w->in_blocks, (double)floats / 4.0);
}

void native_winograd_set_bias(native_planner *p, native_winograd_item *w, int value)
{
    const uint64_t bytes = (uint64_t)(w->out_blocks * w->isa->lanes) * sizeof(float);
    const float *known = value < 0 ? NULL : p->ir->values[value].known;
    const native_constant_key key = {{known}, {6, w->outs, w->isa->lanes}};
    const filling f = {w, NULL, known, NULL};

    w->has_bias = value >= 0;
    if (known) {
        w->bias.known = (const char *)native_pack(p, &key, bytes, fill_bias, &f);
    } else if (w->has_bias) {
        w->plain_bias = native_ref_of(p, value);
        w->bias = native_derived(p, bytes);
        native_derive(p, value, run_bias, w, 1, (double)bytes);
    }
}

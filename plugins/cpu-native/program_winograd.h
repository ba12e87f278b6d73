/* SPDX-License-Identifier: Apache-2.0 */
/* program_winograd.h: what program_winograd.c and program_winograd_weights.c know of an item. */
#ifndef NATIVE_PROGRAM_WINOGRAD_H
#define NATIVE_PROGRAM_WINOGRAD_H

#include "program.h"

enum {
    WINOGRAD_TAPS = 9,
    WINOGRAD_GROUP = 2,               /* vectors of output channels that are computed together */
    WINOGRAD_MOST_IN = 6,             /* rows and columns of a tile of the source */
    WINOGRAD_NEAR_BYTES = 512 * 1024, /* of weights, that stay in the second cache anyway */
};

/*
 * The forms of isa.h: rows and columns of a tile of outputs, of its source, and of places; the
 * weights of a tap become those of places by `weights`, G of the paper.
 */
typedef struct native_winograd_form_desc {
    int out, in, points;
    bool back; /* a tile is the gradient of all that a tile of the source came from */
    double weights[WINOGRAD_MOST_IN][3];
    double of_source, of_result; /* products in whose time a tile of a channel is transformed */
} native_winograd_form_desc;

static inline int native_winograd_places(const native_winograd_form_desc *form)
{
    return form->points * form->points;
}

extern const native_winograd_form_desc native_winograd_forms[NATIVE_WINOGRAD_FORMS];

typedef struct native_winograd_item {
    const native_isa *isa;
    const native_winograd_form_desc *form;
    native_ref source, residual, to;
    native_ref weights, bias;
    native_ref taps, plain_bias; /* as the graph has them */
    native_ref codes;            /* of maxima */
    bool has_residual, has_bias, has_codes;
    bool keeps_zeros; /* what is summed over blank pixels is exactly 0 */
    bool turned;      /* taps are those of a convolution whose gradient this is */
    int64_t ins, outs, in_blocks, out_blocks;
    /* Of windows over three axes; else 1 of 1 frame. A frame that a tap of the depth reads is a
     * source of its own: terms are [depth.kernel][in_blocks][lane]. */
    native_depth depth;
    int64_t term_blocks;
    int64_t height, width, pad[2]; /* of a frame */
    int64_t rows, columns;         /* of outputs, before they are pooled */
    int places;
    int64_t tiles_y, tiles_x, all, band, n_bands;
    int64_t n_groups;
    int64_t source_step, sums_step; /* from place to place */
    bool pooled;
    native_act act;
} native_winograd_item;

/* Floats of the weights of so many blocks of output channels, at one place. */
static inline int64_t native_winograd_floats(const native_winograd_item *w, int64_t blocks)
{
    return w->term_blocks * blocks * w->isa->lanes * w->isa->lanes;
}

/* program_winograd_form.c: taps along an axis that read a pixel, over all outputs. */
int64_t native_winograd_count_taps(int64_t outputs, int64_t pixels, int64_t pad);
/* program_winograd_weights.c: a weight as a convolution that is not a gradient would have it; taps
 * count those of all frames. */
float native_winograd_tap(const native_winograd_item *w, const float *taps, int64_t out, int64_t in,
                          int64_t tap);
/* Sets the weights, and the bias, from a value: constants once, others by a step of each run. */
void native_winograd_set_weights(native_planner *p, native_winograd_item *w, int value);
void native_winograd_set_bias(native_planner *p, native_winograd_item *w, int value);

#endif

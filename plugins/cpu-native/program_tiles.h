/* SPDX-License-Identifier: Apache-2.0 */
/* program_tiles.h: what convolutions and products with a matrix have in common, see program_conv.c
 */
#ifndef NATIVE_PROGRAM_TILES_H
#define NATIVE_PROGRAM_TILES_H

#include "program.h"

/* Of a convolution in groups. */
typedef struct native_conv_groups {
    int64_t groups, ins, outs; /* ins, outs: of each */
    bool narrow;               /* blocks have channels of several groups */
    bool transposed;           /* weights are [ins, outs of each, taps] */
    native_ref weights, bias;  /* the model's */
    bool has_bias;
    const int16_t *first_in; /* of each group of blocks of outputs: a block of inputs */
} native_conv_groups;

typedef struct native_tiles {
    const native_isa *isa;
    native_ref source, residual, to;
    bool has_residual, plain, pooled;
    bool cut;      /* by program_tile_cut.c */
    bool straight; /* the pixels of a tile follow each other in the source, too */
    native_ref weights, bias;
    bool has_bias;
    const int32_t *taps, *first_pixel; /* the last one of n_tiles + 1 */
    /* Where the pixels of a tile find their taps, tap by tap: from offsets[at[tile]] on, counted
     * from shift[tile]. */
    const int32_t *offsets, *at, *shift;
    /* Of outputs that have the same taps: where a tile begins, and how far its pixels are apart. */
    const int32_t *places;   /* NULL = first_pixel, and 1 */
    int64_t apart, phases;   /* phases: so many lists of tiles with taps of their own, if not 0 */
    int n_taps, n_in, chunk; /* chunk: of n_in, or of taps if plain */
    int64_t plane, source_sample, to_sample, to_pixel, to_block;
    int64_t samples, n_tiles, block_tiles;
    int n_groups, parts;              /* groups of blocks of outputs */
    const native_conv_groups *groups; /* NULL = each output reads all inputs */
    const int16_t *first_block;       /* n_groups + 1 */
    int64_t terms;
    uint32_t last_lanes;
    native_act act;
} native_tiles;

typedef struct native_packing {
    const native_tiles *tiles;
    const tfr_host *host;
    const float *from;
    native_ref source, target;
    int64_t outs, ins, taps; /* from [outs, ins, taps], or [ins, outs, taps] if transposed */
    /* if not 0: taps are those of kernel, from tap first on, of a window of whole */
    int64_t whole[2], first[2], kernel[2];
    int64_t step[2]; /* from tap to tap of it; 0 = 1 */
    bool transposed;
    float factor;
    float *to;
} native_packing;

/* Of each tap of an axis the places where outputs find it, [tap][output]; below 0 = padding. */
typedef struct native_tap_grid {
    const int32_t *rows, *columns;
    int64_t height, width; /* outputs */
    int64_t down, across;  /* taps */
} native_tap_grid;

/* program_conv.c: what all tiles have of their item. */
void native_begin_tiles(native_planner *p, native_tiles *c, const native_item *item);
/* program_tile_cut.c: other tiles of the same pixels, if these take less. */
void native_cut_tiles(native_planner *p, native_tiles *c, const native_tap_grid *g);
/* program_tile_table.c */
/* Vectors in the largest group of channels. */
int native_largest_group(const native_tiles *c);
/* first_pixel and n_tiles, of so many pixels. */
void native_make_tiles(native_planner *p, native_tiles *c, int64_t pixels);
/* offsets, where each pixel has one tap and they are so far apart. */
void native_make_rows(native_planner *p, native_tiles *c, int64_t depth);
/* Whether the outputs of a tile lie apart, in one row. */
bool native_tiles_are_apart(const native_item *item);
/* All of these of a convolution, and places and apart. False after an error. */
bool native_make_tile_table(native_planner *p, native_tiles *c, const native_item *item);
/* program_conv_phases.c: whether each phase of a transposed convolution can be steps of its own;
 * these, where c has the tiles of all. */
bool native_has_phases(const native_planner *p, const native_tiles *c, const native_item *item);
void native_plan_phases(native_planner *p, const native_tiles *c, const native_item *item,
                        const native_packing *pack);
/* program_conv.c: the step of tiles. */
void native_run_tiles(const void *params, const native_bases *bases, int64_t begin, int64_t end);
/* program_conv_weights.c: sets the item's weights, and its bias; value < 0 = it has none. */
void native_pack_weights(native_planner *p, native_tiles *c, native_packing *k, int value,
                         int64_t blocks);
void native_pack_bias(native_planner *p, native_tiles *c, int value, float factor, int64_t n,
                      int64_t blocks);

/* program_conv.c: windows of one pixel, each of which is one of the output. */
bool native_is_straight(const native_item *item, const native_value *x, const native_value *y);
/* Of so many vectors of outputs: n_groups and first_block. */
void native_make_groups(native_planner *p, native_tiles *c, int blocks);
/* How many terms a group takes at a time; source_bytes: that one tile reads. */
void native_make_chunks(const native_planner *p, native_tiles *c, int64_t source_bytes);

/* program_conv_groups.c: groups of blocks, n_in and groups; weights; and after the last chunk. */
void native_group_channels(native_planner *p, native_tiles *c, const native_item *item, int blocks);
void native_fill_group(const native_packing *k, int64_t group, int64_t in, int64_t part, float *to);
void native_check_groups(const native_tiles *c, const native_bases *bases, int group, int64_t begin,
                         int64_t end);

#endif

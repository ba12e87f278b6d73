/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_layer.h: a call of RNN, GRU or LSTM as its kernel keeps it. */
#ifndef NATIVE_RECURRENT_LAYER_H
#define NATIVE_RECURRENT_LAYER_H

#include "recurrent.h"

enum { X, W, R, B, LENS, INITIAL_H, INITIAL_C, P, N_INPUTS }; /* inputs; then outputs: */
enum { Y, Y_H, Y_C, N_OUTPUTS };
enum { ROW_VECTORS = 5 }; /* h twice, c, z, reset */

typedef struct native_layer {
    int64_t steps, batch, inputs, hidden, directions, gates;
    int64_t padded; /* hidden units in whole vectors */
    bool batch_first, backwards;
    native_cell cell;
    native_recurrent_step step[2]; /* of each direction, without panels and rows */
    native_gemm product;
    int threads, product_threads;
} native_layer;

typedef struct native_recurrent_state {
    native_layer layer;
    const void *known[N_INPUTS];
    int arg[N_INPUTS + N_OUTPUTS]; /* of the launch; -1 = absent */
    const void *packed_w;
    const float *panels, *bias; /* NULL = made in each launch */
} native_recurrent_state;

/* Where the parts of the workspace begin. */
typedef struct native_recurrent_room {
    size_t products, bias, panels, rows, vectors, end;
} native_recurrent_room;

size_t native_recurrent_panel(const native_layer *l); /* floats of a direction's R in panels */
native_recurrent_room native_recurrent_lay_out(const native_layer *l, bool panels_known);
void native_recurrent_pack(const native_layer *l, int lanes, const float *r, float *to);
/* Wb + Rb, but only Wb of what is reset after its product. */
void native_recurrent_biases(const native_layer *l, const float *b, float *to);
int32_t native_recurrent_run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                             tfr_err *err);

#endif

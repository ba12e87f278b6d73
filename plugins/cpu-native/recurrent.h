/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.h: RNN, GRU and LSTM of float32: the op and one step of a direction in time. */
#ifndef NATIVE_RECURRENT_H
#define NATIVE_RECURRENT_H

#include "isa.h"
#include "kernel.h"

typedef enum native_cell {
    NATIVE_CELL_RNN,
    NATIVE_CELL_GRU,
    NATIVE_CELL_GRU_LINEAR, /* linear_before_reset */
    NATIVE_CELL_LSTM
} native_cell;

/* after * act(before * x), or with below_is_0 x < act.a ? 0 : x. */
typedef struct native_gate_act {
    native_act act;
    float before, after;
    bool below_is_0;
} native_gate_act;

/* An entry of the batch. States are padded to whole vectors. */
typedef struct native_recurrent_row {
    const float *x; /* products of the input with the biases, gate after gate */
    const float *h;
    float *to; /* the new h, elsewhere */
    float *c;
    float *z, *reset; /* scratch of GRU, as long as h */
} native_recurrent_row;

/*
 * R lies in panels, one for each vector of hidden units: [hidden of h][gates][lanes]. GRU without
 * linear_before_reset has panels of z and r, and behind all of them panels of its third gate.
 */
typedef struct native_recurrent_step {
    native_cell cell;
    int64_t hidden;
    const float *panels;
    const float *peephole;    /* of i, o and f; NULL = none */
    const float *hidden_bias; /* Rb of GRU_LINEAR's last gate; NULL = none */
    bool has_clip, input_forget;
    float clip;
    native_gate_act f[3];
    const native_recurrent_row *rows;
    int64_t n_rows;
} native_recurrent_step;

void native_recurrent_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_recurrent_prepare(native_build *b, const tfr_call *call);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* program_half.h: a group with values of float16 or bfloat16 as one of float32 with casts. */
#ifndef NATIVE_PROGRAM_HALF_H
#define NATIVE_PROGRAM_HALF_H

#include "constants.h"
#include "program.h"

/* A call whose operands of half are float32. */
typedef struct native_wide_call {
    tfr_call call;
    tfr_operand inputs[NATIVE_ITEM_INPUTS], outputs[NATIVE_ITEM_OUTPUTS];
    float numbers[NATIVE_ITEM_INPUTS];
} native_wide_call;

/* A constant that was widened. */
typedef struct native_widened {
    const float *wide;
    const void *half;
    int32_t dtype; /* of half */
} native_widened;

typedef struct native_half {
    tfr_program_graph graph; /* until native_end_half_graph, as all but the constants */
    tfr_program_node *nodes;
    tfr_call *calls;
    int *origin; /* of each node: that of the group which it is for */
    tfr_program_value *values;
    tfr_operand *operands;
    int32_t *edges;
    struct native_constant **constants; /* widened: as long as the program */
    native_widened *widened;            /* of each */
    int n_constants;
} native_half;

bool native_has_half(const tfr_call *call);
/*
 * False: too many operands. Constants of one element are widened; of larger ones the data are
 * those of half still.
 */
bool native_widen_call(const tfr_call *call, native_wide_call *wide);
/* As native_find_form, of half, too. */
const native_form *native_find_any_form(const tfr_call *call);
/* Sets the graph that ir reads: the given one, if it has no half. half is zero before. */
int32_t native_widen_graph(tfr_plugin_device *device, const tfr_program_graph *graph,
                           native_half *half, native_ir *ir, uint64_t *constant_bytes,
                           tfr_err *err);
void native_end_half_graph(native_half *half);
/* What the numbers at wide were made from, or NULL where they were float32. */
const native_widened *native_find_widened(const native_ir *ir, const void *wide);
/* After the plan. */
void native_drop_half(tfr_plugin_device *device, native_half *half);

#endif

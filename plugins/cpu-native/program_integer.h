/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_integer.h: items that compute in integers what a model says of dequantized values.
 *
 *   program_integer.c         which convolutions and products do, and what follows them that they
 *                             take
 *   program_integer_run.c     their steps
 *   program_integer_groups.c  those of convolutions in groups
 *   program_integer_turned.c  those of transposed convolutions
 *   program_dynamic.c         what is quantized by what it holds in a run
 *   program_bytes.c           what is done with values of 8 bits beside them
 *   program_bytes_run.c       the steps of that
 *   program_bytes_scale.c     those that are a factor and a term
 *   program_bytes_weigh.c     averages over windows, and resized images
 *   program_bytes_channels.c  channels of such values that are cut out, shuffled, put together
 */
#ifndef NATIVE_PROGRAM_INTEGER_H
#define NATIVE_PROGRAM_INTEGER_H

#include "int8.h"
#include "program_quantized.h"

/*
 * x, w and y are of inputs 0 and 1 and of the output.
 *
 * Of a CONV, DEPTHWISE or PRODUCT: inputs 0 and 1 are values of 8 bits, input 2 is of float32. The
 * output is of float32 while y has no scale. Then it may be added to what the item's residual
 * holds, of 8 bits, too: the output is that sum, limited and quantized again.
 */
enum { NATIVE_BYTE_STEPS = 8, NATIVE_BYTE_TABLES = 16 /* that one is made of: they are nested */ };
/* A function of one number, or of it and a known one. */
typedef struct native_byte_step {
    bool is_act, second; /* second: the known one is the first operand */
    native_act act;      /* of a binary one: after it, or NONE */
    native_binary_kind binary;
    float number;
} native_byte_step;

typedef struct native_integer {
    native_byte_step steps[NATIVE_BYTE_STEPS]; /* of an ACT: one after the other */
    int n_steps;
    int before; /* of an ACT, or -1: the integer of one that made what it read */
    int tables; /* of an ACT: how many others before and gate lead to, at most NATIVE_BYTE_TABLES */
    /*
     * Of an ACT, or -1: the integer of another ACT that reads the same value. Both are operands of
     * the binary function then, x is as it is read and w as the other one is made.
     */
    int gate;
    bool gate_first;
    native_binary_kind gated;
    native_act act; /* of the gated, after it */
    native_quant x, w, y, with, sum;
    native_act limits; /* CLIP of the sum, or NONE */
    int64_t scales;    /* program_dynamic.c: of w, where x has none; 0 = sums stay int32 */
} native_integer;

enum { NATIVE_INTEGER_TERMS = 32768 /* products of 255 * 255 that fit into int32 */ };

/* QLinearMatMul; and it or QLinearConv as an item, whose inputs are still those of the call. */
bool native_qlinear_matmul_form(const tfr_call *call);
void native_read_qlinear(native_ir *ir, int at);
/* Convolutions and products of dequantized values become such, before anything is fused; */
void native_find_integers(native_ir *ir);
/* and take over what quantizes them, after that. */
void native_fuse_integers(native_ir *ir);
void native_plan_integer(native_planner *p, const native_item *item);
/* Of a transposed convolution. */
bool native_can_turn(const native_ir *ir, const native_item *item);
void native_plan_integer_turned(native_planner *p, const native_item *item);

/* The only reader of a value, behind item `from`, or NULL. */
native_item *native_reader_of(const native_ir *ir, int from, int value);
/* NONE or CLIP; and the integers that it leaves of a type. */
bool native_is_limit(const native_act *act);
void native_set_limits(const native_quant *q, const native_act *act, int32_t *low, int32_t *high);
/* The number of a new one, or -1 and ir->failed. */
int native_new_integer(native_ir *ir, const native_quant *x, const native_quant *w);

bool native_dynamic_quantize_form(const tfr_call *call);
void native_plan_dynamic_quantize(native_planner *p, const native_item *item);
bool native_matmul_integer_form(const tfr_call *call);
/* Of MatMulInteger and ConvInteger with n outputs: operands of bytes, zero points that items have.
 */
bool native_has_integer_zeros(const tfr_call *call, int64_t n);
/* Either of them as an item, whose inputs are still those of the call. */
void native_read_integer_sums(native_ir *ir, int at);
/* Item i takes over what makes float32 of its sums. */
void native_take_scales(native_ir *ir, const int *makers, int i);

/* Functions, moves and pools of values of 8 bits; makers: the item that makes each value, or -1. */
void native_find_bytes(native_ir *ir, const int *makers);
void native_plan_bytes(native_planner *p, const native_item *item);
bool native_same_grid(const native_quant *a, const native_quant *b);
/* The value of another grid for each of 8 bits: a table, and whether a product gives the same. */
typedef struct native_regrid {
    native_byte_scale scale; /* without factor and term */
    float factor, term;
    bool is_scale;
    uint8_t table[256];
} native_regrid;
/* NULL = the same grid, or an error. */
const native_regrid *native_new_regrid(native_planner *p, const native_quant *from,
                                       const native_quant *to);
void native_change_grid(const native_int8_isa *isa, const native_regrid *grid, const uint8_t *from,
                        uint8_t *to, int64_t n);
/*
 * What a batch norm with known numbers makes of a value of 8 bits in channel c, in units of y:
 * it times factor, and term.
 */
void native_byte_norm(const native_ir *ir, const native_item *item, const native_quant *x,
                      const native_quant *y, int64_t c, double *factor, double *term);
void native_plan_byte_norm(native_planner *p, const native_item *item);
/* Concats that do more than that: whether one does, once they are found. */
void native_join_channels(native_ir *ir);
bool native_is_joined(const native_ir *ir, const native_item *item);
void native_plan_joined(native_planner *p, const native_item *item);
/* Averages over windows, and resized images, between such scales; of blocked values. */
bool native_can_weigh(const native_ir *ir, const native_item *item, const native_quant *x,
                      const native_quant *y);
void native_plan_weighing(native_planner *p, const native_item *item);
/* A maximum over windows. */
void native_plan_byte_pool(native_planner *p, const native_item *item);

#endif

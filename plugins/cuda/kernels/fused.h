/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.h: what fuse.cu computes, as it takes it by value: a chain of elementwise functions, and
 * the tensors that it is computed for. For the host half pointers are addresses, which are put
 * there at each launch. Plain C there.
 */
#ifndef TFR_CUDA_FUSED_H
#define TFR_CUDA_FUSED_H

#include <stdint.h>

#include "args.h"

#ifndef __cplusplus
#undef TFR_FIELD
#define TFR_FIELD(T) uint64_t
#endif

enum {
    TFR_FUSED_INPUTS = 8,
    TFR_FUSED_OUTPUTS = 4,
    TFR_FUSED_STEPS = 24,
    TFR_FUSED_TENSORS = 32,    /* of a launch, and of each input and output */
    TFR_FUSED_ADDRESSES = 320, /* of all of them; with the code these are less than 4 KB */
    /* threads of a block, and values of a thread in all blocks: threads * slots are no more */
    TFR_FUSED_THREADS = 128,
    TFR_FUSED_CELLS = 2048,
    TFR_FUSED_WIDE = 4, /* elements of a thread, half as many of 8 bytes; else one */
    TFR_FUSED_WIDE_THREADS = 256,
    TFR_FUSED_WIDE_CELLS = 1536
};

enum {
    TFR_FUSED_CONSTANT,
    TFR_FUSED_UNARY,
    TFR_FUSED_BINARY,
    TFR_FUSED_COMPARE,    /* to 1 or 0 */
    TFR_FUSED_WHERE,      /* a ? b : c */
    TFR_FUSED_CLIP,       /* a between b, if f.mode has bit 0, and c, if it has bit 1; of f.op
                           * TFR_FUSED_ROUND a as a float32 */
    TFR_FUSED_LONG_UNARY, /* these two last */
    TFR_FUSED_LONG_BINARY
};

enum { TFR_FUSED_ROUND = 1 };

/* Types of inputs, other than the chain's own and bytes. */
enum { TFR_FUSED_I32, TFR_FUSED_I64, TFR_FUSED_F32 };

/* Register TFR_FUSED_INPUTS + i is what step i makes; those before are the inputs. */
typedef struct tfr_fused_step {
    uint8_t kind, a, b, c; /* registers of what it takes */
    tfr_function f;
    double value; /* the constant */
} tfr_fused_step;

/*
 * A step as a launch decodes it (program_slots.c): its kind and function, and the slots of what it
 * takes and makes. Constants come first; input k is in slot k.
 */
#define TFR_FUSED_NUMBER(kind, op) ((uint32_t)(kind) << 6 | (uint32_t)(op))
#define TFR_FUSED_WHAT(word)       ((word)&0x1ff)
#define TFR_FUSED_A(word)          ((word) >> 9 & 31)
#define TFR_FUSED_B(word)          ((word) >> 14 & 31)
#define TFR_FUSED_C(word)          ((word) >> 19 & 31)
#define TFR_FUSED_TO(word)         ((word) >> 24)

/* Which element of an input that is repeated goes with element i: i / inner % dim. */
typedef struct tfr_fused_repeat {
    tfr_divisor inner, dim;
} tfr_fused_repeat;

typedef struct tfr_fused {
    int32_t n_inputs, n_steps, n_outputs;
    int32_t n_constants; /* first steps of a launch */
    uint32_t single;     /* bit k: input k has one element */
    uint32_t repeated;   /* bit k: it is read by repeats[k] */
    /* bit k: it is read as r % row * rows + r / row of each sample where the chain is at r */
    uint32_t swapped;
    int32_t rows;
    tfr_divisor sample, row;            /* elements */
    uint32_t byte_inputs, bool_outputs; /* bit k: bytes; of an output 0 or 1 */
    /* of float32 and float64: bit k: input k has type input_types >> 4 k & 15; outputs of a chain
     * of float64 that are float32 */
    uint32_t cast_inputs, input_types, float_outputs;
    uint8_t outputs[TFR_FUSED_OUTPUTS];  /* registers; of a launch slots */
    uint32_t words[TFR_FUSED_STEPS + 1]; /* of a launch; the last one is never done */
    tfr_fused_repeat repeats[TFR_FUSED_INPUTS];
    tfr_fused_step steps[TFR_FUSED_STEPS];
} tfr_fused;

/* Tensor t has the addresses of its inputs and then of its outputs, behind those of the one before.
 */
#ifdef __cplusplus
template <class T>
#endif
struct tfr_fused_tensors {
    TFR_FIELD(T) at[TFR_FUSED_ADDRESSES];
    int32_t n[TFR_FUSED_TENSORS];
    int32_t blocks[TFR_FUSED_TENSORS]; /* the first one of each */
    int32_t count;
};
#ifndef __cplusplus
typedef struct tfr_fused_tensors tfr_fused_tensors;
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_ir.h: a group of nodes while it is compiled: items over numbered values. program.h tells
 * who reads and who changes them.
 */
#ifndef NATIVE_PROGRAM_IR_H
#define NATIVE_PROGRAM_IR_H

#include <string.h>

#include "isa.h"
#include "kernel.h"

typedef struct native_value {
    int rank;
    int64_t dims[TFR_MAX_RANK];
    int32_t dtype;
    const void *known;
    const void *unaligned; /* known as the core gave it, if it lies so; NULL = known is aligned */
    int root;              /* whose bytes it has: its own number, or that of what it is a view of */
    int arg;               /* argument of launch, or -1 */
    bool output;           /* that argument is an output */
    bool appended;         /* written behind an input (TFR_OUTPUT_APPENDS) */
    bool batched;          /* dims[0] counts samples, one after the other in memory */
    bool reduced;          /* a sum over samples, or a view of one */
    bool blocked;          /* of 8 bits: the channels are last */
    bool wants_last;       /* of 8 bits: who reads it wants them so */
    bool last; /* a plain image of float32 with the channels last, see program_tokens.c */
    int readers;
    int maker, reader; /* items, as they were when readers were counted: see program_find.c */
} native_value;

/* Float i of constants, which lie at any address until native_align_known. */
static inline float native_float_at(const void *floats, int64_t i)
{
    float x;

    memcpy(&x, (const char *)floats + i * (int64_t)sizeof x, sizeof x);
    return x;
}

/* Of integers: (x - zero) scale, one of both for all, or for each index of an axis. */
typedef struct native_quant {
    const void *scale, *zero; /* float32, and of dtype; they may lie anywhere. zero NULL = 0 */
    int32_t dtype;
    int64_t n; /* 1 = for all */
    int axis;
} native_quant;

typedef enum native_item_kind {
    NATIVE_ITEM_NONE, /* taken over by another */
    NATIVE_ITEM_VIEW,
    NATIVE_ITEM_COPY,
    NATIVE_ITEM_REORDER, /* plain to blocked or back, as the values say */
    NATIVE_ITEM_PAD,     /* zeros around planes; plain */
    NATIVE_ITEM_CONV,
    NATIVE_ITEM_DEPTHWISE,
    NATIVE_ITEM_POOL,
    NATIVE_ITEM_MEAN, /* over all pixels */
    NATIVE_ITEM_ACT,
    NATIVE_ITEM_BINARY,
    NATIVE_ITEM_PRODUCT,         /* rows times a constant matrix */
    NATIVE_ITEM_BATCHED_PRODUCT, /* both sides are computed */
    NATIVE_ITEM_MIX,             /* the axis times a known matrix: inputs as PRODUCT */
    NATIVE_ITEM_SOFTMAX,         /* over the last dim */
    NATIVE_ITEM_COLUMN_SOFTMAX,  /* over another */
    NATIVE_ITEM_LAYER_NORM,      /* over the last dim */
    NATIVE_ITEM_TRANSPOSE,
    NATIVE_ITEM_CONCAT,
    NATIVE_ITEM_GATHER,
    NATIVE_ITEM_CAST,
    NATIVE_ITEM_ATTENTION,
    NATIVE_ITEM_COMPARE, /* Greater, into bool */
    NATIVE_ITEM_SELECT,  /* Where */
    NATIVE_ITEM_LOG_SOFTMAX,
    NATIVE_ITEM_LOSS,      /* mean cross entropy: inputs LogSoftmax, labels */
    NATIVE_ITEM_LOSS_GRAD, /* of softmax and that */
    NATIVE_ITEM_SUM,
    NATIVE_ITEM_INDICES,   /* of MaxPool */
    NATIVE_ITEM_SCATTER,   /* MaxPoolGrad: inputs dY, Indices */
    NATIVE_ITEM_POOL_GRAD, /* the same without Indices: inputs dY, X */
    NATIVE_ITEM_CONV_GRAD_INPUT,
    NATIVE_ITEM_CONV_GRAD_FILTER,
    NATIVE_ITEM_PRODUCT_GRAD, /* both sides have samples as rows: A'B */
    NATIVE_ITEM_CHAIN,
    NATIVE_ITEM_STRIDED,         /* each input, read in steps, to its place in the output */
    NATIVE_ITEM_SOFTMAX_GRAD,    /* inputs dY, Y */
    NATIVE_ITEM_LAYER_NORM_GRAD, /* inputs dY, X, scale */
    NATIVE_ITEM_LAYER_NORM_SUMS, /* the same inputs: the gradient of the scale */
    NATIVE_ITEM_REDUCE,          /* sums or means over dims inside of samples */
    NATIVE_ITEM_FOLD,            /* other reductions over any axes, of any type */
    NATIVE_ITEM_ARG,             /* ArgMax, ArgMin */
    NATIVE_ITEM_RANGE,           /* of int64; its input, the first number, is known */
    NATIVE_ITEM_GROUP_NORM,      /* of groups, channels, rows: inputs x, scale, shift */
    NATIVE_ITEM_TOP_K,           /* values; more: their places */
    NATIVE_ITEM_PADDED,          /* Pad: inputs data, value */
    NATIVE_ITEM_ELEMENTWISE,     /* of any type */
    NATIVE_ITEM_MOMENTS,         /* of a batch: mean; more: inverse deviation, running ones */
    NATIVE_ITEM_BATCH_NORM,      /* inputs x, mean, inverse deviation, scale, shift */
    NATIVE_ITEM_BLOCKS,          /* weights in blocks, which a product takes over */
    NATIVE_ITEM_BATCH_NORM_SUMS, /* gradient of scale; more: of shift */
    NATIVE_ITEM_BATCH_NORM_GRAD, /* of x */
    NATIVE_ITEM_QUANTIZE,        /* float32 to 8 bits */
    NATIVE_ITEM_DEQUANTIZE,
    NATIVE_ITEM_RESIZE,          /* of the pixels of images */
    NATIVE_ITEM_DYNAMIC_QUANTIZE /* more: the scale, the zero point */
} native_item_kind;

enum { NATIVE_ITEM_INPUTS = 64, NATIVE_ITEM_OUTPUTS = 8, NATIVE_ITEM_MORE = 3 };

/*
 * Where the elements of an operand of some dims lie in the memory of a value, and for items STRIDED
 * in the output, counted in elements.
 */
enum { NATIVE_STRIDED_RANK = 8 };
typedef struct native_strided {
    int rank;
    int64_t dims[NATIVE_STRIDED_RANK];
    int64_t offset, steps[NATIVE_STRIDED_RANK];
    int64_t to_offset, to_steps[NATIVE_STRIDED_RANK];
} native_strided;

/* softmax(scale Q K' + mask) V, by heads. Steps in floats from sample, head, row to the next. */
typedef struct native_heads {
    int64_t heads, rows, keys, depth, width; /* width: of V and the result */
    int64_t q[3], k[3], v[3], to[3], mask[3];
    int64_t k_term; /* from number to number of a key: 1, or k[2] is */
    int64_t group;  /* heads of Q for each of K and V */
    /* Keys that a row sees: its place among them is `first` for row 0, and `next` more for each
     * other row; it sees `left` before and `right` behind that, where they are not below 0. */
    int64_t first, next, left, right;
    float softcap;       /* 0 = none */
    bool bool_mask;      /* the mask is of bool */
    bool zero_rows;      /* a row that sees no key is 0, not NaN */
    bool nan_rows;       /* and so is any whose softmax is NaN */
    int64_t first_at[3]; /* of Q, K, V: where in their values they begin */
} native_heads;

/*
 * Of a window over three axes the first one. Values are [N, C, frames * rows, columns], which is
 * how [N, C, frames, rows, columns] lies in memory (program_lift.c).
 */
typedef struct native_depth {
    int64_t kernel; /* 0 = windows have two axes */
    int64_t stride, dilation, pad;
    int64_t size, outs; /* frames of the source and of the result */
} native_depth;

typedef struct native_item {
    native_item_kind kind;
    int node; /* of the graph, or -1 */
    int n_inputs;
    int inputs[NATIVE_ITEM_INPUTS]; /* -1 = absent */
    int output;
    int more[NATIVE_ITEM_MORE]; /* further outputs, -1 = absent */
    int residual;               /* a value that is added before act, or -1 */
    native_act act;
    /* CONV, DEPTHWISE, POOL */
    int64_t kernel[2], stride[2], dilation[2], pad[2]; /* padding at the beginning */
    native_depth depth; /* CONV, PAD; POOL: over frames, or with size alone inside of each */
    int64_t groups;     /* CONV, CONCAT of program_bytes_channels.c: 0 or 1 = none */
    int64_t whole[2], first[2]; /* CONV: kernel is of the weights' window, if not 0, from a tap on;
                                   that CONCAT: first[0] is its first channel */
    bool average, count_padding;
    float count;
    bool plain_source; /* CONV: few channels, the source is plain and padded */
    bool few_outs;     /* convolutions: by program_few_outs.c, the result is plain */
    bool pooled;       /* CONV: with a maximum over 2 x 2 */
    native_binary_kind binary;
    /* PRODUCT */
    bool transposed; /* weights are [N, K]; REORDER, PAD: the plain side, what it reads has channels
                        last */
    const tfr_call *quantized; /* whose operands are the weights: see program_nbits.c; or NULL */
    bool is_big;               /* by gemm.h: set when a plan is made */
    bool has_few_rows;         /* and by program_few_rows.c */
    float alpha;
    float beta;                 /* of input 2, which is absent where beta is 0 */
    float epsilon;              /* LAYER_NORM, MOMENTS; BATCH_NORM of a variance */
    bool of_variance;           /* BATCH_NORM: input 2 is the variance, not what it is divided by */
    bool unbiased;              /* MOMENTS, whose alpha is the momentum */
    int perm[TFR_MAX_RANK];     /* TRANSPOSE; PADDED: the axis of the call of each axis */
    int axis;                   /* CONCAT, GATHER, MIX */
    bool zero_rows;             /* GATHER: where an index is out of range, the last row */
    native_heads heads;         /* ATTENTION: inputs Q, K, V, mask; alpha is the scale */
    int codes;                  /* of a pooled CONV: where in its window each maximum lies; or -1 */
    int64_t pool[2];            /* the window and its steps, with codes */
    int64_t full[2];            /* gradients with codes: outputs of the convolution */
    uint32_t axes;              /* SUM, REDUCE: bits */
    bool mean;                  /* REDUCE */
    bool rms;                   /* LAYER_NORM_GRAD and _SUMS */
    int strided;                /* STRIDED, BATCHED_PRODUCT: that of input 0 in the IR, or -1 */
    bool masked;                /* gradients: 0 where what a Relu made is not above 0 */
    struct native_chain *chain; /* CHAIN, which the IR owns */
    struct native_item *front;  /* DEPTHWISE: a CONV that makes what it reads; the IR's */
    native_quant quant;         /* QUANTIZE, DEQUANTIZE */
    int integer;                /* computed in integers: that of the IR, or -1 */
    bool by_samples;            /* for each sample without the others */
    bool reduces;               /* sums over samples */
    int stage;                  /* of program_stages.c */
    const tfr_call *call;       /* of the node, if there is one */
} native_item;

/* Taps of its window. */
static inline int64_t native_taps(const native_item *item)
{
    return (item->depth.kernel ? item->depth.kernel : 1) * item->kernel[0] * item->kernel[1];
}

/* Rows of a plane, or of a frame of several. */
static inline int64_t native_frame_rows(int64_t rows, int64_t frames)
{
    return frames ? rows / frames : rows;
}

typedef struct native_ir {
    const tfr_program_graph *graph;
    const int *origin;                  /* of each node: that of the group; NULL = itself */
    const struct native_half *half;     /* what was widened; NULL = nothing */
    const tfr_compile_options *options; /* NULL in tests */
    tfr_plugin_device *device;
    native_value *values;
    int n_values, room_values;
    native_item *items;
    int n_items, room_items;
    native_strided *strided;
    int n_strided, room_strided;
    struct native_integer *integers;
    int n_integers;
    int *twins;      /* of each value: the one in the other layout, or -1 */
    int64_t samples; /* dims[0] of every batched value is a multiple */
    bool separable;  /* samples do not meet */
    bool staged;     /* compiled by program_stages.c */
    bool failed;     /* no memory */
    int n_fused, n_reorders;
} native_ir;

/* A kind as one of a set. */
static inline uint64_t native_kind_bit(native_item_kind kind)
{
    return UINT64_C(1) << kind;
}

/* The kinds of its items: who finds none that it looks for need not count readers. */
static inline uint64_t native_kinds(const native_ir *ir)
{
    uint64_t kinds = 0;
    int i;

    for (i = 0; i < ir->n_items; i++)
        kinds |= native_kind_bit(ir->items[i].kind);
    return kinds;
}

/* What may have factors and sums in its weights. */
static inline bool native_has_convs(uint64_t kinds)
{
    return kinds & (native_kind_bit(NATIVE_ITEM_CONV) | native_kind_bit(NATIVE_ITEM_DEPTHWISE));
}

#endif

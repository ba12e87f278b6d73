/* SPDX-License-Identifier: Apache-2.0 */
/* plan_kit.h: what the families of plan_*.c share: names of kernels, index spaces, grids. */
#ifndef CUDA_PLAN_KIT_H
#define CUDA_PLAN_KIT_H

#include "kernels/args.h"
#include "kernels/functions.h"
#include "kernels/fused.h"
#include "plan.h"

#include <tfrun/fail.h>

/* Rows of a table of names by element type: names[dtype], NULL where there is no such kernel. */
#define CUDA_FLOATS(prefix)                                                                        \
    [TFR_DTYPE_F32] = prefix "f32", [TFR_DTYPE_F16] = prefix "f16", [TFR_DTYPE_BF16] = prefix "bf16"
#define CUDA_BYTES(prefix) [TFR_DTYPE_U8] = prefix "u8", [TFR_DTYPE_I8] = prefix "i8"
#define CUDA_WIDE(prefix)  [TFR_DTYPE_I32] = prefix "i32", [TFR_DTYPE_I64] = prefix "i64"
typedef const char *const cuda_names[TFR_DTYPE_END];

/* Declines, and returns false, unless all operands are of up to 2^30 elements. */
bool cuda_call_fits(const tfr_call *call, tfr_answer *answer);

/* The kernel for the type, or NULL and a no that names the operand's number. */
const char *cuda_pick(cuda_names names, const tfr_operand *operand, uint32_t number,
                      tfr_answer *answer);
/* The kernel for the type of input 0 of a call that fits, or NULL and a no. */
const char *cuda_pick_input(cuda_names names, const tfr_call *call, tfr_answer *answer);

/* Whether all inputs from 1 on have the type of input 0; else a no. */
bool cuda_same_types(const tfr_call *call, tfr_answer *answer);

/* The number of an operand that may be absent, as a step takes it. */
static inline uint32_t cuda_input_or_none(const tfr_call *call, uint32_t i)
{
    return tfr_call_input(call, i) ? i : CUDA_NO_OPERAND;
}
static inline uint32_t cuda_output_or_none(const tfr_call *call, uint32_t i)
{
    return tfr_call_output(call, i) ? call->n_inputs + i : CUDA_NO_OPERAND;
}

/* The element's bytes as 0 to 3 for 1, 2, 4 and 8, or -1 and a no: packed types, strings. */
int cuda_size_index(const tfr_operand *operand, tfr_answer *answer);
/* That of input 0 of a call that fits, or -1 and a no. */
int cuda_movable(const tfr_call *call, tfr_answer *answer);

static inline tfr_divisor cuda_divisor(int64_t d)
{
    tfr_divisor out = {d > 0 ? (uint32_t)d : 1, 0, 0};

    while (((uint64_t)1 << out.shift) < out.d)
        out.shift++;
    out.multiplier =
        (uint32_t)(((uint64_t)1 << 32) * (((uint64_t)1 << out.shift) - out.d) / out.d + 1);
    return out;
}

/* Row-major strides of an operand broadcast to a space of `rank` dims (numpy's rule). */
void cuda_broadcast(const tfr_operand *operand, int32_t rank, int64_t *strides);
/* Row-major strides of dims. */
void cuda_dims_to_strides(int32_t rank, const int64_t *dims, int64_t *strides);

/*
 * The index space of dims with the strides of up to TFR_WALK_OPERANDS operands; dims that lie
 * behind each other for all of them become one. false, and a no, if more than TFR_WALK_DIMS remain.
 */
bool cuda_walk(int32_t rank, const int64_t *dims, int32_t n_operands,
               const int64_t (*strides)[TFR_MAX_RANK], const int64_t *offsets, tfr_walk *out,
               tfr_answer *answer);

/* Blocks for n items, `each` of them a block; no more than keep the chip busy. */
uint64_t cuda_blocks(const cuda_chip *chip, int64_t n, int64_t each);

/* The numbers of an attribute, n of them; NULL if it is absent. */
const int64_t *cuda_ints(const tfr_call *call, const char *name, uint64_t *n);

/* The attribute axis of input 0, and the plain lanes around it. */
tfr_lanes cuda_lanes(const tfr_operand *operand, int64_t axis);

/* Output `output` may be given the memory of input `input`. */
void cuda_may_share(tfr_answer *answer, int16_t input, int16_t output);

/* The last bytes of the step, a struct of args.h, have this member, an int32 that makes the kernel
 * end with Relu. */
static inline void cuda_mark_relu(cuda_plan *plan, const cuda_step *step, size_t bytes,
                                  size_t member)
{
    if (!step)
        return;
    plan->relu_step = (uint32_t)(step - plan->steps);
    plan->relu_at = step->n_bytes - (uint32_t)((bytes + 15) / 16 * 16) + (uint32_t)member;
}

/*
 * plan_last.c: the operands of images, inputs first, that may lie with the channels last in a plan
 * of our kernels; 0 = the op is for plain ones alone. *together: all of them or none.
 */
uint32_t cuda_may_last(const tfr_call *call, bool *together);
/* Of these ops: whether that parameter of a kernel may be NULL, for an output that nobody reads. */
bool cuda_may_lack(const tfr_call *call, uint32_t parameter);
/* n sums of so many elements each, where neighbours belong to other ones: a thread for each? */
static inline bool cuda_sums_by_thread(const cuda_chip *chip, int64_t n, int64_t each)
{
    return n >= 16 * (int64_t)chip->multiprocessors && each <= 1024;
}
static inline bool cuda_is_last(const cuda_plan *plan, uint32_t operand)
{
    return plan && plan->last >> operand & 1;
}

/* plan_tile.c: products of [M K] and [K N], `outer` of them, as kernels/tile.h computes them. */
enum {
    CUDA_TILES_64,
    CUDA_TILES_32, /* for float32 alone */
    CUDA_TILES_16,
    CUDA_TILES_TF32, /* of side 32, by tensor cores */
    CUDA_TILES,
    CUDA_ANY_TYPE = 1 << CUDA_TILES_64 | 1 << CUDA_TILES_16
};
/* What the call may be computed with, bits by number. */
uint32_t cuda_tiles_of(const cuda_chip *chip, const tfr_call *call);
typedef struct cuda_sums {
    int64_t M, N, K, outer;
    bool may_split;    /* blocks may divide a sum among them */
    uint32_t may_have; /* bit k: tiles number k */
} cuda_sums;
typedef struct cuda_tiles {
    int32_t which; /* tiles */
    uint32_t threads;
    uint64_t blocks;
    tfr_tiling tiling;
    int64_t cycles; /* estimated */
} cuda_tiles;
cuda_tiles cuda_choose_tiles(const cuda_chip *chip, const cuda_sums *what);
/* Tells of tiles that are less exact than strict. */
void cuda_mark_mode(const cuda_tiles *tiles, tfr_answer *answer, cuda_plan *plan);

/* plan_direct.c: convolutions by kernels/conv_direct.cu. */
typedef struct cuda_direct {
    const char *kernel;
    uint32_t threads;
    uint64_t blocks;
    tfr_direct args;
} cuda_direct;
/* The convolution, or the one that the gradient of its input is; false: there is no kernel. */
bool cuda_direct_of(const tfr_conv *c, bool is_gradient, tfr_direct *out);
/* False: it would take no fewer cycles than that. */
bool cuda_choose_direct(const cuda_chip *chip, const tfr_direct *what, int64_t cycles,
                        cuda_direct *out);

/* The same for the gradient of the filter, by kernels/conv_direct_filter.cu. */
typedef struct cuda_direct_filter {
    uint32_t threads;
    uint64_t blocks;
    int32_t slabs;
    tfr_direct_filter args;
} cuda_direct_filter;
bool cuda_direct_filter_of(const tfr_conv *c, tfr_direct_filter *out);
bool cuda_choose_direct_filter(const cuda_chip *chip, const tfr_direct_filter *what,
                               int64_t cycles, cuda_direct_filter *out);

/* plan_product.c: the kernel that adds the slabs of p->tiling.splits to the call's output. */
void cuda_add_slabs(const tfr_call *call, const tfr_product *p, uint32_t bias, cuda_plan *plan);

/* plan_product.c: a times b to the output of the call. A vector a is [1 K], a vector b [K 1]; what
 * is in front are matrices, which broadcast. */
bool cuda_fill_product(const tfr_call *call, const tfr_operand *a, const tfr_operand *b,
                       tfr_product *p, tfr_answer *answer);

/* plan_conv.c: a window over x; w is a filter, or NULL: kernel_shape says how large it is. */
bool cuda_fill_window(const tfr_call *call, const tfr_operand *x, const tfr_operand *y,
                      const tfr_operand *w, tfr_window *out, tfr_answer *answer);
/* The convolution of x with w to y. */
bool cuda_fill_conv(const tfr_call *call, const tfr_operand *x, const tfr_operand *w,
                    const tfr_operand *y, tfr_conv *c, tfr_answer *answer);

/* plan_move.c: input 0, of a type that is moved, to the output. */
void cuda_copy_all(const cuda_chip *chip, const tfr_call *call, cuda_plan *plan);

/* plan_elementwise.c: the step of fuse.cu that computes the call. False: it has none. */
bool cuda_fused_step(const tfr_call *call, tfr_fused_step *out);

#define CUDA_FAMILY(name)                                                                          \
    void name(const cuda_chip *chip, const tfr_call *call, tfr_answer *answer, cuda_plan *plan)

/* plan_variadic.c: any number of operands, for plan_elementwise.c, which has the family. */
CUDA_FAMILY(cuda_variadic_many);

#define X(domain, op, since_version, dtypes, family) CUDA_FAMILY(family);
#include "families.def"
#undef X

#endif

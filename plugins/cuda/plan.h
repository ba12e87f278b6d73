/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: what one launch of an op is on the device: kernels with their grids and parameters, in
 * order. A family of ops is one function that answers supports and, if there is room for one, makes
 * the plan; families.def names them. It is a function of the call and of the chip alone and touches
 * no driver, so that it can be tested anywhere.
 */
#ifndef CUDA_PLAN_H
#define CUDA_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

#include "kernels/args.h"

/* What kernels are chosen by. */
typedef struct cuda_chip {
    int32_t capability; /* 90 = 9.0 */
    int32_t multiprocessors;
    int32_t threads_per_multiprocessor;
    int32_t max_shared;   /* bytes of a block, when it asks for them */
    int64_t library_from; /* multiplications from which on a call is worth a library */
} cuda_chip;

enum {
    CUDA_PLAN_STEPS = 16,
    CUDA_STEP_PARAMS = 16,
    CUDA_STEP_BYTES = 4096, /* of parameters by value, as many as any GPU takes */
    CUDA_STEP_ADDRESSES = 320,
    CUDA_NO_OPERAND = UINT16_MAX /* in place of a number: NULL */
};

typedef enum cuda_param_kind {
    CUDA_PARAM_OPERAND,   /* the address of operand number: inputs, then outputs; NULL = absent */
    CUDA_PARAM_WORKSPACE, /* workspace + number */
    CUDA_PARAM_RANDOM,    /* the address of a tfr_random_state */
    CUDA_PARAM_DIMS,      /* where the true dims of output number are to be written */
    CUDA_PARAM_FOUND,     /* of the word that cuda_mistake tells of */
    CUDA_PARAM_BYTES      /* bytes[number] and what follows */
} cuda_param_kind;

typedef struct cuda_param {
    uint32_t kind;
    uint32_t number;
} cuda_param;

/* The address of an operand that a launch writes into the bytes of a struct by value. */
typedef struct cuda_address {
    uint16_t byte, operand;
} cuda_address;

typedef struct cuda_step {
    const char *kernel; /* in the module; NULL = the first parameter is filled with zeros */
    uint32_t grid[3], block[3];
    uint32_t shared; /* dynamic */
    uint32_t n_params, n_bytes, n_addresses;
    uint64_t fill_bytes; /* without a kernel */
    cuda_param params[CUDA_STEP_PARAMS];
    cuda_address addresses[CUDA_STEP_ADDRESSES];
    _Alignas(16) unsigned char bytes[CUDA_STEP_BYTES];
} cuda_step;

/* What a product or a convolution ends with. */
typedef enum cuda_activation {
    CUDA_ACTIVATION_NONE,
    CUDA_ACTIVATION_RELU,
    CUDA_ACTIVATION_GELU /* by tanh */
} cuda_activation;

/*
 * A product as cuBLASLt may compute it in place of the steps, which are there, too: y = alpha op(a)
 * op(b) + addend, all row-major. a is [m k], or [k m] if it is swapped, b [k n] or [n k].
 */
typedef struct cuda_product {
    bool is_set;
    bool a_swapped, b_swapped;
    int64_t m, n, k;
    int64_t batch, a_stride, b_stride; /* elements; 0: all of the batch share it */
    uint16_t a, b, y;                  /* numbers of operands */
    uint16_t bias;                     /* of n elements, or CUDA_NO_OPERAND */
    uint16_t addend;                   /* [m n], times beta, or CUDA_NO_OPERAND */
    float alpha, beta;
    cuda_activation activation; /* of the sum */
} cuda_product;

typedef enum cuda_conv_kind {
    CUDA_CONV_NONE,
    CUDA_CONV_FORWARD,
    CUDA_CONV_GRAD_INPUT,
    CUDA_CONV_GRAD_FILTER
} cuda_conv_kind;

/*
 * A convolution as cuDNN may compute it in place of the steps: y from x and w, or the gradient of x
 * or w from that of y. Each is dense; with one spatial axis the first of the two is 1.
 */
typedef struct cuda_convolution {
    cuda_conv_kind kind;
    int64_t x_dims[4], y_dims[4]; /* batch, channels, height, width */
    int64_t w_dims[4];            /* filters, channels of a group, height, width */
    int64_t stride[2], dilation[2], pad[2], pad_end[2];
    uint16_t x, w, y;           /* numbers of operands */
    uint16_t bias;              /* of y_dims[1] elements, or CUDA_NO_OPERAND */
    uint16_t addend;            /* as large as y, or CUDA_NO_OPERAND */
    bool has_relu, has_ceiling; /* of the sum; no more than ceiling */
    float ceiling;
    bool x_last, y_last, addend_last; /* channels last in memory */
    bool is_aligned;                  /* addresses are multiples of 16 bytes */
} cuda_convolution;

/* Equations A X = B. If is_large, cuSOLVER may compute X in place of the steps, which are there,
 * too. */
typedef struct cuda_solution {
    bool is_set, is_large;
    int32_t dtype;
    tfr_solving what;
} cuda_solution;

/* Where both have it in the workspace, and `info` of each matrix, an int32. */
enum { CUDA_SOLUTION_FOUND = 0, CUDA_SOLUTION_INFO = 256 };

/*
 * What a kernel may find wrong with its data: a word, which is -1 if all is well, and how it is
 * said (finding.c). Of a singular matrix the steps leave in the workspace the number of the matrix,
 * times 2^32, and 1 + that of its pivot. Of an index, and of a sequence's length, they write its
 * position, times 2^32, and the 32 bits of the index, or of the nearest number that fits these.
 */
typedef enum cuda_mistake_kind {
    CUDA_MISTAKE_NONE,
    CUDA_MISTAKE_SINGULAR,
    CUDA_MISTAKE_INDEX,
    CUDA_MISTAKE_LENGTH
} cuda_mistake_kind;
typedef struct cuda_mistake {
    cuda_mistake_kind kind;
    tfr_solving solving; /* of SINGULAR */
    const char *what;    /* has the index: "gather" */
    bool is_wide;        /* indices are of 64 bits */
    int32_t n_dims;      /* of one index; position i is in dims[i % n_dims] */
    int64_t dims[TFR_WALK_DIMS];
} cuda_mistake;

/* TFR_EINVAL, with the words of the reference. */
int32_t cuda_mistake_say(const cuda_mistake *mistake, int64_t word, tfr_err *err);

typedef struct cuda_plan {
    /* given: bit k = operand k, inputs first, lies with the channels last (cuda_may_last) */
    uint32_t last;
    uint32_t n_steps;
    bool is_full;        /* something did not fit: a defect of the family */
    bool uses_math_mode; /* the steps are less exact than strict */
    /* an int32 in the bytes of a step that makes its kernel end with Relu if it is 1; 0: none */
    uint32_t relu_at, relu_step;
    cuda_product product;
    cuda_convolution convolution;
    cuda_solution solution;
    cuda_mistake mistake;
    cuda_step steps[CUDA_PLAN_STEPS];
    /* what is left to do where a library computes the call in place of the steps */
    bool has_behind;
    cuda_step behind;
} cuda_plan;

/*
 * Says no with tfr_decline, or leaves the YES that it finds, and sets flags, in_place and
 * workspace_bytes. Operands are plain, or as plan->last says; their types those of the family's row
 * for operand 0. plan is NULL or empty but for that.
 */
typedef void cuda_family(const cuda_chip *chip, const tfr_call *call, tfr_answer *answer,
                         cuda_plan *plan);

/* X(domain, name, since_version, dtypes, family): a row of families.def, sorted by name. */
typedef struct cuda_op {
    const char *domain, *name;
    int32_t since_version;
    uint64_t dtypes; /* of operand 0: bit n for the type of number n */
    cuda_family *plan;
} cuda_op;

/* Where element i of an operand of the walk lies. */
int64_t cuda_walk_find(const tfr_walk *walk, int32_t operand, int64_t i);

/* ---- making a plan; a NULL step or plan is taken, and nothing happens ---- */

/* A kernel of blocks of threads. */
cuda_step *cuda_plan_add(cuda_plan *plan, const char *kernel, uint64_t blocks, uint32_t threads);
/* Fills so many bytes of a workspace or an operand, the one parameter that is to follow, with 0. */
cuda_step *cuda_plan_zero(cuda_plan *plan, uint64_t bytes);
void cuda_step_operand(cuda_plan *plan, cuda_step *step, uint32_t operand);
void cuda_step_workspace(cuda_plan *plan, cuda_step *step, uint32_t offset);
void cuda_step_random(cuda_plan *plan, cuda_step *step);
void cuda_step_found(cuda_plan *plan, cuda_step *step);
void cuda_step_bytes(cuda_plan *plan, cuda_step *step, const void *value, uint32_t n);
/* Of the struct that is given next: its 8 bytes from `byte` on are the operand's address. */
void cuda_step_address(cuda_plan *plan, cuda_step *step, uint32_t byte, uint32_t operand);
static inline void cuda_step_int(cuda_plan *plan, cuda_step *step, int32_t value)
{
    cuda_step_bytes(plan, step, &value, sizeof value);
}
static inline void cuda_step_long(cuda_plan *plan, cuda_step *step, int64_t value)
{
    cuda_step_bytes(plan, step, &value, sizeof value);
}

#endif

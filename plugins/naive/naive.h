/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naive.h: what the files of the naive backend share: the row an op is described with, the prepared
 * call its kernel gets, access to elements of every type, and the walk over N-d index spaces.
 *
 * The naive backend is the specification in code. An op's file states formula, source, rounding and
 * NaN rule above plain scalar loops; sums and products run in double, integers in 64 exact bits.
 * Speed is nobody's business here. Includes nothing of tfrun but the SDK.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/fail.h>
#include <tfrun/plugin.h>

/* ---- ops and prepared calls ---- */

struct naive_op;

/* Of a kernel, for what is small. Nearly none where AddressSanitizer looks for what reaches beyond
 * its end. */
#ifdef __SANITIZE_ADDRESS__
enum { NAIVE_ROOM = sizeof(max_align_t) };
#else
enum { NAIVE_ROOM = 1024 };
#endif

/*
 * A prepared call. call is a deep copy: attributes, operands, dims and strides belong to the kernel
 * (their arrays step by sizeof); operand data stay the core's. tfr_call_input and the other readers
 * of plugin.h work on it.
 */
typedef struct naive_kernel {
    const struct naive_op *op;
    tfr_call call;
    void *state;  /* the op's own, set by its prepare; take its memory from naive_keep */
    void *blocks; /* memory of the kernel, freed at drop */
    size_t taken; /* of its room, which has what is small: a call that is copied asks for nothing */
    max_align_t room[NAIVE_ROOM / sizeof(max_align_t)];
} naive_kernel;

enum {
    NAIVE_STRIDED = 1u << 0, /* flags: takes operands with any strides; else the frame answers
                                reorder for a call that has one */
    NAIVE_RANDOM = 1u << 1   /* flags: always draws random numbers, and without attribute seed two
                                launches differ; an op that draws at times says so in answer */
};

/* A row of an op file's table. The table ends with a row whose name is NULL. */
typedef struct naive_op {
    const char *domain, *name; /* "" = ONNX */
    int32_t since_version;     /* the newest of that op */
    /* NULL = always yes. verdict is YES on entry; say no with tfr_decline. */
    int32_t (*supports)(const tfr_call *call, tfr_answer *answer);
    int32_t (*run)(const naive_kernel *kernel, const tfr_launch *launch, tfr_err *err);
    uint64_t (*workspace)(const tfr_call *call);            /* bytes for a launch; NULL = none */
    uint32_t flags;                                         /* NAIVE_... */
    int32_t (*prepare)(naive_kernel *kernel, tfr_err *err); /* NULL = nothing to do */
} naive_op;

/* The frame's: a kernel with its copy of the call, NULL without memory. destroy(NULL) is fine. */
naive_kernel *naive_kernel_create(const naive_op *op, const tfr_call *call);
void naive_kernel_destroy(naive_kernel *kernel);

/* Zeroed memory that lives until the kernel is dropped; NULL when there is none. */
void *naive_keep(naive_kernel *kernel, size_t bytes);

/* Operand's address at this launch, or its known data if the core passed none. */
const void *naive_in(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i);
void *naive_out(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i);
/* Where the true dims of output i go, or NULL if its dims are fixed. */
int64_t *naive_out_dims(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i);

/* The numbers of attribute name, or NULL with *n = 0 if it is absent. */
const int64_t *naive_attr_ints(const tfr_call *call, const char *name, uint64_t *n);
const float *naive_attr_floats(const tfr_call *call, const char *name, uint64_t *n);

/* Sets an element of a string output through the host, which owns the bytes. */
int32_t naive_set_string(tfr_string *element, const char *data, uint64_t bytes, tfr_err *err);

/* ---- elements ---- */

bool naive_is_float(int32_t dtype);    /* every float type down to 4 bits */
bool naive_is_integer(int32_t dtype);  /* signed and unsigned; not bool */
bool naive_is_unsigned(int32_t dtype); /* integers only */
bool naive_is_number(int32_t dtype);   /* float or integer; not bool, complex, string */

/*
 * Element i of an array of dtype (i may be negative), every float and integer type and bool. 64-bit
 * integers lose bits beyond 2^53 here; naive_get_int has them all.
 *
 * naive_set rounds once, from double to the nearest, ties to even. To integers it drops the
 * fraction and saturates, NaN becomes 0. To float16 and bfloat16 overflow is infinite. To the
 * float8 types it saturates as ONNX Cast with saturate=1. bool is v != 0.
 */
double naive_get(int32_t dtype, const void *p, int64_t i);
void naive_set(int32_t dtype, void *p, int64_t i, double v);
/* naive_set for float8 with saturate=0: overflow becomes infinite, or NaN where there is none. */
void naive_set_overflow(int32_t dtype, void *p, int64_t i, double v);
/* float8e8m0 with a rounding mode: 'u' up (naive_set's), 'd' down, 'n' nearest with ties up. */
void naive_set_e8m0(void *p, int64_t i, double v, char mode, bool saturate);

/*
 * Exact for all integers: uint64 travels as the same 64 bits in an int64. naive_set_int keeps the
 * low bits (wraps). Of a float naive_get_int drops the fraction and saturates.
 */
int64_t naive_get_int(int32_t dtype, const void *p, int64_t i);
void naive_set_int(int32_t dtype, void *p, int64_t i, int64_t v);

/* Smallest and largest value of an integer type; max of uint64 as its 64 bits. */
int64_t naive_int_min(int32_t dtype);
int64_t naive_int_max(int32_t dtype);

/* Copies element src_i to dst_i, any dtype but string; packed types too. */
void naive_copy(int32_t dtype, void *dst, int64_t dst_i, const void *src, int64_t src_i);
/* The same for any dtype, string too. */
int32_t naive_copy_any(int32_t dtype, void *dst, int64_t dst_i, const void *src, int64_t src_i,
                       tfr_err *err);

/* v as dtype holds it: rounds through the type as naive_set does. */
double naive_round_to(int32_t dtype, double v);

/* 64-bit wrapping arithmetic without undefined behaviour. */
static inline int64_t naive_wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t naive_wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t naive_wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* ---- index spaces ---- */

/* Row-major strides in elements of a plain tensor. */
void naive_dims_to_strides(int32_t rank, const int64_t *dims, int64_t *strides);
/* The operand's strides, its own or the plain ones. */
void naive_strides(const tfr_operand *operand, int64_t *strides);
/* No strides, or strides that equal the plain ones (dims of 1 and empty tensors aside). */
bool naive_is_plain(const tfr_operand *operand);
/* Product of dims[begin...end-1]. */
int64_t naive_product(const int64_t *dims, int32_t begin, int32_t end);

/* A plain tensor around one axis: element (o, j, i) lies at (o * n + j) * inner + i. */
typedef struct naive_lanes {
    int64_t outer, n, inner;
} naive_lanes;

naive_lanes naive_lanes_of(const tfr_operand *operand, int64_t axis);

enum { NAIVE_ITER_OPERANDS = 8 };

/*
 * Walks an index space in row-major order and keeps the offsets of up to 8 tensors in step:
 *
 *   naive_iter_init(&it, y->rank, y->dims);
 *   int a = naive_iter_add(&it, x), b = naive_iter_add(&it, y);
 *   for (; it.left > 0; naive_iter_next(&it))
 *       naive_set(y->dtype, py, it.at[b], naive_get(x->dtype, px, it.at[a]));
 */
typedef struct naive_iter {
    int64_t left; /* indices not visited yet, this one among them */
    int64_t at[NAIVE_ITER_OPERANDS];
    int64_t index[TFR_MAX_RANK];
    int64_t dims[TFR_MAX_RANK];
    int64_t strides[NAIVE_ITER_OPERANDS][TFR_MAX_RANK];
    int32_t rank;
    int32_t n;
} naive_iter;

void naive_iter_init(naive_iter *it, int32_t rank, const int64_t *dims);
/* Adds a tensor broadcast to the space by numpy's rule (aligned right, dims of 1 repeat); its slot
 * in at. */
int naive_iter_add(naive_iter *it, const tfr_operand *operand);
/* Adds one with these strides, rank of the space of them (0 = repeats), starting at offset. */
int naive_iter_add_strides(naive_iter *it, const int64_t *strides, int64_t offset);
void naive_iter_next(naive_iter *it);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_kit.h: what the inference functions of the rows share: operands, errors, values of inputs,
 * axes, broadcasting. Included by infer*.c only. Inputs have been checked when a row's function
 * runs: rank and dims are sane, the product of an input's non-zero dims fits 63 bits.
 *
 * In symbolic inference a function runs only if the ranks of its inputs are known, but for those
 * that copes_without_rank() in infer.c names. It may return TFR__EPENDING whenever it cannot go on:
 * what it has set stays, the other outputs have what follows from the signature. All functions
 * below cope with symbols; a function that does arithmetic of its own has to ask first.
 */
#ifndef TFR__INFER_KIT_H
#define TFR__INFER_KIT_H

#include <stdarg.h>
#include <tfrun/fail.h>

#include "op/infer.h"
#include "op/infer_rows.h"

/* A shape under construction. */
typedef struct tfr__dims {
    int32_t rank; /* symbolic: -1 = not known */
    int64_t d[TFR_MAX_RANK];
} tfr__dims;

/* For undoing nothing: passes an error or TFR__EPENDING on. */
#define TFR__TRY(expr)                                                                             \
    do {                                                                                           \
        tfr_status try_ = (expr);                                                                  \
        if (try_)                                                                                  \
            return try_;                                                                           \
    } while (0)

/* tfr_fail with the node's name and op in front. */
TFR__PRINTF(4, 5)
tfr_status tfr__infer_fail(const tfr__infer *in, tfr_err *err, tfr_status code, const char *format,
                           ...);

/* Step 2 of tfr__infer_node: attributes against the row, defaults filled in (infer_attrs.c). */
tfr_status tfr__infer_attrs(const tfr__infer *in, tfr_err *err);

/* "[2,3,4]" into text. */
typedef struct tfr__text {
    char text[256];
} tfr__text;
const char *tfr__dims_text(const int64_t *dims, int32_t rank, tfr__text *buffer);
const char *tfr__type_text(const tfr__type *type, tfr__text *buffer);

/* ---- symbols ---- */

static inline bool tfr__is_symbolic(const tfr__infer *in)
{
    return in->symbols != NULL;
}

/* OK where symbolic inference goes on without a value that it could not have. */
static inline tfr_status tfr__may_pend(const tfr__infer *in, tfr_status status)
{
    return tfr__is_symbolic(in) && status == TFR__EPENDING ? TFR_OK : status;
}

/* A dim of which nothing is known. Symbolic inference only, as all that makes dims here. */
static inline int64_t tfr__new_dim(const tfr__infer *in)
{
    return tfr__symbol_new(in->symbols);
}

/* Are the dims known to be different? Two symbols never are, but then it is a guess. */
bool tfr__differ(const tfr__infer *in, int64_t a, int64_t b);

/* Of two dims that are equal the one that says more. */
static inline int64_t tfr__meet(int64_t a, int64_t b)
{
    return a >= 0 ? a : b >= 0 ? b : a;
}

/* A number that is a dim, so not negative, and one that may be anything else, too: the value of an
 * input that asks for a dim. What is not known is a new dim. */
int64_t tfr__dim_of(const tfr__infer *in, tfr__number n);
int64_t tfr__dim_of_value(const tfr__infer *in, tfr__number n);
/* dim + n for any n, dim * n and dim / n for n > 0, where that is a dim. */
int64_t tfr__dim_add(const tfr__infer *in, int64_t dim, int64_t n);
int64_t tfr__dim_mul(const tfr__infer *in, int64_t dim, int64_t n);
int64_t tfr__dim_div(const tfr__infer *in, int64_t dim, int64_t n);
/* The product of n dims. */
tfr__number tfr__dims_product(const tfr__infer *in, const int64_t *dims, int32_t n);

/* ---- operands ---- */

/* Input i, NULL if absent. */
const tfr__type *tfr__in(const tfr__infer *in, uint32_t i);
/* Name of input i in the signature, with the index for a variadic one: "data_0[2]". */
const char *tfr__in_name(const tfr__infer *in, uint32_t i, tfr__text *buffer);
/* Whether the node names output i. */
bool tfr__wants(const tfr__infer *in, uint32_t i);

/* Sets output i if the node names it. Fails if rank is more than TFR_MAX_RANK. */
tfr_status tfr__out(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype, int32_t rank,
                    const int64_t *dims);
/* The same with the dims of a type or shape. */
tfr_status tfr__out_like(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__type *shape);
tfr_status tfr__out_dims(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__dims *shape);
/* Output i has this element type and nobody knows which shape. */
void tfr__out_unknown(tfr__infer *in, uint32_t i, int32_t dtype);
/* Marks output i: its dims are upper bounds. Symbolic: nothing, what is not exact is a new dim. */
void tfr__out_dynamic(tfr__infer *in, uint32_t i);

/* Rank of input i is exactly, or at least, want. An unknown rank becomes want, or is pending. */
tfr_status tfr__want_rank(tfr__infer *in, tfr_err *err, uint32_t i, int32_t want);
tfr_status tfr__want_rank_min(tfr__infer *in, tfr_err *err, uint32_t i, int32_t least);
/* Input i, if there, has this shape / one element. what says whose: "channels of X". */
tfr_status tfr__want_vector(tfr__infer *in, tfr_err *err, uint32_t i, int64_t length,
                            const char *what);
tfr_status tfr__want_shape(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape);
tfr_status tfr__want_one(tfr__infer *in, tfr_err *err, uint32_t i);

/*
 * infer_value.c. The value of input i: integers of i32 or i64, numbers of any float or index type;
 * rank 0 or 1, at most max elements. TFR__EPENDING while it is not known.
 */
tfr_status tfr__value_ints(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out, uint32_t max,
                           uint32_t *n);
/* The same for inputs whose elements may be symbols: n numbers, of which each may be unknown. Pends
 * only if their count is not known. */
tfr_status tfr__value_numbers(tfr__infer *in, tfr_err *err, uint32_t i, tfr__number *out,
                              uint32_t max, uint32_t *n);
/* The same where they are dims; what: "shape", for the message about a negative one; with NULL the
 * caller has to find it, but in symbolic inference. */
tfr_status tfr__value_dims(tfr__infer *in, tfr_err *err, uint32_t i, const char *what,
                           tfr__dims *out);
tfr_status tfr__value_int(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out);
/* The same where the number may be unknown; then it never pends. */
tfr_status tfr__value_number(tfr__infer *in, tfr_err *err, uint32_t i, tfr__number *out);
tfr_status tfr__value_floats(tfr__infer *in, tfr_err *err, uint32_t i, double *out, uint32_t max,
                             uint32_t *n);
/* The raw bytes; *out is never NULL on success. */
tfr_status tfr__value_raw(tfr__infer *in, tfr_err *err, uint32_t i, const void **out);
double tfr__element_double(const void *data, int32_t dtype, int64_t at);

/* axis in [-rank, rank) made >= 0. */
tfr_status tfr__axis(tfr__infer *in, tfr_err *err, const char *what, int64_t axis, int32_t rank,
                     int32_t *out);
/* The attribute of that name, which has a default or is there, normalised in place. */
tfr_status tfr__axis_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t rank,
                          int32_t *out);
/* n axes, each in range and none twice, made >= 0 in place. */
tfr_status tfr__axes(tfr__infer *in, tfr_err *err, const char *what, int64_t *axes, uint32_t n,
                     int32_t rank);
void tfr__sort_axes(int64_t *axes, uint32_t n);

/* An attribute of ints into out; *n = 0 and out untouched if absent. More than max is an error. */
tfr_status tfr__attr_list_ints(tfr__infer *in, tfr_err *err, const char *name, int64_t *out,
                               uint32_t max, uint32_t *n);

/* Merges input i into the broadcast shape (ONNX, multidirectional). Start with rank 0. */
tfr_status tfr__broadcast(tfr__infer *in, tfr_err *err, uint32_t i, tfr__dims *shape);
/* Input i broadcasts to shape without changing it (unidirectional); absent is fine. */
tfr_status tfr__broadcasts_to(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape);
/* One dim of a broadcast shape takes another one in; false if they do not go together. */
bool tfr__broadcast_dim(const tfr__infer *in, int64_t *d, int64_t other);
void tfr__dims_of(const tfr__type *type, tfr__dims *out);

/* A product or sum that must fit 63 bits. what: "output height". */
tfr_status tfr__mul(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out);
tfr_status tfr__add(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out);

/* The same for dims, which may be symbols. */
tfr_status tfr__mul_dims(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                         int64_t *out);
tfr_status tfr__add_dims(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                         int64_t *out);

/* TFR__EPENDING if the element type of input i is not known. */
tfr_status tfr__need_dtype(tfr__infer *in, uint32_t i);
/* An attribute that names a dtype: its value, or absent if it is not there; unknown = error. */
tfr_status tfr__dtype_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t absent,
                           int32_t *out);

#endif

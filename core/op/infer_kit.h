/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_kit.h: what the inference functions of the rows share: operands, errors, values of inputs,
 * axes, broadcasting. Included by infer*.c only. Inputs have been checked when a row's function
 * runs: rank and dims are sane, the product of an input's non-zero dims fits 63 bits.
 */
#ifndef TFR__INFER_KIT_H
#define TFR__INFER_KIT_H

#include <stdarg.h>
#include <tfrun/fail.h>

#include "op/infer.h"
#include "op/infer_rows.h"

/* A shape under construction. */
typedef struct tfr__dims {
    int32_t rank;
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

/* "[2,3,4]" into text. */
typedef struct tfr__text {
    char text[256];
} tfr__text;
const char *tfr__dims_text(const int64_t *dims, int32_t rank, tfr__text *buffer);
const char *tfr__type_text(const tfr__type *type, tfr__text *buffer);

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
/* Marks output i: its dims are upper bounds. */
void tfr__out_dynamic(tfr__infer *in, uint32_t i);

/* Rank of input i is exactly, or at least, want. */
tfr_status tfr__want_rank(tfr__infer *in, tfr_err *err, uint32_t i, int32_t want);
tfr_status tfr__want_rank_min(tfr__infer *in, tfr_err *err, uint32_t i, int32_t least);
/* Input i, if there, has this shape / one element. what says whose: "channels of X". */
tfr_status tfr__want_vector(tfr__infer *in, tfr_err *err, uint32_t i, int64_t length,
                            const char *what);
tfr_status tfr__want_shape(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape);
tfr_status tfr__want_one(tfr__infer *in, tfr_err *err, uint32_t i);

/*
 * The value of input i: integers of i32 or i64, numbers of any float or index type; rank 0 or 1, at
 * most max elements. TFR__EPENDING while it is not known.
 */
tfr_status tfr__value_ints(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out, uint32_t max,
                           uint32_t *n);
tfr_status tfr__value_int(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out);
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
void tfr__dims_of(const tfr__type *type, tfr__dims *out);

/* A product or sum that must fit 63 bits. what: "output height". */
tfr_status tfr__mul(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out);
tfr_status tfr__add(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out);

/* An attribute that names a dtype: its value, or absent if it is not there; unknown = error. */
tfr_status tfr__dtype_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t absent,
                           int32_t *out);

#endif

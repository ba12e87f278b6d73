/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h: an operand together with its address at a launch, for ops that read and write elements
 * by number. All of it is inline and none of it allocates; the walk over index spaces is in
 * naive.h.
 */
#ifndef NAIVE_TENSOR_H
#define NAIVE_TENSOR_H

#include "naive.h"

/* dtype is TFR_DTYPE_NONE and n is 0 for an absent operand. */
typedef struct naive_tensor {
    const tfr_operand *operand;
    const int64_t *dims;
    int64_t n; /* elements */
    int32_t dtype, rank;
    const void *in; /* where to read */
    void *out;      /* where to write; NULL for an input */
} naive_tensor;

static inline naive_tensor naive_tensor_of(const tfr_operand *o, const void *in, void *out)
{
    naive_tensor t = {o, NULL, 0, TFR_DTYPE_NONE, 0, in, out};

    if (o) {
        t.dims = o->dims;
        t.n = naive_product(o->dims, 0, o->rank);
        t.dtype = o->dtype;
        t.rank = o->rank;
    }
    return t;
}

static inline naive_tensor naive_input(const naive_kernel *k, const tfr_launch *l, uint32_t i)
{
    return naive_tensor_of(tfr_call_input(&k->call, i), naive_in(k, l, i), NULL);
}

static inline naive_tensor naive_output(const naive_kernel *k, const tfr_launch *l, uint32_t i)
{
    void *p = naive_out(k, l, i);

    return naive_tensor_of(tfr_call_output(&k->call, i), p, p);
}

/* naive_get and naive_set with a short way for the commonest type. */
static inline double naive_read(const naive_tensor *t, int64_t i)
{
    return t->dtype == TFR_DTYPE_F32 ? (double)((const float *)t->in)[i]
                                     : naive_get(t->dtype, t->in, i);
}

static inline int64_t naive_read_int(const naive_tensor *t, int64_t i)
{
    return naive_get_int(t->dtype, t->in, i);
}

static inline void naive_write(const naive_tensor *t, int64_t i, double v)
{
    naive_set(t->dtype, t->out, i, v);
}

static inline void naive_write_int(const naive_tensor *t, int64_t i, int64_t v)
{
    naive_set_int(t->dtype, t->out, i, v);
}

/* Element j of y becomes element i of x, any dtype. */
static inline int32_t naive_move(const naive_tensor *y, int64_t j, const naive_tensor *x, int64_t i,
                                 tfr_err *err)
{
    return naive_copy_any(y->dtype, y->out, j, x->in, i, err);
}

/* Element i of y becomes zero: false, or the empty string; any dtype. */
static inline int32_t naive_clear(const naive_tensor *y, int64_t i, tfr_err *err)
{
    static const uint64_t zero[2] = {0, 0}; /* as long as the longest element */

    if (y->dtype == TFR_DTYPE_STRING)
        return naive_set_string((tfr_string *)y->out + i, "", 0, err);
    naive_copy(y->dtype, y->out, i, zero, 0);
    return TFR_OK;
}

/*
 * An index that was read from a tensor and counts from the end if negative, made positive.
 * Returns -1 if it lies outside [-n, n).
 */
static inline int64_t naive_index(int64_t i, int64_t n)
{
    if (i < -n || i >= n)
        return -1;
    return i < 0 ? i + n : i;
}

/*
 * A computed place as an index in [low, high], its fraction dropped: what is beyond a limit, and
 * the infinities, become that limit, NaN becomes low. C leaves such a conversion undefined.
 */
static inline int64_t naive_to_index(double v, int64_t low, int64_t high)
{
    if (!(v > (double)low))
        return low;
    return v < (double)high ? (int64_t)v : high;
}

/*
 * Integers that the core has put into an attribute (tfrun/plugin_normal.h); a call that
 * lacks the attribute has them in an input.
 */
typedef struct naive_list {
    const int64_t *ints; /* NULL = read t */
    naive_tensor t;
    int64_t n;
} naive_list;

static inline naive_list naive_list_of(const naive_kernel *k, const tfr_launch *l, const char *attr,
                                       uint32_t input)
{
    const tfr_attr *a = tfr_call_attr(&k->call, attr);
    naive_list list = {NULL, naive_tensor_of(NULL, NULL, NULL), 0};

    if (a) {
        list.ints = a->ints;
        list.n = a->ints ? (int64_t)a->n : 0;
    } else {
        list.t = naive_input(k, l, input);
        list.n = list.t.n;
    }
    return list;
}

static inline int64_t naive_list_at(const naive_list *list, int64_t i)
{
    return list->ints ? list->ints[i] : naive_read_int(&list->t, i);
}

/* An axis that an operand names; the core has checked its range. */
static inline int32_t naive_axis(int64_t axis, int32_t rank)
{
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

#endif

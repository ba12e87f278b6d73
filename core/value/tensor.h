/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h: what a tfr_tensor is inside the core. Other folders use tfrun/tensor.h only. */
#ifndef TFR_CORE_TENSOR_H
#define TFR_CORE_TENSOR_H

#include <stdatomic.h>
#include <tfrun/tensor.h>

#include "value/bits.h"

/* Dims and strides come last: what lies in the first 128 bytes takes less code. */
struct tfr_tensor {
    atomic_uint refs;
    int32_t kind;  /* tfr_kind */
    int32_t dtype; /* tfr_dtype */
    bool plain;
    bool unaligned; /* data may lie at any address: kernels and passes ask tfr__tensor_data */
    /* Who keeps data alive: this tensor, another one (base), or the caller (release). */
    bool owns;
    atomic_bool seen; /* somebody outside may hold data */
    /* Nobody may write the elements. */
    atomic_bool read_only;
    uint32_t depth; /* 0 = a tensor; else 1 + the greatest depth of the values */
    int64_t n_elements;
    size_t bytes; /* of the plain form */
    void *data;
    tfr_tensor *base;
    void *apart;          /* data if it is a block of its own, not the end of this one */
    atomic_uintptr_t own; /* the aligned copy of unaligned data, once somebody has asked; or 0 */
    void (*release)(void *user);
    void *release_user;
    void (*idle)(void *user, const void *at, size_t bytes); /* of release_user; or NULL */
    /* Sequences and optionals. */
    tfr_tensor **values;
    size_t n_values;
    tfr_shape shape;
    int64_t strides[TFR_MAX_RANK];
};

/* Values inside values: more is TFR_ELIMIT, so that walking a value never runs out of stack. */
#define TFR__MAX_VALUE_DEPTH 8

/*
 * As tfr_tensor_create, but in one block, and for somebody who sets every element; strings are
 * empty and packed types 0 as ever.
 */
tfr_status tfr__tensor_create_unset(tfr_dtype dtype, const tfr_shape *shape, tfr_tensor **out,
                                    tfr_err *err);

/* As tfr_tensor_create, for somebody who sets every element; not for strings and packed types. */
tfr_status tfr__tensor_create_apart(tfr_dtype dtype, const tfr_shape *shape, tfr_tensor **out,
                                    tfr_err *err);

/*
 * As tfr_tensor_wrap. any_address: plain memory need not be aligned to its elements, and is then
 * unaligned; not for strings.
 */
tfr_status tfr__tensor_wrap(tfr_dtype dtype, const tfr_shape *shape, const int64_t *strides,
                            void *data, bool any_address, void (*release)(void *user), void *user,
                            tfr_tensor **out, tfr_err *err);
/* From now on nobody may write the elements. */
static inline void tfr__tensor_protect(tfr_tensor *tensor)
{
    atomic_store_explicit(&tensor->read_only, true, memory_order_relaxed);
}

/* Do the ranges overlap in which their elements lie? */
bool tfr__tensors_share(const tfr_tensor *a, const tfr_tensor *b);
/*
 * A tensor over the same memory, from the same element on and with the same strides, that is larger
 * along one axis. NULL: there is no room for it, the elements of one index and the next would meet,
 * nobody may write them, or there is no memory.
 */
tfr_tensor *tfr__tensor_grow(const tfr_tensor *tensor, int32_t rank, const int64_t *dims);
/* The elements, aligned; of an unaligned tensor a copy that is made now. NULL = no memory for it.
 */
void *tfr__tensor_data(const tfr_tensor *tensor);
/* Do the elements lie at multiples of their size, so that a kernel can read them? */
static inline bool tfr__tensor_is_aligned(const tfr_tensor *t)
{
    uint32_t bits = tfr__dtype_bits(t->dtype);
    size_t size = bits >= 128 ? 8 : bits >= 8 ? bits / 8 : 1; /* 128 bits are pairs of 64 */
    return (uintptr_t)t->data % size == 0;
}
/* Nobody will read the elements of an unaligned tensor soon, or n bytes of them. Any thread. */
void tfr__tensor_rest(const tfr_tensor *tensor);
void tfr__tensor_rest_part(const tfr_tensor *tensor, size_t at, size_t n);

/* The host's string service for elements outside a tfr_tensor too (arena slots). */
tfr_status tfr__string_set(tfr_string *element, const char *data, uint64_t bytes);
/* Frees what tfr__string_set gave, for n elements, and zeroes them. */
void tfr__strings_clear(tfr_string *elements, int64_t n);

/*
 * Copies a tensor from any strides to any strides, in elements, NULL = plain. The memories do not
 * overlap. Strings are copied deeply: dst's are freed or zero. Packed types have to be plain.
 */
tfr_status tfr__strided_copy(tfr_dtype dtype, const tfr_shape *shape, void *dst,
                             const int64_t *dst_strides, const void *src,
                             const int64_t *src_strides, tfr_err *err);

#endif

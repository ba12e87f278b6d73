/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/tensor.h: the values that go into and come out of graphs, in host memory. A tfr_tensor is
 * one of three kinds: a tensor proper, a sequence of values, or an optional value; the last two
 * exist for ONNX models that use them.
 *
 * Ownership: reference counted. Every function that gives one out through `out` gives the caller a
 * reference, to be released. Functions that take a tensor retain it if they need it longer.
 * Threads: counts are atomic; the elements are not guarded, so do not write while others read.
 */
#ifndef TFRUN_TENSOR_H
#define TFRUN_TENSOR_H

#include <tfrun/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_tensor tfr_tensor;

typedef enum tfr_kind {
    TFR_KIND_NONE = 0,
    TFR_KIND_TENSOR = 1,
    TFR_KIND_SEQUENCE = 2,
    TFR_KIND_OPTIONAL = 3
} tfr_kind;

/* Takes the next bytes of a file, for what writes one anywhere; not TFR_OK ends the writing. */
typedef tfr_status (*tfr_write_fn)(void *user, const void *bytes, size_t n, tfr_err *err);

/* A plain tensor with zeroed elements, aligned to 64 bytes. Strings start empty. */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_create(tfr_dtype dtype, const tfr_shape *shape,
                                                    tfr_tensor **out, tfr_err *err);

/*
 * A tensor over the caller's memory, which is not copied. strides are in elements, NULL = plain;
 * they may be 0 or negative (data is the element at index 0). Packed types must be plain.
 * release(user) is called once when the last reference goes; NULL = nothing to do. On failure it is
 * not called.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_wrap(tfr_dtype dtype, const tfr_shape *shape,
                                                  const int64_t *strides, void *data,
                                                  void (*release)(void *user), void *user,
                                                  tfr_tensor **out, tfr_err *err);

/*
 * A plain tensor over bytes at any address, such as those of a file, that nobody changes. Not for
 * strings. tfr_tensor_data gives the bytes if they are aligned, else a copy which the first call
 * makes; backends that only pack or copy them do without. idle(user, at, n) tells, on any thread,
 * that nobody will read these bytes soon, so that they may leave memory until somebody does; it is
 * not called once tfr_tensor_data was. NULL = nothing to do; release as above. bytes has the size
 * of the plain form. TFR_EINVAL without bytes or for strings, TFR_ENOMEM, and what a shape can be
 * refused for; after an error release is not called.
 */
TFR_API TFR_MUST_CHECK tfr_status
tfr_tensor_wrap_bytes(tfr_dtype dtype, const tfr_shape *shape, const void *bytes,
                      void (*idle)(void *user, const void *at, size_t n),
                      void (*release)(void *user), void *user, tfr_tensor **out, tfr_err *err);

/*
 * Another tensor over base's memory, which it keeps alive: starting `offset` elements after base's
 * first one. TFR_ESHAPE if an index would reach outside base's memory.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_view(tfr_tensor *base, int64_t offset,
                                                  const tfr_shape *shape, const int64_t *strides,
                                                  tfr_tensor **out, tfr_err *err);

/* A plain copy of its own memory; of a sequence, a sequence of copies. */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_copy(const tfr_tensor *tensor, tfr_tensor **out,
                                                  tfr_err *err);

/*
 * Gives write the bytes of the plain form, in order and in pieces; write's error ends it. Takes no
 * memory to speak of: strided elements are gathered block by block, and of tfr_tensor_wrap_bytes no
 * copy is made and idle is told. TFR_EUNSUPPORTED for strings, sequences and optionals.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_write(const tfr_tensor *tensor, tfr_write_fn write,
                                                   void *user, tfr_err *err);

/* Returns tensor. */
TFR_API tfr_tensor *tfr_tensor_retain(tfr_tensor *tensor);
/* NULL is fine. */
TFR_API void tfr_tensor_release(tfr_tensor *tensor);

TFR_API tfr_kind tfr_tensor_kind(const tfr_tensor *tensor);
/* Of a sequence or optional: its elements' type, or TFR_DTYPE_NONE. */
TFR_API tfr_dtype tfr_tensor_dtype(const tfr_tensor *tensor);
/* Lives as long as the tensor; rank 0 for a sequence or optional. */
TFR_API const tfr_shape *tfr_tensor_shape(const tfr_tensor *tensor);
/* In elements, rank of them; lives as long as the tensor. */
TFR_API const int64_t *tfr_tensor_strides(const tfr_tensor *tensor);
/* Dense and row-major. */
TFR_API bool tfr_tensor_is_plain(const tfr_tensor *tensor);
/*
 * The elements must not be written: those of tfr_tensor_wrap_bytes, of a graph's constants, of what
 * tfr_tensor_from_dlpack took as such, and of views of any of them. Nothing stops who writes them
 * all the same, but a binding does not take them for its outputs.
 */
TFR_API bool tfr_tensor_is_read_only(const tfr_tensor *tensor);
/*
 * The element at index 0; NULL if there are no elements, the value is not a tensor, or there is no
 * memory for an aligned copy of what tfr_tensor_wrap_bytes took.
 */
TFR_API void *tfr_tensor_data(const tfr_tensor *tensor);
TFR_API int64_t tfr_tensor_elements(const tfr_tensor *tensor);
/* Bytes of the plain form. */
TFR_API size_t tfr_tensor_bytes(const tfr_tensor *tensor);

/* Sets element i (in plain order) of a string tensor to a copy of the bytes. */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_set_string(tfr_tensor *tensor, int64_t i,
                                                        const char *data, size_t bytes,
                                                        tfr_err *err);
/* Element i of a string tensor; ended by a zero byte; valid until it is set again or released. */
TFR_API const char *tfr_tensor_get_string(const tfr_tensor *tensor, int64_t i, size_t *bytes);

/* A sequence of n values, each retained. dtype is the elements' type (needed when n is 0). */
TFR_API TFR_MUST_CHECK tfr_status tfr_sequence_create(tfr_dtype dtype, tfr_tensor *const *values,
                                                      size_t n, tfr_tensor **out, tfr_err *err);
/* An optional holding value (retained), or nothing for NULL. */
TFR_API TFR_MUST_CHECK tfr_status tfr_optional_create(tfr_dtype dtype, tfr_tensor *value,
                                                      tfr_tensor **out, tfr_err *err);
/* Values in a sequence, or 0 or 1 in an optional; 0 for a tensor. */
TFR_API size_t tfr_sequence_length(const tfr_tensor *sequence);
/* Value i, borrowed from the sequence or optional; NULL if there is none. */
TFR_API tfr_tensor *tfr_sequence_at(const tfr_tensor *sequence, size_t i);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c: tensors over their own, another tensor's or the caller's memory, and the life of every
 * value, sequences and optionals too (sequence.c makes those). Strings in a tensor are allocations
 * of their own, each ended by a zero byte.
 */
#include "value/tensor.h"

#include <inttypes.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/bits.h"

#define TENSOR_ALIGNMENT 64
#define COPY_BYTES       ((size_t)4 << 20)
/* Room for the text of any shape. */
#define SHAPE_TEXT (TFR_MAX_RANK * 21 + 3)

/* ---- strings --------------------------------------------------------------------------------- */

tfr_status tfr__string_set(tfr_string *element, const char *data, uint64_t bytes)
{
    if (bytes >= SIZE_MAX)
        return TFR_ENOMEM;
    /* The new one first: data may lie in the old one. */
    char *copy = tfr__alloc((size_t)bytes + 1);
    if (!copy)
        return TFR_ENOMEM;
    if (bytes > 0)
        memcpy(copy, data, (size_t)bytes);
    copy[bytes] = '\0';
    tfr__free((void *)(uintptr_t)element->data);
    element->data = copy;
    element->bytes = bytes;
    return TFR_OK;
}

void tfr__strings_clear(tfr_string *elements, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        tfr__free((void *)(uintptr_t)elements[i].data);
        elements[i].data = NULL;
        elements[i].bytes = 0;
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Natural alignment of an element. */
static size_t dtype_alignment(tfr_dtype dtype)
{
    switch ((int)dtype) {
    case TFR_DTYPE_STRING:
        return _Alignof(tfr_string);
    case TFR_DTYPE_C64:
        return 4;
    case TFR_DTYPE_C128:
        return 8;
    default:
        return tfr__dtype_bits((int32_t)dtype) < 8 ? 1 : tfr__dtype_bits((int32_t)dtype) / 8;
    }
}

/* Dims of 1 and empty tensors are plain with any strides. */
static bool strides_are_plain(const tfr_shape *shape, const int64_t *strides, int64_t n_elements)
{
    int64_t plain[TFR_MAX_RANK];
    if (n_elements == 0)
        return true;
    tfr_shape_strides(shape, plain);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1 && strides[i] != plain[i])
            return false;
    return true;
}

/*
 * strides NULL = plain. With memory the elements lie in one block behind the header, with any
 * values.
 */
static tfr_status tensor_new(tfr_dtype dtype, const tfr_shape *shape, const int64_t *strides,
                             bool memory, tfr_tensor **out, tfr_err *err)
{
    size_t bytes;
    int64_t n_elements = 1;
    char text[SHAPE_TEXT];
    tfr_status status = tfr_shape_bytes(shape, dtype, &bytes, err);
    if (status)
        return status;
    for (int32_t i = 0; i < shape->rank; i++)
        n_elements = (int64_t)((uint64_t)n_elements * (uint64_t)shape->dims[i]);
    bool plain = !strides || strides_are_plain(shape, strides, n_elements);
    if (!plain && tfr__dtype_bits((int32_t)dtype) < 8)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s is packed, a tensor %s of it has to be plain",
                        tfr_dtype_name(dtype), tfr_shape_format(shape, text, sizeof text));
    const size_t capacity = memory && bytes > 0 ? bytes + TENSOR_ALIGNMENT - 1 : 0;
    tfr_tensor *tensor = tfr__alloc(sizeof *tensor + capacity);
    if (!tensor)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a tensor's header%s of %zu bytes",
                        capacity ? " and elements" : "", sizeof *tensor + capacity);
    memset(tensor, 0, sizeof *tensor);
    atomic_init(&tensor->refs, 1);
    tensor->kind = TFR_KIND_TENSOR;
    tensor->dtype = (int32_t)dtype;
    tensor->plain = plain;
    tensor->shape.rank = shape->rank;
    memcpy(tensor->shape.dims, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]);
    tensor->n_elements = n_elements;
    tensor->bytes = bytes;
    if (strides)
        memcpy(tensor->strides, strides, (size_t)shape->rank * sizeof strides[0]);
    else
        tfr_shape_strides(shape, tensor->strides);
    if (capacity) {
        uintptr_t behind = (uintptr_t)(tensor + 1);
        char *data = (char *)(tensor + 1);
        tensor->data = data + (-behind & (TENSOR_ALIGNMENT - 1));
        tensor->owns = true;
        tfr__forbid(data, (size_t)((char *)tensor->data - data));
        tfr__forbid((char *)tensor->data + bytes,
                    capacity - bytes - (size_t)((char *)tensor->data - data));
    }
    *out = tensor;
    return TFR_OK;
}

tfr_status tfr__tensor_create_unset(tfr_dtype dtype, const tfr_shape *shape, tfr_tensor **out,
                                    tfr_err *err)
{
    tfr_status status = tensor_new(dtype, shape, NULL, true, out, err);
    bool packed = tfr__dtype_bits((int32_t)dtype) < 8; /* the bits behind the last element are 0 */
    if (!status && (packed || dtype == TFR_DTYPE_STRING) && (*out)->bytes)
        memset((*out)->data, 0, (*out)->bytes);
    return status;
}

tfr_status tfr__tensor_create_apart(tfr_dtype dtype, const tfr_shape *shape, tfr_tensor **out,
                                    tfr_err *err)
{
    tfr_tensor *tensor;
    char text[SHAPE_TEXT];
    if (!shape || !out)
        return tfr_fail(err, TFR_EINVAL, "a tensor needs a shape and a place to go");
    tfr_status status = tensor_new(dtype, shape, NULL, false, &tensor, err);
    if (status)
        return status;
    if (tensor->bytes > 0) {
        tensor->apart = tfr__alloc_aligned(tensor->bytes, TENSOR_ALIGNMENT);
        if (!tensor->apart) {
            size_t bytes = tensor->bytes;
            tfr_tensor_release(tensor);
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes, a %s tensor of shape %s",
                            bytes, tfr_dtype_name(dtype),
                            tfr_shape_format(shape, text, sizeof text));
        }
        tensor->data = tensor->apart;
        tensor->owns = true;
    }
    *out = tensor;
    return TFR_OK;
}

tfr_status tfr_tensor_create(tfr_dtype dtype, const tfr_shape *shape, tfr_tensor **out,
                             tfr_err *err)
{
    tfr_status status = tfr__tensor_create_apart(dtype, shape, out, err);
    if (!status && (*out)->bytes)
        memset((*out)->data, 0, (*out)->bytes);
    return status;
}

/*
 * The least and the greatest element offset that an index of the tensor reaches. False if bytes up
 * to there, or the byte strides of whole dims, do not fit 63 bits. n_elements is not 0.
 */
static bool reach(const tfr_shape *shape, const int64_t *strides, int64_t element_bytes,
                  int64_t *low, int64_t *high)
{
    int64_t capacity = INT64_MAX / element_bytes;
    *low = *high = 0;
    for (int32_t i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        if (strides[i] == INT64_MIN)
            return false;
        const int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
        if (step > capacity / dim)
            return false;
        capacity -= step * dim;
        *(strides[i] < 0 ? low : high) += strides[i] * (dim - 1);
    }
    return true;
}

static int64_t element_bytes_at_least_one(tfr_dtype dtype)
{
    const int64_t bits = tfr__dtype_bits((int32_t)dtype);
    return bits < 8 ? 1 : bits / 8;
}

bool tfr__tensors_share(const tfr_tensor *a, const tfr_tensor *b)
{
    const tfr_tensor *const t[2] = {a, b};
    uintptr_t begin[2], end[2];
    for (int i = 0; i < 2; i++) {
        int64_t low, high, bytes = element_bytes_at_least_one((tfr_dtype)t[i]->dtype);
        if (t[i]->kind != TFR_KIND_TENSOR || t[i]->n_elements == 0 ||
            !reach(&t[i]->shape, t[i]->strides, bytes, &low, &high))
            return false;
        begin[i] = (uintptr_t)t[i]->data + (uintptr_t)(low * bytes);
        end[i] = t[i]->plain ? begin[i] + t[i]->bytes
                             : (uintptr_t)t[i]->data + (uintptr_t)((high + 1) * bytes);
    }
    return begin[0] < end[1] && begin[1] < end[0];
}

tfr_status tfr__tensor_wrap(tfr_dtype dtype, const tfr_shape *shape, const int64_t *strides,
                            void *data, bool any_address, void (*release)(void *user), void *user,
                            tfr_tensor **out, tfr_err *err)
{
    tfr_tensor *tensor;
    int64_t low;
    int64_t high;
    char text[SHAPE_TEXT];
    if (!shape || !out)
        return tfr_fail(err, TFR_EINVAL, "a tensor needs a shape and a place to go");
    tfr_status status = tensor_new(dtype, shape, strides, false, &tensor, err);
    if (status)
        return status;
    tensor->unaligned = any_address && tensor->plain;
    if (tensor->n_elements > 0 && !data)
        status = tfr_fail(err, TFR_EINVAL, "no memory given for a tensor of shape %s",
                          tfr_shape_format(shape, text, sizeof text));
    else if (!tensor->unaligned && (uintptr_t)data % dtype_alignment(dtype) != 0)
        status = tfr_fail(err, TFR_EINVAL, "memory at %p is not aligned to the %zu bytes of %s",
                          data, dtype_alignment(dtype), tfr_dtype_name(dtype));
    else if (tensor->n_elements > 0 &&
             !reach(shape, tensor->strides, element_bytes_at_least_one(dtype), &low, &high))
        status = tfr_fail(err, TFR_ESHAPE, "the strides of a tensor of shape %s reach 2^63 bytes",
                          tfr_shape_format(shape, text, sizeof text));
    if (status) {
        tfr_tensor_release(tensor);
        return status;
    }
    tensor->data = data;
    tensor->release = release;
    tensor->release_user = user;
    *out = tensor;
    return TFR_OK;
}

tfr_status tfr_tensor_wrap(tfr_dtype dtype, const tfr_shape *shape, const int64_t *strides,
                           void *data, void (*release)(void *user), void *user, tfr_tensor **out,
                           tfr_err *err)
{
    return tfr__tensor_wrap(dtype, shape, strides, data, false, release, user, out, err);
}

tfr_status tfr_tensor_wrap_bytes(tfr_dtype dtype, const tfr_shape *shape, const void *bytes,
                                 void (*idle)(void *user, const void *at, size_t n),
                                 void (*release)(void *user), void *user, tfr_tensor **out,
                                 tfr_err *err)
{
    tfr_status status;
    if (dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EINVAL, "strings are not in bytes that could be wrapped");
    status = tfr__tensor_wrap(dtype, shape, NULL, (void *)(uintptr_t)bytes, true, release, user,
                              out, err);
    if (!status) {
        (*out)->idle = idle;
        tfr__tensor_protect(*out);
    }
    return status;
}

/* Is [offset + low, offset + high] of the view inside what base reaches? */
static tfr_status check_view(const tfr_tensor *base, int64_t offset, const tfr_tensor *view,
                             tfr_err *err)
{
    const tfr_dtype dtype = (tfr_dtype)base->dtype;
    const int64_t bytes = element_bytes_at_least_one(dtype);
    const int64_t bits = tfr__dtype_bits((int32_t)dtype);
    int64_t base_low = 0;
    int64_t base_high = -1;
    int64_t low;
    int64_t high;
    char text[SHAPE_TEXT];
    bool reaches;
    if (base->n_elements > 0 && !reach(&base->shape, base->strides, bytes, &base_low, &base_high))
        return tfr_fail(err, TFR_EINTERNAL, "a tensor reaches 2^63 bytes");
    if (offset < base_low || offset > base_high + 1)
        return tfr_fail(err, TFR_ESHAPE,
                        "a view at element %" PRId64 " is outside its base, which has %" PRId64
                        "...%" PRId64,
                        offset, base_low, base_high);
    if (bits < 8 && offset % (8 / bits) != 0)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "a view of %s cannot start inside a byte, at element %" PRId64,
                        tfr_dtype_name(dtype), offset);
    if (view->n_elements == 0)
        return TFR_OK;
    reaches = reach(&view->shape, view->strides, bytes, &low, &high);
    if (reaches && low >= base_low - offset && high <= base_high - offset)
        return TFR_OK;
    tfr_shape_format(&view->shape, text, sizeof text);
    if (!reaches)
        return tfr_fail(err, TFR_ESHAPE, "the strides of a view of shape %s reach 2^63 bytes",
                        text);
    return tfr_fail(err, TFR_ESHAPE,
                    "a view of shape %s reaches elements %" PRId64 "...%" PRId64
                    " of its base, which has %" PRId64 "...%" PRId64,
                    text, (int64_t)((uint64_t)offset + (uint64_t)low),
                    (int64_t)((uint64_t)offset + (uint64_t)high), base_low, base_high);
}

tfr_status tfr_tensor_view(tfr_tensor *base, int64_t offset, const tfr_shape *shape,
                           const int64_t *strides, tfr_tensor **out, tfr_err *err)
{
    tfr_tensor *tensor;
    if (!base || !shape || !out || base->kind != TFR_KIND_TENSOR)
        return tfr_fail(err, TFR_EINVAL, "a view needs a tensor, a shape and a place to go");
    tfr_status status = tensor_new((tfr_dtype)base->dtype, shape, strides, false, &tensor, err);
    if (status)
        return status;
    status = check_view(base, offset, tensor, err);
    if (status) {
        tfr_tensor_release(tensor);
        return status;
    }
    if (base->data) {
        const int64_t bits = tfr__dtype_bits(base->dtype);
        char *data = tfr__tensor_data(base);
        if (!data) {
            tfr_tensor_release(tensor);
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes, the base of a view",
                            base->bytes);
        }
        tensor->data = data + (bits < 8 ? offset / (8 / bits) : offset * (bits / 8));
    }
    if (tfr_tensor_is_read_only(base))
        tfr__tensor_protect(tensor);
    /* The owner of the memory, so that views of views make no chain. */
    tensor->base = tfr_tensor_retain(base->base ? base->base : base);
    *out = tensor;
    return TFR_OK;
}

tfr_tensor *tfr__tensor_grow(const tfr_tensor *t, int32_t rank, const int64_t *dims)
{
    const int64_t bytes = tfr__dtype_bits(t->dtype) / 8;
    int64_t step = 1;
    int32_t n_grown = 0;
    tfr_tensor *grown;
    tfr_shape shape;
    if (rank != t->shape.rank || rank < 1 || t->strides[rank - 1] != 1 || bytes < 1 || !t->data ||
        !t->base || t->unaligned || t->dtype == TFR_DTYPE_STRING || tfr_tensor_is_read_only(t))
        return NULL;
    for (int32_t d = rank - 1; d >= 0; d--) {
        if (t->strides[d] < step || dims[d] < t->shape.dims[d] ||
            __builtin_mul_overflow(t->strides[d], dims[d], &step))
            return NULL;
        n_grown += dims[d] > t->shape.dims[d];
    }
    if (n_grown != 1 || tfr_shape_make(rank, dims, &shape, NULL) ||
        tfr_tensor_view(t->base, ((char *)t->data - (char *)t->base->data) / bytes, &shape,
                        t->strides, &grown, NULL))
        return NULL;
    return grown;
}

/* ---- life ------------------------------------------------------------------------------------ */

tfr_tensor *tfr_tensor_retain(tfr_tensor *tensor)
{
    if (tensor)
        atomic_fetch_add_explicit(&tensor->refs, 1, memory_order_relaxed);
    return tensor;
}

/* Recursion ends: a view's base is no view, and sequences nest to a limit (sequence.c). */
void tfr_tensor_release(tfr_tensor *tensor)
{
    if (!tensor || atomic_fetch_sub_explicit(&tensor->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < tensor->n_values; i++)
        tfr_tensor_release(tensor->values[i]);
    tfr__free(tensor->values);
    if (tensor->owns && tensor->dtype == TFR_DTYPE_STRING)
        tfr__strings_clear(tensor->data, tensor->n_elements);
    tfr__free(tensor->apart);
    tfr__free((void *)atomic_load_explicit(&tensor->own, memory_order_relaxed));
    tfr_tensor_release(tensor->base);
    if (tensor->release)
        tensor->release(tensor->release_user);
    tfr__free(tensor);
}

/* ---- looking --------------------------------------------------------------------------------- */

tfr_kind tfr_tensor_kind(const tfr_tensor *tensor)
{
    return tensor ? (tfr_kind)tensor->kind : TFR_KIND_NONE;
}

tfr_dtype tfr_tensor_dtype(const tfr_tensor *tensor)
{
    return (tfr_dtype)tensor->dtype;
}

const tfr_shape *tfr_tensor_shape(const tfr_tensor *tensor)
{
    return &tensor->shape;
}

const int64_t *tfr_tensor_strides(const tfr_tensor *tensor)
{
    return tensor->strides;
}

bool tfr_tensor_is_plain(const tfr_tensor *tensor)
{
    return tensor->plain;
}

bool tfr_tensor_is_read_only(const tfr_tensor *tensor)
{
    return atomic_load_explicit(&tensor->read_only, memory_order_relaxed);
}

void tfr__tensor_rest_part(const tfr_tensor *tensor, size_t at, size_t n)
{
    if (tensor->idle && n && !atomic_load(&tensor->seen))
        tensor->idle(tensor->release_user, (const char *)tensor->data + at, n);
}

/* In pieces, so that not all of it is in memory twice. */
static void copy_resting(const tfr_tensor *tensor, char *to)
{
    size_t n;
    for (size_t at = 0; at < tensor->bytes; at += n) {
        n = tensor->bytes - at < COPY_BYTES ? tensor->bytes - at : COPY_BYTES;
        memcpy(to + at, (const char *)tensor->data + at, n);
        tfr__tensor_rest_part(tensor, at, n);
    }
}

void *tfr__tensor_data(const tfr_tensor *tensor)
{
    tfr_tensor *t = (tfr_tensor *)(uintptr_t)tensor; /* what it holds stays the same */
    uintptr_t own = 0, fresh;
    if (!t->unaligned || (uintptr_t)t->data % dtype_alignment((tfr_dtype)t->dtype) == 0)
        return t->data;
    own = atomic_load_explicit(&t->own, memory_order_acquire);
    if (own)
        return (void *)own;
    fresh = (uintptr_t)tfr__alloc_aligned(t->bytes, TENSOR_ALIGNMENT);
    if (!fresh)
        return NULL;
    copy_resting(t, (char *)fresh);
    if (atomic_compare_exchange_strong(&t->own, &own, fresh))
        return (void *)fresh;
    tfr__free((void *)fresh); /* another thread was faster */
    return (void *)own;
}

void *tfr_tensor_data(const tfr_tensor *tensor)
{
    void *data = tfr__tensor_data(tensor);
    if (tensor->unaligned && data == tensor->data)
        atomic_store(&((tfr_tensor *)(uintptr_t)tensor)->seen, true);
    return data;
}

void tfr__tensor_rest(const tfr_tensor *tensor)
{
    tfr__tensor_rest_part(tensor, 0, tensor->bytes);
}

int64_t tfr_tensor_elements(const tfr_tensor *tensor)
{
    return tensor->n_elements;
}

size_t tfr_tensor_bytes(const tfr_tensor *tensor)
{
    return tensor->bytes;
}

/* Element i in plain order, or NULL. */
static tfr_string *string_at(const tfr_tensor *tensor, int64_t i)
{
    int64_t offset = 0;
    if (!tensor || tensor->kind != TFR_KIND_TENSOR || tensor->dtype != TFR_DTYPE_STRING || i < 0 ||
        i >= tensor->n_elements)
        return NULL;
    for (int32_t d = tensor->shape.rank - 1; d >= 0; d--) {
        offset += i % tensor->shape.dims[d] * tensor->strides[d];
        i /= tensor->shape.dims[d];
    }
    return (tfr_string *)tensor->data + offset;
}

tfr_status tfr_tensor_set_string(tfr_tensor *tensor, int64_t i, const char *data, size_t bytes,
                                 tfr_err *err)
{
    tfr_string *element = string_at(tensor, i);
    if (!element)
        return tfr_fail(err, TFR_EINVAL, "there is no string element %" PRId64, i);
    if (!data && bytes > 0)
        return tfr_fail(err, TFR_EINVAL, "no data for a string of %zu bytes", bytes);
    /* The old string of wrapped memory is the caller's and cannot be freed here. */
    if (!(tensor->base ? tensor->base : tensor)->owns)
        return tfr_fail(err, TFR_EPERM, "the strings are in the caller's memory, set them there");
    if (tfr__string_set(element, data, bytes))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %zu bytes", bytes);
    return TFR_OK;
}

const char *tfr_tensor_get_string(const tfr_tensor *tensor, int64_t i, size_t *bytes)
{
    const tfr_string *element = string_at(tensor, i);
    if (bytes)
        *bytes = element ? (size_t)element->bytes : 0;
    if (!element)
        return NULL;
    return element->data ? element->data : "";
}

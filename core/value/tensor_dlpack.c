/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_dlpack.c: tensors in DLPack's form, out and in. What comes in is a stranger's: everything
 * is checked that can be, and nothing but the deleter is touched of another major version.
 */
#include <tfrun/dlpack.h>

#include <inttypes.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"
#include "value/bits.h"

/* DLPack's, with its names: DLTensor and DLManagedTensorVersioned of 1.x. */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits; /* of the element type */
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL = plain, before 1.2 */
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor dl_tensor;
};

enum {
    DL_MAJOR = 1,
    DL_MINOR = 1,
    DL_FLAG_READ_ONLY = TFR_DLPACK_READ_ONLY,
    DL_FLAG_PADDED = 1 << 2, /* each element of less than 8 bits has a byte of its own */
    DL_CPU = 1
};

typedef struct device {
    char name[12];
    bool is_host;
} device;
#define DEVICE_ROW(name, number, is_host) [number] = {#name, is_host},
static const device devices[] = {TFR_DLPACK_DEVICE_LIST(DEVICE_ROW)};
#undef DEVICE_ROW

/* DLPack's code of each type, 1 more than it is; 0 = it has none. The number of bits is ours. */
enum { INT = 1, UINT, FLOAT, BFLOAT = 5, COMPLEX, BOOL };
static const uint8_t codes[TFR_DTYPE_END] = {
    [TFR_DTYPE_I2] = INT,      [TFR_DTYPE_I4] = INT,        [TFR_DTYPE_I8] = INT,
    [TFR_DTYPE_I16] = INT,     [TFR_DTYPE_I32] = INT,       [TFR_DTYPE_I64] = INT,
    [TFR_DTYPE_U2] = UINT,     [TFR_DTYPE_U4] = UINT,       [TFR_DTYPE_U8] = UINT,
    [TFR_DTYPE_U16] = UINT,    [TFR_DTYPE_U32] = UINT,      [TFR_DTYPE_U64] = UINT,
    [TFR_DTYPE_F16] = FLOAT,   [TFR_DTYPE_F32] = FLOAT,     [TFR_DTYPE_F64] = FLOAT,
    [TFR_DTYPE_BF16] = BFLOAT, [TFR_DTYPE_C64] = COMPLEX,   [TFR_DTYPE_C128] = COMPLEX,
    [TFR_DTYPE_BOOL] = BOOL,   [TFR_DTYPE_F8E4M3FN] = 11,   [TFR_DTYPE_F8E4M3FNUZ] = 12,
    [TFR_DTYPE_F8E5M2] = 13,   [TFR_DTYPE_F8E5M2FNUZ] = 14, [TFR_DTYPE_F8E8M0] = 15,
    [TFR_DTYPE_F4E2M1] = 18,
};

/* ---- out ------------------------------------------------------------------------------------- */

/* The sizes are copies: whoever takes them may write there. */
typedef struct exported {
    struct DLManagedTensorVersioned managed;
    int64_t dims[TFR_MAX_RANK];
    int64_t strides[TFR_MAX_RANK];
} exported;

static void exported_delete(struct DLManagedTensorVersioned *self)
{
    if (!self)
        return;
    tfr_tensor_release(self->manager_ctx);
    tfr__free(self);
}

/* Takes the caller's reference on tensor, after an error, too. */
static tfr_status export_tensor(tfr_tensor *tensor, uint32_t flags,
                                struct DLManagedTensorVersioned **out, tfr_err *err)
{
    exported *e = tfr__calloc(1, sizeof *e);
    void *data = tensor->bytes ? tfr_tensor_data(tensor) : NULL;
    dl_tensor *t;
    tfr_status status;
    if (!e || (tensor->bytes && !data)) {
        status = tfr_fail(err, TFR_ENOMEM, "no memory for a tensor of %zu bytes in DLPack's form",
                          tensor->bytes);
        tfr_tensor_release(tensor);
        tfr__free(e);
        return status;
    }
    memcpy(e->dims, tensor->shape.dims, sizeof e->dims);
    memcpy(e->strides, tensor->strides, sizeof e->strides);
    e->managed.major = DL_MAJOR;
    e->managed.minor = DL_MINOR;
    e->managed.manager_ctx = tensor;
    e->managed.deleter = exported_delete;
    e->managed.flags = flags | (tfr_tensor_is_read_only(tensor) ? DL_FLAG_READ_ONLY : 0);
    t = &e->managed.dl_tensor;
    t->data = data;
    t->device_type = DL_CPU;
    t->ndim = tensor->shape.rank;
    t->code = (uint8_t)(codes[tensor->dtype] - 1);
    t->bits = (uint8_t)tfr__dtype_bits(tensor->dtype);
    t->lanes = 1;
    t->shape = e->dims;
    t->strides = e->strides;
    *out = &e->managed;
    return TFR_OK;
}

tfr_status tfr_tensor_to_dlpack(tfr_tensor *tensor, uint32_t flags,
                                struct DLManagedTensorVersioned **out, tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (!tensor || !out || flags & ~(uint32_t)(TFR_DLPACK_READ_ONLY | TFR_DLPACK_COPY))
        return tfr_fail(err, TFR_EINVAL,
                        "an export needs a tensor, a place to go and flags that are known");
    if (tensor->kind != TFR_KIND_TENSOR)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "DLPack has no sequences; export the values, tfr_sequence_at gives them");
    if (!codes[tensor->dtype])
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "DLPack has no type %s; tfr_tensor_get_string gives the elements",
                        tfr_dtype_name((tfr_dtype)tensor->dtype));
    if (flags & TFR_DLPACK_COPY)
        status = tfr_tensor_copy(tensor, &tensor, err);
    else
        tfr_tensor_retain(tensor);
    return status ? status : export_tensor(tensor, flags, out, err);
}

/* ---- in -------------------------------------------------------------------------------------- */

static void managed_delete(void *user)
{
    struct DLManagedTensorVersioned *managed = user;
    if (managed->deleter)
        managed->deleter(managed);
}

static tfr_status check_device(const dl_tensor *t, tfr_err *err)
{
    const uint32_t type = (uint32_t)t->device_type;
    const device *d = &devices[type < sizeof devices / sizeof devices[0] ? type : 0];
    if (d->is_host)
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "DLPack's tensor is in the memory of device %" PRId32 " of type %" PRIu32
                    " (%s), which cannot be used here; copy it to the CPU first",
                    t->device_id, type, d->name[0] ? d->name : "unknown");
}

static tfr_status dtype_of(const struct DLManagedTensorVersioned *managed, tfr_dtype *out,
                           tfr_err *err)
{
    const dl_tensor *t = &managed->dl_tensor;
    const bool padded = t->bits < 8 && managed->flags & DL_FLAG_PADDED;
    for (int32_t i = 1; !padded && t->lanes == 1 && i < TFR_DTYPE_END; i++)
        if (codes[i] == t->code + 1 && tfr__dtype_bits(i) == t->bits) {
            *out = (tfr_dtype)i;
            return TFR_OK;
        }
    return tfr_fail(err, TFR_EDTYPE,
                    "DLPack's type %u of %u bits%s, %u lanes, is none of tfrun's; convert it first",
                    t->code, t->bits, padded ? " in a byte each" : "", t->lanes);
}

tfr_status tfr_tensor_from_dlpack(struct DLManagedTensorVersioned *managed, tfr_tensor **out,
                                  tfr_err *err)
{
    tfr_dtype dtype = TFR_DTYPE_NONE;
    tfr_shape shape;
    tfr_status status;
    if (!managed || !out)
        return tfr_fail(err, TFR_EINVAL, "an import needs a DLPack tensor and a place to go");
    if (managed->major != DL_MAJOR)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "DLPack's tensor has version %" PRIu32 ".%" PRIu32
                        ", not %d.x; ask its producer for that",
                        managed->major, managed->minor, DL_MAJOR);
    const dl_tensor *t = &managed->dl_tensor;
    uintptr_t at = (uintptr_t)t->data;
    status = check_device(t, err);
    if (!status)
        status = dtype_of(managed, &dtype, err);
    if (!status)
        status = tfr_shape_make(t->ndim, t->shape, &shape, err);
    if (!status && at && t->byte_offset > UINTPTR_MAX - at)
        status =
            tfr_fail(err, TFR_EINVAL, "byte_offset %" PRIu64 " of DLPack's tensor is no offset",
                     t->byte_offset);
    if (status)
        return status;
    at += at ? (uintptr_t)t->byte_offset : 0;
    status = tfr__tensor_wrap(dtype, &shape, t->strides, (void *)at, true, managed_delete, managed,
                              out, err);
    if (!status && (managed->flags & DL_FLAG_READ_ONLY || !tfr__tensor_is_aligned(*out)))
        tfr__tensor_protect(*out);
    return status;
}

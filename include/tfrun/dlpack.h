/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/dlpack.h: tensors to and from other libraries, such as NumPy and PyTorch, without a copy,
 * by DLPack (https://github.com/dmlc/dlpack), of which 1.3 is the newest this was read against. Any
 * 1.x is taken; what is given out says 1.1, the first with all of these types, and always has
 * strides, as 1.2 asks. In Python it travels in a capsule named "dltensor_versioned".
 *
 * Host memory only: a tensor in a device's memory is refused. The struct is DLPack's and opaque
 * here; <dlpack/dlpack.h> says what is in it and may be included before or after this header.
 */
#ifndef TFRUN_DLPACK_H
#define TFRUN_DLPACK_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* Flags for an export; the numbers are those of DLPack's bits. */
enum {
    TFR_DLPACK_READ_ONLY = 1u << 0, /* whoever takes it may not write */
    TFR_DLPACK_COPY = 1u << 1       /* a copy, of which the taker is the only owner */
};

/*
 * Gives out tensor's own elements, with its strides, in a struct that holds a reference on it until
 * its deleter is called: on any thread, once. Elements of tfr_tensor_wrap_bytes are aligned first,
 * packed types stay packed. What tfr_tensor_is_read_only tells of is exported so, asked or not; a
 * copy can be written. TFR_EUNSUPPORTED: strings, sequences and optionals, which DLPack does not
 * have. TFR_ENOMEM.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_to_dlpack(tfr_tensor *tensor, uint32_t flags,
                                                       struct DLManagedTensorVersioned **out,
                                                       tfr_err *err);

/*
 * A tensor over what managed describes. On success managed belongs to it: its deleter is called
 * when the last reference goes, on that thread. After an error managed is as before and still the
 * caller's, who calls its deleter; that is also all that may be done with another major version.
 *
 * If managed may not be written, tfr_tensor_is_read_only says so of the tensor. So it does if the
 * memory is not aligned to its elements, which is taken as by tfr_tensor_wrap_bytes if it is plain:
 * what is read may be a copy, so nobody should change it, on either side.
 *
 * TFR_EUNSUPPORTED: another major version, or memory of a device (pinned memory is the host's).
 * TFR_EDTYPE: a type that tfrun has not, vectors (lanes), or bits of a packed type in bytes of
 * their own. TFR_ESHAPE, TFR_EINVAL: what tfr_tensor_wrap refuses.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_tensor_from_dlpack(struct DLManagedTensorVersioned *managed,
                                                         tfr_tensor **out, tfr_err *err);

/* DLPack's types of devices: name, number, whether their memory is the host's. */
#define TFR_DLPACK_DEVICE_LIST(X)                                                                  \
    X(CPU, 1, true)                                                                                \
    X(CUDA, 2, false)                                                                              \
    X(CUDAHost, 3, true)                                                                           \
    X(OpenCL, 4, false)                                                                            \
    X(Vulkan, 7, false)                                                                            \
    X(Metal, 8, false)                                                                             \
    X(VPI, 9, false)                                                                               \
    X(ROCM, 10, false)                                                                             \
    X(ROCMHost, 11, true)                                                                          \
    X(ExtDev, 12, false)                                                                           \
    X(CUDAManaged, 13, false)                                                                      \
    X(OneAPI, 14, false)                                                                           \
    X(WebGPU, 15, false)                                                                           \
    X(Hexagon, 16, false)                                                                          \
    X(MAIA, 17, false)                                                                             \
    X(Trn, 18, false)

#ifdef __cplusplus
}
#endif

#endif

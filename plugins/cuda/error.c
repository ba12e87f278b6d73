/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c: statuses of CUDA's libraries as ours. The driver knows a name and a sentence for each of
 * its own; what is added here is what they mean for us and what the user can do.
 */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct error_row {
    tfr_cu_result result;
    int32_t code;
    bool is_fatal;    /* for the context */
    const char *step; /* NULL = none */
} error_row;

/* All others are TFR_EDEVICE, not fatal: they concern the call that got them. */
static const error_row rows[] = {
    {TFR_CU_INVALID_VALUE, TFR_EPLUGIN, false, NULL},
    {TFR_CU_OUT_OF_MEMORY, TFR_ENOMEM, false, NULL},
    {TFR_CU_NOT_INITIALIZED, TFR_EDEVICE, false,
     "a process that was forked after the driver was started cannot use it: exec, or start it "
     "first "
     "in the child"},
    {TFR_CU_STUB_LIBRARY, TFR_EDEVICE, false,
     "take the folder of CUDA's stub libraries out of LD_LIBRARY_PATH"},
    {TFR_CU_CALL_REQUIRES_NEWER_DRIVER, TFR_EDEVICE, false, "install a newer NVIDIA driver"},
    {TFR_CU_DEVICE_UNAVAILABLE, TFR_EBUSY, false,
     "another process has the GPU for itself: end it, or set the compute mode with nvidia-smi -c "
     "0"},
    {TFR_CU_NO_DEVICE, TFR_ENOTFOUND, false,
     "connect a GPU, or look at CUDA_VISIBLE_DEVICES, which may hide it"},
    {TFR_CU_INVALID_IMAGE, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_NO_BINARY_FOR_GPU, TFR_EUNSUPPORTED, false,
     "configure tfrun with --with-cuda-arch for this GPU"},
    {TFR_CU_ECC_UNCORRECTABLE, TFR_ELOST, true, "look at nvidia-smi -q -d ECC"},
    {TFR_CU_NVLINK_UNCORRECTABLE, TFR_ELOST, true, "look at nvidia-smi nvlink -e"},
    {TFR_CU_INVALID_PTX, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_UNSUPPORTED_PTX_VERSION, TFR_EUNSUPPORTED, false,
     "install a newer NVIDIA driver, or configure tfrun with --with-cuda-arch for this GPU"},
    {TFR_CU_NOT_FOUND, TFR_ENOTFOUND, false, NULL},
    {TFR_CU_NOT_READY, TFR_ETIMEOUT, false, NULL},
    {TFR_CU_ILLEGAL_ADDRESS, TFR_ELOST, true, NULL},
    {TFR_CU_LAUNCH_OUT_OF_RESOURCES, TFR_EPLUGIN, false, NULL},
    {TFR_CU_LAUNCH_TIMEOUT, TFR_ELOST, true,
     "a GPU with a display stops kernels that take long: use another one"},
    {TFR_CU_CONTEXT_IS_DESTROYED, TFR_ELOST, true, NULL},
    {TFR_CU_ASSERT, TFR_ELOST, true, NULL},
    {TFR_CU_HARDWARE_STACK_ERROR, TFR_ELOST, true, NULL},
    {TFR_CU_ILLEGAL_INSTRUCTION, TFR_ELOST, true, NULL},
    {TFR_CU_MISALIGNED_ADDRESS, TFR_ELOST, true, NULL},
    {TFR_CU_INVALID_ADDRESS_SPACE, TFR_ELOST, true, NULL},
    {TFR_CU_INVALID_PC, TFR_ELOST, true, NULL},
    {TFR_CU_LAUNCH_FAILED, TFR_ELOST, true, NULL},
    {TFR_CU_NOT_PERMITTED, TFR_EPERM, false, NULL},
    {TFR_CU_NOT_SUPPORTED, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_SYSTEM_NOT_READY, TFR_EDEVICE, false,
     "start the fabric manager: systemctl start nvidia-fabricmanager"},
    {TFR_CU_SYSTEM_DRIVER_MISMATCH, TFR_EDEVICE, false,
     "the kernel module and libcuda.so.1 are of different drivers: restart the machine"},
    {TFR_CU_COMPAT_NOT_SUPPORTED_ON_DEVICE, TFR_EDEVICE, false,
     "CUDA's forward compatibility does not work on this GPU: install a newer NVIDIA driver"},
    {TFR_CU_MPS_CONNECTION_FAILED, TFR_EDEVICE, false, "start nvidia-cuda-mps-control again"},
    {TFR_CU_CAPTURE_UNSUPPORTED, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_INVALIDATED, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_MERGE, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_UNMATCHED, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_UNJOINED, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_ISOLATION, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_IMPLICIT, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURED_EVENT, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_CAPTURE_WRONG_THREAD, TFR_EUNSUPPORTED, false, NULL},
    {TFR_CU_UNKNOWN, TFR_ELOST, true, NULL},
};

static const error_row *find_row(tfr_cu_result result)
{
    static const error_row other = {0, TFR_EDEVICE, false, NULL};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].result == result)
            return &rows[i];
    return &other;
}

bool cuda_is_fatal(tfr_cu_result result)
{
    return find_row(result)->is_fatal;
}

static int32_t fail(tfr_err *err, tfr_cu_result result, tfr_cuGetErrorName_fn *name_of,
                    tfr_cuGetErrorString_fn *text_of, const char *what)
{
    const error_row *row = find_row(result);
    const char *name = NULL, *text = NULL;

    if (!name_of || name_of(result, &name) != TFR_CU_SUCCESS || !name)
        name = "an error that has no name";
    if (!text_of || text_of(result, &text) != TFR_CU_SUCCESS || !text)
        text = "not described";
    tfr_fail(err, (tfr_status)row->code, "%s: CUDA says %s (%s, %u)%s%s", what, text, name, result,
             row->step ? "; " : "", row->step ? row->step : "");
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = result;
    return row->code;
}

int32_t cuda_fail(tfr_err *err, tfr_cu_result result, const char *format, ...)
{
    char what[160];
    va_list args;

    if (result == TFR_CU_SUCCESS)
        return TFR_OK;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fail(err, result, cuda_driver.cuGetErrorName, cuda_driver.cuGetErrorString, what);
}

int32_t cuda_fail_starting(tfr_err *err, tfr_cu_result result, const cuda_driver_table *table,
                           const char *what)
{
    return fail(err, result, table->cuGetErrorName, table->cuGetErrorString, what);
}

/* ---- cuBLASLt, cuDNN and cuSOLVER ---- */

static int32_t fail_library(tfr_err *err, tfr_status code, const char *library, int result,
                            const char *text, const char *what)
{
    tfr_fail(err, code, "%s: %s says %s (%d)", what, library, text && *text ? text : "no more",
             result);
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = result;
    return code;
}

int32_t cuda_fail_cublas(tfr_err *err, int result, const char *text, const char *what)
{
    static const struct {
        int result;
        tfr_status code;
    } codes[] = {
        {1, TFR_EDEVICE},       /* not initialized */
        {3, TFR_ENOMEM},        /* alloc failed */
        {7, TFR_EPLUGIN},       /* invalid value */
        {8, TFR_EUNSUPPORTED},  /* architecture mismatch */
        {11, TFR_EDEVICE},      /* mapping error */
        {13, TFR_EDEVICE},      /* execution failed */
        {14, TFR_EDEVICE},      /* internal error */
        {15, TFR_EUNSUPPORTED}, /* not supported */
        {16, TFR_EPERM},        /* license error */
    };
    tfr_status code = TFR_EDEVICE;

    if (result == 0)
        return TFR_OK;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].result == result)
            code = codes[i].code;
    return fail_library(err, code, "cuBLASLt", result, text, what);
}

int32_t cuda_fail_cudnn(tfr_err *err, int result, const char *text, const char *what)
{
    tfr_status code = TFR_EDEVICE; /* 4000: internal, 5000: execution failed */

    if (result == 0)
        return TFR_OK;
    /* Since cuDNN 9 the thousands are the kind, and the rest says more of it. */
    if (result == 4003 || result == 4004) /* memory of the host, of the device */
        code = TFR_ENOMEM;
    else if (result / 1000 == 2)
        code = TFR_EPLUGIN;
    else if (result / 1000 == 3)
        code = TFR_EUNSUPPORTED;
    return fail_library(err, code, "cuDNN", result, text, what);
}

/* It has no function for its texts, which are the vendor's names. */
int32_t cuda_fail_cusolver(tfr_err *err, int result, const char *what)
{
    static const struct {
        const char *name;
        tfr_status code;
    } statuses[] = {
        [1] = {"CUSOLVER_STATUS_NOT_INITIALIZED", TFR_EDEVICE},
        [2] = {"CUSOLVER_STATUS_ALLOC_FAILED", TFR_ENOMEM},
        [3] = {"CUSOLVER_STATUS_INVALID_VALUE", TFR_EPLUGIN},
        [4] = {"CUSOLVER_STATUS_ARCH_MISMATCH", TFR_EUNSUPPORTED},
        [5] = {"CUSOLVER_STATUS_MAPPING_ERROR", TFR_EDEVICE},
        [6] = {"CUSOLVER_STATUS_EXECUTION_FAILED", TFR_EDEVICE},
        [7] = {"CUSOLVER_STATUS_INTERNAL_ERROR", TFR_EDEVICE},
        [8] = {"CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", TFR_EUNSUPPORTED},
        [9] = {"CUSOLVER_STATUS_NOT_SUPPORTED", TFR_EUNSUPPORTED},
        [10] = {"CUSOLVER_STATUS_ZERO_PIVOT", TFR_EINVAL},
        [11] = {"CUSOLVER_STATUS_INVALID_LICENSE", TFR_EPERM},
    };
    const bool is_known = result > 0 && result < (int)(sizeof statuses / sizeof statuses[0]);

    if (result == 0)
        return TFR_OK;
    return fail_library(err, is_known ? statuses[result].code : TFR_EDEVICE, "cuSOLVER", result,
                        is_known ? statuses[result].name : NULL, what);
}

/* ---- failures that are kept ---- */

void cuda_failure_keep(cuda_failure *failure, int32_t code, const tfr_err *err, uint64_t launch)
{
    failure->code = code;
    failure->native = err->native;
    failure->launch = launch;
    snprintf(failure->text, sizeof failure->text, "%s", err->text);
}

int32_t cuda_failure_tell(const cuda_failure *failure, tfr_err *err)
{
    if (!failure->code)
        return TFR_OK;
    tfr_fail(err, (tfr_status)failure->code, "%s", failure->text);
    if (err && TFR_HAS(err, tfr_err, native))
        err->native = failure->native;
    tfr_err_set_launch(err, failure->launch);
    return failure->code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c: the kernels' fat binaries, one of each .cu. They are parts of the plugin's file, and
 * the driver is given one when a kernel of it is asked for. They are of no context: the driver
 * loads a function where it is used. When the last open device closes, they go.
 */
#include "kernel.h"

#include "blob.h"

#include <pthread.h>
#include <string.h>

#define SHARED_UNASKED (48u << 10) /* bytes that a block may have without asking */

static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER; /* for blobs, too */
static uint32_t n_holders;                                      /* open devices */

void cuda_module_hold(void)
{
    pthread_mutex_lock(&module_lock);
    n_holders++;
    pthread_mutex_unlock(&module_lock);
}

void cuda_module_release(bool is_dead)
{
    pthread_mutex_lock(&module_lock);
    if (--n_holders == 0)
        for (cuda_blob *blob = cuda_blobs; blob->stem; blob++) {
            /* What is loaded in a dead context is leaked with it. */
            if (blob->library && !is_dead)
                (void)cuda_driver.cuLibraryUnload(blob->library);
            blob->library = NULL;
        }
    pthread_mutex_unlock(&module_lock);
}

/* With the lock held. TFR_CU_NOT_FOUND: it is in another one. */
static tfr_cu_result find_in(cuda_blob *blob, const char *name, tfr_cu_kernel **out)
{
    tfr_cu_result result = TFR_CU_SUCCESS;

    if (!blob->library)
        result = cuda_driver.cuLibraryLoadData(&blob->library, blob->bytes, NULL, NULL, 0, NULL,
                                               NULL, 0);
    if (result == TFR_CU_SUCCESS)
        result = cuda_driver.cuLibraryGetKernel(out, blob->library, name);
    return result;
}

static bool has_kernel(const cuda_blob *blob, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = blob->kernels; (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[n] == ' ') /* each name is between blanks */
            return true;
    return false;
}

/* The file that names it, or one of those that do not tell what they have. */
static int32_t find_kernel(tfr_plugin_device *device, const char *name, tfr_cu_kernel **out,
                           tfr_err *err)
{
    tfr_cu_result result = TFR_CU_NOT_FOUND;
    const cuda_blob *asked = NULL;

    pthread_mutex_lock(&module_lock);
    for (cuda_blob *blob = cuda_blobs; blob->stem && result == TFR_CU_NOT_FOUND; blob++)
        if (!*blob->kernels || has_kernel(blob, name)) {
            asked = blob;
            result = find_in(blob, name, out);
        }
    pthread_mutex_unlock(&module_lock);
    if (result == TFR_CU_NOT_FOUND)
        return cuda_check(device, result, err, "the kernel %s", name);
    return cuda_check(device, result, err, "the kernels of %s.cu (built by CUDA %s)",
                      asked ? asked->stem : "no", CUDA_BUILT);
}

int32_t cuda_find_function(tfr_plugin_device *device, const cuda_step *step, tfr_cu_function **out,
                           tfr_err *err)
{
    tfr_cu_kernel *kernel = NULL;
    tfr_cu_result result;
    int32_t status = find_kernel(device, step->kernel, &kernel, err);

    if (status != TFR_OK)
        return status;
    /* The function of this context: a kernel may stand for it, but attributes are of one device. */
    result = cuda_driver.cuKernelGetFunction(out, kernel);
    if (result == TFR_CU_SUCCESS && step->shared > SHARED_UNASKED)
        result = cuda_driver.cuFuncSetAttribute(*out, TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES,
                                                (int)step->shared);
    /* Else the first launch would load it, which may allocate, and that breaks a capture. */
    if (result == TFR_CU_SUCCESS && cuda_driver.cuFuncLoad)
        result = cuda_driver.cuFuncLoad(*out);
    return cuda_check(device, result, err, "the kernel %s", step->kernel);
}

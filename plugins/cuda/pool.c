/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: a pool of the driver's for memory that comes and goes, each device's own, so that what
 * others do with the default one does not matter. What is freed stays in it until trim. The pool's
 * stream is the device's own: to allocate waits for no work of a queue, as cuMemFree would.
 */
#include "host.h"

int32_t cuda_pool_open(tfr_plugin_device *device, tfr_err *err)
{
    unsigned long long keep = UINT64_MAX;
    tfr_cu_pool_props props = {.allocation = TFR_CU_ALLOCATION_PINNED,
                               .location = {TFR_CU_LOCATION_DEVICE, device->facts.device}};
    int32_t status;

    if (!device->facts.has_pools)
        return TFR_OK;
    status = cuda_check(device, cuda_driver.cuMemPoolCreate(&device->pool, &props), err,
                        "a memory pool of %s", device->facts.name);
    if (status == TFR_OK)
        status = cuda_check(
            device,
            cuda_driver.cuMemPoolSetAttribute(device->pool, TFR_CU_POOL_RELEASE_THRESHOLD, &keep),
            err, "a memory pool of %s", device->facts.name);
    return status;
}

void cuda_pool_close(tfr_plugin_device *device)
{
    if (device->pool) {
        (void)cuda_driver.cuStreamSynchronize(device->stream); /* it frees into the pool */
        (void)cuda_driver.cuMemPoolDestroy(device->pool);
    }
    device->pool = NULL;
}

tfr_cu_result cuda_pool_alloc(tfr_plugin_device *device, uint64_t bytes, tfr_cu_ptr *out)
{
    tfr_cu_result result =
        cuda_driver.cuMemAllocFromPoolAsync(out, bytes, device->pool, device->stream);

    /* Any queue may use it from now on. */
    return result ? result : cuda_driver.cuStreamSynchronize(device->stream);
}

tfr_cu_result cuda_pool_free(tfr_plugin_device *device, tfr_cu_ptr address)
{
    return cuda_driver.cuMemFreeAsync(address, device->stream);
}

void cuda_pool_trim(tfr_plugin_device *device)
{
    if (!device->pool)
        return;
    (void)cuda_driver.cuStreamSynchronize(device->stream);
    (void)cuda_driver.cuMemPoolTrimTo(device->pool, 0);
}

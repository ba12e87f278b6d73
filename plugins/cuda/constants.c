/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants.c: constants of the model that programs read on the device. A constant has one address
 * in all programs of a session, so that those that read the same one share its copy.
 */
#include "kernel.h"

#include <stdlib.h>

struct cuda_constant {
    cuda_constant *next;
    const void *data;
    uint64_t bytes;
    void *address;
    uint32_t n_users;
};

static int32_t upload(tfr_plugin_device *device, cuda_constant *c, tfr_err *err)
{
    const tfr_alloc_options options = {.size = sizeof options, .flags = TFR_ALLOC_CONSTANTS};
    int32_t status = cuda_memory_facet.alloc(device, 0, c->bytes, &options, &c->address, err);

    if (status != TFR_OK)
        return status;
    status = cuda_enter(device, err);
    if (status != TFR_OK)
        return status;
    status = cuda_check(device,
                        cuda_driver.cuMemcpyHtoDAsync_v2((tfr_cu_ptr)(uintptr_t)c->address, c->data,
                                                         c->bytes, device->stream),
                        err, "a constant of a program");
    if (status == TFR_OK)
        status = cuda_check(device, cuda_driver.cuStreamSynchronize(device->stream), err,
                            "a constant of a program");
    cuda_leave(device);
    return status;
}

static void destroy(tfr_plugin_device *device, cuda_constant *c)
{
    if (c->address)
        cuda_memory_facet.free(device, 0, c->address);
    free(c);
}

int32_t cuda_constant_hold(tfr_plugin_device *device, const tfr_operand *operand,
                           cuda_constant **out, tfr_err *err)
{
    const uint64_t bytes = cuda_operand_bytes(operand);
    int32_t status = TFR_OK;
    cuda_constant *c;

    pthread_mutex_lock(&device->constants_lock);
    for (c = device->constants; c && (c->data != operand->data || c->bytes != bytes); c = c->next)
        ;
    if (!c) {
        c = calloc(1, sizeof *c);
        if (c) {
            c->data = operand->data;
            c->bytes = bytes;
            status = upload(device, c, err);
        } else {
            status = tfr_fail(err, TFR_ENOMEM, "no memory for a constant");
        }
        if (c && status != TFR_OK) {
            destroy(device, c);
            c = NULL;
        }
        if (c) {
            c->next = device->constants;
            device->constants = c;
        }
    }
    if (c)
        c->n_users++;
    pthread_mutex_unlock(&device->constants_lock);
    *out = c;
    return status;
}

void cuda_constant_drop(tfr_plugin_device *device, cuda_constant *constant)
{
    cuda_constant **at = &device->constants;

    pthread_mutex_lock(&device->constants_lock);
    if (--constant->n_users == 0) {
        while (*at != constant)
            at = &(*at)->next;
        *at = constant->next;
        destroy(device, constant);
    }
    pthread_mutex_unlock(&device->constants_lock);
}

void *cuda_constant_address(const cuda_constant *constant)
{
    return constant->address;
}

uint64_t cuda_constant_bytes(const cuda_constant *constant)
{
    return constant->bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/device.h: the devices of a runtime. A device is a physical processor with its memory
 * ("CPU:0"); it exists once, however many plugins can drive it. Each of those is a backend of the
 * device ("onednn:0", "naive:0").
 */
#ifndef TFRUN_DEVICE_H
#define TFRUN_DEVICE_H

#include <stdbool.h>
#include <tfrun/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row about one device. The texts live as long as the runtime. */
typedef struct tfr_device_desc {
    uint32_t size;
    uint32_t n_backends;
    const char *name;                           /* "CPU:0" */
    const char *type;                           /* "CPU" */
    const char *description;                    /* "Intel(R) Xeon(R) Processor, 2 threads" */
    const char *identity, *driver, *properties; /* as in tfr_device_info */
    uint64_t memory_total, memory_free;         /* bytes, 0 = unknown */
    uint32_t clock_khz;                         /* 0 = unknown */
    int32_t numa_node;                          /* -1 = unknown */
    uint32_t n_threads;                         /* of a CPU; else 0 */
    uint32_t n_ops; /* ops of the op table that at least one backend claims */
} tfr_device_desc;

/* A row about one backend of a device, in the order in which they are asked. */
typedef struct tfr_backend_desc {
    uint32_t size;
    int32_t priority;
    const char *name;    /* "onednn:0" */
    const char *plugin;  /* "onednn" */
    const char *version; /* of the plugin */
    const char *path;
    uint32_t n_ops; /* ops of the op table that it claims */
    uint32_t reserved;
} tfr_backend_desc;

TFR_API uint32_t tfr_runtime_n_devices(const tfr_runtime *runtime);
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_device(const tfr_runtime *runtime, uint32_t i,
                                                     tfr_device_desc *out, tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_backend(const tfr_runtime *runtime, uint32_t device,
                                                      uint32_t i, tfr_backend_desc *out,
                                                      tfr_err *err);

/*
 * Finds a device, or one backend of it, by any of the usual names: "CPU:0", "cpu", "/gpu:1",
 * "/device:GPU:0", "/job:worker/replica:0/task:1/device:GPU:0", "onednn:0", "naive". *backend is
 * the backend's number in the device, or -1 if the name is a device's. TFR_ENOTFOUND lists the
 * names there are; TFR_EDEVICE if the name is that of a plugin which is not usable, with its
 * reason.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_find(const tfr_runtime *runtime, const char *name,
                                                   uint32_t *device, int32_t *backend,
                                                   tfr_err *err);

/* Does this backend claim op i of the op table (tfrun/op.h)? */
TFR_API bool tfr_runtime_claims(const tfr_runtime *runtime, uint32_t device, uint32_t backend,
                                uint32_t op);

/*
 * Element types that a call's operand 0 (input 0, or output 0 without inputs) may have to be taken
 * by this backend, bit n for the tfr_dtype n: *here on this machine, *conditional those that depend
 * on the processor or on a library's version, whether they are here or not. False: unspecified.
 */
TFR_API bool tfr_runtime_claim_types(const tfr_runtime *runtime, uint32_t device, uint32_t backend,
                                     uint32_t op, uint64_t *here, uint64_t *conditional);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h: a whole small backend on the host with one op, Relu on float32. Each file in this folder
 * defines FAKE_NAME and the one macro in which it misbehaves, then includes this. Everything that
 * is not defined is as it should be.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tfrun/fail.h>

/* Statements run where their names say. */
#ifndef FAKE_ON_ENTRY
#define FAKE_ON_ENTRY
#endif
#ifndef FAKE_ON_ENUMERATE
#define FAKE_ON_ENUMERATE
#endif
#ifndef FAKE_ON_DEVICE
#define FAKE_ON_DEVICE
#endif
#ifndef FAKE_ON_OPEN
#define FAKE_ON_OPEN
#endif
#ifndef FAKE_ON_OPS
#define FAKE_ON_OPS                                                                                \
    if (*n) {                                                                                      \
        out->since_version = FAKE_SINCE_VERSION;                                                   \
        out->domain = "";                                                                          \
        out->name = "Relu";                                                                        \
        out->digest = FAKE_DIGEST;                                                                 \
    }                                                                                              \
    *n = 1;                                                                                        \
    return TFR_OK;
#endif
#ifndef FAKE_ON_SUPPORTS
#define FAKE_ON_SUPPORTS
#endif
#ifndef FAKE_ON_YES
#define FAKE_ON_YES
#endif
#ifndef FAKE_ANSWER_FLAGS
#define FAKE_ANSWER_FLAGS 0
#endif
#ifndef FAKE_ON_PREPARE
#define FAKE_ON_PREPARE
#endif
#ifndef FAKE_ON_LAUNCH
#define FAKE_ON_LAUNCH
#endif
#ifndef FAKE_ON_FACET
#define FAKE_ON_FACET
#endif
#ifdef FAKE_ON_LOAD
__attribute__((constructor)) static void fake_load(void)
{
    FAKE_ON_LOAD
}
#endif

/* Values. */
#ifndef FAKE_TABLE_NAME
#define FAKE_TABLE_NAME FAKE_NAME
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION "1.0"
#endif
#ifndef FAKE_PRIORITY
#define FAKE_PRIORITY 10
#endif
#ifndef FAKE_CPU_FEATURES
#define FAKE_CPU_FEATURES ""
#endif
#ifndef FAKE_TYPE
#define FAKE_TYPE "CPU"
#endif
#ifndef FAKE_IDENTITY
#define FAKE_IDENTITY "host"
#endif
#ifndef FAKE_N_DEVICES
#define FAKE_N_DEVICES 1
#endif
#ifndef FAKE_SINCE_VERSION
#define FAKE_SINCE_VERSION 14
#endif
#ifndef FAKE_DIGEST
#define FAKE_DIGEST 0
#endif
#ifndef FAKE_SPACE_FLAGS
#define FAKE_SPACE_FLAGS (TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS)
#endif
#ifndef FAKE_LAUNCH_SLOT
#define FAKE_LAUNCH_SLOT fake_launch
#endif
#ifndef FAKE_PLUGIN_SIZE
#define FAKE_PLUGIN_SIZE sizeof(tfr_plugin)
#endif
#ifndef FAKE_MEMORY_SIZE
#define FAKE_MEMORY_SIZE sizeof(tfr_memory_facet)
#endif
#ifndef FAKE_KERNEL_SIZE
#define FAKE_KERNEL_SIZE sizeof(tfr_kernel_facet)
#endif

struct tfr_plugin_device {
    uint32_t ordinal;
};
struct tfr_kernel {
    int64_t n;
    char *kept; /* for fakes that keep what they should not */
};

/* ---- memory ---- */

static int32_t fake_spaces(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride,
                           uint32_t *n, tfr_err *err)
{
    (void)device, (void)stride, (void)err;
    if (*n) {
        out->flags = FAKE_SPACE_FLAGS;
        snprintf(out->name, sizeof out->name, "host");
        out->alignment = 64;
    }
    *n = 1;
    return TFR_OK;
}

static int32_t fake_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                          const tfr_alloc_options *options, void **out, tfr_err *err)
{
    (void)device, (void)space;
    if (posix_memalign(out, options && options->align > 64 ? options->align : 64, bytes))
        return tfr_fail(err, TFR_ENOMEM, "no room for %llu bytes", (unsigned long long)bytes);
    return TFR_OK;
}

static void fake_free(tfr_plugin_device *device, uint32_t space, void *address)
{
    (void)device, (void)space;
    free(address);
}

static const struct {
    tfr_memory_facet known;
    char future[64]; /* fields of a later header */
} fake_memory = {
    .known = {.size = FAKE_MEMORY_SIZE,
              .spaces = fake_spaces,
              .alloc = fake_alloc,
              .free = fake_free},
    .future = {1},
};

/* ---- kernels ---- */

static int32_t fake_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                        uint32_t *n, tfr_err *err)
{
    (void)device, (void)stride, (void)err;
    FAKE_ON_OPS
}

static int32_t fake_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                             tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    (void)device, (void)err;
    FAKE_ON_SUPPORTS
    if (!x || x->dtype != TFR_DTYPE_F32)
        return tfr_decline(answer, TFR_REASON_DTYPE, "only float32");
    if (x->strides)
        return tfr_decline(answer, TFR_REASON_LAYOUT, "only the plain layout");
    answer->verdict = TFR_VERDICT_YES;
    answer->flags = FAKE_ANSWER_FLAGS;
    FAKE_ON_YES
    return TFR_OK;
}

static int32_t fake_prepare(tfr_plugin_device *device, const tfr_call *call,
                            const tfr_prepare_options *options, tfr_kernel **out,
                            tfr_kernel_info *info, tfr_err *err)
{
    (void)options, (void)info;
    const tfr_operand *x = tfr_call_input(call, 0);
    tfr_kernel *kernel;
    (void)device, (void)err;
    FAKE_ON_PREPARE
    kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory");
    kernel->n = tfr_operand_elements(x);
    *out = kernel;
    return TFR_OK;
}

__attribute__((unused)) static int32_t fake_launch(tfr_plugin_device *device, tfr_queue *queue,
                                                   tfr_kernel *kernel, const tfr_launch *launch,
                                                   tfr_err *err)
{
    const float *x = launch->args[0].address;
    float *y = launch->args[1].address;
    int64_t i;
    (void)device, (void)queue, (void)err;
    FAKE_ON_LAUNCH
    for (i = 0; i < kernel->n; i++)
        y[i] = x[i] < 0 ? 0 : x[i]; /* NaN stays NaN */
    return TFR_OK;
}

static void fake_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    free(kernel);
}

static const struct {
    tfr_kernel_facet known;
    char future[64];
} fake_kernel = {
    .known = {.size = FAKE_KERNEL_SIZE,
              .ops = fake_ops,
              .supports = fake_supports,
              .prepare = fake_prepare,
              .launch = FAKE_LAUNCH_SLOT,
              .drop = fake_drop},
    .future = {1},
};

/* ---- the plugin ---- */

static int32_t fake_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    uint32_t i;
    (void)err;
    FAKE_ON_ENUMERATE
    for (i = 0; i < *n && i + 1 <= FAKE_N_DEVICES; i++) {
        tfr_device_info *info = (tfr_device_info *)(void *)((char *)out + (size_t)i * stride);
        info->ordinal = i;
        snprintf(info->type, sizeof info->type, FAKE_TYPE);
        snprintf(info->identity, sizeof info->identity, FAKE_IDENTITY);
        FAKE_ON_DEVICE
    }
    *n = FAKE_N_DEVICES;
    return TFR_OK;
}

static int32_t fake_open(const tfr_device_info *info, const tfr_open_options *options,
                         tfr_plugin_device **out, tfr_err *err)
{
    tfr_plugin_device *device;
    (void)options, (void)err;
    FAKE_ON_OPEN
    device = malloc(sizeof *device);
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory");
    device->ordinal = info->ordinal;
    *out = device;
    return TFR_OK;
}

static void fake_close(tfr_plugin_device *device)
{
    free(device);
}

#ifdef FAKE_PROFILE
static int32_t fake_start(tfr_plugin_device *device, int32_t on, tfr_err *err)
{
    (void)device, (void)on, (void)err;
    return TFR_OK;
}

static const tfr_profile_facet fake_profile = {.size = sizeof fake_profile, .start = fake_start};
#endif

static const void *fake_facet(const char *id)
{
#ifdef FAKE_PROFILE
    if (strcmp(id, TFR_PROFILE_V1) == 0)
        return &fake_profile;
#endif
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &fake_memory;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &fake_kernel;
    FAKE_ON_FACET
    return NULL;
}

static const struct {
    tfr_plugin known;
    char future[64];
} fake_plugin = {
    .known = {.size = FAKE_PLUGIN_SIZE,
              .abi_minor = TFR_ABI_MINOR,
              .name = FAKE_TABLE_NAME,
              .version = FAKE_VERSION,
              .vendor = "tests",
              .enumerate = fake_enumerate,
              .open = fake_open,
              .close = fake_close,
              .facet = fake_facet},
    .future = {1},
};

#ifndef FAKE_NO_ENTRY
int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host, (void)err;
    FAKE_ON_ENTRY
    *out = &fake_plugin.known;
    return TFR_OK;
}
#else
__attribute__((visibility("default"))) const void *fake_unused(void);
const void *fake_unused(void)
{
    return &fake_plugin;
}
#endif

#ifndef FAKE_NO_NOTE
TFR_PLUGIN_NOTE(FAKE_NAME, TFR_PLUGIN_BACKEND, FAKE_PRIORITY, FAKE_CPU_FEATURES);
#endif

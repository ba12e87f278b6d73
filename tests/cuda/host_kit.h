/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_kit.h: the CUDA backend's host half through the plugin contract alone, over the driver
 * stand-in (fake_driver.h). Included once per test program. HOST_KIT_PLUGIN may be defined before:
 * another build of it, relative to the build folder.
 */
#ifndef TFR_CUDA_HOST_KIT_H
#define TFR_CUDA_HOST_KIT_H

#include <dlfcn.h>
#include <stdlib.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include "cuda_abi.h"
#include "fake_driver.h"
#include "tfr_test.h"

#ifndef HOST_KIT_PLUGIN
#define HOST_KIT_PLUGIN "tests/cuda/.libs/cudahost.so"
#endif

static char folder[4096]; /* of the stand-in */
static const char *n_logical = "1";
static tfr_err err = TFR_ERR_INIT;
static const tfr_plugin *plugin;
static const tfr_memory_facet *memory;
static const tfr_queue_facet *queues;
static const tfr_kernel_facet *kernels;
static const tfr_capture_facet *captures;
static const tfr_native_facet *natives;
static fake_configure_fn *configure;
static fake_calls_fn *calls_of;
static fake_fail_fn *fail_at;
static fake_leaks_fn *leaks;
static tfr_cuInit_fn *start;
static const void *(*facet_of_host)(const char *id); /* NULL = the host has none */

static inline void host_log(int32_t level, const char *who, const char *text)
{
    if (getenv("TFR_TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, who, text);
}

static inline int32_t host_option(const char *name, const char *key, char *out, uint32_t n)
{
    if (strcmp(name, "cuda") == 0 && strcmp(key, "library-path") == 0)
        return snprintf(out, n, "%s", folder);
    if (strcmp(name, "cuda") == 0 && strcmp(key, "logical-devices") == 0)
        return snprintf(out, n, "%s", n_logical);
    return -1;
}

static inline const void *host_facet(const char *id)
{
    return facet_of_host ? facet_of_host(id) : NULL;
}

static const tfr_host host = {
    .size = sizeof host,
    .abi_minor = TFR_ABI_MINOR,
    .log = host_log,
    .option = host_option,
    .facet = host_facet,
};

static inline void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    REQUIRE(address != NULL);
    return address;
}

/* switches are of TFRUN_FAKE_CUDA. */
#define BEGIN(switches)                                                                            \
    if (!begin(switches))                                                                          \
    SKIP("the driver stand-in is not built")

/* False: there is no stand-in. */
static inline bool begin(const char *switches)
{
    char path[4200];
    const char *build = getenv("TFR_BUILDDIR");
    tfr_plugin_entry_fn entry;

    n_logical = "1";
    if (plugin) {
        configure(switches);
        REQUIRE_INT(0, start(0)); /* the plugin has started the driver once and for all */
        return true;
    }
    snprintf(folder, sizeof folder, "%s/tests/cuda", build ? build : ".");
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(path, sizeof path, "%s/" HOST_KIT_PLUGIN, build ? build : ".");
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!driver || !so)
        return false;
    *(void **)&configure = symbol(driver, "tfr_fake_cuda_configure");
    *(void **)&calls_of = symbol(driver, "tfr_fake_cuda_calls");
    *(void **)&fail_at = symbol(driver, "tfr_fake_cuda_fail");
    *(void **)&start = symbol(driver, "cuInit");
    *(void **)&leaks = symbol(driver, "tfr_fake_cuda_leaks");
    *(void **)&entry = symbol(so, "tfrun_plugin_v0");
    configure(switches);
    REQUIRE_OK(entry(&host, &plugin, &err), &err);
    memory = plugin->facet(TFR_MEMORY_V1);
    queues = plugin->facet(TFR_QUEUE_V1);
    kernels = plugin->facet(TFR_KERNEL_V1);
    captures = plugin->facet(TFR_CAPTURE_V1);
    natives = plugin->facet(TFR_NATIVE_V1);
    REQUIRE(memory && queues && kernels && captures && natives);
    return true;
}

static inline tfr_plugin_device *open_options(uint32_t number, const tfr_option *options,
                                              uint32_t n_options)
{
    tfr_device_info infos[8] = {{0}};
    const tfr_open_options given = {sizeof given, n_options, options};
    tfr_plugin_device *device = NULL;
    uint32_t n = 8;
    for (int i = 0; i < 8; i++)
        infos[i].size = sizeof infos[i];
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE(number < n);
    (void)plugin->open(&infos[number], &given, &device, &err);
    return device;
}

static inline tfr_plugin_device *open_with(uint32_t number, const char *key, const char *value)
{
    const tfr_option option = {key, value};
    return open_options(number, &option, key != NULL);
}

typedef struct rig {
    tfr_plugin_device *device;
    tfr_queue *queue;
    tfr_fence *fence;
    uint64_t value;
} rig;

static inline rig rig_of(tfr_plugin_device *device)
{
    rig r = {.device = device};
    REQUIRE(device != NULL);
    REQUIRE_OK(queues->create(device, NULL, &r.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(device, NULL, &r.fence, &err), &err);
    return r;
}

/* Closes it, and looks whether the driver has everything back and was left alone when lost. */
static inline void end_rig(rig *r)
{
    queues->destroy(r->device, r->queue);
    queues->fence_destroy(r->device, r->fence);
    plugin->close(r->device);
}

static inline void check_leaks(const char *expected)
{
    char text[512] = "";
    leaks(text, sizeof text);
    CHECK_STR(expected, text);
}

static inline int32_t signal(rig *r)
{
    return queues->signal(r->device, r->queue, r->fence, ++r->value, &err);
}

static inline int32_t finish(rig *r)
{
    int32_t status = signal(r);
    return status ? status
                  : queues->host_wait(r->device, r->fence, r->value, TFR_WAIT_FOREVER, &err);
}

static inline void *new_memory(const rig *r, uint32_t space, uint32_t flags, uint64_t bytes)
{
    const tfr_alloc_options options = {.size = sizeof options, .flags = flags};
    void *address = NULL;
    REQUIRE_OK(memory->alloc(r->device, space, bytes, &options, &address, &err), &err);
    return address;
}

static inline int32_t copy(rig *r, tfr_queue *queue, uint32_t to, void *dst, uint32_t from,
                           const void *src, uint64_t bytes)
{
    const tfr_copy c = {.size = sizeof c,
                        .dst_space = to,
                        .src_space = from,
                        .dst = dst,
                        .src = src,
                        .bytes = bytes};
    return memory->copy(r->device, queue, &c, 1, sizeof c, &err);
}

/* z = x + y, n floats each. */
static inline int32_t prepare_add(const rig *r, const int64_t *n, tfr_kernel **out)
{
    const tfr_operand o = {.size = sizeof o, .dtype = TFR_DTYPE_F32, .rank = 1, .dims = n};
    const tfr_operand operands[3] = {o, o, o};
    const tfr_call call = {.size = sizeof call,
                           .since_version = 14,
                           .domain = "",
                           .name = "Add",
                           .inputs = operands,
                           .outputs = operands + 2,
                           .n_inputs = 2,
                           .input_stride = sizeof o,
                           .n_outputs = 1,
                           .output_stride = sizeof o};
    tfr_answer answer = {.size = sizeof answer};
    tfr_kernel_info info = {.size = sizeof info};
    REQUIRE_OK(kernels->supports(r->device, &call, &answer, &err), &err);
    REQUIRE_INT(TFR_VERDICT_YES, answer.verdict);
    return kernels->prepare(r->device, &call, NULL, out, &info, &err);
}

static inline tfr_kernel *new_add(const rig *r, const int64_t *n)
{
    tfr_kernel *kernel = NULL;
    REQUIRE_OK(prepare_add(r, n, &kernel), &err);
    return kernel;
}

static inline int32_t launch(rig *r, tfr_kernel *kernel, void *x, void *y, void *z, uint64_t id)
{
    const tfr_arg args[3] = {{.address = x}, {.address = y}, {.address = z}};
    const tfr_launch l = {.size = sizeof l, .n_args = 3, .args = args, .id = id};
    return kernels->launch(r->device, r->queue, kernel, &l, &err);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_kit.h: for tests of the fake accelerator (tests/fake/accelerator*.c) through the
 * plugin contract alone: a host that loads it, and a device with a queue. What the core makes of
 * the accelerator is tested elsewhere. Included once per test program.
 */
#ifndef TFR_ACCELERATOR_KIT_H
#define TFR_ACCELERATOR_KIT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <tfrun/fail.h>

#include "tfr_test.h"

/* ---- a host ---------------------------------------------------------------------------------- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int n_logged_errors;
static const char *options[8][2];

static inline void host_log(int32_t level, const char *who, const char *text)
{
    (void)who;
    (void)text;
    pthread_mutex_lock(&log_lock);
    n_logged_errors += level == TFR_LOG_ERROR;
    pthread_mutex_unlock(&log_lock);
}

/* Errors since the last call. */
static inline int take_logged_errors(void)
{
    pthread_mutex_lock(&log_lock);
    const int n = n_logged_errors;
    n_logged_errors = 0;
    pthread_mutex_unlock(&log_lock);
    return n;
}

static inline void host_parallel_for(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    (void)grain;
    fn(user, 0, n);
}

static inline int32_t host_option(const char *plugin, const char *key, char *out, uint32_t n)
{
    for (int i = 0; strcmp(plugin, "fakeacc") == 0 && options[i][0]; i++)
        if (strcmp(key, options[i][0]) == 0)
            return snprintf(out, n, "%s", options[i][1]);
    if (strcmp(plugin, "fakeacc") == 0 && strcmp(key, "early_waits") == 0)
        return snprintf(out, n, "1"); /* for gates */
    return -1;
}

static inline const void *host_facet(const char *id)
{
    (void)id;
    return NULL;
}

static const tfr_host host = {sizeof host,       TFR_ABI_MINOR, host_log,
                              host_parallel_for, host_option,   host_facet};

/* ---- a device -------------------------------------------------------------------------------- */

static const tfr_plugin *plugin;
static const tfr_memory_facet *memory;
static const tfr_queue_facet *queues;
static const tfr_kernel_facet *kernels;
static tfr_err err = TFR_ERR_INIT;

static inline void load(void)
{
    char path[4096];
    const char *build = getenv("TFR_BUILDDIR");
    tfr_plugin_entry_fn entry = NULL;
    if (plugin)
        return;
    snprintf(path, sizeof path, "%s/tests/fakeacc/.libs/fakeacc.so", build ? build : ".");
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        printf("%s\n", dlerror());
    REQUIRE(so != NULL);
    *(void **)&entry = dlsym(so, "tfrun_plugin_v0");
    REQUIRE(entry != NULL);
    REQUIRE_OK(entry(&host, &plugin, &err), &err);
    memory = plugin->facet(TFR_MEMORY_V1);
    queues = plugin->facet(TFR_QUEUE_V1);
    kernels = plugin->facet(TFR_KERNEL_V1);
    REQUIRE(memory && queues && kernels);
    CHECK(plugin->facet("tfr.nonsense/1") == NULL);
}

static inline void set_options(const char *key, const char *value, const char *key_2,
                               const char *value_2)
{
    memset(options, 0, sizeof options);
    options[0][0] = key;
    options[0][1] = value;
    options[1][0] = key_2;
    options[1][1] = value_2;
}

static inline tfr_plugin_device *open_device(void)
{
    tfr_device_info info = {.size = sizeof info};
    tfr_plugin_device *device = NULL;
    uint32_t n = 1;
    load();
    REQUIRE_OK(plugin->enumerate(&info, sizeof info, &n, &err), &err);
    REQUIRE_INT(1, n);
    REQUIRE_OK(plugin->open(&info, NULL, &device, &err), &err);
    return device;
}

/* With one queue and one fence, as most tests want it. */
typedef struct rig {
    tfr_plugin_device *device;
    tfr_queue *queue;
    tfr_fence *fence;
    uint64_t value;
} rig;

static inline rig new_rig(void)
{
    rig r = {.device = open_device()};
    REQUIRE_OK(queues->create(r.device, NULL, &r.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, NULL, &r.fence, &err), &err);
    return r;
}

static inline void end_rig(rig *r)
{
    queues->destroy(r->device, r->queue);
    queues->fence_destroy(r->device, r->fence);
    plugin->close(r->device);
    CHECK_INT(0, take_logged_errors());
    set_options(NULL, NULL, NULL, NULL);
}

/* Waits for all that is on the queue. */
static inline int32_t finish(rig *r)
{
    int32_t status = queues->signal(r->device, r->queue, r->fence, ++r->value, &err);
    return status ? status
                  : queues->host_wait(r->device, r->fence, r->value, TFR_WAIT_FOREVER, &err);
}

/*
 * A second queue that holds the rig's queue until open_gate: nothing here depends on time. The
 * core never waits before a signal, which is a breach without the option early_waits.
 */
typedef struct gate {
    tfr_queue *queue;
    tfr_fence *fence;
} gate;

static inline gate close_gate(const rig *r)
{
    gate g = {0};
    REQUIRE_OK(queues->create(r->device, NULL, &g.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(r->device, NULL, &g.fence, &err), &err);
    CHECK_OK(queues->wait(r->device, r->queue, g.fence, 1, &err), &err);
    return g;
}

static inline void open_gate(const rig *r, const gate *g)
{
    CHECK_OK(queues->signal(r->device, g->queue, g->fence, 1, &err), &err);
}

/* After the rig's queue has passed it. */
static inline void remove_gate(const rig *r, const gate *g)
{
    CHECK_OK(queues->host_wait(r->device, g->fence, 1, TFR_WAIT_FOREVER, &err), &err);
    queues->destroy(r->device, g->queue);
    queues->fence_destroy(r->device, g->fence);
}

static inline void *new_memory(const rig *r, uint64_t bytes)
{
    void *address = NULL;
    REQUIRE_OK(memory->alloc(r->device, 0, bytes, NULL, &address, &err), &err);
    return address;
}

static inline int32_t copy_in(rig *r, void *dst, const void *src, uint64_t bytes)
{
    tfr_copy copy = {
        .dst_space = 0, .src_space = TFR_SPACE_HOST, .dst = dst, .src = src, .bytes = bytes};
    return memory->copy(r->device, r->queue, &copy, 1, sizeof copy, &err);
}

static inline int32_t copy_out(rig *r, void *dst, const void *src, uint64_t bytes)
{
    tfr_copy copy = {
        .dst_space = TFR_SPACE_HOST, .src_space = 0, .dst = dst, .src = src, .bytes = bytes};
    return memory->copy(r->device, r->queue, &copy, 1, sizeof copy, &err);
}

static inline void *new_floats(rig *r, int n, const float *values)
{
    void *address = new_memory(r, (uint64_t)n * sizeof(float));
    CHECK_OK(copy_in(r, address, values, (uint64_t)n * sizeof(float)), &err);
    CHECK_OK(finish(r), &err);
    return address;
}

static inline void check_floats(rig *r, int n, const float *expected, const void *address)
{
    float got[16] = {0};
    REQUIRE(n <= 16);
    CHECK_OK(copy_out(r, got, address, (uint64_t)n * sizeof(float)), &err);
    CHECK_OK(finish(r), &err);
    for (int i = 0; i < n; i++)
        CHECK_NEAR(expected[i], got[i], 0);
}

static inline tfr_operand operand(int32_t rank, const int64_t *dims)
{
    return (tfr_operand){
        .size = sizeof(tfr_operand), .dtype = TFR_DTYPE_F32, .rank = rank, .dims = dims};
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* inputs, then the output */
static inline tfr_call call_of(const char *name, const tfr_operand *operands, uint32_t n_inputs)
{
    return (tfr_call){.size = sizeof(tfr_call),
                      .since_version = strcmp(name, "MatMul") == 0 ? 13 : 14,
                      .domain = "",
                      .name = name,
                      .inputs = operands,
                      .outputs = operands + n_inputs,
                      .n_inputs = n_inputs,
                      .input_stride = sizeof(tfr_operand),
                      .n_outputs = 1,
                      .output_stride = sizeof(tfr_operand),
                      .attr_stride = sizeof(tfr_attr)};
}

static inline tfr_answer ask(const rig *r, const tfr_call *call)
{
    tfr_answer answer = {.size = sizeof answer};
    CHECK_OK(kernels->supports(r->device, call, &answer, &err), &err);
    return answer;
}

static inline tfr_kernel *new_kernel(const rig *r, const tfr_call *call)
{
    tfr_kernel_info info = {.size = sizeof info};
    tfr_kernel *kernel = NULL;
    CHECK_INT(TFR_VERDICT_YES, ask(r, call).verdict);
    REQUIRE_OK(kernels->prepare(r->device, call, NULL, &kernel, &info, &err), &err);
    return kernel;
}

/* Relu of n floats: the smallest thing to launch. */
static inline tfr_kernel *new_relu(const rig *r, int64_t n)
{
    const int64_t dims[1] = {n};
    const tfr_operand o[2] = {operand(1, dims), operand(1, dims)};
    const tfr_call call = call_of("Relu", o, 1);
    return new_kernel(r, &call);
}

static inline int32_t launch(rig *r, tfr_kernel *kernel, uint32_t n_args, void *a, void *b, void *c,
                             void *workspace)
{
    const tfr_arg args[3] = {{.address = a}, {.address = b}, {.address = c}};
    const tfr_launch l = {.size = sizeof l, .n_args = n_args, .args = args, .workspace = workspace};
    return kernels->launch(r->device, r->queue, kernel, &l, &err);
}

#endif

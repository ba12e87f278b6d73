/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the fake accelerator (tests/fake/accelerator*.c) through the plugin contract alone: that
 * it computes, that it is as different from the host as it claims, and that it sees what breaks the
 * contract. What the core makes of it is tested elsewhere.
 */
#include "tfr_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tfrun/fail.h>
#include <unistd.h>

/* ---- a host ---------------------------------------------------------------------------------- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int n_logged_errors;
static const char *options[8][2];

static void host_log(int32_t level, const char *who, const char *text)
{
    (void)who;
    (void)text;
    pthread_mutex_lock(&log_lock);
    n_logged_errors += level == TFR_LOG_ERROR;
    pthread_mutex_unlock(&log_lock);
}

/* Errors since the last call. */
static int take_logged_errors(void)
{
    pthread_mutex_lock(&log_lock);
    const int n = n_logged_errors;
    n_logged_errors = 0;
    pthread_mutex_unlock(&log_lock);
    return n;
}

static void host_parallel_for(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    (void)grain;
    fn(user, 0, n);
}

static int32_t host_option(const char *plugin, const char *key, char *out, uint32_t n)
{
    for (int i = 0; strcmp(plugin, "fakeacc") == 0 && options[i][0]; i++)
        if (strcmp(key, options[i][0]) == 0)
            return snprintf(out, n, "%s", options[i][1]);
    return -1;
}

static const void *host_facet(const char *id)
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

static void load(void)
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
    *(void **)&entry = dlsym(so, "tfrun_plugin_v1");
    REQUIRE(entry != NULL);
    REQUIRE_OK(entry(&host, &plugin, &err), &err);
    memory = plugin->facet(TFR_MEMORY_V1);
    queues = plugin->facet(TFR_QUEUE_V1);
    kernels = plugin->facet(TFR_KERNEL_V1);
    REQUIRE(memory && queues && kernels);
    CHECK(plugin->facet("tfr.nonsense/1") == NULL);
}

static void set_options(const char *key, const char *value, const char *key_2, const char *value_2)
{
    memset(options, 0, sizeof options);
    options[0][0] = key;
    options[0][1] = value;
    options[1][0] = key_2;
    options[1][1] = value_2;
}

static tfr_plugin_device *open_device(void)
{
    tfr_device_info info = {.size = sizeof info};
    tfr_plugin_device *device = NULL;
    uint32_t n = 1;
    load();
    REQUIRE_OK(plugin->enumerate(&info, sizeof info, &n, &err), &err);
    REQUIRE_INT(1, n);
    REQUIRE_OK(plugin->open(&info, NULL, 0, &device, &err), &err);
    return device;
}

/* With one queue and one fence, as most tests want it. */
typedef struct rig {
    tfr_plugin_device *device;
    tfr_queue *queue;
    tfr_fence *fence;
    uint64_t value;
} rig;

static rig new_rig(void)
{
    rig r = {.device = open_device()};
    REQUIRE_OK(queues->create(r.device, &r.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, &r.fence, &err), &err);
    return r;
}

static void end_rig(rig *r)
{
    queues->destroy(r->device, r->queue);
    queues->fence_destroy(r->device, r->fence);
    plugin->close(r->device);
    CHECK_INT(0, take_logged_errors());
    set_options(NULL, NULL, NULL, NULL);
}

/* Waits for all that is on the queue. */
static int32_t finish(rig *r)
{
    int32_t status = queues->signal(r->device, r->queue, r->fence, ++r->value, &err);
    return status ? status
                  : queues->host_wait(r->device, r->fence, r->value, TFR_WAIT_FOREVER, &err);
}

/* A second queue that holds the rig's queue until open_gate: nothing here depends on time. */
typedef struct gate {
    tfr_queue *queue;
    tfr_fence *fence;
} gate;

static gate close_gate(const rig *r)
{
    gate g = {0};
    REQUIRE_OK(queues->create(r->device, &g.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(r->device, &g.fence, &err), &err);
    CHECK_OK(queues->wait(r->device, r->queue, g.fence, 1, &err), &err);
    return g;
}

static void open_gate(const rig *r, const gate *g)
{
    CHECK_OK(queues->signal(r->device, g->queue, g->fence, 1, &err), &err);
}

/* After the rig's queue has passed it. */
static void remove_gate(const rig *r, const gate *g)
{
    CHECK_OK(queues->host_wait(r->device, g->fence, 1, TFR_WAIT_FOREVER, &err), &err);
    queues->destroy(r->device, g->queue);
    queues->fence_destroy(r->device, g->fence);
}

static void *new_memory(const rig *r, uint64_t bytes)
{
    void *address = NULL;
    REQUIRE_OK(memory->alloc(r->device, 0, bytes, 64, &address, &err), &err);
    return address;
}

static int32_t copy_in(rig *r, void *dst, const void *src, uint64_t bytes)
{
    tfr_copy copy = {
        .dst_space = 0, .src_space = TFR_SPACE_HOST, .dst = dst, .src = src, .bytes = bytes};
    return memory->copy(r->device, r->queue, &copy, 1, sizeof copy, &err);
}

static int32_t copy_out(rig *r, void *dst, const void *src, uint64_t bytes)
{
    tfr_copy copy = {
        .dst_space = TFR_SPACE_HOST, .src_space = 0, .dst = dst, .src = src, .bytes = bytes};
    return memory->copy(r->device, r->queue, &copy, 1, sizeof copy, &err);
}

static void *new_floats(rig *r, int n, const float *values)
{
    void *address = new_memory(r, (uint64_t)n * sizeof(float));
    CHECK_OK(copy_in(r, address, values, (uint64_t)n * sizeof(float)), &err);
    CHECK_OK(finish(r), &err);
    return address;
}

static void check_floats(rig *r, int n, const float *expected, const void *address)
{
    float got[16] = {0};
    REQUIRE(n <= 16);
    CHECK_OK(copy_out(r, got, address, (uint64_t)n * sizeof(float)), &err);
    CHECK_OK(finish(r), &err);
    for (int i = 0; i < n; i++)
        CHECK_NEAR(expected[i], got[i], 0);
}

static tfr_operand operand(int32_t rank, const int64_t *dims)
{
    return (tfr_operand){
        .size = sizeof(tfr_operand), .dtype = TFR_DTYPE_F32, .rank = rank, .dims = dims};
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* inputs, then the output */
static tfr_call call_of(const char *name, const tfr_operand *operands, uint32_t n_inputs)
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

static tfr_answer ask(const rig *r, const tfr_call *call)
{
    tfr_answer answer = {.size = sizeof answer};
    CHECK_OK(kernels->supports(r->device, call, &answer, &err), &err);
    return answer;
}

static tfr_kernel *new_kernel(const rig *r, const tfr_call *call)
{
    tfr_kernel *kernel = NULL;
    CHECK_INT(TFR_VERDICT_YES, ask(r, call).verdict);
    REQUIRE_OK(kernels->prepare(r->device, call, &kernel, &err), &err);
    return kernel;
}

/* Relu of n floats: the smallest thing to launch. */
static tfr_kernel *new_relu(const rig *r, int64_t n)
{
    const int64_t dims[1] = {n};
    const tfr_operand o[2] = {operand(1, dims), operand(1, dims)};
    const tfr_call call = call_of("Relu", o, 1);
    return new_kernel(r, &call);
}

static int32_t launch(rig *r, tfr_kernel *kernel, uint32_t n_args, void *a, void *b, void *c,
                      void *workspace)
{
    const tfr_arg args[3] = {{a, NULL}, {b, NULL}, {c, NULL}};
    const tfr_launch l = {.size = sizeof l, .n_args = n_args, .args = args, .workspace = workspace};
    return kernels->launch(r->device, r->queue, kernel, &l, &err);
}

/* ---- it works -------------------------------------------------------------------------------- */

TEST(it_shows_one_small_device_that_the_host_cannot_touch)
{
    tfr_device_info info = {.size = sizeof info};
    tfr_space_info space = {.size = sizeof space};
    uint32_t n = 1;
    tfr_plugin_device *device = open_device();
    CHECK_STR("fakeacc", plugin->name);
    CHECK_OK(plugin->enumerate(&info, sizeof info, &n, &err), &err);
    CHECK_STR("NPU", info.type);
    CHECK_STR("fake:0", info.identity);
    CHECK_UINT(1 << 20, info.memory_total);
    n = 0;
    CHECK_OK(memory->spaces(device, NULL, 0, &n, &err), &err);
    CHECK_INT(1, n);
    CHECK_OK(memory->spaces(device, &space, sizeof space, &n, &err), &err);
    CHECK_UINT(TFR_SPACE_DEVICE_ACCESS, space.flags);
    CHECK_UINT(256, space.alignment);
    plugin->close(device);
    CHECK_INT(0, take_logged_errors());
}

TEST(several_devices_have_memory_of_their_own)
{
    tfr_device_info infos[4] = {{.size = sizeof infos[0]}, {.size = sizeof infos[0]}};
    const tfr_option option = {"memory_limit", "4096"};
    tfr_plugin_device *devices[2] = {NULL, NULL};
    void *p = NULL;
    uint32_t n = 2;
    load();
    set_options("devices", "2", NULL, NULL);
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE_INT(2, n);
    CHECK_STR("fake:1", infos[1].identity);
    REQUIRE_OK(plugin->open(&infos[0], NULL, 0, &devices[0], &err), &err);
    REQUIRE_OK(plugin->open(&infos[1], &option, 1, &devices[1], &err), &err);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(devices[1], 0, 8192, 64, &p, &err), &err);
    CHECK_OK(memory->alloc(devices[0], 0, 8192, 64, &p, &err), &err);
    memory->free(devices[0], 0, p);
    plugin->close(devices[0]);
    plugin->close(devices[1]);
    set_options(NULL, NULL, NULL, NULL);
    CHECK_INT(0, take_logged_errors());
}

TEST(what_is_copied_in_comes_out)
{
    rig r = new_rig();
    char in[1000];
    char out[1000];
    char *a = new_memory(&r, 1000);
    char *b = new_memory(&r, 2000);
    for (int i = 0; i < 1000; i++)
        in[i] = (char)(i * 7);
    CHECK_OK(copy_in(&r, a, in, 1000), &err);
    tfr_copy inside = {.dst = b + 500, .src = a, .bytes = 1000};
    CHECK_OK(memory->copy(r.device, r.queue, &inside, 1, sizeof inside, &err), &err);
    CHECK_OK(memory->fill(r.device, r.queue, 0, b + 501, 'x', 2, &err), &err);
    CHECK_OK(copy_out(&r, out, b + 500, 1000), &err);
    CHECK_OK(finish(&r), &err);
    in[1] = in[2] = 'x';
    CHECK_MEM(in, out, 1000);
    /* Without a queue it is done on return. */
    tfr_copy now = {.dst_space = TFR_SPACE_HOST, .dst = out, .src = b, .bytes = 4};
    CHECK_OK(memory->copy(r.device, NULL, &now, 1, sizeof now, &err), &err);
    CHECK_MEM("\xcd\xcd\xcd\xcd", out, 4);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    end_rig(&r);
}

TEST(rows_are_copied_with_their_pitches)
{
    rig r = new_rig();
    static const char in[] = "ab..cd..ef";
    char out[9] = "12345678";
    char *a = new_memory(&r, 16);
    const tfr_copy in_rows = {.src_space = TFR_SPACE_HOST,
                              .dst = a,
                              .src = in,
                              .bytes = 2,
                              .rows = 3,
                              .dst_pitch = 5,
                              .src_pitch = 4};
    const tfr_copy out_rows = {.dst_space = TFR_SPACE_HOST,
                               .dst = out,
                               .src = a,
                               .bytes = 2,
                               .rows = 3,
                               .dst_pitch = 3,
                               .src_pitch = 5};
    CHECK_OK(memory->fill(r.device, r.queue, 0, a, '-', 16, &err), &err);
    CHECK_OK(memory->copy(r.device, r.queue, &in_rows, 1, sizeof in_rows, &err), &err);
    CHECK_OK(memory->copy(r.device, r.queue, &out_rows, 1, sizeof out_rows, &err), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_STR("ab3cd6ef", out);
    memory->free(r.device, 0, a);
    end_rig(&r);
}

TEST(a_peer_is_copied_from_at_once)
{
    tfr_device_info infos[2] = {{.size = sizeof infos[0]}, {.size = sizeof infos[0]}};
    const char in[4] = "abc";
    char out[4] = "xyz";
    uint32_t n = 2;
    tfr_plugin_device *peer = NULL;
    void *there = NULL;
    tfr_link way = {.size = sizeof way};
    load();
    set_options("devices", "2", NULL, NULL);
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE_OK(plugin->open(&infos[1], NULL, 0, &peer, &err), &err);
    set_options(NULL, NULL, NULL, NULL);
    rig r = new_rig();
    void *here = new_memory(&r, 4);
    REQUIRE_OK(memory->alloc(peer, 0, 4, 64, &there, &err), &err);
    const tfr_copy fill = {.src_space = TFR_SPACE_HOST, .dst = there, .src = in, .bytes = 4};
    CHECK_OK(memory->copy(peer, NULL, &fill, 1, sizeof fill, &err), &err);
    tfr_copy over = {.dst = here, .src = there, .bytes = 4, .src_device = peer};
    CHECK_OK(memory->copy(r.device, r.queue, &over, 1, sizeof over, &err), &err);
    CHECK_OK(copy_out(&r, out, here, 4), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_STR("abc", out);
    CHECK_OK(memory->link(r.device, 0, peer, 0, &way, &err), &err);
    CHECK_INT(TFR_LINK_DMA, way.kind);
    over.src_device = NULL;
    CHECK_STATUS(TFR_EPLUGIN, memory->copy(r.device, r.queue, &over, 1, sizeof over, &err), &err);
    CHECK_INT(1, take_logged_errors());
    memory->free(r.device, 0, here);
    memory->free(peer, 0, there);
    plugin->close(peer);
    end_rig(&r);
}

TEST(add_broadcasts_and_mul_works_in_place)
{
    rig r = new_rig();
    const tfr_operand o[3] = {operand(2, DIMS(2, 3)), operand(1, DIMS(3)), operand(2, DIMS(2, 3))};
    const tfr_call add = call_of("Add", o, 2);
    const tfr_call mul = call_of("Mul", o, 2);
    tfr_kernel *plus = new_kernel(&r, &add);
    tfr_kernel *times = new_kernel(&r, &mul);
    void *a = new_floats(&r, 6, (const float[]){1, 2, 3, 4, 5, 6});
    void *b = new_floats(&r, 3, (const float[]){10, 20, 30});
    void *y = new_memory(&r, 24);
    const tfr_answer answer = ask(&r, &mul);
    CHECK_INT(1, answer.n_in_place);
    CHECK_INT(0, answer.in_place[0].input);
    CHECK_OK(launch(&r, plus, 3, a, b, y, NULL), &err);
    CHECK_OK(launch(&r, times, 3, y, b, y, NULL), &err);
    check_floats(&r, 6, (const float[]){110, 440, 990, 140, 500, 1080}, y);
    kernels->drop(r.device, plus);
    kernels->drop(r.device, times);
    kernels->drop(r.device, NULL);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, y);
    end_rig(&r);
}

TEST(matmul_takes_a_workspace)
{
    rig r = new_rig();
    const tfr_operand o[3] = {operand(2, DIMS(2, 3)), operand(2, DIMS(3, 2)),
                              operand(2, DIMS(2, 2))};
    const tfr_call call = call_of("MatMul", o, 2);
    tfr_kernel *kernel = new_kernel(&r, &call);
    void *a = new_floats(&r, 6, (const float[]){1, 2, 3, 4, 5, 6});
    void *b = new_floats(&r, 6, (const float[]){1, 0, 0, 1, 2, -1});
    void *y = new_memory(&r, 16);
    void *w = new_memory(&r, 12);
    CHECK_UINT(12, ask(&r, &call).workspace_bytes);
    CHECK_OK(launch(&r, kernel, 3, a, b, y, w), &err);
    check_floats(&r, 4, (const float[]){7, -1, 16, -1}, y);
    CHECK_STATUS(TFR_EPLUGIN, launch(&r, kernel, 3, a, b, y, NULL), &err);
    CHECK_CONTAINS("workspace", err.text);
    CHECK_INT(1, take_logged_errors());
    kernels->drop(r.device, kernel);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, y);
    memory->free(r.device, 0, w);
    end_rig(&r);
}

TEST(relu_keeps_nan_and_drops_negative_numbers)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    void *x = new_floats(&r, 4, (const float[]){-1, 2, NAN, -INFINITY});
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    check_floats(&r, 4, (const float[]){0, 2, NAN, 0}, x);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

/* ---- it is no host --------------------------------------------------------------------------- */

TEST(a_touch_by_the_host_is_a_fault)
{
    rig r = new_rig();
    volatile char *address = new_memory(&r, 100);
    for (int write = 0; write < 2; write++) {
        int status = 0;
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            if (write)
                address[50] = 1;
            _exit(address[50] == 1);
        }
        REQUIRE_INT(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
    memory->free(r.device, 0, (void *)(uintptr_t)address);
    end_rig(&r);
}

TEST(memory_ends_at_its_limit_and_comes_back)
{
    set_options("memory_limit", "10000", NULL, NULL);
    rig r = new_rig();
    void *a = new_memory(&r, 6000);
    void *b = NULL;
    tfr_memory_stats stats = {.size = sizeof stats};
    CHECK_UINT(0, (uintptr_t)a % 256);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, 4001, 64, &b, &err), &err);
    CHECK_STR("no room for 4001 bytes on device 0, which has 4000 of 10000 left", err.text);
    CHECK(b == NULL);
    b = new_memory(&r, 4000);
    memory->free(r.device, 0, a);
    a = new_memory(&r, 5000);
    CHECK_OK(memory->stats(r.device, 0, &stats, &err), &err);
    CHECK_UINT(10000, stats.total);
    CHECK_UINT(9000, stats.in_use);
    CHECK_UINT(1000, stats.free);
    CHECK_UINT(10000, stats.peak);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, NULL);
    end_rig(&r);
}

TEST(a_queue_runs_later_and_in_order)
{
    rig r = new_rig();
    const char in[4] = "abc";
    char out[4] = "xyz";
    void *a = new_memory(&r, 4);
    const gate g = close_gate(&r);
    CHECK_OK(copy_in(&r, a, in, 4), &err);
    CHECK_OK(copy_out(&r, out, a, 4), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 5, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(r.device, r.fence, 5, 0, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(r.device, r.fence, 5, 1000000, &err), &err);
    CHECK_CONTAINS("1000000 ns", err.text);
    open_gate(&r, &g);
    CHECK_OK(queues->host_wait(r.device, r.fence, 5, UINT64_C(60000000000), &err), &err);
    remove_gate(&r, &g);
    CHECK_STR("abc", out);
    CHECK_OK(queues->host_wait(r.device, r.fence, 3, 0, &err), &err);
    memory->free(r.device, 0, a);
    end_rig(&r);
}

TEST(a_queue_waits_for_another)
{
    rig r = new_rig();
    const char in[4] = "abc";
    char out[4] = "xyz";
    tfr_queue *second = NULL;
    tfr_fence *done = NULL;
    void *a = new_memory(&r, 4);
    REQUIRE_OK(queues->create(r.device, &second, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, &done, &err), &err);
    /* The reader is told to wait before the writer has anything to do. */
    tfr_copy read = {.dst_space = TFR_SPACE_HOST, .dst = out, .src = a, .bytes = 4};
    CHECK_OK(queues->wait(r.device, second, r.fence, 1, &err), &err);
    CHECK_OK(memory->copy(r.device, second, &read, 1, sizeof read, &err), &err);
    CHECK_OK(queues->signal(r.device, second, done, 1, &err), &err);
    CHECK_OK(copy_in(&r, a, in, 4), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 1, &err), &err);
    CHECK_OK(queues->host_wait(r.device, done, 1, TFR_WAIT_FOREVER, &err), &err);
    CHECK_STR("abc", out);
    queues->destroy(r.device, second);
    queues->fence_destroy(r.device, done);
    memory->free(r.device, 0, a);
    end_rig(&r);
}

TEST(it_declines_with_reasons_and_numbers)
{
    rig r = new_rig();
    tfr_operand o[3] = {operand(1, DIMS(65537)), operand(1, DIMS(65537)), operand(1, DIMS(65537))};
    tfr_call call = call_of("Add", o, 2);
    tfr_answer answer = ask(&r, &call);
    CHECK_INT(TFR_VERDICT_NO, answer.verdict);
    CHECK_INT(TFR_REASON_SIZE_LIMIT, answer.reason);
    CHECK_STR("65537 elements of operand 0 are more than 65536", answer.text);
    call.name = "Softmax";
    CHECK_INT(TFR_REASON_UNKNOWN_OP, ask(&r, &call).reason);
    o[0] = o[1] = o[2] = operand(5, DIMS(1, 1, 1, 1, 1));
    call.name = "Mul";
    CHECK_INT(TFR_REASON_RANK, ask(&r, &call).reason);
    o[0] = o[1] = o[2] = operand(1, DIMS(4));
    o[0].dtype = o[1].dtype = o[2].dtype = TFR_DTYPE_F64;
    CHECK_INT(TFR_REASON_DTYPE, ask(&r, &call).reason);
    o[0] = operand(2, DIMS(1, 2000));
    o[1] = operand(2, DIMS(2000, 1));
    o[2] = operand(2, DIMS(1, 1));
    call.name = "MatMul";
    answer = ask(&r, &call);
    CHECK_INT(TFR_REASON_SIZE_LIMIT, answer.reason);
    CHECK_STR("k 2000 is more than 1024", answer.text);
    /* Strided is a yes after a reorder. */
    o[0] = o[1] = o[2] = operand(2, DIMS(2, 3));
    o[0].strides = DIMS(1, 2);
    call.name = "Add";
    answer = ask(&r, &call);
    CHECK_INT(TFR_VERDICT_REORDER, answer.verdict);
    CHECK_INT(TFR_REASON_LAYOUT, answer.reason);
    end_rig(&r);
}

TEST(it_claims_four_ops)
{
    tfr_op_claim claims[8] = {{.size = sizeof claims[0]}};
    uint32_t n = 1;
    rig r = new_rig();
    CHECK_OK(kernels->ops(r.device, claims, sizeof claims[0], &n, &err), &err);
    CHECK_INT(4, n);
    CHECK_STR("Add", claims[0].name);
    CHECK_INT(14, claims[0].since_version);
    end_rig(&r);
}

/* ---- it fails -------------------------------------------------------------------------------- */

TEST(a_failed_launch_is_on_every_later_fence_of_its_queue)
{
    set_options("fail_after", "1", NULL, NULL);
    rig r = new_rig();
    tfr_queue *other = NULL;
    tfr_kernel *relu = new_relu(&r, 1);
    tfr_fence *late = NULL;
    void *x = new_memory(&r, 4);
    REQUIRE_OK(queues->create(r.device, &other, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, &late, &err), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_EDEVICE, finish(&r), &err);
    CHECK_CONTAINS("launch 1 failed", err.text);
    CHECK_STATUS(TFR_EDEVICE, finish(&r), &err);
    /* It spreads to a queue that waits for this one, and to no other. */
    CHECK_OK(queues->signal(r.device, other, late, 1, &err), &err);
    CHECK_OK(queues->host_wait(r.device, late, 1, TFR_WAIT_FOREVER, &err), &err);
    CHECK_OK(queues->wait(r.device, other, r.fence, 1, &err), &err);
    CHECK_OK(queues->signal(r.device, other, late, 2, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, queues->host_wait(r.device, late, 2, TFR_WAIT_FOREVER, &err), &err);
    queues->destroy(r.device, other);
    queues->fence_destroy(r.device, late);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(a_lost_device_fails_every_later_call_and_can_be_closed)
{
    set_options("lose_after", "2", NULL, NULL);
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 1);
    tfr_kernel *never = NULL;
    void *x = new_memory(&r, 4);
    void *p = NULL;
    float out = 0;
    const tfr_operand o[2] = {operand(1, DIMS(1)), operand(1, DIMS(1))};
    const tfr_call call = call_of("Relu", o, 1);
    for (int i = 0; i < 2; i++)
        CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    CHECK_CONTAINS("lost after 2 launches", err.text);
    CHECK_STATUS(TFR_ELOST, launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_ELOST, copy_out(&r, &out, x, 4), &err);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    CHECK_STATUS(TFR_ELOST, queues->host_wait(r.device, r.fence, 1, 0, &err), &err);
    CHECK_STATUS(TFR_ELOST, queues->host_wait(r.device, r.fence, 99, TFR_WAIT_FOREVER, &err), &err);
    CHECK_STATUS(TFR_ELOST, memory->alloc(r.device, 0, 4, 64, &p, &err), &err);
    CHECK_STATUS(TFR_ELOST, kernels->prepare(r.device, &call, &never, &err), &err);
    CHECK(p == NULL && never == NULL);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

/* Work that is queued when the device is lost does not keep its things for ever. */
TEST(a_device_lost_with_work_queued_can_be_closed_at_once)
{
    set_options("lose_after", "0", "delay_us", "1000");
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 1);
    void *x = new_memory(&r, 4);
    int32_t status = TFR_OK;
    for (int i = 0; i < 20 && !status; i++)
        status = launch(&r, relu, 2, x, x, NULL, NULL);
    CHECK(status == TFR_OK || status == TFR_ELOST);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    queues->destroy(r.device, r.queue);
    queues->fence_destroy(r.device, r.fence);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    plugin->close(r.device);
    CHECK_INT(0, take_logged_errors());
    set_options(NULL, NULL, NULL, NULL);
}

/* ---- it watches the host --------------------------------------------------------------------- */

#define CHECK_BREACH(part, call)                                                                   \
    do {                                                                                           \
        CHECK_STATUS(TFR_EPLUGIN, call, &err);                                                     \
        CHECK_CONTAINS("host broke the contract: ", err.text);                                     \
        CHECK_CONTAINS(part, err.text);                                                            \
        CHECK_INT(1, take_logged_errors());                                                        \
    } while (0)

TEST(copies_outside_of_allocations_are_breaches)
{
    rig r = new_rig();
    char host_bytes[512] = {0};
    char *a = new_memory(&r, 100);
    char *b = new_memory(&r, 100);
    tfr_copy copy = {
        .dst_space = 1, .src_space = TFR_SPACE_HOST, .dst = a, .src = host_bytes, .bytes = 4};
    tfr_copy rows = {.src_space = TFR_SPACE_HOST,
                     .dst = a,
                     .src = host_bytes,
                     .bytes = 20,
                     .rows = 5,
                     .dst_pitch = 21,
                     .src_pitch = 20};
    CHECK_BREACH("101 bytes", copy_in(&r, a, host_bytes, 101));
    CHECK_BREACH("not inside one allocation", copy_in(&r, a - 1, host_bytes, 2));
    CHECK_BREACH("not inside one allocation", copy_in(&r, a, host_bytes, (uint64_t)(b - a) + 4));
    CHECK_BREACH("not inside one allocation", copy_in(&r, host_bytes, host_bytes, 4));
    CHECK_BREACH("host memory", copy_out(&r, b, a, 4));
    CHECK_BREACH("space 1", memory->copy(r.device, r.queue, &copy, 1, sizeof copy, &err));
    CHECK_BREACH("104 bytes", memory->copy(r.device, r.queue, &rows, 1, sizeof rows, &err));
    rows.dst_pitch = 19;
    CHECK_BREACH("pitches 19 and 20", memory->copy(r.device, r.queue, &rows, 1, sizeof rows, &err));
    CHECK_BREACH("0 bytes", memory->alloc(r.device, 0, 0, 64, (void **)&b, &err));
    memory->free(r.device, 0, a);
    CHECK_BREACH("not inside one allocation", copy_in(&r, a, host_bytes, 4));
    memory->free(r.device, 0, a);
    CHECK_INT(1, take_logged_errors());
    CHECK_STATUS(TFR_EPLUGIN, copy_in(&r, b, host_bytes, 4), &err);
    CHECK_CONTAINS("alloc did not give", err.text);
    memory->free(r.device, 0, b);
    end_rig(&r);
}

TEST(wrong_launches_are_breaches)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    char *x = new_memory(&r, 64);
    float host_floats[4] = {0};
    CHECK_BREACH("1 args", launch(&r, relu, 1, x, NULL, NULL, NULL));
    CHECK_BREACH("arg 0", launch(&r, relu, 2, host_floats, x, NULL, NULL));
    CHECK_BREACH("arg 1", launch(&r, relu, 2, x, x + 52, NULL, NULL));
    CHECK_BREACH("arg 1", launch(&r, relu, 2, x, NULL, NULL, NULL));
    CHECK_BREACH("aligned", launch(&r, relu, 2, x, x + 18, NULL, NULL));
    CHECK_BREACH("overlaps input 0", launch(&r, relu, 2, x, x + 4, NULL, NULL));
    CHECK_BREACH("prepare did not give",
                 launch(&r, (tfr_kernel *)(void *)host_floats, 2, x, x, NULL, NULL));
    CHECK_OK(launch(&r, relu, 2, x, x + 16, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    const tfr_launch l = {.size = sizeof l};
    CHECK_BREACH("without a queue", kernels->launch(r.device, NULL, relu, &l, &err));
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(calls_that_the_core_should_have_checked_are_breaches)
{
    rig r = new_rig();
    tfr_kernel *kernel = NULL;
    tfr_answer answer = {.size = sizeof answer};
    tfr_operand o[3] = {operand(1, DIMS(3)), operand(1, DIMS(4)), operand(1, DIMS(4))};
    tfr_call call = call_of("Add", o, 2);
    CHECK_BREACH("dim 0", kernels->supports(r.device, &call, &answer, &err));
    o[0] = operand(1, DIMS(4));
    call.n_inputs = 1;
    CHECK_BREACH("1 inputs", kernels->supports(r.device, &call, &answer, &err));
    call.n_inputs = 2;
    o[1].dtype = TFR_DTYPE_I32;
    CHECK_BREACH("types", kernels->supports(r.device, &call, &answer, &err));
    o[0].dtype = o[2].dtype = TFR_DTYPE_I32;
    CHECK_BREACH("got no yes", kernels->prepare(r.device, &call, &kernel, &err));
    end_rig(&r);
}

TEST(taking_away_what_is_in_use_is_a_breach)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    void *x = new_memory(&r, 16);
    const gate g = close_gate(&r);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, ++r.value, &err), &err);
    kernels->drop(r.device, relu);
    CHECK_INT(1, take_logged_errors());
    memory->free(r.device, 0, x);
    CHECK_INT(1, take_logged_errors());
    queues->fence_destroy(r.device, r.fence);
    CHECK_INT(1, take_logged_errors());
    queues->destroy(r.device, r.queue);
    CHECK_INT(1, take_logged_errors());
    plugin->close(r.device);
    CHECK_INT(1, take_logged_errors());
    /* The first one is told by the next call that can; then all is as if nothing had been said. */
    CHECK_STATUS(TFR_EPLUGIN, finish(&r), &err);
    CHECK_CONTAINS("whose launch is under way", err.text);
    open_gate(&r, &g);
    CHECK_OK(finish(&r), &err);
    remove_gate(&r, &g);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(a_fence_that_goes_back_is_a_breach)
{
    rig r = new_rig();
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 7, &err), &err);
    CHECK_BREACH("signal 7 after 7", queues->signal(r.device, r.queue, r.fence, 7, &err));
    CHECK_BREACH("create did not give",
                 queues->host_wait(r.device, (tfr_fence *)(void *)&r, 1, 0, &err));
    CHECK_BREACH("is not open", queues->host_wait(NULL, r.fence, 1, 0, &err));
    CHECK_OK(queues->host_wait(r.device, r.fence, 7, TFR_WAIT_FOREVER, &err), &err);
    end_rig(&r);
}

TEST(host_memory_that_changes_under_a_queued_copy_is_a_breach)
{
    rig r = new_rig();
    char bytes[16] = "before";
    void *x = new_memory(&r, 16);
    const gate g = close_gate(&r);
    CHECK_OK(copy_in(&r, x, bytes, 16), &err);
    memcpy(bytes, "after", sizeof "after");
    open_gate(&r, &g);
    CHECK_STATUS(TFR_EPLUGIN, finish(&r), &err);
    CHECK_CONTAINS("changed 16 bytes", err.text);
    CHECK_INT(1, take_logged_errors());
    remove_gate(&r, &g);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

static const test_case cases[] = {
    CASE(it_shows_one_small_device_that_the_host_cannot_touch),
    CASE(several_devices_have_memory_of_their_own),
    CASE(what_is_copied_in_comes_out),
    CASE(rows_are_copied_with_their_pitches),
    CASE(a_peer_is_copied_from_at_once),
    CASE(add_broadcasts_and_mul_works_in_place),
    CASE(matmul_takes_a_workspace),
    CASE(relu_keeps_nan_and_drops_negative_numbers),
    CASE(a_touch_by_the_host_is_a_fault),
    CASE(memory_ends_at_its_limit_and_comes_back),
    CASE(a_queue_runs_later_and_in_order),
    CASE(a_queue_waits_for_another),
    CASE(it_declines_with_reasons_and_numbers),
    CASE(it_claims_four_ops),
    CASE(a_failed_launch_is_on_every_later_fence_of_its_queue),
    CASE(a_lost_device_fails_every_later_call_and_can_be_closed),
    CASE(a_device_lost_with_work_queued_can_be_closed_at_once),
    CASE(copies_outside_of_allocations_are_breaches),
    CASE(wrong_launches_are_breaches),
    CASE(calls_that_the_core_should_have_checked_are_breaches),
    CASE(taking_away_what_is_in_use_is_a_breach),
    CASE(a_fence_that_goes_back_is_a_breach),
    CASE(host_memory_that_changes_under_a_queued_copy_is_a_breach),
};
TEST_MAIN(cases)

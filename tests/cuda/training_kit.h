/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_kit.h: trainings on the CUDA backend over the driver stand-in, whose kernels are those
 * of the CPU build, and on the reference. Included once per test program; brings `err`.
 */
#ifndef TFR_CUDA_TRAINING_KIT_H
#define TFR_CUDA_TRAINING_KIT_H

#include <dlfcn.h>
#include <math.h>
#include <tfrun/train.h>
#include <unistd.h>

#include "fake_driver.h"
#include "session_kit.h"

enum { BATCH = 4, SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };
enum { BATCH_BYTES = BATCH * PIXELS * 4 + BATCH * 8 };

static char folder[4096]; /* of the stand-in */
static fake_configure_fn *configure;
static fake_calls_fn *calls_of;
static fake_fail_fn *fail_at;
static fake_leaks_fn *leaks;
static fake_log_fn *log_of;
static char logged[16384]; /* warnings and errors since begin() */

static inline void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    REQUIRE(address != NULL);
    return address;
}

/* switches are of TFRUN_FAKE_CUDA. */
#define BEGIN(switches)                                                                            \
    if (!begin(switches))                                                                          \
    SKIP("the driver stand-in or its kernels are not built")

/* False: there is no stand-in. */
static inline bool begin(const char *switches)
{
    static tfr_cuInit_fn *start;
    const char *build = getenv("TFR_BUILDDIR");
    char path[4200];

    logged[0] = '\0';
    if (!configure) {
        snprintf(folder, sizeof folder, "%s/tests/cuda", build ? build : ".");
        snprintf(path, sizeof path, "%s/cpu_kernels.so", folder);
        if (access(path, F_OK) != 0)
            return false;
        snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
        void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!driver)
            return false;
        *(void **)&configure = symbol(driver, "tfr_fake_cuda_configure");
        *(void **)&calls_of = symbol(driver, "tfr_fake_cuda_calls");
        *(void **)&fail_at = symbol(driver, "tfr_fake_cuda_fail");
        *(void **)&leaks = symbol(driver, "tfr_fake_cuda_leaks");
        *(void **)&log_of = symbol(driver, "tfr_fake_cuda_log");
        *(void **)&start = symbol(driver, "cuInit");
        /* Where the loader and the child that probes look for it. */
        setenv("LD_LIBRARY_PATH", folder, 1);
        snprintf(path, sizeof path, "%s/../xdg/cuda-training", folder);
        setenv("XDG_CACHE_HOME", path, 1);
    }
    configure(switches);
    REQUIRE_INT(0, start(0)); /* the plugin starts the driver once in a process */
    return true;
}

static inline void keep_log(void *user, tfr_log_level level, const char *who, const char *text)
{
    const size_t used = strlen(logged);
    (void)user;
    if (level <= TFR_LOG_WARNING)
        snprintf(logged + used, sizeof logged - used, "%s: %s\n", who, text);
}

static inline tfr_runtime *cuda_runtime(void)
{
    char path[4200];
    const char *files[] = {path}, *build = getenv("TFR_BUILDDIR");
    const tfr_option given[] = {{"cuda.library-path", folder}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    snprintf(path, sizeof path, "%s/plugins/cuda/.libs/tfrun-cuda.so", build ? build : ".");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = given;
    options.n_options = 1;
    options.log = keep_log;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

/* ---- trainings ------------------------------------------------------------------------------- */

static inline tfr_net *new_net(const char *name)
{
    const int64_t dims[] = {-1, 1, SIDE, SIDE};
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create(name, dims, 4, TFR_NET_KERAS, 1, &net, &err), &err);
    return net;
}

/* Takes over the net. */
static inline tfr_graph *graph_of(tfr_net *net)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

/* Pooled: kernels run as loops of the CPU, which sanitizers slow down. 784 weights, not 12544. */
static inline tfr_graph *mlp_graph(void)
{
    tfr_net *net = new_net("mlp");
    tfr_net_max_pool(net, 4);
    tfr_net_flatten(net);
    tfr_net_dense(net, 16, "relu");
    tfr_net_dense(net, CLASSES, NULL);
    return graph_of(net);
}

static inline tfr_graph *cnn_graph(void)
{
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create_mnist_cnn(TFR_NET_KERAS, 1, &net, &err), &err);
    return graph_of(net);
}

/* Of the same kind with few filters, for what does not depend on their number: loops of the CPU
 * compute it, which sanitizers slow down. */
static inline tfr_graph *small_cnn_graph(void)
{
    tfr_net *net = new_net("cnn");
    tfr_net_conv(net, 4, 3, "relu");
    tfr_net_max_pool(net, 2);
    tfr_net_conv(net, 8, 3, "relu");
    tfr_net_max_pool(net, 2);
    tfr_net_conv(net, 8, 3, "relu");
    tfr_net_flatten(net);
    tfr_net_dense(net, 16, "relu");
    tfr_net_dense(net, CLASSES, NULL);
    return graph_of(net);
}

/* Takes over the graph. */
static inline tfr_trainer *trainer_in(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer = NULL;
    o.device = device;
    o.learning_rate = .01;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
    tfr_graph_release(graph);
    return trainer;
}

/* Takes over the runtime, too. */
static inline tfr_trainer *new_trainer(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_trainer *trainer = trainer_in(runtime, graph, device);
    tfr_runtime_release(runtime);
    return trainer;
}

/* A batch that can be learnt: each class has a bright line of its own. */
static inline void new_batch(int number, tfr_tensor **input, tfr_tensor **target)
{
    const int64_t dims[] = {BATCH, 1, SIDE, SIDE};
    float x[BATCH * PIXELS];
    int64_t y[BATCH];
    uint32_t seed = 7u + (uint32_t)number;
    for (int i = 0; i < BATCH * PIXELS; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-25f;
    }
    for (int i = 0; i < BATCH; i++) {
        y[i] = (number * BATCH + i) % CLASSES;
        for (int k = 0; k < SIDE; k++)
            x[i * PIXELS + (2 * (int)y[i] + 3) * SIDE + k] += .5f;
    }
    *input = floats(4, dims, x);
    *target = ints(BATCH, y);
}

static inline tfr_status step(tfr_trainer *trainer, int number)
{
    tfr_tensor *input, *target;
    new_batch(number, &input, &target);
    tfr_status status = tfr_trainer_step(trainer, input, target, &err);
    tfr_tensor_release(input);
    tfr_tensor_release(target);
    return status;
}

static inline double loss_of(tfr_trainer *trainer)
{
    tfr_train_metrics metrics = {.size = sizeof metrics};
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    return metrics.loss;
}

/* That the driver has everything back. */
static inline void check_leaks(const char *expected)
{
    char text[512] = "";
    leaks(text, sizeof text);
    CHECK_STR(expected, text);
}

#endif

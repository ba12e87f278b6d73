/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_train_kit.h: trainings on the native backend beside the reference backend, and with units
 * of samples of any size.
 */
#ifndef TFR_NATIVE_TRAIN_KIT_H
#define TFR_NATIVE_TRAIN_KIT_H

#include <math.h>
#include <string.h>
#include <tfrun/train.h>

#include "device/runtime.h"
#include "tfr_test.h"

/* As in plugins/cpu-native/program.h. */
typedef struct choice {
    uint32_t magic, threads;
    int64_t samples; /* of a unit */
    int64_t segmented;
} choice;

static tfr_err err = TFR_ERR_INIT;
static tfr_program_facet real;
static choice wanted, obtained;
static bool is_forced;
static uint32_t n_nodes; /* of the largest program */
static const char *math_mode;
static double most_difference = 2e-3; /* of variables after some steps, by their largest number */

static inline int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                              const tfr_compile_options *options, tfr_program **out,
                              tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                              tfr_err *e)
{
    tfr_compile_options forced = *options;
    uint64_t n = sizeof obtained;
    int32_t status;
    if (is_forced) {
        forced.blob = &wanted;
        forced.blob_bytes = sizeof wanted;
    }
    status = real.compile(device, graph, &forced, out, outputs, stride, info, e);
    if (!status && graph->n_nodes > n_nodes) {
        n_nodes = graph->n_nodes;
        status = real.save(device, *out, &obtained, &n, e);
    }
    return status;
}

/* NULL = there is no native backend. */
static inline tfr_runtime *new_runtime(void)
{
    tfr_runtime *runtime = NULL;
    tfr__backend *backend;
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    if (tfr_runtime_find(runtime, "native:0", &device, &k, &err) ||
        tfr__backend_open(runtime, &runtime->devices[device].backends[k], &err)) {
        tfr_runtime_release(runtime);
        return NULL;
    }
    backend = &runtime->devices[device].backends[k];
    real = backend->program;
    backend->program.compile = compile;
    n_nodes = 0;
    is_forced = false;
    return runtime;
}

typedef tfr_graph *(*net_fn)(void);

static inline tfr_tensor *new_images(int64_t batch)
{
    const tfr_shape shape = {4, {batch, 1, 28, 28}};
    tfr_tensor *out = NULL;
    float *p;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &out, &err), &err);
    p = tfr_tensor_data(out);
    for (int64_t i = 0; i < batch * 784; i++)
        p[i] = (float)((i * 7 + i / 784 % 10 * 131) % 97) / 97 + (float)(i * i % 89) / 445;
    return out;
}

static inline tfr_tensor *new_labels(int64_t batch)
{
    const tfr_shape shape = {1, {batch}};
    tfr_tensor *out = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &shape, &out, &err), &err);
    for (int64_t i = 0; i < batch; i++)
        ((int64_t *)tfr_tensor_data(out))[i] = i % 10;
    return out;
}

static inline tfr_trainer *new_trainer(tfr_runtime *runtime, tfr_graph *graph, const char *device,
                                       const char *optimizer)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer = NULL;
    options.device = device;
    options.optimizer = optimizer;
    options.math_mode = math_mode;
    options.no_programs = strcmp(device, "naive:0") == 0;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    return trainer;
}

static inline void train(tfr_trainer *trainer, int64_t batch, int n)
{
    tfr_tensor *x = new_images(batch), *y = new_labels(batch);
    for (int i = 0; i < n; i++)
        REQUIRE_OK(tfr_trainer_step(trainer, x, y, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

static inline tfr_tensor *variable(tfr_trainer *trainer, uint32_t i)
{
    tfr_tensor *out = NULL;
    REQUIRE_OK(tfr_trainer_get_variable(trainer, tfr_trainer_variable(trainer, i), &out, &err),
               &err);
    return out;
}

/* The largest difference of a variable, in parts of its largest number. */
static inline double difference(const tfr_tensor *expected, const tfr_tensor *obtained_one)
{
    const float *x = tfr_tensor_data((tfr_tensor *)expected);
    const float *y = tfr_tensor_data((tfr_tensor *)obtained_one);
    double most = 0, largest = 1e-30;
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        const double d = fabs((double)x[i] - (double)y[i]);
        most = d <= most ? most : d;
        largest = fmax(largest, fabs((double)x[i]));
    }
    return most / largest;
}

/* Adam divides by the root of tiny squares, so its sums of gradients are compared, too. */
static inline void compare(tfr_trainer *reference, tfr_trainer *trainer)
{
    for (uint32_t i = 0; i < tfr_trainer_n_variables(reference); i++) {
        tfr_tensor *x = variable(reference, i), *y = variable(trainer, i);
        if (tfr_tensor_dtype(x) == TFR_DTYPE_F32 && !(difference(x, y) <= most_difference)) {
            printf("  %s differs by %g\n", tfr_trainer_variable(trainer, i), difference(x, y));
            CHECK(false);
        }
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
}

static inline bool same_bits(tfr_trainer *one, tfr_trainer *other)
{
    bool same = true;
    for (uint32_t i = 0; i < tfr_trainer_n_variables(one); i++) {
        tfr_tensor *x = variable(one, i), *y = variable(other, i);
        same = same && memcmp(tfr_tensor_data(x), tfr_tensor_data(y), tfr_tensor_bytes(x)) == 0;
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
    return same;
}

static inline void check_like_reference(net_fn make, const char *optimizer, int64_t batch)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *reference, *trainer;
    tfr_graph *graph;
    if (!runtime)
        SKIP("there is no native backend");
    graph = make();
    reference = new_trainer(runtime, graph, "naive:0", optimizer);
    trainer = new_trainer(runtime, graph, "native:0", optimizer);
    train(reference, batch, 2);
    train(trainer, batch, 2);
    compare(reference, trainer);
    tfr_trainer_destroy(reference);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* Whatever the units of samples, and however often. */
static inline void check_bits(net_fn make)
{
    static const int64_t units[] = {0, 1, 2, 4, 8};
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *first = NULL;
    tfr_graph *graph;
    if (!runtime)
        SKIP("there is no native backend");
    graph = make();
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        tfr_trainer *trainer = new_trainer(runtime, graph, "native:0", "adam");
        wanted = obtained;
        wanted.samples = units[i];
        is_forced = units[i] > 0;
        n_nodes = 0;
        train(trainer, 16, 3);
        if (n_nodes > 20 && units[i] && units[i] * wanted.threads <= 16)
            CHECK_INT(units[i], obtained.samples);
        CHECK(!first || same_bits(first, trainer));
        if (first)
            tfr_trainer_destroy(trainer);
        else
            first = trainer;
    }
    tfr_trainer_destroy(first);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

#endif

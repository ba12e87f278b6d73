/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of shards decides the bits of a training, and the number of threads does not, whatever
 * the batch: one that all shards share evenly, one that they do not, and one with less samples.
 */
#include <stdio.h>
#include <string.h>
#include <tfrun/train.h>

#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

typedef tfr_net *(*net_fn)(tfr_net *net);

static tfr_net *cnn(tfr_net *net)
{
    tfr_net_conv(net, 20, 5, "relu");
    tfr_net_max_pool(net, 2);
    tfr_net_conv(net, 24, 3, "relu");
    tfr_net_max_pool(net, 3);
    tfr_net_flatten(net);
    tfr_net_dense(net, 10, NULL);
    return net;
}

/* Statistics over the batch in the midst of it. */
static tfr_net *normalized(tfr_net *net)
{
    tfr_net_conv(net, 12, 3, "relu");
    tfr_net_batch_norm(net);
    tfr_net_max_pool(net, 2);
    tfr_net_flatten(net);
    tfr_net_dense(net, 10, NULL);
    return net;
}

static tfr_net *mlp(tfr_net *net)
{
    tfr_net_flatten(net);
    tfr_net_dense(net, 100, "relu");
    tfr_net_dense(net, 37, "tanh");
    tfr_net_dense(net, 10, NULL);
    return net;
}

static const net_fn nets[] = {cnn, normalized, mlp};

static tfr_graph *make(net_fn fill)
{
    const int64_t dims[] = {-1, 1, 16, 16};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 5, &net, &err), &err);
    REQUIRE_OK(tfr_net_graph(fill(net), &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

/* The pool may have less threads, but native cuts its work for so many. */
static tfr_runtime *new_runtime(uint32_t threads)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    char number[16];
    const tfr_option cut = {"native.threads", number};
    tfr_runtime *runtime = NULL;
    uint32_t device;
    int32_t backend;
    snprintf(number, sizeof number, "%u", (unsigned)threads);
    options.n_threads = threads;
    options.options = &cut;
    options.n_options = 1;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    if (tfr_runtime_find(runtime, "native:0", &device, &backend, &err)) {
        tfr_runtime_release(runtime);
        return NULL;
    }
    return runtime;
}

static uint32_t threads_of(tfr_runtime *runtime)
{
    tfr_device_desc device = {.size = sizeof device};
    REQUIRE_OK(tfr_runtime_device(runtime, 0, &device, &err), &err);
    return device.n_threads;
}

static void step(tfr_trainer *trainer, int64_t batch)
{
    const tfr_shape images = {4, {batch, 1, 16, 16}}, labels = {1, {batch}};
    tfr_tensor *x = NULL, *y = NULL;
    float *p;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &images, &x, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &labels, &y, &err), &err);
    p = tfr_tensor_data(x);
    for (int64_t i = 0; i < batch * 256; i++)
        p[i] = (float)((i * 7 + i / 256 % 10 * 131) % 97) / 97 + (float)(i * i % 89) / 445;
    for (int64_t i = 0; i < batch; i++)
        ((int64_t *)tfr_tensor_data(y))[i] = i % 10;
    REQUIRE_OK(tfr_trainer_step(trainer, x, y, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

/* The bytes of all variables, after some steps; 0 = there is no native backend. */
static size_t train(net_fn net, uint32_t threads, uint32_t shards, bool programs, int64_t batch,
                    char *out, size_t room)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime(threads);
    tfr_graph *graph;
    tfr_trainer *trainer = NULL;
    size_t n = 0;
    if (!runtime)
        return 0;
    graph = make(net);
    options.device = "native:0";
    options.fallback = TFR_FALLBACK_ALLOW;
    options.shards = shards;
    options.no_programs = !programs;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    CHECK_INT(shards ? shards : threads_of(runtime), tfr_trainer_shards(trainer));
    for (int i = 0; i < 3; i++)
        step(trainer, batch);
    for (uint32_t i = 0; i < tfr_trainer_n_variables(trainer); i++) {
        tfr_tensor *t = NULL;
        size_t bytes;
        REQUIRE_OK(tfr_trainer_get_variable(trainer, tfr_trainer_variable(trainer, i), &t, &err),
                   &err);
        bytes = (size_t)tfr_tensor_bytes(t);
        REQUIRE(n + bytes <= room);
        memcpy(out + n, tfr_tensor_data(t), bytes);
        n += bytes;
        tfr_tensor_release(t);
    }
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return n;
}

static char one[1 << 20], other[1 << 20];

static void check_threads(bool programs)
{
    static const int64_t batches[] = {16, 33, 50, 3};
    for (size_t k = 0; k < sizeof nets / sizeof *nets; k++)
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            const size_t n = train(nets[k], 1, 4, programs, batches[b], one, sizeof one);
            if (!n)
                SKIP("there is no native backend");
            for (uint32_t threads = 2; threads <= 4; threads += 2) {
                REQUIRE_INT(n, train(nets[k], threads, 4, programs, batches[b], other, n));
                CHECK(memcmp(one, other, n) == 0);
            }
        }
}

TEST(programs_have_the_same_bits_on_any_number_of_threads)
{
    check_threads(true);
}

TEST(kernels_have_the_same_bits_on_any_number_of_threads)
{
    check_threads(false);
}

TEST(another_number_of_shards_gives_other_bits)
{
    for (size_t k = 0; k < sizeof nets / sizeof *nets; k++)
        for (int64_t batch = 32; batch <= 33; batch++) {
            const size_t n = train(nets[k], 2, 1, true, batch, one, sizeof one);
            if (!n)
                SKIP("there is no native backend");
            REQUIRE_INT(n, train(nets[k], 2, 4, true, batch, other, n));
            CHECK(memcmp(one, other, n) != 0);
        }
}

TEST(shards_are_the_threads_if_they_are_not_given)
{
    const size_t n = train(mlp, 2, 0, true, 30, one, sizeof one);
    tfr_runtime *runtime = new_runtime(2);
    if (!n)
        SKIP("there is no native backend");
    REQUIRE_INT(n, train(mlp, 1, threads_of(runtime), true, 30, other, n));
    tfr_runtime_release(runtime);
    CHECK(memcmp(one, other, n) == 0);
}

TEST(too_many_shards_are_refused)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = make(mlp);
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    options.shards = 1025;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &options, &trainer, &err));
    CHECK_STR("1025 shards of a batch, want 1024 at most", err.text);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(programs_have_the_same_bits_on_any_number_of_threads),
    CASE(kernels_have_the_same_bits_on_any_number_of_threads),
    CASE(another_number_of_shards_gives_other_bits),
    CASE(shards_are_the_threads_if_they_are_not_given),
    CASE(too_many_shards_are_refused),
};
TEST_MAIN(cases)

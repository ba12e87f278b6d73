/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step of the guides' CNN costs beside its arithmetic, counted over the loop of tfrun/fit.h
 * with prefetching: blocks of memory that the whole process takes, plugins and the C library
 * included, and loops that threads meet for. The functions below take the place of the C
 * library's, and the linker puts __wrap_tfr__pool_run in the place of the pool's (tests/local.mk).
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <tfrun/fit.h>
#include <unistd.h>

#include "base/port/pool.h"
#include "session_kit.h"

enum { BATCH = 16, STEPS = 12, WARM = 4 };

static atomic_long n_blocks, n_loops;

/* Sanitizers have a malloc of their own. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __GLIBC__
static const bool counts_blocks = false;
#else
static const bool counts_blocks = true;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

#pragma GCC visibility push(default)
void *malloc(size_t n)
{
    atomic_fetch_add(&n_blocks, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&n_blocks, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    atomic_fetch_add(&n_blocks, 1);
    return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    atomic_fetch_add(&n_blocks, 1);
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *p = memalign(align, n);
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}
#pragma GCC visibility pop
#endif

void __real_tfr__pool_run(tfr__pool *pool, uint32_t max_threads, tfr_range_fn fn, void *user,
                          int64_t n, int64_t grain);
void __wrap_tfr__pool_run(tfr__pool *pool, uint32_t max_threads, tfr_range_fn fn, void *user,
                          int64_t n, int64_t grain);
void __wrap_tfr__pool_run(tfr__pool *pool, uint32_t max_threads, tfr_range_fn fn, void *user,
                          int64_t n, int64_t grain)
{
    atomic_fetch_add(&n_loops, 1);
    __real_tfr__pool_run(pool, max_threads, fn, user, n, grain);
}

/* ---- a training ------------------------------------------------------------------------------ */

/* At the end of each step. */
static struct {
    long blocks[STEPS + 1], loops[STEPS + 1];
    bool has_metrics[STEPS + 1];
} seen;

static int32_t on_event(void *user, const tfr_fit_event *e)
{
    (void)user;
    if (e->kind == TFR_FIT_STEP && e->steps <= STEPS) {
        seen.blocks[e->steps] = atomic_load(&n_blocks);
        seen.loops[e->steps] = atomic_load(&n_loops);
        seen.has_metrics[e->steps] = e->train != NULL;
    }
    return 0;
}

static void fit(const char *device, const tfr_train_options *given, int64_t report_every)
{
    tfr_train_options options = *given;
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_dataset *train = NULL, *test = NULL;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_net_create_mnist_cnn(TFR_NET_KERAS, 1, &net, &err), &err);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    REQUIRE_OK(tfr_dataset_open("synthetic?train=208&test=16", &train, &test, &err), &err);
    options.device = device;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    o.batch = BATCH;
    o.max_steps = STEPS;
    o.report_every = report_every;
    o.event = on_event;
    memset(&seen, 0, sizeof seen);
    REQUIRE_OK(tfr_trainer_fit(trainer, train, NULL, &o, NULL, &err), &err);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    tfr_runtime_release(runtime);
}

static bool has_native(void)
{
    tfr_runtime *runtime = new_runtime();
    uint32_t device;
    int32_t backend;
    const bool has = tfr_runtime_find(runtime, "native:0", &device, &backend, NULL) == TFR_OK;
    tfr_runtime_release(runtime);
    return has;
}

/* ---- counts ---------------------------------------------------------------------------------- */

TEST(a_warm_step_takes_no_memory)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    if (!counts_blocks || !has_native())
        SKIP("sanitizers have a malloc of their own, or there is no native");
    fit("native:0", &o, 1000);
    for (int i = WARM + 1; i <= STEPS; i++)
        CHECK_INT(0, seen.blocks[i] - seen.blocks[i - 1]);
}

/* A state that is looked at is a tensor of two blocks: sums of losses, of hits, and of samples. */
TEST(one_that_tells_metrics_takes_what_it_tells)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    if (!counts_blocks || !has_native())
        SKIP("sanitizers have a malloc of their own, or there is no native");
    fit("native:0", &o, 3);
    for (int i = WARM + 1; i <= STEPS; i++)
        CHECK_INT(seen.has_metrics[i] ? 6 : 0, seen.blocks[i] - seen.blocks[i - 1]);
}

/* Weights are packed, shards of the samples go forward and back, and each thread adds up the
 * gradients of the weights that it updates. Two threads: beyond four there are too few blocks of
 * the last convolution's outputs, and its gradients are added up before the updates. */
TEST(threads_meet_three_times_in_a_step)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    if (!has_native())
        SKIP("there is no native");
    setenv("TFRUN_THREADS", "2", 1);
    fit("native:0", &o, 1000);
    for (int i = WARM + 1; i <= STEPS; i++)
        CHECK(seen.loops[i] - seen.loops[i - 1] <= 3);
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) < 2 || seen.loops[STEPS] > seen.loops[WARM]);
}

static const test_case cases[] = {
    CASE(a_warm_step_takes_no_memory),
    CASE(one_that_tells_metrics_takes_what_it_tells),
    CASE(threads_meet_three_times_in_a_step),
};
TEST_MAIN(cases)

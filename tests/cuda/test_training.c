/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings on the CUDA backend over the driver stand-in: their results, what a step copies and
 * calls, what is left in the end, and what follows when a call of a step fails.
 */
#include "training_kit.h"

enum { WARM = 3 }; /* steps until a step is replayed */

typedef tfr_graph *graph_fn(void);

/* ---- results --------------------------------------------------------------------------------- */

static void compare_with_cpu(graph_fn *graph, int n_steps)
{
    tfr_trainer *gpu = new_trainer(cuda_runtime(), graph(), "cuda:0");
    tfr_trainer *cpu = new_trainer(new_runtime(), graph(), "naive:0");
    for (int i = 0; i < n_steps; i++) {
        REQUIRE_OK(step(gpu, i), &err);
        REQUIRE_OK(step(cpu, i), &err);
        const double want = loss_of(cpu), got = loss_of(gpu);
        CHECK(fabs(got - want) < 1e-4 * want);
    }
    tfr_trainer_destroy(gpu);
    tfr_trainer_destroy(cpu);
    check_leaks("leaked: nothing");
    CHECK_STR("", logged);
}

TEST(a_small_network_has_the_losses_that_it_has_on_the_processor)
{
    BEGIN("");
    compare_with_cpu(mlp_graph, 8);
}

TEST(the_convolutional_network_of_the_guides_has_them_too)
{
    BEGIN("");
    compare_with_cpu(cnn_graph, 6);
}

/* What was not waited for has then not happened. */
TEST(nothing_is_read_before_it_was_waited_for)
{
    BEGIN("lazy");
    compare_with_cpu(mlp_graph, 4);
}

/* ---- what a step does ------------------------------------------------------------------------ */

TEST(a_step_copies_the_batch_and_the_loss_that_is_fetched)
{
    static const uint32_t fetched = 0;
    tfr_tensor *in[2], *loss = NULL;
    BEGIN("");
    tfr_trainer *trainer = new_trainer(cuda_runtime(), small_cnn_graph(), "cuda:0");
    tfr_session *session = tfr_trainer_session(trainer);
    for (int i = 0; i < WARM; i++) {
        REQUIRE_OK(step(trainer, i), &err);
        CHECK_UINT(0, stats_of(session).n_fallbacks);
        CHECK_UINT(2, stats_of(session).n_copies);
        CHECK_UINT(BATCH_BYTES, stats_of(session).copy_bytes);
        CHECK_UINT(1, stats_of(session).n_captures);
        CHECK_UINT(stats_of(session).n_launches, stats_of(session).n_captured);
    }
    new_batch(WARM, &in[0], &in[1]);
    REQUIRE_OK(tfr_session_run_fetch(session, in, 2, &fetched, 1, &loss, &err), &err);
    CHECK_UINT(3, stats_of(session).n_copies);
    CHECK_UINT(BATCH_BYTES + 4, stats_of(session).copy_bytes);
    tfr_tensor_release(in[0]);
    tfr_tensor_release(in[1]);
    tfr_tensor_release(loss);
    tfr_trainer_destroy(trainer);
    check_leaks("leaked: nothing");
}

/* The calls of log from `from` on, a line for each, without the streams' and graphs' sizes. How
 * often an event is asked depends on time, and each slot brings the context and takes it away. */
static void list_calls(const char *log, size_t from, char *out, size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = log + from; *line; line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line, " ");
        if (strncmp(line, "cuCtxP", 6) == 0 || strncmp(line, "cuEventQuery", length) == 0)
            continue;
        if (strncmp(line, "cuMemcpy", 8) == 0) /* with the bytes */
            length += 1 + strcspn(line + length + 1, " ");
        used += (size_t)snprintf(out + used, used < n ? n - used : 0, "%.*s\n", (int)length, line);
        REQUIRE(used < n);
    }
}

static size_t log_length(void)
{
    char *log = log_of();
    const size_t n = strlen(log);
    free(log);
    return n;
}

TEST(a_warm_step_is_two_copies_and_one_launch)
{
    char calls[1024];
    BEGIN("log");
    tfr_trainer *trainer = new_trainer(cuda_runtime(), small_cnn_graph(), "cuda:0");
    for (int i = 0; i < WARM; i++)
        REQUIRE_OK(step(trainer, i), &err);
    for (int i = WARM; i < WARM + 2; i++) {
        const size_t before = log_length();
        REQUIRE_OK(step(trainer, i), &err);
        char *log = log_of();
        list_calls(log, before, calls, sizeof calls);
        free(log);
        CHECK_STR("cuMemcpyHtoDAsync_v2 12544\n"
                  "cuMemcpyHtoDAsync_v2 32\n"
                  "cuGraphLaunch\n"
                  "cuEventRecord\n",
                  calls);
    }
    CHECK_UINT(calls_of("cuCtxPushCurrent_v2"), calls_of("cuCtxPopCurrent_v2"));
    tfr_trainer_destroy(trainer);
    check_leaks("leaked: nothing");
}

TEST(a_warm_step_and_its_metrics_make_and_free_nothing)
{
    static const char *const makers[] = {
        "cuMemAlloc_v2",
        "cuMemAllocFromPoolAsync",
        "cuMemHostAlloc",

        "cuMemFree_v2",
        "cuMemFreeAsync",
        "cuMemFreeHost",
        "cuEventCreate",
        "cuStreamCreateWithPriority",
        "cuGraphInstantiateWithFlags",
        "cuLaunchKernel",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
    };
    enum { N = sizeof makers / sizeof *makers };
    unsigned before[N];
    BEGIN("");
    tfr_trainer *trainer = new_trainer(cuda_runtime(), small_cnn_graph(), "cuda:0");
    for (int i = 0; i < WARM; i++) {
        REQUIRE_OK(step(trainer, i), &err);
        (void)loss_of(trainer);
    }
    for (int k = 0; k < N; k++)
        before[k] = calls_of(makers[k]);
    REQUIRE_OK(step(trainer, WARM), &err);
    (void)loss_of(trainer);
    for (int k = 0; k < N; k++)
        if (calls_of(makers[k]) != before[k])
            CHECK_STR("", makers[k]);
    tfr_trainer_destroy(trainer);
    check_leaks("leaked: nothing");
}

/* ---- failures -------------------------------------------------------------------------------- */

static void train_on_the_processor(tfr_runtime *runtime)
{
    tfr_trainer *cpu = new_trainer(runtime, mlp_graph(), "naive:0");
    CHECK_OK(step(cpu, 0), &err);
    CHECK(loss_of(cpu) > 0);
    tfr_trainer_destroy(cpu);
}

static char said[1024]; /* by the step, or in the log */

/* Call n of NAME in a warm step gives code. Returns what the step returned. */
static tfr_status fail_in_step(const char *name, unsigned nth, unsigned code)
{
    tfr_runtime *runtime = cuda_runtime();
    tfr_trainer *trainer = trainer_in(runtime, mlp_graph(), "cuda:0");
    for (int i = 0; i < WARM; i++)
        REQUIRE_OK(step(trainer, i), &err);
    fail_at(name, nth, code);
    err = (tfr_err)TFR_ERR_INIT;
    const tfr_status status = step(trainer, WARM);
    snprintf(said, sizeof said, "%s", status ? err.text : logged);
    if (!strstr(said, "cuda:0"))
        CHECK_STR("a text with cuda:0", said);
    tfr_trainer_destroy(trainer);
    train_on_the_processor(runtime);
    return status;
}

/* A step of the small network, as in a_warm_step_is_two_copies_and_one_launch. */
static const struct {
    const char *name;
    unsigned n;
} step_calls[] = {{"cuMemcpyHtoDAsync_v2", 2},
                  {"cuGraphLaunch", 1},
                  {"cuEventRecord", 1},
                  {"cuEventQuery", 1},
                  {"cuCtxPushCurrent_v2", 4}};
enum { N_STEP_CALLS = sizeof step_calls / sizeof *step_calls };

TEST(when_a_call_of_a_step_loses_the_gpu_the_step_fails_and_nothing_of_it_is_called_any_more)
{
    for (int k = 0; k < N_STEP_CALLS; k++)
        for (unsigned nth = 1; nth <= step_calls[k].n; nth++) {
            if (strcmp(step_calls[k].name, "cuCtxPushCurrent_v2") == 0)
                continue; /* touches no work, so that it meets no such error */
            BEGIN("");
            CHECK_STATUS(TFR_ELOST, fail_in_step(step_calls[k].name, nth, 719), &err);
            CHECK_CONTAINS("CUDA_ERROR_LAUNCH_FAILED", said);
            check_leaks("leaked: nothing");
        }
}

TEST(when_a_call_of_a_step_fails_the_step_says_so_and_everything_is_given_back)
{
    for (int k = 0; k < N_STEP_CALLS; k++)
        for (unsigned nth = 1; nth <= step_calls[k].n; nth++) {
            BEGIN("");
            /* A graph that cannot be launched is launched kernel by kernel, with a warning. */
            (void)fail_in_step(step_calls[k].name, nth, 1);
            CHECK_CONTAINS("CUDA_ERROR_INVALID_VALUE", said);
            check_leaks("leaked: nothing");
        }
}

/* Whatever happens, there is an answer. */
static void try_to_train(void)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = cuda_runtime();
    tfr_graph *graph = mlp_graph();
    tfr_trainer *trainer = NULL;
    o.device = "cuda:0";
    tfr_status status = tfr_trainer_create(runtime, graph, &o, &trainer, &err);
    for (int i = 0; i < WARM && !status; i++)
        status = step(trainer, i);
    snprintf(said, sizeof said, "%s", status ? err.text : logged);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    err = (tfr_err)TFR_ERR_INIT;
    train_on_the_processor(runtime);
}

/* Its first call, from opening the GPU to the captured step. */
TEST(a_training_goes_on_or_ends_well_whichever_function_fails)
{
    static const char *const names[] = {
        "cuDeviceGetCount",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuMemGetInfo_v2",
        "cuStreamCreateWithPriority",
        "cuMemPoolCreate",
        "cuMemPoolSetAttribute",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        "cuFuncLoad",
        "cuMemAlloc_v2",
        "cuMemHostAlloc",
        "cuMemcpyHtoDAsync_v2",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventQuery",
        "cuLaunchKernel",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
        "cuGraphUpload",
        "cuGraphLaunch",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char switches[64];
        snprintf(switches, sizeof switches, "fail=%s:1:800", names[i]);
        BEGIN(switches);
        try_to_train();
        if (!strstr(said, "CUDA_ERROR_NOT_PERMITTED"))
            CHECK_STR(names[i], said);
        CHECK(calls_of(names[i]) > 0);
        check_leaks("leaked: nothing");
    }
}

static const test_case cases[] = {
    CASE(a_small_network_has_the_losses_that_it_has_on_the_processor),
    CASE(the_convolutional_network_of_the_guides_has_them_too),
    CASE(nothing_is_read_before_it_was_waited_for),
    CASE(a_step_copies_the_batch_and_the_loss_that_is_fetched),
    CASE(a_warm_step_is_two_copies_and_one_launch),
    CASE(a_warm_step_and_its_metrics_make_and_free_nothing),
    CASE(when_a_call_of_a_step_loses_the_gpu_the_step_fails_and_nothing_of_it_is_called_any_more),
    CASE(when_a_call_of_a_step_fails_the_step_says_so_and_everything_is_given_back),
    CASE(a_training_goes_on_or_ends_well_whichever_function_fails),
};
TEST_MAIN_WITHOUT_TSAN(cases, "its streams are those of cuda/test_held")

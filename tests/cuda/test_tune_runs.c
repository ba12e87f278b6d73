/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions whose products and convolutions are chosen by timing, with the store of the core: a
 * later runtime times nothing, steps of a training are those without timing, and programs are timed
 * as kernels are.
 */
#include "engine_kit.h"
#include "graph_text.h"

/* An empty store for this test, in a folder that no other has. */
static void use_store(const char *name)
{
    char path[4400], command[4500];
    snprintf(path, sizeof path, "%s/../xdg/%s", folder, name);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    REQUIRE_INT(0, system(command));
    setenv("TFRUN_STORE", path, 1);
}

static void end_store(void)
{
    setenv("TFRUN_STORE", "off", 1);
}

/* So many runs of candidates are timed by a session that runs the graph once. */
static unsigned n_timed(const char *text)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = tuned_runtime("0", "on");
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = NULL;
    const unsigned before = calls_of("cuEventElapsedTime");
    tfr_tensor *x = random_input(graph, 0, 1, 1, -1, 1), *y = NULL;
    o.device = "cuda:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    CHECK_OK(tfr_session_run(session, &x, 1, &y, 1, &err), &err);
    CHECK_UINT(0, stats_of(session).n_fallbacks);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return calls_of("cuEventElapsedTime") - before;
}

static void check_once(const char *text)
{
    BEGIN("worktime");
    use_store("tune-runs");
    CHECK(n_timed(text) > 0);
    CHECK_UINT(0, n_timed(text));
    end_store();
    CHECK(n_timed(text) > 0);
    check_end();
}

TEST(a_kernel_is_timed_once_on_a_machine)
{
    check_once("in x 24 32; const w 32 40; out MatMul(x,w)");
}

TEST(a_program_is_timed_once_on_a_machine)
{
    check_once("in x 24 32; const w 32 40; const b 40; out Relu(Add(MatMul(x,w),b))");
    check_once("in x 2 8 9 8; const w 8 8 3 3; const b 8;"
               "out Cast{to=1}(Relu(Conv(Cast{to=10}(x),Cast{to=10}(w),Cast{to=10}(b))))");
}

/* Lines of the log, without the context, the polling of events and the numbers of streams. */
static void list_calls(const char *log, char *out, size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    while (*log && used + 80 < n) {
        const size_t length = strcspn(log, "\n");
        const char *stream = strstr(log, " stream ");
        if (strncmp(log, "cuCtx", 5) != 0 && strncmp(log, "cuEventQuery", 12) != 0)
            used += (size_t)snprintf(
                out + used, n - used, "%.*s\n",
                (int)(stream && stream < log + length ? stream - log : (ptrdiff_t)length), log);
        log += length + (log[length] == '\n');
    }
}

/* Of the last one of four steps. */
static void list_step(const char *tune, char *calls, size_t n)
{
    tfr_trainer *gpu = new_trainer(tuned_runtime("0", tune), small_cnn_graph(), "cuda:0");
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(step(gpu, i), &err);
    char *before = log_of();
    const unsigned made = dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul");
    REQUIRE_OK(step(gpu, 3), &err);
    CHECK_UINT(made, dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul"));
    CHECK_UINT(stats_of(tfr_trainer_session(gpu)).n_launches,
               stats_of(tfr_trainer_session(gpu)).n_captured);
    char *all = log_of();
    list_calls(all + strlen(before), calls, n);
    free(before);
    free(all);
    tfr_trainer_destroy(gpu);
}

TEST(a_warm_step_of_a_training_makes_the_calls_that_it_makes_without_timing)
{
    char want[1024], got[1024];
    BEGIN("worktime log");
    list_step("off", want, sizeof want);
    CHECK_UINT(0, calls_of("cuEventElapsedTime"));
    check_end();
    BEGIN("worktime log");
    list_step("on", got, sizeof got);
    CHECK(calls_of("cuEventElapsedTime") > 0);
    CHECK_CONTAINS("cuGraphLaunch", want);
    CHECK_STR(want, got);
    CHECK_STR("", logged);
    check_end();
}

static const test_case cases[] = {
    CASE(a_kernel_is_timed_once_on_a_machine),
    CASE(a_program_is_timed_once_on_a_machine),
    CASE(a_warm_step_of_a_training_makes_the_calls_that_it_makes_without_timing),
};
TEST_MAIN(cases)

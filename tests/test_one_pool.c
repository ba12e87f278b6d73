/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of this process while the oneDNN backend works: the core's pool and no second one.
 * See docs/decisions/0010-one-pool.md.
 */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "graph_text.h"

enum { THREADS = 3, BATCH = 4 };

static tfr_err err = TFR_ERR_INIT;

/* Threads beside the one that runs the tests and, if counted, those of the pool; -1 = the system
 * does not tell. */
static int count_threads(bool pool)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    char self[24];
    int n = 0;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    if (!tasks)
        return -1;
    while ((entry = readdir(tasks)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, self) == 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file))
            n += (strncmp(name, "tfr-pool-", 9) == 0) == pool;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return n;
}

/* NULL = there is no native backend. */
static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, bool programs)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "native:0";
    options.no_programs = !programs;
    return tfr_session_create(runtime, graph, &options, &session, &err) ? NULL : session;
}

static void run(tfr_session *session, tfr_graph *graph)
{
    tfr_tensor *in = random_input(graph, 0, BATCH, 3, -1, 1), *out = NULL;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        tfr_tensor_release(out);
        out = NULL;
    }
    tfr_tensor_release(in);
}

/* NULL, or why there is nothing to look at here. */
static const char *check(const char *text, bool programs, tfr_session_stats *stats)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session;
    int others = count_threads(false);
    if (others < 0 || TEST_HAS_TSAN) {
        tfr_graph_release(graph);
        return others < 0 ? "the system does not list threads" : "TSan has a thread of its own";
    }
    options.n_threads = THREADS;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    session = new_session(runtime, graph, programs);
    if (session) {
        run(session, graph);
        CHECK_INT(others, count_threads(false));
        CHECK_OK(tfr_session_get_stats(session, stats, &err), &err);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session ? NULL : "there is no native backend";
}

TEST(a_model_in_programs_has_the_threads_of_the_pool_alone)
{
    tfr_session_stats stats = {.size = sizeof stats};
    const char *why = check("in x ? 32 40 40; const w 64 32 3 3; const v 64 64 1 1;"
                            "y = Sigmoid(Relu(Conv{pads=1,1,1,1}(x,w)));"
                            "out Relu(Conv(Add(y,1),v))",
                            true, &stats);
    if (why)
        SKIP(why);
    if (stats.n_programs == 0)
        printf("  no programs on this processor\n");
    else
        CHECK_UINT(1, stats.n_launches);
    CHECK(stats.n_programs == 0 || count_threads(true) > 0);
}

TEST(small_nodes_wake_no_threads)
{
    static const char *const texts[] = {
        "in x ? 8; out Relu(x)",
        "in x ? 64; out Add(x,Mul(x,x))",
        "in x ? 16; const s 16; const b 16; out LayerNormalization{axis=-1}(x,s,b)",
        "in x ? 16; out Softmax{axis=-1}(x)",
        "in x ? 32; const w 32 32; out MatMul(x,w)",
        "in x ? 32; const w 32 32; const b 32; out Gemm(x,w,b)",
        "in x ? 4 6 6; const w 8 4 3 3; out Conv(x,w)",
        "in x ? 4 6 6; out MaxPool{kernel_shape=2,2;strides=2,2}(x)",
        "in x ? 4 6 6; out GlobalAveragePool(x)",
        "in x ? 4 6 6; const s 4; out BatchNormalization(x,s,s,s,s)",
        "in x ? 12; out ReduceSum(x,[1])",
        "in x ? 12; out Concat{axis=1}(x,x)",
        "in x ? 12; out Tanh(x)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tfr_session_stats stats = {.size = sizeof stats};
        const char *why = check(texts[i], false, &stats);
        if (why)
            SKIP(why);
        CHECK_UINT(0, stats.n_programs);
    }
}

static const test_case cases[] = {
    CASE(a_model_in_programs_has_the_threads_of_the_pool_alone),
    CASE(small_nodes_wake_no_threads),
};
TEST_MAIN(cases)

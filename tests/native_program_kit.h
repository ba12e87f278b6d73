/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_program_kit.h: graphs that the native backend compiles into programs, against the
 * reference backend node by node.
 */
#ifndef TFR_TESTS_NATIVE_PROGRAM_KIT_H
#define TFR_TESTS_NATIVE_PROGRAM_KIT_H

#include <math.h>

#include "graph_text.h"

static tfr_err err = TFR_ERR_INIT;

static inline tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    if (strcmp(device, "naive:0") == 0) {
        options.passes = "none";
        options.no_programs = 1;
    }
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static inline tfr_tensor *run(tfr_session *session, tfr_graph *graph, int64_t batch)
{
    tfr_value_type type = *tfr_graph_value_type(graph, tfr_graph_input(graph, 0));
    tfr_shape shape = {type.rank, {0}};
    tfr_tensor *in, *out = NULL;
    for (int32_t k = 0; k < type.rank; k++)
        shape.dims[k] = type.dims[k] < 0 ? batch : type.dims[k];
    in = random_floats(&shape, 11, -1, 1);
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(in);
    REQUIRE(out != NULL);
    return out;
}

/* Of the largest number expected. */
static double bound = 1e-5;

/* Largest difference, in parts of the largest number expected. */
static inline double difference(const tfr_tensor *expected, const tfr_tensor *obtained)
{
    const float *x = tfr_tensor_data((tfr_tensor *)expected);
    const float *y = tfr_tensor_data((tfr_tensor *)obtained);
    double most = 0, largest = 1e-30;
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        double d = fabs((double)x[i] - (double)y[i]);
        if (!(d <= most))
            most = d;
        if (fabs((double)x[i]) > largest)
            largest = fabs((double)x[i]);
    }
    return most / largest;
}

static inline tfr_runtime *new_runtime(void)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    return runtime;
}

static inline void check_batch(tfr_session *naive, tfr_session *session, tfr_graph *graph,
                               int64_t batch)
{
    tfr_tensor *expected = run(naive, graph, batch), *obtained = run(session, graph, batch);
    tfr_tensor *again = run(session, graph, batch);
    REQUIRE(tfr_shape_equal(tfr_tensor_shape(expected), tfr_tensor_shape(obtained)));
    CHECK(difference(expected, obtained) <= bound);
    CHECK(memcmp(tfr_tensor_data(again), tfr_tensor_data(obtained), tfr_tensor_bytes(again)) == 0);
    tfr_tensor_release(expected);
    tfr_tensor_release(obtained);
    tfr_tensor_release(again);
}

/* The graph makes what the reference makes, twice the same bits, and by programs. */
static inline void compare(const char *text, uint32_t *n_launches)
{
    static const int64_t batches[] = {1, 3, 8};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session *naive = new_session(runtime, graph, "naive:0");
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_session_stats stats = {.size = sizeof stats};
    options.device = "native:0";
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK) {
        tfr_session_destroy(naive);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        check_batch(naive, session, graph, batches[i]);
    CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
    tfr_session_destroy(session);
    tfr_session_destroy(naive);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    CHECK(stats.n_programs > 0);
    *n_launches = stats.n_launches;
}

/* And one program is all of it. */
static inline void check(const char *text)
{
    uint32_t n_launches = 0;
    compare(text, &n_launches);
    CHECK(n_launches <= 1);
}

/* How many steps the one program of a graph has. */
static inline uint32_t kernels_of(const char *text)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = new_session(runtime, graph, "native:0");
    tfr_program_desc desc = {.size = sizeof desc};
    tfr_tensor_release(run(session, graph, 1));
    REQUIRE_INT(1, tfr_session_n_programs(session));
    CHECK_OK(tfr_session_program(session, 0, &desc, &err), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return desc.n_kernels;
}

#endif

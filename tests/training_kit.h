/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_kit.h: graphs with variables, on the reference and on the fake accelerator in each of
 * its ways: with kernels, with programs, with handles, with staged copies. Included once per test
 * program.
 */
#ifndef TFR_TRAINING_KIT_H
#define TFR_TRAINING_KIT_H

#include "session_kit.h"

enum { N = 8 };
static const int64_t n_elements = N;

/* The ways of the accelerator that every test here goes through. */
static const struct {
    const char *device, *programs, *handles, *pinned;
} ways[] = {
    {"naive:0", "0", "0", "0"},   {"fakeacc:0", "0", "0", "0"}, {"fakeacc:0", "0", "1", "1"},
    {"fakeacc:0", "1", "0", "1"}, {"fakeacc:0", "1", "1", "0"},
};
#define N_WAYS (sizeof ways / sizeof *ways)

static inline tfr_runtime *runtime_of(size_t way, const char *key, const char *value)
{
    const tfr_option given[] = {{"fakeacc.programs", ways[way].programs},
                                {"fakeacc.handles", ways[way].handles},
                                {"fakeacc.pinned", ways[way].pinned},
                                {"fakeacc.pageable_blocks", ways[way].pinned},
                                {key, value}};
    return accelerator_runtime(given, key ? 5 : 4);
}

static inline tfr_session *open_session(tfr_runtime *runtime, size_t way, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = ways[way].device;
    options.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

static inline tfr_tensor *full(float first, float step)
{
    tfr_tensor *t = floats(1, &n_elements, NULL);
    for (int i = 0; i < N; i++)
        ((float *)tfr_tensor_data(t))[i] = first + step * (float)i;
    return t;
}

static inline tfr_value variable(tfr_graph *graph, const char *name, float first, float step)
{
    tfr_tensor *t = full(first, step);
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_variable(graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static inline void update(tfr_graph *graph, tfr_value v, tfr_value by)
{
    REQUIRE_OK(tfr_graph_set_update(graph, v, by, &err), &err);
}

/* Like a training: drop some of x, update two variables from each other, and give out a loss. */
static inline tfr_graph *training_graph(void)
{
    const float ratio = 0.5f;
    const unsigned char train = 1;
    tfr_value in[3], a, b, kept;
    tfr_graph *graph = new_graph(1, in);
    tfr_tensor *t = floats(0, NULL, &ratio);
    REQUIRE_OK(tfr_graph_add_constant(graph, "ratio", t, &in[1], &err), &err);
    tfr_tensor_release(t);
    t = new_tensor(TFR_DTYPE_BOOL, 0, NULL, &train);
    REQUIRE_OK(tfr_graph_add_constant(graph, "train", t, &in[2], &err), &err);
    tfr_tensor_release(t);
    a = variable(graph, "a", 1, 0.5f);
    b = variable(graph, "b", 2, 0.25f);
    kept = add(graph, "Dropout", in, 3);
    output(graph, binary(graph, "Mul", binary(graph, "Add", a, kept), b));
    update(graph, a, binary(graph, "Add", binary(graph, "Mul", b, in[1]), kept));
    update(graph, b, binary(graph, "Add", binary(graph, "Mul", a, in[1]), kept));
    return graph;
}

static inline void copy_state(tfr_session *from, tfr_session *to, const char *name)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_session_get_variable(from, name, &t, &err), &err);
    CHECK_OK(tfr_session_set_variable(to, name, t, &err), &err);
    tfr_tensor_release(t);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_case.h: graphs that run with the compiler of program_kit.h and without it, and must give
 * the same bytes. Included once per test program.
 */
#ifndef TFR_PROGRAM_CASE_H
#define TFR_PROGRAM_CASE_H

#include "graph_text.h"
#include "program_kit.h"
#include "session_kit.h"

static char talk[4096]; /* of the last runtime */

static inline void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    const size_t n = strlen(talk);
    (void)user, (void)level;
    snprintf(talk + n, sizeof talk - n, "%s: %s\n", who, text);
}

static inline tfr_runtime *program_runtime(void)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    options.log = hear;
    talk[0] = '\0';
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    kit_attach(runtime);
    return runtime;
}

static inline tfr_tensor *noise(int64_t rows, int64_t columns, uint32_t seed)
{
    const tfr_shape shape = {2, {rows, columns}};
    return random_floats(&shape, seed, -1, 1);
}

static inline tfr_value constant(tfr_graph *graph, tfr_tensor *t)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static inline tfr_value reshape(tfr_graph *graph, tfr_value x, int64_t rows, int64_t columns)
{
    const int64_t dims[] = {rows, columns};
    return binary(graph, "Reshape", x, constant(graph, ints(2, dims)));
}

static inline tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, bool programs)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "naive:0";
    options.no_programs = !programs;
    options.passes = "none"; /* the graphs are meant as they are */
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

#define MOST 64

/* Runs the graph with and without programs and compares all bytes. */
static inline tfr_session *compare(tfr_runtime *runtime, tfr_graph *graph, tfr_tensor *in)
{
    tfr_session *plain = new_session(runtime, graph, false);
    tfr_session *session = new_session(runtime, graph, true);
    const uint32_t n = tfr_graph_n_outputs(graph);
    tfr_tensor *want[MOST], *got[MOST];
    REQUIRE(n <= MOST);
    REQUIRE_OK(tfr_session_run(plain, &in, 1, want, n, &err), &err);
    CHECK_UINT(0, stats_of(plain).n_programs);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(tfr_session_run(session, &in, 1, got, n, &err), &err);
        for (uint32_t k = 0; k < n; k++) {
            CHECK(tfr_shape_equal(tfr_tensor_shape(want[k]), tfr_tensor_shape(got[k])));
            CHECK_MEM(tfr_tensor_data(want[k]), tfr_tensor_data(got[k]), tfr_tensor_bytes(want[k]));
            tfr_tensor_release(got[k]);
        }
    }
    for (uint32_t k = 0; k < n; k++)
        tfr_tensor_release(want[k]);
    tfr_session_destroy(plain);
    return session;
}

/* Ends what a test began with program_runtime, new_graph and compare; all programs must be gone. */
static inline void end(tfr_runtime *runtime, tfr_graph *graph, tfr_session *session, tfr_tensor *in)
{
    end_session(NULL, graph, session, in);
    CHECK_UINT(0, kit.n_live);
    tfr_runtime_release(runtime);
}

/* x → Relu → Sigmoid → Add with the Relu */
static inline tfr_graph *diamond(void)
{
    tfr_value x, a, b;
    tfr_graph *graph = new_graph(1, &x);
    a = unary(graph, "Relu", x);
    b = unary(graph, "Sigmoid", a);
    output(graph, binary(graph, "Add", a, b));
    return graph;
}

/* The groups that the compiler proposes for the first nodes; the others are in none. */
static inline void want(int32_t a, int32_t b, int32_t c, int32_t d)
{
    kit.all = false;
    memset(kit.group, 0xff, sizeof kit.group);
    kit.group[0] = a;
    kit.group[1] = b;
    kit.group[2] = c;
    kit.group[3] = d;
}

/* ---- graphs by chance, the same for the same random_state ------------------------------------ */

static uint32_t random_state;

static inline uint32_t next_random(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static inline tfr_graph *random_graph(uint32_t n_nodes)
{
    static const char *const of_one[] = {"Relu", "Sigmoid", "Neg", "Tanh", "Abs", "Identity"};
    tfr_value values[MOST], x;
    uint32_t n = 0;
    tfr_graph *graph = new_graph(1, &x);
    values[n++] = x;
    values[n++] = constant(graph, noise(4, 6, random_state));
    while (n < n_nodes) {
        tfr_value a = values[next_random(n)], b = values[n - 1 - next_random(n < 4 ? n : 4)];
        switch (next_random(5)) {
        case 0:
        case 1:
            values[n++] = binary(graph, next_random(2) ? "Add" : "Mul", a, b);
            break;
        case 2:
            values[n] = reshape(graph, b, 6, 4);
            values[n] = unary(graph, "Sigmoid", values[n]);
            values[n] = reshape(graph, values[n], 4, 6);
            n++;
            break;
        default:
            values[n++] = unary(graph, of_one[next_random(6)], b);
        }
        if (next_random(6) == 0)
            output(graph, values[n - 1]);
    }
    output(graph, values[n - 1]);
    return graph;
}

#endif

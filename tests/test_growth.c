/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a model, inferring its types, planning and running it takes work in proportion to its
 * size. The libraries are compiled once more for this program, so that each basic block calls it
 * (-fsanitize-coverage): what runs is counted, not timed. A model of 4 n nodes may run each block,
 * and ask for bytes of memory, a little more than four times as often as one of n; who is quadratic
 * does so 16 times.
 */
#include <stdlib.h>
#include <tfrun/onnx.h>
#include <tfrun/tfrun.h>

#include "growth_models.h"
#include "session_kit.h"

/* Sorting adds a factor of log 4 n / log n. */
#define MOST_GROWTH 6
/* A block that runs less often than so many times for each node does not matter. */
#define LEAST_PER_NODE 24

/* ---- counting -------------------------------------------------------------------------------- */

#define BLOCKS (1u << 22)

static _Thread_local bool counting; /* the threads of the pool wait as long as they like */
static uint32_t counts[BLOCKS];     /* by address, which the block returns to */
static uint32_t before[BLOCKS];
static uint64_t bytes_asked;
extern const char __executable_start[]; /* the linker's */

void __sanitizer_cov_trace_pc(void);
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
int __real_posix_memalign(void **out, size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
int __wrap_posix_memalign(void **out, size_t align, size_t n);

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t block = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start;
    if (counting && block < BLOCKS)
        counts[block]++;
}

void *__wrap_malloc(size_t n)
{
    bytes_asked += counting ? n : 0;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    bytes_asked += counting ? n * size : 0;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    bytes_asked += counting ? n : 0;
    return __real_realloc(p, n);
}

int __wrap_posix_memalign(void **out, size_t align, size_t n)
{
    bytes_asked += counting ? n : 0;
    return __real_posix_memalign(out, align, n);
}

/* ---- one model ------------------------------------------------------------------------------- */

static tfr_tensor *ones(const tfr_value_type *type)
{
    tfr_shape shape = {type->rank, {0}};
    tfr_tensor *t = NULL;
    memcpy(shape.dims, type->dims, sizeof shape.dims);
    REQUIRE_OK(tfr_tensor_create((tfr_dtype)type->dtype, &shape, &t, &err), &err);
    if (type->dtype == TFR_DTYPE_BOOL)
        *(uint8_t *)tfr_tensor_data(t) = 1;
    for (int64_t i = 0; type->dtype == TFR_DTYPE_F32 && i < tfr_tensor_elements(t); i++)
        ((float *)tfr_tensor_data(t))[i] = 1;
    return t;
}

static void run_twice(tfr_session *session, const tfr_graph *graph)
{
    uint32_t n_in = tfr_graph_n_inputs(graph), n_out = tfr_graph_n_outputs(graph);
    tfr_tensor **in = calloc((size_t)n_in + 1, sizeof *in);
    tfr_tensor **out = calloc((size_t)n_out + 1, sizeof *out);
    REQUIRE(in && out);
    for (uint32_t i = 0; i < n_in; i++)
        in[i] = ones(tfr_graph_value_type(graph, tfr_graph_input(graph, i)));
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(tfr_session_run(session, in, n_in, out, n_out, &err), &err);
        for (uint32_t i = 0; i < n_out; i++)
            tfr_tensor_release(out[i]);
    }
    for (uint32_t i = 0; i < n_in; i++)
        tfr_tensor_release(in[i]);
    free(in);
    free(out);
}

/* What the report says of each node. */
static void read_report(const tfr_session *session)
{
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++)
        (void)row_of(session, i);
}

/* The types of a graph's values, and of those inside it. */
static void read_types(const tfr_graph_types *types, const tfr_graph *graph)
{
    tfr_value_type type = {.size = sizeof type};
    tfr_node_view node = {.size = sizeof node};
    for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++)
        REQUIRE_OK(tfr_graph_types_get(types, graph, (tfr_value)v, &type, &err), &err);
    for (uint32_t i = 0; i < tfr_graph_n_nodes(graph); i++) {
        REQUIRE_OK(tfr_graph_node(graph, i, &node, &err), &err);
        for (uint32_t k = 0; k < node.n_attrs; k++) {
            const void *at = (const char *)node.attrs + (size_t)k * node.attr_stride;
            const tfr_graph *inner = tfr_node_subgraph(&node, ((const tfr_attr *)at)->name);
            if (inner)
                read_types(types, inner);
        }
    }
}

/* Counts all that is done with the model of size n. */
static void count(void (*make)(model *, uint32_t), uint32_t n, tfr_runtime *runtime,
                  const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    model m = {0};
    bytes file;
    tfr_graph *graph = NULL;
    tfr_graph_types *types = NULL;
    tfr_session *session = NULL;
    make(&m, n);
    file = finish_model(&m);
    options.device = device;
    memset(counts, 0, sizeof counts);
    bytes_asked = 0;
    counting = true;
    REQUIRE_OK(tfr_onnx_parse(file.data, file.n, &graph, &err), &err);
    REQUIRE_OK(tfr_graph_infer(graph, &types, &err), &err);
    read_types(types, graph);
    tfr_graph_types_release(types);
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    run_twice(session, graph);
    read_report(session);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    counting = false;
    free(file.data);
}

/* ---- the claim ------------------------------------------------------------------------------- */

/* The block that grew most, of those that matter; *times = how much. */
static uint32_t worst_block(uint32_t n, double *times)
{
    uint32_t worst = 0;
    *times = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        double grown = before[i] ? (double)counts[i] / before[i] : counts[i];
        if (counts[i] > (uint64_t)LEAST_PER_NODE * 4 * n && grown > *times) {
            *times = grown;
            worst = i;
        }
    }
    return worst;
}

typedef struct row {
    const char *name;
    void (*make)(model *, uint32_t);
    uint32_t n;
} row;
#define ROW(make, n)                                                                               \
    {                                                                                              \
#make, make, n                                                                             \
    }

static void check_growth(const row *rows, size_t n_rows, const char *device)
{
#ifndef TFR_COUNTS
    (void)rows, (void)n_rows, (void)device, (void)worst_block, (void)count;
    SKIP("the compiler does not count, or a sanitizer does");
#else
    setenv("TFRUN_THREADS", "1", 1); /* who waits for other threads spins, and is counted */
    tfr_runtime *runtime =
        strcmp(device, "NPU:0") == 0 ? accelerator_runtime(NULL, 0) : new_runtime();
    for (size_t r = 0; r < n_rows; r++) {
        uint32_t n = rows[r].n, worst;
        uint64_t bytes_before;
        double times;
        count(rows[r].make, n, runtime, device);
        memcpy(before, counts, sizeof counts);
        bytes_before = bytes_asked;
        count(rows[r].make, 4 * n, runtime, device);
        worst = worst_block(n, &times);
        if (times > MOST_GROWTH)
            printf("%s: of %u a block ran %u times, of %u %u times; addr2line -f -i -e "
                   "tests/test_growth %#x tells which\n",
                   rows[r].name, n, before[worst], 4 * n, counts[worst], worst - 1);
        CHECK(times <= MOST_GROWTH);
        if (bytes_asked > MOST_GROWTH * bytes_before)
            printf("%s: of %u asked for %llu bytes, of %u for %llu\n", rows[r].name, n,
                   (unsigned long long)bytes_before, 4 * n, (unsigned long long)bytes_asked);
        CHECK(bytes_asked <= MOST_GROWTH * bytes_before);
    }
    tfr_runtime_release(runtime);
#endif
}

TEST(work_grows_with_the_length_of_a_chain)
{
    static const row rows[] = {
        ROW(chain, 250),
        ROW(chain_with_a_constant, 250),
        ROW(chain_of_skips, 250),
        ROW(chain_of_reshapes, 250),
        ROW(chain_of_transposes, 250),
        ROW(chain_of_undone_transposes, 250),
        ROW(chain_of_composites, 250),
        ROW(chain_backwards, 250),
        ROW(chain_that_is_known, 250),
        ROW(dead_chain, 250),
        ROW(shapes_at_run_time, 250),
        ROW(long_names, 250),
    };
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

/* Thousands of buffers at once: fewer are packed with more care, which is quadratic and bounded. */
TEST(work_grows_with_the_values_that_live_at_once)
{
    static const row rows[] = {ROW(all_values_alive, 5000), ROW(sum_of_nodes, 5000)};
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

TEST(work_grows_with_the_operands_of_a_node)
{
    static const row rows[] = {
        ROW(sum_of_inputs, 250),      ROW(concat_of_inputs, 250), ROW(concat_of_the_same, 250),
        ROW(sum_of_equal_nodes, 250), ROW(sequence, 250),
    };
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

TEST(work_grows_with_what_a_model_lists)
{
    static const row rows[] = {ROW(outputs, 250), ROW(unused_constants, 250), ROW(domains, 60)};
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

TEST(work_grows_with_the_functions_and_their_calls)
{
    static const row rows[] = {ROW(functions, 250), ROW(calls_of_a_function, 250),
                               ROW(large_function, 250)};
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

TEST(work_grows_with_the_graphs_inside)
{
    static const row rows[] = {
        ROW(branches, 250),
        ROW(branch_that_captures, 250),
        ROW(carried_values, 250),
        ROW(trips_of_a_loop, 250),
    };
    check_growth(rows, sizeof rows / sizeof *rows, "naive:0");
}

/* Copies, waits, programs. Of a long chain the walks for programs fill a window (plan_program.c).
 */
TEST(work_grows_with_the_nodes_on_a_device)
{
    static const row rows[] = {
        ROW(chain, 4000),         ROW(chain_with_gaps, 6000),
        ROW(chain_of_skips, 250), ROW(chain_with_a_constant, 250),
        ROW(sum_of_inputs, 250),
    };
    check_growth(rows, sizeof rows / sizeof *rows, "NPU:0");
}

static const test_case cases[] = {
    CASE(work_grows_with_the_length_of_a_chain),
    CASE(work_grows_with_the_values_that_live_at_once),
    CASE(work_grows_with_the_operands_of_a_node),
    CASE(work_grows_with_what_a_model_lists),
    CASE(work_grows_with_the_functions_and_their_calls),
    CASE(work_grows_with_the_graphs_inside),
    CASE(work_grows_with_the_nodes_on_a_device),
};
TEST_MAIN(cases)

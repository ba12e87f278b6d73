/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: groups, cuts, order, views, layouts, constants, and backends that break their word. */
#include "tfr_test.h"

#include "alloc.h"
#include "program_kit.h"
#include "temp_path.h"

static tfr_err err = TFR_ERR_INIT;
static char talk[4096];

static void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    const size_t n = strlen(talk);
    (void)user, (void)level;
    snprintf(talk + n, sizeof talk - n, "%s: %s\n", who, text);
}

static tfr_runtime *new_runtime(void)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    options.log = hear;
    talk[0] = '\0';
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    kit_attach(runtime);
    return runtime;
}

static tfr_tensor *floats(int64_t rows, int64_t columns, uint32_t seed)
{
    const tfr_shape shape = {2, {rows, columns}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    for (int64_t i = 0; i < rows * columns; i++) {
        seed = seed * 1664525u + 1013904223u;
        ((float *)tfr_tensor_data(t))[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return t;
}

static tfr_value add(tfr_graph *graph, const char *op, tfr_value a, tfr_value b)
{
    const tfr_value in[2] = {a, b};
    tfr_value out = TFR_VALUE_NONE;
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .inputs = in,
                          .n_inputs = b == TFR_VALUE_NONE ? 1 : 2,
                          .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static tfr_value constant(tfr_graph *graph, tfr_tensor *t)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value reshape(tfr_graph *graph, tfr_value x, int64_t rows, int64_t columns)
{
    const tfr_shape shape = {1, {2}};
    const int64_t dims[] = {rows, columns};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &shape, &t, &err), &err);
    memcpy(tfr_tensor_data(t), dims, sizeof dims);
    return add(graph, "Reshape", x, constant(graph, t));
}

static tfr_graph *new_graph(tfr_value *x)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("test", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, x, &err), &err);
    return graph;
}

static void output(tfr_graph *graph, tfr_value v)
{
    char name[16];
    snprintf(name, sizeof name, "y%u", tfr_graph_n_outputs(graph));
    REQUIRE_OK(tfr_graph_add_output(graph, v, name, &err), &err);
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, bool programs)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "naive:0";
    options.no_programs = !programs;
    options.passes = "none"; /* the graphs are meant as they are */
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static tfr_session_stats stats_of(const tfr_session *session)
{
    tfr_session_stats stats = {.size = sizeof stats};
    CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
    return stats;
}

static tfr_placement row_of(const tfr_session *session, uint32_t i)
{
    tfr_placement row = {.size = sizeof row};
    REQUIRE_OK(tfr_session_placement(session, i, &row, &err), &err);
    return row;
}

#define MOST 64

/* Runs the graph with and without programs and compares all bytes. */
static tfr_session *compare(tfr_runtime *runtime, tfr_graph *graph, tfr_tensor *in)
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

/* Ends what a test began with new_runtime, new_graph and compare; all programs must be gone. */
static void end(tfr_runtime *runtime, tfr_graph *graph, tfr_session *session, tfr_tensor *in)
{
    tfr_session_destroy(session);
    CHECK_UINT(0, kit.n_live);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

/* x → Relu → Sigmoid → Add with the Relu */
static tfr_graph *diamond(void)
{
    tfr_value x, a, b;
    tfr_graph *graph = new_graph(&x);
    a = add(graph, "Relu", x, TFR_VALUE_NONE);
    b = add(graph, "Sigmoid", a, TFR_VALUE_NONE);
    output(graph, add(graph, "Add", a, b));
    return graph;
}

static void want(int32_t a, int32_t b, int32_t c, int32_t d)
{
    kit.all = false;
    memset(kit.group, 0xff, sizeof kit.group);
    kit.group[0] = a;
    kit.group[1] = b;
    kit.group[2] = c;
    kit.group[3] = d;
}

/* ---- groups ---------------------------------------------------------------------------------- */

TEST(a_whole_graph_is_one_launch_and_says_what_it_is)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    tfr_program_desc row = {.size = sizeof row};
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, stats_of(session).n_launches);
    CHECK_UINT(1, stats_of(session).n_programs);
    CHECK_UINT(1, tfr_session_n_programs(session));
    REQUIRE_OK(tfr_session_program(session, 0, &row, &err), &err);
    CHECK_UINT(3, row.n_nodes);
    CHECK_UINT(3, row.n_kernels);
    CHECK_UINT(12, row.constant_bytes);
    CHECK_STR("naive:0", row.backend);
    CHECK_STR("one after the other", row.text);
    CHECK_STATUS(TFR_EINVAL, tfr_session_program(session, 1, &row, &err), &err);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_INT(0, row_of(session, i).program);
        CHECK_STR("naive:0", row_of(session, i).backend);
    }
    end(runtime, graph, session, in);
}

TEST(a_group_is_cut_where_a_path_leaves_it_and_comes_back)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    want(5, -1, 5, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_programs);
    CHECK_INT(0, row_of(session, 0).program);
    CHECK_INT(-1, row_of(session, 1).program);
    CHECK_STR("node 1 is not for me", row_of(session, 1).alone);
    CHECK_INT(1, row_of(session, 2).program);
    end(runtime, graph, session, in);
}

TEST(groups_that_wait_for_each_other_are_cut)
{
    tfr_value x, a, b, c;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    a = add(graph, "Relu", x, TFR_VALUE_NONE);
    b = add(graph, "Neg", x, TFR_VALUE_NONE);
    c = add(graph, "Abs", a, TFR_VALUE_NONE);
    output(graph, add(graph, "Sigmoid", b, TFR_VALUE_NONE));
    output(graph, c);
    want(0, 1, 1, 0); /* each is convex, and each reads the other */
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(3, stats_of(session).n_programs);
    end(runtime, graph, session, in);
}

static uint32_t random_state;

static uint32_t next_random(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static tfr_graph *random_graph(uint32_t n_nodes)
{
    static const char *const unary[] = {"Relu", "Sigmoid", "Neg", "Tanh", "Abs", "Identity"};
    tfr_value values[MOST], x;
    uint32_t n = 0;
    tfr_graph *graph = new_graph(&x);
    values[n++] = x;
    values[n++] = constant(graph, floats(4, 6, random_state));
    while (n < n_nodes) {
        tfr_value a = values[next_random(n)], b = values[n - 1 - next_random(n < 4 ? n : 4)];
        switch (next_random(5)) {
        case 0:
        case 1:
            values[n++] = add(graph, next_random(2) ? "Add" : "Mul", a, b);
            break;
        case 2:
            values[n] = reshape(graph, b, 6, 4);
            values[n] = add(graph, "Sigmoid", values[n], TFR_VALUE_NONE);
            values[n] = reshape(graph, values[n], 4, 6);
            n++;
            break;
        default:
            values[n++] = add(graph, unary[next_random(6)], b, TFR_VALUE_NONE);
        }
        if (next_random(6) == 0)
            output(graph, values[n - 1]);
    }
    output(graph, values[n - 1]);
    return graph;
}

TEST(random_groups_of_random_graphs_give_what_kernels_give)
{
    uint32_t n_programs = 0, n_convex = 0;
    for (uint32_t seed = 0; seed < 300; seed++) {
        tfr_runtime *runtime = seed ? NULL : new_runtime();
        static tfr_runtime *shared;
        random_state = seed * 7919;
        shared = runtime ? runtime : shared;
        tfr_graph *graph = random_graph(4 + next_random(36));
        tfr_tensor *in = floats(4, 6, seed);
        const uint32_t n_labels = 1 + next_random(4);
        kit.all = false;
        kit.layouts = seed % 2;
        kit.workspace = seed % 3 == 0;
        for (uint32_t i = 0; i < KIT_ONE_SET; i++)
            kit.group[i] = next_random(4) ? (int32_t)next_random(n_labels) : -1;
        tfr_session *session = compare(shared, graph, in);
        if (n_labels == 1 && kit.convex) {
            CHECK_UINT(1, stats_of(session).n_programs);
            n_convex++;
        }
        n_programs += stats_of(session).n_programs;
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
        tfr_graph_release(graph);
        tfr_tensor_release(in);
        if (seed == 299)
            tfr_runtime_release(shared);
    }
    CHECK(n_programs > 600);
    CHECK(n_convex > 5);
    CHECK(kit.n_laid > 300);
    CHECK(kit.n_reorders > 100);
    CHECK_STR("", talk);
}

/* ---- views, outputs, layouts, constants ------------------------------------------------------ */

TEST(a_view_of_what_a_program_gives_out_anyway_stays_outside)
{
    tfr_value x, v;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    v = add(graph, "Relu", x, TFR_VALUE_NONE);
    output(graph, v);
    output(graph, reshape(graph, v, 3, 8));
    tfr_session *session = compare(runtime, graph, in);
    CHECK_INT(0, row_of(session, 0).program);
    CHECK_INT(-1, row_of(session, 1).program);
    end(runtime, graph, session, in);
}

TEST(a_view_whose_input_nobody_else_reads_is_part_of_the_program)
{
    tfr_value x;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    output(graph, reshape(graph, add(graph, "Relu", x, TFR_VALUE_NONE), 3, 8));
    tfr_session *session = compare(runtime, graph, in);
    CHECK_INT(0, row_of(session, 1).program);
    CHECK_STR("naive:0", row_of(session, 1).backend);
    end(runtime, graph, session, in);
}

TEST(views_alone_are_no_program)
{
    tfr_value x;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    output(graph, add(graph, "Relu", reshape(graph, x, 3, 8), TFR_VALUE_NONE));
    want(0, -1, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, kit.n_proposes);
    CHECK_UINT(0, kit.n_compiles);
    end(runtime, graph, session, in);
}

TEST(one_value_may_be_read_inside_and_outside_and_be_two_outputs)
{
    tfr_value x, a, b;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    a = add(graph, "Sigmoid", x, TFR_VALUE_NONE);
    b = add(graph, "Add", a, a);
    output(graph, a);
    output(graph, a);
    output(graph, b);
    output(graph, add(graph, "Mul", a, b));
    want(0, 0, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_launches);
    end(runtime, graph, session, in);
}

TEST(a_layout_passes_between_programs_and_is_made_plain_once_for_others)
{
    tfr_value x, a, b;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    a = add(graph, "Sigmoid", x, TFR_VALUE_NONE);
    b = add(graph, "Neg", a, TFR_VALUE_NONE);
    output(graph, add(graph, "Add", b, add(graph, "Mul", a, a)));
    output(graph, add(graph, "Relu", a, TFR_VALUE_NONE));
    kit.layouts = true;
    want(0, 1, -1, -1); /* a goes to a program, and to two kernels */
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, kit.n_laid);
    CHECK_UINT(2, kit.n_reorders); /* once in each of two runs */
    CHECK_UINT(1, stats_of(session).n_reorders);
    end(runtime, graph, session, in);
}

TEST(a_layout_whose_reader_is_not_compiled_is_made_plain)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    kit.layouts = true;
    kit.compile_status = TFR_EUNSUPPORTED;
    kit.fail_op = "Sigmoid";
    want(0, 1, 2, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(2, stats_of(session).n_programs);
    CHECK_UINT(2, kit.n_reorders);
    end(runtime, graph, session, in);
}

TEST(a_value_that_leaves_the_section_has_no_layout)
{
    tfr_value x, a;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1);
    a = add(graph, "Sigmoid", x, TFR_VALUE_NONE);
    output(graph, a);
    output(graph, add(graph, "Neg", a, TFR_VALUE_NONE));
    kit.layouts = true;
    want(0, 1, -1, -1);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(0, kit.n_laid);
    end(runtime, graph, session, in);
}

TEST(plans_of_two_batch_sizes_see_a_constant_at_one_address)
{
    tfr_value x;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    output(graph, add(graph, "MatMul", x, constant(graph, floats(6, 5, 3))));
    tfr_session *session = new_session(runtime, graph, true);
    const void *seen[2];
    for (int i = 0; i < 2; i++) {
        tfr_tensor *in = floats(1 + i, 6, 2), *out = NULL;
        kit.constant = NULL;
        REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        seen[i] = kit.constant;
        tfr_tensor_release(in);
        tfr_tensor_release(out);
    }
    CHECK_UINT(2, kit.n_compiles);
    CHECK(seen[0] != NULL && seen[0] == seen[1]);
    end(runtime, graph, session, NULL);
}

TEST(a_strided_input_reaches_a_program_plain)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    const tfr_shape shape = {2, {4, 6}};
    const int64_t strides[] = {1, 4};
    tfr_tensor *base = floats(6, 4, 1), *in = NULL;
    REQUIRE_OK(tfr_tensor_view(base, 0, &shape, strides, &in, &err), &err);
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(1, stats_of(session).n_programs);
    tfr_tensor_release(base);
    end(runtime, graph, session, in);
}

TEST(nodes_that_draw_random_numbers_are_nobodys)
{
    tfr_value x, r;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1), *out = NULL;
    r = add(graph, "RandomNormalLike", x, TFR_VALUE_NONE);
    output(graph, add(graph, "Add", x, r));
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(2, kit.n_nodes);
    CHECK_UINT(1, kit.n_mine);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_workspace_counts_with_what_it_holds_at_one_time)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    tfr_program_desc row = {.size = sizeof row};
    kit.workspace = true;
    tfr_session *session = compare(runtime, graph, in);
    REQUIRE_OK(tfr_session_program(session, 0, &row, &err), &err);
    CHECK_UINT(4 * 128, row.workspace_bytes);
    CHECK_UINT(2 * 128, row.lower_bound);
    CHECK_UINT(4 * 128, stats_of(session).arena_bytes);
    CHECK_UINT(2 * 128, stats_of(session).arena_lower_bound);
    end(runtime, graph, session, in);
}

/* ---- no and failures ------------------------------------------------------------------------- */

TEST(a_session_without_programs_asks_no_compiler)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, false);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(0, kit.n_proposes);
    CHECK_UINT(3, stats_of(session).n_launches);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_group_that_cannot_be_compiled_runs_as_kernels_and_says_why)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    kit.compile_status = TFR_EUNSUPPORTED;
    tfr_session *session = compare(runtime, graph, in);
    CHECK_UINT(0, stats_of(session).n_programs);
    CHECK_UINT(3, stats_of(session).n_launches);
    CHECK_STR("not these 3 nodes", row_of(session, 2).alone);
    CHECK(!atomic_load(&kit_backend->program_off));
    CHECK_STR("", talk);
    end(runtime, graph, session, in);
}

/* Programs are off, the kernels are not, and somebody was told. */
static void check_off(const char *why)
{
    CHECK(atomic_load(&kit_backend->program_off));
    CHECK(!atomic_load(&kit_backend->quarantined));
    CHECK_CONTAINS(why, talk);
    CHECK_CONTAINS("compiles no programs any more", talk);
}

#define BREAKS(name, setting, why)                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        tfr_runtime *runtime = new_runtime();                                                      \
        tfr_graph *graph = diamond();                                                              \
        tfr_tensor *in = floats(4, 6, 1);                                                          \
        setting;                                                                                   \
        tfr_session *session = compare(runtime, graph, in);                                        \
        CHECK_UINT(0, stats_of(session).n_programs);                                               \
        check_off(why);                                                                            \
        const uint32_t n = kit.n_proposes;                                                         \
        tfr_session_destroy(compare(runtime, graph, in));                                          \
        CHECK_UINT(n, kit.n_proposes);                                                             \
        end(runtime, graph, session, in);                                                          \
    }

BREAKS(a_compiler_that_fails_is_not_asked_again, kit.compile_status = TFR_EINTERNAL,
       "not these 3 nodes")
BREAKS(a_proposal_that_fails_is_a_defect, kit.propose_status = TFR_EUNSUPPORTED, "no idea today")
BREAKS(a_group_below_minus_one_is_a_defect, kit.bad_group = -7, "into group -7")
BREAKS(a_compiler_that_gives_no_program_is_broken, kit.no_program = true, "it gave no program")
BREAKS(a_layout_where_none_is_allowed_is_a_defect, kit.bad_layout = true, "must be plain")
BREAKS(a_workspace_beyond_all_memory_is_a_defect, kit.bad_info.workspace_bytes = UINT64_MAX,
       "wants a workspace")
BREAKS(a_layout_that_has_no_size_is_a_defect, want(0, 1, 1, -1); kit.layouts = true;
       kit.bytes_status = TFR_EUNSUPPORTED, "no such layout")

TEST(a_group_with_a_node_of_somebody_else_is_a_defect)
{
    tfr_value x, r;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 6, 1), *out = NULL;
    r = add(graph, "RandomNormalLike", x, TFR_VALUE_NONE);
    output(graph, add(graph, "Add", x, r));
    kit.bad_foreign = true;
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    check_off("it put node 0, which it may not have, into group 0");
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_program_that_fails_in_a_run_gives_way_to_kernels_in_the_same_run)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1);
    kit.launch_status = TFR_EINTERNAL;
    tfr_tensor *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    CHECK_UINT(1, kit.n_launches);
    CHECK_UINT(3, stats_of(session).n_launches);
    check_off("the program of 3 nodes from");
    CHECK_UINT(3, tfr_session_n_placements(session));
    tfr_session_destroy(compare(runtime, graph, in));
    end(runtime, graph, session, in);
}

TEST(wrong_data_in_a_program_are_not_its_fault)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    kit.launch_status = TFR_EINVAL;
    CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("program of 3 nodes from ", err.text);
    CHECK_CONTAINS(" on naive:0: the program fell over", err.text);
    kit.launch_status = TFR_OK;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_UINT(1, stats_of(session).n_programs);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(a_compiler_out_of_memory_fails_the_plan_and_keeps_its_name)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1), *out = NULL;
    tfr_session *session = new_session(runtime, graph, true);
    kit.compile_status = TFR_ENOMEM;
    CHECK_STATUS(TFR_ENOMEM, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_CONTAINS("a program of 3 nodes on naive:0: not these 3 nodes", err.text);
    kit.compile_status = TFR_OK;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    end(runtime, graph, session, in);
}

TEST(plans_with_programs_survive_each_failed_request)
{
    tfr_runtime *runtime = new_runtime();
    tfr_tensor *in = floats(4, 6, 1);
    random_state = 5;
    tfr_graph *graph = random_graph(12);
    const uint32_t n_outputs = tfr_graph_n_outputs(graph);
    uint64_t n = 0, before;
    kit.layouts = kit.workspace = true;
    want(0, 0, -1, 1);
    for (uint32_t i = 4; i < 40; i++)
        kit.group[i] = (int32_t)(i % 3) - 1;
    do {
        tfr_session *session = new_session(runtime, graph, true);
        tfr_tensor *out[MOST] = {NULL};
        before = tfr__alloc_count();
        tfr__alloc_fail_at(++n);
        const tfr_status status = tfr_session_run(session, &in, 1, out, n_outputs, &err);
        tfr__alloc_fail_at(0);
        if (status != TFR_OK)
            CHECK_STATUS(TFR_ENOMEM, status, &err);
        before = tfr__alloc_count() - before;
        for (uint32_t i = 0; i < n_outputs; i++)
            tfr_tensor_release(out[i]);
        tfr_session_destroy(session);
        CHECK_UINT(0, kit.n_live);
    } while (before >= n && n < 10000);
    CHECK(n > 100);
    CHECK(!atomic_load(&kit_backend->program_off));
    end(runtime, graph, NULL, in);
}

/* An op, then a product with a constant; compiled, not run. */
static void compile_once(tfr_runtime *runtime, const char *op, uint32_t seed)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(&x);
    tfr_tensor *in = floats(4, 12, 1);
    v = add(graph, op, x, TFR_VALUE_NONE);
    output(graph, add(graph, "MatMul", v, constant(graph, floats(12, 12, seed))));
    tfr_session *session = new_session(runtime, graph, true);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
}

TEST(a_blob_comes_back_for_an_equal_group_alone)
{
    for (int round = 0; round < 2; round++) { /* the second one finds the file of the first */
        tfr_runtime *runtime = new_runtime();
        tfr__tuning_finish(&runtime->tuning);
        tfr__tuning_init(&runtime->tuning, runtime, temp_path("blobs"));
        compile_once(runtime, "Relu", 1);
        CHECK_STR(round ? "of 2 nodes" : "", kit.blob);
        compile_once(runtime, "Relu", 2); /* other weights, same work */
        CHECK_STR("of 2 nodes", kit.blob);
        compile_once(runtime, "Abs", 1);
        CHECK_STR(round ? "of 2 nodes" : "", kit.blob);
        CHECK_UINT(3, kit.n_compiles);
        tfr_runtime_release(runtime);
    }
    temp_drop("blobs");
}

TEST(a_binding_launches_programs_and_takes_no_memory)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = diamond();
    tfr_tensor *in = floats(4, 6, 1), *out = floats(4, 6, 9);
    tfr_session *session = compare(runtime, graph, in);
    tfr_tensor *want_out = NULL;
    tfr_binding *binding = NULL;
    kit.layouts = true;
    want(0, 1, -1, -1);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &want_out, 1, &err), &err);
    REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
    const uint64_t before = tfr__alloc_count();
    const uint32_t launches = kit.n_launches;
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_OK(tfr_binding_run(binding, &err), &err);
    CHECK_UINT(before, tfr__alloc_count());
    CHECK_UINT(launches + 4, kit.n_launches);
    CHECK(kit.n_reorders > 0);
    CHECK_MEM(tfr_tensor_data(want_out), tfr_tensor_data(out), tfr_tensor_bytes(out));
    tfr_binding_destroy(binding);
    tfr_tensor_release(out);
    tfr_tensor_release(want_out);
    end(runtime, graph, session, in);
}

static const test_case cases[] = {
    CASE(a_whole_graph_is_one_launch_and_says_what_it_is),
    CASE(a_group_is_cut_where_a_path_leaves_it_and_comes_back),
    CASE(groups_that_wait_for_each_other_are_cut),
    CASE(random_groups_of_random_graphs_give_what_kernels_give),
    CASE(a_view_of_what_a_program_gives_out_anyway_stays_outside),
    CASE(a_view_whose_input_nobody_else_reads_is_part_of_the_program),
    CASE(views_alone_are_no_program),
    CASE(one_value_may_be_read_inside_and_outside_and_be_two_outputs),
    CASE(a_layout_passes_between_programs_and_is_made_plain_once_for_others),
    CASE(a_layout_whose_reader_is_not_compiled_is_made_plain),
    CASE(a_value_that_leaves_the_section_has_no_layout),
    CASE(plans_of_two_batch_sizes_see_a_constant_at_one_address),
    CASE(a_strided_input_reaches_a_program_plain),
    CASE(nodes_that_draw_random_numbers_are_nobodys),
    CASE(a_workspace_counts_with_what_it_holds_at_one_time),
    CASE(a_session_without_programs_asks_no_compiler),
    CASE(a_group_that_cannot_be_compiled_runs_as_kernels_and_says_why),
    CASE(a_compiler_that_fails_is_not_asked_again),
    CASE(a_proposal_that_fails_is_a_defect),
    CASE(a_group_below_minus_one_is_a_defect),
    CASE(a_compiler_that_gives_no_program_is_broken),
    CASE(a_layout_where_none_is_allowed_is_a_defect),
    CASE(a_workspace_beyond_all_memory_is_a_defect),
    CASE(a_layout_that_has_no_size_is_a_defect),
    CASE(a_group_with_a_node_of_somebody_else_is_a_defect),
    CASE(a_program_that_fails_in_a_run_gives_way_to_kernels_in_the_same_run),
    CASE(wrong_data_in_a_program_are_not_its_fault),
    CASE(a_compiler_out_of_memory_fails_the_plan_and_keeps_its_name),
    CASE(plans_with_programs_survive_each_failed_request),
    CASE(a_blob_comes_back_for_an_equal_group_alone),
    CASE(a_binding_launches_programs_and_takes_no_memory),
};
TEST_MAIN(cases)

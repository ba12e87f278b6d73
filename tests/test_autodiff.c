/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of nn/ against central differences in double: each rule, with operands that broadcast,
 * with and without types that are known when the graph is built.
 */
#include <stdlib.h>
#include <tfrun/autodiff.h>
#include <tfrun/tfrun.h>

#include "tfr_test.h"

#define MOST 4 /* operands of a case */

static tfr_err err = TFR_ERR_INIT;

static tfr_runtime *new_runtime(void)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    return runtime;
}

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

static tfr_graph *new_graph(void)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("f", &graph, &err), &err);
    return graph;
}

static tfr_value add(tfr_graph *graph, const char *op, const tfr_value *in, uint32_t n,
                     const tfr_attr *attrs, uint32_t n_attrs)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .inputs = in,
                          .n_inputs = n,
                          .n_outputs = 1,
                          .attrs = attrs,
                          .n_attrs = n_attrs};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/*
 * The operands of a node: "f2,3" is an input of double with these dims, "f" a scalar one, "i1,-1" a
 * constant list of int64, "b2,3" a constant of bool that alternates, "-" an absent operand.
 */
typedef struct diff_case {
    const char *op, *operands;
    double low, high; /* of the inputs' values */
    tfr_attr attrs[4];
    bool needs_types;
} diff_case;

typedef struct function {
    tfr_session *session;
    tfr_tensor *inputs[MOST];
    uint32_t n_inputs;
    tfr_tensor *outputs[1 + MOST];
} function;

static uint32_t read_numbers(const char *text, int64_t *out)
{
    uint32_t n = 0;
    while (*text && *text != ' ') {
        char *end;
        out[n++] = strtoll(text, &end, 10);
        text = end + (*end == ',');
    }
    return n;
}

static tfr_tensor *new_tensor(tfr_dtype dtype, int32_t rank, const int64_t *dims)
{
    tfr_shape shape = {0};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_shape_make(rank, dims, &shape, &err), &err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &err), &err);
    return t;
}

static int64_t elements(const tfr_tensor *t)
{
    const tfr_shape *shape = tfr_tensor_shape(t);
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

static tfr_value add_float(function *f, tfr_graph *graph, const diff_case *c, uint32_t rank,
                           const int64_t *dims, bool typed)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F64, .rank_known = 1};
    tfr_tensor *t = new_tensor(TFR_DTYPE_F64, (int32_t)rank, dims);
    double *data = tfr_tensor_data(t);
    tfr_value v = TFR_VALUE_NONE;
    char name[16];
    for (int64_t i = 0; i < elements(t); i++) {
        double u = sin(12.9898 * (double)(i + 1) + 4.1414 * (f->n_inputs + 1)) * 43758.5453;
        data[i] = c->low + (c->high - c->low) * (u - floor(u));
    }
    type.rank = (int32_t)rank;
    memcpy(type.dims, dims, rank * sizeof *dims);
    snprintf(name, sizeof name, "x%u", f->n_inputs);
    REQUIRE_OK(tfr_graph_add_input(graph, name, typed ? &type : NULL, &v, &err), &err);
    f->inputs[f->n_inputs++] = t;
    return v;
}

static tfr_value add_constant(tfr_graph *graph, char kind, uint32_t n, const int64_t *numbers)
{
    const int64_t length[] = {n};
    tfr_tensor *t = kind == 'i' ? new_tensor(TFR_DTYPE_I64, 1, length)
                                : new_tensor(TFR_DTYPE_BOOL, (int32_t)n, numbers);
    tfr_value v = TFR_VALUE_NONE;
    if (kind == 'i' && n)
        memcpy(tfr_tensor_data(t), numbers, n * sizeof *numbers);
    for (int64_t i = 0; kind == 'b' && i < elements(t); i++)
        ((uint8_t *)tfr_tensor_data(t))[i] = i % 2 == 0;
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

/* The sum of the squares of what the node gives, and its gradients. */
static void build(function *f, tfr_runtime *runtime, const diff_case *c, bool typed)
{
    tfr_graph *graph = new_graph();
    tfr_value in[MOST], xs[MOST], gradients[MOST], y;
    uint32_t n = 0, n_attrs = 0;
    memset(f, 0, sizeof *f);
    for (const char *p = c->operands; *p; n++) {
        int64_t numbers[16] = {0};
        uint32_t n_numbers = read_numbers(p + 1, numbers);
        in[n] = TFR_VALUE_NONE;
        if (*p == 'f')
            in[n] = add_float(f, graph, c, n_numbers, numbers, typed);
        else if (*p != '-')
            in[n] = add_constant(graph, *p, n_numbers, numbers);
        if (*p == 'f')
            xs[f->n_inputs - 1] = in[n];
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    while (n_attrs < 4 && c->attrs[n_attrs].name)
        n_attrs++;
    y = add(graph, c->op, in, n, c->attrs, n_attrs);
    y = add(graph, "Mul", (tfr_value[]){y, y}, 2, NULL, 0);
    REQUIRE_OK(tfr_graph_gradient(graph, y, xs, f->n_inputs, gradients, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, y, "y", &err), &err);
    for (uint32_t i = 0; i < f->n_inputs; i++)
        REQUIRE_OK(tfr_graph_add_output(graph, gradients[i], NULL, &err), &err);
    f->session = new_session(runtime, graph);
    tfr_graph_release(graph);
}

static void release_outputs(function *f)
{
    for (uint32_t i = 0; i <= f->n_inputs; i++) {
        tfr_tensor_release(f->outputs[i]);
        f->outputs[i] = NULL;
    }
}

/* The sum of the first output. */
static double value_of(function *f)
{
    double sum = 0;
    REQUIRE_OK(
        tfr_session_run(f->session, f->inputs, f->n_inputs, f->outputs, 1 + f->n_inputs, &err),
        &err);
    for (int64_t i = 0; i < elements(f->outputs[0]); i++)
        sum += ((const double *)tfr_tensor_data(f->outputs[0]))[i];
    return sum;
}

static double difference(function *f, double *x)
{
    const double h = 1e-5, middle = *x;
    double above, below;
    *x = middle + h;
    above = value_of(f);
    release_outputs(f);
    *x = middle - h;
    below = value_of(f);
    release_outputs(f);
    *x = middle;
    return (above - below) / (2 * h);
}

static void check_input(function *f, uint32_t k, const char *op)
{
    double *x = tfr_tensor_data(f->inputs[k]);
    tfr_tensor *gradient;
    (void)value_of(f);
    gradient = tfr_tensor_retain(f->outputs[1 + k]);
    release_outputs(f);
    CHECK(tfr_shape_equal(tfr_tensor_shape(gradient), tfr_tensor_shape(f->inputs[k])));
    CHECK_INT(TFR_DTYPE_F64, tfr_tensor_dtype(gradient));
    for (int64_t i = 0; i < elements(f->inputs[k]); i++) {
        double expected = difference(f, &x[i]);
        double obtained = ((const double *)tfr_tensor_data(gradient))[i];
        if (!(fabs(expected - obtained) <= 1e-7 * (1 + fabs(expected))))
            printf("%s, input %u, element %lld\n", op, k, (long long)i);
        CHECK_NEAR(expected, obtained, 1e-7 * (1 + fabs(expected)));
    }
    tfr_tensor_release(gradient);
}

static void check_cases(const diff_case *cases, size_t n)
{
    tfr_runtime *runtime = new_runtime();
    for (size_t i = 0; i < n; i++) {
        for (int typed = cases[i].needs_types; typed < 2; typed++) {
            function f;
            build(&f, runtime, &cases[i], typed != 0);
            for (uint32_t k = 0; k < f.n_inputs; k++)
                check_input(&f, k, cases[i].op);
            for (uint32_t k = 0; k < f.n_inputs; k++)
                tfr_tensor_release(f.inputs[k]);
            tfr_session_destroy(f.session);
        }
    }
    tfr_runtime_release(runtime);
}
#define CHECK_CASES(list) check_cases(list, sizeof(list) / sizeof(list)[0])

/* ---- rules ----------------------------------------------------------------------------------- */

TEST(functions_of_one_value)
{
    static const diff_case c[] = {
        {"Neg", "f2,3", -2, 2, {{0}}, false},       {"Exp", "f2,3", -2, 2, {{0}}, false},
        {"Log", "f2,3", 0.5, 3, {{0}}, false},      {"Sqrt", "f2,3", 0.5, 3, {{0}}, false},
        {"Relu", "f3,5", -2, 2, {{0}}, false},      {"Abs", "f3,5", -2, 2, {{0}}, false},
        {"Sigmoid", "f2,3", -3, 3, {{0}}, false},   {"Tanh", "f2,3", -2, 2, {{0}}, false},
        {"Softplus", "f2,3", -3, 3, {{0}}, false},  {"Erf", "f2,3", -2, 2, {{0}}, false},
        {"Identity", "f2,3", -2, 2, {{0}}, false},  {"Sin", "f2,3", -3, 3, {{0}}, false},
        {"Cos", "f2,3", -3, 3, {{0}}, false},       {"Reciprocal", "f2,3", 0.5, 2, {{0}}, false},
        {"CastLike", "f2,3 f", -2, 2, {{0}}, false}};
    CHECK_CASES(c);
}

TEST(operands_that_are_broadcast_get_the_sum)
{
    static const diff_case c[] = {
        {"Add", "f2,3 f2,3", -2, 2, {{0}}, false},      {"Add", "f2,1,3 f4,1", -2, 2, {{0}}, false},
        {"Add", "f f2,2", -2, 2, {{0}}, false},         {"Sub", "f2,3 f3", -2, 2, {{0}}, false},
        {"Mul", "f2,3 f2,1", -2, 2, {{0}}, false},      {"Mul", "f1 f2,3", -2, 2, {{0}}, false},
        {"Div", "f2,3 f2,1", 0.5, 2, {{0}}, false},     {"Div", "f3 f2,1", 0.5, 2, {{0}}, false},
        {"Pow", "f2,3 f3", 0.5, 2, {{0}}, false},       {"Pow", "f f2", 0.5, 2, {{0}}, false},
        {"Sum", "f2,3 f3 f f2,1", -2, 2, {{0}}, false}, {"Sum", "f2,3", -2, 2, {{0}}, false},
        {"Where", "b2,3 f3 f2,1", -2, 2, {{0}}, false}, {"Where", "b2 f3,2 f", -2, 2, {{0}}, false},
        {"Expand", "f2,1 i3,2,4", -2, 2, {{0}}, false}, {"Expand", "f2,3 i1", -2, 2, {{0}}, false},
        {"Add", "f0,3 f3", -2, 2, {{0}}, false}};
    CHECK_CASES(c);
}

TEST(a_power_with_a_known_exponent)
{
    static const diff_case c[] = {{"Pow", "f2,3 i3", -2, 2, {{0}}, false},
                                  {"Pow", "f2,3 i0", -2, 2, {{0}}, false},
                                  {"Pow", "f2,3 i1", -2, 2, {{0}}, false}};
    CHECK_CASES(c);
}

TEST(elements_go_back_where_they_came_from)
{
    static const int64_t perm[] = {2, 0, 1};
    const diff_case c[] = {{"Reshape", "f2,6 i3,-1", -2, 2, {{0}}, false},
                           {"Flatten", "f2,3,2", -2, 2, {TFR_SET_INT("axis", 2)}, false},
                           {"Squeeze", "f2,1,3 i1", -2, 2, {{0}}, false},
                           {"Squeeze", "f1,2,1", -2, 2, {{0}}, false},
                           {"Unsqueeze", "f2,3 i0,-1", -2, 2, {{0}}, false},
                           {"Transpose", "f2,3", -2, 2, {{0}}, false},
                           {"Transpose",
                            "f2,3,4",
                            -2,
                            2,
                            {{sizeof(tfr_attr), TFR_ATTR_INTS, "perm", 3, perm, NULL, NULL, NULL}},
                            false},
                           {"Concat", "f2,3 f2,1 f2,2", -2, 2, {TFR_SET_INT("axis", 1)}, false},
                           {"Concat", "f2,3 f1,3", -2, 2, {TFR_SET_INT("axis", -2)}, false},
                           {"Concat", "f2 f3", -2, 2, {TFR_SET_INT("axis", -1)}, false},
                           {"Slice", "f4,5 i1,0 i3,4", -2, 2, {{0}}, false},
                           {"Slice", "f4,5 i-1 i0 i1", -2, 2, {{0}}, false}};
    CHECK_CASES(c);
}

TEST(a_slice_may_step_backwards)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = new_graph();
    const int64_t four[] = {4}, numbers[4] = {3, -5, 0, -2};
    tfr_value in[5] = {TFR_VALUE_NONE}, y, gradient = TFR_VALUE_NONE;
    tfr_tensor *x = new_tensor(TFR_DTYPE_F64, 1, four), *out = NULL;
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, &in[0], &err), &err);
    for (int i = 0; i < 4; i++)
        in[1 + i] = add_constant(graph, 'i', 1, &numbers[i]);
    y = add(graph, "Slice", in, 5, NULL, 0);
    REQUIRE_OK(tfr_graph_gradient(graph, y, in, 1, &gradient, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, gradient, NULL, &err), &err);
    tfr_session *session = new_session(runtime, graph);
    memset(tfr_tensor_data(x), 0, 4 * sizeof(double));
    REQUIRE_OK(tfr_session_run(session, &x, 1, &out, 1, &err), &err);
    const double expected[] = {0, 1, 0, 1};
    CHECK_MEM(expected, tfr_tensor_data(out), sizeof expected);
    tfr_tensor_release(out);
    tfr_tensor_release(x);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(products_of_matrices)
{
    const diff_case c[] = {
        {"MatMul", "f2,3 f3,4", -2, 2, {{0}}, false},
        {"MatMul", "f2,2,3 f3,4", -2, 2, {{0}}, false},
        {"MatMul", "f2,3 f2,3,2", -2, 2, {{0}}, false},
        {"MatMul", "f2,1,2,3 f3,3,2", -2, 2, {{0}}, false},
        {"MatMul", "f3 f3", -2, 2, {{0}}, true},
        {"MatMul", "f3 f3,2", -2, 2, {{0}}, true},
        {"MatMul", "f2,3 f3", -2, 2, {{0}}, true},
        {"MatMul", "f3 f2,3,4", -2, 2, {{0}}, true},
        {"MatMul", "f2,4,3 f3", -2, 2, {{0}}, true},
        {"Gemm", "f2,3 f3,4", -2, 2, {{0}}, false},
        {"Gemm", "f2,3 f3,4 f4", -2, 2, {TFR_SET_FLOAT("alpha", 0.5f)}, false},
        {"Gemm",
         "f3,2 f3,4 f",
         -2,
         2,
         {TFR_SET_INT("transA", 1), TFR_SET_FLOAT("beta", 0.25f)},
         false},
        {"Gemm", "f2,3 f4,3 f2,1", -2, 2, {TFR_SET_INT("transB", 1)}, false},
        {"Gemm",
         "f3,2 f4,3 f2,4",
         -2,
         2,
         {TFR_SET_INT("transA", 1), TFR_SET_INT("transB", 1), TFR_SET_FLOAT("alpha", 2)},
         false}};
    CHECK_CASES(c);
}

TEST(reductions_and_softmax)
{
    const diff_case c[] = {
        {"ReduceSum", "f2,3,2 i1", -2, 2, {{0}}, false},
        {"ReduceSum", "f2,3,2 i0,-1", -2, 2, {TFR_SET_INT("keepdims", 0)}, false},
        {"ReduceSum", "f2,3", -2, 2, {TFR_SET_INT("keepdims", 0)}, false},
        {"ReduceSum", "f2,3", -2, 2, {TFR_SET_INT("noop_with_empty_axes", 1)}, false},
        {"ReduceMean", "f2,3,2 i1", -2, 2, {{0}}, false},
        {"ReduceMean", "f2,3,2 i0,-1", -2, 2, {TFR_SET_INT("keepdims", 0)}, false},
        {"ReduceMean", "f2,3", -2, 2, {TFR_SET_INT("keepdims", 0)}, false},
        {"Softmax", "f2,3", -2, 2, {{0}}, false},
        {"Softmax", "f2,3,2", -2, 2, {TFR_SET_INT("axis", 1)}, false},
        {"LogSoftmax", "f2,3", -2, 2, {{0}}, false},
        {"LogSoftmax", "f2,3,2", -2, 2, {TFR_SET_INT("axis", -3)}, false}};
    CHECK_CASES(c);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Runs a graph of one double input x = {0.5, -2} and gives its only output, two doubles. */
static void run_two(tfr_graph *graph, double out[2])
{
    const int64_t two[] = {2};
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = new_session(runtime, graph);
    tfr_tensor *x = new_tensor(TFR_DTYPE_F64, 1, two), *y = NULL;
    memcpy(tfr_tensor_data(x), (const double[]){0.5, -2}, 2 * sizeof(double));
    REQUIRE_OK(tfr_session_run(session, &x, 1, &y, 1, &err), &err);
    REQUIRE_INT(2, elements(y));
    memcpy(out, tfr_tensor_data(y), 2 * sizeof(double));
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
}

static tfr_graph *graph_of_x(tfr_value *x)
{
    tfr_graph *graph = new_graph();
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, x, &err), &err);
    return graph;
}

static tfr_value mul(tfr_graph *graph, tfr_value a, tfr_value b)
{
    return add(graph, "Mul", (tfr_value[]){a, b}, 2, NULL, 0);
}

TEST(shares_on_several_ways_add_up)
{
    tfr_value x, y, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    double out[2];
    y = add(graph, "Add", (tfr_value[]){mul(graph, x, x), x}, 2, NULL, 0);
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, g, NULL, &err), &err);
    run_two(graph, out);
    CHECK_NEAR(2, out[0], 1e-12);
    CHECK_NEAR(-3, out[1], 1e-12);
    tfr_graph_release(graph);
}

TEST(a_gradient_can_be_differentiated_again)
{
    tfr_value x, y, g = TFR_VALUE_NONE, g2 = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    double out[2];
    y = mul(graph, mul(graph, x, x), x);
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    REQUIRE_OK(tfr_graph_gradient(graph, g, &x, 1, &g2, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, g2, NULL, &err), &err);
    run_two(graph, out);
    CHECK_NEAR(3, out[0], 1e-12);
    CHECK_NEAR(-12, out[1], 1e-12);
    tfr_graph_release(graph);
}

TEST(a_value_that_does_not_count_has_gradient_0)
{
    tfr_value x, y, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    double out[2] = {1, 1};
    y = add(graph, "Floor", &x, 1, NULL, 0);
    y = mul(graph, y, y);
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, g, NULL, &err), &err);
    run_two(graph, out);
    CHECK(out[0] == 0 && out[1] == 0);
    tfr_graph_release(graph);
}

TEST(nothing_flows_through_integers)
{
    tfr_value x, y, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    double out[2] = {1, 1};
    const tfr_attr to_int[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    const tfr_attr to_double[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    y = add(graph, "Cast", &x, 1, to_int, 1);
    y = add(graph, "Cast", &y, 1, to_double, 1);
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, g, NULL, &err), &err);
    run_two(graph, out);
    CHECK(out[0] == 0 && out[1] == 0);
    tfr_graph_release(graph);
}

TEST(the_gradient_by_a_value_between_is_given)
{
    tfr_value x, z, y, g[2] = {TFR_VALUE_NONE};
    tfr_graph *graph = graph_of_x(&x);
    double out[2];
    z = mul(graph, x, x);
    y = mul(graph, z, z);
    REQUIRE_OK(tfr_graph_gradient(graph, y, (tfr_value[]){z, x}, 2, g, &err), &err);
    y = add(graph, "Sub", g, 2, NULL, 0); /* 2 x^2 - 4 x^3 */
    REQUIRE_OK(tfr_graph_add_output(graph, y, NULL, &err), &err);
    run_two(graph, out);
    CHECK_NEAR(0, out[0], 1e-12);
    CHECK_NEAR(40, out[1], 1e-12);
    tfr_graph_release(graph);
}

TEST(an_op_without_a_rule_is_named)
{
    tfr_value x, y, g = TFR_VALUE_NONE;
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    tfr_graph *graph = graph_of_x(&x);
    y = add(graph, "BitCast", &x, 1, to, 1);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    CHECK_CONTAINS("(BitCast) cannot be differentiated: it takes bits", err.text);
    tfr_graph_release(graph);
}

TEST(an_equation_with_too_many_letters_is_refused)
{
    static const char letters[] = "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii->i";
    const tfr_attr equation[] = {TFR_SET_STRING("equation", letters)};
    tfr_value x = TFR_VALUE_NONE, y, g = TFR_VALUE_NONE;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("f", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", NULL, &x, &err), &err);
    y = add(graph, "Einsum", &x, 1, equation, 1);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    CHECK_CONTAINS("its equation has too many letters for a diagonal", err.text);
    tfr_graph_release(graph);
}

/* (x as float8) * 2, whose gradient by x is 0 as that of what QuantizeLinear rounds. */
TEST(nothing_flows_to_elements_that_are_dequantized)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F8E4M3FN)};
    const tfr_attr single[] = {TFR_SET_INT("to", TFR_DTYPE_F32)};
    const tfr_attr whole[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    tfr_value x, y, g = TFR_VALUE_NONE, scale;
    tfr_graph *graph = graph_of_x(&x);
    double out[2] = {1, 1};
    y = add(graph, "Cast", &x, 1, to, 1);
    scale = add(graph, "Size", &x, 1, NULL, 0);
    scale = add(graph, "Cast", &scale, 1, single, 1);
    y = add(graph, "DequantizeLinear", (tfr_value[]){y, scale}, 2, NULL, 0);
    y = add(graph, "Cast", &y, 1, whole, 1);
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, g, NULL, &err), &err);
    run_two(graph, out);
    CHECK(out[0] == 0 && out[1] == 0);
    tfr_graph_release(graph);
}

TEST(scales_that_are_powers_of_two_are_refused)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F8E8M0)};
    const tfr_attr integer[] = {TFR_SET_INT("to", TFR_DTYPE_I8)};
    const tfr_attr first[] = {TFR_SET_INT("axis", 0)};
    tfr_value x, y, scale, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    y = add(graph, "Cast", &x, 1, integer, 1);
    scale = add(graph, "Cast", &x, 1, to, 1);
    y = add(graph, "DequantizeLinear", (tfr_value[]){y, scale}, 2, first, 1);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    CHECK_CONTAINS("its scales are powers of two", err.text);
    tfr_graph_release(graph);
}

/* Each op has a rule, or is constant, or says why it has none. */
TEST(every_op_is_accounted_for)
{
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc op = {.size = sizeof op};
        const char *why;
        tfr_gradient_kind kind;
        REQUIRE_OK(tfr_op_describe(i, &op, &err), &err);
        if (op.plugin) /* which says so itself */
            continue;
        kind = tfr_op_gradient(op.domain, op.name, &why);
        n[kind]++;
        if ((kind == TFR_GRADIENT_NONE) != (why != NULL) ||
            (why && strcmp(why, "its op has no rule") == 0)) {
            printf("%s: %s\n", op.name, why ? why : "no reason");
            CHECK(false);
        }
    }
    printf("%u ops with rules, %u constant, %u without\n", n[1], n[2], n[0]);
    CHECK_INT(TFR_GRADIENT_RULE, tfr_op_gradient("ai.onnx", "Loop", NULL));
    CHECK_INT(TFR_GRADIENT_ZERO, tfr_op_gradient(NULL, "ArgMax", NULL));
    CHECK_INT(TFR_GRADIENT_NONE, tfr_op_gradient("ai.onnx.ml", "Scaler", NULL));
    CHECK_INT(TFR_GRADIENT_NONE, tfr_op_gradient("", "NoSuchOp", NULL));
}

TEST(wrong_values_are_refused)
{
    tfr_value x, wrong = 77, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_gradient(graph, x, &wrong, 1, &g, &err), &err);
    CHECK_CONTAINS("no value 77", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_gradient(graph, -1, &x, 1, &g, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_graph_gradient(graph, x, &x, 0, &g, &err), &err);
    tfr_graph_release(graph);
}

TEST(the_graph_of_a_session_is_not_changed)
{
    tfr_value x, y, g = TFR_VALUE_NONE;
    tfr_graph *graph = graph_of_x(&x);
    y = mul(graph, x, x);
    REQUIRE_OK(tfr_graph_add_output(graph, y, NULL, &err), &err);
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = new_session(runtime, graph);
    CHECK_STATUS(TFR_EBUSY, tfr_graph_gradient(graph, y, &x, 1, &g, &err), &err);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(functions_of_one_value),
    CASE(operands_that_are_broadcast_get_the_sum),
    CASE(a_power_with_a_known_exponent),
    CASE(elements_go_back_where_they_came_from),
    CASE(a_slice_may_step_backwards),
    CASE(products_of_matrices),
    CASE(reductions_and_softmax),
    CASE(shares_on_several_ways_add_up),
    CASE(a_gradient_can_be_differentiated_again),
    CASE(a_value_that_does_not_count_has_gradient_0),
    CASE(nothing_flows_through_integers),
    CASE(the_gradient_by_a_value_between_is_given),
    CASE(an_op_without_a_rule_is_named),
    CASE(an_equation_with_too_many_letters_is_refused),
    CASE(nothing_flows_to_elements_that_are_dequantized),
    CASE(scales_that_are_powers_of_two_are_refused),
    CASE(every_op_is_accounted_for),
    CASE(wrong_values_are_refused),
    CASE(the_graph_of_a_session_is_not_changed),
};
TEST_MAIN(cases)

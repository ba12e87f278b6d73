/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients through If, Loop and Scan; gradient_kit.h checks. */
#include "gradient_kit.h"

/* ---- graphs inside --------------------------------------------------------------------------- */

static tfr_graph *child(tfr_graph *graph)
{
    tfr_graph *out = NULL;
    REQUIRE_OK(tfr_graph_create_child(graph, "inside", &out, &gradient_err), &gradient_err);
    return out;
}

static tfr_value input(tfr_graph *graph)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_input(graph, NULL, NULL, &v, &gradient_err), &gradient_err);
    return v;
}

static tfr_value capture(tfr_graph *graph, tfr_value of)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_capture(graph, of, &v, &gradient_err), &gradient_err);
    return v;
}

static void output(tfr_graph *graph, tfr_value v)
{
    REQUIRE_OK(tfr_graph_add_output(graph, v, NULL, &gradient_err), &gradient_err);
}

/* What is stacked after no pass at all has this type. */
static void declare(tfr_graph *graph, uint32_t i, int32_t rank)
{
    tfr_value_type type = {
        .size = sizeof type, .dtype = TFR_DTYPE_F64, .rank_known = 1, .rank = rank};
    for (int32_t k = 0; k < rank; k++)
        type.dims[k] = -1;
    REQUIRE_OK(tfr_graph_declare_output(graph, i, &type, &gradient_err), &gradient_err);
}

static tfr_value op(tfr_graph *graph, const char *name, tfr_value a, tfr_value b)
{
    return gradient_op(graph, name, a, b, -1);
}

static void control(tfr_graph *graph, const char *name, const tfr_value *in, uint32_t n,
                    const tfr_attr *attrs, uint32_t n_attrs, const tfr_subgraph *graphs,
                    tfr_value *out, uint32_t n_out)
{
    tfr_node_desc node = {.size = sizeof node,
                          .op = name,
                          .name = name,
                          .inputs = in,
                          .n_inputs = n,
                          .n_outputs = n_out,
                          .attrs = attrs,
                          .n_attrs = n_attrs,
                          .subgraphs = graphs,
                          .n_subgraphs = graphs[1].graph ? 2 : 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, out, &gradient_err), &gradient_err);
}

static tfr_value positive(tfr_graph *graph, tfr_value v)
{
    const tfr_attr flat[] = {TFR_SET_INT("keepdims", 0)};
    v = gradient_add(graph, "ReduceSum", &v, 1, flat, 1, &v, 1);
    return op(graph, "Greater", v, gradient_scalar(graph, 0));
}

/* ---- If -------------------------------------------------------------------------------------- */

/* then: a b, a; else: sin(a), 2 */
static void choose(tfr_graph *graph, tfr_value condition, tfr_value a, tfr_value b, tfr_value *out)
{
    tfr_graph *then = child(graph), *otherwise = child(graph);
    output(then, op(then, "Mul", capture(then, a), capture(then, b)));
    output(then, capture(then, a));
    output(otherwise, op(otherwise, "Sin", capture(otherwise, a), -1));
    output(otherwise, gradient_scalar(otherwise, 2));
    control(graph, "If", &condition, 1, NULL, 0,
            (tfr_subgraph[]){{"then_branch", then}, {"else_branch", otherwise}}, out, 2);
}

static void choose_then(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    choose(graph, in[2], in[0], in[1], out);
}

static void choose_else(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    choose(graph, op(graph, "Not", in[2], -1), in[0], in[1], out);
}

static void choose_by_value(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    choose(graph, positive(graph, in[1]), in[0], in[1], out);
}

/* An If inside of an If, both capturing the same. */
static void choose_twice(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    tfr_graph *then = child(graph), *otherwise = child(graph);
    tfr_value inner[2], a = capture(then, in[0]), b = capture(then, in[1]);
    choose(then, positive(then, b), op(then, "Exp", a, -1), b, inner);
    output(then, op(then, "Mul", inner[0], a));
    output(otherwise, capture(otherwise, in[1]));
    control(graph, "If", &in[2], 1, NULL, 0,
            (tfr_subgraph[]){{"then_branch", then}, {"else_branch", otherwise}}, out, 1);
}

TEST(branches_that_run_get_gradients)
{
    static const gradient_case c[] = {
        {"If", "f2,3 f3 t", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = choose_then},
        {"If", "f2,3 f3 t", "", .flags = SECOND, .n_outputs = 2, .outputs = 2,
         .build = choose_then},
        {"If", "f2,3 f3 t", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = choose_else},
        {"If", "f2,3 f3 t", "", .flags = 0, .n_outputs = 2, .outputs = 2, .build = choose_else},
        {"If", "f2,3 f3", "", .flags = SECOND, .low = 0.1, .high = 2, .n_outputs = 2, .outputs = 3,
         .build = choose_by_value},
        {"If", "f0,3 f3 t", "", .flags = 0, .n_outputs = 2, .outputs = 3, .build = choose_then},
        {"If", "f f t", "", .flags = SECOND, .n_outputs = 2, .outputs = 1, .build = choose_then},
        {"If", "f2,3 0 t", "", .flags = SECOND, .n_outputs = 2, .outputs = 3, .build = choose_then},
        {"If in If", "f2,3 f3 t", "", .flags = SECOND, .low = 0.1, .high = 2,
         .build = choose_twice},
    };
    CHECK_GRADIENTS(c);
}

/* ---- Scan ------------------------------------------------------------------------------------ */

/* h = tanh(h u + x), n = n + 1; gives h, n, all n h. in: h, xs, u */
static void recur(tfr_graph *graph, const tfr_value *in, tfr_value *out, int64_t axis,
                  int64_t direction)
{
    const tfr_attr attrs[] = {
        TFR_SET_INT("num_scan_inputs", 1), TFR_SET_INTS("scan_input_axes", axis),
        TFR_SET_INTS("scan_input_directions", direction), TFR_SET_INTS("scan_output_axes", axis),
        TFR_SET_INTS("scan_output_directions", !direction)};
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    tfr_graph *body = child(graph);
    tfr_value h = input(body), n = input(body), x = input(body), one, number;
    one = gradient_scalar(body, 1);
    gradient_add(body, "Cast", &one, 1, to, 1, &one, 1);
    h = op(body, "Tanh", op(body, "Add", op(body, "MatMul", h, capture(body, in[2])), x), -1);
    n = op(body, "Add", n, one);
    output(body, h);
    output(body, n);
    number = op(body, "CastLike", n, h);
    output(body, op(body, "Mul", number, h));
    declare(body, 2, 2);
    one = gradient_scalar(graph, 1);
    gradient_add(graph, "Cast", &one, 1, to, 1, &one, 1);
    control(graph, "Scan", (tfr_value[]){in[0], one, in[1]}, 3, attrs, 5,
            (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, out, 3);
}

static void recur_forwards(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    recur(graph, in, out, 0, 0);
}

static void recur_backwards(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    recur(graph, in, out, 1, 1);
}

/* No state: each x x c. in: xs, c */
static void map(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1)};
    tfr_graph *body = child(graph);
    tfr_value x = input(body);
    output(body, op(body, "Mul", op(body, "Mul", x, x), capture(body, in[1])));
    declare(body, 0, 1);
    control(graph, "Scan", in, 1, attrs, 1, (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, out, 1);
}

/* State that is exchanged, one of which nothing depends on at first; an input is captured, too.
 * a, b = b x, a + sin(x) + sum of xs[0]; in: a, b, xs, 0 */
static void exchange(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1)};
    tfr_graph *body = child(graph);
    tfr_value a = input(body), b = input(body), x = input(body), all;
    output(body, op(body, "Mul", b, x));
    all = gradient_op(body, "ReduceSum", capture(body, in[2]), -1, -1);
    all = op(body, "Squeeze", all, -1);
    output(body, op(body, "Add", op(body, "Add", a, op(body, "Sin", x, -1)), all));
    control(graph, "Scan", in, 3, attrs, 1, (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, out, 2);
}

/* A Scan over the rows of each slice, with an If that captures from outermost. in: xs, c */
static void nest(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1)};
    tfr_graph *body = child(graph), *inner = child(body);
    tfr_value x = input(body), c = capture(body, in[1]), start, found[2], s, row, chosen[2];
    start = gradient_scalar(body, 1);
    s = input(inner);
    row = input(inner);
    choose(inner, positive(inner, row), row, capture(inner, c), chosen);
    s = op(inner, "Mul", s, op(inner, "Add", gradient_scalar(inner, 1.5), chosen[0]));
    output(inner, s);
    output(inner, op(inner, "Mul", s, row));
    declare(inner, 1, 0);
    control(body, "Scan", (tfr_value[]){start, x}, 2, attrs, 1,
            (tfr_subgraph[]){{"body", inner}, {NULL, NULL}}, found, 2);
    output(body, op(body, "Add", found[0], found[1]));
    declare(body, 0, 1);
    control(graph, "Scan", in, 1, attrs, 1, (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, out, 1);
}

TEST(scans_are_walked_backwards)
{
    static const gradient_case c[] = {
        {"Scan", "f1,2 f4,1,2 f2,2", "", .flags = SECOND, .n_outputs = 3, .outputs = 5,
         .build = recur_forwards},
        {"Scan", "f1,2 f4,1,2 f2,2", "", .flags = 0, .n_outputs = 3, .outputs = 1,
         .build = recur_forwards},
        {"Scan", "f1,2 f4,1,2 f2,2", "", .flags = 0, .n_outputs = 3, .outputs = 4,
         .build = recur_forwards},
        {"Scan", "f1,2 f1,3,2 f2,2", "", .flags = SECOND, .n_outputs = 3, .outputs = 5,
         .build = recur_backwards},
        {"Scan", "f1,2 f0,1,2 f2,2", "", .flags = 0, .n_outputs = 3, .outputs = 5,
         .build = recur_forwards},
        {"Scan", "f1,2 f1,0,2 f2,2", "", .flags = 0, .n_outputs = 3, .outputs = 5,
         .build = recur_backwards},
        {"Scan", "f3,2 f2", "", .flags = SECOND, .build = map},
        {"Scan", "f0,2 f2", "", .flags = 0, .outputs = 1, .build = map},
        {"Scan", "f f f3", "", .flags = SECOND, .n_outputs = 2, .outputs = 3, .build = exchange},
        {"Scan", "f f f3", "", .flags = 0, .n_outputs = 2, .outputs = 2, .build = exchange},
        {"Scan", "f2 0 f3", "", .flags = SECOND, .n_outputs = 2, .outputs = 1, .build = exchange},
        {"Scan in Scan", "f2,3 f", "", .flags = SECOND, .build = nest},
    };
    CHECK_GRADIENTS(c);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* x = c sin(x) + i; gives x and all sin(x). Goes on while the sum of x is below limit. in: x, c,
 * trips */
static void iterate(tfr_graph *graph, const tfr_value *in, tfr_value *out, double limit)
{
    tfr_graph *body = child(graph);
    tfr_value i = input(body), go = input(body), x = input(body), s, yes;
    (void)go;
    s = op(body, "Sin", x, -1);
    x = op(body, "Mul", s, capture(body, in[1]));
    x = op(body, "Add", x, op(body, "CastLike", i, x));
    yes = op(body, "Not", positive(body, op(body, "Sub", x, gradient_scalar(body, limit))), -1);
    output(body, yes);
    output(body, x);
    output(body, s);
    declare(body, 2, 1);
    control(graph, "Loop", (tfr_value[]){in[2], TFR_VALUE_NONE, in[0]}, 3, NULL, 0,
            (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, out, 2);
}

static void iterate_to_the_end(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    iterate(graph, in, out, 1e9);
}

static void iterate_at_first(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    iterate(graph, in, out, 1);
}

/* The state is also captured, and a loop's result is the next one's beginning. in: x, trips */
static void iterate_twice(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    tfr_value first[2];
    iterate_to_the_end(graph, (tfr_value[]){in[0], in[0], in[1]}, first);
    iterate_to_the_end(graph, (tfr_value[]){first[0], in[0], in[1]}, out);
}

TEST(loops_are_walked_backwards)
{
    static const gradient_case c[] = {
        {"Loop", "f3 f3 s4", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = iterate_to_the_end},
        {"Loop", "f3 f s3", "", .flags = 0, .n_outputs = 2, .outputs = 1,
         .build = iterate_to_the_end},
        {"Loop", "f3 f3 s3", "", .flags = 0, .n_outputs = 2, .outputs = 2,
         .build = iterate_to_the_end},
        {"Loop", "f3 f3 s0", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = iterate_to_the_end},
        {"Loop", "f f -", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = iterate_at_first},
        {"Loop", "f3 s3", "", .flags = SECOND, .n_outputs = 2, .outputs = 3,
         .build = iterate_twice},
        {"Loop", "f0 f0 s2", "", .flags = 0, .n_outputs = 2, .outputs = 3,
         .build = iterate_to_the_end},
    };
    CHECK_GRADIENTS(c);
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(random_numbers_inside_are_refused)
{
    tfr_graph *graph = NULL, *body;
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1)};
    tfr_value x, s, y = TFR_VALUE_NONE, g;
    REQUIRE_OK(tfr_graph_create("f", &graph, &gradient_err), &gradient_err);
    x = input(graph);
    body = child(graph);
    s = input(body);
    output(body, op(body, "Mul", s, op(body, "RandomNormalLike", s, -1)));
    control(graph, "Scan", &x, 1, attrs, 1, (tfr_subgraph[]){{"body", body}, {NULL, NULL}}, &y, 1);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &g, &gradient_err),
                 &gradient_err);
    CHECK_CONTAINS("(Scan) cannot be differentiated: there is a RandomNormalLike inside",
                   gradient_err.text);
    tfr_graph_release(graph);
}

TEST(an_op_without_a_rule_inside_is_named)
{
    tfr_graph *graph = NULL, *then, *otherwise;
    tfr_value x, y = TFR_VALUE_NONE, g, condition;
    REQUIRE_OK(tfr_graph_create("f", &graph, &gradient_err), &gradient_err);
    x = input(graph);
    condition = input(graph);
    then = child(graph);
    otherwise = child(graph);
    output(then, op(then, "BitCast", capture(then, x), -1));
    output(otherwise, capture(otherwise, x));
    control(graph, "If", &condition, 1, NULL, 0,
            (tfr_subgraph[]){{"then_branch", then}, {"else_branch", otherwise}}, &y, 1);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &g, &gradient_err),
                 &gradient_err);
    CHECK_CONTAINS("(BitCast) cannot be differentiated", gradient_err.text);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(branches_that_run_get_gradients),      CASE(scans_are_walked_backwards),
    CASE(loops_are_walked_backwards),           CASE(random_numbers_inside_are_refused),
    CASE(an_op_without_a_rule_inside_is_named),
};
TEST_MAIN_OF_ONE_THREAD(cases)

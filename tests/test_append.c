/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs that are written behind inputs (tfr_session_append): the same bits as without, nothing of
 * the past copied or changed, and a new tensor wherever that cannot be.
 */
#include <math.h>

#include "graph_text.h"
#include "session_kit.h"

enum { HEADS = 3, DEPTH = 8, MOST = 40 };

static int64_t batch = 1;

typedef struct decoder {
    tfr_runtime *runtime;
    tfr_graph *graph;
    tfr_session *session;
} decoder;

static tfr_value input(tfr_graph *graph, const char *name)
{
    tfr_value v;
    REQUIRE_OK(tfr_graph_add_input(graph, name, NULL, &v, &err), &err);
    return v;
}

static tfr_value node(tfr_graph *graph, const char *op, const tfr_value *in, uint32_t n,
                      const tfr_attr *attr)
{
    tfr_value out;
    const tfr_node_desc desc = {.size = sizeof desc,
                                .op = op,
                                .inputs = in,
                                .n_inputs = n,
                                .n_outputs = 1,
                                .attrs = attr,
                                .n_attrs = attr != NULL};
    REQUIRE_OK(tfr_graph_add_node(graph, &desc, &out, &err), &err);
    return out;
}

/* Inputs q, k, v, past keys, past values; outputs the attention, and both present ones. */
static tfr_graph *by_concat(void)
{
    const tfr_attr axis = TFR_SET_INT("axis", 2), perm = TFR_SET_INTS("perm", 0, 1, 3, 2);
    tfr_graph *g = NULL;
    tfr_value in[5], pair[2], keys, values, scores;
    REQUIRE_OK(tfr_graph_create("decoder", &g, &err), &err);
    in[0] = input(g, "q");
    in[1] = input(g, "k");
    in[2] = input(g, "v");
    in[3] = input(g, "past_k");
    in[4] = input(g, "past_v");
    keys = node(g, "Concat", (tfr_value[]){in[3], in[1]}, 2, &axis);
    values = node(g, "Concat", (tfr_value[]){in[4], in[2]}, 2, &axis);
    pair[0] = in[0];
    pair[1] = node(g, "Transpose", &keys, 1, &perm);
    scores = node(g, "MatMul", pair, 2, NULL);
    pair[0] = node(g, "Softmax", &scores, 1, NULL);
    pair[1] = values;
    output(g, node(g, "MatMul", pair, 2, NULL));
    output(g, keys);
    output(g, values);
    return g;
}

static tfr_graph *by_attention(void)
{
    tfr_graph *g = NULL;
    tfr_value in[6], out[3];
    const tfr_node_desc desc = {
        .size = sizeof desc, .op = "Attention", .inputs = in, .n_inputs = 6, .n_outputs = 3};
    REQUIRE_OK(tfr_graph_create("decoder", &g, &err), &err);
    in[0] = input(g, "q");
    in[1] = input(g, "k");
    in[2] = input(g, "v");
    in[3] = TFR_VALUE_NONE;
    in[4] = input(g, "past_k");
    in[5] = input(g, "past_v");
    REQUIRE_OK(tfr_graph_add_node(g, &desc, out, &err), &err);
    for (int i = 0; i < 3; i++)
        output(g, out[i]);
    return g;
}

/* As torch.onnx writes it: heads of keys repeated, both sides scaled, the softmax guarded. */
static tfr_graph *by_export(void)
{
    return graph_of_text("in q ? 3 1 8; in k ? 3 1 8; in v ? 3 1 8; in p ? 3 ? 8; in r ? 3 ? 8;"
                         "c = Concat{axis=-2}(p,k); d = Concat{axis=-2}(r,v);"
                         "e = Reshape(Expand(Unsqueeze(c,[2]),[1,3,2,1,8]),[0,6,-1,8]);"
                         "f = Reshape(Expand(Unsqueeze(d,[2]),[1,3,2,1,8]),[0,6,-1,8]);"
                         "t = Mul(Transpose{perm=0,1,3,2}(e),0.5);"
                         "s = Softmax(MatMul(Mul(Concat{axis=1}(q,Neg(q)),0.5),t));"
                         "out MatMul(Where(IsNaN(s),0.0,s),f); out c; out d");
}

/* Whether the native backend is there. */
static bool is_native_there(void)
{
    tfr_runtime *runtime = new_runtime();
    uint32_t device;
    int32_t backend;
    const bool there = tfr_runtime_find(runtime, "native:0", &device, &backend, NULL) == TFR_OK;
    tfr_runtime_release(runtime);
    return there;
}

#define NEED_NATIVE()                                                                              \
    do {                                                                                           \
        if (!is_native_there())                                                                    \
            SKIP("there is no native backend");                                                    \
    } while (0)

static decoder start(tfr_graph *graph, const char *device, bool append)
{
    decoder d = {.runtime = new_runtime(), .graph = graph};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    options.device = device;
    REQUIRE_OK(tfr_session_create(d.runtime, graph, &options, &d.session, &err), &err);
    for (uint32_t i = 1; append && i < 3; i++)
        REQUIRE_OK(tfr_session_append(d.session, i, i + 2, &err), &err);
    return d;
}

static void stop(decoder *d)
{
    tfr_session_destroy(d->session);
    tfr_graph_release(d->graph);
    tfr_runtime_release(d->runtime);
}

static tfr_tensor *rows(int64_t n, float seed)
{
    const int64_t dims[] = {batch, HEADS, n, DEPTH};
    tfr_tensor *t = floats(4, dims, NULL);
    float *data = tfr_tensor_data(t);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        data[i] = sinf(seed + (float)i);
    return t;
}

/* The first n rows of memory for MOST. */
static tfr_tensor *roomy(int64_t n, float seed)
{
    tfr_tensor *all = rows(MOST, seed), *view = NULL;
    const tfr_shape shape = {4, {batch, HEADS, n, DEPTH}};
    REQUIRE_OK(tfr_tensor_view(all, 0, &shape, tfr_tensor_strides(all), &view, &err), &err);
    tfr_tensor_release(all);
    return view;
}

static tfr_tensor *plain(const tfr_tensor *t)
{
    tfr_tensor *copy = NULL;
    REQUIRE_OK(tfr_tensor_copy(t, &copy, &err), &err);
    return copy;
}

static bool same_bits(const tfr_tensor *a, const tfr_tensor *b)
{
    tfr_tensor *x = plain(a), *y = plain(b);
    const bool same = tfr_shape_equal(tfr_tensor_shape(x), tfr_tensor_shape(y)) &&
                      memcmp(tfr_tensor_data(x), tfr_tensor_data(y), tfr_tensor_bytes(x)) == 0;
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    return same;
}

static void release(tfr_tensor **t, int n)
{
    for (int i = 0; i < n; i++)
        tfr_tensor_release(t[i]);
}

/* Tokens, whose present is the next past, with room and without. *n_appended of `n` tokens. */
static void decode(tfr_graph *(*make)(void), const char *device, int64_t past, int n,
                   int *n_appended)
{
    decoder a = start(make(), device, true), b = start(make(), device, false);
    tfr_tensor *in[5], *other[5], *out[3], *expected[3];
    *n_appended = 0;
    for (int i = 3; i < 5; i++) {
        in[i] = roomy(past, (float)i);
        other[i] = plain(in[i]);
    }
    for (int token = 0; token < n; token++) {
        for (int i = 0; i < 3; i++)
            in[i] = other[i] = rows(1, (float)(10 * token + i));
        REQUIRE_OK(tfr_session_run(a.session, in, 5, out, 3, &err), &err);
        REQUIRE_OK(tfr_session_run(b.session, other, 5, expected, 3, &err), &err);
        for (int i = 0; i < 3; i++)
            CHECK(same_bits(out[i], expected[i]));
        *n_appended += tfr_tensor_data(out[1]) == tfr_tensor_data(in[3]) &&
                       tfr_tensor_data(out[2]) == tfr_tensor_data(in[4]) &&
                       stats_of(a.session).n_reorders == 0;
        release(in, 5);
        release(&other[3], 2);
        tfr_tensor_release(out[0]);
        tfr_tensor_release(expected[0]);
        for (int i = 3; i < 5; i++) {
            in[i] = out[i - 2];
            other[i] = expected[i - 2];
        }
    }
    release(&in[3], 2);
    release(&other[3], 2);
    stop(&a);
    stop(&b);
}

TEST(keys_and_values_of_concat_are_appended_with_the_same_bits)
{
    int n;
    NEED_NATIVE();
    decode(by_concat, "native:0", 20, 12, &n);
    CHECK_INT(12, n);
}

TEST(so_are_those_of_the_op_attention)
{
    int n;
    NEED_NATIVE();
    decode(by_attention, "native:0", 20, 12, &n);
    CHECK_INT(12, n);
}

TEST(so_are_those_of_heads_that_an_export_repeats)
{
    int n;
    NEED_NATIVE();
    decode(by_export, "native:0", 5, 6, &n);
    CHECK_INT(6, n);
}

TEST(each_sample_of_a_batch_is_appended_to)
{
    int n;
    NEED_NATIVE();
    batch = 3;
    decode(by_export, "native:0", 5, 6, &n);
    CHECK_INT(6, n);
    decode(by_attention, "native:0", 5, 6, &n);
    CHECK_INT(6, n);
    batch = 1;
}

TEST(one_row_is_enough_of_a_past)
{
    int n;
    NEED_NATIVE();
    decode(by_concat, "native:0", 1, 3, &n);
    CHECK_INT(3, n);
}

TEST(without_room_they_are_made_anew)
{
    int n;
    NEED_NATIVE();
    decode(by_concat, "native:0", MOST - 2, 6, &n);
    CHECK_INT(2, n);
}

TEST(a_plan_that_is_renewed_appends_until_the_room_ends)
{
    int n;
    NEED_NATIVE();
    decode(by_concat, "native:0", MOST - 14, 20, &n);
    CHECK_INT(14, n);
}

TEST(the_reference_copies_and_makes_the_same)
{
    int n;
    decode(by_concat, "naive:0", 20, 3, &n);
    CHECK_INT(0, n);
}

/* One run with these five inputs; how many of the outputs lie where an input does. */
static int appended_by(decoder *d, tfr_tensor *const *in)
{
    tfr_tensor *out[3];
    int n;
    REQUIRE_OK(tfr_session_run(d->session, in, 5, out, 3, &err), &err);
    n = (tfr_tensor_data(out[1]) == tfr_tensor_data(in[3])) +
        (tfr_tensor_data(out[2]) == tfr_tensor_data(in[4]));
    release(out, 3);
    return n;
}

TEST(the_past_is_not_written)
{
    NEED_NATIVE();
    decoder d = start(by_concat(), "native:0", true);
    tfr_tensor *in[5] = {rows(1, 1), rows(1, 2), rows(1, 3), roomy(9, 4), roomy(9, 5)};
    tfr_tensor *before[2] = {plain(in[3]), plain(in[4])};
    CHECK_INT(2, appended_by(&d, in));
    CHECK(same_bits(before[0], in[3]));
    CHECK(same_bits(before[1], in[4]));
    release(in, 5);
    release(before, 2);
    stop(&d);
}

TEST(a_run_that_fails_leaves_the_past_as_it_was)
{
    NEED_NATIVE();
    decoder d = start(by_concat(), "native:0", true);
    tfr_tensor *in[5] = {rows(1, 1), rows(1, 2), rows(2, 3), roomy(9, 4), roomy(9, 5)}, *out[3];
    tfr_tensor *before[2] = {plain(in[3]), plain(in[4])};
    CHECK_INT(TFR_ESHAPE, tfr_session_run(d.session, in, 5, out, 3, &err));
    CHECK(same_bits(before[0], in[3]));
    CHECK(same_bits(before[1], in[4]));
    tfr_tensor_release(in[2]);
    in[2] = rows(1, 3);
    CHECK_INT(2, appended_by(&d, in)); /* and it can go on from there */
    release(in, 5);
    release(before, 2);
    stop(&d);
}

TEST(inputs_that_share_their_room_are_not_appended_to)
{
    NEED_NATIVE();
    decoder d = start(by_concat(), "native:0", true);
    tfr_tensor *in[5] = {rows(1, 1), rows(1, 2), rows(1, 3), roomy(9, 4), NULL};
    in[4] = tfr_tensor_retain(in[3]);
    CHECK_INT(0, appended_by(&d, in));
    release(in, 5);
    stop(&d);
}

TEST(nor_are_those_whose_memory_ends)
{
    NEED_NATIVE();
    decoder d = start(by_concat(), "native:0", true);
    tfr_tensor *in[5] = {rows(1, 1), rows(1, 2), rows(1, 3), roomy(9, 4), roomy(9, 5)};
    tfr_tensor *wrapped = NULL;
    CHECK_INT(2, appended_by(&d, in)); /* the plan is there */
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, tfr_tensor_shape(in[3]), tfr_tensor_strides(in[3]),
                               tfr_tensor_data(in[3]), NULL, NULL, &wrapped, &err),
               &err);
    tfr_tensor *ends[5] = {in[0], in[1], in[2], wrapped, in[4]};
    CHECK_INT(1, appended_by(&d, ends));
    tfr_tensor_release(wrapped);
    release(in, 5);
    stop(&d);
}

/* Two layers that are alike, so that the second has the program of the first. */
static tfr_graph *two_layers(void)
{
    return graph_of_text(
        "in q 1 3 1 8; in p 1 3 ? 8; in r 1 3 ? 8; const w 8 8; c = Concat{axis=2}(p,MatMul(q,w));"
        "a = MatMul(Softmax(MatMul(q,Transpose{perm=0,1,3,2}(c))),c); y = Relu(MatMul(a,w));"
        "d = Concat{axis=2}(r,MatMul(y,w));"
        "b = MatMul(Softmax(MatMul(y,Transpose{perm=0,1,3,2}(d))),d);"
        "out Relu(MatMul(b,w)); out c; out d");
}

/* The same memory, which ends with the last row. */
static tfr_tensor *without_room(const tfr_tensor *t)
{
    tfr_tensor *wrapped = NULL;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, tfr_tensor_shape(t), tfr_tensor_strides(t),
                               tfr_tensor_data(t), NULL, NULL, &wrapped, &err),
               &err);
    return wrapped;
}

/* Plans are renewed by then, and programs of lengths to come are there, which append. */
static void decode_until_room_ends(int64_t last, uint32_t layer)
{
    decoder a = {.runtime = new_runtime(), .graph = two_layers()}, b = a;
    tfr_tensor *in[3], *other[3], *out[3], *expected[3];
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    options.device = "native:0";
    REQUIRE_OK(tfr_session_create(a.runtime, a.graph, &options, &a.session, &err), &err);
    REQUIRE_OK(tfr_session_create(a.runtime, a.graph, &options, &b.session, &err), &err);
    for (uint32_t i = 1; i < 3; i++)
        REQUIRE_OK(tfr_session_append(a.session, i, i, &err), &err);
    in[1] = roomy(10, 1);
    in[2] = roomy(10, 2);
    for (int64_t n = 10; n <= last + 2; n++) {
        in[0] = rows(1, (float)n);
        for (int i = 0; i < 3; i++)
            other[i] = plain(in[i]);
        if (n == last) {
            tfr_tensor *ends = without_room(in[layer]);
            REQUIRE_OK(tfr_session_run(a.session,
                                       (tfr_tensor *[]){in[0], layer == 1 ? ends : in[1],
                                                        layer == 2 ? ends : in[2]},
                                       3, out, 3, &err),
                       &err);
            CHECK(tfr_tensor_data(out[layer]) != tfr_tensor_data(ends));
            tfr_tensor_release(ends);
        } else {
            REQUIRE_OK(tfr_session_run(a.session, in, 3, out, 3, &err), &err);
            CHECK(n > last || tfr_tensor_data(out[1]) == tfr_tensor_data(in[1]));
            CHECK(n > last || tfr_tensor_data(out[2]) == tfr_tensor_data(in[2]));
        }
        REQUIRE_OK(tfr_session_run(b.session, other, 3, expected, 3, &err), &err);
        for (int i = 0; i < 3; i++)
            CHECK(same_bits(out[i], expected[i]));
        release(in, 3);
        release(other, 3);
        release(expected, 3);
        tfr_tensor_release(out[0]);
        in[1] = out[1];
        in[2] = out[2];
    }
    release(&in[1], 2);
    tfr_session_destroy(a.session);
    stop(&b);
}

TEST(a_program_that_appends_is_not_given_a_past_without_room)
{
    NEED_NATIVE();
    for (int64_t last = 18; last < 36; last++)
        for (uint32_t layer = 1; layer < 3; layer++)
            decode_until_room_ends(last, layer);
}

TEST(an_output_has_one_input)
{
    NEED_NATIVE();
    decoder d = start(by_concat(), "native:0", true);
    CHECK_INT(TFR_EINVAL, tfr_session_append(d.session, 1, 4, &err));
    CHECK_INT(TFR_EINVAL, tfr_session_append(d.session, 0, 3, &err));
    CHECK_INT(TFR_EINVAL, tfr_session_append(d.session, 3, 0, &err));
    CHECK_INT(TFR_EINVAL, tfr_session_append(d.session, 0, 5, &err));
    CHECK_OK(tfr_session_append(d.session, 1, 3, &err), &err);
    stop(&d);
}

static const test_case cases[] = {
    CASE(keys_and_values_of_concat_are_appended_with_the_same_bits),
    CASE(so_are_those_of_the_op_attention),
    CASE(so_are_those_of_heads_that_an_export_repeats),
    CASE(each_sample_of_a_batch_is_appended_to),
    CASE(one_row_is_enough_of_a_past),
    CASE(without_room_they_are_made_anew),
    CASE(a_plan_that_is_renewed_appends_until_the_room_ends),
    CASE(the_reference_copies_and_makes_the_same),
    CASE(the_past_is_not_written),
    CASE(a_run_that_fails_leaves_the_past_as_it_was),
    CASE(inputs_that_share_their_room_are_not_appended_to),
    CASE(nor_are_those_whose_memory_ends),
    CASE(a_program_that_appends_is_not_given_a_past_without_room),
    CASE(an_output_has_one_input),
};
TEST_MAIN(cases)

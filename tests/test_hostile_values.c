/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values at run time that no index, length or size should be end in a sentence or a defined result.
 * Run it in a sanitizer build, too: nothing here may be undefined.
 */
#include "graph_text.h"

static tfr_err err = TFR_ERR_INIT;

/* Runs a graph of one input on naive for one of its outputs; *out is NULL after an error. */
static tfr_status run_output(tfr_graph *graph, uint32_t output, tfr_tensor **out)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_tensor *in = random_input(graph, 0, 1, 5, 0, 1), *outputs[2] = {NULL, NULL};
    tfr_status status;
    options.device = "naive:0";
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    status = tfr_session_create(runtime, graph, &options, &session, &err);
    if (!status)
        status = tfr_session_run(session, &in, 1, outputs, output + 1, &err);
    *out = outputs[output];
    if (output > 0)
        tfr_tensor_release(outputs[0]);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    tfr_tensor_release(in);
    return status;
}

static tfr_status run_text(const char *text, tfr_tensor **out)
{
    tfr_graph *graph = graph_of_text(text);
    tfr_status status = run_output(graph, 0, out);
    tfr_graph_release(graph);
    return status;
}

static void check_refused(tfr_status expected, const char *sentence, const char *text)
{
    tfr_tensor *out;
    CHECK_STATUS(expected, run_text(text, &out), &err);
    CHECK_CONTAINS(sentence, err.text);
    tfr_tensor_release(out);
}

/* Two elements of x and two that are no numbers. */
#define NAN_EXTENTS                                                                                \
    "in x 1 2; n = Div(Mul(x,0),Mul(x,0)); const i 1 1 1 3; r = Concat{axis=1}(x,n);"

TEST(regions_of_no_finite_size_are_refused)
{
    check_refused(TFR_EINVAL, "region 0 is not finite",
                  NAN_EXTENTS "out RoiAlign{sampling_ratio=1}(i,r,[0])");
    check_refused(TFR_EINVAL, "region 0 is not finite", NAN_EXTENTS "out RoiAlign(i,r,[0])");
    check_refused(TFR_EINVAL, "region 0 is not finite",
                  NAN_EXTENTS "z = Unsqueeze(Cast{to=1}([0]),[0]);"
                              "out MaxRoiPool{pooled_shape=1,1}(i,Concat{axis=1}(z,r))");
}

TEST(a_region_that_runs_backwards_far_away_has_no_points)
{
    tfr_tensor *out;
    REQUIRE_OK(run_text("in x 1 1; const i 1 1 2 3; f = Mul(x,-1e30);"
                        "out RoiAlign(i,Concat{axis=1}(x,x,f,f),[0])",
                        &out),
               &err);
    CHECK(((float *)tfr_tensor_data(out))[0] == 0);
    tfr_tensor_release(out);
}

TEST(key_lengths_outside_of_the_keys_are_refused)
{
    check_refused(TFR_EINVAL, "key length -9223372036854775808 of batch 0 is outside [0, 3]",
                  "in x 1 1 2 4; const k 1 1 3 4; out "
                  "Attention{left_window_size=2}(x,k,k,-,-,-,[-9223372036854775808])");
    check_refused(TFR_EINVAL, "key length 4 of batch 0 is outside [0, 3]",
                  "in x 1 1 2 4; const k 1 1 3 4; out Attention(x,k,k,-,-,-,[4])");
}

TEST(grams_skip_no_more_than_a_row_has)
{
    const tfr_attr attrs[] = {
        TFR_SET_STRING("mode", "TF"),        TFR_SET_INT("min_gram_length", 2),
        TFR_SET_INT("max_gram_length", 2),   TFR_SET_INT("max_skip_count", INT64_MAX),
        TFR_SET_INTS("ngram_counts", 0, 1),  TFR_SET_INTS("ngram_indexes", 0, 1),
        TFR_SET_INTS("pool_int64s", 1, 0, 0)};
    tfr_graph *graph = graph_of_text("in x 4; out Cast{to=7}(Mul(x,0))");
    tfr_value x = tfr_graph_output(graph, 0), y = TFR_VALUE_NONE;
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "TfIdfVectorizer",
                                .inputs = &x,
                                .n_inputs = 1,
                                .n_outputs = 1,
                                .attrs = attrs,
                                .n_attrs = sizeof attrs / sizeof attrs[0]};
    tfr_tensor *out;
    const float *count;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, y, "counts", &err), &err);
    REQUIRE_OK(run_output(graph, 1, &out), &err);
    count = tfr_tensor_data(out);
    CHECK(count[0] == 0 && count[1] == 3 + 2 + 1); /* neighbours, and over one and two others */
    tfr_tensor_release(out);
    tfr_graph_release(graph);
}

TEST(axes_beyond_the_rank_are_refused_in_ops_that_are_taken_apart)
{
    tfr_tensor *out;
    CHECK(run_text("in x 2 3; const w 5; out RMSNormalization{axis=3}(x,w)", &out) != TFR_OK);
    tfr_tensor_release(out);
}

TEST(dims_that_add_up_to_more_than_64_bits_are_refused_or_unknown)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_graph *graph = graph_of_text(
        "in a 4611686018427387904; in b 4611686018427387904; out Relu(Concat{axis=0}(a,b))");
    tfr_status status;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    status = tfr_session_create(runtime, graph, &options, &session, &err);
    CHECK(status == TFR_OK || err.text[0]);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(regions_of_no_finite_size_are_refused),
    CASE(a_region_that_runs_backwards_far_away_has_no_points),
    CASE(key_lengths_outside_of_the_keys_are_refused),
    CASE(grams_skip_no_more_than_a_row_has),
    CASE(dims_that_add_up_to_more_than_64_bits_are_refused_or_unknown),
    CASE(axes_beyond_the_rank_are_refused_in_ops_that_are_taken_apart),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are wrong: each gets one sentence that names what, where and the numbers. */
#include <stdlib.h>
#include <tfrun/onnx.h>

#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static const int64_t two[1] = {2};

static pb start(void)
{
    pb g = {.n = 0};
    pb_text(&g, 2, "g");
    add_value(&g, 11, "a", TFR_DTYPE_F32, 1, two);
    return g;
}

static void refuse(const pb *graph, int opset, const char *text)
{
    pb m = model(graph, opset);
    tfr_graph *out = NULL;
    REQUIRE(!m.full);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &out, &err), &err);
    CHECK_INT(TFR_EMODEL, err.code);
    CHECK_CONTAINS(text, err.text);
}

TEST(files_that_are_no_model_are_named_for_what_they_are)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } rows[] = {
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "not an ONNX model but a PNG image"},
        {"hello, world\n", 13, "not an ONNX model but text"},
        {"PK\3\4................", 20, "not an ONNX model but a zip archive"},
        {"\x7f"
         "ELF\2\1\1\0",
         8, "not an ONNX model but an ELF file"},
        {"", 0, "not an ONNX model but an empty file"},
        {"GGUF\3\0\0\0", 8, "not an ONNX model but a GGUF file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfr_graph *graph;
        temp_write("m.onnx", rows[i].bytes, rows[i].n);
        CHECK_STATUS(TFR_EMODEL, tfr_onnx_load(temp_path("m.onnx"), &graph, &err), &err);
        CHECK_CONTAINS(rows[i].text, err.text);
        CHECK_CONTAINS("m.onnx: ", err.text);
    }
    temp_drop("m.onnx");
}

TEST(a_path_that_is_not_there_or_no_file_is_an_io_error)
{
    tfr_graph *graph;
    CHECK_STATUS(TFR_EIO, tfr_onnx_load("/nonexistent/m.onnx", &graph, &err), &err);
    CHECK_CONTAINS("/nonexistent/m.onnx: cannot open it: No such file", err.text);
    CHECK_STATUS(TFR_EIO, tfr_onnx_load("/tmp", &graph, &err), &err);
    CHECK_CONTAINS("it is a folder", err.text);
}

TEST(an_unknown_op_is_named_with_domain_and_version)
{
    pb g = start();
    add_node(&g, node("Frobnicate", "a", "c"));
    refuse(&g, 17, "node 0 (Frobnicate): op \"Frobnicate\" of domain \"\" (opset 17) is not known");
}

TEST(all_unknown_ops_are_told_at_once_with_the_numbers_of_their_nodes)
{
    pb g = start();
    add_node(&g, node("Frobnicate", "a", "b"));
    add_node(&g, node("Neg", "b", "d"));
    add_node(&g, node("Whirl", "d", "e"));
    add_node(&g, node("Frobnicate", "e", "c"));
    refuse(&g, 17, "; all such: Frobnicate (2), Whirl (1)");
}

TEST(an_opset_newer_than_known_or_missing_is_refused)
{
    pb g = start(), own = start(), n = node("Op", "a", "c");
    add_node(&g, node("Neg", "a", "c"));
    refuse(&g, 99, "opset 99, the newest that tfrun knows is 28");
    refuse(&g, 0, "its domain \"\" is not in opset_import");
    pb_text(&n, 7, "acme");
    add_node(&own, n);
    refuse(&own, 17, "its domain \"acme\" is not in opset_import");
}

TEST(each_domain_has_an_opset_of_its_own_that_is_newest)
{
    pb g = start(), n = node("Binarizer", "a", "c"), set = {.n = 0};
    tfr_graph *out = NULL;
    pb_text(&n, 7, "ai.onnx.ml");
    add_node(&g, n);
    pb m = model(&g, 17);
    pb_text(&set, 1, "ai.onnx.ml");
    pb_int(&set, 2, 6);
    pb_msg(&m, 8, &set);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &out, &err), &err);
    CHECK_CONTAINS("opset 6 of ai.onnx.ml, the newest that tfrun knows is 5", err.text);
}

TEST(an_op_newer_than_the_models_opset_is_refused)
{
    pb g = start();
    add_node(&g, node("Gelu", "a", "c"));
    refuse(&g, 13, "op \"Gelu\" is known since opset 20 of domain \"\", the model is of opset 13");
}

TEST(a_cycle_is_refused_with_its_nodes)
{
    pb g = start(), n = node("Add", "a z", "x");
    pb_text(&n, 3, "first");
    add_node(&g, n);
    add_node(&g, node("Neg", "x", "y"));
    add_node(&g, node("Exp", "y", "z"));
    add_node(&g, node("Exp", "a", "free"));
    refuse(&g, 17,
           "a cycle of 3 nodes, each uses the next: node \"first\" (Add), node 2 (Exp), "
           "node 1 (Neg)");
}

TEST(a_node_that_uses_itself_is_a_cycle)
{
    pb g = start();
    add_node(&g, node("Neg", "x", "x"));
    refuse(&g, 17, "a cycle of 1 nodes");
}

TEST(a_missing_value_is_named_with_node_and_input)
{
    pb g = start(), h = start();
    add_node(&g, node("Add", "a ghost", "c"));
    refuse(&g, 17,
           "node 0 (Add): input 1: value \"ghost\" is not made by any node, input or "
           "initializer");
    add_value(&h, 12, "ghost", 0, -1, NULL);
    refuse(&h, 17, "output \"ghost\": value \"ghost\" is not made");
}

TEST(a_value_made_twice_is_named_with_both_makers)
{
    pb g = start(), h = start(), i = start(),
       w = tensor_raw("w", TFR_DTYPE_F32, 1, two, "12345678", 8);
    add_node(&g, node("Neg", "a", "c"));
    add_node(&g, node("Exp", "a", "c"));
    refuse(&g, 17, "value \"c\" is made twice: by node 0 (Neg) and by node 1 (Exp)");
    add_node(&h, node("Neg", "a", "a"));
    refuse(&h, 17, "value \"a\" is made twice: by input 0 and by node 0 (Neg)");
    pb_msg(&i, 5, &w);
    pb_msg(&i, 5, &w);
    refuse(&i, 17, "made twice: by initializer 0 and by initializer 1");
}

TEST(a_broken_initializer_is_named)
{
    pb g = start(), w = tensor_raw("weight", TFR_DTYPE_F32, 1, two, "1234", 4);
    pb_msg(&g, 5, &w);
    refuse(&g, 17, "initializer \"weight\": byte ");
    CHECK_CONTAINS("raw_data has 4 bytes, float32[2] needs 8", err.text);
}

TEST(dims_of_inputs_that_are_negative_or_too_many_are_refused)
{
    static const int64_t bad[1] = {-7};
    int64_t many[17] = {0};
    pb g = {.n = 0}, h = {.n = 0};
    add_value(&g, 11, "x", TFR_DTYPE_F32, 1, bad);
    refuse(&g, 17, "input \"x\": byte ");
    CHECK_CONTAINS("negative dim -7", err.text);
    add_value(&h, 11, "x", TFR_DTYPE_F32, 17, many);
    refuse(&h, 17, "more than 16 dims");
}

TEST(wrong_counts_and_attributes_are_refused_with_the_op)
{
    pb g = start(), h = start(), i = start(), n = node("Neg", "a", "c");
    add_node(&g, node("Add", "a", "c"));
    refuse(&g, 17, "(Add) has 1 inputs");
    add_attr(&n, attr_int("colour", 1));
    add_node(&h, n);
    refuse(&h, 17, "colour");
    n = node("Softmax", "a", "c");
    add_attr(&n, attr_text("axis", "last"));
    add_node(&i, n);
    refuse(&i, 17, "axis");
}

TEST(a_node_without_op_or_an_attribute_twice_is_refused)
{
    pb g = start(), h = start(), n = {.n = 0};
    pb_text(&n, 1, "a");
    add_node(&g, n);
    refuse(&g, 17, "NodeProto.op_type of node 0 is missing");
    n = node("Softmax", "a", "c");
    add_attr(&n, attr_int("axis", 0));
    add_attr(&n, attr_int("axis", 1));
    add_node(&h, n);
    refuse(&h, 17, "node 0 (Softmax) has attribute \"axis\" twice");
}

TEST(names_with_a_zero_byte_are_refused)
{
    pb g = start(), n = {.n = 0};
    pb_bytes(&n, 1, "a\0b", 3);
    pb_text(&n, 4, "Neg");
    add_node(&g, n);
    refuse(&g, 17, "NodeProto.input has a zero byte");
}

TEST(a_sparse_tensor_that_unfolds_to_gigabytes_is_refused)
{
    static const int64_t one[1] = {1}, at[1] = {0};
    pb g = start(), v = tensor_raw("s", TFR_DTYPE_F32, 1, one, "1234", 4), s = {.n = 0};
    pb i = tensor_raw("i", TFR_DTYPE_I64, 1, one, at, sizeof at);
    pb_msg(&s, 1, &v);
    pb_msg(&s, 2, &i);
    pb_int(&s, 3, 1LL << 30);
    pb_msg(&g, 15, &s);
    refuse(&g, 17, "unfolds to 4294967296 bytes");
}

TEST(graphs_nested_beyond_the_limit_are_refused)
{
    pb inner = {.n = 0};
    for (int i = 0; i < 40; i++) {
        pb n = node("If", "c", "y"), g = {.n = 0};
        add_attr(&n, attr_msg("then_branch", 6, 5, &inner));
        add_node(&g, n);
        inner = g;
    }
    refuse(&inner, 17, "nested deeper than 64 messages");
}

TEST(a_newer_ir_version_is_refused)
{
    pb g = start(), m = model(&g, 17);
    tfr_graph *graph;
    pb_int(&m, 1, 1000); /* the last one counts */
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_CONTAINS("ir_version 1000 is newer than", err.text);
}

/* ---- mutations ------------------------------------------------------------------------------- */

/* A model with a bit of everything: subgraph, initializers, attributes, old forms. */
static pb rich(void)
{
    static const int64_t dims[2] = {1, 2};
    pb g = start(), n, w = tensor_raw("w", TFR_DTYPE_F32, 1, two, "12345678", 8);
    pb c = tensor_raw("c", TFR_DTYPE_BOOL, 0, NULL, "\1", 1);
    add_value(&g, 11, "x", TFR_DTYPE_F32, 2, dims);
    pb_msg(&g, 5, &w);
    pb_msg(&g, 5, &c);
    add_variety(&g);
    n = node("Clip", "q", "k");
    add_attr(&n, attr_float("min", 0));
    add_node(&g, n);
    add_node(&g, node("Add", "k y", "z"));
    add_value(&g, 12, "z", TFR_DTYPE_F32, 1, two);
    return model(&g, 9);
}

/* Parses a copy of exactly these bytes, so that a sanitizer sees a read beyond them. */
static bool survives(const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    tfr_graph *graph;
    bool good = true;
    memcpy(copy, bytes, n);
    err.text[0] = 0;
    if (tfr_onnx_parse(copy, n, &graph, &err) == TFR_OK)
        tfr_graph_release(graph);
    else
        good = err.text[0] != 0 && err.code != TFR_EINTERNAL;
    free(copy);
    return good;
}

TEST(every_truncation_gives_a_sentence)
{
    pb m = rich();
    tfr_graph *graph;
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    tfr_graph_release(graph);
    for (size_t n = 0; n < m.n; n++) {
        CHECK(survives(m.data, n));
        CHECK(*err.text != 0);
    }
}

TEST(every_flipped_bit_gives_a_graph_or_a_sentence)
{
    pb m = rich();
    for (size_t i = 0; i < m.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            m.data[i] ^= (unsigned char)(1 << bit);
            CHECK(survives(m.data, m.n));
            m.data[i] ^= (unsigned char)(1 << bit);
        }
}

TEST(bytes_set_to_extremes_give_a_graph_or_a_sentence)
{
    static const unsigned char extremes[] = {0, 0x7f, 0x80, 0xff};
    pb m = rich();
    for (size_t i = 0; i < m.n; i++)
        for (size_t k = 0; k < sizeof extremes; k++) {
            unsigned char was = m.data[i];
            m.data[i] = extremes[k];
            CHECK(survives(m.data, m.n));
            m.data[i] = was;
        }
}

static const test_case cases[] = {
    CASE(files_that_are_no_model_are_named_for_what_they_are),
    CASE(a_path_that_is_not_there_or_no_file_is_an_io_error),
    CASE(an_unknown_op_is_named_with_domain_and_version),
    CASE(all_unknown_ops_are_told_at_once_with_the_numbers_of_their_nodes),
    CASE(an_opset_newer_than_known_or_missing_is_refused),
    CASE(each_domain_has_an_opset_of_its_own_that_is_newest),
    CASE(an_op_newer_than_the_models_opset_is_refused),
    CASE(a_cycle_is_refused_with_its_nodes),
    CASE(a_node_that_uses_itself_is_a_cycle),
    CASE(a_missing_value_is_named_with_node_and_input),
    CASE(a_value_made_twice_is_named_with_both_makers),
    CASE(a_broken_initializer_is_named),
    CASE(dims_of_inputs_that_are_negative_or_too_many_are_refused),
    CASE(wrong_counts_and_attributes_are_refused_with_the_op),
    CASE(a_node_without_op_or_an_attribute_twice_is_refused),
    CASE(names_with_a_zero_byte_are_refused),
    CASE(a_sparse_tensor_that_unfolds_to_gigabytes_is_refused),
    CASE(graphs_nested_beyond_the_limit_are_refused),
    CASE(a_newer_ir_version_is_refused),
    CASE(every_truncation_gives_a_sentence),
    CASE(every_flipped_bit_gives_a_graph_or_a_sentence),
    CASE(bytes_set_to_extremes_give_a_graph_or_a_sentence),
};
TEST_MAIN(cases)

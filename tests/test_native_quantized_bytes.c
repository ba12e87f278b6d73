/* SPDX-License-Identifier: Apache-2.0 */
/* What stands beside convolutions and products between DequantizeLinear and QuantizeLinear. */
#include "native_quantized_kit.h"

TEST(pools_and_a_mean_are_those_of_float32)
{
    check("in x ? 20 9 8; const w 24 20 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv(q,v)", ".05", "120")
                  U8("m", "MaxPool{kernel_shape=2,2;strides=2,2}(z)", ".05", "120") "out m",
          .05f, 8);
    check("in x ? 37 11 10; const w 37 37 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              S8("z", "Conv(q,v)", ".05", "-10")
                  S8("m", "MaxPool{kernel_shape=9,9;pads=4,4,4,4}(z)", ".05", "-10") "out m",
          .05f, 8);
    check("in x ? 20 9 8; const w 24 20 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv(q,v)", ".05", "120")
                  U8("m", "GlobalAveragePool(z)", ".02", "120") "out m",
          .02f, 9);
    check("in x ? 20 9 8; const w 24 20 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv(q,v)", ".05", "120")
                  U8("m", "ReduceMean{keepdims=0}(z,[2,3])", ".02", "120") "out m",
          .02f, 5);
    check_floats("in x ? 20 9 8; const w 24 20 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
                     U8("z", "Conv(q,v)", ".05", "120") "out ReduceMean(z,[-2,-1])",
                 .05f, 4);
}

/* As models that have the channels last are exported. */
TEST(integers_are_moved_between_ops_of_integers)
{
    check("in x ? 9 8 16; const w 20 16 3 3;"
          "z = Cast{to=2}(128); q = Transpose{perm=0,3,1,2}(QuantizeLinear(x,.008,z));"
          "d = DequantizeLinear(q,.008,z);" WEIGHTS(
              "v", "w") "y = Cast{to=3}(-7); c = QuantizeLinear(Conv{pads=1,1,1,1}(d,v),.05,y);"
                        "out DequantizeLinear(Transpose{perm=0,2,3,1}(c),.05,y)",
          .05f, 3);
    check("in x ? 9 8 16; const w 20 16 3 3; const u 7 16 1 1;"
          "z = Cast{to=2}(128); q = Transpose{perm=0,3,1,2}(QuantizeLinear(x,.008,z));"
          "d = DequantizeLinear(q,.008,z);" WEIGHTS("v", "w") WEIGHTS(
              "uu", "u") "y = Cast{to=3}(-7); c = QuantizeLinear(Conv{pads=1,1,1,1}(d,v),.05,y);"
                         "e = QuantizeLinear(Conv(d,uu),.05,y); f = Concat{axis=1}(c,e);"
                         "g = Slice(f,[3],[25],[1]); out DequantizeLinear(g,.05,y)",
          .05f, 6);
    check("in x ? 5 6 7; z = Cast{to=2}(128); q = QuantizeLinear(x,.008,z);"
          "t = Transpose{perm=0,3,2,1}(q); a,b = Split{axis=1;num_outputs=2}(t);"
          "out DequantizeLinear(Concat{axis=1}(b,a,b),.008,z)",
          .008f, 8);
}

/* Of images of one axis, as of those of two: they are turned where they come in and go out. */
TEST(channels_of_signals_are_cut_and_put_together_where_they_are_last)
{
    check("in x ? 20 37; const w 24 20 3; const u 12 36 3;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") WEIGHTS("uu", "u") U8("z", "Conv(q,v)", ".05", "120")
                  U8("a", "Slice(z,[12],[24],[1])", ".05", "120")
                      U8("c", "Concat{axis=1}(z,a)", ".05", "120")
                          U8("y", "Conv(c,uu)", ".2", "120") "out y",
          .2f, 8);
    check("in x ? 20 37; const w 24 20 3; const u 12 12 3;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") WEIGHTS("uu", "u") U8("z", "Conv(q,v)", ".05", "120")
                  U8("a", "Sigmoid(Slice(z,[12],[24],[1]))", ".004", "0")
                      U8("y", "Conv(a,uu)", ".02", "120") "out y",
          .02f, 11);
}

/* In binary fractions, so that ties are ties for both. */
TEST(averages_over_windows_stay_in_integers)
{
    check("in x ? 20 9 8; const w 24 20 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv(q,v)", ".03125", "120")
                  U8("m", "AveragePool{kernel_shape=2,2;strides=2,2}(z)", ".03125", "120") "out m",
          .03125f, 6);
    check("in x ? 20 9 8; const w 37 20 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              S8("z", "Conv(q,v)", ".04", "-20")
                  U8("m", "AveragePool{kernel_shape=3,2;pads=1,1,1,1;strides=2,1}(z)", ".03",
                     "100") "out m",
          .03f, 6);
    check("in x ? 20 9 8;" S8("q", "x", ".008", "-5")
              S8("m", "AveragePool{kernel_shape=3,3;pads=1,1,1,1;count_include_pad=1}(q)", ".005",
                 "9") "out m",
          .005f, 5);
}

TEST(resized_images_stay_in_integers)
{
    check("in x ? 20 4 5; const w 24 20 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv(q,v)", ".03125", "120")
                  U8("m", "Resize{mode=linear;axes=2,3}(z,-,-,[8,10])", ".03125", "120")
                      U8("p", "MaxPool{kernel_shape=2,1}(m)", ".03125", "120") "out p",
          .03125f, 7);
    check("in x ? 20 4 5; const w 7 20 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              S8("z", "Conv(q,v)", ".04", "-20")
                  S8("m", "Resize{axes=2,3}(z,-,-,[8,15])", ".04", "-20")
                      S8("p", "MaxPool{kernel_shape=2,1}(m)", ".04", "-20") "out p",
          .04f, 7);
    check("in x ? 20 7 9; const w 35 20 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              S8("z", "Conv(q,v)", ".04", "-20")
                  U8("m", "Resize{mode=cubic;axes=2,3}(z,-,-,[5,12])", ".05", "90")
                      U8("p", "MaxPool{kernel_shape=2,1}(m)", ".05", "90") "out p",
          .05f, 7);
}

TEST(batch_norms_are_a_factor_and_a_term_for_each_channel)
{
    check(
        "in x ? 20 6 5; const a 20; const b 20; const m 20; const s 20;" U8("q", "x", ".008", "128")
            S8("y", "BatchNormalization(q,Sub(a,1),b,Sub(m,1),Add(s,.1))", ".03", "-20") "out y",
        .03f, 5);
    check(
        "in x ? 37 6 5; const a 37; const b 37; const m 37; const s 37;" S8("q", "x", ".008", "-9")
            U8("y", "Relu(BatchNormalization(q,Sub(a,1),b,Sub(m,1),Add(s,.1)))", ".02",
               "3") "out y",
        .02f, 5);
}

TEST(what_moves_elements_moves_dequantized_ones)
{
    check("in x ? 16 6 5; const w 24 16 1 1; const v 8 16 1 1;" U8("q", "x", ".008", "128")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") U8("a", "Conv(q,ww)", ".02", "120")
                  U8("b", "Conv(q,vv)", ".02", "120")
                      U8("c", "Concat{axis=1}(a,b)", ".02", "120") "out Transpose{perm=0,2,3,1}(c)",
          .02f, 14);
}

TEST(parts_of_other_scales_are_put_together)
{
    check("in x ? 16 6 5; const w 24 16 1 1; const v 9 16 1 1;" U8("q", "x", ".008", "128")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") U8("a", "Conv(q,ww)", ".02", "120")
                  U8("b", "Conv(q,vv)", ".03", "100")
                      U8("c", "Concat{axis=1}(a,b)", ".04", "90") "out c",
          .04f, 7);
    check("in x ? 6 5;" U8("a", "x", ".008", "128") S8("b", "Neg(x)", ".01", "-5")
              U8("c", "Concat{axis=-1}(a,b)", ".02", "90") "out c",
          .02f, 6);
}

/* One on the grid of the result and others, of bytes, words and vectors of channels. */
TEST(parts_of_every_width_are_put_together_by_pixels)
{
    check("in x ? 16 6 5; const a 3 16 1 1; const b 7 16 1 1; const c 12 16 1 1; const d 20 16 1 1;"
          "const e 40 16 1 1; const f 70 16 1 1; const u 8 152 1 1;" U8("q", "x", ".008", "128")
              WEIGHTS("aw", "a") WEIGHTS("bw", "b") WEIGHTS("cw", "c") WEIGHTS("dw", "d")
                  WEIGHTS("ew", "e") WEIGHTS("fw", "f") WEIGHTS("uw", "u")
                      U8("ay", "Conv(q,aw)", ".02", "120") U8("by", "Conv(q,bw)", ".04", "90")
                          U8("cy", "Conv(q,cw)", ".03", "99") U8("dy", "Conv(q,dw)", ".04", "90")
                              S8("ey", "Conv(q,ew)", ".03", "9") U8("fy", "Conv(q,fw)", ".02", "3")
                                  U8("y", "Concat{axis=1}(ay,by,cy,dy,ey,fy)", ".04", "90")
                                      U8("z", "Conv(y,uw)", ".1", "99") "out z",
          .1f, 12);
}

/* What networks of shuffled channels do: Concat, shuffle, Split; every value is quantized. */
#define SHUFFLED(name, x, scale, zero, split, whole)                                               \
    U8(name "1", "Reshape(" x "," split ")", scale, zero)                                          \
    U8(name "2", "Transpose{perm=0,2,1,3,4}(" name "1)", scale, zero)                              \
    U8(name, "Reshape(" name "2," whole ")", scale, zero)
#define HALVES "in x ? 16 6 5; const w 20 16 1 1; const v 20 16 1 1; const u 8 20 1 1;"
#define TWO_PARTS                                                                                  \
    HALVES U8("q", "x", ".008", "128") WEIGHTS("ww", "w") WEIGHTS("vv", "v") WEIGHTS("uu", "u")    \
        U8("a", "Conv(q,ww)", ".02", "120") U8("b", "Conv(q,vv)", ".03", "100")                    \
            U8("c", "Concat{axis=1}(a,b)", ".04", "90")

TEST(channels_are_shuffled_and_cut_where_they_are_last)
{
    check(TWO_PARTS SHUFFLED("s", "c", ".04", "90", "[0,2,20,6,5]", "[0,40,6,5]")
              U8("g", "Slice(s,[20],[40],[1])", ".04", "90")
                  U8("e", "Conv(g,uu)", ".04", "99") "out e",
          .04f, 8);
    check(TWO_PARTS SHUFFLED("s", "c", ".04", "90", "[0,2,20,6,5]", "[0,40,6,5]")
              U8("d", "Slice(s,[0],[20],[1])", ".04", "90")
                  U8("g", "Slice(s,[20],[40],[1])", ".04", "90") U8("e", "Conv(g,uu)", ".04", "99")
                      U8("f", "Concat{axis=1}(d,e)", ".04", "90") "out f",
          .04f, 9);
    /* Parts that are no groups, and a cut that begins and ends within a turn. */
    check(TWO_PARTS SHUFFLED("s", "c", ".04", "90", "[0,5,8,6,5]", "[0,40,6,5]")
              U8("d", "Slice(s,[3],[23],[1])", ".04", "90")
                  U8("e", "Conv(d,uu)", ".04", "99") "out e",
          .04f, 8);
    check(TWO_PARTS SHUFFLED("s", "a", ".02", "120", "[0,4,5,6,5]", "[0,20,6,5]")
              U8("e", "Conv(s,uu)", ".04", "99") "out e",
          .04f, 6);
    /* A cut alone, of one part and of two. */
    check(TWO_PARTS U8("d", "Slice(c,[7],[27],[1])", ".04", "90")
              U8("e", "Conv(d,uu)", ".04", "99") "out e",
          .04f, 7);
    /* Plain images. */
    check("in x ? 24 6 5;" U8("q", "x", ".008", "128")
              SHUFFLED("s", "q", ".008", "128", "[0,3,8,6,5]", "[0,24,6,5]")
                  U8("d", "Slice(s,[5],[19],[1])", ".008", "128") "out d",
          .008f, 4);
}

TEST(functions_of_one_value_are_a_table)
{
    check("in x ? 24 6 5;" U8("a", "x", ".008", "128")
              U8("b", "Mul(Add(Erf(Div(a,1.4142)),1),.5)", ".004", "3") "out b",
          .004f, 3);
    check("in x ? 16 6 5; const w 24 16 1 1;" S8("q", "x", ".008", "0") WEIGHTS("v", "w")
              S8("a", "Conv(q,v)", ".02", "-3") U8("b", "HardSwish(a)", ".02", "20") "out b",
          .02f, 6);
}

TEST(a_value_by_a_function_of_it_is_a_table)
{
    check("in x ? 16 6 5; const w 24 16 1 1;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("a", "Conv(q,v)", ".02", "120") U8("s", "Sigmoid(a)", ".004", "0")
                  S8("b", "Mul(a,s)", ".02", "-80") "out b",
          .02f, 5);
    check("in x ? 16 6 5;" S8("a", "x", ".04", "9") U8("s", "Sigmoid(Mul(a,1.7))", ".004", "3")
              U8("b", "Sub(s,a)", ".01", "90") "out b",
          .01f, 3);
    check("in x ? 16 6 5;" S8("a", "x", ".04", "9") U8("s", "HardSigmoid(a)", ".004", "3")
              U8("b", "Mul(s,a)", ".01", "90") "out Add(b,s)",
          .01f, 6);
}

TEST(tables_one_after_the_other_are_one)
{
    /* Gelu, each of whose values is quantized */
    check("in x ? 16 6 5;" S8("a", "x", ".02", "9") S8("d", "Div(a,1.4142)", ".015", "-3")
              U8("e", "Erf(d)", ".0078", "128") U8("f", "Add(e,1)", ".0078", "0")
                  S8("g", "Mul(a,f)", ".03", "-50") S8("h", "Mul(g,.5)", ".015", "-50") "out h",
          .015f, 3);
    /* read by another, too */
    check("in x ? 16 6 5;" S8("a", "x", ".02", "9") S8("d", "Div(a,1.4142)", ".015", "-3")
              U8("e", "Erf(d)", ".0078", "128") "out Concat{axis=1}(d,e)",
          .015f, 6);
}

static tfr_value add_op(tfr_graph *graph, const char *op, const tfr_value *in, uint32_t n)
{
    const tfr_node_desc node = {
        .size = sizeof node, .n_inputs = n, .n_outputs = 1, .op = op, .inputs = in};
    tfr_value out = TFR_VALUE_NONE;
    CHECK_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

/* A table is made of a few others: of all before it would take a stack as deep as the model. */
TEST(tables_of_a_long_model_are_several)
{
    enum { LONG = 6000 };
    static const tfr_shape scalar = {0, {0}};
    const tfr_value_type type = {
        .size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 2, .dims = {-1, 100}};
    tfr_tensor *scale, *zero;
    tfr_graph *graph;
    tfr_value in[3];
    REQUIRE_OK(tfr_graph_create("long", &graph, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &scalar, &scale, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I8, &scalar, &zero, &err), &err);
    *(float *)tfr_tensor_data(scale) = .01f;
    *(int8_t *)tfr_tensor_data(zero) = 0;
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &in[0], &err), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, scale, &in[1], &err), &err);
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, zero, &in[2], &err), &err);
    for (int i = 0; i <= LONG; i++) {
        in[0] = add_op(graph, "QuantizeLinear", in, 3);
        in[0] = add_op(graph, "DequantizeLinear", in, 3);
        if (i < LONG)
            in[0] = add_op(graph, "Neg", in, 1);
    }
    REQUIRE_OK(tfr_graph_add_output(graph, in[0], "y", &err), &err);
    tfr_tensor_release(scale);
    tfr_tensor_release(zero);
    check_graph(graph, "long", .01f, 2 + (LONG + 16) / 17, 200);
}

TEST(functions_of_two_values_read_both)
{
    check("in x ? 16 6 5; const w 24 16 1 1; const v 24 16 1 1;" U8("q", "x", ".008", "128")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") U8("a", "Conv(q,ww)", ".02", "120")
                  U8("b", "Conv(q,vv)", ".03", "100") S8("c", "Mul(a,b)", ".05", "-9") "out c",
          .05f, 7);
    check("in x ? 16 6 5; const w 24 16 1 1;" U8("q", "x", ".008", "128") WEIGHTS("ww", "w")
              U8("a", "Conv(q,ww)", ".02", "120") S8("m", "GlobalAveragePool(a)", ".02", "-3")
                  S8("b", "HardSigmoid(m)", ".008", "-128")
                      U8("c", "Mul(b,a)", ".02", "100") "out c",
          .02f, 9);
    check("in x ? 16 6 5; const w 40 16 1 1;" U8("q", "x", ".008", "128") WEIGHTS("ww", "w")
              S8("a", "Conv(q,ww)", ".02", "12") U8("m", "GlobalAveragePool(a)", ".02", "120")
                  U8("b", "Sigmoid(m)", ".0039", "0") U8("c", "Mul(a,b)", ".02", "7") "out c",
          .02f, 9);
}

static const test_case cases[] = {
    CASE(pools_and_a_mean_are_those_of_float32),
    CASE(integers_are_moved_between_ops_of_integers),
    CASE(channels_of_signals_are_cut_and_put_together_where_they_are_last),
    CASE(averages_over_windows_stay_in_integers),
    CASE(resized_images_stay_in_integers),
    CASE(batch_norms_are_a_factor_and_a_term_for_each_channel),
    CASE(what_moves_elements_moves_dequantized_ones),
    CASE(parts_of_other_scales_are_put_together),
    CASE(parts_of_every_width_are_put_together_by_pixels),
    CASE(channels_are_shuffled_and_cut_where_they_are_last),
    CASE(functions_of_one_value_are_a_table),
    CASE(a_value_by_a_function_of_it_is_a_table),
    CASE(tables_one_after_the_other_are_one),
    CASE(tables_of_a_long_model_are_several),
    CASE(functions_of_two_values_read_both),
};
TEST_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products between DequantizeLinear and QuantizeLinear, and ops of integers. */
#include "native_quantized_kit.h"

/* ---- to and from integers -------------------------------------------------------------------- */

TEST(values_are_quantized_and_dequantized_as_the_standard_says)
{
    check("in x ? 7 5;" U8("y", "x", ".013", "131") "out y", .013f, 2);
    check("in x ? 7 5;" S8("y", "x", ".006", "-9") "out y", .006f, 2);
    check("in x ? 3 4 5; const t 3; s = Mul(t,.01);"
          "out DequantizeLinear{axis=1}(QuantizeLinear{axis=1}(x,s),s)",
          .015f, 2);
    check("in x ? 4 6; const t 6; s = Mul(t,.01);"
          "out DequantizeLinear{axis=-1}(QuantizeLinear{axis=-1;output_dtype=3}(x,s),s)",
          .015f, 2);
    check("in x 4 40 600; const t 4; s = Mul(t,.01);"
          "out DequantizeLinear{axis=0}(QuantizeLinear{axis=0}(x,s),s)",
          .015f, 2);
}

TEST(functions_between_are_those_of_float32)
{
    check("in x ? 6 5 4;" U8("y", "x", ".01", "128") U8("z", "Sigmoid(y)", ".004", "0") "out z",
          .004f, 4);
    check("in x ? 6 9;" U8("y", "x", ".01", "128") U8("z", "Softmax(y)", ".004", "0") "out z",
          .004f, 5);
}

TEST(constants_are_dequantized_once)
{
    check_floats("in x 3 40 16; const w 2 40 16; const t 2; s = Mul(t,.01);"
                 "q = QuantizeLinear{axis=0}(w,s); a = Slice(x,[0],[1],[0]);"
                 "v = DequantizeLinear{axis=0}@native:0(q,s); out Add(a,v)",
                 0, 3);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

TEST(convolutions_of_dequantized_values_sum_integers)
{
    check("in x ? 24 9 8; const w 20 24 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Conv{pads=1,1,1,1}(q,v)", ".05", "120") "out z",
          .05f, 5);
    check("in x ? 24 9 8; const w 20 24 3 3;" S8("q", "x", ".008", "5") WEIGHTS("v", "w")
              S8("z", "Conv{pads=1,1,1,1}(q,v)", ".05", "-7") "out z",
          .05f, 5);
    check("in x ? 24 9 8; const w 20 24 1 1;" U8("q", "x", ".008", "128") WEIGHTS_U8("v", "w")
              U8("z", "Conv(q,v)", ".02", "120") "out z",
          .02f, 5);
}

TEST(weights_have_a_scale_for_each_channel)
{
    check("in x ? 16 9 8; const w 33 16 3 3; const vt 33; const b 33;" U8("q", "x", ".008", "128")
              WEIGHTS_BY_CHANNEL(
                  "v", "w") "bs = Mul(vs,.008);"
                            "c = DequantizeLinear{axis=0}(Cast{to=6}(Mul(Sub(b,1),900)),bs);" U8(
                                "z", "Relu(Conv{pads=1,1,1,1;strides=2,2}(q,v,c))", ".03",
                                "0") "out z",
          .03f, 5);
    check("in x ? 16 9 8; const w 33 16 3 3; const vt 33;" S8("q", "x", ".008", "-3")
              WEIGHTS_BY_CHANNEL("v", "w")
                  S8("z", "Clip(Conv{pads=2,2,2,2;dilations=2,2}(q,v),0,1)", ".01", "-128") "out z",
          .01f, 5);
}

TEST(biases_that_are_no_integers_are_added_in_float32)
{
    check("in x ? 16 9 8; const w 12 16 3 3; const b 12;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") U8("z", "Conv(q,v,b)", ".05", "90") "out z",
          .05f, 8);
}

TEST(convolutions_follow_each_other_without_float32)
{
    check("in x ? 3 19 17; const w 20 3 7 7; const v 33 20 3 3; const b 20;" U8("q", "x", ".008",
                                                                                "128")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") BIAS("c", "b", ".000032")
                  U8("z", "Relu(Conv{pads=3,3,3,3;strides=2,2}(q,ww,c))", ".03", "0")
                      U8("y", "Conv{pads=1,1,1,1}(z,vv)", ".08", "130") "out y",
          .08f, 6);
}

TEST(depthwise_convolutions_stay_in_integers)
{
    check("in x ? 24 9 8; const w 24 1 3 3; const b 24;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") BIAS("c", "b", ".000032")
                  U8("z", "Clip(Conv{pads=1,1,1,1;group=24}(q,v,c),0,6)", ".01", "0") "out z",
          .01f, 5);
    check("in x ? 17 9 8; const w 17 1 5 5; const vt 17;" S8("q", "x", ".008", "-1")
              WEIGHTS_BY_CHANNEL("v", "w")
                  S8("z", "Conv{pads=2,2,2,2;group=17;strides=2,2}(q,v)", ".02", "0") "out z",
          .02f, 5);
}

TEST(convolutions_over_one_axis_and_three_stay_in_integers)
{
    check("in x ? 24 30; const w 20 24 3; const b 20;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              BIAS("c", "b", ".000032")
                  U8("z", "Relu(Conv{pads=1,1;strides=2}(q,v,c))", ".03", "0") "out z",
          .03f, 5);
    check("in x ? 17 30; const w 17 1 5; const vt 17; const u 9 17 1;" S8("q", "x", ".008", "-3")
              WEIGHTS_BY_CHANNEL("v", "w") WEIGHTS("uu", "u")
                  S8("z", "Conv{pads=2,2;group=17}(q,v)", ".01", "0")
                      S8("y", "Conv(z,uu)", ".01", "-7") "out y",
          .01f, 6);
    check("in x ? 8 5 6 7; const w 12 8 3 3 2; const vt 12;" U8("q", "x", ".008", "128")
              WEIGHTS_BY_CHANNEL("v", "w")
                  U8("z", "Conv{pads=1,1,0,1,1,0;strides=2,1,1}(q,v)", ".04", "120") "out z",
          .04f, 5);
    check("in x ? 8 5 6 7; const w 12 4 3 1 3; const u 12 1 3 3 3;" S8("q", "x", ".008", "0")
              WEIGHTS("v", "w") WEIGHTS_U8("uu", "u")
                  U8("z", "Conv{group=2;dilations=2,1,1}(q,v)", ".04", "120")
                      U8("y", "Conv{group=12;pads=1,1,1,1,1,1}(z,uu)", ".2", "120") "out y",
          .2f, 6);
    check("in x ? 16 30; const w 16 16 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("y", "Conv{pads=1,1}(q,v)", ".03", "128")
                  U8("s", "Slice(y,[3],[9],[1])", ".03", "128") "out s",
          .03f, 6);
    check("in x ? 16 30; const w 16 16 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("y", "Conv{pads=1,1}(q,v)", ".03", "128")
                  U8("s", "Relu(Add(y,q))", ".04", "0") "out s",
          .04f, 5);
}

TEST(transposed_convolutions_stay_in_integers)
{
    check("in x ? 20 6 5; const w 20 12 3 3; const b 12;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") BIAS("c", "b", ".000032") U8(
                  "z", "Relu(ConvTranspose{strides=2,2;pads=1,1,1,1}(q,v,c))", ".03", "0") "out z",
          .03f, 6);
    check("in x ? 20 6 5; const w 20 37 2 2; const t 37; s = Mul(t,.004);" S8(
              "q", "x", ".008",
              "-9") "v = "
                    "DequantizeLinear{axis=1}(QuantizeLinear{axis=1;output_dtype=3}(Sub(w,1),s),s)"
                    ";" S8("z", "ConvTranspose{strides=2,2}(q,v)", ".03", "3") "out z",
          .03f, 6);
    check("in x ? 9 14; const w 9 17 4;" U8("q", "x", ".008", "128") WEIGHTS_U8("v", "w")
              U8("z", "ConvTranspose{strides=2;dilations=2}(q,v)", ".03", "120") "out z",
          .03f, 6);
    check_floats("in x ? 9 6 5; const w 9 19 3 3; const b 19;" U8("q", "x", ".008", "128")
                     WEIGHTS("v", "w") "out Clip(ConvTranspose{strides=2,3}(q,v,b),0,3)",
                 1e-4f, 5);
}

TEST(weights_may_be_computed)
{
    check_floats("in x ? 24 9 8; const w 24 1 3 3; const b 24; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=1,1,1,1;group=24}(x,Mul(w,Sub(2,r)),Sub(b,r))",
                 1e-3f, 9);
    check_floats("in x ? 8 30; const w 12 8 3; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=1,1}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 30; const w 8 1 5; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=2,2;group=8}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 30; const w 6 4 5; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=2,2;group=2}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 5 6 7; const w 12 8 3 2 3; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=1,1,1,1,1,1}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 5 6 7; const w 8 1 3 2 3; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=1,1,1,1,1,1;group=8}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 13; const w 8 12 3; r = ReduceMean{keepdims=0}(x);"
                 "out ConvTranspose{strides=2}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 8 5 6 7; const w 8 6 3 2 3; r = ReduceMean{keepdims=0}(x);"
                 "out ConvTranspose{strides=2,1,2}(x,Mul(w,Sub(2,r)))",
                 1e-3f, 9);
    check_floats("in x ? 9 6 5; const w 9 12 3 3; const b 12; r = ReduceMean{keepdims=0}(x);"
                 "out ConvTranspose{strides=2,2}(x,Mul(w,Sub(2,r)),b)",
                 1e-3f, 9);
    check("in x ? 9 6 5; const w 9 12 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "ConvTranspose{strides=2,2}(q,v)", ".05", "120") "out z",
          .05f, 8);
}

/* Of panels and of parts of them, whose last one has fewer groups, or more than a panel. */
TEST(convolutions_in_groups_stay_in_integers)
{
    check("in x ? 24 9 8; const w 36 12 3 3; const b 36;" U8("q", "x", ".008", "128")
              WEIGHTS("v", "w") BIAS("c", "b", ".000032")
                  U8("z", "Relu(Conv{group=2;pads=1,1,1,1}(q,v,c))", ".03", "0") "out z",
          .03f, 5);
    check("in x ? 40 9 8; const w 40 8 3 3; const vt 40;" S8("q", "x", ".008", "-3")
              WEIGHTS_BY_CHANNEL("v", "w")
                  S8("z", "Conv{group=5;pads=1,1,1,1;strides=2,2}(q,v)", ".03", "3") "out z",
          .03f, 5);
    check("in x ? 21 9 8; const w 35 3 3 3;" U8("q", "x", ".008", "128") WEIGHTS_U8("v", "w")
              U8("z", "Conv{group=7;pads=2,1,2,1;dilations=2,1}(q,v)", ".03", "120") "out z",
          .03f, 5);
    check("in x ? 96 5 7; const w 64 48 1 1; const vt 64;" U8("q", "x", ".008", "120")
              WEIGHTS_BY_CHANNEL("v", "w") S8("z", "Conv{group=2}(q,v)", ".05", "3") "out z",
          .05f, 5);
    check("in x ? 12 9 8; const w 6 2 5 3;" S8("q", "x", ".008", "7") WEIGHTS_U8("v", "w")
              U8("z", "Conv{group=6;pads=2,1,2,1;strides=3,2}(q,v)", ".03", "120") "out z",
          .03f, 5);
    check_floats(
        "in x ? 32 6 5; const w 32 4 3 3; const vt 32; const b 32;" U8("q", "x", ".008", "128")
            WEIGHTS_BY_CHANNEL("v", "w") "out Conv{group=8}(q,v,b)",
        1e-4f, 5);
    check("in x ? 32 9 8; const w 32 4 3 3;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("y", "Conv{group=8;pads=1,1,1,1}(q,v)", ".03", "128")
                  U8("s", "Relu(Add(y,q))", ".04", "0") "out s",
          .04f, 5);
    check(
        "in x ? 20 9 8; const w 20 4 3 3; const t 20; s = Mul(t,.01);" U8(
            "q", "x", ".008",
            "128") "z = Cast{to=2}(Mul(t,200)); c = QuantizeLinear(Sub(w,.2),.005,Cast{to=2}(90));"
                   "v = DequantizeLinear{axis=0}(c,s,z);" U8("y", "Conv{group=5;pads=1,1,1,1}(q,v)",
                                                             ".1", "128") "out y",
        .1f, 5);
}

TEST(weights_of_groups_are_dequantized_once)
{
    check_floats("in x ? 24 9 8; const w 36 12 3 3; const vt 36; const b 36;" WEIGHTS_BY_CHANNEL(
                     "v", "w") "out Conv{group=2;pads=1,1,1,1}(x,v,b)",
                 1e-3f, 4);
}

TEST(residual_sums_join_their_convolution)
{
    check("in x ? 32 10 10; const w 32 32 3 3; const v 32 32 1 1;" U8("q", "x", ".008", "128")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") U8("z", "Relu(Conv{pads=1,1,1,1}(q,ww))", ".04",
                                                       "0") U8("y", "Conv(z,vv)", ".05", "128")
                  U8("s", "Relu(Add(y,q))", ".05", "0") "out s",
          .05f, 6);
    check("in x ? 32 10 10; const w 32 32 3 3; const v 32 32 1 1;" S8("q", "x", ".008", "0")
              WEIGHTS("ww", "w") WEIGHTS("vv", "v") S8("z", "Conv{pads=1,1,1,1}(q,ww)", ".04", "0")
                  S8("y", "Conv(q,vv)", ".05", "0") S8("s", "Add(z,y)", ".05", "3") "out s",
          .05f, 6);
}

/* The second convolution's weights stand in front of a node that ends the first one's program. */
TEST(weights_are_in_the_program_that_reads_them)
{
    static const char text[] =
        "in x ? 16 9 8; const w 20 16 1 1; const u 7 20 1 1;" WEIGHTS("v", "w") WEIGHTS("t", "u")
            U8("q", "x", ".008", "128") U8("z", "Relu@naive:0(Conv(q,v))", ".02", "0")
                U8("y", "Conv(z,t)", ".02", "120") "out y";
    tfr_program_desc program = {.size = sizeof program};
    tfr_runtime *runtime = NULL;
    tfr_session *session;
    tfr_graph *graph = graph_of_text(text);
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    session = new_session(runtime, graph, "native:0");
    if (!session) {
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    tfr_tensor_release(run(session, graph, 1));
    CHECK(tfr_session_n_programs(session) == 2);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_OK(tfr_session_program(session, i, &program, &err), &err);
        CHECK(strstr(program.text, "1 in integers") != NULL);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- products -------------------------------------------------------------------------------- */

TEST(products_of_dequantized_values_sum_integers)
{
    check("in x ? 40; const w 40 24; const b 24;" U8("q", "x", ".008", "128") WEIGHTS("v", "w")
              U8("z", "Relu(Add(MatMul(q,v),b))", ".02", "0") "out z",
          .02f, 5);
    check("in x ? 6 40; const w 24 40; const b 24;" S8("q", "x", ".008", "0") WEIGHTS("v", "w")
              BIAS("c", "b", ".000032")
                  S8("z", "Add(MatMul(q,Transpose{perm=1,0}(v)),c)", ".02", "1") "out z",
          .02f, 5);
    check_floats("in x ? 40; const w 24 40; const vt 24; const b 24;" U8("q", "x", ".008", "128")
                     WEIGHTS_BY_CHANNEL("v", "w") "out Gemm{transB=1}(q,v,b)",
                 1e-4f, 3);
}

/* ---- ops of integers ------------------------------------------------------------------------- */

TEST(ops_of_integers_are_the_same_items)
{
    check("in x ? 16 9 8; const w 20 16 3 3; const b 20; z = Cast{to=2}(128); y = Cast{to=3}(-7);"
          "q = QuantizeLinear(x,.008,z); v = QuantizeLinear{output_dtype=3}(Sub(w,1),.004,-);"
          "r = QLinearConv{pads=1,1,1,1;strides=2,2}(q,.008,z,v,.004,Cast{to=3}(0),.05,y,"
          "Cast{to=6}(Mul(b,900))); out DequantizeLinear(r,.05,y)",
          .05f, 4);
    check("in x ? 24 9 8; const w 36 8 3 3; const b 36; z = Cast{to=2}(128); y = Cast{to=3}(-7);"
          "q = QuantizeLinear(x,.008,z); v = QuantizeLinear{output_dtype=3}(Sub(w,1),.004,-);"
          "r = QLinearConv{group=3;pads=1,1,1,1}(q,.008,z,v,.004,Cast{to=3}(0),.05,y,"
          "Cast{to=6}(Mul(b,900))); out DequantizeLinear(r,.05,y)",
          .05f, 4);
    check("in x ? 20 9 8; const w 24 20 3 3; const u 16 24 1 1; z = Cast{to=2}(128);"
          "q = QuantizeLinear(x,.008,z); v = QuantizeLinear{output_dtype=3}(Sub(w,1),.004,-);"
          "t = QuantizeLinear{output_dtype=3}(Sub(u,1),.004,-); y = Cast{to=3}(-7);"
          "r = QLinearConv(q,.008,z,v,.004,Cast{to=3}(0),.05,y);"
          "m = MaxPool{kernel_shape=3,3;strides=2,2;pads=1,1,1,1}(r);"
          "p = QLinearConv(m,.05,y,t,.004,Cast{to=3}(0),.03,z); out DequantizeLinear(p,.03,z)",
          .03f, 6);
    check("in x ? 5 16; const w 16 20; z = Cast{to=2}(128); y = Cast{to=2}(130);"
          "q = QuantizeLinear(x,.008,z); v = QuantizeLinear(Sub(w,1),.005,z);"
          "out DequantizeLinear(QLinearMatMul(q,.008,z,v,.005,z,.03,y),.03,y)",
          .03f, 3);
    check_floats("in x ? 5 16; const w 16 20; z = Cast{to=2}(128);"
                 "q = QuantizeLinear(x,.008,z); v = QuantizeLinear(Sub(w,1),.005,z);"
                 "out Mul(Cast{to=1}(MatMulInteger(q,v,z,z)),.00004)",
                 0, 4);
}

/* As a quantizer for dynamic ranges writes it: what `begin` ends with is quantized. */
static tfr_graph *dynamic_graph(const char *begin, const char *rest)
{
    graph_text g = {0};
    tfr_value x, q[3];
    tfr_node_desc node = {.size = sizeof node,
                          .op = "DynamicQuantizeLinear",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 3};
    REQUIRE_OK(tfr_graph_create("dynamic", &g.graph, &err), &err);
    graph_text_more(&g, begin);
    x = g.names[g.n_names - 1].value;
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, q, &err), &err);
    graph_text_name(&g, "q", q[0]);
    graph_text_name(&g, "s", q[1]);
    graph_text_name(&g, "z", q[2]);
    graph_text_more(&g, rest);
    return g.graph;
}

/* y = x W + b */
static tfr_graph *dynamic_product(const char *rest)
{
    return dynamic_graph("const w 48 20; const b 20; const t 20;"
                         "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 7 48",
                         rest);
}

TEST(products_of_dynamic_ranges_are_one_step)
{
    check_graph(dynamic_product("c = Cast{to=1}(MatMulInteger(q,v,z,Cast{to=3}(0)));"
                                "out Add(Mul(c,Mul(s,.005)),b)"),
                "a scale for all", 1e-4f, 4, 1);
    check_graph(dynamic_product("c = Cast{to=1}(MatMulInteger(q,v,z)); u = Mul(t,.005);"
                                "out Relu(Add(Mul(c,Mul(s,u)),b))"),
                "a scale for each column", 1e-4f, 4, 1);
}

/* Dense ones, by Winograd's windows, too, depthwise ones, and in groups wide and narrow. */
TEST(convolutions_of_dynamic_ranges_are_one_step)
{
    check_graph(dynamic_graph("const w 20 24 3 3; const b 20 1 1;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 24 9 8",
                              "c = Cast{to=1}(ConvInteger{pads=1,1,1,1}(q,v,z,Cast{to=3}(0)));"
                              "out Relu(Add(Mul(c,Mul(s,.005)),b))"),
                "a scale for all", 1e-4f, 6, 1);
    check_graph(
        dynamic_graph(
            "const w 35 21 1 1; const b 1 35 1 1; const t 35 1 1;"
            "v = QuantizeLinear(Sub(w,1),.005,Cast{to=2}(117)); u = Mul(t,.005); in x ? 21 9 8",
            "c = Cast{to=1}(ConvInteger{strides=2,1}(q,v,z,Cast{to=2}(117)));"
            "out Add(b,Mul(Mul(u,s),c))"),
        "a scale for each channel", 1e-4f, 6, 1);
    check_graph(
        dynamic_graph("const w 48 32 3 3;"
                      "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 32 18 17",
                      "c = Cast{to=1}(ConvInteger{pads=1,1,1,1}(q,v,z));"
                      "out Mul(c,Mul(s,.005))"),
        "more pixels", 1e-4f, 6, 1);
    check_graph(dynamic_graph("const w 21 1 3 3; const b 21 1 1;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 21 9 8",
                              "c = Cast{to=1}(ConvInteger{group=21;pads=1,1,1,1}(q,v,z));"
                              "out Add(Mul(c,Mul(s,.005)),b)"),
                "depthwise", 1e-4f, 6, 1);
    check_graph(dynamic_graph("const w 36 12 3 3; const b 36 1 1;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 24 9 8",
                              "c = Cast{to=1}(ConvInteger{group=2;pads=1,1,1,1}(q,v,z));"
                              "out Add(Mul(c,Mul(s,.005)),b)"),
                "in groups", 1e-4f, 6, 1);
    check_graph(
        dynamic_graph(
            "const w 64 8 3 3; const b 64 1 1; const t 64 1 1;"
            "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); u = Mul(t,.01); in x ? 64 17 18",
            "c = Cast{to=1}(ConvInteger{group=8;pads=1,1,1,1}(q,v,z));"
            "out Add(Mul(c,Mul(s,u)),b)"),
        "in narrow groups", 1e-4f, 6, 1);
}

/* Behind a convolution of float32, whose channels are in blocks; ranges are of them alone. */
TEST(images_are_quantized_where_they_lie)
{
    check_graph(dynamic_graph("in x ? 3 9 8; const f 21 3 3 3; const w 20 21 1 1; const b 20 1 1;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-);"
                              "y = Sub(Sigmoid(Conv{pads=1,1,1,1}(x,f)),3)",
                              "c = Cast{to=1}(ConvInteger(q,v,z));"
                              "out Sigmoid(Mul(Add(Mul(c,Mul(s,.005)),b),.1))"),
                "blocks", .01f, 10, 1);
}

/* Rows are put into blocks part by part, across samples, too, with their activation. */
TEST(activations_follow_in_blocks)
{
    check_graph(dynamic_graph("const w 20 8 1 1; const b 20 1 1;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 8 41 37",
                              "c = Cast{to=1}(ConvInteger{strides=1,2}(q,v,z));"
                              "out Sigmoid(Add(Mul(c,Mul(s,.005)),b))"),
                "dense", 1e-4f, 5, 1);
    check_graph(
        dynamic_graph("const w 12 1 3 3; const b 12 1 1;"
                      "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 12 41 37",
                      "c = Cast{to=1}(ConvInteger{group=12;pads=1,1,1,1}(q,v,z));"
                      "out HardSwish(Add(Mul(c,Mul(s,.005)),b))"),
        "depthwise", 1e-4f, 5, 1);
    check_graph(
        dynamic_graph("const w 48 32 3 3;"
                      "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 32 18 17",
                      "c = Cast{to=1}(ConvInteger{pads=1,1,1,1}(q,v,z));"
                      "out Tanh(Mul(c,Mul(s,.005)))"),
        "by Winograd's windows", 1e-4f, 6, 1);
    check_floats("in x ? 24 29 8; const w 20 24 1 1; const b 20;" U8("q", "x", ".008", "128")
                     WEIGHTS("v", "w") "out Sigmoid(Conv(q,v,b))",
                 1e-4f, 4);
}

TEST(sums_of_convolutions_may_stay_integers)
{
    check_graph(dynamic_graph("const w 20 24 3 3;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 24 9 8",
                              "c = ConvInteger{pads=1,1,1,1}(q,v,z);"
                              "out Mul(Cast{to=1}(c),.00004)"),
                "as they are", 0, 7, 1);
    check_graph(dynamic_graph("const w 24 1 3 3;"
                              "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-); in x ? 24 9 8",
                              "c = ConvInteger{group=24}(q,v,z); out Mul(Cast{to=1}(c),.00004)"),
                "depthwise", 0, 7, 1);
}

static const test_case cases[] = {
    CASE(values_are_quantized_and_dequantized_as_the_standard_says),
    CASE(functions_between_are_those_of_float32),
    CASE(constants_are_dequantized_once),
    CASE(convolutions_of_dequantized_values_sum_integers),
    CASE(weights_have_a_scale_for_each_channel),
    CASE(biases_that_are_no_integers_are_added_in_float32),
    CASE(convolutions_follow_each_other_without_float32),
    CASE(depthwise_convolutions_stay_in_integers),
    CASE(convolutions_over_one_axis_and_three_stay_in_integers),
    CASE(transposed_convolutions_stay_in_integers),
    CASE(weights_may_be_computed),
    CASE(convolutions_in_groups_stay_in_integers),
    CASE(weights_of_groups_are_dequantized_once),
    CASE(residual_sums_join_their_convolution),
    CASE(weights_are_in_the_program_that_reads_them),
    CASE(products_of_dequantized_values_sum_integers),
    CASE(ops_of_integers_are_the_same_items),
    CASE(products_of_dynamic_ranges_are_one_step),
    CASE(convolutions_of_dynamic_ranges_are_one_step),
    CASE(images_are_quantized_where_they_lie),
    CASE(activations_follow_in_blocks),
    CASE(sums_of_convolutions_may_stay_integers),
};
TEST_MAIN(cases)

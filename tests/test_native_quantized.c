/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models between DequantizeLinear and QuantizeLinear, as quantizers write them, in programs of the
 * native backend against the reference backend node by node. tests/native_programs.sh runs them
 * once more for each instruction set that this machine has.
 *
 * The reference rounds to float32 after each node, programs round fewer times: where a value lies
 * at a tie of the last quantization, they may differ by one step of it.
 */
#include <math.h>

#include "graph_text.h"

static tfr_err err = TFR_ERR_INIT;

/* Quantizes weights for each output, or all; with a zero point of 3 in uint8; matrices; biases. */
#define WEIGHTS_BY_CHANNEL(name, w)                                                                \
    name "s = Mul(" name "t,.004); " name                                                          \
         " = DequantizeLinear{axis=0}(QuantizeLinear{axis=0;output_dtype=3}(Sub(" w ",1)," name    \
         "s)," name "s);"
#define WEIGHTS(name, w)                                                                           \
    name " = DequantizeLinear(QuantizeLinear{output_dtype=3}(Sub(" w                               \
         ",1),.004,-),.004,Cast{to=3}(0));"
#define WEIGHTS_U8(name, w)                                                                        \
    name " = DequantizeLinear(QuantizeLinear(Sub(" w ",1),.005,Cast{to=2}(117)),.005,"             \
         "Cast{to=2}(117));"
#define BIAS(name, b, scale)                                                                       \
    name " = DequantizeLinear(Cast{to=6}(Mul(Sub(" b ",1),900))," scale ");"
/* Quantizes and dequantizes a value. */
#define U8(name, x, scale, zero)                                                                   \
    name " = DequantizeLinear(QuantizeLinear(" x "," scale ",Cast{to=2}(" zero "))," scale         \
         ",Cast{to=2}(" zero "));"
#define S8(name, x, scale, zero)                                                                   \
    name " = DequantizeLinear(QuantizeLinear(" x "," scale ",Cast{to=3}(" zero "))," scale         \
         ",Cast{to=3}(" zero "));"

static tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    if (strcmp(device, "naive:0") == 0) {
        options.passes = "none";
        options.no_programs = 1;
    }
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK)
        return NULL;
    return session;
}

static tfr_tensor *run(tfr_session *session, tfr_graph *graph, int64_t batch)
{
    tfr_tensor *in = random_input(graph, 0, batch, 11, -1, 1), *out = NULL;
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(in);
    REQUIRE(out != NULL);
    return out;
}

/* Elements that differ at all; none by more than a step. */
static int64_t count_differences(const tfr_tensor *expected, const tfr_tensor *obtained, float step)
{
    const float *x = tfr_tensor_data((tfr_tensor *)expected);
    const float *y = tfr_tensor_data((tfr_tensor *)obtained);
    int64_t n = 0;
    bool varies = false;
    REQUIRE(tfr_shape_equal(tfr_tensor_shape(expected), tfr_tensor_shape(obtained)));
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        CHECK(fabsf(x[i] - y[i]) <= step * 1.0001f);
        n += x[i] != y[i];
        varies = varies || x[i] != x[0];
    }
    CHECK(varies);
    return n;
}

/*
 * The graph makes what the reference makes, but for a step in one of `part` elements, in one
 * program of at most so many kernels; twice the same bits.
 */
static void check_graph(tfr_graph *graph, const char *text, float step, uint32_t kernels,
                        int64_t part)
{
    static const int64_t batches[] = {1, 3};
    tfr_runtime *runtime = NULL;
    tfr_session *naive, *native;
    tfr_program_desc program = {.size = sizeof program};
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    naive = new_session(runtime, graph, "naive:0");
    REQUIRE(naive != NULL);
    native = new_session(runtime, graph, "native:0");
    if (!native) {
        tfr_session_destroy(naive);
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        tfr_tensor *expected = run(naive, graph, batches[i]);
        tfr_tensor *obtained = run(native, graph, batches[i]), *again;
        again = run(native, graph, batches[i]);
        CHECK(count_differences(expected, obtained, step) * part <= tfr_tensor_elements(expected));
        CHECK_MEM(tfr_tensor_data(obtained), tfr_tensor_data(again), tfr_tensor_bytes(again));
        tfr_tensor_release(expected);
        tfr_tensor_release(obtained);
        tfr_tensor_release(again);
        REQUIRE(tfr_session_n_programs(native) == 1);
        CHECK_OK(tfr_session_program(native, 0, &program, &err), &err);
        if (program.n_kernels > kernels)
            printf("%s: %u kernels: %s\n", text, program.n_kernels, program.text);
        CHECK(program.n_kernels <= kernels);
    }
    tfr_session_destroy(native);
    tfr_session_destroy(naive);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* The last step is a quantization. */
static void check(const char *text, float step, uint32_t kernels)
{
    check_graph(graph_of_text(text), text, step, kernels, 200);
}

/* It is one of float32. */
static void check_floats(const char *text, float bound, uint32_t kernels)
{
    check_graph(graph_of_text(text), text, bound, kernels, 1);
}

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

TEST(weights_may_be_computed)
{
    check_floats("in x ? 24 9 8; const w 24 1 3 3; const b 24; r = ReduceMean{keepdims=0}(x);"
                 "out Conv{pads=1,1,1,1;group=24}(x,Mul(w,Sub(2,r)),Sub(b,r))",
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

/* ---- what stands between --------------------------------------------------------------------- */

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

TEST(constants_are_dequantized_once)
{
    check_floats("in x 3 40 16; const w 2 40 16; const t 2; s = Mul(t,.01);"
                 "q = QuantizeLinear{axis=0}(w,s); a = Slice(x,[0],[1],[0]);"
                 "v = DequantizeLinear{axis=0}@native:0(q,s); out Add(a,v)",
                 0, 3);
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

/* y = x W + b as a quantizer for dynamic ranges writes it. */
static tfr_graph *dynamic_graph(const char *rest)
{
    graph_text g = {0};
    tfr_value x, q[3];
    tfr_node_desc node = {.size = sizeof node,
                          .op = "DynamicQuantizeLinear",
                          .inputs = &x,
                          .n_inputs = 1,
                          .n_outputs = 3};
    REQUIRE_OK(tfr_graph_create("dynamic", &g.graph, &err), &err);
    graph_text_more(&g, "in x ? 7 48; const w 48 20; const b 20; const t 20;"
                        "v = QuantizeLinear{output_dtype=3}(Sub(w,1),.005,-)");
    x = tfr_graph_input(g.graph, 0);
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, q, &err), &err);
    graph_text_name(&g, "q", q[0]);
    graph_text_name(&g, "s", q[1]);
    graph_text_name(&g, "z", q[2]);
    graph_text_more(&g, rest);
    return g.graph;
}

TEST(products_of_dynamic_ranges_are_one_step)
{
    check_graph(dynamic_graph("c = Cast{to=1}(MatMulInteger(q,v,z,Cast{to=3}(0)));"
                              "out Add(Mul(c,Mul(s,.005)),b)"),
                "a scale for all", 1e-4f, 4, 1);
    check_graph(dynamic_graph("c = Cast{to=1}(MatMulInteger(q,v,z)); u = Mul(t,.005);"
                              "out Relu(Add(Mul(c,Mul(s,u)),b))"),
                "a scale for each column", 1e-4f, 4, 1);
}

static const test_case cases[] = {
    CASE(values_are_quantized_and_dequantized_as_the_standard_says),
    CASE(functions_between_are_those_of_float32),
    CASE(convolutions_of_dequantized_values_sum_integers),
    CASE(weights_have_a_scale_for_each_channel),
    CASE(biases_that_are_no_integers_are_added_in_float32),
    CASE(convolutions_follow_each_other_without_float32),
    CASE(depthwise_convolutions_stay_in_integers),
    CASE(weights_may_be_computed),
    CASE(convolutions_in_groups_stay_in_integers),
    CASE(weights_of_groups_are_dequantized_once),
    CASE(residual_sums_join_their_convolution),
    CASE(products_of_dequantized_values_sum_integers),
    CASE(pools_and_a_mean_are_those_of_float32),
    CASE(batch_norms_are_a_factor_and_a_term_for_each_channel),
    CASE(what_moves_elements_moves_dequantized_ones),
    CASE(parts_of_other_scales_are_put_together),
    CASE(parts_of_every_width_are_put_together_by_pixels),
    CASE(channels_are_shuffled_and_cut_where_they_are_last),
    CASE(constants_are_dequantized_once),
    CASE(functions_of_one_value_are_a_table),
    CASE(a_value_by_a_function_of_it_is_a_table),
    CASE(tables_one_after_the_other_are_one),
    CASE(tables_of_a_long_model_are_several),
    CASE(functions_of_two_values_read_both),
    CASE(ops_of_integers_are_the_same_items),
    CASE(products_of_dynamic_ranges_are_one_step),
};
TEST_MAIN(cases)
